"""Auxiliary tasks of an encoder: lemmas, heads, and tags, which the layers above may read.

*Tags* (Hashimoto et al. 2017, Section 2.2). A task is a column of gold data: upos, xpos, feats. Its distribution over the
values is a softmax over the products of the token's vector with a vector for each value. The layers above read the expected
vector of the tag, under this distribution, from a second table. If values are sets, as in feats, the vectors of both tables
include the sum of vectors of the elements: what is learned of ``Case=Nom`` serves every value that contains it.

*Lemmas*. A softmax over the rules that make lemmas of forms (data/lemma_rules.py). The hidden layer is the sum of the vectors
of the form's affixes and trigrams, and of the expected vectors of its tags. A rule's vector includes the sum of the vectors of
its casing, its edit at the front, and its edit at the end. Lemmas are learned after the parser (training/lemma_training.py),
and change nothing else: learned at the same time (Straka 2018, Section 3.2), in one run, they cost 0.5 LAS on UD 2.2 hu.

*Heads* (Dozat and Manning 2017, Section 2.2). One biaffine classifier finds each word's head, another the relation, both from
the vectors of two tokens. They need the same knowledge about words as the parser, and learn it from all pairs of words, not
only from the configurations that the parser visits. Parsing uses them if transitions point to heads (system=pointer); they may
also choose among the trees of a beam (inference/biaffine.py).

``labels`` says, by name of a parameter, which value each row belongs to; rows are kept when values are added
(model/extension.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.lemmas import affixes
from parser.data.parts.part import Labels
from parser.data.vocabulary import N_RESERVED, SetVocabulary, Vocabulary
from parser.inference.biaffine import SLOPE
from parser.network_spec import BiaffineSpec, LemmaSpec, Shapes, TaggerSpec
from parser.networks.layers import Grid, bernoulli_mask, draw_vectors, linear, to_device
from parser.networks.representation import SetSums

# The standard deviation of the lemma scorer's vectors at the beginning.
_LEMMA_DEVIATION = 0.1


class Tagger(nn.Module):
    """Distributions over tags, and expected vectors.

    Args:
        spec: the sizes of the tagger.
        width: the length of the vectors of tokens.
        tags: by task, its values.
    """

    def __init__(self, spec: TaggerSpec, width: int, tags: Mapping[str, Vocabulary]) -> None:
        super().__init__()
        self.spec, shapes = spec, spec.shapes(width, {task: values.counts for task, values in tags.items()})
        self.outputs = nn.ModuleDict({task: _ValueVectors(shapes, f"outputs.{task}", tags[task]) for task in tags})
        self.biases = nn.ParameterDict({task: nn.Parameter(torch.zeros(shapes[f"biases.{task}"])) for task in tags})
        self.labels: dict[str, Labels] = {f"biases.{task}": values.symbols for task, values in tags.items()}
        read = tags if spec.size else {}
        self.inputs = nn.ModuleDict({task: _ValueVectors(shapes, f"inputs.{task}", tags[task]) for task in read})

    def keep(self, tasks: Iterable[str]) -> None:
        """Leave the weights that predict some tasks as they are: nothing is to be learned of these tasks."""
        for task in tasks:
            self.outputs[task].requires_grad_(False)
            self.biases[task].requires_grad_(False)

    @property
    def size(self) -> int:
        """The length of the expected vectors of all tasks, side by side."""
        return self.spec.size * len(self.inputs)

    def scores(self, tokens: Tensor) -> dict[str, Tensor]:
        """Return scores (logits) for tokens (float32[..., width]): by task, float32[..., values]."""
        return {task: tokens @ output().t() + self.biases[task] for task, output in self.outputs.items()}

    def expected(self, scores: Mapping[str, Tensor]) -> Tensor:
        """Return float32[..., size], the expected vectors under the distributions with these scores."""
        return torch.cat([scores[task].softmax(-1) @ vectors() for task, vectors in self.inputs.items()], dim=-1)


class _ValueVectors(nn.Module):
    """A vector for each value of a vocabulary, float32[values, size]; for sets, their elements' vectors are added."""

    def __init__(self, shapes: Shapes, name: str, values: Vocabulary, drawn: bool = True) -> None:
        super().__init__()
        self.whole = nn.Parameter(torch.zeros(shapes[f"{name}.whole"]))
        if drawn:
            draw_vectors(self.whole)
        self.labels: dict[str, Labels] = {"whole": values.symbols}
        self.sums: SetSums | None = None
        if isinstance(values, SetVocabulary):
            self.sums = SetSums(values.elements, len(values))
            self.elements = nn.Parameter(torch.zeros(shapes[f"{name}.elements"]))
            self.labels["elements"] = values.vector_labels
            if drawn:
                draw_vectors(self.elements)

    def forward(self) -> Tensor:
        return self.whole if self.sums is None else self.whole + self.sums(self.elements)[N_RESERVED:]


class LemmaScorer(nn.Module):
    """Scores of rules for lemmas.

    Args:
        spec: the sizes of the scorer.
        tags: by task of the tagger, its values.
        rules: the rules.
    """

    def __init__(self, spec: LemmaSpec, tags: Mapping[str, Vocabulary], rules: SetVocabulary) -> None:
        super().__init__()
        self.spec, shapes = spec, spec.shapes({task: values.counts for task, values in tags.items()}, rules.counts)
        self.affixes = nn.Parameter(torch.zeros(shapes["affixes"]))
        self.inputs = nn.ModuleDict({task: _ValueVectors(shapes, f"inputs.{task}", tags[task], drawn=False) for task in tags})
        self.outputs = _ValueVectors(shapes, "outputs", rules, drawn=False)
        self.bias = nn.Parameter(torch.zeros(shapes["bias"]))
        self.labels: dict[str, Labels] = {"bias": rules.symbols}
        self.requires_grad_(False)  # until it learns, after the parser

    def initialize(self, anew: bool = True) -> None:
        """Draw the vectors, from torch's global generator, and make them trainable.

        ``anew``: whether all of them are drawn; else only those that are zero, because they are new to the model.
        """
        self.requires_grad_(True)
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if name != "bias":
                    drawn = torch.randn_like(parameter) * _LEMMA_DEVIATION
                    parameter.copy_(drawn if anew else torch.where(parameter == 0, drawn, parameter))

    def scores(self, forms: Sequence[str], tag_scores: Mapping[str, Tensor], dropping: bool = False) -> Tensor:
        """Return float32[forms, rules], scores (logits).

        Args:
            forms: the forms.
            tag_scores: by task, float32[forms, values], the scores (logits) of their tags.
            dropping: whether dropout is in force.
        """
        numbers = to_device(affixes(forms, self.spec.buckets, self.spec.trigrams), self.bias.device)
        # Few rows of the table have a gradient in a batch.
        hidden = nn.functional.embedding_bag(numbers, self.affixes, mode="sum", sparse=True)
        for task, vectors in self.inputs.items():
            hidden = hidden + tag_scores[task].softmax(-1) @ vectors()
        hidden = nn.functional.leaky_relu(hidden, SLOPE)
        if dropping and self.spec.dropout:
            hidden = hidden * bernoulli_mask(hidden, self.spec.dropout)
        return hidden @ self.outputs().t() + self.bias


class BiaffineScorer(nn.Module):
    """Scores of heads, and of relations to known heads.

    Args:
        spec: the sizes of the scorer.
        width: the length of the vectors of tokens.
        relations: the relations.
    """

    def __init__(self, spec: BiaffineSpec, width: int, relations: Sequence[str]) -> None:
        super().__init__()
        self.spec, shapes = spec, spec.shapes(width, len(relations))
        self.arc_dependent, self.arc_head = linear(shapes, "arc_dependent"), linear(shapes, "arc_head")
        self.arc_product = nn.Parameter(torch.empty(shapes["arc_product"]))
        nn.init.normal_(self.arc_product, std=0.5 * spec.size**-0.5)
        self.arc_bias = nn.Parameter(torch.zeros(shapes["arc_bias"]))
        self.relation_dependent, self.relation_head = linear(shapes, "relation_dependent"), linear(shapes, "relation_head")
        outputs, dependent, head = shapes["relation_product.weight"]
        self.relation_product = nn.Bilinear(dependent, head, outputs)
        self.labels: dict[str, Labels] = {f"relation_product.{kind}": relations for kind in ("weight", "bias")}

    def loss(self, tokens: Tensor, grid: Grid, heads: np.ndarray, relations: np.ndarray, dropping: bool = True) -> Tensor:
        """Return the sum of the mean losses of heads and relations: minus the log probabilities of the gold ones.

        Args:
            tokens: float32[tokens, width], vectors, sentence by sentence; the artificial root is the first of each.
            grid: the places of the tokens.
            heads: int[tokens], the positions of the heads in the sentences; negative for the root and unknown heads.
            relations: int[tokens], relations; negative for unknown ones.
            dropping: whether dropout is in force.
        """
        read = self._dropped(tokens[grid.elements], dropping)
        columns = grid.cells % read.shape[1]
        arc_scores = self._arc_scores(read, grid, dropping)
        heads, relations, words = heads.astype(np.int64), relations.astype(np.int64), np.flatnonzero(heads >= 0)
        if not len(words):
            return tokens.new_zeros(())
        places, gold = to_device(words, tokens.device), to_device(heads[words], tokens.device)
        arc_loss = nn.functional.cross_entropy(arc_scores.flatten(0, 1)[grid.cells[places]], gold)

        known = words[relations[words] >= 0]
        if not len(known):
            return arc_loss
        places, gold = to_device(known, tokens.device), to_device(heads[known], tokens.device)
        dependent = self._vectors(self.relation_dependent, read, dropping).flatten(0, 1)[grid.cells[places]]
        head = self._vectors(self.relation_head, read, dropping)[gold, columns[places]]
        relation_scores = self._relation_scores(_with_one(dependent), _with_one(head))
        return arc_loss + nn.functional.cross_entropy(relation_scores, to_device(relations[known], tokens.device))

    def _arc_scores(self, read: Tensor, grid: Grid, dropping: bool) -> Tensor:
        """Return float32[longest, sentences, longest]: for each token, the scores of all tokens of its sentence as its head."""
        dependents = self._vectors(self.arc_dependent, read, dropping).transpose(0, 1)
        heads = self._vectors(self.arc_head, read, dropping).transpose(0, 1)
        scores = dependents @ self.arc_product @ heads.transpose(1, 2) + (heads @ self.arc_bias)[:, None]
        outside = torch.ones(read.shape[:2], dtype=torch.bool, device=read.device).flatten().index_fill(0, grid.cells, False)
        return scores.masked_fill(outside.view(read.shape[:2]).t()[:, None], -torch.inf).transpose(0, 1)

    def _relation_scores(self, dependents: Tensor, heads: Tensor) -> Tensor:
        """Return float32[m, relations], as relation_product does, by two matrix products, in a fifth of the time."""
        by_head = (dependents @ self.relation_product.weight.transpose(0, 1).flatten(1)).view(len(heads), -1, heads.shape[1])
        return (by_head @ heads[:, :, None]).squeeze(2) + self.relation_product.bias

    def _vectors(self, layer: nn.Module, read: Tensor, dropping: bool) -> Tensor:
        """Return float32[longest, sentences, size], the vectors that a layer makes."""
        return self._dropped(nn.functional.leaky_relu(layer(read), SLOPE), dropping)

    def _dropped(self, read: Tensor, dropping: bool) -> Tensor:
        """Return the vectors with dropout; the same numbers are dropped at all tokens of a sentence."""
        return read * bernoulli_mask(read[:1], self.spec.dropout) if dropping and self.spec.dropout else read


def _with_one(vectors: Tensor) -> Tensor:
    """Return float32[m, size + 1], with a 1 at the end, so that the bilinear form has linear terms."""
    return torch.cat([vectors, vectors.new_ones(len(vectors), 1)], dim=1)
