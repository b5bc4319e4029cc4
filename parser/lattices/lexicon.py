"""A lexicon of analyses from the training part of a treebank,
and the lattices that it makes of text.

An analysis of a surface token is a sequence of words that it may consist of, with lemma, UPOS, XPOS
and FEATS; most have one word. The lexicon has all analyses of a form in training. An unknown token
gets analyses of one word, with its own form: the most frequent tags in open classes, or the tags of
forms with the same ending.

Lattices of the lexicon's own sentences contain every gold path and no unknown token, so a parser
could not learn to handle missing paths or unknown tokens. Training lattices are therefore made by
jackknife: each part of the sentences with a lexicon of all other parts.

The tags of unknown forms are guessed by their last letters (Samuelsson 1993; Brants 2000, Section
2.3). The probability of tags given the last k letters is their share among the forms with this
ending, smoothed by the probability given the last k - 1 letters; k = 0 means all forms. A form
counts once for each of its tags, however frequent it is, because a new form resembles rare forms.
Words with an initial capital or with digits are counted separately.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from unicodedata import is_normalized, normalize

from oracles.errors import OptimalStepError
from parser.conllu.checks import EMPTY, FEATS, FORM, LEMMA, MISC, UPOS, XPOS
from parser.conllu.stream import RawSentence, sent_id
from parser.lattices import Arc, Lattice, LatticeError, SurfaceToken, space_after_of
from parser.lattices.gold_paths import surface_tokens
from parser.storage import from_json, write_json

Tags = tuple[str, str, str]
"""UPOS, XPOS and FEATS."""

# The weight of a shorter suffix relative to a longer one, and the length of the longest suffix. On
# dev of hu and got, the right tags are equally often among the first 5 (within 1%) for weights from
# 0.1 to 1 and 4 to 10 letters.
_WEIGHT, _LONGEST = 0.3, 6


class SuffixGuesser:
    """Guesses the tags of a form from forms with the same ending."""

    def __init__(self, forms: Iterable[tuple[str, Collection[Tags]]], most: int) -> None:
        """``forms`` are known forms with their possible tags; ``most`` says how many tags are
        guessed for a new form.
        """
        self._most = most
        self._counts: dict[tuple[bool, bool, str], Counter[Tags]] = defaultdict(Counter)
        for form, tags in forms:
            for length in range(min(_LONGEST, len(form)) + 1 if tags else 0):
                self._counts[_ending(form, length)].update(tags)

    def __call__(self, form: str) -> list[Tags]:
        """Return the most probable tags, the best first;
        none if no known form is of its kind (capitals, digits).
        """
        probabilities: dict[Tags, float] = {}
        for length in range(min(_LONGEST, len(form)) + 1):
            counts = self._counts.get(_ending(form, length))
            if counts is None:
                break
            forms = counts.total()
            shorter = probabilities or {tags: count / forms for tags, count in counts.items()}
            probabilities = {
                tags: (counts[tags] / forms + _WEIGHT * probability) / (1 + _WEIGHT)
                for tags, probability in shorter.items()
            }
        return sorted(probabilities, key=lambda tags: (-probabilities[tags], tags))[: self._most]


def _ending(form: str, length: int) -> tuple[bool, bool, str]:
    return form[:1].isupper(), any(map(str.isdigit, form)), form[len(form) - length :].lower()


# The classes of most new words: the open classes of UD without ADV and INTJ.
OPEN_CLASSES = ("ADJ", "NOUN", "PROPN", "VERB")

# How many analyses an unknown token gets, and how many parts a jackknife has.
UNKNOWN_ANALYSES, FOLDS = 5, 10

_FORMAT = 2

Analysis = tuple[tuple[str, ...], ...]
"""The words that a token may be: form, lemma, UPOS, XPOS and FEATS of each."""


class Guess(StrEnum):
    """The tags that an unknown token gets."""

    FREQUENT = "frequent"
    """The most frequent tags in the open classes."""
    SUFFIXES = "suffixes"
    """The tags of forms with the same ending."""


@dataclass
class Lexicon:
    """The analyses of tokens.

    Attributes:
        analyses: the analyses of each form of a token, the most frequent first.
        unknown: the most frequent tags in open classes.
        guess: how unknown tokens get their tags.
        most: how many tags are guessed at most.
    """

    analyses: dict[str, list[Analysis]] = field(default_factory=dict)
    unknown: list[Tags] = field(default_factory=list)
    guess: Guess = Guess.FREQUENT
    most: int = UNKNOWN_ANALYSES

    @classmethod
    def of(
        cls,
        sentences: Iterable[RawSentence],
        unknown_analyses: int = UNKNOWN_ANALYSES,
        guess: Guess = Guess.FREQUENT,
    ) -> Lexicon:
        """Return a lexicon of the tokens of some sentences;
        equally frequent analyses are in alphabetical order.
        """
        counts: dict[str, Counter[Analysis]] = defaultdict(Counter)
        classes: Counter[Tags] = Counter()
        for sentence in sentences:
            for form, words in surface_tokens(sentence):
                counts[form][tuple(_word(sentence.columns[word]) for word in words)] += 1
        for seen in counts.values():
            for analysis, times in seen.items():
                if len(analysis) == 1 and analysis[0][2] in OPEN_CLASSES:
                    classes[analysis[0][2], analysis[0][3], analysis[0][4]] += times
        analyses = {
            form: sorted(seen, key=lambda analysis: (-seen[analysis], analysis))
            for form, seen in counts.items()
        }
        frequent = sorted(classes, key=lambda tags: (-classes[tags], tags))[:unknown_analyses]
        return cls(analyses, frequent, guess, unknown_analyses)

    def __len__(self) -> int:
        return len(self.analyses)

    def look_up(self, form: str) -> list[Analysis]:
        """Return the analyses of a token, at least one;
        a decomposed form that is unknown is looked up in NFC.
        """
        if (analyses := self.analyses.get(form)) is not None:
            return analyses
        if not is_normalized("NFC", form):
            composed_analyses = self.look_up(composed := normalize("NFC", form))
            return [
                tuple((_decomposed(word[0], composed, form), *word[1:]) for word in analysis)
                for analysis in composed_analyses
            ]
        guessed = self._guesser(form) if self.guess == Guess.SUFFIXES else []
        tags = guessed or self.unknown or [("X", EMPTY, EMPTY)]
        return [((form, EMPTY, *triple),) for triple in tags]

    @cached_property
    def _guesser(self) -> SuffixGuesser:
        words = (
            (form, [analysis[0] for analysis in analyses if len(analysis) == 1])
            for form, analyses in self.analyses.items()
        )
        return SuffixGuesser(
            ((form, {(w[2], w[3], w[4]) for w in form_words}) for form, form_words in words),
            self.most,
        )

    def lattice(self, sentence: RawSentence) -> Lattice:
        """Return the lattice of a sentence's tokens; the words of the sentence are not read."""
        arcs: list[Arc] = []
        tokens, start = [], 0
        for columns, _ in sentence.surface_tokens():
            form = columns[FORM]
            end = _add(self.look_up(form), start, arcs)
            tokens.append(SurfaceToken(start, end, form, space_after_of(columns[MISC])))
            start = end
        comments = [line.rstrip("\r\n") for line in sentence.lines if line.startswith("#")]
        return Lattice.of(arcs, tokens, comments, sentence.place(), sent_id(sentence.lines))

    def save(self, path: str | Path) -> None:
        """Write the lexicon as JSON."""
        fields = {
            "guess": self.guess,
            "most": self.most,
            "unknown": self.unknown,
            "analyses": self.analyses,
        }
        write_json(Path(path), {"format": _FORMAT, **fields})

    @classmethod
    def load(cls, path: str | Path) -> Lexicon:
        """Read a lexicon.

        Raises:
            LatticeError: the file is missing or damaged.
        """
        try:
            stored = from_json(Path(path).read_bytes())
            if stored["format"] != _FORMAT:
                raise OptimalStepError(f"format {stored['format']}")
            guess, most = Guess(stored["guess"]), int(stored["most"])
            analyses = {
                form: [tuple(tuple(map(str, word)) for word in analysis) for analysis in entries]
                for form, entries in stored["analyses"].items()
            }
            if any(
                len(word) != 5
                for entries in analyses.values()
                for analysis in entries
                for word in analysis
            ):
                raise OptimalStepError("a word does not have five columns")
            unknown = [
                (str(upos), str(xpos), str(feats)) for upos, xpos, feats in stored["unknown"]
            ]
        except OSError as error:
            raise LatticeError(
                f"{path}: it cannot be read ({error.strerror}); check the path"
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise LatticeError(
                f"{path}: not a lexicon ({error}); make one with optimal-step lattices build"
            ) from error
        return cls(analyses, unknown, guess, most)


def jackknife(
    sentences: Sequence[RawSentence],
    folds: int = FOLDS,
    unknown_analyses: int = UNKNOWN_ANALYSES,
    guess: Guess = Guess.FREQUENT,
) -> Iterator[Lattice]:
    """Yield the lattices of sentences, each from a lexicon of the other parts; every ``folds``-th
    sentence is in the same part.

    Raises:
        LatticeError: there are fewer than two folds, or fewer sentences than folds.
    """
    if folds < 2:
        raise LatticeError(
            f"--folds {folds}: the lexicon of a part is made of the others, "
            "so there must be at least two"
        )
    if len(sentences) < folds:
        raise LatticeError(
            f"{len(sentences)} sentences cannot be split into {folds} parts; give more, "
            "or fewer --folds"
        )
    parts = [[s for n, s in enumerate(sentences) if n % folds != fold] for fold in range(folds)]
    lexicons = [Lexicon.of(part, unknown_analyses, guess) for part in parts]
    for number, sentence in enumerate(sentences):
        yield lexicons[number % folds].lattice(sentence)


def _decomposed(word: str, composed: str, form: str) -> str:
    """Return a word of a token that was looked up in NFC, with letters as the token has them."""
    return form if word == composed else normalize("NFD", word)


def _word(columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(columns[c] for c in (FORM, LEMMA, UPOS, XPOS, FEATS))


def _add(analyses: Sequence[Analysis], start: int, arcs: list[Arc]) -> int:
    """Add the arcs of a token that begins at a node; return the node at which it ends.

    Analyses that begin with the same forms share these nodes,
    so that only the words in which they differ are ambiguous.
    """
    beginnings = {
        tuple(word[0] for word in analysis[:n])
        for analysis in analyses
        for n in range(1, len(analysis))
    }
    inner = sorted(beginnings, key=lambda forms: (len(forms), forms))
    # by the forms that lead there
    nodes = {(): start, **{forms: node for node, forms in enumerate(inner, start + 1)}}
    end = start + 1 + len(inner)
    added: dict[Arc, None] = {}  # in order, each once
    for analysis in analyses:
        for n, word in enumerate(analysis):
            before = nodes[tuple(w[0] for w in analysis[:n])]
            after = end if n + 1 == len(analysis) else nodes[tuple(w[0] for w in analysis[: n + 1])]
            added[Arc(before, after, *word)] = None
    arcs += added
    return end
