"""experiments/lattices.py: the cells, the settings of the trainings, lattices that are made, the table."""

from __future__ import annotations

import pytest

from experiments import lattices
from experiments.command import settings_of
from parser.data.treebank import read_treebank
from parser.lattices.conllul import read_lattices
from parser.settings.planning import plan
from tests.toy import ROOT


def wanted(*overrides: str) -> lattices.LatticeExperiment:
    return settings_of(lattices.LatticeExperiment, "lattices", overrides)


def test_the_systems_are_settings_that_can_be():
    asked = wanted("languages=[tr,he,hu]", "lookaheads=[1,3]", "clocks=[true,false]", "lemmas=[true,false]", "sizes=[8]")
    cells = list(lattices.keys(asked))
    assert len(cells) == len(set(cells)) == 3 * (4 + 8 + 8 + 1) + 8  # and those of hu that are guessed
    trainings = {key: lattices.training_of(asked, key[0], key[1], 1, int(key[3]), key[4] == "true") for key in cells}
    for training in set(trainings.values()):
        plan(training.settings())
    of_turkish = {training.fingerprint() for key, training in trainings.items() if key[1] == "tr"}
    assert len(of_turkish) == 9  # gold paths and lattices with 1 and 3 ahead, with lemmas and without, plain
    given, alone = (lattices.training_of(asked, system, "he", 1, 3, lemmas=True) for system in (lattices.GOLD, lattices.ALONE))
    assert given == alone


def test_lattices_are_made_for_treebanks_that_have_none(tmp_path):
    asked = wanted(f"runs={tmp_path}", "languages=[sample]", f"paths.treebanks={ROOT / 'data'}")
    made = {}
    for system in (lattices.LATTICES, lattices.SUFFIXES):
        lattices.make_lattices(asked, system, "sample")
        for part, file in lattices.lattice_files(asked, system, "sample").items():
            made[system, part] = read_lattices(file)
            assert len(made[system, part]) == len(read_treebank(ROOT / f"data/sample/sample-ud-{part}.conllu"))
    for part in lattices.PARTS:
        plain, guessed = ([one.arc for one in made[system, part]] for system in (lattices.LATTICES, lattices.SUFFIXES))
        assert plain != guessed


def test_nothing_is_guessed_where_lattices_are_given():
    with pytest.raises(
        ValueError, match="tr: lattices are given, so that nothing is guessed; leave out 'lattices by suffixes'"
    ):
        lattices.main(wanted("languages=[hu,tr]", "systems=['lattices by suffixes']"))


def test_the_table_has_a_column_for_each_system():
    def row(system: str, seed: str, las: str, clock: str = "true") -> lattices.Row:
        return lattices.Row(system, "tr", seed, "3", "true", clock, "8", las, "70.0", "97.5", "90.0", "")

    rows = [row(lattices.LATTICES, "1", "60.0"), row(lattices.LATTICES, "2", "62.0"), row(lattices.ALONE, "1", "50.0")]
    rows.append(row(lattices.LATTICES, "1", "55.0", "false"))
    rows.append(row(lattices.PIPELINE, "1", "58.0"))
    page = lattices.report({one.key: one for one in rows})
    assert "## tr, 3 words ahead, lemmas read, compared by clock" in page
    assert "| 8 | 61.00 ± 1.41 (97.5, 90.0) | 50.00 (97.5, 90.0) | 58.00 (97.5, 90.0) |" in page
    assert "## tr, 3 words ahead, lemmas read, compared by steps" in page
    assert "| 8 | 55.00 (97.5, 90.0) | 58.00 (97.5, 90.0) |" in page


def test_the_picture(tmp_path):
    pytest.importorskip("matplotlib")
    row = lattices.Row(lattices.GOLD, "tr", "1", "3", "true", "true", "8", "60.0", "70.0", "97.5", "90.0", "")
    lattices.draw({row.key: row}, tmp_path)
    assert (tmp_path / "tr.svg").exists()
