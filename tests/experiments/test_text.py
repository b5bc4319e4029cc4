"""Parsers of text and of lattices: raw text of a file, which systems share a training, lattices that are made."""

from __future__ import annotations

import pytest

from experiments import lattices, text
from experiments.command import settings_of
from parser.data.treebank import read_treebank
from parser.lattices import read_lattices
from parser.settings.plan import plan
from tests.toy import ROOT


def test_raw_text_is_that_of_the_comments(tmp_path):
    lines = [
        "# newdoc",
        "# text = A b.",
        "1\tA\t_",
        "",
        "# text = C",
        "1\tC\t_",
        "",
        "# newpar",
        "# text = D e",
        "1\tD\t_",
        "",
        "",
    ]
    filled = [line if "\t" not in line else line + "\t_" * 7 for line in lines]
    (tmp_path / "gold.conllu").write_text("\n".join(filled))
    assert text.raw_text(tmp_path / "gold.conllu") == "A b. C\n\nD e\n\n"


def test_systems_that_share_a_training_are_one_job():
    systems = ["text", "text, beam 8", "characters", text.UDPIPE]
    wanted = settings_of(text.Text, "text", [f"systems={systems}", "languages=[sample]", "seeds=2"])
    assert wanted.beams.keys() <= wanted.all_systems.keys()
    cells = {cell.key: cell for cell in text.cells(wanted)}
    assert len(cells) == 3 * 2 + 1  # UDPipe has one seed
    groups = {key: cell.group for key, cell in cells.items()}
    assert groups["text", "sample", "1"] == groups["text, beam 8", "sample", "1"]
    assert len(set(groups.values())) == 2 * 2 + 1
    assert cells["text, beam 8", "sample", "1"].settings == "recipe=text beam.size=8"


def test_fresh_trains_the_tokenizer_again(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "train_tokenizer", lambda train, dev, target: target.write_text(f"{target.exists()}"))
    segmenters = []
    monkeypatch.setattr(text, "train_segmenter", lambda train, dev, tokenizer, seed: segmenters.append(tokenizer))
    training = settings_of(text.Text, "text").training("text", "hu", 1)
    path = text.tokenizer_of(training, tmp_path)
    assert path.read_text() == text.tokenizer_of(training, tmp_path).read_text() == "False"
    assert text.tokenizer_of(training, tmp_path, fresh=True).read_text() == "True"
    assert segmenters == [path, path]


def of_lattices(*overrides: str) -> lattices.LatticeExperiment:
    return settings_of(lattices.LatticeExperiment, "lattices", overrides)


def test_the_systems_of_lattices_are_settings_that_can_be(monkeypatch):
    monkeypatch.setattr(lattices, "check", lambda *_: None)
    asked = of_lattices("languages=[tr,he,hu]", "lookaheads=[1,3]", "lemmas=[true,false]", "sizes=[8]")
    keys = [cell.key for cell in lattices.cells(asked)]
    assert len(keys) == len(set(keys)) == 3 * (4 + 4 + 4 + 1) + 4  # and those of hu that are guessed
    for training in {asked.training(key) for key in keys}:
        plan(training.settings())
    assert len({cell.settings for cell in lattices.cells(asked) if cell.key[1] == "tr"}) == 9
    given, alone = (asked.training((system, "he", "1", "3", "true")) for system in (lattices.GOLD, lattices.ALONE))
    assert given == alone


@pytest.mark.long
def test_lattices_are_made_for_treebanks_that_have_none(tmp_path):
    asked = of_lattices(f"runs={tmp_path}", "languages=[sample]", f"paths.treebanks={ROOT / 'data'}")
    made = {}
    for system in (lattices.LATTICES, lattices.SUFFIXES):
        lattices.make_lattices(asked, system, "sample")
        for part, file in asked.lattice_files(system, "sample").items():
            made[system, part] = read_lattices(file)
            assert len(made[system, part]) == len(read_treebank(ROOT / f"data/sample/sample-ud-{part}.conllu"))
    for part in lattices.PARTS:
        plain, guessed = ([one.arcs for one in made[system, part]] for system in (lattices.LATTICES, lattices.SUFFIXES))
        assert plain != guessed


def test_nothing_is_guessed_where_lattices_are_given():
    with pytest.raises(ValueError, match=r"^tr: .*'lattices by suffixes'"):
        lattices.EXPERIMENT.main(of_lattices("languages=[hu,tr]", "systems=['lattices by suffixes']"))
