"""Which word of a system's file is which word of the gold file, when the two may be tokenized and segmented differently.

The definition is that of the CoNLL 2018 shared task (https://universaldependencies.org/conll18/evaluation.html, and the notes
"Description of word matching" of the official script). Both files must have the same characters, white space left out; a token
is a span of them. A word that is a token is aligned with the word of the same span. Around multiword tokens there are regions:
spans, as small as possible, that no multiword token of either file sticks out of; the words of a region are aligned by a
longest common subsequence of their forms in lower case.

Where the official script departs from that description, so does this module, to give the same numbers:

* when a multiword token is met, the region opens at the next word of the other file that is not aligned yet, or at the one
  after it if that word begins earlier than the multiword token. Further words before the multiword token belong to the region.
* a region grows by whichever word begins first, and ends when the next word of either file does not lie within it; a word met
  before that may stick out of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Spans:
    """The words of a file as spans of its characters, white space left out; one entry per word of the whole file.

    Attributes:
        starts, ends: the first character of the word's token and the one after its last; shared in a multiword token.
        in_multiword: whether the word is part of a multiword token.
        forms: the forms in lower case.
    """

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    in_multiword: list[bool] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.starts)

    def append(self, start: int, end: int, in_multiword: bool, form: str) -> None:
        """Adds a word."""
        self.starts.append(start)
        self.ends.append(end)
        self.in_multiword.append(in_multiword)
        self.forms.append(form.lower())

    def within(self, word: int, end: int) -> bool:
        """Whether there is such a word and it lies in a region that ends before the character ``end``."""
        if word >= len(self):
            return False
        return self.starts[word] < end if self.in_multiword[word] else self.ends[word] <= end


def align(gold: Spans, system: Spans) -> list[tuple[int, int]]:
    """The pairs (gold word, system word), numbered from 0 over the whole files, in order; every word is in at most one.

    Linear in the number of words, but for regions of multiword tokens: g gold and s system words of one take O(g s).
    """
    if gold == system:
        return [(word, word) for word in range(len(gold))]
    pairs: list[tuple[int, int]] = []
    g = s = 0
    while g < len(gold) and s < len(system):
        if gold.in_multiword[g] or system.in_multiword[s]:
            (first_g, first_s), (g, s) = _region(gold, system, g, s)
            common = _common_subsequence(gold.forms[first_g:g], system.forms[first_s:s])
            pairs.extend((first_g + i, first_s + j) for i, j in common)
        elif gold.starts[g] == system.starts[s] and gold.ends[g] == system.ends[s]:
            pairs.append((g, s))
            g += 1
            s += 1
        elif gold.starts[g] <= system.starts[s]:
            g += 1
        else:
            s += 1
    return pairs


def _region(gold: Spans, system: Spans, g: int, s: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """The first gold and system word of the region at ``g``, ``s`` (one is of a multiword token), and those after it."""
    files = gold, system
    at = [g, s]
    opener = 0 if gold.in_multiword[g] else 1
    start, end = files[opener].starts[at[opener]], files[opener].ends[at[opener]]
    other = files[1 - opener]
    if not other.in_multiword[at[1 - opener]] and other.starts[at[1 - opener]] < start:
        at[1 - opener] += 1
    begin = at[0], at[1]
    while gold.within(at[0], end) or system.within(at[1], end):
        gold_is_next = at[0] < len(gold) and (at[1] >= len(system) or gold.starts[at[0]] <= system.starts[at[1]])
        side = 0 if gold_is_next else 1
        if files[side].in_multiword[at[side]]:
            end = max(end, files[side].ends[at[side]])
        at[side] += 1
    return begin, (at[0], at[1])


def _common_subsequence(gold: list[str], system: list[str]) -> list[tuple[int, int]]:
    """The longest common subsequence that takes equal forms as soon as it meets them and passes over gold words first."""
    longest = [[0] * (len(system) + 1) for _ in range(len(gold) + 1)]  # of the words from g and from s on
    for g in range(len(gold) - 1, -1, -1):
        for s in range(len(system) - 1, -1, -1):
            taken = longest[g + 1][s + 1] + 1 if gold[g] == system[s] else 0
            longest[g][s] = max(taken, longest[g + 1][s], longest[g][s + 1])
    pairs = []
    g = s = 0
    while g < len(gold) and s < len(system):
        if gold[g] == system[s]:
            pairs.append((g, s))
            g += 1
            s += 1
        elif longest[g][s] == longest[g + 1][s]:
            g += 1
        else:
            s += 1
    return pairs
