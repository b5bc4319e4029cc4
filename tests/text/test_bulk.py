"""Many files parsed by several processes."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

from parser.commands import parse_many
from parser.decoding.file_parsing import parse_file
from parser.model import Model
from parser.text.bulk import BulkError, Options, Shard, claim, parse_shards, shards_of, undone
from tests.forgery import small_model
from tests.text.dying import begin_nothing, die_at_times

WORDS = "1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n2\tb\t_\t_\t_\t_\t_\t_\t_\t_\n\n"


@pytest.fixture
def folders(tmp_path) -> Path:
    """A model, and files in folders."""
    small_model("static").save(tmp_path / "model")
    for name in ("in/a.conllu", "in/deep/b.conllu.gz", "in/deep/c.conllu"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = WORDS.encode() * (2 + len(name))
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return tmp_path


def run_command(monkeypatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["parse_many.py", *arguments])
    return parse_many.main()


def test_files_keep_their_places_below_the_wildcards(folders):
    found = shards_of([f"{folders}/in/**/*.conllu*"], folders / "out")
    assert [shard.target for shard in found] == [
        f"{folders}/out/a.conllu",
        f"{folders}/out/deep/b.conllu.gz",
        f"{folders}/out/deep/c.conllu",
    ]
    with pytest.raises(BulkError, match="matches no file"):
        shards_of([f"{folders}/nowhere/*"], folders / "out")
    with pytest.raises(BulkError, match="take its place"):
        shards_of([f"{folders}/in/*.conllu"], folders / "in")
    (folders / "other").mkdir()
    (folders / "other" / "a.conllu").write_text("")
    with pytest.raises(BulkError, match="would both go to"):
        shards_of([f"{folders}/in/*.conllu", f"{folders}/other/*.conllu"], folders / "out")


@pytest.mark.parametrize(
    ("name", "expected"), [("t.txt", "t.conllu"), ("t.txt.gz", "t.conllu.gz"), ("t", "t.conllu"), ("t.v1.xz", "t.v1.conllu.xz")]
)
def test_text_becomes_conllu(tmp_path, name, expected):
    (tmp_path / name).write_text("a")
    assert Path(shards_of([str(tmp_path / name)], tmp_path / "out", text=True)[0].target).name == expected


def test_the_command_writes_what_parse_file_writes_and_goes_on_after_a_failure(folders, monkeypatch, capsys):
    (folders / "in" / "bad.conllu").write_text("1\tx\n\n")
    command = [f"{folders}/model", f"{folders}/in/**/*.conllu*", "-o", f"{folders}/out", "--workers", "1"]
    command.append("--allow-missing-columns")
    assert run_command(monkeypatch, *command) == 1
    assert "in/bad.conllu, line 1" in capsys.readouterr().err
    model = Model.load(folders / "model")
    for name in ("a.conllu", "deep/b.conllu.gz", "deep/c.conllu"):
        read = gzip.decompress if name.endswith(".gz") else bytes
        target = io.BytesIO()
        source = io.BytesIO(read((folders / "in" / name).read_bytes()))
        parse_file(model, source, target, allow_missing_columns=True)
        assert read((folders / "out" / name).read_bytes()) == target.getvalue()
    (folders / "in" / "bad.conllu").write_text(WORDS)
    kept = (folders / "out" / "a.conllu").stat().st_mtime_ns
    assert run_command(monkeypatch, *command) == 0
    assert (folders / "out" / "bad.conllu").exists()
    assert (folders / "out" / "a.conllu").stat().st_mtime_ns == kept
    assert "1 files parsed, 2 words; 3 were there" in capsys.readouterr().err


def test_other_options_are_refused_in_the_same_folder(folders):
    claim(folders / "out", folders / "model", Options())
    claim(folders / "out", folders / "model", Options())
    with pytest.raises(BulkError, match="other options"):
        claim(folders / "out", folders / "model", Options(single_root=False))


def test_files_of_processes_that_died_are_tried_again(tmp_path):
    shards = [Shard(str(tmp_path / name), str(tmp_path / f"{name}.out")) for name in ("a", "once", "always", "b")]
    found = list(parse_shards(tmp_path, shards, Options(), 2, begin_nothing, die_at_times))
    assert sorted(Path(outcome.shard.source).name for outcome in found) == ["a", "always", "b", "once"]
    assert [Path(outcome.shard.source).name for outcome in found if outcome.error] == ["always"]
    assert [shard.source for shard in undone(shards)] == [str(tmp_path / "always")]
