"""Hides heads, as if nobody had annotated them yet: python experiments/hiding.py TRAIN [-o OUTPUT] HOW [--seed N].

HOW is one of: --arcs 0.5, which keeps this share of the arcs, each by chance; --sentences 0.5, which keeps whole sentences with
about this share of the words; --few 100 800 2, which keeps 100 whole sentences, and 2 arcs of each of 800 others. HEAD and
DEPREL of the other words become _; sentences without any known head are left out. What is hidden depends on the seed alone.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from parser.commands.command_line import check_output
from parser.conllu.checks import DEPREL, EMPTY, HEAD, counted
from parser.conllu.files import STANDARD_STREAM, open_input, open_output
from parser.conllu.stream import RawSentence, read_raw_sentences, rewrite

ARCS, SENTENCES, FEW = "arcs", "sentences", "few"


def known_words(how: str, amounts: Sequence[float], lengths: Sequence[int], seed: int) -> list[set[int]]:
    """The words of each sentence, from 0, whose heads stay known.

    Args:
        how: ARCS, SENTENCES or FEW.
        amounts: a share; or of FEW three numbers, see the module.
        lengths: words of the sentences.
        seed: of what is chosen.

    Raises:
        ValueError: FEW asks for more sentences than there are.
    """
    rng = random.Random(seed)
    if how == ARCS:
        return [{word for word in range(length) if rng.random() < amounts[0]} for length in lengths]
    order = list(range(len(lengths)))
    rng.shuffle(order)
    found: list[set[int]] = [set() for _ in lengths]
    if how == SENTENCES:
        words = 0
        for number in order:
            if words >= amounts[0] * sum(lengths):
                break
            found[number] = {*range(lengths[number])}
            words += lengths[number]
        return found
    whole, others, arcs = map(int, amounts)
    if whole + others > len(order):
        raise ValueError(f"--few asks for {whole + others:,} sentences, and there are {len(order):,}")
    for number in order[:whole]:
        found[number] = {*range(lengths[number])}
    for number in order[whole : whole + others]:
        found[number] = {*rng.sample(range(lengths[number]), min(arcs, lengths[number]))}
    return found


def hidden(sentences: Iterable[RawSentence], how: str, amounts: Sequence[float], seed: int) -> list[str]:
    """The text of each sentence with what stays known, but for those of which nothing does; see known_words()."""
    sentences = [sentence for sentence in sentences if len(sentence)]
    known = known_words(how, amounts, [len(sentence) for sentence in sentences], seed)
    return [_with_known(sentence, own) for sentence, own in zip(sentences, known, strict=True) if own]


def _with_known(sentence: RawSentence, known: set[int]) -> str:
    heads, deprels = (
        [value if word in known else EMPTY for word, value in enumerate(sentence.column(column))] for column in (HEAD, DEPREL)
    )
    return rewrite(sentence, heads, deprels)


def read(path: Path | str) -> list[RawSentence]:
    """The sentences of a file."""
    with open_input(str(path)) as stream:
        return list(read_raw_sentences(stream, str(path)))


def write(path: Path, text: str) -> None:
    """Writes a file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", metavar="TRAIN")
    parser.add_argument("-o", "--output", default=STANDARD_STREAM)
    parser.add_argument("--seed", type=int, default=1, help="default 1")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument(f"--{ARCS}", type=float, nargs=1, metavar="SHARE")
    how.add_argument(f"--{SENTENCES}", type=float, nargs=1, metavar="SHARE")
    how.add_argument(f"--{FEW}", type=int, nargs=3, metavar=("WHOLE", "OTHERS", "ARCS"))
    given = parser.parse_args()
    check_output(given.output, given.train)
    ((name, amounts),) = [(name, values) for name in (ARCS, SENTENCES, FEW) if (values := getattr(given, name)) is not None]
    found = hidden(read(given.train), name, amounts, given.seed)
    with open_output(given.output) as target:
        target.writelines(found)
    print(counted(len(found), "sentence"), file=sys.stderr)


if __name__ == "__main__":
    main()
