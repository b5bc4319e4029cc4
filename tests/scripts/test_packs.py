"""Models packed into a file, listed in an index, and fetched from a folder or a server."""

import gzip
import json
import os
import shlex
import shutil
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import Distribution
from pathlib import Path
from types import SimpleNamespace

import filelock
import numpy as np
import pytest
import torch

from oracles.errors import OptimalStepError
from parser import Parser
from parser.commands import get, pack, trace
from parser.inference.weights import rounded
from parser.model import packs as model_packs
from parser.model.loading import load
from parser.model.trained_model import TrainedModel
from parser.model_folder import (
    CARD,
    INDEX,
    MODEL,
    TENSORS,
    TOKENIZER,
    VOCABULARIES,
    ModelError,
    fetched_models,
    read_header,
    read_tensors,
)
from parser.networks.pretrained import vector_cache
from tests.random_models import random_text_model, small_bilstm_model
from tests.toy import ROOT, flat_sentences, sentence, write_conllu

DEV = ROOT / "data" / "sample" / "sample-ud-dev.conllu"
WORDS = [["A", "kutya", "ugat", "."], ["Ma", "jön"]]


@pytest.fixture
def run(tmp_path, monkeypatch) -> Path:
    """Return the folder of a run, with an empty one set for fetched models."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("OPTIMAL_STEP_MODELS", raising=False)
    model = random_text_model()
    with torch.no_grad():
        for parameter in model.classifier.parameters():
            # which a pack holds without loss
            parameter.copy_((parameter.half().view(torch.int16) & ~0x1F).view(torch.half))
    model.save(tmp_path / "run" / MODEL)
    (tmp_path / "run" / MODEL / CARD).write_text("# A parser\n", encoding="utf-8")
    (tmp_path / "run" / "checkpoint.safetensors").write_bytes(b"large")
    return tmp_path / "run"


def start(module, monkeypatch, *words: str | Path) -> None:
    monkeypatch.setattr(sys, "argv", ["command", *map(str, words)])
    module.main()


@pytest.fixture
def packs(run, tmp_path, monkeypatch) -> Path:
    """Return the folder with a pack of the run."""
    start(pack, monkeypatch, run, "-o", tmp_path / "packs" / "hu-szeged-2.2.zip", "--dev", DEV)
    return tmp_path / "packs"


@pytest.fixture
def url(packs) -> Iterator[str]:
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=packs)
    ) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_address[1]}"
        serving.shutdown()
        thread.join()


def test_a_pack_holds_the_model_and_its_card_alone(run, packs):
    with zipfile.ZipFile(packs / "hu-szeged-2.2.zip") as files:
        assert sorted(files.namelist()) == sorted(path.name for path in (run / MODEL).iterdir())
    entry = json.loads((packs / INDEX).read_text(encoding="utf-8"))["hu"]
    assert (entry["file"], entry["bytes"]) == (
        "hu-szeged-2.2.zip",
        (packs / "hu-szeged-2.2.zip").stat().st_size,
    )


def test_a_pack_without_a_tokenizer_says_so_if_it_reads_no_tags(run, tmp_path, monkeypatch, capsys):
    start(pack, monkeypatch, run, "-o", tmp_path / "hu.zip")
    assert "tokenizer" not in capsys.readouterr().err
    small_bilstm_model(flat_sentences([3, 4])).save(run / MODEL)
    (run / MODEL / CARD).write_text("# A parser\n", encoding="utf-8")
    start(pack, monkeypatch, run, "-o", tmp_path / "hu.zip")
    assert "it holds no tokenizer, so it parses CoNLL-U but no raw text" in capsys.readouterr().err
    (run / MODEL / TOKENIZER).write_bytes(b"tokenizer")
    start(pack, monkeypatch, run, "-o", tmp_path / "hu.zip")
    assert "tokenizer" not in capsys.readouterr().err
    with zipfile.ZipFile(tmp_path / "hu.zip") as files:
        assert files.read(TOKENIZER) == b"tokenizer"


def test_it_is_the_same_file_each_time_and_joins_the_others(packs, pack_again):
    pack_again("b.zip", "--name", "el")
    assert (packs / "b.zip").read_bytes() == (packs / "hu-szeged-2.2.zip").read_bytes()
    assert list(json.loads((packs / INDEX).read_text(encoding="utf-8"))) == ["el", "hu"]


@pytest.mark.parametrize("place", ["url", "packs"])
def test_a_fetched_model_parses_by_its_name(request, run, tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    start(get, monkeypatch, "hu", "--from", request.getfixturevalue(place))
    fetched = Parser.load("hu")
    found, expected = (
        [(s.heads, s.deprels) for s in parser.parse(WORDS)]
        for parser in (fetched, Parser.load(run))
    )
    assert found == expected
    folder = tmp_path / "cache" / "optimal-step" / "hu"
    assert {info.type for info in read_header(folder).values()} == {"F16"}
    assert {str(tensor.dtype) for tensor in read_tensors(folder).values()} == {"float32"}
    assert not list(folder.parent.glob("*.zip"))
    (tmp_path / "hu").mkdir()  # a folder of this name is meant only if it holds a model
    assert load(Path("hu"))


@pytest.mark.parametrize("cache", ["", "relative", "~/.cache"])
def test_a_home_folder_is_needed_for_fetched_models_alone(run, packs, monkeypatch, cache):
    """Users in many a container have none."""

    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", home)
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    monkeypatch.chdir(run.parent)
    assert Parser.load(run).parse(WORDS) == Parser.load("run").parse(WORDS)
    start(pack, monkeypatch, "run", "-o", "again.zip", "--dev", DEV)
    needs = (
        "in the home folder, and this user has none; set HOME, "
        "or XDG_CACHE_HOME to the absolute path of a folder"
    )
    with pytest.raises(ModelError, match=f"hu: no model folder of this name is here; .*{needs}"):
        Parser.load("hu")
    with pytest.raises(ModelError, match=needs):
        start(get, monkeypatch, "hu", "--from", packs)
    with pytest.raises(ModelError, match=f"without pretrained.cache=FOLDER, would be {needs}"):
        vector_cache()
    assert not Path(cache, "optimal-step").exists()


def test_a_cache_that_is_no_absolute_path_is_not_the_users(monkeypatch):
    for cache in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", cache)
        assert fetched_models() == Path.home() / ".cache" / "optimal-step"


def test_what_is_there_already_is_not_fetched_again(packs, monkeypatch, capsys):
    monkeypatch.setenv("OPTIMAL_STEP_MODELS", str(packs))
    start(get, monkeypatch, "hu")
    (packs / "hu-szeged-2.2.zip").unlink()
    start(get, monkeypatch, "hu")
    assert "there already" in capsys.readouterr().err


def test_two_processes_fetch_one_model_and_the_second_one_waits(
    packs, url, monkeypatch, capsys, caplog
):
    def wait(lock: int, blocking: bool) -> bool:
        if blocking:  # until the other process has fetched it
            patch.undo()
            start(get, monkeypatch, "hu", "--from", url)
        return blocking

    with monkeypatch.context() as patch:
        patch.setattr(filelock, "lock_descriptor", wait)
        start(get, patch, "hu", "--from", url)
    assert "waiting for process" in caplog.text
    assert capsys.readouterr().err.count("there already") == 1


@pytest.mark.posix
@pytest.mark.parametrize("there", ["folder", "file", "link"])
def test_what_get_has_not_written_is_not_replaced(packs, tmp_path, monkeypatch, there):
    target = fetched_models() / "hu"
    target.parent.mkdir(parents=True)
    mine = tmp_path / "mine"
    mine.mkdir()
    if there == "folder":
        mine = target
        target.mkdir()
    elif there == "link":
        target.symlink_to(mine)
    else:
        target.write_text("mine")
    with pytest.raises(ValueError, match="optimal-step get has not written this; move it away"):
        start(get, monkeypatch, "hu", "--from", packs)
    assert target.is_symlink() == (there == "link")
    assert target.is_file() == (there == "file")
    assert list(mine.iterdir()) == []


def test_a_name_that_means_something_else_here_is_told(packs, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").rename("hu")
    start(get, monkeypatch, "hu", "--from", packs)
    assert (
        f"here hu means {tmp_path / 'hu'}; give {fetched_models() / 'hu'}"
        in capsys.readouterr().err
    )


@pytest.mark.posix
def test_a_cache_that_cannot_be_made(packs, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    with pytest.raises(
        ValueError,
        match=r"/dev/null/optimal-step: .*; set XDG_CACHE_HOME to a folder that you can write to",
    ):
        start(get, monkeypatch, "hu", "--from", packs)


@pytest.fixture
def pack_again(run, packs, monkeypatch):
    """Packs the run once more, into a file beside the first pack."""
    return lambda file, *more: start(
        pack, monkeypatch, run, "-o", packs / file, "--dev", DEV, *more
    )


def test_packs_whose_names_clash_are_refused(packs, pack_again):
    whole = {path.name: path.read_bytes() for path in packs.iterdir()}
    for arguments, message in (
        (["hu-b.zip"], r"index\.json lists hu-szeged-2\.2\.zip as hu; give another --name"),
        (
            ["hu-szeged-2.2.zip", "--name", "other"],
            r"lists hu-szeged-2\.2\.zip as hu; .*another -o",
        ),
        (["el"], r"packs.el: the name of a pack ends in \.zip; give -o .*packs.el\.zip"),
        (["a.zip", "--name", INDEX], r"'index\.json' is not a plain name"),
        (["a.zip", "--name", "../hu"], "not a plain name"),
    ):
        with pytest.raises(ValueError, match=message):
            pack_again(*arguments)
    assert whole == {path.name: path.read_bytes() for path in packs.iterdir()}


def test_a_pack_that_is_there_or_gone_is_made_again(packs, pack_again):
    pack_again("hu-szeged-2.2.zip")
    (packs / "hu-szeged-2.2.zip").unlink()
    pack_again("hu-b.zip", "--name", "el")
    pack_again("hu-c.zip")
    listed = json.loads((packs / INDEX).read_text(encoding="utf-8"))
    assert {name: entry["file"] for name, entry in listed.items()} == {
        "el": "hu-b.zip",
        "hu": "hu-c.zip",
    }
    (packs / INDEX).write_text('{"el": {"file": 1}}', encoding="utf-8")
    with pytest.raises(ModelError, match=r"index\.json: this part of the model is damaged"):
        pack_again("hu-c.zip")


def test_weights_stay_in_32_bits_where_trees_would_differ(run, tmp_path, monkeypatch, capsys):
    model = TrainedModel.load(run)
    with torch.no_grad():
        for parameter in model.classifier.parameters():
            parameter.mul_(1e-9)  # nothing, in 16 bits
    model.save(run / MODEL)
    (run / MODEL / CARD).write_text("# A parser\n", encoding="utf-8")
    start(pack, monkeypatch, run, "-o", tmp_path / "hu.zip", "--dev", DEV)
    assert "weights in 32 bits; with 16" in capsys.readouterr().err
    with zipfile.ZipFile(tmp_path / "hu.zip") as files:
        assert files.read(TENSORS) == (run / MODEL / TENSORS).read_bytes()


def test_rounding_goes_to_the_nearest_number_with_few_bits():
    numbers = np.array(
        [0.0, 1.0, -1.0, 1 + 1 / 64, 1 + 3 / 64, -(1 + 1.1 / 64), 3e-8, 1e9, -1e9], np.float32
    )
    few = rounded(numbers, 5)
    assert few.dtype == np.float16
    assert few.tolist()[:7] == [0, 1, -1, 1 + 1 / 32, 1 + 1 / 16, -(1 + 1 / 32), 0]
    assert few[7] == -few[8] < np.inf
    drawn = np.random.default_rng(1).normal(size=1000).astype(np.float32)
    for fraction in (5, 7, 10):
        relative = np.abs(rounded(drawn, fraction) / drawn - 1)
        assert relative.max() <= 2.0 ** -(fraction + 1) + 2.0**-11  # to 16 bits first


def test_the_dev_part_is_that_of_the_run_and_read_as_training_reads_it(
    run, tmp_path, monkeypatch, capsys
):
    # the first one is no sentence
    (tmp_path / "dev.conllu.gz").write_bytes(gzip.compress(b"2\ta\n\n" + DEV.read_bytes()))
    (run / ".hydra").mkdir()
    for dev, said in (
        (None, "give --dev FILE"),
        (f"{{hu: {DEV}}}", "weights in 11 bits"),
        (f"[{DEV}]", "give --dev FILE"),
        (DEV, "weights in 11 bits"),
        (tmp_path / "dev.conllu.gz", "weights in 11 bits"),
    ):
        (run / ".hydra" / "config.yaml").write_text(
            f"treebank:\n  dev: {dev or 'null'}\n", encoding="utf-8"
        )
        start(pack, monkeypatch, run, "-o", tmp_path / "hu.zip")
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"a: [", b"\xff", b"- 1", b"!!int x"])
def test_settings_of_a_run_that_cannot_be_read_are_named(run, tmp_path, monkeypatch, content):
    (run / ".hydra").mkdir()
    (run / ".hydra" / "config.yaml").write_bytes(content)
    with pytest.raises(
        OptimalStepError,
        match=r"config\.yaml: this file cannot be read .*; correct it, or give --dev FILE",
    ):
        start(pack, monkeypatch, run, "-o", tmp_path / "hu.zip")


def test_nothing_but_a_pack_is_replaced(run, tmp_path, monkeypatch):
    (tmp_path / "dev.conllu").write_bytes(DEV.read_bytes())
    (tmp_path / INDEX).write_text("[]", encoding="utf-8")
    for target, message in (
        ("dev.conllu", r"dev\.conllu: this input file would be overwritten"),
        ("", "this is a folder; name the file of the pack in it"),
        ("hu.zip", r"index\.json"),
    ):
        with pytest.raises((ValueError, ModelError), match=message):
            start(
                pack,
                monkeypatch,
                run,
                "-o",
                tmp_path / target,
                "--name",
                "hu",
                "--dev",
                tmp_path / "dev.conllu",
            )
    assert not (tmp_path / "hu.zip").exists()


def test_what_cannot_be_fetched_or_packed(run, packs, tmp_path, monkeypatch):
    for words, message in (
        (["hu"], r"no model 'hu'; there are .*; --from URL_OR_FOLDER"),
        (["el", "--from", packs], "no model 'el'; there are hu"),
        (["hu", "--from", tmp_path], r"index\.json: there is no such file"),
    ):
        with pytest.raises(ValueError, match=message):
            start(get, monkeypatch, *words)
    (run / MODEL / CARD).unlink()
    with pytest.raises(ValueError, match="no card"):
        start(pack, monkeypatch, run, "-o", tmp_path / "hu.zip")


@pytest.mark.parametrize(
    "index",
    [
        "[]",
        "{",
        "[" * 100_000,
        '{"hu": {"file": "../a", "sha256": "0"}}',
        '{"hu": {"file": "a.zip"}}',
        '{"hu": 1}',
    ],
)
def test_an_index_that_is_none(packs, monkeypatch, index):
    (packs / INDEX).write_text(index, encoding="utf-8")
    with pytest.raises(ValueError, match="not one that optimal-step pack writes"):
        start(get, monkeypatch, "hu", "--from", packs)


def test_packs_of_strangers(packs, tmp_path, monkeypatch):
    """A changed file is refused, and so is one that would write elsewhere or holds no model;
    nothing of it is left.
    """
    path, index = packs / "hu-szeged-2.2.zip", packs / INDEX
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0")
    with pytest.raises(ModelError, match="SHA-256"):
        start(get, monkeypatch, "hu", "--from", packs)
    for name, message in (
        ("../evil.json", "not a plain name"),
        ("text/../evil.json", "not a plain name"),
        ("bin/evil.json", "'bin/evil.json' is no file of a model"),
        ("text/evil.json", "no file of a model"),
        ("settings.json", "holds no model|damaged|missing"),
    ):
        with zipfile.ZipFile(path, "w") as files:
            files.writestr(name, "{}")
        entry = {"file": path.name, "sha256": pack.sha256_of(path), "bytes": 1}
        index.write_text(json.dumps({"hu": entry}), encoding="utf-8")
        with pytest.raises(ModelError, match=message):
            start(get, monkeypatch, "hu", "--from", packs)
    path.write_bytes(b"no zip file")
    index.write_text(json.dumps({"hu": entry | {"sha256": pack.sha256_of(path)}}), encoding="utf-8")
    with pytest.raises(ModelError, match="no pack of a model"):
        start(get, monkeypatch, "hu", "--from", packs)
    assert sorted(path.name for path in (tmp_path / "cache" / "optimal-step").iterdir()) == [
        ".lock"
    ]


@pytest.fixture
def shipped(packs, monkeypatch) -> Path:
    """Return the packs as those that come with the project."""
    monkeypatch.setattr(model_packs, "SHIPPED", str(packs))
    return packs


def test_a_shipped_model_is_known_by_its_name(run, shipped, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    expected = Parser.load(run).parse(WORDS)
    assert Parser.load("hu").parse(WORDS) == expected
    (unpacked,) = (tmp_path / "cache" / "optimal-step").glob("hu-*")
    stamp = (unpacked / TENSORS).stat().st_mtime_ns
    assert Parser.load("hu").parse(WORDS) == expected
    assert (unpacked / TENSORS).stat().st_mtime_ns == stamp, "it is unpacked once"


def test_a_shipped_model_is_traced_by_its_name(run, shipped, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_conllu(tmp_path / "one.conllu", [sentence([2, 0])])
    traced = []
    for model in (run, "hu"):
        start(trace, monkeypatch, "one.conllu", "--model", model)
        traced.append(capsys.readouterr().out)
    assert traced[0] == traced[1] != ""


def test_a_fetched_model_comes_before_a_shipped_one_and_a_folder_before_both(
    run, shipped, tmp_path, monkeypatch, caplog
):
    monkeypatch.chdir(tmp_path)
    assert model_packs.named_folder(Path("hu")).name.startswith("hu-")
    shutil.copytree(shipped, tmp_path / "others")
    start(get, monkeypatch, "hu", "--from", "others")
    assert model_packs.named_folder(Path("hu")) == fetched_models() / "hu"
    run.rename("hu")
    assert [model_packs.named_folder(Path("hu")) for _ in range(2)] == [Path("hu")] * 2
    assert caplog.text.count("this folder is used") == 1


def test_a_name_is_looked_for_in_the_index_of_the_environment(run, packs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ModelError, match=r"neither a folder nor a model of this name.*optimal-step get lists"
    ):
        load(Path("hu"))
    monkeypatch.setenv("OPTIMAL_STEP_MODELS", str(packs))
    assert Parser.load("hu").parse(WORDS) == Parser.load(run).parse(WORDS)


def test_get_leaves_a_shipped_model_where_its_name_leads(shipped, tmp_path, monkeypatch, capsys):
    """Another version of the project then finds its own;
    other packs do not hide those that are shipped.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / INDEX).write_text("{}", encoding="utf-8")
    monkeypatch.setenv("OPTIMAL_STEP_MODELS", "others")
    monkeypatch.setattr(get, "SHIPPED", str(shipped))
    start(get, monkeypatch, "hu")
    (there,) = fetched_models().glob("hu*")
    assert there == model_packs.named_folder(Path("hu"))
    assert str(there) in capsys.readouterr().err
    assert there.name != "hu"


def test_a_wheel_has_only_some_of_the_packs_and_says_where_the_others_are(
    run, shipped, tmp_path, monkeypatch, capsys
):
    """First nothing is known of a checkout; then pip has noted it; then there is a release."""
    monkeypatch.chdir(tmp_path)
    wheel = tmp_path / "wheel"
    wheel.mkdir()
    shutil.copy(shipped / INDEX, wheel)
    monkeypatch.setattr(model_packs, "SHIPPED", str(wheel))
    monkeypatch.setattr(model_packs, "_checkout", lambda: None)
    start(get, monkeypatch)
    listed = capsys.readouterr()
    assert "hu" not in listed.out.split()
    assert (
        "not in this installation: hu; for each, its pack is in models/ of a checkout" in listed.err
    )
    for said, change in (
        (r"--from CHECKOUT.models; or name .* OPTIMAL_STEP_MODELS", lambda: None),
        (
            f"--from {shlex.quote(str(shipped))};",
            lambda: monkeypatch.setattr(model_packs, "_checkout", lambda: shipped),
        ),
        (
            "its pack is at https://example.org/v1: ",
            lambda: monkeypatch.setattr(model_packs, "RELEASE", "https://example.org/v1"),
        ),
    ):
        change()
        with pytest.raises(
            ModelError, match=rf"no model 'hu' in this installation, which has none; .*{said}"
        ):
            Parser.load("hu")
        with pytest.raises(ValueError, match=said):
            start(get, monkeypatch, "hu")
    monkeypatch.setenv("OPTIMAL_STEP_MODELS", str(shipped))
    assert Parser.load("hu").parse(WORDS) == Parser.load(run).parse(WORDS)
    (tmp_path / "el").mkdir()
    with pytest.raises(ModelError, match="el: this folder holds no model"):
        Parser.load("el")


def test_the_checkout_is_the_folder_that_pip_noted(shipped, tmp_path, monkeypatch):
    checkout = tmp_path / "a check out"
    for noted, expected in (
        (checkout.as_uri(), checkout / "models"),
        ("https://example.org/optimal_step.whl", None),
        ((tmp_path / "gone").as_uri(), None),
        (None, None),
    ):
        (checkout / "models").mkdir(parents=True, exist_ok=True)
        shutil.copytree(shipped, checkout / "models", dirs_exist_ok=True)
        text = None if noted is None else json.dumps({"url": noted, "dir_info": {}})
        monkeypatch.setattr(
            Distribution,
            "from_name",
            lambda name, text=text: SimpleNamespace(read_text=lambda file: text),
        )
        assert model_packs._checkout() == expected


def cut(folder: Path) -> None:
    os.truncate(folder / TENSORS, 1000)


def change(folder: Path) -> None:
    """Change a byte: the numbers stay finite, so that loading would not find it."""
    content = bytearray((folder / TENSORS).read_bytes())
    content[-2] ^= 1
    (folder / TENSORS).write_bytes(content)
    os.utime(folder / TENSORS, (0, 0))


def remove(folder: Path) -> None:
    (folder / VOCABULARIES).unlink()


def empty_all(folder: Path) -> None:
    for path in folder.iterdir():
        path.write_bytes(b"")


def remove_all(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


@pytest.mark.parametrize("by", ["use", "get"])
@pytest.mark.parametrize("damage", [cut, change, remove, empty_all, remove_all])
def test_a_damaged_model_is_unpacked_again(
    run, shipped, tmp_path, monkeypatch, capsys, caplog, by, damage
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(get, "SHIPPED", str(shipped))
    folder = model_packs.named_folder(Path("hu"))
    whole = {
        path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")
    }
    damage(folder)
    if by == "get":
        start(get, monkeypatch, "hu")
        assert f"hu: {folder}: unpacked again, as " in capsys.readouterr().err
    else:
        assert Parser.load("hu").parse(WORDS) == Parser.load(run).parse(WORDS)
        assert f"hu: {folder}: unpacked again, as " in caplog.text
    assert whole == {
        path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")
    }
    caplog.clear()
    start(get, monkeypatch, "hu")
    assert "there already" in capsys.readouterr().err
    assert model_packs.named_folder(Path("hu")) == folder
    assert caplog.text == ""


def test_get_finds_a_change_that_left_time_and_size(shipped, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(get, "SHIPPED", str(shipped))
    folder = model_packs.named_folder(Path("hu"))
    found = (folder / TENSORS).stat()
    change(folder)
    os.utime(folder / TENSORS, ns=(found.st_atime_ns, found.st_mtime_ns))
    start(get, monkeypatch, "hu")
    assert f"unpacked again, as {TENSORS} is damaged" in capsys.readouterr().err


def test_a_folder_whose_times_changed_is_not_damaged(shipped, tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    folder = model_packs.named_folder(Path("hu"))
    for path in folder.iterdir():
        os.utime(path, (0, 0))
    (shipped / "hu-szeged-2.2.zip").write_bytes(b"not needed")
    assert Parser.load("hu").parse(WORDS)
    assert caplog.text == ""


def test_a_fetched_model_that_is_damaged_comes_again_from_where_it_was(
    run, packs, tmp_path, monkeypatch, capsys, caplog
):
    monkeypatch.chdir(tmp_path)
    start(get, monkeypatch, "hu", "--from", packs.name)
    cut(fetched_models() / "hu")
    monkeypatch.chdir(tmp_path.parent)
    assert Parser.load("hu").parse(WORDS) == Parser.load(run).parse(WORDS)
    assert f"unpacked again, as {TENSORS} is damaged" in caplog.text
    start(get, monkeypatch, "hu")
    remove(fetched_models() / "hu")
    start(get, monkeypatch, "hu")
    assert f"unpacked again, as {VOCABULARIES} is missing" in capsys.readouterr().err
    cut(fetched_models() / "hu")
    packs.rename(tmp_path / "moved")
    with pytest.raises(
        ModelError,
        match=(
            rf"{TENSORS} is damaged, and it cannot be unpacked again .*optimal-step get hu --from"
        ),
    ):
        Parser.load("hu")


def test_a_users_own_damaged_model_is_not_touched(shipped, tmp_path, monkeypatch):
    """It lies in the current folder, in the folder of fetched models,
    or is a copy of an unpacked one.
    """
    monkeypatch.chdir(tmp_path)
    unpacked = model_packs.named_folder(Path("hu"))
    plain = shutil.ignore_patterns(".*")
    own = [tmp_path / "hu", fetched_models() / "el", fetched_models() / "ga"]
    for folder, left_out in zip(own, (None, plain, None), strict=True):
        shutil.copytree(unpacked, folder, ignore=left_out)
        cut(folder)
        with pytest.raises(ModelError, match=r"damaged.*copy the folder again"):
            Parser.load(folder.name)
        assert (folder / TENSORS).stat().st_size == 1000


def test_a_model_of_an_older_version_stays_until_get_is_asked(
    shipped, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(get, "SHIPPED", str(shipped))
    folder = model_packs.named_folder(Path("hu"))
    (folder / ".unpacked.json").unlink()
    (folder / CARD).write_text("changed", encoding="utf-8")
    assert model_packs.named_folder(Path("hu")) == folder
    assert (folder / CARD).read_text(encoding="utf-8") == "changed"
    start(get, monkeypatch, "hu")
    assert "unpacked again, as an older version unpacked it" in capsys.readouterr().err


def test_processes_that_find_the_damage_at_the_same_time_unpack_it_once(
    shipped, tmp_path, monkeypatch, caplog
):
    monkeypatch.chdir(tmp_path)
    folder = model_packs.named_folder(Path("hu"))
    cut(folder)

    def wait(lock: int, blocking: bool) -> bool:
        if blocking:  # until the other process has unpacked it
            patch.undo()
            model_packs.named_folder(Path("hu"))
        return blocking

    with monkeypatch.context() as patch:
        patch.setattr(filelock, "lock_descriptor", wait)
        assert model_packs.named_folder(Path("hu")) == folder
    assert caplog.text.count("unpacked again") == 1


@pytest.mark.posix
def test_a_damaged_model_in_a_folder_that_cannot_be_written(shipped, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cut(model_packs.named_folder(Path("hu")))

    def refuse(path: Path, wait: bool) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(model_packs, "locked", refuse)
    with pytest.raises(
        ModelError,
        match=(
            r"cannot be unpacked again \(.*Permission denied\); remove it, then optimal-step"
            r" get hu"
        ),
    ):
        Parser.load("hu")


def test_get_without_a_name_lists_the_models(shipped, monkeypatch, capsys):
    listed = json.loads((shipped / INDEX).read_text(encoding="utf-8"))
    listed["hu"] |= {"language": "Hungarian", "words": 20166, "LAS": 71.5}
    (shipped / INDEX).write_text(json.dumps(listed), encoding="utf-8")
    start(get, monkeypatch)
    heading, line = capsys.readouterr().out.splitlines()
    assert heading.split()[:2] == ["name", "language"]
    assert line.split()[:4] == ["hu", "Hungarian", "20,166", "71.50"]
