"""Studies of what the paper leaves open, parsers of text and of lattices: they compose,
and share trainings rightly.
"""

from typing import Any

import pytest
from omegaconf import OmegaConf

from experiments import choices, lattices, text
from experiments.choices import _FIRST_PASS, OpenChoices, Study
from experiments.command import settings_of
from experiments.trainings import Training, is_gone
from oracles.errors import OptimalStepError
from parser.data.treebank import read_treebank
from parser.lattices import read_lattices
from parser.model_folder import TOKENIZER
from parser.settings.plan import plan
from tests.forked import works
from tests.toy import CONFIGS, ROOT, TINY

STUDIES = OmegaConf.load(CONFIGS / "experiments" / "choices.yaml").all_studies
LITERAL = OmegaConf.load(CONFIGS / "experiments" / "paper_literal.yaml")


@pytest.mark.parametrize("name", list(STUDIES))
def test_the_default_comes_first_and_shares_its_first_pass(name):
    variants = list(STUDIES[name].variants.values())
    assert list(variants[0]) == []
    first_pass = Training("hu", "paper_tuned", 5, 1, "there", ()).settings()
    for settings in variants:
        if is_gone(settings):
            continue
        if not any(setting.startswith(_FIRST_PASS) for setting in settings):
            made = Training("hu", "paper_tuned", 5, 1, "there", tuple(settings)).settings()
            for key in (
                "first_pass",
                "vectors",
                "classifier",
                "optimizer",
                "features",
                "projectivization",
                "keep",
            ):
                assert made[key] == first_pass[key]


@pytest.mark.parametrize(("name", "column"), [("column_5", 5), ("column_3", 3)])
def test_the_way_to_paper_literal_ends_there_and_takes_one_step_at_a_time(name, column):
    def plain(recipe: str, settings: list[str]) -> dict:
        made = Training("hu", recipe, 5, 1, "there", tuple(settings)).settings()
        found: Any = OmegaConf.to_container(made, resolve=True)
        return {key: value for key, value in found.items() if key != "recipe"}

    first, *steps, last = [list(variant) for variant in LITERAL.all_studies[name].variants.values()]
    assert plain("paper", first) == plain("paper", [f"column={column}"])
    departures = {"keep", "projectivization", "single_root", "vocabulary_from"}
    literal, at_the_end = plain("paper_literal", [f"column={column}"]), plain("paper", last)
    # Column 3 projectivizes nothing; column 5 leaves no sentence out.
    unread = {"projectivization"} if column == 3 else {"vocabulary_from"}
    assert {key for key in literal if literal[key] != at_the_end[key]} == unread
    start = plain("paper", first)
    for step in steps:
        made = plain("paper", step)
        changed = {key for key in made if made[key] != start[key]}
        assert len(changed) == 1
        assert changed <= departures


def test_differences_are_paired_by_treebank_and_seed():
    las = {
        ("", "a", 1): 50,
        ("", "a", 2): 52,
        ("x=1", "a", 1): 51,
        ("x=1", "a", 2): 54,
        ("", "b", 1): 60,
        ("", "b", 2): 60,
    }
    las |= {("x=1", "b", 1): 60, ("x=1", "b", 2): 61}
    names = ("recipe", "treebank", "seed", "settings", "las")
    rows = [
        dict(zip(names, ("r", t, str(n), s, str(score)), strict=True))
        for (s, t, n), score in las.items()
    ]
    wanted = settings_of(OpenChoices, "choices", ["languages=[b,a]", "seeds=1", "recipe=r"])
    wanted.all_studies = {"q": Study("Why?", {"as it is": [], "x": ["x=1"], "y": ["y=1"]})}
    text = choices.page(rows, wanted)  # all that there are rows of, whatever was asked for
    assert "| as it is | 60.00 ± 0.00 | 51.00 ± 1.41 |  |" in text
    assert "| x | 60.50 ± 0.71 | 52.50 ± 2.12 | +1.00 ± 0.41 |" in text
    assert "| y | not run | not run | not run |" in text
    assert "| x | 60.00 (1 seed) | 52.50 ± 2.12 | +1.00 ± 0.58 |" in choices.page(rows[:-1], wanted)


def test_variants_that_share_a_first_pass_are_trained_together():
    def grouped(recipe: str) -> list[list[str]]:
        wanted = settings_of(
            OpenChoices, "choices", ["languages=[sample]", "seeds=1", f"recipe={recipe}"]
        )
        variants = {"a": [], "b": ["vectors.epochs=5"], "c": ["second_pass.explore_every=5"]}
        wanted.all_studies = {"q": Study("Why?", variants)}
        groups: dict[str, list[str]] = {}
        for cell in choices.cells(wanted):
            groups.setdefault(cell.group, []).append(cell.settings)
        return [*groups.values()]

    assert grouped("paper_tuned") == [["", "second_pass.explore_every=5"], ["vectors.epochs=5"]]
    # one schedule for both passes
    assert grouped("accurate") == [[""], ["vectors.epochs=5"], ["second_pass.explore_every=5"]]


@pytest.mark.long
def test_the_command(tmp_path, small_sample):
    given = ",".join(map(repr, TINY))
    variants = f"{{one:[{given}],any number:['single_root=false',{given}]}}"
    what = ["languages=[sample]", "seeds=1", "recipe=paper", "studies=[single_root]"]
    what += ["published=null", f"all_studies.single_root.variants={variants}"]
    folders = f"results={tmp_path}/results", f"runs={tmp_path}/runs"
    works("experiments/choices.py", *what, *folders, folder=small_sample)
    assert (tmp_path / "results" / "results.csv").read_text().count("\n") == 3
    assert "| any number |" in (tmp_path / "results" / "paper.md").read_text()


def test_raw_text_is_that_of_the_comments(tmp_path):
    word = "1\tA" + "\t_" * 8 + "\n\n"
    lines = f"# newdoc\n# text = A b.\n{word}# text = C\n{word}# newpar\n# text = D e\n{word}"
    (tmp_path / "gold.conllu").write_text(lines)
    assert text.raw_text(tmp_path / "gold.conllu") == "A b. C\n\nD e\n\n"


def test_systems_that_share_a_training_are_one_job():
    systems = ["text", "text, beam 8", "characters"]
    wanted = settings_of(text.Text, "text", [f"systems={systems}", "languages=[sample]", "seeds=2"])
    assert wanted.beams.keys() <= wanted.all_systems.keys()
    cells = {cell.key: cell for cell in text.cells(wanted)}
    assert len(cells) == 3 * 2
    groups = {key: cell.group for key, cell in cells.items()}
    assert groups["text", "sample", "1"] == groups["text, beam 8", "sample", "1"]
    assert len(set(groups.values())) == 2 * 2
    assert cells["text, beam 8", "sample", "1"].settings == "recipe=text beam.size=8"


@pytest.mark.parametrize(("system", "instead"), text.GONE.items())
def test_systems_with_the_tokenizer_of_udpipe_are_refused_by_name(system, instead):
    wanted = settings_of(text.Text, "text", ["languages=[sample]"])
    wanted.systems = ["text", system]
    with pytest.raises(OptimalStepError, match=rf"{system}.*c2a89270.*{instead}"):
        text.cells(wanted)


def test_fresh_trains_the_tokenizer_again(tmp_path, monkeypatch):
    def train_into(training, folder, seed):
        folder.mkdir(exist_ok=True)
        (folder / TOKENIZER).write_text(
            f"{(folder / TOKENIZER).exists()} {training.treebank} {seed}"
        )

    monkeypatch.setattr(text, "train_into", train_into)
    training = settings_of(text.Text, "text").training("text", "hu", 1)
    folder = text.tokenizer_of(training, tmp_path)
    assert (folder / TOKENIZER).read_text() == "False hu 1"
    assert text.tokenizer_of(training, tmp_path) == folder
    assert (folder / TOKENIZER).read_text() == "False hu 1"
    text.tokenizer_of(training, tmp_path, fresh=True)
    assert (folder / TOKENIZER).read_text() == "True hu 1"


def of_lattices(*overrides: str) -> lattices.LatticeExperiment:
    return settings_of(lattices.LatticeExperiment, "lattices", overrides)


def test_the_systems_of_lattices_are_settings_that_can_be(monkeypatch):
    monkeypatch.setattr(lattices, "check", lambda *_: None)
    asked = of_lattices(
        "languages=[tr,he,hu]", "lookaheads=[1,3]", "lemmas=[true,false]", "sizes=[8]"
    )
    keys = [cell.key for cell in lattices.cells(asked)]
    # and those of hu that are guessed
    assert len(keys) == len(set(keys)) == 3 * (4 + 4 + 4 + 1) + 4
    for training in {asked.training(key) for key in keys}:
        plan(training.settings())
    assert len({cell.settings for cell in lattices.cells(asked) if cell.key[1] == "tr"}) == 9
    given, alone = (
        asked.training((system, "he", "1", "3", "true"))
        for system in (lattices.GOLD, lattices.ALONE)
    )
    assert given == alone
    # nothing is guessed where lattices are given
    with pytest.raises(ValueError, match=r"^tr: .*'lattices by suffixes'"):
        lattices.EXPERIMENT.main(
            of_lattices("languages=[hu,tr]", "systems=['lattices by suffixes']")
        )


@pytest.mark.long
def test_lattices_are_made_for_treebanks_that_have_none(tmp_path):
    asked = of_lattices(
        f"runs={tmp_path}", "languages=[sample]", f"paths.treebanks={ROOT / 'data'}"
    )
    made = {}
    for system in (lattices.LATTICES, lattices.SUFFIXES):
        lattices.make_lattices(asked, system, "sample")
        for part, file in asked.lattice_files(system, "sample").items():
            made[system, part] = read_lattices(file)
            assert len(made[system, part]) == len(
                read_treebank(ROOT / f"data/sample/sample-ud-{part}.conllu")
            )
    for part in lattices.PARTS:
        plain, guessed = (
            [one.arcs for one in made[system, part]]
            for system in (lattices.LATTICES, lattices.SUFFIXES)
        )
        assert plain != guessed
