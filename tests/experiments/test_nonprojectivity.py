"""Parts with a share of non-projective trees: how they are drawn and written, and the page of their differences."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from experiments import nonprojectivity
from experiments.command import settings_of
from experiments.nonprojectivity import Nonprojectivity, drawn, write_part
from parser.data.treebank import read_treebank
from tests import brute_force
from tests.random_trees import random_mildly_nonprojective_tree
from tests.toy import sentence, write_conllu


def trees(seed: int, count: int) -> list[list[int]]:
    rng = random.Random(seed)
    made = (random_mildly_nonprojective_tree(rng, rng.randint(4, 12)) for _ in range(10 * count))
    return [tree for tree in made if tree.count(0) == 1][:count]


@pytest.fixture
def wanted(tmp_path, monkeypatch) -> Nonprojectivity:
    """A treebank with all its parts, and one whose train part is missing; 10 sentences are drawn, 5 held out."""
    monkeypatch.setattr(nonprojectivity, "SENTENCES", 10)
    monkeypatch.setattr(nonprojectivity, "HELD_OUT", 5)
    for folder, stem, parts in (
        ("UD_Gothic-PROIEL", "got_proiel-ud", ("train", "dev", "test")),
        ("UD_Basque-BDT", "eu_bdt-ud", ("dev", "test")),
    ):
        (tmp_path / folder).mkdir()
        for seed, part in enumerate(parts):
            write_conllu(tmp_path / folder / f"{stem}-{part}.conllu", [sentence(tree) for tree in trees(seed, 80)])
    overrides = [f"paths.treebanks={tmp_path}", f"runs={tmp_path / 'runs'}", "languages=[got,eu]", "whole=[eu]"]
    return settings_of(Nonprojectivity, "nonprojectivity", overrides)


def heads_of(path: Path) -> list[list[int]]:
    return [list(sentence.heads) for sentence in read_treebank(path).sentences]


def test_parts_have_the_share_and_the_size(wanted, tmp_path):
    for treebank, share in wanted.parts:
        write_part(wanted, treebank, share)
        part = "train" if treebank == "got" else "dev"
        folder = tmp_path / "runs" / "parts" / f"{treebank}-{part}-{share}"
        found = heads_of(folder / "train.conllu")
        if share == "all":
            assert found == heads_of(tmp_path / "UD_Basque-BDT" / "eu_bdt-ud-dev.conllu")
        else:
            assert len(found) == 10
            assert sum(not brute_force.is_projective(tree) for tree in found) == int(share) / 10
        if treebank == "eu":
            test = heads_of(tmp_path / "UD_Basque-BDT" / "eu_bdt-ud-test.conllu")
            assert heads_of(folder / "dev.conllu") == test[:5]
            assert heads_of(folder / "test.conllu") == test[5:]


def test_too_few_trees_of_a_kind_are_refused(wanted, monkeypatch):
    with pytest.raises(ValueError, match=r"^0 .* 4 wanted"):
        drawn(np.ones(8, bool), 50, 8)
    monkeypatch.setattr(nonprojectivity, "SENTENCES", 1000)
    with pytest.raises(ValueError, match=r"got_proiel-ud-train.conllu: \d+ .*500 .*shares="):
        write_part(wanted, "got", "50")
