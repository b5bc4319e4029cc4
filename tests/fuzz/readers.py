"""What is read besides CoNLL-U: text, through a tokenizer, and word lattices."""

import io
from functools import cache
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import Any

from parser.beam_settings import Beam, Merge, Scores
from parser.conllu.checks import DEPREL, FORM, ConlluError
from parser.conllu.stream import RawSentence, read_raw_sentences
from parser.decoding.lattice.parser import parse_lattice_file
from parser.decoding.parse_options import OnError, ParseOptions, SentenceEnds, predicted_tags
from parser.lattices import Lattice, stream_lattices, text_of
from parser.text.pipeline import TextPipeline, as_stream
from parser.text.tokens import TokenizerError
from tests.forgery import small_model
from tests.fuzz.mutations import mutate_bytes
from tests.fuzz.outputs import hostile_model, make_hostile
from tests.lattices.made import drawn_lattice
from tests.parsed_files import parse_file
from tests.text.tiny_tokenizer import rebuilt, tiny_tokenizer

whole_model = cache(small_model)

TEXTS = [
    "A kutya ugat. Jön a lány!\n\nMa is jön.\n",
    "\ufeff# du pain\r\n\r\n1-2 du\t3.1 !\r\n",
    "e\u0301 \u00a0\u2028x\u0085y\u200by\u200d \U0001f468\u200d\U0001f469 שלום. 私は私。\n \n\t\nx",
]
# What means something to a tokenizer, and what it may stumble over; the last are no UTF-8.
_PIECES = [
    *[
        text.encode()
        for text in [
            "\n",
            "\n\n",
            "\r",
            "\r\n",
            " ",
            "\t",
            ".",
            "!",
            "du",
            "\0",
            "\x1f",
            "\x7f",
            "\x85",
            "\xa0",
        ]
    ],
    *[
        text.encode()
        for text in [
            "\u2028",
            "\u2029",
            "\ufeff",
            "\ufffe",
            "\u202e",
            "\u0301" * 50,
            "a" * 3000,
            "# text = x",
        ]
    ],
    *[
        b"http://a.b/c?d=e&f",
        b"a@b.c",
        b"(" * 300,
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
    ],
]
_LATTICE_PIECES = [
    *[
        b"\t",
        b"\n",
        b"\r\n",
        b"\n\n",
        b" ",
        b"#",
        b"_",
        b"-",
        b"0",
        b"1",
        b"2",
        b"3",
        b"0-1",
        b"1-2",
        b"0-3",
        b"00",
        b"2-1",
    ],
    *[
        b"999999999",
        b"0-999999999",
        b"9" * 5000,
        b"\xff",
        b"\xef\xbb\xbf",
        b"\0",
        b"\x85",
        "\u2028".encode(),
        b"a" * 300,
    ],
    *[
        b"SpaceAfter=No",
        b"# text = x\n",
        b"0\t1\ta\ta\tX\t_\t_\n",
        b"0-1\ta\n",
        b"\t\t",
        b"A=b|C=d",
        b"\x0b",
        b"\x1c",
        b"+1",
    ],
]


class _InParts(io.BytesIO):
    """Bytes that arrive in parts of any size."""

    def __init__(self, content: bytes, rng: Random) -> None:
        super().__init__(content)
        self._rng = rng

    def read(self, size: int | None = -1) -> bytes:
        return super().read(self._rng.randint(1, 9))


def fuzz_text(rng: Random, folder: Path) -> None:
    """Text is refused with its line, or it is written as it came,
    with trees that do not depend on how it was read.
    """
    content = mutate_bytes(
        b"".join(rng.choice(TEXTS).encode() for _ in range(rng.randint(1, 3))), rng, _PIECES
    )
    tokenizer = TextPipeline(tiny_tokenizer())
    model = whole_model(rng.choice(["static", "attardi", "text", "lemmas"]))
    sentences = rng.choice([*SentenceEnds])
    found = []
    sources: list[Any] = [io.BytesIO(content), _InParts(content, rng)]
    for read in sources:
        source, target = (
            as_stream(tokenizer.conllu(read, "file", sentences, ranges=True)),
            io.BytesIO(),
        )
        try:
            tags = predicted_tags(model)
            parse_file(
                model,
                source,
                target,
                "file",
                allow_missing_columns=True,
                tags=tags,
                threads=rng.choice([1, 2]),
            )
        except TokenizerError as error:
            assert str(error).startswith(
                f"file, line {_line_of_fault(content)}: not UTF-8 at byte "
            )
            found.append(str(error))
            continue
        assert _line_of_fault(content) == 0
        found.append(target.getvalue().decode())
    assert found[0] == found[1]
    if _line_of_fault(content) == 0:
        check_trees(found[0].encode())
        text, tokens = rebuilt(found[0])
        plain = content.decode().replace("\0", " ")
        assert text == (plain if tokens else "")
        assert all(written == plain[start:end] for written, (start, end) in tokens)
        assert tokens or not plain.replace("\ufeff", "").strip()


def fuzz_lattice(rng: Random, folder: Path) -> None:
    """Lattices are refused with their place, or their output is a path, under its comments,
    with a tree over its words.
    """
    lattices = [
        drawn_lattice(rng, rng.randint(1, 6), rng.randint(0, 3)) for _ in range(rng.randint(1, 3))
    ]
    content = mutate_bytes("".join(map(text_of, lattices)).encode(), rng, _LATTICE_PIECES)
    target = io.BytesIO()
    errors: list[ConlluError] = []
    on_error = rng.choice([OnError.STOP, OnError.SKIP])
    beam = Beam(
        rng.randint(1, 4), rng.choice([Merge.NONE, Merge.CONFIGURATION]), rng.choice([*Scores])
    )
    most = rng.choice([None, None, 5])
    model = hostile_model(rng.choice(["arc_standard", "attardi"]))
    make_hostile(model, rng)
    options = ParseOptions(beam=rng.choice([None, beam]), max_arcs=most, on_error=on_error)
    threads = rng.choice([1, 2])
    try:
        parsed = parse_lattice_file(
            model,
            options,
            io.BytesIO(content),
            target,
            "file",
            threads=threads,
            report=errors.append,
        )
    except ConlluError as error:
        assert on_error is OnError.STOP or "UTF-8" in str(error)
        assert str(error).startswith("file, line ")
        assert len(str(error)) < 1000
        return
    assert parsed.refused == len(errors)
    told: list[ConlluError] = []
    expected = [*stream_lattices(io.BytesIO(content), "file", most, told.append)]
    assert parsed.refused == len(told)
    for lattice, sentence in zip(expected, check_trees(target.getvalue()), strict=True):
        assert list(takewhile(lambda line: line.startswith("#"), sentence.lines)) == [
            f"{line}\n" for line in lattice.comments
        ]
        assert _is_path(lattice, sentence.column(FORM))


def check_trees(content: bytes, strict: bool = True) -> list[RawSentence]:
    """Return the sentences of output, which must be trees, and, if ``strict``,
    CoNLL-U throughout.
    """
    sentences = [
        s for s in read_raw_sentences(io.BytesIO(content), "output", strict=strict) if len(s)
    ]
    for s in sentences:
        heads = s.heads()
        assert [head == 0 for head in heads] == [
            relation == "root" for relation in s.column(DEPREL)
        ]
    return sentences


def _is_path(lattice: Lattice, forms: list[str]) -> bool:
    """Whether a path of the lattice has these forms, by the nodes that they can lead to."""
    nodes = {0}
    for form in forms:
        nodes = {arc.end for arc in lattice.arcs if arc.start in nodes and arc.form == form}
    return lattice.last_node in nodes


def _line_of_fault(content: bytes) -> int:
    """Return the line of the first byte that is not UTF-8; 0 if there is none."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        return content[: error.start].count(b"\n") + 1
    return 0


def compile_kernels() -> None:
    """Lets no case wait for kernels to be compiled."""
    lattice = text_of(drawn_lattice(Random(0), 3, 1)).encode()
    for kind in ("static", "attardi"):
        for beam in (
            None,
            *(
                Beam(2, merge, scores)
                for merge in (Merge.NONE, Merge.CONFIGURATION)
                for scores in Scores
            ),
        ):
            parse_lattice_file(
                whole_model(kind),
                ParseOptions(beam=beam),
                io.BytesIO(lattice),
                io.BytesIO(),
                "file",
            )
