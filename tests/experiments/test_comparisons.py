"""experiments/systems.py and online.py: variants that compose, rows, claims with their intervals, pages."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from experiments import comparisons
from experiments.command import settings_of
from experiments.comparisons import Claim, Comparison, Estimate, Row, differences, jobs_by_key, page, run_ours, training_of
from parser.settings.planning import plan

CONFIGS = ("online", "systems", "systems_bilstm")


def row(variant: str, treebank: str, seed: int, las: float, seconds: float = 10.0) -> Row:
    edges, times = ("4", "3", "10", "2", "20", "4", "8"), (f"{seconds:.1f}", f"{seconds - 5:.1f}")
    return Row(variant, treebank, str(seed), "train", f"{las:.4f}", "80.0", "70.0", *edges, *times, "")


def wanted(config: str, *overrides: str) -> Comparison:
    return settings_of(Comparison, config, ["paths.treebanks=data", *overrides])


@pytest.mark.parametrize("config", CONFIGS)
def test_every_variant_can_be_trained_and_every_claim_names_variants(config):
    found = wanted(config)
    for name, overrides in found.all_variants.items():
        one, other = training_of(found, overrides, "hu", 1), training_of(found, overrides, "got", 2)
        plan(one.settings())
        assert one.fingerprint() == other.fingerprint(), name
    fingerprints = [training_of(found, overrides, "hu", 1).fingerprint() for overrides in found.all_variants.values()]
    assert len(set(fingerprints)) == len(fingerprints)
    named = [name for claim in found.all_claims.values() for name in (*claim.better, *claim.worse)]
    assert set(named) | {name for pair in found.all_times.values() for name in pair} <= set(found.all_variants)


def test_treebanks_without_a_train_part_are_trained_on_dev():
    files = training_of(wanted("online"), ["model=linear"], "grc", 1).settings().treebank
    assert str(files.train).endswith("-dev.conllu")
    assert files.dev is None
    assert str(training_of(wanted("online"), ["model=linear"], "hu", 1).settings().treebank.train).endswith("-train.conllu")


def test_jobs_are_by_variant_treebank_and_seed_and_udpipe_has_one_seed():
    keys = list(jobs_by_key(wanted("systems", "languages=[hu]", "seeds=2", "variants=[lr_spine,'UDPipe, link2']")))
    assert keys == [
        ("lr_spine", "hu", "train", "1"),
        ("UDPipe, link2", "hu", "train", "1"),
        ("lr_spine", "hu", "train", "2"),
    ]


def test_a_claim_is_estimated_from_pairs_of_treebank_and_seed():
    rows = [row("a", "hu", 1, 70), row("a", "hu", 2, 71), row("b", "hu", 1, 69), row("b", "hu", 3, 60), row("a", "got", 1, 50)]
    by_key = {r.key: r for r in rows}
    assert differences(by_key, Claim(["a"], ["b"], ""), "hu") == [1]
    assert differences(by_key, Claim(["a"], ["b"], ""), "got") == []
    assert differences(by_key, Claim(["a", "a"], ["b", "b"], ""), "hu") == [2]


def test_intervals_are_students():
    sample = [1.0, 2.0, 4.0]
    found = Estimate.of(sample)
    assert found.mean == pytest.approx(7 / 3)
    assert found.margin == pytest.approx(4.30265273 * np.std(sample, ddof=1) / math.sqrt(3))
    assert found.verdict == "open"
    assert Estimate.of([1, 1.1, 1.2]).verdict == "holds"
    assert Estimate.of([-1, -1.1, -1.2]).verdict == "the opposite holds"
    assert str(Estimate.of([1.0])) == "+1.00, one pair"
    assert Estimate.of([1.0]).verdict == "open"


def test_a_page_shows_what_there_are_rows_of():
    rows = [row("arc_standard, explore", "hu", seed, 70 + seed, 23) for seed in (1, 2)]
    rows += [row("arc_standard, static", "hu", 1, 69), row("attardi, explore", "hu", 1, 72.5)]
    rows += [replace(row("lr_spine, explore", "grc", 1, 60), trained_on="dev")]
    text = page({r.key: r for r in rows}, wanted("online", "languages=[hu]"))
    assert "| arc_standard, explore | 71.50 ± 0.71 / 80.00 ± 0.00 |" in text
    assert "| arc_standard, static | 75.0 / 20.0 / 31.6; 20.0 of 40.0 |" in text  # precision, recall and F1; trees
    assert "| E, attardi over arc_standard | +1.50, one pair | +1.50, one pair |" in text
    assert "| G, arc_standard, explore over static | 2.30 |" in text
    assert "nondet" not in text.replace("nondet together", "")
    assert "A, arc_standard" not in text


def test_what_was_not_run_on_a_treebank_is_said():
    rows = [row("attardi, degree 2", "hu", 1, 70), row("arc_standard", "hu", 1, 71), row("arc_standard", "got", 1, 72)]
    text = page({r.key: r for r in rows}, wanted("systems", "languages=[hu,got]"))
    assert "| attardi, degree 2 | 70.00 / 80.00 | not run |" in text
    assert "| H, attardi, degree 2 | -1.00, one pair | -1.00, one pair | not run | none |" in text


def test_a_training_makes_a_row(tmp_path):
    found = wanted("online")
    settings = ["model=linear", "online.iterations=1", "online.mode=nondet", "treebank.train=data/sample/sample-ud-dev.conllu"]
    (made,) = run_ours("tiny", training_of(found, settings, "sample", 1), "train", tmp_path)
    assert made.key == ("tiny", "sample", "train", "1")
    assert 60 < float(made.las) <= float(made.uas) <= 100
    assert made.edges.predicted == 0  # arc-standard
    assert made.edges.gold > made.edges.gold_found


def test_unknown_variants_are_named():
    with pytest.raises(ValueError, match="variants has 'arc_eager'"):
        comparisons.main(wanted("systems", "variants=[arc_eager]"))
