"""Derivations per item: against the number of all computations, and the command on a tiny treebank."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from experiments import derivations
from experiments.command import settings_of
from experiments.figures import read_csv
from parser.beam_settings import BeamError
from parser.data.treebank import read_treebank
from parser.data.vocabularies import Vocabularies, Vocabulary
from parser.model.model import Model
from parser.network_spec import ClassifierSpec, Embedding
from parser.transitions.features import slots_of
from tests.toy import sentence, write_conllu

LENGTHS = (1, 2, 3, 4, 5)


@pytest.fixture
def dev_part(tmp_path) -> Path:
    rng = random.Random(0)
    (tmp_path / "UD_Hungarian-Szeged").mkdir()
    path = tmp_path / "UD_Hungarian-Szeged" / "hu_szeged-ud-dev.conllu"
    return write_conllu(path, [sentence([0] + [1] * (n - 1), rng) for n in LENGTHS])


def model(system: str = "arc_standard", positions: tuple[str, ...] = ("s0", "b0")) -> Model:
    spec = ClassifierSpec(8, "relu", 0.0, 0.0, 0.0, {"form": Embedding(4, False)})
    known = Vocabularies({"form": Vocabulary(["w1", "w2"])}), Vocabulary(["root", "obj"])
    return Model.new(*known, slots_of({"form": list(positions)}), spec, system)


@pytest.mark.parametrize("positions", [("s0", "b0"), ("s1", "s0", "b0"), ("s0", "s0.l1", "s0.r1")])
def test_a_beam_that_holds_all_items_stands_for_all_computations(dev_part, positions):
    """With one child of the root and one other relation, 2^(n-1) Catalan(n-1) of them."""
    rows = list(derivations.rows_of("any", model(positions=positions), 1000, read_treebank(dev_part)))
    assert [row[2] for row in rows] == [*LENGTHS]
    for n, (*_, items, log10_derivations) in zip(LENGTHS, rows, strict=True):
        expected = 2 ** (n - 1) * math.comb(2 * n - 2, n - 1) // n
        assert items * 10**log10_derivations == pytest.approx(expected)


def test_the_command(dev_part, tmp_path, capsys):
    model().save(tmp_path / "model")
    overrides = [f"+models={{any: {tmp_path}/model}}", f"output={tmp_path}/out", f"paths.treebanks={tmp_path}", "together=2"]
    derivations.EXPERIMENT.main(settings_of(derivations.Derivations, "derivations", overrides))
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"results.csv", "derivations.svg", "table.md"}
    rows = read_csv(tmp_path / "out" / "results.csv")
    assert [(row["size"], row["length"]) for row in rows] == [(size, str(n)) for size in ("8", "16") for n in LENGTHS]
    table = capsys.readouterr().out
    assert table == (tmp_path / "out" / "table.md").read_text()
    lines = [[cell.strip() for cell in line.split("|")[1:3]] for line in table.splitlines() if " to " in line]
    assert lines == [["1 to 2", "2"], ["3 to 4", "2"], ["5 to 6", "1"]]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [([], "give models to parse with"), (["+models={a: b}", "part=test"], "'hu' has no part test under .*; name another")],
)
def test_what_is_missing_is_named(dev_part, tmp_path, overrides, message):
    settings = settings_of(derivations.Derivations, "derivations", [*overrides, f"paths.treebanks={tmp_path}"])
    with pytest.raises(ValueError, match=message):
        derivations.EXPERIMENT.main(settings)


def test_other_systems_have_no_such_items(dev_part):
    with pytest.raises(BeamError, match="only with system=arc_standard"):
        list(derivations.rows_of("any", model("arc_hybrid"), 8, read_treebank(dev_part)))
