"""Models that read subwords or a pretrained encoder: trained, tuned, saved, packed, loaded, and
without what they need.
"""

import json
import random
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from parser import Parser
from parser.commands import get, pack
from parser.data.attributes import SUBWORDS
from parser.data.parts.pretrained import (
    CONFIG,
    HELD,
    PretrainedError,
    PretrainedTokenizer,
    sums_of,
)
from parser.data.parts.subwords import TOKENIZER, WEIGHTS, Subwords, read_pretrained
from parser.data.vocabulary import N_RESERVED
from parser.decoding.parse_options import TagUse
from parser.decoding.search import parse
from parser.inference.transformer import float_weights, rounded_weights
from parser.model.model import FrozenModel
from parser.model.trained_model import TrainedModel
from parser.model_folder import (
    CARD,
    MODEL,
    SETTINGS,
    SUBWORD_TOKENIZER,
    TENSORS,
    VOCABULARIES,
    ModelError,
    read_header,
    read_json,
    read_tensors,
)
from parser.networks.pretrained import TRANSFORMER
from parser.settings.groups import SettingsError
from parser.settings.plan import plan
from parser.storage import sha256_of
from parser.training.model_card import ModelCard
from parser.training.run import train
from parser.training.run_folder import Manifest
from tests import parsed_files
from tests.forgery import change, set_at
from tests.pretrained import SIZE, transformers, write_encoder, write_transformer
from tests.toy import planned, sentence, settings, write_conllu
from tests.training.small_runs import TEXT, files_of, train_until_killed

pytestmark = pytest.mark.extras

SMALL = [*TEXT, "encoder.lemmas=null", "vectors.epochs=1"]
TUNED = [
    "pretrained.tune=true",
    "pretrained.learning_rate=1e-3",
    "pretrained.warmup=3",
    "pretrained.cache=null",
]
SUBWORD, FROZEN, TUNING = KINDS = "subwords", "frozen", "tuned"
VECTORS = "tokens.inputs.vectors.subwords"
TOYS = [sentence([2, 0, 2, 2], random.Random(seed)) for seed in range(30)]


def planned_run(folder: Path, kind: str, *more: str, encoder: Path | None = None):
    parts = {"train": TOYS[:20], "dev": TOYS[20:25], "test": TOYS[25:]}
    files = [
        f"treebank.{part}={write_conllu(folder / f'{part}.conllu', some)}"
        for part, some in parts.items()
    ]
    own = [
        f"encoder.pretrained={encoder or folder / 'encoder'}",
        f"pretrained.cache={folder / 'cache'}",
        *(TUNED * (kind == TUNING)),
    ]
    own = [f"vectors.subwords={folder / 'pieces'}"] if kind == SUBWORD else own
    return plan(settings(*files, *own, *SMALL, *more), start=folder)


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pretrained")
    transformers()
    write_transformer(folder / "encoder")
    write_encoder(folder / "pieces")
    for kind in KINDS:
        train(planned_run(folder, kind), folder / kind, [ModelCard("optimal-step train")])
    return folder


def parsed(model: TrainedModel, runs: Path, **options) -> bytes:
    return parsed_files.parsed(model, (runs / "test.conllu").read_bytes(), **options)


of_every_kind = pytest.mark.parametrize("kind", KINDS)


def test_vectors_of_subwords_are_left_as_they_were_read(runs):
    forms = [form for toy in TOYS[:20] for form in toy.forms]
    subwords, vectors = read_pretrained(runs / "pieces", forms)
    model = runs / SUBWORD / MODEL
    assert read_header(model)[VECTORS].type == "F16"
    np.testing.assert_array_equal(read_tensors(model)[VECTORS], vectors)
    assert (model / SUBWORD_TOKENIZER).read_text(encoding="utf-8") == subwords.description
    assert len(vectors) > N_RESERVED


def test_a_frozen_encoder_is_named_by_its_sums_and_not_held_and_weights_for_its_layers_are_learned(
    runs,
):
    model = runs / FROZEN / MODEL
    of_settings = json.loads((model / SETTINGS).read_text(encoding="utf-8"))
    assert of_settings["pretrained"] == {
        "name": str(runs / "encoder"),
        "sha256": sums_of(runs / "encoder"),
    }
    assert of_settings["classifier"]["pretrained"] == {
        "width": SIZE,
        "layers": 3,
        "size": 256,
        "tuned": False,
        "kept": 0,
    }
    assert not (model / HELD).exists()
    header = read_header(model)
    assert header["tokens.pretrained.projection.weight"].shape == (256, SIZE)
    assert not any(name.startswith(TRANSFORMER) for name in header)
    tensors = load_file(model / TENSORS)
    assert len(set(tensors["tokens.pretrained.mix"].tolist())) == 3
    assert tensors["tokens.pretrained.scale"] != 1


def test_a_tuned_encoder_is_held_with_its_new_weights(runs):
    model = runs / TUNING / MODEL
    before, after = load_file(runs / "encoder" / WEIGHTS), load_file(model / HELD / WEIGHTS)
    assert before.keys() == float_weights(after).keys()
    name = "encoder.layer.0.output.dense.weight"
    assert after[name].dtype == np.int8
    assert np.abs(before[name] - float_weights(after)[name]).max() > 1e-3
    assert json.loads((model / SETTINGS).read_text())["pretrained"]["sha256"] == sums_of(
        model / HELD
    )
    assert not any(name.startswith(TRANSFORMER) for name in read_header(model))


@pytest.fixture(scope="module")
def cut(runs) -> Path:
    """Return a run that tunes one of two layers, and keeps few pieces."""
    train(planned_run(runs, TUNING, "pretrained.layers=1", "pretrained.pieces=20"), runs / "cut")
    return runs / "cut"


def test_of_a_tuned_encoder_the_first_layers_and_the_pieces_of_the_language_are_kept(runs, cut):
    config, weights = read_json(cut / MODEL / HELD, CONFIG), load_file(cut / MODEL / HELD / WEIGHTS)
    assert (config["num_hidden_layers"], config["vocab_size"]) == (1, 20)
    assert "encoder.layer.0.output.dense.weight" in weights
    assert not any("layer.1." in name for name in weights)
    vocabulary = [piece for piece, _ in read_json(cut / MODEL / HELD, TOKENIZER)["model"]["vocab"]]
    assert len(vocabulary) == len(weights["embeddings.word_embeddings.weight"]) == 20
    whole = [piece for piece, _ in read_json(runs / "encoder", TOKENIZER)["model"]["vocab"]]
    assert set(vocabulary) < set(whole)
    assert {"<s>", "<unk>", "▁", "0"} <= set(vocabulary)  # special tokens, single characters
    assert {"▁w"} <= set(vocabulary)  # what the training part is segmented into
    assert not {"é", "β", "▁λβ", "▁Ш"} & set(vocabulary)  # letters that it does not have
    text = (runs / "test.conllu").read_bytes()
    assert parsed_files.parsed(FrozenModel.load(cut), text) == parsed_files.parsed(
        TrainedModel.load(cut), text
    )


def test_the_encoder_of_a_model_is_tuned_further(runs, tmp_path):
    """A run's folder, the model in it and the encoder in the model mean the same encoder."""
    model = runs / TUNING / MODEL
    for named in (runs / TUNING, model, model / HELD):
        wanted = planned_run(runs, TUNING, encoder=named)
        assert wanted.files.pretrained == {"encoder.pretrained": str(model / HELD)}
    train(wanted, tmp_path, [ModelCard("optimal-step train")])
    before, after = (
        float_weights(load_file(folder / MODEL / HELD / WEIGHTS))
        for folder in (runs / TUNING, tmp_path)
    )
    assert {name: array.shape for name, array in before.items()} == {
        name: array.shape for name, array in after.items()
    }
    embeddings = [name for name in before if name.endswith("word_embeddings.weight")]
    assert embeddings
    assert all(np.array_equal(before[name], after[name]) for name in embeddings)
    card = (tmp_path / MODEL / CARD).read_text(encoding="utf-8")
    assert f"| encoder.pretrained | {TUNING} | `" in card
    assert "| encoder.pretrained/treebank.train | train.conllu | `" in card


def test_a_model_without_an_encoder_is_refused_as_one(runs):
    with pytest.raises(
        SettingsError, match=r"this model holds no pretrained encoder; name .* en-tuned"
    ):
        planned_run(runs, TUNING, encoder=runs / FROZEN)


def test_a_folder_that_is_here_comes_before_a_model_of_its_name(runs, tmp_path):
    shutil.copytree(runs / "encoder", tmp_path / "en")
    files = [f"treebank.{part}={runs / part}.conllu" for part in ("train", "dev", "test")]
    chosen = settings(*files, *SMALL, *TUNED, "encoder.pretrained=en")
    assert plan(chosen, start=tmp_path).files.pretrained == {
        "encoder.pretrained": str(tmp_path / "en")
    }


def test_words_with_characters_that_an_encoder_does_not_know_are_counted(runs, caplog):
    known = PretrainedTokenizer.of(str(runs / "encoder"))
    numbers = {form: known.numbers_of(form) for form in ("the", "☃", "☂w")}
    known._warn_of_unknown({"the": 99, "☃": 1}, numbers)
    assert not caplog.text
    known._warn_of_unknown({"the": 97, "☃": 1, "☂w": 2}, numbers)
    assert "3.0% of the words (☂w, ☃) have characters" in caplog.text


def test_a_tuned_encoder_in_floats_of_an_older_folder_is_rounded_when_it_is_read(runs, tmp_path):
    draw = np.random.default_rng(0)
    floats = {
        name: tensor + draw.normal(0, 0.01, tensor.shape).astype(np.float32)
        for name, tensor in float_weights(load_file(runs / TUNING / MODEL / HELD / WEIGHTS)).items()
    }
    old, new = (
        _with_weights(runs, tmp_path / name, tensors)
        for name, tensors in (("old", floats), ("new", rounded_weights(floats)))
    )
    for int8 in (False, True):
        of_old, of_new = (FrozenModel.load(model, int8=int8) for model in (old, new))
        part = of_old.vocabularies.parts[-1]
        pieces, offsets = part.encode_forms([["the", "w1"]]), np.array([0, 3])
        found, expected = (
            model.readers[part.name].vectors(pieces, offsets) for model in (of_old, of_new)
        )
        assert found.tobytes() == expected.tobytes()
        trees = parsed(of_new, runs)
        assert parsed(of_old, runs) == parsed(TrainedModel.load(old, int8=int8), runs) == trees


def _with_weights(runs: Path, model: Path, tensors: dict[str, np.ndarray]) -> Path:
    """Copy the tuned model with other weights of its encoder."""
    shutil.copytree(runs / TUNING / MODEL, model)
    save_file(tensors, model / HELD / WEIGHTS, {"format": "pt"})
    change(model / SETTINGS, set_at("pretrained", "sha256", sums_of(model / HELD)))
    return model


_WITHOUT_TORCH = """
import sys
sys.modules |= dict.fromkeys(("torch", "transformers", "gensim"))  # to import them fails
from parser import Parser
print(*Parser.load(sys.argv[1]).parse([["the", "w1", "nost"]])[0].heads)
"""


@pytest.mark.parametrize("kind", [FROZEN, TUNING])
def test_an_encoder_of_the_shape_of_bert_is_read_without_torch(runs, kind):
    found = subprocess.run(
        [sys.executable, "-c", _WITHOUT_TORCH, runs / kind],
        capture_output=True,
        text=True,
        check=True,
    )
    expected = Parser.load(runs / kind).parse([["the", "w1", "nost"]])[0].heads
    assert found.stdout.split() == [*map(str, expected)]


@of_every_kind
@pytest.mark.parametrize("epochs", [1, 2])
def test_a_killed_run_is_resumed_to_the_same_end(runs, tmp_path, kind, epochs):
    wanted = planned_run(runs, kind)
    train_until_killed(wanted, tmp_path, epochs)
    train(wanted, tmp_path)
    found, expected = files_of(tmp_path), files_of(runs / kind)
    assert found == {name: content for name, content in expected.items() if name != "README.md"}


def test_the_run_says_what_it_was_made_from_and_not_where_vectors_are_kept(runs, tmp_path):
    for kind, group, names in (
        (FROZEN, "encoder.pretrained", {CONFIG, TOKENIZER, WEIGHTS}),
        (SUBWORD, "vectors.subwords", {TOKENIZER, WEIGHTS}),
    ):
        sums = Manifest.of(planned_run(runs, kind)).files
        assert {key for key in sums if key.startswith(f"{group}/")} == {
            f"{group}/{name}" for name in names
        }
        assert sums[f"{group}/{WEIGHTS}"] in (runs / kind / MODEL / "README.md").read_text(
            encoding="utf-8"
        )
    cache = [f"pretrained.cache={tmp_path / name}" for name in ("one", "other")]
    assert Manifest.of(planned_run(runs, FROZEN, cache[0])) == Manifest.of(
        planned_run(runs, FROZEN, cache[1])
    )


@of_every_kind
def test_what_is_loaded_parses_as_what_was_trained(runs, kind):
    model, trained = FrozenModel.load(runs / kind), TrainedModel.load(runs / kind)
    assert parsed(model, runs) == parsed(trained, runs) != (runs / "test.conllu").read_bytes()
    assert len(Parser.load(runs / kind).parse([["the", "w1", "☃", ""]])[0].heads) == 4
    heads = [
        line.split("\t")[6]
        for line in parsed(model, runs).decode().splitlines()
        if line and not line.startswith("#")
    ]
    parses = parse(model, TOYS[25:])  # one by one
    assert heads == [str(parses.heads[5 * s + i]) for s in range(5) for i in range(1, 5)]


def test_files_parse_to_the_same_bytes_however_they_are_cut_and_with_any_number_of_threads(runs):
    model = TrainedModel.load(runs / FROZEN)
    assert parsed(model, runs, chunk_bytes=100, threads=3) == parsed(model, runs)
    assert parsed(model, runs, tags=TagUse.OVERWRITE, threads=2) == parsed(
        model, runs, tags=TagUse.OVERWRITE
    )
    assert parsed(TrainedModel.load(runs / FROZEN, int8=True), runs)


@of_every_kind
def test_frozen_vectors_of_tokens_are_torchs(runs, kind):
    model = TrainedModel.load(runs / kind)
    words = sentence([0, 1, 1, 1])
    words.forms = ["the", "nevermet", "☃", "w" * 50]
    encoded = model.vocabularies.encode([words, sentence([0]), sentence([0] + [1] * 40)])
    expected = model.classifier.tokens.encoded(encoded)
    found = torch.from_numpy(model.classifier.tokens.frozen().encode(encoded))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_a_form_goes_in_as_the_mean_of_the_vectors_of_its_pieces(runs):
    model, words = TrainedModel.load(runs / SUBWORD), sentence([0, 1, 1])
    words.forms = ["the", "nevermet", ""]
    pieces = [[], *(model.vocabularies.parts[1].pieces(form)[0] for form in words.forms)]
    assert {len(some) for some in pieces} == {0, 1, 8}
    values = torch.from_numpy(model.vocabularies.encode([words]).values.T.copy())
    table = read_tensors(runs / SUBWORD / MODEL)[VECTORS][N_RESERVED:]
    expected = [
        table[some].mean(axis=0) if some else np.zeros(table.shape[1], np.float32)
        for some in pieces
    ]
    tokens = model.classifier.tokens
    first = sum(size for name, size in tokens.inputs.sizes.items() if name != SUBWORDS)
    found = tokens._embed(values, np.array([len(values)]), dropping=False)[
        :, first : first + table.shape[1]
    ]
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-5, atol=1e-6)


def command(monkeypatch, of, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", [of.__name__, *map(str, arguments)])
    of.main()


@pytest.mark.parametrize("kind", [SUBWORD, FROZEN])
def test_saved_with_the_model_it_needs_nothing_else_and_is_packed_and_fetched(
    runs, tmp_path, monkeypatch, kind
):
    run = runs / kind
    if kind == FROZEN:
        run = tmp_path / "run"
        moved = tmp_path / "training"
        shutil.copytree(runs / "encoder", moved / "encoder")
        train(
            planned_run(moved, FROZEN, "pretrained.save=true"),
            run,
            [ModelCard("optimal-step train")],
        )
        shutil.rmtree(moved / "encoder")
        (run / MODEL / HELD / "1_Pooling").mkdir()  # as some have it
        (run / MODEL / HELD / "pytorch_model.bin").write_bytes(b"never read")
        assert sums_of(run / MODEL / HELD) == sums_of(runs / "encoder")
    words = [["w1", "w2", "the"]]
    trees = [tree.heads for tree in Parser.load(run).parse(words)]
    assert trees == [tree.heads for tree in Parser.load(runs / kind).parse(words)]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    command(monkeypatch, pack, run, "-o", tmp_path / "toy.zip", "--dev", runs / "dev.conllu")
    command(monkeypatch, get, "toy", "--from", tmp_path)
    assert not any("bin" in name for name in zipfile.ZipFile(tmp_path / "toy.zip").namelist())
    assert [tree.heads for tree in Parser.load("toy").parse(words)] == trees
    if kind == FROZEN:
        with pytest.raises(
            ValueError, match=r"does not hold the pretrained encoder .* pretrained\.save=true"
        ):
            command(
                monkeypatch,
                pack,
                runs / FROZEN,
                "-o",
                tmp_path / "other.zip",
                "--dev",
                runs / "dev.conllu",
            )


def test_an_encoder_that_has_changed_during_training_is_not_saved_as_what_it_was(runs, tmp_path):
    model = TrainedModel.load(runs / FROZEN)
    folder = shutil.copytree(runs / "encoder", tmp_path / "encoder")
    pieces = model.vocabularies.parts[-1]
    pieces.folder, pieces.held = folder, True
    (folder / CONFIG).write_text((folder / CONFIG).read_text() + " ")
    with pytest.raises(PretrainedError, match=rf"{CONFIG} is not what it was when training began"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_it_is_found_beside_the_model_where_it_was_moved(runs, tmp_path):
    copied = shutil.copytree(runs / FROZEN / MODEL, tmp_path / "model")
    change(copied / SETTINGS, set_at("pretrained", "name", str(tmp_path / "gone")))
    with pytest.raises(
        PretrainedError, match=rf"gone.*copy its folder, or make a link to it, as .*{HELD}"
    ):
        TrainedModel.load(copied)
    shutil.copytree(runs / "encoder", copied / HELD)
    assert parsed(TrainedModel.load(copied), runs) == parsed(TrainedModel.load(runs / FROZEN), runs)


def of_subwords(edit):
    return SUBWORD, edit, ModelError, rf"{SUBWORD_TOKENIZER}|{VOCABULARIES}"


def of_settings(error: type[Exception], message: str, *keys: object):
    return FROZEN, lambda folder: change(folder / SETTINGS, set_at(*keys)), error, message


EDITS = {
    "another sum": of_settings(
        PretrainedError, "SHA-256 sum", "pretrained", "sha256", {CONFIG: "0"}
    ),
    "a name that is none": of_settings(ModelError, SETTINGS, "pretrained", "name", 3),
    "sums that are none": of_settings(ModelError, SETTINGS, "pretrained", "sha256", []),
    "nothing said of it": of_settings(ModelError, SETTINGS, "pretrained", None),
    "other layers": of_settings(ModelError, TENSORS, "classifier", "pretrained", "layers", 2),
    "no layers": of_settings(ModelError, SETTINGS, "classifier", "pretrained", "layers", 0),
    "another length": of_settings(ModelError, TENSORS, "classifier", "pretrained", "size", 4),
    "another tokenizer": of_subwords(
        lambda folder: change(folder / SUBWORD_TOKENIZER, set_at("version", "1.0 "))
    ),
    "a sum that is no sum": of_subwords(
        lambda folder: change(folder / VOCABULARIES, set_at("subwords", 3))
    ),
    "no sum": of_subwords(
        lambda folder: change(folder / VOCABULARIES, lambda parts: parts.pop("subwords"))
    ),
    "no tokenizer": of_subwords(lambda folder: (folder / SUBWORD_TOKENIZER).unlink()),
    "a tokenizer that is none": of_subwords(
        lambda folder: (folder / SUBWORD_TOKENIZER).write_text("{")
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_parts_that_do_not_belong_together(runs, tmp_path, edit):
    kind, changed, error, message = EDITS[edit]
    changed(shutil.copytree(runs / kind / MODEL, tmp_path / "model"))
    with pytest.raises(error, match=message):
        TrainedModel.load(tmp_path / "model")


def test_a_tokenizer_with_more_pieces_than_vectors(runs, tmp_path):
    copied = shutil.copytree(runs / SUBWORD / MODEL, tmp_path / "model")
    path = copied / SUBWORD_TOKENIZER
    change(path, lambda parts: parts["model"]["vocab"].append(["more", -1.0]))
    change(copied / VOCABULARIES, set_at("subwords", sha256_of(path)))
    assert len(Subwords(path.read_text(encoding="utf-8"))) == len(read_tensors(copied)[VECTORS]) + 1
    with pytest.raises(ModelError, match=rf"{VECTORS} is F16"):
        TrainedModel.load(copied)


@of_every_kind
def test_a_model_that_goes_on_keeps_what_it_reads(runs, tmp_path, kind):
    files = [f"treebank.{part}={runs / part}.conllu" for part in ("train", "dev", "test")]
    cache = [] if kind == SUBWORD else [f"pretrained.cache={tmp_path / 'cache'}"]
    train(planned(*files, *SMALL, f"start={runs / kind}", *cache), tmp_path / "run")
    before, after = runs / kind / MODEL, tmp_path / "run" / MODEL
    if kind == SUBWORD:
        np.testing.assert_array_equal(read_tensors(after)[VECTORS], read_tensors(before)[VECTORS])
        assert (after / SUBWORD_TOKENIZER).read_bytes() == (before / SUBWORD_TOKENIZER).read_bytes()
    else:
        settings, others = (json.loads((model / SETTINGS).read_text()) for model in (before, after))
        assert settings["classifier"] == others["classifier"]
        assert (settings["pretrained"] == others["pretrained"]) is (kind == FROZEN)
        assert (after / HELD).exists() is (kind == TUNING)
    with pytest.raises(SettingsError, match="leave out"):
        train(
            planned_run(runs, SUBWORD if kind == SUBWORD else FROZEN, f"start={runs / kind}"),
            tmp_path / "other",
        )


@pytest.mark.parametrize("kind", [SUBWORD, TUNING])
def test_pipelines_of_spacy_hold_it(runs, kind):
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed (extra spacy)")
    nlp = spacy.blank("hu")
    nlp.add_pipe("optimal_step", config={"model": str(runs / kind), "allow_missing_columns": True})
    doc = nlp("the w1 nost")
    [expected] = Parser.load(runs / kind).parse([["the", "w1", "nost"]], allow_missing_columns=True)
    assert [0 if word.head == word else word.head.i + 1 for word in doc] == expected.heads
    again = spacy.blank("hu")
    again.add_pipe("optimal_step")
    assert [word.head.i for word in again.from_bytes(nlp.to_bytes())("the w1 nost")] == [
        word.head.i for word in doc
    ]
