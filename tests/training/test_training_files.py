"""Several training files are one treebank, and what is held out of it is always the same;
scores of all folds together.
"""

import json
import logging
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf

from parser.conllu.checks import UNKNOWN_HEAD
from parser.data.sentences import Parses
from parser.data.treebank import (
    TrainingFiles,
    Treebank,
    TreebankError,
    read_treebank,
    read_treebanks,
    without_held_out,
)
from parser.data.word_vectors import background_vectors
from parser.evaluation.gold_split import GoldSplit, counted_by
from parser.model_folder import EXAMPLE, MODEL, SETTINGS
from parser.settings.files import HOME, completed
from parser.settings.given import NOTHING_GIVEN, Given
from parser.training.example import example_sentence
from parser.training.examples.corpus import Corpus
from parser.training.folds import pool_folds
from parser.training.observers.console import final_table
from parser.training.run import train
from tests.forgery import small_model
from tests.random_trees import random_tree
from tests.toy import sentence, settings, write_conllu
from tests.training.small_runs import run_alone

FEW = [
    "classifier.hidden=4",
    "vectors.dimensions=4",
    "vectors.epochs=1",
    "first_pass.epochs=1",
    "column=1",
]


@pytest.fixture
def files(tmp_path) -> tuple[Path, Path]:
    toys = [sentence([2, 0, 2], random.Random(seed)) for seed in range(25)]
    toys[4] = sentence([3, 4, 0, 3])  # which no first pass learns from
    return write_conllu(tmp_path / "a.conllu", toys[:15]), write_conllu(
        tmp_path / "b.conllu", toys[15:]
    )


def test_every_tenth_sentence_is_held_out(files):
    both = read_treebanks(files)
    assert [s.forms for s in both] == [s.forms for path in files for s in read_treebank(path)]
    assert both.path == f"{files[0]} + {files[1]}"
    kept, held = without_held_out(both, 0.1)
    assert held is not None
    assert held.sentences == [both[9], both[19]]
    assert kept.sentences == [s for s in both if s not in held.sentences]
    assert "one sentence in 10, held out" in held.path
    assert without_held_out(both, 0.0) == (both, None)
    train, dev, test = TrainingFiles([], held_out=(0.1, 0.1)).split(both)
    assert dev.sentences == held.sentences
    assert test.sentences == [both[8], both[18]]  # every ninth of the others
    assert train.sentences == [s for s in both if s not in [*dev, *test]]
    with pytest.raises(TreebankError, match=r"one sentence in 100 .*treebank\.held_out"):
        without_held_out(both, 0.01)
    with pytest.raises(TreebankError, match=r"1 sentence; omit treebank\.held_out"):
        without_held_out(Treebank("one", both.sentences[:1]), 0.1)


def test_each_sentence_is_in_one_fold(files):
    both = read_treebanks(files)
    tested = []
    for number in range(1, 5):
        train, dev, test = TrainingFiles([], fold=(number, 4)).split(both)
        assert dev is None
        assert test is not None
        assert [s for s in both if s not in test.sentences] == train.sentences
        tested += test.sentences
    assert sorted(tested, key=both.sentences.index) == both.sentences
    with pytest.raises(
        TreebankError, match=r"25 sentences cannot be 26 folds; lower treebank\.folds"
    ):
        TrainingFiles([], fold=(1, 26)).split(both)


def run(files: tuple[Path, Path], *overrides: str):
    return run_alone(f"[{files[0]},{files[1]}]", "treebank.held_out=0.2", *FEW, *overrides)


def test_a_run_on_both_with_a_part_held_out(files, tmp_path):
    metrics = train(run(files), tmp_path / "run")
    assert metrics["train"]["sentences"] == 20
    assert metrics["dev"] is not None
    manifest = json.loads((tmp_path / "run" / "run.json").read_text())
    assert sorted(manifest["files"]) == ["treebank.train.0", "treebank.train.1"]


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["treebank.folds=2", "treebank.fold=1", "treebank.on_error=skip"],
        ["vocabulary_from=first_pass"],
    ],
)
def test_vectors_of_another_process_are_of_the_same_sentences(files, overrides):
    if "treebank.on_error=skip" in overrides:
        files[0].write_text(f"word\n\n{files[0].read_text()}")
    made = run(files, *overrides)
    alone = Corpus.new(made).vectors
    with background_vectors(made.vector_request) as background:
        other = Corpus.new(made, background).vectors
    assert alone.vocabulary.symbols == other.vocabulary.symbols
    assert (alone.matrix == other.matrix).all()


def test_faulty_sentences_of_all_parts_are_left_out_and_counted(files, caplog):
    for file in files:
        file.write_text(f"word\n\n{file.read_text()}")
    made = run(files, f"treebank.dev={files[1]}", "treebank.on_error=skip")
    with caplog.at_level(logging.WARNING):
        corpus = Corpus.new(made)
    assert corpus.train.summary["sentences_skipped"] == 2
    assert corpus.dev is not None
    assert (len(corpus.train), len(corpus.dev.sentences)) == (25, 10)
    left_out = [message for message in caplog.messages if "left out" in message]
    assert [message.partition(" ")[0] for message in left_out] == ["2", "1"]
    assert f"{files[0]}, line 1, sentence 1: 1 column" in left_out[0]


def test_names_and_places(files, tmp_path):
    words = ["treebank.train=[a.conllu,b.conllu]"]
    made = completed(settings(*words), Given(words), tmp_path)
    assert made.treebank.name == "a+b"
    assert list(made.treebank.train) == [str(path) for path in files]
    here = {
        "treebank.dev": "d.conllu", "lattice.train": "l.conllul", "vectors.file": "v.vec",
        "start": "runs/f",
    }  # fmt: skip
    others = completed(
        settings(*(f"{key}={path}" for key, path in here.items())), NOTHING_GIVEN, tmp_path
    )
    assert {key: OmegaConf.select(others, key) for key in here} == {
        key: f"{tmp_path}/{path}" for key, path in here.items()
    }
    assert others.lattice.dev is None
    # of the hub
    for name, expected in (("a.conllu", f"{tmp_path}/a.conllu"), ("some/model", "some/model")):
        reading = completed(
            settings("recipe=text", f"encoder.pretrained={name}"), NOTHING_GIVEN, tmp_path
        )
        assert reading.encoder.pretrained == expected
    sample = completed(settings(), NOTHING_GIVEN, tmp_path)
    assert Path(sample.treebank.train) == HOME / "data" / "sample" / "sample-ud-train.conllu"


def test_a_model_that_was_fetched_is_known_by_its_name(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    fetched = tmp_path / "cache" / "optimal-step"
    for folder in (fetched / "hu", fetched / "el", tmp_path / "el"):
        folder.mkdir(parents=True)
    (tmp_path / "el" / SETTINGS).touch()  # so that it looks like a model
    places = {"hu": fetched / "hu"} | {name: tmp_path / name for name in ("el", "tr", "x/hu")}
    for start, expected in places.items():
        made = completed(settings(f"start={start}"), NOTHING_GIVEN, tmp_path)
        assert made.start == str(expected)


def lines(words: str, comments: str = "") -> str:
    """CoNLL-U of words between spaces; one that begins with a hyphen follows the one before without
    a space.
    """
    forms, text = words.split(), ""
    for number, form in enumerate(forms, 1):
        misc = "SpaceAfter=No" if "".join(forms[number : number + 1]).startswith("-") else "_"
        relation = "dep" if number > 1 else "root"
        tagged = f"{form.removeprefix('-')}\tl\tX\tx\tA=b"
        text += f"{number}\t{tagged}\t{number - 1}\t{relation}\t_\t{misc}\n"
    return f"{comments}{text}\n"


IN_TWO = "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"


@pytest.mark.parametrize(
    ("sentences", "text"),
    [
        ([lines("a b c d"), lines("a b c -."), lines("e f g -!")], "a b c."),
        ([lines("a b c d"), lines("e f g h i")], "a b c d"),  # no punctuation, as in some treebanks
        ([lines("a b"), lines("a b c d e f g h i -.")], None),
        (
            [lines("a b c -.", "# text = a b  c.\n"), lines("a b c -?", "# text = a b c?\n")],
            "a b c?",
        ),
        ([lines("de le c d", IN_TWO)], "duc d"),
    ],
)
def test_an_example_is_a_short_sentence_with_its_whole_text(tmp_path, sentences, text):
    path = tmp_path / "a.conllu"
    path.write_text("".join(sentences), encoding="utf-8")
    treebank = read_treebank(path)
    example = example_sentence(treebank, [str(path)])
    if text is None:
        assert example is None
        return
    assert example is not None
    comment, *rest = example.split("\n")
    assert comment == f"# text = {text}"
    words = [line.split("\t") for line in rest if line[:2] in ("1\t", "2\t", "3\t", "4\t")]
    found = next(s for s in treebank if s.forms == [columns[1] for columns in words])
    assert len(found) == 4 == len(words)
    assert {tuple(columns[2:9]) for columns in words} == {("l", "X", "x", "A=b", "_", "_", "_")}


def test_the_model_keeps_an_example_of_the_training_part(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text("".join(lines(f"{word} b c -.") for word in "xyzuvw"), encoding="utf-8")
    fold = ["treebank.folds=3", "treebank.fold=1"]
    train(run_alone(path, *fold, *FEW), tmp_path / "run")
    assert (
        (tmp_path / "run" / MODEL / EXAMPLE)
        .read_text(encoding="utf-8")
        .startswith("# text = y b c.\n1\ty\tl\tX\t")
    )


KEYS = ("uas", "las", "las_universal", "uas_nopunct", "las_nopunct")


def fold(score: float, words: int, words_nopunct: int) -> dict[str, Any]:
    scores, kinds = dict.fromkeys(KEYS, score), ("words", "known", "labelled")
    return {
        "treebank": "toy",
        "column": None,
        "train": {"sentences": 9},
        "dev": scores,
        "test": scores,
        "test_part": dict.fromkeys(kinds, words)
        | dict.fromkeys([f"{kind}_nopunct" for kind in kinds], words_nopunct),
        "seconds": {"read": 1.5, "fit": 1.0},
        "versions": {"python": "3"},
    }


def test_scores_of_all_sentences_together():
    made = pool_folds([fold(60.0, 10, 9), fold(90.0, 20, 9), fold(90.0, 10, 9)])
    assert made["test"]["las"] == pytest.approx((6 + 18 + 9) / 40 * 100)
    assert made["test"]["las_nopunct"] == pytest.approx(80)
    assert made["test_mean"]["las"] == made["dev"]["las"] == pytest.approx(80)
    assert made["test_standard_deviation"]["las"] == pytest.approx(300**0.5)
    assert (made["treebank"], made["column"], made["seconds"]) == ("toy", None, {"total": 7.5})
    lines = [line.split("  ")[0] for line in final_table(made).splitlines()]
    assert lines[1:] == [
        "fold 1",
        "fold 2",
        "fold 3",
        "mean",
        "standard deviation",
        "all sentences together",
    ]


def test_what_some_folds_alone_have_scores_of_counts_there():
    one, other = fold(60.0, 10, 9), fold(90.0, 20, 19)
    one["test"] = one["test"] | {"a/las": 50.0, "known_heads": 4}
    one["test_part"] |= {
        "known": 4,
        "known_nopunct": 3,
        "labelled": 2,
        "labelled_nopunct": 2,
        "a/labelled": 1,
    }
    other["test"] = other["test"] | {"a/las": 80.0, "b/las": 70.0}
    other["test_part"] |= {
        "known": 20,
        "known_nopunct": 19,
        "labelled": 20,
        "labelled_nopunct": 19,
        "a/labelled": 5,
    }
    other["test_part"] |= {"b/labelled": 15}
    test = pool_folds([one, other])["test"]
    assert test["uas"] == pytest.approx((4 * 60 + 20 * 90) / 24)
    assert test["las_universal"] == pytest.approx((2 * 60 + 20 * 90) / 22)
    assert test["las_nopunct"] == pytest.approx((2 * 60 + 19 * 90) / 21)
    assert (test["a/las"], test["b/las"], test["known_heads"]) == (
        pytest.approx((50 + 5 * 80) / 6),
        70.0,
        24,
    )
    assert "b/las" not in pool_folds([one, other])["test_standard_deviation"]


@pytest.mark.parametrize("seed", range(3))
def test_words_are_counted_as_scores_count_them(seed):
    """A score times its words is how many are right: a whole number."""
    rng = random.Random(seed)
    made = [sentence(random_tree(rng, rng.randint(1, 9)), rng) for _ in range(20)]
    for number, one in enumerate(made):
        one.treebank = "ab"[number % 2]
        one.upos = rng.choices(["NOUN", "PUNCT"], k=len(one))
        for word in range(len(one)):
            if rng.random() < 0.3:
                one.heads[word] = UNKNOWN_HEAD
            if rng.random() < 0.3:
                one.deprels[word] = "_"
    model = small_model("static")
    gold = GoldSplit.of(made, model.vocabularies, model.relations)
    parses = Parses.allocate(gold.sentences.offsets)
    words = np.ones(len(parses.heads), np.bool_)
    words[parses.offsets[:-1]] = False
    parses.heads[words] = np.where(np.arange(len(gold.heads)) % 3, gold.heads, 0)
    parses.relations[words] = np.where(np.arange(len(gold.heads)) % 4, gold.relations, 0)
    counts = gold.counted_words()
    scores = gold.scores(parses) | gold.scores_by_treebank(parses)
    known, heads = gold.heads != UNKNOWN_HEAD, parses.heads[words] == gold.heads
    assert gold.labelled.sum() < known.sum() == counts["known"] == scores.pop("known_heads")
    right = heads & (parses.relations[words] == gold.relations)
    assert scores["uas"] == pytest.approx(100 * heads[known].mean())
    assert scores["las"] == pytest.approx(100 * right[gold.labelled].mean())
    assert len(scores) == 9
    for name, score in scores.items():
        right = score / 100 * counts[counted_by(name)]
        assert right == pytest.approx(round(right), abs=1e-6), name
