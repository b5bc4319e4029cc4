"""CoNLL-UL: what is read is what was written, and what is no lattice is refused with its line."""

import bz2
import io
import random

import pytest

from parser.lattices import (
    Lattice,
    LatticeError,
    SurfaceToken,
    read_lattices,
    stream_lattices,
    text_of,
)
from tests.lattices.made import drawn_lattice, shared

GOOD = """# sent_id = one
# text = ab c.
0-2\tab\t_
0\t1\ta\ta\tADP\t_\t_\t_\t_
0\t2\tab\tab\tNOUN\t_\tCase=Nom\tgoldId=1\t_
1\t2\tb\tb\tNOUN\t_\t_
2\t3\tc\tc\tVERB\t_\t_\tSpaceAfter=No
3\t4\t.\t.\tPUNCT\t_\t_\t_\t_

"""


def read(text: str, **options) -> list[Lattice]:
    return list(stream_lattices(io.BytesIO(text.encode()), "f.conllul", **options))


def test_a_lattice_is_read():
    (lattice,) = read("\ufeff" + GOOD)
    assert lattice.starts.tolist() == [0, 0, 1, 2, 3]
    assert lattice.ends.tolist() == [1, 2, 2, 3, 4]
    assert lattice.forms == ["a", "ab", "b", "c", "."]
    assert lattice.upos == ["ADP", "NOUN", "NOUN", "VERB", "PUNCT"]
    assert lattice.feats[1] == "Case=Nom"
    assert lattice.tokens == [
        SurfaceToken(0, 2, "ab"),
        SurfaceToken(2, 3, "c", "SpaceAfter=No"),
        SurfaceToken(3, 4, "."),
    ]
    assert (lattice.sent_id, lattice.last_node) == ("one", 4)
    assert lattice.comments == ["# sent_id = one", "# text = ab c."]
    assert lattice.where == "f.conllul, line 1, sentence 1 (sent_id one)"
    assert "goldId" not in text_of(lattice)


def test_order_of_arcs_and_ends_of_lines_do_not_matter():
    lines = GOOD.splitlines()
    mixed = "\r\n".join([*lines[:2], *reversed(lines[2:-1]), "", ""])
    (one,), (other,) = read(GOOD), read(mixed)
    assert sorted(one.arcs) == sorted(other.arcs)
    assert one.tokens == other.tokens


@pytest.mark.parametrize("seed", range(20))
def test_what_is_written_is_read(seed):
    lattice = drawn_lattice(random.Random(seed), 1 + seed % 7, seed % 4)
    (found,) = read(text_of(lattice))
    assert found.arcs == lattice.arcs
    assert found.tokens == lattice.tokens


def test_compressed_files(tmp_path):
    path = tmp_path / "f.conllul.bz2"
    whole = bz2.compress(GOOD.encode())
    path.write_bytes(whole)
    assert len(read_lattices(path)) == 1
    for damaged, said in (
        (whole[:-20], "cannot be uncompressed"),
        (b"no such thing", "cannot be uncompressed"),
        (b"", "empty"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"f\.conllul\.bz2: .*{said}"):
            read_lattices(path)


def arc(start, end, form="x"):
    return f"{start}\t{end}\t{form}\t_\tX\t_\t_"


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        ([arc(0, 1), arc(2, 1)], 2, "backwards"),
        ([arc(0, 1), arc(1, 1)], 2, "backwards"),  # a cycle
        (
            ["0-2\tab", arc(0, 1), arc(1, 2), arc(0, 2), "2-4\tcd", arc(1, 3), arc(2, 4)],
            6,
            "crosses a token boundary",
        ),
        (["0-2\tab", arc(0, 2), arc(1, 2)], 3, "node 1 cannot be reached from node 0"),
        (["0-2\tab", arc(0, 2), arc(0, 1)], 3, "no path leads on from node 1"),
        (["0-1\ta", arc(0, 1), "1-2\tb"], 3, "token 1-2 has no arc"),
        ([arc(0, 1), arc(2, 3)], 2, "token 2-3 where one from node 1 is expected"),
        ([arc("x", 1)], 1, "'x' is not an id"),
        ([arc("-1", 1)], 1, "is not an id"),
        ([arc(0, "1.5")], 1, "'1.5' is not a node"),
        (["0\t1\tx"], 1, "3 columns where an arc has 7 to 9"),
        (["0\t1" + "\tx" * 8], 1, "10 columns"),
        (["0-1", arc(0, 1)], 1, "1 columns where the line of a token has 2 or 3"),
        (["1-1\ta", arc(0, 1)], 1, "token 1-1 ends where it begins"),
        (["0-2\tab", "1-3\tbc", arc(0, 2), arc(2, 3)], 2, "token 1-3 overlaps the one before it"),
        ([arc(0, 1, "")], 1, "an empty form"),
        (["0-1\t", arc(0, 1)], 1, "an empty form"),
        ([arc(0, 1), arc(0, 2)], 2, "crosses a token boundary"),
        (["0-999999999\tab", arc(0, 999999999)], 1, "999999999"),
    ],
)
def test_what_is_no_lattice_is_refused(lines, line, message):
    text = GOOD + "\n".join(["# sent_id = bad", *lines, "", ""]) + GOOD
    before = GOOD.count("\n") + 1
    with pytest.raises(LatticeError) as caught:
        read(text)
    assert str(caught.value).startswith(
        f"f.conllul, line {before + line}, sentence 2 (sent_id bad): "
    )
    assert message in str(caught.value)
    told = []
    assert (
        len(list(stream_lattices(io.BytesIO(text.encode()), "f.conllul", report=told.append))) == 2
    )
    assert list(map(str, told)) == [str(caught.value)]


def test_too_many_arcs_are_refused_by_name():
    assert len(read(GOOD, max_arcs=5)) == 1
    with pytest.raises(LatticeError, match=r"sentence 1 .*lattice\.max_arcs"):
        read(GOOD, max_arcs=4)


def test_other_encodings_are_refused():
    good = b"0\t1\ta\t_\t_\t_\t_\n\n"
    lines, told = io.BytesIO(good + b"# \xff\n" + good + good).readlines(), []
    with pytest.raises(LatticeError, match=r"f, line 3, sentence 2: .*UTF-8"):
        list(stream_lattices(lines, "f"))
    assert len(list(stream_lattices(lines, "f", report=told.append))) == 2
    assert len(told) == 1


@pytest.mark.parametrize("name", ["tr/tr_imst-ud-dev.trmorph2", "he/he_htb-ud-dev.heblex"])
def test_real_lattices_are_read_and_written(name):
    lattices = read_lattices(shared(f"lattices/{name}.conllul.bz2"))
    for lattice in lattices[:100]:
        (again,) = read(text_of(lattice))
        assert again.arcs == lattice.arcs
        assert again.tokens == lattice.tokens
