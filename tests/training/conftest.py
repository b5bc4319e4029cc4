"""The treebank of the tests of whole runs."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.random_trees import random_mildly_nonprojective_tree
from tests.toy import sentence, write_conllu


@pytest.fixture(scope="module")
def treebank(tmp_path_factory) -> Path:
    rng = random.Random(0)
    trees: list[list[int]] = []
    while len(trees) < 30:  # with a single child of the root, as gold data must have
        heads = random_mildly_nonprojective_tree(rng, rng.randint(2, 9))
        if heads.count(0) == 1:
            trees.append(heads)
    return write_conllu(tmp_path_factory.mktemp("toy") / "toy.conllu", [sentence(heads, rng) for heads in trees])
