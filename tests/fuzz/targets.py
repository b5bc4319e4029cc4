"""What is fed with changed input, and what must hold of it whatever the input is.

A target takes a generator, from which its input follows, and a folder to write to. It raises
AssertionError where a promise is broken; any other exception that it lets through is a fault as
well.
"""

import gzip
import io
import lzma
import shutil
from collections.abc import Callable
from functools import cache
from itertools import takewhile
from pathlib import Path
from random import Random

from parser.conllu.checks import (
    DEPREL,
    DEPS,
    FEATS,
    FORM,
    HEAD,
    LEMMA,
    UPOS,
    XPOS,
    ConlluError,
    check_tree,
    is_blank,
)
from parser.conllu.files import open_input
from parser.conllu.stream import read_raw_sentences
from parser.data.treebank import TreebankError, read_treebank
from parser.decoding.files.missing_columns import MissingColumnsError
from parser.decoding.parse_options import OnError
from parser.decoding.search import parse
from parser.model.model import FrozenModel
from parser.model_folder import ModelError
from tests.forgery import KINDS
from tests.fuzz import files, outputs, readers, runs
from tests.fuzz.mutations import mutate_bytes, mutate_model
from tests.parsed_files import parse_file
from tests.toy import sentence

SEEDS = [
    (
        b"# sent_id = 1\n# text = ab"
        b" c\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\ta\tX\tx\tA=b|C=d\t2\tdet\t_\t_\n"
        b"2\tb\tb\tX\tx\t_\t0\troot\t0:root\tSpaceAfter=No\n2.1\te\t_\t_\t_\t_\t_\t_\t1:dep\t_\n"
        b"3\tc\tc\tX\tx\tA=b\t2\tobj\t_\t_\n\n"
        b"1\ta\ta\tX\tx\t_\t0\troot\t_\t_\n\n"
    ),
    (
        b"\xef\xbb\xbf1\ta\t_\t_\t_\t_\t0\troot\t_\t_\r\n2\t\xc3\xa9\t_\t_\t_\t_\t1\tobj\t_\t_\r\n\r\n#"
        b" end\r\n"
    ),
    b"".join(
        b"%d\tw%d\t_\tX\t_\tA=b\t%d\tdet\t_\t_\n" % (i, i % 3, max(0, i - 1)) for i in range(1, 12)
    )
    + b"\n",
]


def fuzz_parse(rng: Random, folder: Path) -> None:
    """Check parsing: what is not CoNLL-U is named;
    of the rest every byte passes but HEAD, DEPREL and DEPS; each tree is one.
    """
    content = _changed_text(rng)
    on_error = rng.choice([*OnError])
    target = io.BytesIO()
    errors: list[ConlluError] = []
    try:
        parsed = parse_file(
            readers.whole_model(rng.choice(KINDS)),
            io.BytesIO(content),
            target,
            "file",
            threads=rng.choice([1, 1, 2]),
            on_error=on_error,
            report=errors.append,
            allow_missing_columns=rng.random() < 0.9,
            chunk_bytes=rng.choice([1, 30, 1000, 2**18]),
        )
    except MissingColumnsError:
        assert target.getvalue() == b""
        return
    except ConlluError as error:
        assert on_error is OnError.STOP or (b"\n" not in content and content.count(b"\r") > 1)
        assert str(error).startswith("file, line ")
        return
    assert parsed.refused == len(errors)
    assert not errors or on_error is not OnError.STOP
    before: list[str] = []
    words: set[int] = set()
    for s in read_raw_sentences(io.BytesIO(content), strict=False):
        words.update(len(before) + place for place in s.word_lines)
        if s.error and on_error is OnError.SKIP:
            before += takewhile(is_blank, s.lines)
        else:
            before += s.lines
    after = [line.decode("utf-8", "surrogateescape") for line in io.BytesIO(target.getvalue())]
    assert len(before) == len(after)
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        if number in words:
            columns, others = old.split("\t"), new.split("\t")
            assert columns[:HEAD] + columns[DEPS + 1 :] == others[:HEAD] + others[DEPS + 1 :]
            assert others[DEPS] == "_"
        else:
            assert old == new
    readers.check_trees(target.getvalue(), strict=False)


def fuzz_gold(rng: Random, folder: Path) -> None:
    """Gold data: refused with its place, or read as parsing reads it."""
    content = _changed_text(rng)
    path = folder / "gold.conllu"
    path.write_bytes(content)
    try:
        treebank = read_treebank(path)
    except TreebankError as error:
        assert str(error).startswith(str(path))
        lines = str(error).split("\n")
        assert len(lines) <= 21
        assert max(map(len, lines)) < 2000
        return
    content.decode("utf-8")
    raw = [s for s in read_raw_sentences(io.BytesIO(content)) if len(s)]
    for gold, s in zip(treebank, raw, strict=True):
        columns = (FORM, LEMMA, UPOS, XPOS, FEATS, DEPREL)
        assert [gold.forms, gold.lemmas, gold.upos, gold.xpos, gold.feats, gold.deprels] == [
            s.column(c) for c in columns
        ]
        assert gold.heads == s.heads()
        check_tree(gold.heads)


def fuzz_compressed(rng: Random, folder: Path) -> None:
    """Compressed files: damage is told, or what is read is what was written."""
    content = rng.choice(SEEDS) * rng.choice([1, 50])
    ending = rng.choice([".gz", ".xz"])
    path = folder / f"file{ending}"
    path.write_bytes(
        mutate_bytes(gzip.compress(content) if ending == ".gz" else lzma.compress(content), rng)
    )
    try:
        with open_input(path) as stream:
            found = stream.read()
    except ConlluError as error:
        assert str(error).startswith(str(path))
        return
    # Files one behind the other are one file to gzip and xz, so a part may come twice.
    assert len(found) % len(content) == 0
    assert found == content * (len(found) // len(content))


def fuzz_model(rng: Random, folder: Path) -> None:
    """Model folders: refused as models, or what they parse are trees."""
    model_folder = folder / "model"
    shutil.rmtree(model_folder, ignore_errors=True)
    shutil.copytree(_saved(rng.choice(KINDS), folder), model_folder)
    mutate_model(model_folder, rng)
    try:
        model = FrozenModel.load(model_folder)
    except ModelError as error:
        assert str(error).startswith(str(model_folder))
        assert len(str(error)) < 1000
        return
    sentences = [sentence([0] + [1] * (n - 1), rng) for n in (1, 2, rng.randint(3, 30))]
    parses = parse(model, sentences)
    for s, (start, end) in enumerate(zip(parses.offsets, parses.offsets[1:], strict=False)):
        assert end - start == len(sentences[s]) + 1
        check_tree(parses.heads[start + 1 : end].tolist())
        assert all(
            0 <= relation < len(model.relations.symbols)
            for relation in parses.relations[start + 1 : end]
        )
    target = io.BytesIO()
    parse_file(model, io.BytesIO(SEEDS[0]), target, allow_missing_columns=True)
    assert target.getvalue().count(b"\n") == SEEDS[0].count(b"\n")


TARGETS: dict[str, Callable[[Random, Path], None]] = {
    "parse": fuzz_parse,
    "gold": fuzz_gold,
    "compressed": fuzz_compressed,
    "model": fuzz_model,
    "output": outputs.fuzz_output,
    "checkpoint": runs.fuzz_checkpoint,
    "settings": runs.fuzz_settings,
    "files": files.fuzz_files,
    "overrides": files.fuzz_overrides,
    "text": readers.fuzz_text,
    "lattice": readers.fuzz_lattice,
}


def compile_kernels() -> None:
    """Lets no case wait for kernels to be compiled."""
    for kind in KINDS:
        parse(readers.whole_model(kind), [sentence([0, 1])])
        parse_file(
            readers.whole_model(kind),
            io.BytesIO(SEEDS[0]),
            io.BytesIO(),
            allow_missing_columns=True,
        )
    outputs.compile_kernels()
    readers.compile_kernels()


def generator(seed: int, target: str, case: int) -> Random:
    """Return the generator of a case; a fault can be looked at again by its three arguments."""
    return Random(f"{seed} {target} {case}")


def _changed_text(rng: Random) -> bytes:
    content = b"".join(rng.choice(SEEDS) for _ in range(rng.randint(1, 3)))
    return mutate_bytes(content, rng)


@cache
def _saved(kind: str, folder: Path) -> Path:
    readers.whole_model(kind).save(folder / kind)
    return folder / kind
