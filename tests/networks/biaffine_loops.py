"""The loss of biaffine attention, word by word."""

import torch
from torch import nn

from parser.networks.tasks import BiaffineScorer


@torch.no_grad()
def loss_by_loops(
    scorer: BiaffineScorer, sentences: list[torch.Tensor], heads: list[list[int]], relations: list[list[int]]
) -> float:
    """Word by word, head by head; index 0 of each list is the artificial root."""

    def vector(layer: nn.Module, token: torch.Tensor) -> torch.Tensor:
        return nn.functional.leaky_relu(layer(token), 0.1)

    of_heads, of_relations = [], []
    for tokens, heads_of_sentence, relations_of_sentence in zip(sentences, heads, relations, strict=True):
        for word in range(1, len(tokens)):
            dependent, head = vector(scorer.arc_dependent, tokens[word]), heads_of_sentence[word]
            scores = []
            for candidate in tokens:
                other = vector(scorer.arc_head, candidate)
                scores.append(dependent @ scorer.arc_product @ other + other @ scorer.arc_bias)
            of_heads.append(-torch.stack(scores).log_softmax(0)[head])
            if relations_of_sentence[word] >= 0:
                one = torch.ones(1)
                pair = [
                    torch.cat([vector(scorer.relation_dependent, tokens[word]), one]),
                    torch.cat([vector(scorer.relation_head, tokens[head]), one]),
                ]
                products = (
                    torch.einsum("i,rij,j->r", pair[0], scorer.relation_product.weight, pair[1]) + scorer.relation_product.bias
                )
                of_relations.append(-products.log_softmax(0)[relations_of_sentence[word]])
    return float(torch.stack(of_heads).mean() + (torch.stack(of_relations).mean() if of_relations else 0))
