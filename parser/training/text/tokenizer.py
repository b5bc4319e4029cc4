"""Training of the tokenizer (text/character_tokenizer.py) on a treebank's tokens: logistic
regressions over hashed features.

It learns from the text of the treebank, and from a copy that is disturbed to look like what people
write (learning_texts.py). How much the copy counts is chosen on dev, half as it is and half
disturbed, because on dev as it is, no copy would be best. The ends of tokens and of sentences are
learned several times, each time with another copy, and the weights are averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from parser.text import multiword, sentence_ends, token_ends
from parser.text.character_tokenizer import CharacterTokenizer
from parser.text.characters import POWERS
from parser.text.decisions import STEP
from parser.text.kinds import joined_places, whole_kinds
from parser.text.multiword import MultiwordRules, WordSplitter
from parser.text.sentence_ends import SentenceEndModel, find_ends
from parser.text.token_ends import TokenEndModel, find_tokens
from parser.text.tokens import Paragraph
from parser.training.text.examples import (
    PreparedText,
    cuts,
    form_tables,
    sentence_examples,
    token_examples,
    word_examples,
)
from parser.training.text.learning_texts import disturbed_text, has_spaced_marks, plain_text
from parser.training.text.logistic_regression import (
    DecisionExamples,
    FeatureWeights,
    LogisticRegression,
    mean_of,
)

T = TypeVar("T")
M = TypeVar("M")

# How the ends of tokens and sentences are learned, and from how many copies. The mean of three
# trainings finds more sentences of en and more words of vi than one training of six epochs, and
# takes about as long (experiments/tokenizers.md).
_ENDS, _N_COPIES = LogisticRegression(epochs=4), 3
_NEXT_COPY = 10  # the difference between the seeds of two copies

# Weights of the disturbed copy to choose from on dev; without dev, the first is used.
COPIES = (0.25, 1.0, 0.0)

# Scores of thresholds other than 0 are lowered by this much.
_DOUBT = 1e-4

# Thresholds to choose from on dev, in steps of the weights; without dev, the first is used.
_THRESHOLDS = tuple(
    round(score / STEP) for score in (0, -4, -3, -2, -1.5, -1, -0.5, 0.5, 1, 2, 3, 4)
)


def train_tokenizer(
    train: Sequence[Paragraph],
    dev: Sequence[Paragraph] | None,
    seed: int,
    abbreviations: Mapping[str, bool] | None = None,
    how: LogisticRegression = _ENDS,
    copies: Sequence[float] = COPIES,
) -> CharacterTokenizer:
    """Train a tokenizer.

    Args:
        train: the paragraphs to learn from.
        dev: paragraphs on which the weight of the disturbed copy and the threshold of sentences
            are chosen; None: nothing is chosen.
        seed: the seed of the copies, and of the order of the examples.
        abbreviations: abbreviations with their period, and whether a name or a number follows.
        how: how the ends of tokens and sentences are learned.
        copies: the weights of the copy to choose from; without dev, the first is used.
    """
    attach = has_spaced_marks(train)
    texts = [plain_text(train), disturbed_text(train, seed, attach=attach)]
    prepared = [PreparedText.of(text) for text in texts]
    plain, held_out = prepared[0], None
    whole = whole_kinds(plain.characters, plain.tokens)
    tables, listed = form_tables(
        plain.characters, plain.tokens, plain.ends, plain.folds, abbreviations or {}
    )
    forms = tables[-1]
    if dev:
        held_out = [
            PreparedText.of(text)
            for text in (plain_text(dev), disturbed_text(dev, seed + 1, attach=attach))
        ]
    else:
        copies = copies[:1]

    places = cuts(prepared, whole)
    further = (
        PreparedText.of(disturbed_text(train, seed + _NEXT_COPY * number, attach=attach))
        for number in range(1, _N_COPIES)
    )
    learning = _Learning(plain, [*prepared[1:], *further], held_out, copies, how, seed)
    tokens = learning.best(
        token_ends.PROGRAM,
        lambda text: token_examples(text, places, tables),
        lambda weights: [TokenEndModel.new(weights, places, forms)],
        lambda text, model: text.token_f1(
            find_tokens(text.characters, joined_places(text.characters, whole), model, POWERS)
        ),
    )
    sentences = learning.best(
        sentence_ends.PROGRAM,
        lambda text: sentence_examples(text, tables),
        lambda weights: [
            SentenceEndModel.new(weights, forms, threshold)
            for threshold in (_THRESHOLDS if dev else _THRESHOLDS[:1])
        ],
        lambda text, model: (
            text.sentence_f1(find_ends(text.characters, text.tokens, model, POWERS))
            - _DOUBT * (model.threshold != 0)
        ),
    )
    rules = MultiwordRules.learned(
        (texts[0].text[start:stop], words)
        for (start, stop), words in zip(texts[0].places, texts[0].words, strict=True)
    )
    words = WordSplitter(
        rules,
        LogisticRegression()
        .fitted([word_examples(texts[0], rules)], (1.0,), multiword.PROGRAM, seed)
        .packed(),
    )
    return CharacterTokenizer(tokens, sentences, words, whole, listed)


@dataclass(frozen=True)
class _Learning:
    """What a decision is learned from, and chosen on.

    Attributes:
        plain: the text.
        copied: its disturbed copies.
        held_out: the texts of dev; None: nothing is chosen.
        shares: how much a copy may count; without dev, the first is used.
        how: how each training learns.
        seed: the seed of the first training.
    """

    plain: PreparedText
    copied: Sequence[PreparedText]
    held_out: Sequence[PreparedText] | None
    shares: Sequence[float]
    how: LogisticRegression
    seed: int

    def best(
        self,
        program: np.ndarray,
        examples_of: Callable[[PreparedText], DecisionExamples],
        models_of: Callable[[np.ndarray], Iterable[T]],
        score: Callable[[PreparedText, T], float],
    ) -> T:
        """Return the best model of a decision. Its weights are the mean of one training with each
        copy; the first copy decides how much the copies count.

        Args:
            program: the templates of the decision's features.
            examples_of: returns the examples in a text.
            models_of: returns the models with these packed weights.
            score: returns the score of a model on a text.
        """
        plain = examples_of(self.plain)

        def learned(number: int, copy: DecisionExamples, share: float) -> FeatureWeights:
            seed = self.seed + _NEXT_COPY * number
            return self.how.fitted([plain, copy], (1.0, share), program, seed)

        first = examples_of(self.copied[0])
        by_share = {share: learned(0, first, share) for share in self.shares}
        candidates = (
            (share, model)
            for share, weights in by_share.items()
            for model in models_of(weights.packed())
        )
        share, _ = self._best(candidates, lambda text, candidate: score(text, candidate[1]))
        del first  # the examples of a copy take much memory
        further = (
            learned(number, examples_of(text), share)
            for number, text in enumerate(self.copied[1:], 1)
        )
        mean = mean_of([by_share[share], *further])
        return self._best(models_of(mean.packed()), score)

    def _best(self, models: Iterable[M], score: Callable[[PreparedText, M], float]) -> M:
        """Return the model with the highest mean score over the texts of dev, the first if several
        are equal; without dev, the first model.
        """
        if self.held_out is None:
            return next(iter(models))
        held_out = self.held_out
        return max(models, key=lambda model: sum(score(text, model) for text in held_out))
