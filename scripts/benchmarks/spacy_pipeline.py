"""A whole pipeline of spaCy for comparison: CoNLL-U with tags and trees,
from words without tags or from text.

    python scripts/benchmarks/spacy_pipeline.py MODEL INPUT OUTPUT

It needs spaCy, and nothing of this project. If the name of INPUT ends with .txt, it is text,
paragraphs with a blank line between them, and spaCy finds words and sentences. Else it is CoNLL-U,
whose sentences are kept. A sentence of CoNLL-U has one root, so further roots become ``parataxis``
of the first root; standard error says how many.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def parse(model: str, source: Path, target: Path) -> int:
    """Parse a file into another; return how many further roots were attached to the first ones."""
    import spacy

    pipeline = spacy.load(model)
    blocks = source.read_text(encoding="utf-8").strip("\n").split("\n\n")
    is_text = source.suffix == ".txt"
    inputs = (
        " ".join(block.split()) if is_text else _sentence(pipeline.vocab, block) for block in blocks
    )
    attached = 0
    with target.open("w", encoding="utf-8", newline="\n") as stream:
        for doc, block in zip(pipeline.pipe(inputs), blocks, strict=True):
            for sentence in doc.sents if is_text else [doc]:
                tokens = list(sentence)
                first, *others = (i for i, token in enumerate(tokens) if token.head.i == token.i)
                attached += len(others)
                multiwords = {} if is_text else _multiwords(block)
                for row in rows(tokens, first):
                    stream.write(multiwords.get(row[0], "") + "\t".join(row) + "\n")
                stream.write("\n")
    return attached


def rows(tokens: list[Any], first: int) -> Iterator[list[str]]:
    """Yield the columns of the words of a sentence; ``first``: the index of its root."""
    for i, token in enumerate(tokens):
        head, deprel = token.head.i - tokens[0].i + 1, token.dep_
        if i == first:
            head, deprel = 0, "root"
        elif token.head.i == token.i:
            head, deprel = first + 1, "parataxis"
        yield [
            str(i + 1),
            token.text,
            "_",
            token.pos_ or "_",
            "_",
            str(token.morph) or "_",
            str(head),
            deprel or "dep",
            "_",
            "_",
        ]


def _sentence(vocabulary: Any, block: str) -> Any:
    """Return the words of a block of CoNLL-U, as one sentence."""
    from spacy.tokens import Doc

    lines = (line.split("\t") for line in block.split("\n") if not line.startswith("#"))
    words = [columns[1] for columns in lines if columns[0].isdigit()]
    return Doc(vocabulary, words=words, sent_starts=[True] + [False] * (len(words) - 1))


def _multiwords(block: str) -> dict[str, str]:
    """Return the lines of the multiword tokens of a block of CoNLL-U,
    by the number of the first word.
    """
    lines = (line for line in block.split("\n") if "-" in line.partition("\t")[0])
    return {line.partition("-")[0]: f"{line}\n" for line in lines}


if __name__ == "__main__":
    sys.path.pop(0)  # this folder, whose oracles.py spaCy would import for a plugin of this project
    print(
        parse(sys.argv[1], *map(Path, sys.argv[2:])),
        "further roots were attached to the first ones",
        file=sys.stderr,
    )
