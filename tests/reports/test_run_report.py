"""The page about runs: every part is there, the numbers are those of the scorer,
nothing comes from the network.
"""

import json
import random
import re
import shutil
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
import torch

from oracles.errors import OptimalStepError
from parser.commands.report import main
from parser.data.treebank import Sentence, read_treebank
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary
from parser.decoding.parse_options import TagUse
from parser.drawing.html import confusion_table, table
from parser.evaluation.comparison import compare
from parser.evaluation.scores import NAMES, evaluate_files
from parser.model.trained_model import TrainedModel
from parser.network_spec import ClassifierSpec
from parser.reports.run_report import Parsed, _histogram, gold_file, report
from parser.transitions.features import slots_of
from tests.forgery import small_model
from tests.parsed_files import parse_file
from tests.random_trees import random_projective_tree
from tests.toy import sentence, write_conllu


def run_folder(folder: Path, gold: Path, seed: int) -> Path:
    torch.manual_seed(seed)
    tags = Vocabularies({"upos": Vocabulary(["ADJ", "DET", "NOUN", "PUNCT", "VERB"])})
    relations = Vocabulary(["det", "nsubj", "obj", "punct", "root"])
    slots = slots_of({"upos": ["s0", "s1", "b0"]})
    TrainedModel.new(tags, relations, slots, ClassifierSpec(8, "relu", 0.0, 0.0, 0.0, {})).save(
        folder / "model"
    )
    (folder / "metrics.json").write_text(json.dumps({"treebank": "toy", "seed": seed}))
    (folder / "run.json").write_text(
        json.dumps(
            {"settings": {"seed": seed, "treebank": {"test": str(gold), "dev": None}}, "files": {}}
        )
    )
    return folder


@pytest.fixture
def runs(tmp_path) -> tuple[Path, Path, Path]:
    rng = random.Random(2)
    trees = [random_projective_tree(rng, 9) for _ in range(30)]
    one_root = [heads for heads in trees if heads.count(0) == 1]
    gold = write_conllu(tmp_path / "gold.conllu", [sentence(heads, rng) for heads in one_root])
    return run_folder(tmp_path / "one", gold, 1), run_folder(tmp_path / "two <b>", gold, 2), gold


def test_a_page_about_one_run_and_about_two(runs, tmp_path):
    one, two, _ = runs
    main([str(one), "-o", str(tmp_path / "one.html")])
    main([str(one), str(two), "-o", str(tmp_path / "two.html")])
    for name in ("one", "two"):
        made = (tmp_path / f"{name}.html").read_text()
        last = "with the most errors" if name == "one" else "in which A and B differ most"
        for heading in (
            "Scores",
            "LAS of sentences",
            "LAS by relation",
            "LAS by projectivity",
            "Confused relations",
            last,
        ):
            assert heading in made, heading
        assert "http" not in made.replace("http://www.w3.org/2000/svg", "")
        assert "95% interval" in made
        assert "<b>" not in made
        assert ("<th>p</th>" in made) == (name == "two")
    assert (tmp_path / "one.html").read_text().count("<h3>sentence ") == 10
    assert (tmp_path / "two.html").read_text().count("<h3>sentence ") == 20
    assert re.findall(r"<h3>sentence \d+(.*?)</h3>", (tmp_path / "two.html").read_text())[:3] == [
        ", A",
        ", B",
        ", A",
    ]


def test_the_page_begins_with_a_list_of_its_sections(runs):
    one, two, gold = runs
    for folders in ([one], [one, two]):
        made = report(folders, gold)
        nav, _, rest = made.partition("</nav>")
        assert "<h2>" not in nav
        links = re.findall(r'<a href="#([^"]+)">([^<]+)</a>', nav)
        titles = re.findall(r'<a id="([^"]+)"></a>\n<h2>([^<]+)</h2>', rest)
        assert len({name for name, _ in titles}) == len(titles) == rest.count("<h2>") >= 7
        assert [name for name, _ in links] == [name for name, _ in titles]
        assert all(
            title.endswith(shown) for (_, shown), (_, title) in zip(links, titles, strict=True)
        )
        lines = [re.sub("<.*?>", "", line) for line in re.findall("<li>(.*?)</li>", nav)]
        assert lines[:3] == [
            "Scores",
            "LAS of sentences",
            "LAS by relation, length, distance, depth, projectivity",
        ]


def test_two_runs_are_a_and_b_and_of_their_settings_those_that_differ_are_shown(runs, tmp_path):
    one, two, _ = runs
    made = report([one, two], gold_file(one, "test"))
    assert "<title>A against B on gold.conllu</title>" in made
    assert f"<td>A</td><td>{tmp_path.name}/one</td>" in made
    assert f"<td>B</td><td>{tmp_path.name}/two &lt;b&gt;</td>" in made
    assert made.count("two &lt;b&gt;") == 1  # elsewhere it is B
    [differing] = re.findall(r"<tr><th>setting that differs.*?</table>", made, re.DOTALL)
    assert re.findall(r"<tr><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td></tr>", differing) == [
        ("seed", "1", "2")
    ]
    assert "The settings are the same." in report([one, one], gold_file(one, "test"))


def annotated(one: Sentence) -> Sentence:
    """Return the sentence with lemmas and FEATS."""
    return replace(one, lemmas=one.forms, feats=["A=b|C=d"] * len(one))


def test_what_a_model_predicts_is_scored(runs, tmp_path):
    one, _, bare = runs
    gold = write_conllu(
        tmp_path / "annotated.conllu", [annotated(one) for one in read_treebank(bare)]
    )
    small_model("lemmas").save(tmp_path / "text")
    source, target = BytesIO(gold.read_bytes()), BytesIO()
    parse_file(
        TrainedModel.load(tmp_path / "text"),
        source,
        target,
        tags=TagUse.OVERWRITE,
        allow_missing_columns=True,
    )
    (tmp_path / "parsed.conllu").write_bytes(target.getvalue())
    scores = evaluate_files(gold, tmp_path / "parsed.conllu")
    assert report([one], gold).count("Lemmas") == 0
    for made in (report([tmp_path / "text"], gold), report([tmp_path / "text", one], gold)):
        for key in ("upos", "ufeats", "lemmas", "blex"):
            assert re.search(
                rf"<td>{NAMES[key]}</td><td[^>]*>(<[^>]*>)*[^<]*(</[^>]*>)*"
                rf" {scores[key].f1:.2f}</td>",
                made,
            ), key
        assert "<td>XPOS</td>" not in made
    # read, not predicted
    assert "<td>UPOS</td><td>gold</td><td></td>" in report([one, tmp_path / "text"], gold)


def test_a_column_without_gold_values_has_no_score(runs, tmp_path):
    """The treebank has UPOS alone; the model also predicts lemmas and FEATS."""
    gold = runs[2]
    small_model("lemmas").save(tmp_path / "text")
    for made in (
        report([tmp_path / "text"], gold),
        report([tmp_path / "text", tmp_path / "text"], gold),
    ):
        for name in ("UFeats", "Lemmas"):
            assert f"<td>{name}</td><td>-</td><td></td>" in made
        assert "<td>UPOS</td><td>-</td>" not in made


def test_the_histogram_counts_each_sentence_once(runs):
    one, _, gold = runs
    [shown] = re.findall(r"<h2>LAS of sentences</h2>(.*?)</table>", report([one], gold), re.DOTALL)
    rows = re.findall(
        r'<tr><td>(.*?)</td><td class="number">(\d+)</td><td class="number">.*?</span>'
        r" ([\d.]+)</td>",
        shown,
    )
    n = gold.read_text().count("\n\n")
    assert [sum(int(count) for _, count, _ in rows), len(rows)] == [n, 11]
    assert sum(float(percent) for *_, percent in rows) == pytest.approx(100, abs=0.1)
    assert int(rows[-1][1]) < n  # the weights are random
    perfect = Parsed("A", "", {}, {}, {}, compare(gold, gold))
    assert f'<td>100</td><td class="number">{n}</td>' in "".join(_histogram([perfect]))


def test_a_matrix_with_others():
    counts = {("a", "a"): 5, ("a", "b"): 2, ("b", "b"): 3, ("c", "c"): 1, ("c", "a"): 1}
    made = confusion_table(counts, most=2)
    assert made.count(">(others)<") == 2
    assert [made.count(f">{n}</td>") for n in (5, 2, 3, 1)] == [1, 1, 1, 2]


@pytest.mark.parametrize(
    ("part", "files", "message"),
    [
        (
            "dev",
            {"test": "gold.conllu", "dev": None},
            "no dev part in a file of its own; use --part test, or give --gold FILE",
        ),
        (
            None,
            {"test": None, "dev": None},
            "no test or dev part in a file of its own; give --gold FILE",
        ),
        (
            "test",
            {"test": ["gold.conllu"]},
            "its test part has several files; give one of them as --gold FILE",
        ),
        (
            "test",
            {"test": {"hu": "gold.conllu"}},
            "its test part has several files; give one of them as --gold FILE",
        ),
        ("test", None, r"finished run.* --gold FILE"),
    ],
)
def test_what_there_is_no_report_about(tmp_path, part, files, message):
    if files:
        (tmp_path / "run.json").write_text(json.dumps({"settings": {"treebank": files}}))
    with pytest.raises(ValueError, match=message):
        gold_file(tmp_path, part)


@pytest.mark.parametrize(
    ("name", "content"),
    [("metrics.json", '{"dev"'), ("run.json", "[" * 100_000), ("run.json", "[]")],
)
def test_a_damaged_file_of_a_run_is_named(runs, tmp_path, name, content):
    one, _, gold = runs
    folder = tmp_path / "run"
    shutil.copytree(one, folder)
    (folder / name).write_text(content)
    with pytest.raises(OptimalStepError, match=rf"run/{name}: this file is (damaged|not of a run)"):
        report([folder], gold)


def test_a_run_without_a_test_part_is_reported_on_dev(runs, tmp_path):
    one, two, gold = runs
    settings = {"treebank": {"test": None, "dev": str(gold), "train": "other.conllu"}}
    (one / "run.json").write_text(json.dumps({"settings": settings}))
    main([str(one), "-o", str(tmp_path / "dev.html")])
    assert (
        f"<p>Gold trees: gold.conllu, dev part of {tmp_path.name}/one.</p>"
        in (tmp_path / "dev.html").read_text()
    )
    assert "<p>Gold trees: gold.conllu, dev part of A, test part of B.</p>" in report(
        [one, two], gold_file(one)
    )


def test_two_runs_differ_by_relation(runs):
    one, two, gold = runs
    made = report([one, two], gold)
    rows = re.findall(
        r"<tr><td>(\w+)</td><td[^>]*>\d+</td><td.*?</span> ([\d.]+)</td><td.*?</span>"
        r" ([\d.]+)</td><td>(.*?)</td>",
        made,
    )
    assert {"nsubj", "det"} <= {relation for relation, *_ in rows}
    assert all(
        float(b) - float(a) == pytest.approx(float(difference), abs=0.011)
        for _, a, b, difference in rows
    )
    assert any(float(difference) for *_, difference in rows)


def test_no_row_is_empty_and_all_bars_begin_at_the_left(runs):
    one, two, gold = runs
    (one / "metrics.json").write_text(json.dumps({"treebank": "toy", "degree": None, "seed": 0}))
    (one / "run.json").write_text(
        json.dumps({"settings": {"features": {"xpos": [], "form": ["s0"]}}})
    )
    (two / "run.json").write_text(json.dumps({"settings": {"features": {"form": ["s1"]}}}))
    made = report([one], gold)
    assert "<td>seed</td><td>0</td>" in made
    assert table(["relation"], []) == '<p class="note">none</p>'
    assert not re.findall(r"<td>\w+</td>(?:<td></td>)+</tr>", made)
    assert "<td>features.xpos</td>" not in report([one, two], gold)
    bars = re.findall(
        r"width: ([\d.]+)em; margin-right: calc\(([\d.]+)em \+ (\d)ch\)\"></span> ([\d.]+)", made
    )
    assert {
        (round(float(width) + float(margin), 2), int(digits) + len(shown))
        for width, margin, digits, shown in bars
    } == {(5, 6)}


def test_depths_that_no_gold_word_has_are_left_out(runs, tmp_path):
    one, _, _ = runs
    flat = write_conllu(tmp_path / "flat.conllu", [sentence([0, 1, 1, 1, 1]) for _ in range(20)])
    made = report([one], flat)
    assert not re.findall(
        r'<td>[^<]*</td><td class="number">0</td><td', made.partition("LAS by relation")[2]
    )
    assert re.findall(
        r"<td>(\d)</td>", made.partition("LAS by depth")[2].partition("</table>")[0]
    ) == ["1", "2"]
