"""Files of trees for evaluation: every word is a span of the text;
and the alignment of the words of two files.

Two files may be tokenized and segmented differently. Words are aligned as in the CoNLL 2018 shared
task (https://universaldependencies.org/conll18/evaluation.html, and the notes "Description of word
matching" of the official script). Both files must have the same characters, except white space; a
token is a span of characters. A word that is a token is aligned with the word of the same span.
Around multiword tokens there are regions: spans, as small as possible, so that no multiword token
of either file crosses their borders. The words of a region are aligned by a longest common
subsequence of their forms in lower case.

Where the official script departs from that description, so does this module,
to give the same numbers:

* at a multiword token, the region opens at the next word of the other file that is not aligned yet,
  or at the word after it if that word begins earlier than the multiword token. Further words before
  the multiword token belong to the region.
* a region grows by the word that begins first in either file, and ends when neither file's next
  word lies within it. So its last words may end outside it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from unicodedata import category

from parser.conllu.checks import (
    DEPREL,
    EMPTY,
    FEATS,
    FORM,
    LEMMA,
    UNKNOWN_HEAD,
    UPOS,
    XPOS,
    ConlluError,
    describe_place,
)
from parser.conllu.files import open_input
from parser.conllu.stream import RawSentence, read_raw_sentences, sent_id

ROOT, UNKNOWN = -1, -3  # special parents


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The lists of the shared task. CLAS, MLAS and BLEX count words with a relation of content words.
CONTENT_RELATIONS = _names("""
    nsubj obj iobj csubj ccomp xcomp obl vocative expl dislocated advcl advmod discourse nmod appos
    nummod acl amod conj fixed flat compound list parataxis orphan goeswith reparandum root dep
""")
FUNCTIONAL_RELATIONS = _names("aux cop mark det clf case cc")
UNIVERSAL_FEATURES = _names("""
    PronType NumType Poss Reflex Foreign Abbr Gender Animacy Number Case Definite Degree
    VerbForm Mood Tense Aspect Voice Evident Polarity Person Polite
""")

# The columns that may have no gold value.
_ANNOTATED = {LEMMA, UPOS, XPOS, FEATS}

# The spaces of Unicode, none of which is beyond U+3000. One file may have them within tokens,
# another file between tokens.
_NO_SPACES = dict.fromkeys(code for code in range(0x3001) if category(chr(code)) == "Zs")


@dataclass(slots=True)
class Spans:
    """The words of a file as spans of its characters without white space;
    one entry per word of the whole file.

    Attributes:
        starts, ends: the first character of the word's token, and its end;
            the words of a multiword token share both.
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
        """Add a word."""
        self.starts.append(start)
        self.ends.append(end)
        self.in_multiword.append(in_multiword)
        self.forms.append(form.lower())

    def within(self, word: int, end: int) -> bool:
        """Return whether the word exists and lies in a region that ends before the character
        ``end``.
        """
        if word >= len(self):
            return False
        return self.starts[word] < end if self.in_multiword[word] else self.ends[word] <= end


def universal(relation: str) -> str:
    """Return a relation without its subtype."""
    return relation.partition(":")[0]


@dataclass(slots=True)
class EvaluatedText:
    """A file of trees; the lists have one entry per word,
    per token or per sentence of the whole file.
    """

    path: str
    characters: str = ""  # the characters of all tokens
    tokens: list[tuple[int, int]] = field(default_factory=list)  # spans of the characters
    sentences: list[tuple[int, int]] = field(default_factory=list)
    # the line of each token in the file, from 1
    token_lines: list[int] = field(default_factory=list)
    sentence_names: list[tuple[int, str]] = field(default_factory=list)  # number from 1 and sent_id
    spans: Spans = field(default_factory=Spans)
    # numbers of words in the file, or ROOT, or UNKNOWN
    parents: list[int] = field(default_factory=list)
    lemmas: list[str] = field(default_factory=list)
    upos: list[str] = field(default_factory=list)
    xpos: list[str] = field(default_factory=list)
    feats: list[str] = field(default_factory=list)  # the universal ones, sorted
    relations: list[str] = field(default_factory=list)
    universal: list[str] = field(default_factory=list)
    # the children by a functional relation, for MLAS
    function_words: list[list[int]] = field(default_factory=list)
    # the numbers of LEMMA, UPOS, XPOS and FEATS, if any word has a value
    annotated: set[int] = field(default_factory=set)

    @property
    def content(self) -> list[bool]:
        """Whether each word has the relation of a content word."""
        return [relation in CONTENT_RELATIONS for relation in self.universal]

    def place(self, character: int) -> str:
        """Return the beginning of an error message about the token at a character,
        or the last token before it.
        """
        token = bisect_right(self.tokens, character, key=itemgetter(0)) - 1
        sentence = bisect_right(self.sentences, character, key=itemgetter(0)) - 1
        return describe_place(self.path, self.token_lines[token], *self.sentence_names[sentence])


def read_text(path: str | Path, partial: bool = False) -> EvaluatedText:
    """Read a file of trees in linear time; skip sentences without words.

    Args:
        partial: whether some heads may be ``_``, which means unknown.

    Raises:
        ConlluError: the file cannot be read as CoNLL-U, or has no sentence, an empty token, or a
            sentence that is not a tree with exactly one root.
    """
    with open_input(path) as stream:
        return text_of_stream(stream, str(path), partial)


def text_of_stream(stream: Iterable[bytes], path: str, partial: bool = False) -> EvaluatedText:
    """Read a file of trees from a stream of its lines; ``path`` is its name in errors.
    See read_text().
    """
    file = EvaluatedText(path)
    pieces: list[str] = []
    at = 0
    for sentence in read_raw_sentences(stream, path):
        if len(sentence):
            at = _append(file, sentence, pieces, at, partial)
    if not file.sentences:
        raise ConlluError(
            f"{path}: there is no sentence in this file; name a CoNLL-U file that has some"
        )
    if all(parent == UNKNOWN for parent in file.parents):
        raise ConlluError(
            f"{path}: no head is known, so there is nothing to compare with; "
            "annotate HEAD of some words"
        )
    file.characters = "".join(pieces)
    return file


def _append(
    file: EvaluatedText, sentence: RawSentence, pieces: list[str], at: int, partial: bool
) -> int:
    """Add a sentence whose first character is number ``at``;
    return the number of the character after its last.
    """
    first_word, first_character = len(file.spans), at
    multiwords = {first: (line, last) for line, first, last in sentence.multiwords}
    last, in_multiword = 0, False  # of the current token
    for word, form in enumerate(sentence.column(FORM), 1):
        if word > last:
            in_multiword = word in multiwords
            line, last = multiwords.get(word, (sentence.word_lines[word - 1], word))
            token = (sentence.lines[line].split("\t", 2)[FORM] if in_multiword else form).translate(
                _NO_SPACES
            )
            if not token:
                raise ConlluError(
                    f"{sentence.place(line)}: an empty form; write the form of the token, or _"
                )
            pieces.append(token)
            file.tokens.append((at, at + len(token)))
            file.token_lines.append(sentence.first_line + line)
            at += len(token)
        # As in the official script: the form of a word that is a token has no spaces, the form of
        # another word may have some.
        file.spans.append(*file.tokens[-1], in_multiword, form if in_multiword else token)
    file.sentences.append((first_character, at))
    file.sentence_names.append((sentence.number, sent_id(sentence.lines)))

    relations = sentence.column(DEPREL)
    numbers = {0: ROOT, UNKNOWN_HEAD: UNKNOWN}
    file.parents.extend(
        numbers.get(head, first_word + head - 1) for head in sentence.heads(partial=partial)
    )
    file.lemmas.extend(sentence.column(LEMMA))
    file.upos.extend(sentence.column(UPOS))
    file.xpos.extend(sentence.column(XPOS))
    file.feats.extend(map(universal_features, sentence.column(FEATS)))
    file.annotated |= {
        number for number in _ANNOTATED - file.annotated if {*sentence.column(number)} != {EMPTY}
    }
    file.relations.extend(relations)
    file.universal.extend(map(universal, relations))
    file.function_words.extend([] for _ in relations)
    for word in range(first_word, len(file.parents)):
        if file.universal[word] in FUNCTIONAL_RELATIONS and file.parents[word] not in (
            ROOT,
            UNKNOWN,
        ):
            file.function_words[file.parents[word]].append(word)
    return at


@lru_cache(maxsize=100_000)
def universal_features(feats: str) -> str:
    """Return the universal features of FEATS, sorted, without language-specific ones."""
    return "|".join(
        sorted(feat for feat in feats.split("|") if feat.partition("=")[0] in UNIVERSAL_FEATURES)
    )


def align(gold: Spans, system: Spans) -> list[tuple[int, int]]:
    """Return the pairs (gold word, system word), numbered from 0 over the whole files, in order; a
    word is in at most one pair.

    Linear in the number of words, except in regions of multiword tokens:
    g gold and s system words of a region take O(g s).
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
    """Return the first gold and system word of the region at ``g``,
    ``s`` (one is in a multiword token), and its ends.
    """
    files = gold, system
    at = [g, s]
    opener = 0 if gold.in_multiword[g] else 1
    start, end = files[opener].starts[at[opener]], files[opener].ends[at[opener]]
    other = files[1 - opener]
    if not other.in_multiword[at[1 - opener]] and other.starts[at[1 - opener]] < start:
        at[1 - opener] += 1
    begin = at[0], at[1]
    while gold.within(at[0], end) or system.within(at[1], end):
        gold_is_next = at[0] < len(gold) and (
            at[1] >= len(system) or gold.starts[at[0]] <= system.starts[at[1]]
        )
        side = 0 if gold_is_next else 1
        if files[side].in_multiword[at[side]]:
            end = max(end, files[side].ends[at[side]])
        at[side] += 1
    return begin, (at[0], at[1])


def _common_subsequence(gold: list[str], system: list[str]) -> list[tuple[int, int]]:
    """Return the longest common subsequence that takes equal forms as soon as it meets them and
    skips gold words first.
    """
    # its length for the words from g and from s on
    longest = [[0] * (len(system) + 1) for _ in range(len(gold) + 1)]
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
