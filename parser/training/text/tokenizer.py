"""Training of the tokenizer (text/character_tokenizer.py) on a treebank's tokens: logistic
regressions over hashed features.

It learns from the text of the treebank, and from a copy that is disturbed to look like what people
write (learning_texts.py). How much the copy counts is chosen on dev, half as it is and half
disturbed, because on dev as it is, no copy would be best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
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

# How sentence ends are learned, and from how many copies. With three copies and their mean, F1 of
# sentences on test is 0.6 higher on en, and 0.9 on the disturbed text, than with one copy and six
# epochs, in about the same time.
_SENTENCES, _COPIES_OF_SENTENCES = LogisticRegression(epochs=4), 3
_NEXT_COPY = 10  # the seeds of two copies differ by so much

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
    how: LogisticRegression = LogisticRegression(),
    how_sentences: LogisticRegression = _SENTENCES,
    copies: Sequence[float] = COPIES,
) -> CharacterTokenizer:
    """Train a tokenizer.

    Args:
        train: the paragraphs to learn from.
        dev: paragraphs on which the weight of the disturbed copy and the threshold of sentences
            are chosen; None: nothing is chosen.
        seed: the seed of the copy, and of the order of the examples.
        abbreviations: abbreviations with their period, and whether a name or a number follows.
        how: how tokens and words are learned.
        how_sentences: how sentence ends are learned.
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

    candidates, joins, dashes = cuts(prepared)
    examples = [token_examples(text, candidates, joins, tables) for text in prepared]
    token_weights = (
        how.fitted(examples, (1.0, share), token_ends.PROGRAM, seed).packed() for share in copies
    )
    tokens = _best(
        (TokenEndModel.new(weights, candidates, joins, dashes, forms) for weights in token_weights),
        held_out,
        lambda text, model: text.token_f1(
            find_tokens(text.characters, joined_places(text.characters, whole), model, POWERS)
        ),
    )
    further = (
        PreparedText.of(disturbed_text(train, seed + _NEXT_COPY * number, attach=attach))
        for number in range(1, _COPIES_OF_SENTENCES)
    )
    sentences = _sentence_ends(
        plain, chain(prepared[1:], further), tables, held_out, copies, how_sentences, seed
    )
    rules = MultiwordRules.learned(
        (texts[0].text[start:stop], words)
        for (start, stop), words in zip(texts[0].places, texts[0].words, strict=True)
    )
    words = WordSplitter(
        rules,
        how.fitted([word_examples(texts[0], rules)], (1.0,), multiword.PROGRAM, seed).packed(),
    )
    return CharacterTokenizer(tokens, sentences, words, whole, listed)


def _sentence_ends(
    plain: PreparedText,
    copied: Iterable[PreparedText],
    tables: np.ndarray,
    held_out: Sequence[PreparedText] | None,
    shares: Sequence[float],
    how: LogisticRegression,
    seed: int,
) -> SentenceEndModel:
    """Return the model of sentence ends.

    Args:
        plain: the text.
        copied: its disturbed copies, of which one is in memory at a time. The first decides the
            share.
        tables: see form_tables().
        held_out: the texts to choose on; None: the first share and threshold are used.
        shares: how much a copy may count.
        how: how each training learns.
        seed: the seed of the first training.
    """
    examples = sentence_examples(plain, tables)

    def learned(number: int, copy: DecisionExamples, share: float) -> FeatureWeights:
        own_seed = seed + _NEXT_COPY * number
        return how.fitted([examples, copy], (1.0, share), sentence_ends.PROGRAM, own_seed)

    def best(weights: Mapping[float, FeatureWeights]) -> tuple[float, SentenceEndModel]:
        return _best(
            (
                (share, SentenceEndModel.new(packed, tables[-1], threshold))
                for share, trained in weights.items()
                for packed in [trained.packed()]
                for threshold in (_THRESHOLDS if held_out else _THRESHOLDS[:1])
            ),
            held_out,
            lambda text, candidate: (
                text.sentence_f1(find_ends(text.characters, text.tokens, candidate[1], POWERS))
                - _DOUBT * (candidate[1].threshold != 0)
            ),
        )

    trained: list[FeatureWeights] = []
    for number, text in enumerate(copied):
        copy = sentence_examples(text, tables)
        if number == 0:
            by_share = {share: learned(number, copy, share) for share in shares}
            chosen, _ = best(by_share)
            trained.append(by_share[chosen])
        else:
            trained.append(learned(number, copy, chosen))
    _, model = best({chosen: mean_of(trained)})
    return model


def _best(
    models: Iterable[T],
    texts: Sequence[PreparedText] | None,
    score: Callable[[PreparedText, T], float],
) -> T:
    """Return the model with the highest mean score over texts, the first if several are equal;
    without texts, the first model.
    """
    if texts is None:
        return next(iter(models))
    return max(models, key=lambda model: sum(score(text, model) for text in texts))
