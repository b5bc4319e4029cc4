"""How well a system's trees agree with the gold ones: attachment scores, for files and for arrays.

LAS (official), UAS, CLAS, MLAS, BLEX, Words, Sentences, ... are the metrics of the CoNLL 2018
shared task (https://universaldependencies.org/conll18/evaluation.html) to the last digit:
precision = correct / system words, recall = correct / gold words, F1 their harmonic mean, over
words aligned by ``parser.evaluation.evaluated_text``. There are two more:

* LAS over full relations, subtypes included, where the official LAS cuts ``nmod:poss`` down to
  ``nmod``. It is ``las`` here and in the tables of experiments/; the official LAS is
  ``las_universal``.
* UAS and LAS without punctuation: words with gold UPOS PUNCT are left out, and system words aligned
  with them. A system word that is not aligned is left out if its own UPOS is PUNCT.

If heads of the gold file are ``_`` (unknown), all scores of trees leave these words out, and the
system words aligned with them. If relations are ``_``, all scores but UAS leave these words out.
MLAS, which compares the children of words, is then too low.

An edge is non-projective if a node between head and child does not descend from the head (the
artificial root, at the left, is a node, and every node descends from it). So it depends on the rest
of the tree whether an edge is projective.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from unicodedata import is_normalized, normalize

import numpy as np

from parser.conllu.checks import EMPTY, FEATS, LEMMA, UPOS, XPOS, ConlluError
from parser.evaluation.evaluated_text import ROOT, UNKNOWN, EvaluatedText, align, read_text

PUNCTUATION = "PUNCT"

NOT_ALIGNED = -2  # the number of a word that is not aligned

# The names of scores in tables, in their order, by their keys in evaluate_files().
NAMES = {
    "tokens": "Tokens",
    "sentences": "Sentences",
    "words": "Words",
    "upos": "UPOS",
    "xpos": "XPOS",
    "ufeats": "UFeats",
    "alltags": "AllTags",
    "lemmas": "Lemmas",
    "uas": "UAS",
    "las": "LAS",
    "las_universal": "LAS (official)",
    "uas_nopunct": "UAS no punct.",
    "las_nopunct": "LAS no punct.",
    "clas": "CLAS",
    "mlas": "MLAS",
    "blex": "BLEX",
}
TREE_SCORES = ("uas", "las", "las_universal", "uas_nopunct", "las_nopunct", "clas", "mlas", "blex")


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of words (or tokens, or sentences), and their percentages,
    which are 0 if nothing is counted.

    Attributes:
        correct: how many gold words the system has right.
        gold, system: how many words count in either file.
        aligned: how many counted gold words are aligned; None for scores of tokens,
            sentences and words.
        has_gold: whether the gold file has any value in the columns that are compared; otherwise
            the score says nothing.
    """

    correct: int
    gold: int
    system: int
    aligned: int | None = None
    has_gold: bool = True

    @property
    def precision(self) -> float:
        """Percentage of system words that are right."""
        return _percent(self.correct, self.system)

    @property
    def recall(self) -> float:
        """Percentage of gold words that are right."""
        return _percent(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, in percent."""
        return _percent(2 * self.correct, self.gold + self.system)

    @property
    def aligned_accuracy(self) -> float | None:
        """Percentage of aligned words that are right."""
        return None if self.aligned is None else _percent(self.correct, self.aligned)


def evaluate_files(gold: str | Path, system: str | Path) -> dict[str, Score]:
    """Compare a file of trees with the gold file.

    Returns:
        ``uas``, ``las``, ``las_universal``, ``uas_nopunct``, ``las_nopunct``, ``clas``, ``mlas``,
        ``blex``, and ``tokens``, ``sentences``, ``words``, ``upos``, ``xpos``, ``ufeats``,
        ``alltags``, ``lemmas``. The official F1 is ``.f1``.

    Raises:
        ConlluError: a file cannot be read as CoNLL-U, has no sentence or a sentence that is not a
            tree with exactly one root, or the files have different texts.
    """
    return evaluate_texts(read_text(gold, partial=True), read_text(system))


def evaluate_texts(gold: EvaluatedText, system: EvaluatedText) -> dict[str, Score]:
    """Compare files that have been read; see evaluate_files()."""
    if gold.characters != system.characters:
        raise ConlluError(text_difference(gold, system))
    pairs = align(gold.spans, system.spans)
    gold_of = {s: g for g, s in pairs}
    gold_of[ROOT] = ROOT

    # Each property is a pair of lists: a gold word is right if its entry equals that of the aligned
    # system word. Heads and children of system words are replaced by the gold words aligned with
    # them.
    heads = gold.parents, [gold_of.get(parent, NOT_ALIGNED) for parent in system.parents]
    relations = gold.relations, system.relations
    universal = gold.universal, system.universal
    upos = (gold.upos, system.upos)
    xpos = (gold.xpos, system.xpos)
    feats = (gold.feats, system.feats)
    lemmas = gold.lemmas, system.lemmas.copy()
    for g, s in pairs:
        if gold.lemmas[g] == "_":  # without a gold lemma, any is right
            lemmas[1][s] = "_"

    def described(
        text: EvaluatedText, number: Mapping[int, int]
    ) -> list[list[tuple[int, str, str, str]]]:
        words = [*zip(text.universal, text.upos, text.feats, strict=True)]
        return [
            [(number.get(child, NOT_ALIGNED), *words[child]) for child in children]
            for children in text.function_words
        ]

    function_words = (
        described(gold, {g: g for g in range(len(gold.spans))}),
        described(system, gold_of),
    )

    everything = [True] * len(gold.spans), [True] * len(system.spans)
    content = gold.content, system.content
    no_punctuation = (
        [tag != PUNCTUATION for tag in gold.upos],
        [tag != PUNCTUATION for tag in system.upos],
    )
    for g, s in pairs:
        no_punctuation[1][s] = no_punctuation[0][g]
    has_head = [parent != UNKNOWN for parent in gold.parents]
    labelled = [
        is_known and relation != EMPTY
        for is_known, relation in zip(has_head, gold.relations, strict=True)
    ]

    def restricted(
        words: list[bool], counted: tuple[list[bool], list[bool]]
    ) -> tuple[list[bool], list[bool]]:
        """Return the counted words without other gold words,
        and without system words aligned with these.
        """
        system_words = counted[1].copy()
        for g, s in pairs:
            system_words[s] = system_words[s] and words[g]
        return [
            is_counted and among for is_counted, among in zip(counted[0], words, strict=True)
        ], system_words

    with_heads, with_relations = restricted(has_head, everything), restricted(labelled, everything)
    content = restricted(labelled, content)

    def score(
        *properties: tuple[Sequence, Sequence],
        counted: tuple[list[bool], list[bool]] = everything,
        columns: Collection[int] = (),
    ) -> Score:
        aligned = [(g, s) for g, s in pairs if counted[0][g]]
        correct = sum(
            all(gold_entries[g] == system_entries[s] for gold_entries, system_entries in properties)
            for g, s in aligned
        )
        has_gold = not columns or any(column in gold.annotated for column in columns)
        return Score(correct, sum(counted[0]), sum(counted[1]), len(aligned), has_gold)

    def same_spans(gold_spans: list[tuple[int, int]], system_spans: list[tuple[int, int]]) -> Score:
        return Score(len(set(gold_spans) & set(system_spans)), len(gold_spans), len(system_spans))

    return {
        "uas": score(heads, counted=with_heads),
        "las": score(heads, relations, counted=with_relations),
        "las_universal": score(heads, universal, counted=with_relations),
        "uas_nopunct": score(heads, counted=restricted(has_head, no_punctuation)),
        "las_nopunct": score(heads, relations, counted=restricted(labelled, no_punctuation)),
        "clas": score(heads, universal, counted=content),
        "mlas": score(heads, universal, upos, feats, function_words, counted=content),
        "blex": score(heads, universal, lemmas, counted=content),
        "upos": score(upos, columns=[UPOS]),
        "xpos": score(xpos, columns=[XPOS]),
        "ufeats": score(feats, columns=[FEATS]),
        "alltags": score(upos, xpos, feats, columns=[UPOS, XPOS, FEATS]),
        "lemmas": score(lemmas, columns=[LEMMA]),
        "words": Score(len(pairs), len(gold.spans), len(system.spans)),
        "tokens": same_spans(gold.tokens, system.tokens),
        "sentences": same_spans(gold.sentences, system.sentences),
    }


def text_difference(gold: EvaluatedText, system: EvaluatedText) -> str:
    """Return a message that says where two files have different characters."""
    texts = gold.characters, system.characters
    at = next(
        (i for i, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts))
    )

    gold_rest, rest = (
        repr(text[at : at + 20]) if at < len(text) else "nothing more" for text in texts
    )
    fix = (
        "give two files of the same text (it may be split differently, "
        "but its characters must be the same)"
    )
    if len({normalize("NFC", text) for text in texts}) == 1:
        names = ["NFC" if is_normalized("NFC", text) else "NFD" for text in texts]
        fix = (
            f"the same characters in another Unicode normalization ({names[1]}, the gold file "
            f"{names[0]}); convert one to NFC"
        )
    return (
        f"{system.place(at)}: the text is not that of the gold file: {rest} where {gold.place(at)} "
        f"has {gold_rest}; {fix}"
    )


def attachment_scores(
    gold_heads: np.ndarray,
    gold_relations: np.ndarray,
    heads: np.ndarray,
    relations: np.ndarray,
    punctuation: np.ndarray,
    universal_numbers: np.ndarray,
) -> dict[str, float]:
    """Return the scores of trees over gold words, all sentences one after the other.

    Equal to evaluate_files() on the same trees, to the last digit.

    Args:
        gold_heads, heads: int[words], within each sentence 0..n.
        gold_relations, relations: int[words], relations with their subtypes,
            by one numbering for both.
        punctuation: bool[words], whether the gold UPOS is PUNCT.
        universal_numbers: int[relations], the number of each relation's universal relation.

    Returns:
        ``uas``, ``las`` (subtypes count), ``las_universal`` (they do not), ``uas_nopunct``,
        ``las_nopunct``: percentages; 0 if there is no word to count.
    """
    attached = gold_heads == heads
    labelled = attached & (gold_relations == relations)
    labelled_universal = attached & (
        universal_numbers[gold_relations] == universal_numbers[relations]
    )
    counted = ~punctuation
    return {
        "uas": _percent(attached.sum(), len(attached)),
        "las": _percent(labelled.sum(), len(attached)),
        "las_universal": _percent(labelled_universal.sum(), len(attached)),
        "uas_nopunct": _percent((attached & counted).sum(), counted.sum()),
        "las_nopunct": _percent((labelled & counted).sum(), counted.sum()),
    }


def _percent(correct: int | np.integer, total: int | np.integer) -> float:
    return 100 * (int(correct) / int(total)) if total else 0.0


def nonprojective_edges(heads: Sequence[int]) -> list[int]:
    """Return the children, counted from 1, of the non-projective edges of a tree
    [h_1, ..., h_n].
    """
    children = []
    for child, head in enumerate(heads, 1):
        between = range(min(head, child) + 1, max(head, child))
        if head and any(not _descends(heads, node, head) for node in between):
            children.append(child)
    return children


def _descends(heads: Sequence[int], node: int, ancestor: int) -> bool:
    while node not in (0, ancestor):
        node = heads[node - 1]
    return node == ancestor
