"""Segmentation by a unigram model against all segmentations of a word,
and against the package ``tokenizers``.
"""

import json
import math
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parser.data.parts.subwords import Subwords
from parser.data.parts.unigram import UnigramPieces

LETTERS, MARK, UNKNOWN = "abcé", "▁", 0
VOCABULARY = ["<unk>", MARK, "a", "b", "é", "ab", "aa", f"{MARK}a", f"{MARK}ab", "ba", "aba", "<s>"]


def description(scores: list[float], **changes: object) -> dict:
    normalizers = [
        {"type": "NFKC"},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    ]
    special = {"<s>": {"id": "<s>", "ids": [11], "tokens": ["<s>"]}}
    parts = [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<s>", "type_id": 0}}]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": {
            "type": "Metaspace",
            "replacement": MARK,
            "prepend_scheme": "always",
            "split": True,
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": parts,
            "pair": [*parts, *parts],
            "special_tokens": special,
        },
        "decoder": None,
        "model": {
            "type": "Unigram",
            "unk_id": UNKNOWN,
            "byte_fallback": False,
            "vocab": [[piece, score] for piece, score in zip(VOCABULARY, scores, strict=True)],
        },
    } | changes


def plain(scores: list[float], **changes: object) -> UnigramPieces:
    pieces = UnigramPieces.of(description(scores, **changes))
    assert pieces is not None
    return pieces


def segmentations(word: str) -> Iterator[list[str]]:
    if not word:
        yield []
    for end in range(1, len(word) + 1):
        for rest in segmentations(word[end:]):
            yield [word[:end], *rest]


def score_of(texts: list[str], scores: list[float]) -> float:
    """Return the probability of pieces; a character that is no piece is unknown,
    and no longer text is.
    """
    total = 0.0
    for text in texts:
        if text in VOCABULARY:
            total += scores[VOCABULARY.index(text)]
        else:
            total += min(scores) - 10 if len(text) == 1 else -math.inf
    return total


SCORES = st.lists(st.floats(-12, 0), min_size=len(VOCABULARY), max_size=len(VOCABULARY))


@given(st.text(LETTERS, max_size=6), SCORES)
def test_the_pieces_are_the_most_probable_ones(form, scores):
    places, texts = plain(scores).pieces(form)
    word = f"{MARK}{form}" if form else ""
    assert "".join(texts) == word
    assert places == [VOCABULARY.index(text) if text in VOCABULARY else UNKNOWN for text in texts]
    single = [piece for text in texts for piece in ([text] if text in VOCABULARY else text)]
    best = max(score_of(some, scores) for some in segmentations(word))
    assert score_of(single, scores) == pytest.approx(best)


def test_blanks_marks_and_forms_of_unicode():
    pieces = plain([-5.0] * len(VOCABULARY))
    assert pieces.pieces("") == ([], [])
    assert pieces.pieces("ab  ab")[1] == [f"{MARK}ab", f"{MARK}ab"]
    assert pieces.pieces(f"{MARK}ab")[1] == [f"{MARK}ab"]
    assert pieces.pieces("e\u0301")[1] == [MARK, "é"]
    assert pieces.pieces("cc")[1] == [MARK, "cc"], "unknown characters side by side are one piece"
    assert pieces.around == ([], [11])
    assert len(pieces) == len(VOCABULARY)


@pytest.mark.parametrize(
    "changes",
    [
        {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AA=="}},
        {"normalizer": {"type": "Lowercase"}},
        {"pre_tokenizer": {"type": "Whitespace"}},
        {
            "pre_tokenizer": {
                "type": "Metaspace",
                "replacement": MARK,
                "prepend_scheme": "first",
                "split": True,
            }
        },
        {"pre_tokenizer": None},
        {"model": {"type": "WordPiece", "vocab": {"a": 0}}},
        {"model": {"type": "Unigram", "unk_id": None, "vocab": [["a", -1.0]]}},
        {"model": {"type": "Unigram", "unk_id": 1, "vocab": [["a", -1.0]]}},
        {"model": {"type": "Unigram", "unk_id": 0, "vocab": [["a", -1.0], ["a", -2.0]]}},
        {"model": {"type": "Unigram", "unk_id": 0, "vocab": [["a", math.nan]]}},
        {"added_tokens": [{"id": 0, "content": "<unk>", "special": True}]},
        {"post_processor": {"type": "BertProcessing"}},
    ],
)
def test_other_tokenizers_are_left_to_the_package(changes):
    assert UnigramPieces.of(description([-1.0] * len(VOCABULARY), **changes)) is None


@pytest.mark.extras
@given(
    st.text(st.sampled_from([*LETTERS, MARK, " ", "\u0301", "ﬁ", "☃", "\u00a0"]), max_size=8),
    SCORES,
)
def test_the_pieces_are_those_of_the_package(form, scores):
    package = pytest.importorskip(
        "tokenizers", reason="tokenizers is not installed (extra subwords)"
    )
    tokenizer = package.Tokenizer.from_str(json.dumps(description(scores)))
    encoding = tokenizer.encode(form, add_special_tokens=False)
    assert Subwords(json.dumps(description(scores))).pieces(form) == (encoding.ids, encoding.tokens)
