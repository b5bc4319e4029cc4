"""The modules of an encoder's tasks: lemmas, heads, and tags, which the layers above may read;
inference/tasks.py freezes them.

``module_of_task`` has a function for each kind of task, added with ``module_of_task.register``. A
module scores values of each word while sentences are encoded, has losses that are learned in the
passes, or is a FormScorer that is learned afterwards.

*Tags* (Hashimoto et al. 2017, Section 2.2). A task is a column of gold data: upos, xpos, feats. Its
distribution over the values is a softmax over the products of the token's vector with a vector for
each value. The layers above read the expected vector of the tag, under this distribution, from a
second table. If values are sets, as in feats, the vectors of both tables include the sum of vectors
of the elements: knowledge about ``Case=Nom`` serves every value that contains it.

*Lemmas*. A softmax over the rules that make lemmas from forms (data/lemma_rules.py). The hidden
layer is the sum of the vectors of the form's affixes and trigrams, and of the expected vectors of
its tags. A rule's vector includes the sum of the vectors of its casing, its edit at the front, and
its edit at the end. Lemmas are learned after the parser (training/lemma_training.py), and change
nothing else: learned at the same time (Straka 2018, Section 3.2), in one run, they cost 0.5 LAS on
UD 2.2 hu.

*Heads* (Dozat and Manning 2017, Section 2.2). One biaffine classifier finds each word's head,
another the relation, both from the vectors of two tokens. They need the same knowledge about words
as the parser, and learn it from all pairs of words, not only from the configurations that the
parser visits. Parsing uses them if transitions point to heads (system=pointer); they may also
choose among the trees of a beam (inference/heads.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import singledispatch
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.lemmas import affixes
from parser.data.tasks.heads import HeadTask
from parser.data.tasks.lemmas import LemmaTask
from parser.data.tasks.tags import TagTask
from parser.data.tasks.task import Task
from parser.data.vocabulary import N_RESERVED, SetVocabulary, Vocabulary
from parser.inference.heads import SLOPE
from parser.network_spec import ClassifierSpec, HeadSpec, LemmaSpec, Shapes, TaggerSpec
from parser.networks.layers import Grid, bernoulli_mask, draw_vectors, linear, to_device
from parser.networks.representation import SetSums

# The standard deviation of the lemma scorer's vectors at the beginning.
_LEMMA_DEVIATION = 0.1


class EncodedTokens(NamedTuple):
    """Encoded sentences, as losses read them.

    Attributes:
        tokens: float32[tokens, size], the encoder's output, sentence by sentence; the artificial
            root is the first of each.
        scores: for each column, float32[tokens, values], the results of TaskModule.read().
        lengths: int[sentences], the number of tokens of each.
    """

    tokens: Tensor
    scores: Mapping[str, Tensor]
    lengths: np.ndarray


class TaskModule(nn.Module):
    """A module that scores a task, and is trained.

    Attributes:
        dropout: share of the numbers of its layer's outputs that is dropped for read() in training.
    """

    dropout = 0.0

    def read(self, tokens: Tensor) -> dict[str, Tensor]:
        """Return scores (logits) for outputs of its layer, float32[..., width]:
        by column, float32[..., values].
        """
        return {}

    def expected(self, scores: Mapping[str, Tensor]) -> Tensor:
        """Return float32[..., size], the vectors that the layer above reads,
        for the scores of read().
        """
        raise NotImplementedError

    def losses(
        self, encoded: EncodedTokens, gold: np.ndarray, dropping: bool
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield the name and the loss of everything that is learned: means over words;
        nothing if there is no gold data.

        Args:
            gold: int32[rows, tokens], the part of Task.gold() for the encoded tokens.
            dropping: whether dropout is in force.
        """
        yield from ()

    def keep(self, columns: Collection[str]) -> None:
        """Do not train the weights that predict some columns: there are no gold values for these
        columns.
        """


class FormScorer(TaskModule, ABC):
    """A module that is learned after the parser: it scores forms,
    given the scores of their tags.
    """

    @abstractmethod
    def scores(
        self, forms: Sequence[str], tag_scores: Mapping[str, Tensor], dropping: bool = False
    ) -> Tensor:
        """Return float32[forms, outputs], scores (logits).

        Args:
            tag_scores: for each column, float32[forms, values], the scores (logits) of their tags.
            dropping: whether dropout is in force.
        """


@singledispatch
def module_of_task(task: Task, spec: ClassifierSpec) -> TaskModule:
    """Return the module of a task, with fresh weights, drawn from torch's global generator."""
    raise TypeError(
        f"{task.name} has no module: register a function with "
        "parser.networks.tasks.module_of_task.register"
    )


@module_of_task.register
def _(task: TagTask, spec: ClassifierSpec) -> TaskModule:
    encoder = spec.encoder
    assert encoder is not None, "an encoder predicts tags"
    assert encoder.tagger is not None, "it has a tagger"
    return Tagger(encoder.tagger, encoder.size, task.columns)


@module_of_task.register
def _(task: HeadTask, spec: ClassifierSpec) -> TaskModule:
    encoder = spec.encoder
    assert encoder is not None, "an encoder predicts heads"
    assert encoder.heads is not None, "it has a biaffine scorer"
    return HeadScorer(encoder.heads, encoder.size, len(task.relations.symbols))


@module_of_task.register
def _(task: LemmaTask, spec: ClassifierSpec) -> TaskModule:
    assert spec.encoder is not None, "an encoder predicts lemmas"
    assert spec.encoder.lemmas is not None, "it scores rules"
    return LemmaScorer(spec.encoder.lemmas, task.tags, task.lemmas.rules)


class Tagger(TaskModule):
    """Distributions over tags, and expected vectors.

    Args:
        spec: the sizes of the tagger.
        width: the length of the vectors of tokens.
        tags: the values of each task.
    """

    def __init__(self, spec: TaggerSpec, width: int, tags: Mapping[str, Vocabulary]) -> None:
        super().__init__()
        self.spec = spec
        shapes = spec.shapes(width, {task: values.counts for task, values in tags.items()})
        self.outputs = nn.ModuleDict(
            {task: _ValueVectors(shapes, f"outputs.{task}", tags[task]) for task in tags}
        )
        self.biases = nn.ParameterDict(
            {task: nn.Parameter(torch.zeros(shapes[f"biases.{task}"])) for task in tags}
        )
        self.dropout = spec.dropout
        input_tasks = tags if spec.size else {}
        self.inputs = nn.ModuleDict(
            {task: _ValueVectors(shapes, f"inputs.{task}", tags[task]) for task in input_tasks}
        )

    def keep(self, columns: Collection[str]) -> None:
        for task in columns:
            if task in self.biases:
                self.outputs[task].requires_grad_(False)
                self.biases[task].requires_grad_(False)

    def read(self, tokens: Tensor) -> dict[str, Tensor]:
        return {
            task: tokens @ output().t() + self.biases[task] for task, output in self.outputs.items()
        }

    def expected(self, scores: Mapping[str, Tensor]) -> Tensor:
        """Return float32[..., size], the expected vectors of the columns side by side; the softmax
        of the scores is the distribution over tags.
        """
        return torch.cat(
            [scores[task].softmax(-1) @ vectors() for task, vectors in self.inputs.items()], dim=-1
        )

    def losses(
        self, encoded: EncodedTokens, gold: np.ndarray, dropping: bool
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield the loss of each column: minus the mean log probability of the gold values."""
        # in the order of outputs: biases are in alphabetical order
        for column, numbers in zip(self.outputs, gold, strict=True):
            words = np.flatnonzero(numbers >= N_RESERVED)  # elsewhere there is nothing to learn
            if len(words):
                scores, device = encoded.scores[column], encoded.tokens.device
                values = to_device(numbers[words].astype(np.int64) - N_RESERVED, device)
                yield column, nn.functional.cross_entropy(scores[to_device(words, device)], values)


class _ValueVectors(nn.Module):
    """A vector for each value of a vocabulary, float32[values, size]; for sets,
    their elements' vectors are added.
    """

    def __init__(self, shapes: Shapes, name: str, values: Vocabulary, drawn: bool = True) -> None:
        super().__init__()
        self.whole = nn.Parameter(torch.zeros(shapes[f"{name}.whole"]))
        if drawn:
            draw_vectors(self.whole)
        self.sums: SetSums | None = None
        if isinstance(values, SetVocabulary):
            self.sums = SetSums(values.elements, len(values))
            self.elements = nn.Parameter(torch.zeros(shapes[f"{name}.elements"]))
            if drawn:
                draw_vectors(self.elements)

    def forward(self) -> Tensor:
        return (
            self.whole if self.sums is None else self.whole + self.sums(self.elements)[N_RESERVED:]
        )


class LemmaScorer(FormScorer):
    """Scores of rules for lemmas.

    Args:
        spec: the sizes of the scorer.
        tags: the values of each task of the tagger.
    """

    def __init__(
        self, spec: LemmaSpec, tags: Mapping[str, Vocabulary], rules: SetVocabulary
    ) -> None:
        super().__init__()
        self.spec = spec
        shapes = spec.shapes({task: values.counts for task, values in tags.items()}, rules.counts)
        self.affixes = nn.Parameter(torch.zeros(shapes["affixes"]))
        self.inputs = nn.ModuleDict(
            {
                task: _ValueVectors(shapes, f"inputs.{task}", tags[task], drawn=False)
                for task in tags
            }
        )
        self.outputs = _ValueVectors(shapes, "outputs", rules, drawn=False)
        self.bias = nn.Parameter(torch.zeros(shapes["bias"]))
        self.requires_grad_(False)  # until it learns, after the parser

    def initialize(self, anew: bool = True) -> None:
        """Draw the vectors, from torch's global generator, and make them trainable.

        ``anew`` says whether all of them are drawn; otherwise only those that are zero, because
        they are new to the model.
        """
        self.requires_grad_(True)
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if name != "bias":
                    drawn = torch.randn_like(parameter) * _LEMMA_DEVIATION
                    parameter.copy_(
                        drawn if anew else torch.where(parameter == 0, drawn, parameter)
                    )

    def scores(
        self, forms: Sequence[str], tag_scores: Mapping[str, Tensor], dropping: bool = False
    ) -> Tensor:
        numbers = to_device(affixes(forms, self.spec.buckets, self.spec.trigrams), self.bias.device)
        # Few rows of the table have a gradient in a batch.
        hidden = nn.functional.embedding_bag(numbers, self.affixes, mode="sum", sparse=True)
        for task, vectors in self.inputs.items():
            hidden = hidden + tag_scores[task].softmax(-1) @ vectors()
        hidden = nn.functional.leaky_relu(hidden, SLOPE)
        if dropping and self.spec.dropout:
            hidden = hidden * bernoulli_mask(hidden, self.spec.dropout)
        return hidden @ self.outputs().t() + self.bias


class HeadScorer(TaskModule):
    """Scores of heads, and of relations to known heads.

    Args:
        spec: the sizes of the scorer.
        width: the length of the vectors of tokens.
    """

    def __init__(self, spec: HeadSpec, width: int, n_relations: int) -> None:
        super().__init__()
        self.spec, shapes = spec, spec.shapes(width, n_relations)
        self.arc_dependent = linear(shapes, "arc_dependent")
        self.arc_head = linear(shapes, "arc_head")
        self.arc_product = nn.Parameter(torch.empty(shapes["arc_product"]))
        nn.init.normal_(self.arc_product, std=0.5 * spec.size**-0.5)
        self.arc_bias = nn.Parameter(torch.zeros(shapes["arc_bias"]))
        self.relation_dependent = linear(shapes, "relation_dependent")
        self.relation_head = linear(shapes, "relation_head")
        outputs, dependent, head = shapes["relation_product.weight"]
        self.relation_product = nn.Bilinear(dependent, head, outputs)

    def losses(
        self, encoded: EncodedTokens, gold: np.ndarray, dropping: bool
    ) -> Iterator[tuple[str, Tensor]]:
        (heads, relations), grid = gold, Grid.of(encoded.lengths, encoded.tokens.device)
        yield HeadTask.name, self.loss(encoded.tokens, grid, heads, relations, dropping)

    def loss(
        self,
        tokens: Tensor,
        grid: Grid,
        heads: np.ndarray,
        relations: np.ndarray,
        dropping: bool = True,
    ) -> Tensor:
        """Return the sum of the mean losses of heads and relations:
        minus the log probabilities of the gold ones.

        Args:
            tokens: float32[tokens, width], vectors, sentence by sentence;
                the artificial root is the first of each.
            grid: the places of the tokens.
            heads: int[tokens], the positions of the heads in the sentences;
                negative for the root and unknown heads.
            relations: int[tokens], relations; negative for unknown ones.
            dropping: whether dropout is in force.
        """
        vectors = self._dropped(tokens[grid.elements], dropping)
        columns = grid.cells % vectors.shape[1]
        arc_scores = self._arc_scores(vectors, grid, dropping)
        heads, relations, words = (
            heads.astype(np.int64),
            relations.astype(np.int64),
            np.flatnonzero(heads >= 0),
        )
        if not len(words):
            return tokens.new_zeros(())
        places, gold = to_device(words, tokens.device), to_device(heads[words], tokens.device)
        arc_loss = nn.functional.cross_entropy(arc_scores.flatten(0, 1)[grid.cells[places]], gold)

        labelled_words = words[relations[words] >= 0]
        if not len(labelled_words):
            return arc_loss
        places = to_device(labelled_words, tokens.device)
        gold = to_device(heads[labelled_words], tokens.device)
        dependents = self._vectors(self.relation_dependent, vectors, dropping).flatten(0, 1)
        dependent = dependents[grid.cells[places]]
        head = self._vectors(self.relation_head, vectors, dropping)[gold, columns[places]]
        relation_scores = self._relation_scores(_with_one(dependent), _with_one(head))
        return arc_loss + nn.functional.cross_entropy(
            relation_scores, to_device(relations[labelled_words], tokens.device)
        )

    def _arc_scores(self, vectors: Tensor, grid: Grid, dropping: bool) -> Tensor:
        """Return float32[longest, sentences, longest]: for each token, the scores of all tokens of
        its sentence as its head.
        """
        dependents = self._vectors(self.arc_dependent, vectors, dropping).transpose(0, 1)
        heads = self._vectors(self.arc_head, vectors, dropping).transpose(0, 1)
        scores = (
            dependents @ self.arc_product @ heads.transpose(1, 2) + (heads @ self.arc_bias)[:, None]
        )
        longest, n_sentences = vectors.shape[:2]
        outside = torch.ones(longest * n_sentences, dtype=torch.bool, device=vectors.device)
        outside = outside.index_fill(0, grid.cells, False).view(longest, n_sentences)
        return scores.masked_fill(outside.t()[:, None], -torch.inf).transpose(0, 1)

    def _relation_scores(self, dependents: Tensor, heads: Tensor) -> Tensor:
        """Return float32[m, relations], as relation_product does, by two matrix products,
        in a fifth of the time.
        """
        by_head = (dependents @ self.relation_product.weight.transpose(0, 1).flatten(1)).view(
            len(heads), -1, heads.shape[1]
        )
        return (by_head @ heads[:, :, None]).squeeze(2) + self.relation_product.bias

    def _vectors(self, layer: nn.Module, inputs: Tensor, dropping: bool) -> Tensor:
        """Return float32[longest, sentences, size], the vectors that a layer makes."""
        return self._dropped(nn.functional.leaky_relu(layer(inputs), SLOPE), dropping)

    def _dropped(self, vectors: Tensor, dropping: bool) -> Tensor:
        """Return the vectors with dropout; the same numbers are dropped at all tokens of a
        sentence.
        """
        return (
            vectors * bernoulli_mask(vectors[:1], self.spec.dropout)
            if dropping and self.spec.dropout
            else vectors
        )


def _with_one(vectors: Tensor) -> Tensor:
    """Return float32[m, size + 1], with a 1 at the end,
    so that the bilinear form has linear terms.
    """
    return torch.cat([vectors, vectors.new_ones(len(vectors), 1)], dim=1)
