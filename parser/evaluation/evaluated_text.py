"""A file of trees as its evaluation needs it: every word a span of the text, with its parent and what else is compared."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from unicodedata import category

from parser.conllu.checks import DEPREL, FEATS, FORM, LEMMA, UNKNOWN_HEAD, UPOS, XPOS, ConlluError, describe_place
from parser.conllu.files import open_input
from parser.conllu.stream import RawSentence, read_raw_sentences, sent_id
from parser.evaluation.alignment import Spans

ROOT, UNKNOWN = -1, -3  # in place of a parent's number


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# As the shared task lists them. CLAS, MLAS and BLEX count the words that have a relation of content words.
CONTENT_RELATIONS = _names("""
    nsubj obj iobj csubj ccomp xcomp obl vocative expl dislocated advcl advmod discourse nmod appos nummod acl amod conj fixed
    flat compound list parataxis orphan goeswith reparandum root dep
""")
FUNCTIONAL_RELATIONS = _names("aux cop mark det clf case cc")
UNIVERSAL_FEATURES = _names("""
    PronType NumType Poss Reflex Foreign Abbr Gender Animacy Number Case Definite Degree VerbForm Mood Tense Aspect Voice
    Evident Polarity Person Polite
""")

# The spaces of Unicode, which a file may have within tokens and another between them. There is none beyond U+3000.
_NO_SPACES = dict.fromkeys(code for code in range(0x3001) if category(chr(code)) == "Zs")


def universal(relation: str) -> str:
    """The relation without its subtype."""
    return relation.partition(":")[0]


@dataclass(slots=True)
class EvaluatedText:
    """A file of trees; lists with one entry per word, per token or per sentence of the whole file."""

    path: str
    characters: str = ""  # of all tokens
    tokens: list[tuple[int, int]] = field(default_factory=list)  # as spans of the characters
    sentences: list[tuple[int, int]] = field(default_factory=list)
    token_lines: list[int] = field(default_factory=list)  # where the tokens stand in the file, from 1
    sentence_names: list[tuple[int, str]] = field(default_factory=list)  # number from 1 and sent_id
    spans: Spans = field(default_factory=Spans)
    parents: list[int] = field(default_factory=list)  # numbers of words in the file, or ROOT, or UNKNOWN
    lemmas: list[str] = field(default_factory=list)
    upos: list[str] = field(default_factory=list)
    xpos: list[str] = field(default_factory=list)
    feats: list[str] = field(default_factory=list)  # the universal ones, sorted
    relations: list[str] = field(default_factory=list)
    universal: list[str] = field(default_factory=list)
    function_words: list[list[int]] = field(default_factory=list)  # the children by a functional relation, for MLAS

    @property
    def content(self) -> list[bool]:
        """bool[words]: whether the word has the relation of a content word."""
        return [relation in CONTENT_RELATIONS for relation in self.universal]

    def place(self, character: int) -> str:
        """The words with which to begin an error message about the token of that character, or the last one before it."""
        token = bisect_right(self.tokens, character, key=itemgetter(0)) - 1
        sentence = bisect_right(self.sentences, character, key=itemgetter(0)) - 1
        return describe_place(self.path, self.token_lines[token], *self.sentence_names[sentence])


def read_text(path: str | Path, partial: bool = False) -> EvaluatedText:
    """Reads a file of trees in linear time; sentences without words are passed over.

    Args:
        path: of the file.
        partial: whether heads may be ``_``, where they are not known; not all of them.

    Raises:
        ConlluError: the file cannot be read as CoNLL-U, or has no sentence, an empty token, or a sentence that is not a tree
            with exactly one root.
    """
    with open_input(path) as stream:
        return text_of_stream(stream, str(path), partial)


def text_of_stream(stream: Iterable[bytes], path: str, partial: bool = False) -> EvaluatedText:
    """The same of a stream of lines, which errors call ``path``."""
    file = EvaluatedText(path)
    pieces: list[str] = []
    at = 0
    for sentence in read_raw_sentences(stream, path):
        if len(sentence):
            at = _append(file, sentence, pieces, at, partial)
    if not file.sentences:
        raise ConlluError(f"{path}: there is no sentence in this file; name a CoNLL-U file that has some")
    if all(parent == UNKNOWN for parent in file.parents):
        raise ConlluError(f"{path}: no head is known, so there is nothing to compare with; give HEAD of some words")
    file.characters = "".join(pieces)
    return file


def _append(file: EvaluatedText, sentence: RawSentence, pieces: list[str], at: int, partial: bool) -> int:
    """Adds a sentence whose first character is number ``at``; returns the number of the character after its last."""
    first_word, first_character = len(file.spans), at
    multiwords = {first: (line, last) for line, first, last in sentence.multiwords}
    last, in_multiword = 0, False  # of the current token
    for word, form in enumerate(sentence.column(FORM), 1):
        if word > last:
            in_multiword = word in multiwords
            line, last = multiwords.get(word, (sentence.word_lines[word - 1], word))
            token = (sentence.lines[line].split("\t", 2)[FORM] if in_multiword else form).translate(_NO_SPACES)
            if not token:
                raise ConlluError(f"{sentence.place(line)}: an empty form; write the form of the token, or _")
            pieces.append(token)
            file.tokens.append((at, at + len(token)))
            file.token_lines.append(sentence.first_line + line)
            at += len(token)
        # As in the official script, the form of a word that is a token has lost its spaces, that of any other has not.
        file.spans.append(*file.tokens[-1], in_multiword, form if in_multiword else token)
    file.sentences.append((first_character, at))
    file.sentence_names.append((sentence.number, sent_id(sentence.lines)))

    relations = sentence.column(DEPREL)
    numbers = {0: ROOT, UNKNOWN_HEAD: UNKNOWN}
    file.parents.extend(numbers.get(head, first_word + head - 1) for head in sentence.heads(partial=partial))
    file.lemmas.extend(sentence.column(LEMMA))
    file.upos.extend(sentence.column(UPOS))
    file.xpos.extend(sentence.column(XPOS))
    file.feats.extend(map(universal_features, sentence.column(FEATS)))
    file.relations.extend(relations)
    file.universal.extend(map(universal, relations))
    file.function_words.extend([] for _ in relations)
    for word in range(first_word, len(file.parents)):
        if file.universal[word] in FUNCTIONAL_RELATIONS and file.parents[word] not in (ROOT, UNKNOWN):
            file.function_words[file.parents[word]].append(word)
    return at


@lru_cache(maxsize=100_000)
def universal_features(feats: str) -> str:
    """The column FEATS without the features of single languages, sorted."""
    return "|".join(sorted(feat for feat in feats.split("|") if feat.partition("=")[0] in UNIVERSAL_FEATURES))
