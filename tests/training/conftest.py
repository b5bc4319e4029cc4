"""The treebank of the tests of whole runs, and runs on it."""

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from oracles import Trees
from parser.training.run import train
from tests.random_trees import random_mildly_nonprojective_tree
from tests.toy import sentence, write_conllu
from tests.training.small_runs import run


@pytest.fixture(scope="session")
def treebank(tmp_path_factory) -> Path:
    """Sentences some of whose trees are not projective."""
    rng = random.Random(0)
    trees: list[list[int]] = []
    while len(trees) < 30:  # with a single child of the root, as gold data must have
        heads = random_mildly_nonprojective_tree(rng, rng.randint(2, 9))
        if heads.count(0) == 1:
            trees.append(heads)
    assert not Trees.from_heads(trees).projective.all()
    return write_conllu(
        tmp_path_factory.mktemp("toy") / "toy.conllu", [sentence(heads, rng) for heads in trees]
    )


@pytest.fixture(scope="session")
def finished(treebank, tmp_path_factory) -> Callable[..., tuple[Path, dict[str, Any]]]:
    """Folder and metrics of a run with some overrides, which is trained once;
    tests leave its folder as it is.
    """

    @cache
    def trained(*overrides: str) -> tuple[Path, dict[str, Any]]:
        folder = tmp_path_factory.mktemp("finished")
        return folder, train(run(treebank, *overrides), folder)

    return trained
