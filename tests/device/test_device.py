"""Every model and recipe trains, resumes, saves,
loads and parses on another device than the CPU (fake_device.py).
"""

import random
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from parser.data.treebank import read_treebank
from parser.decoding.parse_options import ParseOptions, predicted_tags
from parser.decoding.predictor import Predictor, load_model
from parser.library import Parser
from parser.model.trained_model import TrainedModel
from parser.training.fitting.trainer import Trainer
from parser.training.run import train
from tests.device.fake_device import NAME, fake_device, running_ahead
from tests.pretrained import write_transformer
from tests.random_trees import random_projective_tree
from tests.toy import assert_same_trees, sentence, write_conllu
from tests.training.small_runs import TEXT, files_of, run, train_until_killed

ENCODER = ["model=bilstm", "encoder.hidden=8"]
GLOBAL = ["beam=global", "beam.size=2", "beam.training.epochs=2"]

RUNS = {
    "paper": ["recipe=paper"],
    "paper_literal": ["recipe=paper_literal"],
    "paper_tuned": ["recipe=paper_tuned"],
    "accurate": ["recipe=accurate"],
    "accurate, bilstm": ["recipe=accurate", *ENCODER],
    "text": TEXT,
    "lr_spine": ["recipe=accurate", "system=lr_spine"],
    "global": ["recipe=accurate", *GLOBAL],
    "global, bilstm": ["recipe=accurate", *ENCODER, *GLOBAL],
    "local, bilstm": ["recipe=accurate", *ENCODER, "beam=local", "beam.size=2"],
}
# In make test: examples of one pass and of the other, an encoder with all its parts,
# and whole computations.
QUICK = ("paper", "accurate", "text", "global")
FEW = ["first_pass.epochs=1", "second_pass.epochs=2"]


@pytest.fixture(scope="module")
def treebank(tmp_path_factory) -> Path:
    rng = random.Random(0)
    trees = [random_projective_tree(rng, rng.randint(2, 8)) for _ in range(25)]
    one_root = [sentence(heads, rng) for heads in trees if heads.count(0) == 1]
    return write_conllu(tmp_path_factory.mktemp("toy") / "toy.conllu", one_root)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.long) for name in RUNS]
)
def test_it_trains_resumes_and_parses_as_on_the_cpu(name, treebank, tmp_path):
    check_run(treebank, tmp_path, *RUNS[name], *FEW)


@pytest.mark.extras
@pytest.mark.parametrize("tune", ["false", "true"])
def test_a_pretrained_encoder_reads_on_the_device(tune, treebank, tmp_path):
    encoder = write_transformer(tmp_path / "encoder")
    pretrained = [f"encoder.pretrained={encoder}"]
    if tune == "false":
        pretrained.append(f"pretrained.cache={tmp_path / 'cache'}")
    check_run(
        treebank,
        tmp_path,
        *TEXT,
        "encoder.lemmas=null",
        *FEW,
        *pretrained,
        f"pretrained.tune={tune}",
    )
    with fake_device():
        model = load_model(tmp_path / "whole", ParseOptions(device=NAME))
        assert isinstance(model, TrainedModel)
        read_by = model.readers["pretrained"]
        assert read_by is not None
        assert read_by.transformer.device.type == NAME


def check_run(treebank: Path, tmp_path: Path, *overrides: str) -> None:
    """Check that a run can be interrupted, and parses here as on the CPU."""
    with fake_device():
        wanted = run(treebank, *overrides, f"device={NAME}")
        metrics = train(wanted, tmp_path / "whole")
        train_until_killed(wanted, tmp_path / "killed", 2)
        train(wanted, tmp_path / "killed")
    assert 0 <= metrics["dev"]["las"] <= metrics["dev"]["uas"]
    assert files_of(tmp_path / "whole") == files_of(tmp_path / "killed")

    sentences = read_treebank(treebank).sentences
    on_cpu = load_model(tmp_path / "whole", ParseOptions())
    encoded = on_cpu.vocabularies.encode(sentences)
    expected = Predictor(on_cpu).predict(encoded).parses
    with fake_device():
        model = load_model(tmp_path / "whole", ParseOptions(device=NAME))
        assert isinstance(model, TrainedModel)
        assert model.classifier.output.weight.device.type == NAME
        found = Predictor(model).predict(encoded).parses
    assert_same_trees(found, expected)


def test_without_dropout_the_weights_are_those_of_the_cpu(treebank, tmp_path):
    """There, the compiled updates of training/compiled have made them, here torch's."""
    wanted = run(treebank, "recipe=paper", *FEW)
    train(wanted, tmp_path / "cpu")
    with fake_device():
        train(run(treebank, "recipe=paper", *FEW, f"device={NAME}"), tmp_path / "device")
    cpu, device = (
        load_file(tmp_path / name / "model" / "classifier.safetensors")
        for name in ("cpu", "device")
    )
    for name, weights in cpu.items():
        np.testing.assert_allclose(weights, device[name], atol=1e-4, err_msg=name)


def test_tags_and_probabilities_are_those_of_the_cpu(treebank, tmp_path):
    train(run(treebank, *TEXT, *FEW), tmp_path)
    sentences = read_treebank(treebank).sentences
    on_cpu = TrainedModel.load(tmp_path, int8=False)
    encoded = on_cpu.vocabularies.encode(sentences)
    every = [one.forms for one in sentences]
    options = ParseOptions(tags=predicted_tags(on_cpu))
    expected = Predictor(on_cpu, options).tag(encoded, every)[1].values
    trees = Parser(on_cpu).parse(every[:4])
    with fake_device():
        model = TrainedModel.load(tmp_path, NAME)
        found = Predictor(model, options).tag(encoded, every)[1].values
        others = Parser(model).parse(every[:4])
    np.testing.assert_equal(found, expected)
    for ours, theirs in zip(trees, others, strict=True):
        assert (ours.heads, ours.deprels) == (theirs.heads, theirs.deprels)
        np.testing.assert_allclose(ours.probabilities, theirs.probabilities, atol=1e-4)


@pytest.mark.parametrize("name", ["accurate", "text"])
def test_no_update_waits_for_the_device(name, treebank, tmp_path):
    """The CPU prepares the next update meanwhile. All that it has to know of a batch,
    it knew before.
    """
    fit_epoch = Trainer.fit_epoch

    def watched(trainer, *arguments):
        def update(*arguments: Any) -> Any:
            with running_ahead():
                return backward(*arguments)

        backward = trainer._objective.backward
        with mock.patch.object(trainer._objective, "backward", update):
            return fit_epoch(trainer, *arguments)

    with fake_device(), mock.patch.object(Trainer, "fit_epoch", watched):
        train(run(treebank, *RUNS[name], *FEW, f"device={NAME}"), tmp_path)


def test_the_fake_refuses_what_a_gpu_would():
    with fake_device():
        there, here = torch.ones(3).to(NAME), torch.ones(3)
        assert (there.device.type, there.is_cpu) == (NAME, False)
        for mixed in (lambda: there + here, lambda: here @ there, lambda: torch.cat([there, here])):
            with pytest.raises(RuntimeError, match="on meta and on the CPU"):
                mixed()
        with pytest.raises(TypeError, match="take it to the CPU first"):
            there.numpy()
        np.testing.assert_array_equal((there * 2 + 1).cpu().numpy(), [3, 3, 3])
        for waiting in (there.sum().item, lambda: there[there > 0], there.cpu):
            with running_ahead(), pytest.raises(RuntimeError, match="would wait"):
                waiting()
