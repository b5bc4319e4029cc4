"""Many files parsed by several processes."""

import bz2
import gzip
import io
import json
import multiprocessing
import os
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from parser.beam_settings import Beam, Merge
from parser.decoding.files import file_parsing
from parser.decoding.files.file_parsing import parse_file
from parser.decoding.parse_options import ParseOptions
from parser.decoding.predictor import Predictor
from parser.model.trained_model import TrainedModel
from parser.text import local_engine, ray_engine
from parser.text.local_engine import parse_shards
from parser.text.shards import (
    NOTE,
    REFUSALS,
    BulkError,
    Outcome,
    Refusals,
    Shard,
    claim,
    has_changed,
    shards_of,
    to_parse,
)
from parser.text.worker import ShardParser, begin_parser
from tests.forgery import small_linear_model, small_model
from tests.text.bulk import WORDS, run_command
from tests.text.dying import begin_nothing, die_at_times


@pytest.fixture
def forked(monkeypatch):
    """Forks worker processes, where there is such a thing:
    loading what this one has loaded takes seconds.
    """
    if hasattr(os, "fork"):
        forking = multiprocessing.get_context("fork")
        monkeypatch.setattr(multiprocessing, "get_context", lambda method: forking)


@pytest.fixture
def folders(tmp_path) -> Path:
    small_model("static").save(tmp_path / "model")
    for name in ("in/a.conllu", "in/deep/b.conllu.gz", "in/deep/c.conllu"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = WORDS.encode() * (2 + len(name))
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return tmp_path


@pytest.fixture
def many(folders, monkeypatch, capsys) -> Callable[..., tuple[int, str]]:
    """Return a function that runs the command over files of the folder, by one process, and returns
    its exit status and what it says.
    """

    def run(pattern: str, *options: str) -> tuple[int, str]:
        command = [
            f"{folders}/model",
            f"{folders}/in/{pattern}",
            "-o",
            f"{folders}/out",
            "--workers",
            "1",
            *options,
        ]
        status = run_command(monkeypatch, *command)
        return status, capsys.readouterr().err

    return run


MISSING = ParseOptions(allow_missing_columns=True)


def test_files_keep_their_places_below_the_wildcards(folders):
    found = shards_of([f"{folders}/in/**/*.conllu*"], folders / "out")
    assert [shard.target for shard in found] == [
        f"{folders}/out/a.conllu",
        f"{folders}/out/deep/b.conllu.gz",
        f"{folders}/out/deep/c.conllu",
    ]
    with pytest.raises(BulkError, match="matches no file"):
        shards_of([f"{folders}/nowhere/*"], folders / "out")
    with pytest.raises(BulkError, match="overwrite it"):
        shards_of([f"{folders}/in/*.conllu"], folders / "in")
    (folders / "other").mkdir()
    (folders / "other" / "a.conllu").write_text("")
    with pytest.raises(BulkError, match="would both go to"):
        shards_of([f"{folders}/in/*.conllu", f"{folders}/other/*.conllu"], folders / "out")


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("t.txt", "t.conllu"),
        ("t.txt.gz", "t.conllu.gz"),
        ("t", "t.conllu"),
        ("t.v1.xz", "t.v1.conllu.xz"),
        ("t.txt.bz2", "t.conllu"),
    ],
)
def test_text_becomes_conllu(tmp_path, name, written):
    (tmp_path / name).touch()
    assert (
        Path(shards_of([str(tmp_path / name)], tmp_path / "out", text=True)[0].target).name
        == written
    )


def test_trees_of_compression_that_is_not_written_are_not_compressed(folders):
    (folders / "in" / "h.conllu.bz2").write_bytes(bz2.compress(WORDS.encode()))
    (shard,) = shards_of([f"{folders}/in/*.bz2"], folders / "out")
    assert ShardParser(folders / "model", MISSING)(shard).error is None
    assert len((folders / "out" / "h.conllu").read_text().splitlines()) == 3


def test_the_name_of_a_file_is_no_pattern(tmp_path):
    for name in ("b[1].txt", "b1.txt", "in [x]/c?.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = shards_of([f"{tmp_path}/b[1].txt", f"{tmp_path}/in [x]/c?.txt"], tmp_path / "out")
    assert [Path(shard.source).name for shard in found] == ["b[1].txt", "c?.txt"]
    assert [shard.target for shard in found] == [
        f"{tmp_path}/out/b[1].txt",
        f"{tmp_path}/out/c?.txt",
    ]
    assert [
        Path(shard.source).name for shard in shards_of([f"{tmp_path}/b[0-9].txt"], tmp_path / "out")
    ] == ["b1.txt"]


def test_a_folder_is_refused_with_the_pattern_of_its_files(folders, tmp_path):
    for text, names in ((True, "*.txt"), (False, "*.conllu")):
        with pytest.raises(BulkError, match=re.escape(f"'{folders}/in/**/{names}'")):
            shards_of([f"{folders}/in/"], folders / "out", text)
    (tmp_path / "it's [v2]?").mkdir()
    (tmp_path / "it's [v2]?" / "a.conllu").touch()
    with pytest.raises(BulkError, match="this is a folder") as found:
        shards_of([f"{tmp_path}/it's [v2]?"], tmp_path / "out")
    (pattern,) = shlex.split(str(found.value).partition("such as ")[2])
    assert [Path(shard.source).name for shard in shards_of([pattern], tmp_path / "out")] == [
        "a.conllu"
    ]


@pytest.mark.usefixtures("forked")
def test_the_command_writes_what_parse_file_writes_and_goes_on_after_a_failure(folders, many):
    (folders / "in" / "bad.conllu").write_text("1\tx\n\n")
    status, said = many("**/*.conllu*", "--allow-missing-columns")
    assert status == 1
    assert "in/bad.conllu, line 1" in said
    predictor = Predictor(TrainedModel.load(folders / "model"), MISSING)
    for name in ("a.conllu", "deep/b.conllu.gz", "deep/c.conllu"):
        read = gzip.decompress if name.endswith(".gz") else bytes
        target = io.BytesIO()
        parse_file(predictor, io.BytesIO(read((folders / "in" / name).read_bytes())), target)
        assert read((folders / "out" / name).read_bytes()) == target.getvalue()
    (folders / "in" / "bad.conllu").write_text(WORDS)
    kept = (folders / "out" / "a.conllu").stat().st_mtime_ns
    status, said = many("**/*.conllu*", "--allow-missing-columns")
    assert status == 0
    assert "1 file parsed, 2 words; 3 were there already" in said
    assert (folders / "out" / "bad.conllu").exists()
    source, target = folders / "in" / "a.conllu", folders / "out" / "a.conllu"
    assert target.stat().st_mtime_ns == kept
    source.write_text(WORDS)
    os.utime(source, ns=(0, kept + 1))
    status, said = many("*.conllu", "--allow-missing-columns")
    assert (
        "1 file parsed, 2 words; 1 were there already; 0 failed\nparsed again, "
        "as the input has changed" in said
    )
    assert target.read_text().count("\n\n") == 1


def test_of_a_file_that_changes_or_for_which_memory_is_short_nothing_is_kept(folders, monkeypatch):
    shard = Shard(f"{folders}/in/a.conllu", f"{folders}/out/a.conllu")
    parser = ShardParser(folders / "model", MISSING)

    def slow(*arguments, **options):
        counts = parse_file(*arguments, **options)
        Path(shard.source).write_text(WORDS)
        return counts

    def without_memory(*arguments, **options):
        raise MemoryError

    for parse, told in (
        (slow, "the file changed while it was parsed; parse it again"),
        (without_memory, "not enough memory"),
    ):
        monkeypatch.setattr(file_parsing, "parse_file", parse)
        assert told in str(parser(shard).error)
        assert not Path(shard.target).exists()


def test_a_fault_of_ours_is_told_with_its_traceback_and_the_other_files_are_parsed(
    folders, monkeypatch, capsys
):
    shard = Shard(f"{folders}/in/a.conllu", f"{folders}/out/a.conllu")
    parser = ShardParser(folders / "model", MISSING)
    monkeypatch.setattr(file_parsing, "parse_file", lambda *_, **__: [][0])
    fault = (
        r".*a\.conllu: this is a fault of optimal-step, not of your input \(IndexError: .*\);"
        r" please report it"
    )
    assert re.match(fault, str(parser(shard).error))
    assert "Traceback (most recent call last):" in capsys.readouterr().err
    monkeypatch.setattr("parser.text.worker.ShardParser", lambda *_: [][0])
    assert re.match(fault, str(begin_parser(folders / "model", MISSING)(shard).error))
    assert not Path(shard.target).exists()


def test_what_is_done_is_as_new_as_its_file(tmp_path):
    shard = Shard(str(tmp_path / "a"), str(tmp_path / "b"))
    assert (to_parse([shard]), has_changed(shard)) == ([shard], False)
    for name in "ab":
        (tmp_path / name).touch()
        os.utime(tmp_path / name, ns=(0, 10))
    assert (to_parse([shard]), has_changed(shard)) == ([], False)
    os.utime(tmp_path / "a", ns=(0, 11))
    assert (to_parse([shard]), has_changed(shard)) == ([shard], True)
    (tmp_path / "a").unlink()
    assert (to_parse([shard]), has_changed(shard)) == ([], False)


@pytest.mark.parametrize("engine", [local_engine, ray_engine], ids=["local", "ray"])
def test_kernels_are_compiled_where_it_is_shown(folders, many, monkeypatch, engine):
    """Before the processes begin, whose standard error nobody reads,
    and only if there is something to parse.
    """
    done = []

    def nothing_left_to_parse(folder, shards, options, workers):
        done.append("parse")
        return (outcome for outcome in ())

    monkeypatch.setattr(ShardParser, "warm_up", lambda parser: done.append("warm up"))
    monkeypatch.setattr(engine, "parse_shards", nothing_left_to_parse)
    name = engine.__name__.rpartition(".")[2].removesuffix("_engine")
    assert many("a.conllu", f"--engine={name}")[0] == 0
    assert done == ["warm up", "parse"]
    (folders / "out/a.conllu").touch()
    assert many("a.conllu", f"--engine={name}")[0] == 0
    assert done == ["warm up", "parse", "parse"]


def test_its_own_output_is_no_input(folders):
    pattern = f"{folders}/in/**/*.conllu*"
    before = shards_of([pattern], folders / "in" / "out")
    for shard in before:
        Path(shard.target).parent.mkdir(parents=True, exist_ok=True)
        Path(shard.target).touch()
    assert shards_of([pattern], folders / "in" / "out") == before
    assert [shard.source for shard in shards_of([f"{folders}/in/*.conllu"], folders)] == [
        f"{folders}/in/a.conllu"
    ]


@pytest.mark.usefixtures("forked")
def test_sentences_that_are_refused_are_in_the_exit_status(folders, many):
    source, target = folders / "in" / "a.conllu", folders / "out" / "a.conllu"
    source.write_text("1\tx\n\n" + WORDS)
    options = "--allow-missing-columns", "--on-error", "skip"
    assert many("*.conllu", *options)[0] == 1
    assert target.read_text().count("\n\n") == 1
    said = "1 were there already; 0 failed\n1 sentence in files parsed earlier is not CoNLL-U\n"
    status, found = many("*.conllu", *options)
    assert status == 1  # as it would have been without an interruption
    assert found.endswith(said)
    source.write_text(WORDS)
    os.utime(source, ns=(0, target.stat().st_mtime_ns + 1))
    assert [many("*.conllu", *options)[0] for _ in range(2)] == [0, 0]


def test_refusals_are_those_of_the_files_asked_for(tmp_path):
    one, other = (Shard(name, str(tmp_path / "deep" / name)) for name in "ab")
    refusals = Refusals(tmp_path)
    for outcome in (
        Outcome(one, refused=2),
        Outcome(other, refused=3),
        Outcome(other, error="no"),
        Outcome(one, refused=1),
    ):
        refusals.remember(outcome)
    with (tmp_path / REFUSALS).open("a") as file:
        file.write('{"file": ')
    for found in (refusals, Refusals(tmp_path)):
        assert [found.of(shards) for shards in ([one], [other], [one, other])] == [1, 3, 4]


@pytest.fixture
def predictors(monkeypatch) -> list[Predictor]:
    """Those that files are parsed with."""
    used = []

    def note(predictor, *arguments, **options):
        used.append(predictor)
        return parse_file(predictor, *arguments, **options)

    monkeypatch.setattr(file_parsing, "parse_file", note)
    return used


def test_the_beam_of_a_model_is_used(folders, predictors):
    model = small_model("static")
    model.beam = Beam(8)
    model.save(folders / "model")
    shard = Shard(f"{folders}/in/a.conllu", f"{folders}/a.conllu")
    for beam, merge in ((None, None), (1, None), (4, "none")):
        parser = ShardParser(folders / "model", replace(MISSING, beam=beam, merge=merge))
        assert parser(shard).error is None
    asked = [predictor.options.search(predictor.model) for predictor in predictors]
    assert asked == [Beam(8), Beam(1), Beam(4, Merge.NONE)]


def test_products_of_8_bits_are_used_where_they_are_asked_for(tmp_path, predictors):
    model = small_model("contextual")
    model.save(tmp_path / "model")
    (tmp_path / "a.conllu").write_text(WORDS * 50)
    for int8 in (False, True):
        model.int8, how = int8, replace(MISSING, int8=int8)
        assert (
            begin_parser(tmp_path / "model", how)(
                Shard(f"{tmp_path}/a.conllu", f"{tmp_path}/b")
            ).error
            is None
        )
        parse_file(Predictor(model, how), io.BytesIO((WORDS * 50).encode()), target := io.BytesIO())
        assert (tmp_path / "b").read_bytes() == target.getvalue()
    assert [predictor.model.int8 for predictor in predictors] == [False, True]


def test_a_process_that_cannot_begin_says_why(folders):
    found = begin_parser(folders / "model", ParseOptions(text=True))(Shard("a", "b"))
    assert re.match("a: .*there is no tokenizer", str(found.error))


def test_linear_models_parse_files(tmp_path):
    small_linear_model().save(tmp_path / "model")
    (tmp_path / "a.conllu").write_text(WORDS)
    found = ShardParser(tmp_path / "model", MISSING)(Shard(f"{tmp_path}/a.conllu", f"{tmp_path}/b"))
    assert (found.words, found.error) == (2, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--text", "--tokenizer", "nothing"], "no tokenizer"),
        (["--text", "--tags", "keep"], "text has no tags to keep"),
        (["--int8"], "omit --int8"),
        (["--lexicon", "lemmas.tsv", "--tags", "fill"], "lemmas.tsv: there is no such file"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(folders, many, options, message):
    with pytest.raises(ValueError, match=message):
        many("*.conllu", *options)
    assert not (folders / "out").exists()


@pytest.mark.parametrize("content", ["", WORDS])
def test_a_folder_with_files_of_others_is_refused(folders, many, content):
    """They are not taken for done; what is there stays."""
    for name in ("a.conllu", "deep/c.conllu"):
        (folders / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (folders / "out" / name).write_text(content)
    with pytest.raises(
        BulkError,
        match=rf"out/a\.conllu: parse_many has not .* and 1 other file, as there is no {NOTE} in",
    ):
        many("**/*.conllu", "--allow-missing-columns")
    assert not (folders / "out" / NOTE).exists()
    assert (folders / "out" / "a.conllu").read_text() == content
    with pytest.raises(
        BulkError, match=rf"a\.conllu: parse_many has not written this file, as there is no {NOTE}"
    ):
        many("a.conllu", "--allow-missing-columns")
    (folders / "in" / "other.conllu").write_text(WORDS)
    assert many("other.conllu", "--allow-missing-columns")[0] == 0, (
        "a file of another name is in nobody's way"
    )


def test_another_tokenizer_makes_other_files(folders):
    one, other = folders / "one.json", folders / "other.json"
    one.write_text("1")
    other.write_text("2")
    claim(folders / "out", folders / "model", ParseOptions(tokenizer=one), one)
    one.rename(folders / "elsewhere.json")
    claim(
        folders / "out",
        folders / "model",
        ParseOptions(tokenizer=Path("elsewhere.json")),
        folders / "elsewhere.json",
    )
    with pytest.raises(BulkError, match="another tokenizer"):
        claim(folders / "out", folders / "model", ParseOptions(tokenizer=other), other)
    (folders / "out" / NOTE).write_text("{")
    with pytest.raises(BulkError, match="another model"):
        claim(folders / "out", folders / "model", ParseOptions())


def test_other_options_are_refused_in_the_same_folder(folders):
    for _ in range(2):
        claim(folders / "out", folders / "model", ParseOptions())
    (folders / "lemmas.tsv").write_text("a\t_\tb\n")
    for other in ({"several_roots": True}, {"int8": True}, {"lexicon": folders / "lemmas.tsv"}):
        with pytest.raises(BulkError, match="other options"):
            claim(folders / "out", folders / "model", ParseOptions(**other))
    noted = json.loads((folders / "out" / NOTE).read_text())
    always = {
        "single_root": True,
        "tags": "keep",
        "on_error": "stop",
        "allow_missing_columns": False,
        "text": False,
    }
    others = ("tokenizer", "sentences", "tokens", "beam", "merge", "treebank")
    # as ever, for folders that were begun before
    assert noted["options"] == always | {"rerank": False} | dict.fromkeys(others)


def test_files_are_written_with_the_lemmas_of_a_lexicon(folders):
    small_model("lemmas").save(folders / "lemmas")
    (folders / "lemmas.tsv").write_text("a\t_\twritten\n")
    options = replace(MISSING, tags="overwrite", lexicon=folders / "lemmas.tsv")
    (folders / "words.conllu").write_text("1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n")
    shard = Shard(f"{folders}/words.conllu", f"{folders}/out.conllu")
    assert ShardParser(folders / "lemmas", options)(shard).error is None
    assert (folders / "out.conllu").read_text().split("\t")[2] == "written"
    claim(folders / "out", folders / "lemmas", options)
    (folders / "lemmas.tsv").write_text("a\t_\tchanged\n")
    with pytest.raises(BulkError, match="other options"):
        claim(folders / "out", folders / "lemmas", options)


@pytest.mark.parametrize("workers", [1, 3])
def test_files_of_processes_that_died_are_tried_again(tmp_path, workers, request):
    if workers > 1:
        request.getfixturevalue("forked")
    names = ["a", "once", "b", "always", *"cdef"]
    shards = [Shard(str(tmp_path / name), str(tmp_path / f"{name}.out")) for name in names]
    found = list(
        parse_shards(
            tmp_path, shards, ParseOptions(), workers, partial(begin_nothing, die_at_times)
        )
    )
    assert sorted(Path(outcome.shard.source).name for outcome in found) == sorted(names)
    assert [Path(outcome.shard.source).name for outcome in found if outcome.error] == ["always"]
    assert [shard.source for shard in to_parse(shards)] == [str(tmp_path / "always")]
    if workers == 1:  # those behind the dead ones have one process again
        assert (
            len({outcome.words for outcome in found if Path(outcome.shard.source).name in "cdef"})
            == 1
        )
