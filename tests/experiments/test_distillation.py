"""experiments/distillation.py: variants that compose, who teaches whom, fingerprints, the page, and a run on the sample."""

from __future__ import annotations

import pytest

from experiments import distillation
from experiments.command import settings_of
from experiments.comparisons import Row
from experiments.distillation import Distillation, asked_of, is_taught, page, run_variants, variant_of
from parser.settings.planning import plan
from tests.experiments.test_comparisons import row


def wanted(*overrides: str) -> Distillation:
    return settings_of(Distillation, "distillation", ["paths.treebanks=data", *overrides])


def test_every_variant_can_be_trained_and_every_claim_names_variants():
    found = wanted()
    for name in found.all_variants:
        plan(variant_of(found, name, "hu", 1).settings())
    named = {name for claim in found.all_claims.values() for name in (*claim.better, *claim.worse)}
    assert named <= set(found.all_variants)
    assert not is_taught(found, found.teacher)


def test_a_teacher_has_the_treebank_and_the_seed_of_those_it_teaches_and_its_place_does_not_matter():
    here, there = wanted("languages=[hu,got]", "seeds=2"), wanted("languages=[hu,got]", "seeds=2", "runs=elsewhere")
    taught = variant_of(here, "all steps", "got", 2).settings()
    assert str(taught.distillation.teacher).endswith("runs/distillation/bilstm/got-train-seed2")
    assert asked_of(here) == asked_of(there)
    configs = {name: config for (name, *_), config in asked_of(here).items()}
    assert len(set(configs.values())) == len(configs)
    assert configs["all steps"].endswith(f" taught by {configs['bilstm']}")
    other = wanted("languages=[hu,got]", "seeds=2", "all_variants.bilstm=[model=bilstm,encoder.layers=1]")
    assert {name for (name, *_), config in asked_of(other).items() if configs[name] != config} == {
        name for name in configs if name == "bilstm" or is_taught(here, name)
    }


def test_the_teacher_is_trained_first_though_its_row_is_there(monkeypatch):
    trained = []

    def run_ours(name, training, part, runs, fresh) -> list[Row]:
        trained.append(name)
        return [row(name, training.treebank, training.seed, 70)]

    monkeypatch.setattr(distillation, "run_ours", run_ours)
    made = run_variants(["all steps", "mlp"], wanted(), "hu", 1)
    assert trained == ["mlp", "bilstm", "all steps"]
    assert [one.variant for one in made] == ["mlp", "all steps"]
    assert [one.config for one in made] == [asked_of(wanted())[one.key] for one in made]


def test_the_page_has_the_half_of_the_way_and_dev():
    rows = [row("mlp", "hu", seed, 76) for seed in (1, 2)] + [row("bilstm", "hu", seed, 80) for seed in (1, 2)]
    rows += [row("all steps", "hu", seed, 78 + 0.1 * seed) for seed in (1, 2)]
    text = page({one.key: one for one in rows}, wanted())
    assert "| all steps, more than half of the way | +0.30 [" in text
    assert "| all steps | 70.00 ± 0.00 |" in text.partition("## LAS on dev")[2]


def test_a_variant_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="teacher has 'all steps'; known are 'mlp', 'bilstm'"):
        distillation.main(wanted("teacher='all steps'"))
