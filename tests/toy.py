"""Small things to train and parse on, made on the spot."""

import copy
import os
import random
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from parser.data.sentences import Parses
from parser.data.treebank import Sentence
from parser.settings import Settings, register
from parser.settings.given import Given
from parser.settings.overrides import check_overrides, explained
from parser.settings.plan import Plan, plan
from parser.settings.started import start_choices, started

ROOT = Path(__file__).parent.parent
CONFIGS = ROOT / "configs"
SAMPLE = ROOT / "data" / "sample"

# What makes a training short; without word vectors nothing is trained in another process.
TINY = [
    "first_pass.epochs=1",
    "second_pass.epochs=1",
    "classifier.hidden=8",
    "vectors.dimensions=4",
    "vectors.epochs=1",
]
TINY.append("tensorboard.figures=false")
NO_VECTORS = ["vectors.attribute=null", "features.form=[]"]

register()

_TAGS = ["DET", "NOUN", "VERB", "ADJ", "PUNCT"]


def real_treebank(name: str) -> Path:
    """Return a file or a folder of the treebanks of UD 2.2;
    a test that needs it is skipped where it is absent.
    """
    folder = Path(os.environ.get("OPTIMAL_STEP_TREEBANKS", ROOT.parent / "shared" / "ud-v2.2"))
    if not (folder / name).exists():
        pytest.skip(
            f"no {folder / name}; set OPTIMAL_STEP_TREEBANKS to a folder with the treebanks of "
            "UD 2.2"
        )
    return folder / name


def settings(*overrides: str) -> Settings:
    """Return the settings of a run with the given overrides of configs/train.yaml,
    as hydra composes them.

    TensorBoard's figures are left out.
    """
    given = Given(overrides)
    check_overrides(given, sweep=False)
    try:
        given = Given([*start_choices(given, Path()), *overrides])
        return started(composed("tensorboard.figures=false", *given.words), given)
    except (
        AssertionError,
        AttributeError,
        ValueError,
        HydraException,
        OmegaConfBaseException,
    ) as error:
        if (told := explained(error, given)) is None:
            raise
        raise told from error


def planned(*overrides: str) -> Plan:
    """Return the plan of a run with the given overrides; see settings()."""
    return plan(settings(*overrides))


def composed(*overrides: str) -> Settings:
    """Return the settings of configs/train.yaml with overrides, as hydra composes them, but sooner.

    Composing takes a third of a second. Overrides of single keys come last in it,
    so the rest is composed once.
    """
    of_keys = re.compile(
        r"(?!hydra|[^=]*[/@])[a-z]\w*(\.\w+)+="
        r"|(column|degree|ties|seed|keep|resume|threads|device|strategy)="
    )
    chosen = tuple(override for override in overrides if not of_keys.match(override))
    made = copy.deepcopy(_composed(chosen))
    given = [override for override in overrides if of_keys.match(override)]
    ConfigLoaderImpl._apply_overrides_to_config(
        OverridesParser.create().parse_overrides(given), made
    )
    return made  # type: ignore[return-value]


@cache
def _composed(overrides: tuple[str, ...]) -> DictConfig:
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return compose("train", overrides=[*overrides])


def forget_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end of a test: for modules that are run anew,
    which store classes of their own for the same settings.
    """
    Plugins.instance()  # hydra's own stay
    store = ConfigStore.instance()
    monkeypatch.setattr(store, "repo", copy.deepcopy(store.repo))


def sentence(heads: list[int], rng: random.Random | None = None) -> Sentence:
    """Return a sentence over the given tree, whose forms, tags and relations follow from ``rng``,
    or from the positions.
    """
    draw = rng or random.Random(len(heads))
    numbers = range(1, len(heads) + 1)
    return Sentence(
        forms=[f"w{draw.randrange(30)}" for _ in numbers],
        lemmas=["_" for _ in numbers],
        upos=[draw.choice(_TAGS) for _ in numbers],
        xpos=["_" for _ in numbers],
        feats=["_" for _ in numbers],
        heads=heads,
        deprels=[
            "root" if head == 0 else draw.choice(["nsubj", "obj", "det", "punct"]) for head in heads
        ],
        where="toy",
    )


def flat_sentences(lengths: Iterable[int], seed: int = 0) -> list[Sentence]:
    """Sentences of so many words, all of which but the first are children of the first,
    for tests that read no trees.
    """
    rng = random.Random(seed)
    return [sentence([0] + [1] * (n - 1), rng) for n in lengths]


def drawn_sentences(seed: int, count: int, longest: int) -> list[Sentence]:
    """Return the same, of lengths that are drawn."""
    rng = random.Random(seed)
    return [sentence([0] + [1] * (rng.randint(1, longest) - 1), rng) for _ in range(count)]


def assert_same_trees(found: Parses, expected: Parses) -> None:
    np.testing.assert_array_equal(found.heads, expected.heads)
    np.testing.assert_array_equal(found.relations, expected.relations)


def write_conllu(path: Path, sentences: list[Sentence]) -> Path:
    lines = []
    for s in sentences:
        columns = zip(
            s.forms, s.lemmas, s.upos, s.xpos, s.feats, map(str, s.heads), s.deprels, strict=True
        )
        lines += ["\t".join([str(i), *row, "_", "_"]) for i, row in enumerate(columns, 1)]
        lines.append("")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
