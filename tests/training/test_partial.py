"""Training on trees that are known in part: what is taught, for every system,
and what is refused.
"""

import logging
import random
from pathlib import Path

import numpy as np
import pytest

import oracles
from oracles import UNKNOWN_HEAD, Trees
from parser import transitions
from parser.commands import check
from parser.data.sentences import NO_NODE, Sentences
from parser.data.treebank import TreebankError, read_treebank
from parser.model.trained_model import TrainedModel
from parser.settings.groups import Policy, Target
from parser.training.examples.examples import TrainingSentences, gold_examples
from parser.training.examples.exploration import explore
from parser.training.folds import pool_folds
from parser.training.model_card import ModelCard
from parser.training.observers.console import final_table
from parser.training.run import train
from parser.transitions import covington
from parser.transitions.decisions import any_output
from parser.transitions.features import FeatureTable, Slot
from tests.random_trees import random_mildly_nonprojective_tree
from tests.training.small_runs import BILSTM, TEXT, check_resumes, files_of, run
from tests.transition_systems import systems

SYSTEMS = systems("swap")  # whose oracle needs whole trees


def hide(conllu: str, rng: random.Random, share: float) -> str:
    """Without some heads and their relations, and without some relations alone."""
    lines = []
    for line in conllu.splitlines(keepends=True):
        columns = line.split("\t")
        if len(columns) > 7 and rng.random() < share:
            columns[7] = "_"
            if rng.random() < 0.7:
                columns[6] = "_"
        lines.append("\t".join(columns))
    return "".join(lines)


@pytest.fixture(scope="module")
def partial(treebank, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("data") / "partial.conllu"
    path.write_text(
        hide(treebank.read_text(encoding="utf-8"), random.Random(1), 0.5), encoding="utf-8"
    )
    return path


FEW = ["treebank.partial=true", "vectors.epochs=1", "first_pass.epochs=2", "second_pass.epochs=2"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_trains_on_them(system, partial, tmp_path):
    metrics = train(run(partial, *FEW, f"system={system}"), tmp_path)
    gold = read_treebank(partial, partial=True)
    assert (
        metrics["train"]["known_heads"]
        == metrics["dev"]["known_heads"]
        == gold.n_known_heads
        < gold.n_words
    )
    assert "_" not in TrainedModel.load(tmp_path).relations


OTHERS = [
    BILSTM,
    TEXT,
    ["recipe=accurate", "beam=local"],
    ["recipe=accurate", "beam=global", "beam.size=4", "beam.training.epochs=2"],
    *([f"column={column}", "oracle=context_rows"] for column in (2, 3)),
    *([f"column={column}"] for column in (5, 6)),
]


@pytest.mark.parametrize("more", OTHERS)
def test_with_other_models_and_the_trees_of_every_column(more, partial, tmp_path):
    assert train(run(partial, *more, *FEW), tmp_path)["dev"]["known_heads"]


def test_a_killed_run_is_resumed_to_the_same_end(partial, tmp_path):
    """Within the first pass, whose examples are made anew."""
    check_resumes(run(partial, *FEW, "first_pass.epochs=3"), tmp_path, 2)


def test_the_setting_alone_changes_nothing(treebank, finished, tmp_path):
    train(run(treebank, "treebank.partial=true"), tmp_path)
    assert files_of(tmp_path) == files_of(finished()[0])


@pytest.mark.parametrize("target", [None, Target.own_best])
def test_leaving_out_a_word_whose_head_is_not_known_teaches_nothing(target):
    """The heads of words 1 and 2 are unknown. Taught are the arc from 2 to 3,
    and the shift once it is made.
    """
    system = transitions.create("covington", 2)
    table = FeatureTable([Slot.parse("s0:upos")], ["upos"], system.candidate_positions)
    data = one_sentence([UNKNOWN_HEAD, UNKNOWN_HEAD, 2], [-1, -1, 1])
    bound = oracles.create(system.gold_oracle, **system.gold_options).bind(data.trees)
    if target is None:
        found = gold_examples(data, bound, system, table)
    else:
        scorer = lambda features: np.zeros((len(features), system.n_outputs), np.float32)  # noqa: E731
        follows_gold = Policy.mixed, 0.0
        found, _ = explore(
            data, bound, system, table, scorer, target, *follows_gold, np.random.default_rng(1)
        )
    assert len(found) == 1
    arc = system.block_starts[covington.RIGHT] + 1  # its blocks are its columns
    assert (found.targets == arc).any(axis=1).sum() == 1


def one_sentence(heads: list[int], relations: list[int]) -> TrainingSentences:
    sentences = Sentences(np.full((1, len(heads) + 1), 3, np.int32), np.array([0, len(heads) + 1]))
    trees = Trees.from_heads([heads], partial=True)
    return TrainingSentences(sentences, trees, np.array([NO_NODE, *relations], np.int32))


@pytest.mark.parametrize("system_name", SYSTEMS)
def test_gold_computations_keep_all_known_arcs_and_teach_no_guess(system_name):
    """Whichever transitions are taken among the optimal ones,
    those of chance or the classifier's.
    """
    rng = random.Random(3)
    system = transitions.create(system_name, 2)
    table = FeatureTable(
        [Slot.parse(f"{system.always_there}:upos")], ["upos"], system.candidate_positions
    )
    oracle = oracles.create(system.oracles[0], **system.options)
    for _ in range(20):
        n = rng.randint(1, 7)
        tree = oracles.projectivize(random_mildly_nonprojective_tree(rng, n))
        if tree.count(0) > 1:
            continue
        heads = [UNKNOWN_HEAD if rng.random() < 0.5 else head for head in tree]
        data = one_sentence(
            heads, [0 if head == UNKNOWN_HEAD else rng.choice([-1, 1]) for head in heads]
        )
        bound = oracle.bind(data.trees)
        made: list[np.ndarray] = []
        gold_examples(
            data,
            bound,
            system,
            table,
            lambda batch, rows, columns, made=made: made.append(batch.now.heads.copy()),
        )
        known = np.array([UNKNOWN_HEAD, *heads]) != UNKNOWN_HEAD
        np.testing.assert_array_equal(made[-1][0, known], np.array([UNKNOWN_HEAD, *heads])[known])

        scorer = lambda features: np.zeros((len(features), system.n_outputs), np.float32)  # noqa: E731
        followed, report = explore(
            data,
            bound,
            system,
            table,
            scorer,
            policy=Policy.mixed,
            probability=0.0,
            generator=np.random.default_rng(1),
        )
        assert (report.lost_edges, report.reached_gold_percent) == (0, 100.0)
        assert ((followed.targets >= 0) & (followed.targets < system.n_outputs)).any(
            axis=1
        ).all() or followed.starts is not None


def test_an_unknown_relation_teaches_the_transition_with_any_label_and_an_unknown_head_nothing():
    system = transitions.create("arc_standard", 3)
    table = FeatureTable([Slot.parse("s0:upos")], ["upos"])

    def taught(heads: list[int], relations: list[int]) -> list[list[int]]:
        data = one_sentence(heads, relations)
        examples = gold_examples(
            data, oracles.create("context_rows").bind(data.trees), system, table
        )
        return [sorted(row[row != NO_NODE].tolist()) for row in examples.targets]

    # shift, shift, 2 below 1 by any relation, 1 below the root by the last one
    assert taught([0, 1], [2, -1]) == [[0], [0], [1, 2, 3], [3]]
    assert any_output(any_output(np.array([1, 2]))).tolist() == [1, 2]
    assert 0 < len(taught([UNKNOWN_HEAD, UNKNOWN_HEAD, 2], [-1, -1, 1])) < 6
    assert taught([UNKNOWN_HEAD] * 3, [-1] * 3) == []


def without(columns: set[int], conllu: str) -> str:
    """With _ in these columns."""
    lines = (line.split("\t") for line in conllu.splitlines())
    return "".join(
        "\t".join("_" if c in columns else one for c, one in enumerate(line)) + "\n"
        for line in lines
    )


def test_where_no_relation_is_known_heads_alone_are_measured(treebank, tmp_path, caplog):
    dev = tmp_path / "dev.conllu"
    dev.write_text(without({7}, treebank.read_text(encoding="utf-8")), encoding="utf-8")
    parts = [f"treebank.dev={dev}", f"treebank.test={dev}", "tensorboard.figures=true"]
    metrics = train(run(treebank, *FEW, *parts), tmp_path / "run", [ModelCard("train")])
    assert {*metrics["dev"]} == {"uas", "uas_nopunct", "known_heads"} == {*metrics["test"]}
    assert "calibration_error_percent" not in metrics
    assert f"{dev}: the dev part has HEAD but no DEPREL: LAS is not measured" in caplog.text
    cells = final_table(metrics).splitlines()[-1].split()
    assert cells[-4:] == ["-", "-", f"{metrics['test']['uas_nopunct']:.2f}", "-"]
    assert " | - | - | " in (tmp_path / "run" / "model" / "README.md").read_text(encoding="utf-8")


def test_where_no_head_is_known_nothing_is_measured(treebank, tmp_path, caplog):
    """Neither in the dev part, every tenth sentence, nor in one of two folds."""
    caplog.set_level(logging.INFO)
    sentences = treebank.read_text(encoding="utf-8").split("\n\n")[:30]
    sentences[9::10] = (without({6, 7}, one).rstrip("\n") for one in sentences[9::10])
    made = tmp_path / "made.conllu"
    made.write_text("\n\n".join(sentences) + "\n\n", encoding="utf-8")
    parts = [
        "treebank.dev=null",
        "treebank.test=null",
        "treebank.held_out=0.1",
        "tensorboard.figures=true",
    ]
    metrics = train(run(made, *FEW, *parts), tmp_path / "run", [ModelCard("train")])
    assert metrics["dev"] == {"known_heads": 0}
    assert "the dev part has no HEAD: UAS and LAS are not measured" in caplog.text
    assert final_table(metrics).splitlines()[-1].split()[-5:] == ["-"] * 5
    assert not [
        record
        for record in caplog.records
        if ", epoch " in record.getMessage() and "dev" in record.getMessage()
    ]
    fold = metrics | {"test": {"known_heads": 0}, "test_part": {"words": 9}}
    other = fold | {"test": {"uas": 50.0, "known_heads": 4}, "test_part": {"words": 9, "known": 4}}
    assert pool_folds([fold, other])["test"] == {"uas": 50.0, "known_heads": 4}
    assert "mean" in final_table(pool_folds([fold, fold]))


def test_a_part_without_heads_cannot_be_scored(partial, treebank, tmp_path):
    bare = tmp_path / "bare.conllu"
    bare.write_text(without({6, 7}, treebank.read_text(encoding="utf-8")), encoding="utf-8")
    for part in ("dev", "test"):
        with pytest.raises(
            TreebankError, match=r"bare\.conllu: no head is known, so this part cannot be scored"
        ):
            train(run(partial, *FEW, f"treebank.{part}={bare}"), tmp_path / "run")
    with pytest.raises(
        TreebankError, match=r"bare\.conllu: no head is known, so there is nothing to learn"
    ):
        train(run(bare, *FEW, f"treebank.dev={partial}"), tmp_path / "run")


@pytest.mark.parametrize(
    ("heads", "said"),
    [
        ("_ _ _", "no head is known"),
        ("2 1 _", "cycle"),
        ("0 0 _", "line 2, sentence 1: several roots"),
        ("4 _ _", "line 1, sentence 1: the head 4"),
        ("x _ _", "line 1, sentence 1: the head 'x'"),
    ],
)
def test_what_is_no_part_of_a_tree_is_refused(heads, said, tmp_path):
    path = tmp_path / "a.conllu"
    lines = [f"{i}\ta\t_\t_\t_\t_\t{head}\t_\t_\t_\n" for i, head in enumerate(heads.split(), 1)]
    path.write_text("".join([*lines, "\n"]), encoding="utf-8")
    with pytest.raises(TreebankError, match=said):
        read_treebank(path, partial=True)


def test_check_takes_them_if_it_is_told_so(partial, capsys):
    assert check.main([str(partial)]) == 1
    told = capsys.readouterr().out
    assert "treebank.partial" not in told
    assert "; --partial accepts unknown heads\n" in told
    assert check.main([str(partial), "--partial"]) == 0
    assert "no fault" in capsys.readouterr().out


def test_a_parser_that_is_there_goes_on_with_them(partial, treebank, finished, tmp_path):
    parts = f"treebank.dev={treebank}", f"treebank.test={treebank}"
    assert train(run(partial, *FEW, *parts, f"start={finished()[0]}"), tmp_path)["train"][
        "known_heads"
    ]


def test_without_the_setting_it_is_named(partial):
    with pytest.raises(
        TreebankError, match=r"the head '_' is not a number.*treebank\.partial=true"
    ):
        read_treebank(partial)
