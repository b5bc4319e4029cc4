"""JSON instead of CoNLL-U, and CoNLL-U without multiword tokens: the same trees,
whatever the input and the chunks.
"""

import gzip
import json
from io import BytesIO
from itertools import chain

import pytest

from parser import Parser
from parser.decoding.lattice.parser import parse_lattice_file
from parser.decoding.parse_options import OnError, OutputFormat, ParseOptions, TagUse
from parser.text.pipeline import TextPipeline, as_stream
from tests.forgery import small_model
from tests.forked import script
from tests.parsed_files import parse_file, parsed
from tests.random_models import random_text_model, with_random_weights
from tests.text.tiny_tokenizer import save_tiny_tokenizer
from tests.toy import ROOT

JSON = OutputFormat.JSON
TEXT = """\ufeff# sent_id = 1
1-2\tab\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\ta\t_\tX\t_\tA=b\t_\t_\t_\t_
2\tb\t_\tX\t_\tA=b\t_\t_\t_\tX=1
2.1\tc\t_\t_\t_\t_\t_\t_\t_\t_

# only a comment

# sent_id = 2
1\tc\t_\tX\t_\tA=b\t2\tdep\t_\t_
2\tb\t_\tX\t_\t_\t_\t_\t_\t_
"""
OPTIONS = [{}, {"tags": TagUse.OVERWRITE}, {"keep_heads": True}, {"words_only": True}]


@pytest.fixture(scope="module")
def model():
    return random_text_model()


@pytest.mark.parametrize("options", OPTIONS)
def test_json_says_what_conllu_says(model, options):
    content = f"{TEXT}\n".encode()
    plain = parsed(model, content, allow_missing_columns=True, **options).decode()
    written = parsed(model, content, allow_missing_columns=True, format=JSON, **options).decode()
    found = [json.loads(line) for line in written.splitlines()]
    rows = [
        [line.split("\t") for line in part.splitlines() if "\t" in line]
        for part in plain.split("\n\n")
    ]
    assert (
        [len(one) for one in found]
        == [len(own) for own in rows if own]
        == ([3, 2] if "words_only" in options else [4, 2])
    )
    for one, row in zip(chain(*found), chain(*rows), strict=True):
        assert (one["text"], str(one.get("head", "_")), one.get("deprel", "_")) == (
            row[1],
            row[6],
            row[7],
        )
        assert (one.get("upos", "_"), one.get("feats", "_"), one.get("misc", "_")) == (
            row[3],
            row[5],
            row[9],
        )


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("form", [JSON, OutputFormat.CONLLU])
def test_any_chunks_and_threads_give_the_same(model, options, form):
    content = TEXT.encode() + b"\n" + (TEXT.removeprefix("\ufeff") + "\n").encode() * 8
    options = {"allow_missing_columns": True, "format": form, "words_only": True, **options}
    expected = parsed(model, content, **options)
    assert parsed(model, content, chunk_bytes=1, **options) == expected
    assert parsed(model, content, chunk_bytes=70, threads=3, **options) == expected


def test_words_only_leaves_out_lines_and_nothing_else(model):
    plain = parsed(model, TEXT.encode(), allow_missing_columns=True).decode()
    without = parsed(model, TEXT.encode(), allow_missing_columns=True, words_only=True).decode()
    assert without == "".join(
        line for line in plain.splitlines(keepends=True) if not line.startswith("1-2")
    )
    assert "\n2.1\t" in without


def test_a_text_gives_what_the_library_gives(tmp_path, monkeypatch, model):
    """Also where the text is read in pieces."""
    monkeypatch.setattr("parser.text.blocks._BLOCK", 8)
    tokenizer = TextPipeline.of_file(save_tiny_tokenizer(tmp_path / "tokenizer"))
    text = "  a du b.\n\nb  éa . du\n\na.\n"
    expected = [one.to_dict() for one in Parser(model, tokenizer).parse_text(text)]
    options = ParseOptions(text=True, format=JSON)
    source = as_stream(tokenizer.conllu(BytesIO(text.encode()), ranges=options.places))
    parse_file(model, source, target := BytesIO(), tags=TagUse.OVERWRITE, format=JSON)
    assert [json.loads(line) for line in target.getvalue().decode().splitlines()] == expected
    tokens = [one for sentence in expected for one in sentence if "start_char" in one]
    assert [text[one["start_char"] : one["end_char"]] for one in tokens] == [
        one["text"] for one in tokens
    ]
    assert [one["id"] for one in expected[0]] == [1, [2, 3], 2, 3, 4, 5]
    assert expected[0][0]["misc"] == r"SpacesBefore=\s\s"
    assert "start_char" not in expected[0][2]


def test_words_given_to_the_library_have_no_places(model):
    [found] = Parser(model).parse([[("a", "DET", None, "E=f"), ("_", None, None)]])
    first, second = found.to_dict()
    assert list(first) == ["id", "text", "upos", "feats", "head", "deprel"]
    assert (first["id"], first["text"], first["upos"], first["feats"]) == (1, "a", "DET", "E=f")
    assert (second["text"], second["head"], second["deprel"]) == (
        "_",
        found.heads[1],
        found.deprels[1],
    )
    assert Parser(model).parse([[]])[0].to_dict() == []
    assert (
        Parser(model).parse([["a\tb"]], allow_missing_columns=True)[0].to_dict()[0]["text"]
        == "a\tb"
    )


def test_lattices_are_written_as_json_too():
    lattice = b"0-2\tab\t_\n0\t1\ta\ta\tX\t_\tA=b\t_\n"
    lattice += b"1\t2\tb\tb\tX\t_\tA=b\t_\n2\t3\tc\tc\tX\t_\t_\t_\n\n"
    model = with_random_weights(small_model("static"))
    written = {}
    for options in (
        {},
        {"format": JSON},
        {"format": JSON, "words_only": True},
        {"words_only": True},
    ):
        target = BytesIO()
        parse_lattice_file(
            model, ParseOptions(lattice=True, **options), BytesIO(lattice), target, "f"
        )
        written[tuple(options)] = target.getvalue().decode()
    ids = [
        [one["id"] for one in json.loads(written[key])]
        for key in (("format",), ("format", "words_only"))
    ]
    assert ids == [[[1, 2], 1, 2, 3], [1, 2, 3]]
    assert written["words_only",] == written[()].replace("1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"k_best": 2},
            (
                r"--k-best 2: JSON has no place for ranks and scores of trees; omit it, or write"
                r" CoNLL-U"
            ),
        ),
        ({"on_error": OnError.KEEP}, "--on-error keep cannot copy .* choose --on-error skip"),
    ],
)
def test_what_json_cannot_hold_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ParseOptions(format=JSON, **options)


def test_a_sentence_that_is_skipped_has_no_line(model):
    content = f"{TEXT}\n1\ta\n\n{TEXT[1:]}".encode()
    options = {"allow_missing_columns": True, "on_error": OnError.SKIP, "format": JSON}
    assert len(parsed(model, content, **options).splitlines()) == 4
    assert parsed(model, content, chunk_bytes=1, **options) == parsed(model, content, **options)


@pytest.mark.parametrize(
    ("name", "options", "is_json"),
    [
        ("out.json", [], True),
        ("out.JSONL", [], True),
        ("out.json.gz", [], True),
        ("out.json.conllu", [], False),
        ("out.json", ["--format", "conllu"], False),
        ("out.conllu", ["--format=json"], True),
    ],
)
def test_the_name_of_the_output_says_what_is_written(tmp_path, model, name, options, is_json):
    model.save(tmp_path / "model")
    (tmp_path / "in.conllu").write_text(TEXT, encoding="utf-8")
    given = [
        tmp_path / "model",
        tmp_path / "in.conllu",
        "-o",
        tmp_path / name,
        "--allow-missing-columns",
        *options,
    ]
    done = script("scripts/parse.py", *given, folder=ROOT)
    assert done.returncode == 0, done.stderr
    content = (tmp_path / name).read_bytes()
    content = gzip.decompress(content) if name.endswith(".gz") else content
    form = JSON if is_json else OutputFormat.CONLLU
    assert content == parsed(model, TEXT.encode(), allow_missing_columns=True, format=form)
