"""Sentences as lists of dicts with the keys of Stanza's ``Sentence.to_dict()``; and as JSON,
a line for each sentence.

Each line of CoNLL-U is a dict: ``id``, ``text``, ``lemma``, ``upos``, ``xpos``, ``feats``,
``head``, ``deprel``, ``deps``, ``misc``, ``start_char``, ``end_char``, in this order, without those
that are ``_``. As in Stanza:

* The id of a word is a number. The id of a multiword token is the list of its first and last word,
  [3, 4]; its dict is before the word 3. The id of an empty node is the list of its two numbers,
  [3, 1]; its dict is after the word 3. (In Python, Stanza has tuples here; its JSON has lists, and
  it reads both.)
* A multiword token has only text, misc and its place.
* start_char and end_char are the place of a token in the text, from character start_char up to, but
  not including, end_char. The words of a multiword token have places only if they are its parts
  (``don't``: do, n't; but not ``du``: de, le). In CoNLL-U the place is in MISC, as
  TokenRange=START:END or as start_char=START|end_char=END.

Dicts have no comments: sent_id and text are not among them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from typing import Any

from parser.conllu.checks import DEPREL, DEPS, EMPTY, FEATS, FORM, HEAD, ID, LEMMA, MISC, UPOS, XPOS
from parser.conllu.formats import split_columns
from parser.conllu.stream import RawSentence, read_raw_sentences

Place = tuple[int, int]
"""The place of a token in a text: its first character, from 0, and the one after its last."""

# The columns of words and empty nodes, by the names of their keys.
_COLUMNS = {
    "lemma": LEMMA,
    "upos": UPOS,
    "xpos": XPOS,
    "feats": FEATS,
    "head": HEAD,
    "deprel": DEPREL,
    "deps": DEPS,
}

_RANGE = re.compile(r"TokenRange=([0-9]{1,18}):([0-9]{1,18})")
_START, _END = re.compile(r"start_char=([0-9]{1,18})"), re.compile(r"end_char=([0-9]{1,18})")

_ENCODER = json.JSONEncoder(ensure_ascii=False)
# Some readers take these for ends of lines; halves of surrogate pairs stand for bytes that are not
# UTF-8, and are not valid Unicode.
_NOT_IN_LINES = re.compile("[\x85\u2028\u2029\ud800-\udfff]")


def dicts_of(
    rows: Iterable[Sequence[str]], places: Iterable[Place] | None = None, words_only: bool = False
) -> list[dict[str, Any]]:
    """Return the dicts of a sentence.

    Args:
        rows: the ten columns of each line, with ids in order as sort_rows() checks.
        places: the places of the tokens (multiword tokens, and words outside of them); None: as
            MISC says.
        words_only: leave out multiword tokens.
    """
    dicts: list[dict[str, Any]] = []
    words: list[dict[str, Any]] = []
    multiwords: list[dict[str, Any]] = []
    covered = 0  # the last word of the last multiword token
    token_places = None if places is None else iter(places)
    for columns in rows:
        identifier = columns[ID]
        numbers = (
            [int(identifier)]
            if identifier.isdecimal()
            else [int(number) for number in re.split("[-.]", identifier)]
        )
        entry: dict[str, Any] = {
            "id": numbers[0] if len(numbers) == 1 else numbers,
            "text": columns[FORM],
        }
        is_multiword = "-" in identifier
        if is_multiword:
            covered = numbers[1]
            multiwords.append(entry)
        else:
            _add_columns(entry, columns)
            if len(numbers) == 1:
                words.append(entry)
        misc, place = _misc_and_place(columns[MISC])
        if token_places is not None and (
            is_multiword or (len(numbers) == 1 and numbers[0] > covered)
        ):
            place = next(token_places)
        if misc not in (EMPTY, ""):
            entry["misc"] = misc
        _add_place(entry, place)
        if not (is_multiword and words_only):
            dicts.append(entry)
    for token in multiwords:
        _add_places_within(token, words)
    return dicts


def _add_columns(entry: dict[str, Any], columns: Sequence[str]) -> None:
    for key, number in _COLUMNS.items():
        value = columns[number]
        # _ is a value as the lemma of an underscore
        if (value != EMPTY and value) or (key == "lemma" and value == columns[FORM]):
            entry[key] = int(value) if number == HEAD and value.isdecimal() else value


def _misc_and_place(misc: str) -> tuple[str, Place | None]:
    """Divide a value of MISC into the place that it contains and the rest."""
    if "TokenRange=" not in misc and "start_char=" not in misc:
        return misc, None
    fields = misc.split("|")
    whole = [(field, match) for field in fields if (match := _RANGE.fullmatch(field))]
    starts = [(field, match) for field in fields if (match := _START.fullmatch(field))]
    ends = [(field, match) for field in fields if (match := _END.fullmatch(field))]
    if whole:
        [(field, match), *_] = whole
        place, place_fields = (int(match[1]), int(match[2])), [field]
    elif starts and ends:
        [(first, start), *_], [(last, end), *_] = starts, ends
        place, place_fields = (int(start[1]), int(end[1])), [first, last]
    else:
        return misc, None
    return "|".join(field for field in fields if field not in place_fields), place


def _add_place(entry: dict[str, Any], place: Place | None) -> None:
    if place is not None:
        entry["start_char"], entry["end_char"] = place


def _add_places_within(token: dict[str, Any], words: Sequence[dict[str, Any]]) -> None:
    """Add the places of the words of a multiword token, if they are parts of its text."""
    first, last = token["id"]
    token_words = words[first - 1 : last]
    if "start_char" not in token or any("start_char" in word for word in token_words):
        return
    start = token["start_char"]
    if len(token_words) == 1:
        _add_place(token_words[0], (start, token["end_char"]))
        return
    joined = re.compile(r"\s*".join(f"({re.escape(word['text'])})" for word in token_words))
    if match := joined.fullmatch(token["text"]):
        for number, word in enumerate(token_words, 1):
            _add_place(word, (start + match.start(number), start + match.end(number)))


def sentence_dicts(sentence: RawSentence, words_only: bool = False) -> list[dict[str, Any]]:
    """Return the dicts of a sentence of CoNLL-U; with ``words_only``, without those of multiword
    tokens.
    """
    if not (sentence.multiwords or sentence.empty_nodes):
        return dicts_of(sentence.columns)
    rows = dict(zip(sentence.word_lines, sentence.columns, strict=True))
    for place in (*(place for place, _, _ in sentence.multiwords), *sentence.empty_nodes):
        rows[place] = split_columns(0, sentence.lines[place].rstrip("\r\n"))
    return dicts_of([rows[place] for place in sorted(rows)], words_only=words_only)


def as_json(dicts: Sequence[dict[str, Any]]) -> str:
    """Return the dicts of a sentence as a line of JSON, without its end;
    a byte that is not UTF-8 becomes U+FFFD.
    """
    text = _ENCODER.encode(dicts)
    return _NOT_IN_LINES.sub(
        lambda match: "\ufffd" if "\ud800" <= match[0] <= "\udfff" else f"\\u{ord(match[0]):04x}",
        text,
    )


def json_lines(sentences: Iterable[RawSentence], words_only: bool = False) -> Iterator[str]:
    """Yield a line of JSON for each sentence that has words; see sentence_dicts()."""
    for sentence in sentences:
        if len(sentence):
            yield f"{as_json(sentence_dicts(sentence, words_only))}\n"


def conllu_as_json(content: bytes, first: bool = True, words_only: bool = False) -> bytes:
    """Return whole sentences of CoNLL-U as JSON, a line for each.

    Args:
        content: the sentences; none of them has an error.
        first: whether a file begins with them, so that a byte order mark is left out.
        words_only: see sentence_dicts().
    """
    sentences = read_raw_sentences(BytesIO(content), lines_before=int(not first))
    return "".join(json_lines(sentences, words_only)).encode()
