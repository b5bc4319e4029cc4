"""Chooses what to annotate next: optimal-step annotate MODEL_DIR INPUT -o OUTPUT [--words N] [--sure P] [--done FILE ...].

INPUT is CoNLL-U without trees, or with some that are not read. OUTPUT has the sentences of the words that the parser is least
sure of, by the probabilities that were calibrated on its dev part: N words, no two of one kind (one form, head and relation).
HEAD and DEPREL are filled in where the parser is sure (P, 0.98 unless told otherwise), and _ elsewhere. In MISC, Sure= is how
sure it is of an arc; Ask=Head:Relation of the chosen words is what it would have made, Second= what a beam finds besides.
Sentences that stand word by word in one of the files after --done are left out. An OUTPUT that is there already is refused, as
somebody may have worked on it.

Fill in HEAD and DEPREL of the chosen words, or of more; correct what is wrong; leave the rest as it is. Then train on it, with
treebank.partial=true.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from parser.beam_settings import Beam
from parser.commands.command_line import check_output, positive
from parser.conllu.checks import EMPTY, FEATS, FORM, MISC, UPOS, XPOS, counted
from parser.conllu.files import STANDARD_STREAM, open_input, open_output
from parser.conllu.stream import RawSentence, read_raw_sentences, rewrite
from parser.decoding.files.file_parsing import RawColumns
from parser.decoding.files.missing_columns import check_columns
from parser.decoding.parsers import beam_parser_of
from parser.library import ParsedSentence, Parser

_TAGS = UPOS, XPOS, FEATS
# What is said in MISC; of an earlier time, it is left out.
_SAID = _SURE, _ASK, _SECOND = "Sure", "Ask", "Second"
_BEAM = 8  # items of the beam that second best heads are looked for in


@dataclass(frozen=True)
class AskedWord:
    """A word to be annotated: its sentence and its place there, both from 0."""

    sentence: int
    word: int


def main(arguments: list[str] | None = None) -> None:
    """Writes the sentences, and says how many there are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, metavar="MODEL_DIR", help="a run's folder, or a model's")
    parser.add_argument("input", nargs="?", default=STANDARD_STREAM, metavar="INPUT")
    parser.add_argument("-o", "--output", default=STANDARD_STREAM, help="default: standard output")
    parser.add_argument("--words", type=positive, default=200, metavar="N", help="how many words to ask for (default 200)")
    parser.add_argument(
        "--sure", type=_probability, default=0.98, metavar="P", help="fill in what is as probable (default 0.98)"
    )
    parser.add_argument("--done", nargs="+", default=[], metavar="FILE", help="CoNLL-U whose sentences are not chosen again")
    given = parser.parse_args(arguments)
    check_output(given.output, given.input, *given.done)
    if Path(given.output).is_file():
        raise ValueError(
            f"{given.output} is there already, perhaps with somebody's work; choose another --output, or remove it"
        )
    loaded = Parser.load(given.model)
    done = {forms for name in given.done for forms in map(_forms, _read(name))}
    read = _read(given.input)
    sentences = [sentence for sentence in read if len(sentence) and _forms(sentence) not in done]
    empty = [number for number in _TAGS if all(tag == EMPTY for one in sentences for tag in one.column(number))]
    check_columns(empty, sum(map(len, sentences)), loaded.model.vocabularies.by_attribute, given.input, None)
    words = [[*zip(*(one.column(number) for number in (FORM, *_TAGS)), strict=True)] for one in sentences]
    parsed = loaded.parse(words)
    if any(math.isnan(p) for sentence in parsed for p in sentence.probabilities):
        raise ValueError(f"{given.model}: its scores are no probabilities (model=linear); use a model=mlp or model=bilstm")
    asked = least_certain(parsed, given.words)
    chosen = sorted({one.sentence for one in asked})
    if not chosen:
        print("no words to annotate; nothing is written", file=sys.stderr)
        return
    encoded = loaded.model.vocabularies.encode([RawColumns(sentences[number]) for number in chosen])
    others = beam_parser_of(loaded.model, Beam(_BEAM)).k_best(encoded, _BEAM)
    with open_output(given.output) as target:
        target.write(read[0].head_of_file)
        for number, trees in zip(chosen, others, strict=True):
            own = {one.word for one in asked if one.sentence == number}
            alternatives = [tree.heads.tolist() for tree in trees]
            text = annotated(sentences[number], parsed[number], own, alternatives, given.sure)
            target.write(text.removeprefix(sentences[number].head_of_file))
    asks = f"{counted(len(asked), 'word')} to annotate in {counted(len(chosen), 'sentence')}; see Ask= in MISC"
    print(asks, file=sys.stderr)


def _read(name: str) -> list[RawSentence]:
    with open_input(name) as stream:
        return list(read_raw_sentences(stream, name))


def _forms(sentence: RawSentence) -> tuple[str, ...]:
    return tuple(sentence.column(FORM))


def least_certain(parsed: Sequence[ParsedSentence], most: int) -> list[AskedWord]:
    """The words with the least probable arcs, the first of each kind, at most so many."""
    ranked = sorted((p, s, w) for s, sentence in enumerate(parsed) for w, p in enumerate(sentence.probabilities))
    found: dict[tuple[str, str, str], AskedWord] = {}
    for _, s, w in ranked:
        if len(found) == most:
            break
        sentence = parsed[s]
        head = sentence.heads[w]
        kind = sentence.forms[w], sentence.forms[head - 1] if head else "", sentence.deprels[w]
        found.setdefault(kind, AskedWord(s, w))
    return [*found.values()]


def annotated(
    sentence: RawSentence, parsed: ParsedSentence, asked: set[int], alternatives: Sequence[Sequence[int]], sure: float
) -> str:
    """The text of a sentence: what is sure filled in, and in MISC what a person should know.

    Args:
        sentence: as it was read.
        parsed: with its tree.
        asked: the words to be annotated, from 0.
        alternatives: heads of other trees, the best first.
        sure: how probable an arc must be to be filled in.
    """
    is_sure = [p >= sure and word not in asked for word, p in enumerate(parsed.probabilities)]
    heads = [str(head) if one else EMPTY for head, one in zip(parsed.heads, is_sure, strict=True)]
    deprels = [deprel if one else EMPTY for deprel, one in zip(parsed.deprels, is_sure, strict=True)]
    misc = []
    for word, (p, before) in enumerate(zip(parsed.probabilities, sentence.column(MISC), strict=True)):
        said = [one for one in before.split("|") if one != EMPTY and one.partition("=")[0] not in _SAID]
        said.append(f"{_SURE}={p:.2f}")
        if word in asked:
            said.append(f"{_ASK}={parsed.heads[word]}:{parsed.deprels[word]}")
            said += [f"{_SECOND}={head}" for head in _others(parsed.heads[word], word, alternatives)][:1]
        misc.append("|".join(said))
    return rewrite(sentence, heads, deprels, misc=misc)


def _others(own: int, word: int, alternatives: Sequence[Sequence[int]]) -> Iterator[int]:
    return (heads[word] for heads in alternatives if heads[word] != own)


def _probability(text: str) -> float:
    with suppress(ValueError):
        if 0 <= (value := float(text)) <= 1:
            return value
    raise argparse.ArgumentTypeError(f"{text} is not a probability; give a number from 0 to 1")
