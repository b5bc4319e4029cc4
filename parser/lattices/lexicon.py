"""A lexicon of analyses from the training part of a treebank, and the lattices that it makes of text.

An analysis of a surface token is the sequence of words that it may be, with lemma, UPOS, XPOS and FEATS; most have one word.
The lexicon has all analyses that training saw of a form. A token that it does not know gets analyses of one word, with its own
form as the word's form: the most frequent ones in open classes, or those of the forms that end like it.

Lattices of the sentences that the lexicon was made of hold every gold path and no unknown token, so that nothing could be
learned from them of either: training lattices are made by jackknife, each part of the sentences with a lexicon of the others.

Tags of forms that a lexicon does not know are guessed by their last letters (Samuelsson 1993; Brants 2000, Section 2.3). The
probability of tags given the last k letters is their share of the forms that end so, smoothed by the probability given the last
k - 1; k = 0 is all forms. Forms count, not tokens: a form once for each of its tags, since a new form is like the rare ones.
Words with a capital letter or with digits are apart from the others.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from parser.conllu.checks import EMPTY, FEATS, FORM, LEMMA, MISC, UPOS, XPOS
from parser.conllu.stream import RawSentence, sent_id
from parser.lattices import Arc, Lattice, LatticeError, SurfaceToken, kept_of_misc
from parser.lattices.gold_paths import surface_tokens
from parser.storage import write_json

Tags = tuple[str, str, str]
"""UPOS, XPOS and FEATS."""

# What a shorter suffix weighs compared with a longer one, and how long they are at most. On dev of hu and got the right
# tags are equally often among the first 5 (within 1%) for weights from 0.1 to 1 and 4 to 10 letters.
_WEIGHT, _LONGEST = 0.3, 6


class SuffixGuesser:
    """Guesses the tags of a form from those of the forms that end like it."""

    def __init__(self, forms: Iterable[tuple[str, Collection[Tags]]], most: int) -> None:
        """``forms`` are known ones with the tags that each may have, or none; of a new one, ``most`` are guessed."""
        self._most = most
        self._counts: dict[tuple[bool, bool, str], Counter[Tags]] = defaultdict(Counter)
        for form, tags in forms:
            for length in range(min(_LONGEST, len(form)) + 1 if tags else 0):
                self._counts[_ending(form, length)].update(tags)

    def __call__(self, form: str) -> list[Tags]:
        """The most probable tags, the best first; none if no known form is of its kind (capitals, digits)."""
        probabilities: dict[Tags, float] = {}
        for length in range(min(_LONGEST, len(form)) + 1):
            counts = self._counts.get(_ending(form, length))
            if counts is None:
                break
            forms = counts.total()
            shorter = probabilities or {tags: count / forms for tags, count in counts.items()}
            probabilities = {
                tags: (counts[tags] / forms + _WEIGHT * probability) / (1 + _WEIGHT) for tags, probability in shorter.items()
            }
        return sorted(probabilities, key=lambda tags: (-probabilities[tags], tags))[: self._most]


def _ending(form: str, length: int) -> tuple[bool, bool, str]:
    return form[:1].isupper(), any(map(str.isdigit, form)), form[len(form) - length :].lower()


# The classes that most new words come from. Of those that UD calls open, ADV and INTJ are left out.
OPEN_CLASSES = ("ADJ", "NOUN", "PROPN", "VERB")

# This many analyses of an unknown token; this many parts of a jackknife.
UNKNOWN_ANALYSES, FOLDS = 5, 10

_FORMAT = 2

Analysis = tuple[tuple[str, ...], ...]
"""The words that a token may be: form, lemma, UPOS, XPOS and FEATS of each."""


class Guess(StrEnum):
    """What tags an unknown token may have."""

    FREQUENT = "frequent"
    """Those that are most frequent in the open classes."""
    SUFFIXES = "suffixes"
    """Those of the forms that end like it."""


@dataclass
class Lexicon:
    """What tokens may be.

    Attributes:
        analyses: by the form of the token, the most frequent first.
        unknown: the most frequent tags in open classes.
        guess: the tags of unknown tokens: these, or those of forms that end alike.
        most: so many are guessed at most.
    """

    analyses: dict[str, list[Analysis]] = field(default_factory=dict)
    unknown: list[Tags] = field(default_factory=list)
    guess: Guess = Guess.FREQUENT
    most: int = UNKNOWN_ANALYSES

    @classmethod
    def of(
        cls, sentences: Iterable[RawSentence], unknown_analyses: int = UNKNOWN_ANALYSES, guess: Guess = Guess.FREQUENT
    ) -> Lexicon:
        """That of the tokens of some sentences; analyses that are equally frequent stand in alphabetical order."""
        counts: dict[str, Counter[Analysis]] = defaultdict(Counter)
        classes: Counter[Tags] = Counter()
        for sentence in sentences:
            for form, words in surface_tokens(sentence):
                counts[form][tuple(_word(sentence.columns[word]) for word in words)] += 1
        for seen in counts.values():
            for analysis, times in seen.items():
                if len(analysis) == 1 and analysis[0][2] in OPEN_CLASSES:
                    classes[analysis[0][2], analysis[0][3], analysis[0][4]] += times
        analyses = {form: sorted(seen, key=lambda one: (-seen[one], one)) for form, seen in counts.items()}
        frequent = sorted(classes, key=lambda one: (-classes[one], one))[:unknown_analyses]
        return cls(analyses, frequent, guess, unknown_analyses)

    def __len__(self) -> int:
        return len(self.analyses)

    def of_token(self, form: str) -> list[Analysis]:
        """The analyses of a token, one at least."""
        if (known := self.analyses.get(form)) is not None:
            return known
        guessed = self._guesser(form) if self.guess == Guess.SUFFIXES else []
        tags = guessed or self.unknown or [("X", EMPTY, EMPTY)]
        return [((form, EMPTY, *of_word),) for of_word in tags]

    @cached_property
    def _guesser(self) -> SuffixGuesser:
        words = ((form, [one[0] for one in known if len(one) == 1]) for form, known in self.analyses.items())
        return SuffixGuesser(((form, {(w[2], w[3], w[4]) for w in known}) for form, known in words), self.most)

    def lattice(self, sentence: RawSentence) -> Lattice:
        """The lattice of the tokens of a sentence; what the sentence says of their words is not read."""
        arcs: list[Arc] = []
        tokens, start = [], 0
        for columns, _ in sentence.surface_tokens():
            form = columns[FORM]
            end = _add(self.of_token(form), start, arcs)
            tokens.append(SurfaceToken(start, end, form, kept_of_misc(columns[MISC])))
            start = end
        comments = [line.rstrip("\r\n") for line in sentence.lines if line.startswith("#")]
        return Lattice.of(arcs, tokens, comments, sentence.place(), sent_id(sentence.lines))

    def save(self, path: str | Path) -> None:
        """Writes the lexicon as JSON."""
        fields = {"guess": self.guess, "most": self.most, "unknown": self.unknown, "analyses": self.analyses}
        write_json(Path(path), {"format": _FORMAT, **fields})

    @classmethod
    def load(cls, path: str | Path) -> Lexicon:
        """Reads a lexicon.

        Raises:
            LatticeError: there is none, or it is damaged.
        """
        try:
            stored = json.loads(Path(path).read_text(encoding="utf-8"))
            if stored["format"] != _FORMAT:
                raise ValueError(f"format {stored['format']}")
            guess, most = Guess(stored["guess"]), int(stored["most"])
            analyses = {
                form: [tuple(tuple(map(str, word)) for word in analysis) for analysis in known]
                for form, known in stored["analyses"].items()
            }
            if any(len(word) != 5 for known in analyses.values() for analysis in known for word in analysis):
                raise ValueError("a word does not have five columns")
            unknown = [(str(upos), str(xpos), str(feats)) for upos, xpos, feats in stored["unknown"]]
        except OSError as error:
            raise LatticeError(f"{path}: it cannot be read ({error.strerror}); check the path") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise LatticeError(f"{path}: not a lexicon ({error}); make one with optimal-step lattices build") from error
        return cls(analyses, unknown, guess, most)


def jackknife(
    sentences: Sequence[RawSentence],
    folds: int = FOLDS,
    unknown_analyses: int = UNKNOWN_ANALYSES,
    guess: Guess = Guess.FREQUENT,
) -> Iterator[Lattice]:
    """The lattices of sentences, each from a lexicon without its own part of them; every fold-th sentence is of the same part.

    Raises:
        LatticeError: there are fewer than two folds, or fewer sentences than folds.
    """
    if folds < 2:
        raise LatticeError(f"--folds {folds}: the lexicon of a part is made of the others, so there must be at least two")
    if len(sentences) < folds:
        raise LatticeError(f"{len(sentences)} sentences cannot be split into {folds} parts; give more, or fewer --folds")
    parts = [[s for n, s in enumerate(sentences) if n % folds != fold] for fold in range(folds)]
    lexicons = [Lexicon.of(part, unknown_analyses, guess) for part in parts]
    for number, sentence in enumerate(sentences):
        yield lexicons[number % folds].lattice(sentence)


def _word(columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(columns[c] for c in (FORM, LEMMA, UPOS, XPOS, FEATS))


def _add(analyses: Sequence[Analysis], start: int, arcs: list[Arc]) -> int:
    """Adds the arcs of a token that begins at a node, and returns the node at which it ends.

    Analyses that begin alike share the nodes, as far as they have the same forms: the words in which they differ alone are
    ambiguous.
    """
    beginnings = {tuple(word[0] for word in one[:n]) for one in analyses for n in range(1, len(one))}
    inner = sorted(beginnings, key=lambda forms: (len(forms), forms))
    nodes = {(): start, **{forms: node for node, forms in enumerate(inner, start + 1)}}  # by the forms that lead there
    end = start + 1 + len(inner)
    added: dict[Arc, None] = {}  # in order, each once
    for analysis in analyses:
        for n, word in enumerate(analysis):
            before = nodes[tuple(w[0] for w in analysis[:n])]
            after = end if n + 1 == len(analysis) else nodes[tuple(w[0] for w in analysis[: n + 1])]
            added[Arc(before, after, *word)] = None
    arcs += added
    return end
