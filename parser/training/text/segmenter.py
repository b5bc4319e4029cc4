"""Training of a segmenter (text/segmenter.py) on a treebank,
and comparison with the tokenizer's sentences on dev.

The sentences of a treebank follow one another as in their text, or in random order if the treebank
was shuffled. The network learns from windows that begin anywhere, of the text as it is and as
people write (learning_texts.py), which teaches it what the ends of lines mean.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise
from statistics import fmean

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import UNKNOWN, Vocabulary
from parser.inference.weights import rounded
from parser.networks.bilstm import BiLSTM
from parser.networks.representation import Embeddings
from parser.text.character_tokenizer import CharacterTokenizer
from parser.text.segmenter import ATTRIBUTES, Segmenter, SegmenterSpec, encoded, sentences
from parser.text.tokens import Paragraph
from parser.training.text.learning_texts import (
    LearningText,
    disturbed_text,
    has_spaced_marks,
    paragraphs_of,
    plain_text,
)

log = logging.getLogger(__name__)

# The position of forms in ATTRIBUTES: forms have the most values, and the most that are unseen in
# training.
_FORM = list(ATTRIBUTES).index("lower")

# How often a form or an affix must occur in training to have a vector. With 1 the network is a
# third larger, and sentences on dev are no better for en and got.
_LEAST = 2

# How many bits of their fraction the weights keep: this makes the model folder smaller, and
# sentences on dev are as good.
_FRACTION = 5

# Thresholds to choose from on dev; without dev, the first is used.
_THRESHOLDS = (0.5, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.55, 0.6, 0.7, 0.8)


@dataclass(frozen=True)
class SegmenterTraining:
    """How a segmenter is trained; chosen on the dev part of got.

    Attributes:
        spec: the sizes of the network.
        window: the number of tokens of a window.
        batch: the number of windows of a batch.
        tokens: the most tokens read in all epochs together; a large treebank has fewer epochs.
        most_epochs: the number of epochs for a small treebank.
        learning_rate: the learning rate of Adam; it falls to zero linearly.
        unknown: the share of forms that are replaced by the unknown form; their affixes stay.
        copy: the share of the disturbed copy that is read in each epoch.
    """

    spec: SegmenterSpec = field(default_factory=SegmenterSpec)
    window: int = 80
    batch: int = 8
    tokens: int = 1_600_000
    most_epochs: int = 16
    learning_rate: float = 0.002
    unknown: float = 0.2
    copy: float = 0.25


def train_segmenter(
    train: Sequence[Paragraph],
    dev: Sequence[Paragraph] | None,
    tokenizer: CharacterTokenizer,
    seed: int,
    how: SegmenterTraining = SegmenterTraining(),
) -> tuple[Segmenter, dict[str, float]]:
    """Train a segmenter, and compare its sentences with those of the tokenizer on dev,
    as it is and disturbed.

    Args:
        train: the paragraphs to learn from.
        dev: paragraphs to choose the threshold on; the tokenizer splits their text. None:
            the threshold is 0.5.
        seed: the seed of its weights and batches, and of the disturbed texts.
        how: the sizes and the schedule.

    Returns:
        The segmenter; and, with dev, the F1 of sentences in percent of ``tokenizer`` and
        ``segmenter``, the means of both texts.
    """
    attach = has_spaced_marks(train)
    segmenter = fitted([plain_text(train), disturbed_text(train, seed, attach=attach)], seed, how)
    if not dev:
        return segmenter, {}
    gold, split = [], []
    for text in (plain_text(dev), disturbed_text(dev, seed + 1, attach=attach)):
        gold.append(paragraphs_of(text.text, text.split()))
        split.append(paragraphs_of(text.text, tokenizer.split(text.text)))
    tokens = [
        [list(chain.from_iterable(paragraph)) for paragraph in paragraphs] for paragraphs in split
    ]
    probabilities = [*map(segmenter.probabilities, tokens)]

    def score(divided: Iterable[Sequence[Paragraph]]) -> float:
        return fmean(sentence_f1(*both) for both in zip(gold, divided, strict=True))

    def divided(threshold: float) -> Iterator[list[Paragraph]]:
        for paragraphs, likely in zip(tokens, probabilities, strict=True):
            yield [
                sentences(paragraph, ends > threshold)
                for paragraph, ends in zip(paragraphs, likely, strict=True)
            ]

    by_threshold = {threshold: score(divided(threshold)) for threshold in _THRESHOLDS}
    segmenter.threshold = max(by_threshold, key=by_threshold.__getitem__)
    return segmenter, {"tokenizer": score(split), "segmenter": by_threshold[segmenter.threshold]}


def fitted(
    texts: Sequence[LearningText], seed: int, how: SegmenterTraining = SegmenterTraining()
) -> Segmenter:
    """Train a segmenter on a text and its disturbed copy, and return it; its threshold is 0.5."""
    both = [paragraphs_of(text.text, text.split()) for text in texts]
    tokens = [
        [list(chain.from_iterable(paragraph)) for paragraph in paragraphs] for paragraphs in both
    ]
    all_tokens = [token for paragraph in chain(*tokens) for token in paragraph]
    vocabularies = {
        name: Vocabulary(Vocabulary([]).extended(map(value, all_tokens), _LEAST))
        for name, value in ATTRIBUTES.items()
    }
    values = [
        [torch.from_numpy(encoded(vocabularies, paragraph).T) for paragraph in paragraphs]
        for paragraphs in tokens
    ]
    ends = [
        [torch.from_numpy(ends_of(paragraph)) for paragraph in paragraphs] for paragraphs in both
    ]
    n_tokens = sum(map(len, tokens[0]))
    epochs = min(how.most_epochs, max(1, how.tokens // max(n_tokens, 1)))
    log.info("training the segmenter: %d epochs of %s tokens", epochs, f"{n_tokens:,}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = SegmenterNetwork(how.spec, vocabularies)
        optimizer = torch.optim.Adam(network.parameters(), how.learning_rate)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 - epoch / epochs)
        for epoch in range(1, epochs + 1):
            windows, *others = (
                list(_windows(*text, how.window)) for text in zip(values, ends, strict=True)
            )
            for other in others:
                drawn = torch.randperm(len(other))[: round(how.copy * len(other))]
                windows += [other[number] for number in drawn.tolist()]
            for batch in _batches(windows, how):
                loss = _loss(network, *batch, how.unknown)
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(network.parameters(), 5.0)
                optimizer.step()
            schedule.step()
            log.info("segmenter, epoch %d of %d", epoch, epochs)
    tensors = {
        name: rounded(tensor, _FRACTION).astype(np.float32)
        for name, tensor in network.tensors().items()
    }
    return Segmenter(tensors, how.spec, vocabularies, _THRESHOLDS[0])


def ends_of(paragraph: Paragraph) -> np.ndarray:
    """Return float32[tokens]: 1 for tokens that end a sentence."""
    ends = np.zeros(sum(map(len, paragraph)), np.float32)
    ends[np.cumsum([len(sentence) for sentence in paragraph]) - 1] = 1
    return ends


def sentence_f1(gold: Sequence[Paragraph], predicted: Sequence[Paragraph]) -> float:
    """Return F1 of sentences in percent; sentences are stretches of non-space characters, as in the
    CoNLL 2018 shared task.
    """
    there, ours = _stretches(gold), _stretches(predicted)
    return 200 * len(there & ours) / (len(there) + len(ours)) if there or ours else 100.0


def _stretches(paragraphs: Sequence[Paragraph]) -> set[tuple[int, int]]:
    lengths = [
        sum(len("".join(token.form.split())) for token in sentence)
        for paragraph in paragraphs
        for sentence in paragraph
    ]
    ends = [0, *accumulate(lengths)]
    return set(pairwise(ends))


def _windows(
    values: Sequence[Tensor], ends: Sequence[Tensor], window: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield consecutive windows of each paragraph; the first window has a random length."""
    for own_values, own_ends in zip(values, ends, strict=True):
        first = int(torch.randint(1, window + 1, ()))
        starts = [0, *range(first, len(own_ends), window), len(own_ends)]
        for start, end in pairwise(starts):
            if end > start:
                yield own_values[start:end], own_ends[start:end]


def _batches(
    windows: list[tuple[Tensor, Tensor]], how: SegmenterTraining
) -> Iterator[tuple[Tensor, Tensor, np.ndarray]]:
    for numbers in torch.randperm(len(windows)).split(how.batch):
        some = [windows[number] for number in numbers.tolist()]
        lengths = np.array([len(ends) for _, ends in some])
        yield (
            torch.cat([values for values, _ in some]),
            torch.cat([ends for _, ends in some]),
            lengths,
        )


def _loss(
    network: SegmenterNetwork, values: Tensor, ends: Tensor, lengths: np.ndarray, unknown: float
) -> Tensor:
    inputs = values.clone()
    inputs[torch.rand(len(values)) < unknown, _FORM] = UNKNOWN
    return nn.functional.binary_cross_entropy_with_logits(network(inputs, lengths), ends)


class SegmenterNetwork(nn.Module):
    """A scorer of sentence ends from the attributes of tokens, for training.

    Args:
        spec: the sizes of the network.
        vocabularies: the values of each attribute.
    """

    def __init__(self, spec: SegmenterSpec, vocabularies: dict[str, Vocabulary]) -> None:
        super().__init__()
        self.encoder = BiLSTM(
            spec.classifier(vocabularies),
            Vocabularies(vocabularies),
            Embeddings({}, {}),
            input_dropout=spec.dropout,
        )
        self.encoder.initialize()
        # the first vectors are longer than in a parser; with shorter ones, it learned less on got
        for vectors in self.encoder.inputs.vectors.values():
            nn.init.normal_(vectors)
        self.dropout = nn.Dropout(spec.dropout)
        self.output = nn.Linear(2 * spec.hidden, 1)

    def forward(self, values: Tensor, lengths: np.ndarray) -> Tensor:
        """Return float32[tokens], scores (logits), for training.

        Args:
            values: int32[tokens, attributes], the tokens of all windows.
            lengths: int[windows], the number of tokens of each window.
        """
        return self.output(
            self.dropout(self.encoder.encode(values, lengths, dropping=True).tokens)
        )[:, 0]

    def tensors(self) -> dict[str, np.ndarray]:
        """Return a copy of the weights, for a Segmenter."""
        return {name: tensor.numpy(force=True).copy() for name, tensor in self.state_dict().items()}
