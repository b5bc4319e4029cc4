"""The loss of biaffine attention, word by word."""

import torch
from torch import nn

from parser.networks.tasks import HeadScorer


@torch.no_grad()
def loss_by_loops(
    scorer: HeadScorer,
    sentences: list[torch.Tensor],
    heads: list[list[int]],
    relations: list[list[int]],
) -> float:
    """Word by word, head by head; index 0 of each list is the artificial root."""

    def vector(layer: nn.Module, token: torch.Tensor) -> torch.Tensor:
        return nn.functional.leaky_relu(layer(token), 0.1)

    of_heads, of_relations = [], []
    for tokens, its_heads, its_relations in zip(sentences, heads, relations, strict=True):
        others = [vector(scorer.arc_head, token) for token in tokens]
        for token, head, relation in list(zip(tokens, its_heads, its_relations, strict=True))[1:]:
            dependent = vector(scorer.arc_dependent, token)
            scores = [
                dependent @ scorer.arc_product @ other + other @ scorer.arc_bias for other in others
            ]
            of_heads.append(-torch.stack(scores).log_softmax(0)[head])
            if relation >= 0:
                child = torch.cat([vector(scorer.relation_dependent, token), torch.ones(1)])
                parent = torch.cat([vector(scorer.relation_head, tokens[head]), torch.ones(1)])
                products = torch.stack(
                    [child @ matrix @ parent for matrix in scorer.relation_product.weight]
                )
                of_relations.append(
                    -(products + scorer.relation_product.bias).log_softmax(0)[relation]
                )
    return float(
        torch.stack(of_heads).mean() + (torch.stack(of_relations).mean() if of_relations else 0)
    )
