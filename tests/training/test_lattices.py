"""Learning from lattices: examples of choices against a replay over lists,
and whole runs on small lattices.
"""

import io
import random
import re
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import oracles
from parser.commands.parse import main as parse_main
from parser.conllu.stream import RawSentence, read_raw_sentences
from parser.data.sentences import NO_NODE
from parser.evaluation import evaluate_files
from parser.lattices import Lattice, conllu, text_of
from parser.lattices.gold_paths import GoldPath, gold_path
from parser.model.trained_model import TrainedModel
from parser.settings.plan import Plan
from parser.training.examples.examples import TrainingSentences, gold_examples
from parser.training.examples.lattices import Choices
from parser.training.run import train
from parser.training.run_folder import CheckpointError
from tests.decoding.computations import read_slots
from tests.decoding.slow_lattices import lattice_model
from tests.lattices.made import all_paths, drawn_lattice
from tests.toy import planned
from tests.transitions.reference_systems import State


def star(lattice: Lattice, rng: random.Random) -> RawSentence:
    """Return a tree over one of the paths, in which all words are children of the first."""
    arcs = rng.choice(all_paths(lattice))
    text = conllu(lattice, arcs, [0, *(1 for _ in arcs[1:])], ["root", *("obj" for _ in arcs[1:])])
    (sentence,) = read_raw_sentences(io.BytesIO(text.encode()), "t")
    return sentence


def replayed(
    model: TrainedModel, path: GoldPath, lookahead: int
) -> list[tuple[tuple[int, ...], ...]]:
    """Return the feature rows of every choice among several arcs, the gold one first,
    along the gold computation of a star.
    """
    lattice, arcs = path.lattice, [int(arc) + 1 for arc in path.arcs]
    values = model.vocabularies.encode([lattice]).values
    found = []

    def choose(state: State, ahead: list[int], word: int) -> None:
        gold = arcs[word]
        candidates = [
            arc + 1
            for arc in range(len(lattice))
            if lattice.starts[arc] == lattice.starts[gold - 1]
        ]
        rows = {
            arc: read_slots(model.table, values, State(state.stack, [*ahead, arc], state.arcs))
            for arc in candidates
        }
        if len(candidates) > 1:
            found.append((rows[gold], *sorted(rows[arc] for arc in candidates if arc != gold)))

    state = State([0], [])
    for word in range(min(lookahead, len(arcs))):
        choose(state, arcs[:word], word)
    for word, arc in enumerate(arcs):
        if word > 1:
            state = State([0, arcs[0]], [], {**state.arcs, arcs[word - 1]: (arcs[0], 1)})
        state = State([*state.stack, arc], [], state.arcs)
        if word + lookahead < len(arcs):
            choose(state, arcs[word + 1 : word + lookahead], word + lookahead)
    return sorted(found)


@pytest.mark.parametrize("lookahead", [1, 2])
def test_examples_of_choices_are_those_of_a_replay(lookahead):
    rng = random.Random(lookahead)
    model = lattice_model(lookahead, lookahead)
    lattices = [drawn_lattice(rng, rng.randint(1, 9), rng.randint(0, 3)) for _ in range(12)]
    paths = [gold_path(lattice, star(lattice, rng)) for lattice in lattices]
    sentences = model.vocabularies.encode([path.sentence for path in paths])
    trees = oracles.Trees.from_heads(path.sentence.heads for path in paths)
    relations = np.full(len(trees.heads), NO_NODE, np.int32)
    relations[trees.heads >= 0] = [
        0 if name == "root" else 1 for path in paths for name in path.sentence.deprels
    ]
    choices = Choices(paths, sentences, model.vocabularies, model.system, model.table, lookahead)
    oracle = oracles.create(model.system.gold_oracle, None).bind(trees)
    data = TrainingSentences(sentences, trees, relations)
    plain = gold_examples(data, oracle, model.system, model.table)
    for _ in range(2):  # begin() forgets
        choices.begin()
        joined = choices.joined(gold_examples(data, oracle, model.system, model.table, choices))
    assert joined.starts is not None
    assert joined.blocks is not None
    np.testing.assert_array_equal(joined.features[: len(plain)], plain.features)
    assert (joined.blocks[: len(plain)] == [0, model.system.n_outputs]).all()
    of_choices = joined.take(np.arange(len(plain), len(joined)))
    assert (of_choices.blocks == [model.system.n_outputs, model.system.n_outputs + 1]).all()
    found: dict[int, list] = {number: [] for number in range(len(paths))}
    for number, first, last in zip(
        of_choices.sentences, of_choices.starts[:-1], of_choices.starts[1:], strict=True
    ):
        targets = of_choices.targets[first:last, 0]
        assert sorted(targets) == [*[NO_NODE] * (last - first - 1), model.system.n_outputs]
        rows = [tuple(row) for row in of_choices.features[first:last].tolist()]
        gold = rows.pop(int(targets.argmax()))
        found[int(number)].append((gold, *sorted(rows)))
    for number, path in enumerate(paths):
        assert sorted(found[number]) == replayed(model, path, lookahead)


KINDS = {"treebank": "conllu", "lattice": "conllul"}


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> Path:
    """Lattices in which a verb and a noun of the same form can be told by the word before,
    and their trees.
    """
    folder = tmp_path_factory.mktemp("lattices")
    rng = random.Random(4)
    for part, n in (("train", 60), ("dev", 20)):
        lattices, trees = [], []
        for number in range(n):
            lattice = drawn_lattice(rng, rng.randint(1, 6), 1)
            lattice.comments = [f"# sent_id = {part}-{number}"]
            lattices.append(text_of(lattice))
            trees.append("".join(star(lattice, rng).lines))
        (folder / f"{part}.conllul").write_text("".join(lattices))
        (folder / f"{part}.conllu").write_text("".join(trees))
    return folder


def run(parts: Path, *further: str) -> Plan:
    files = [
        f"{group}.{part}={parts}/{part}.{kind}"
        for group, kind in KINDS.items()
        for part in ("train", "dev")
    ]
    few = [
        "vectors.epochs=1",
        "vectors.dimensions=4",
        "classifier.hidden=8",
        "first_pass.epochs=1",
        "second_pass.epochs=1",
    ]
    return planned(*files, "treebank.test=null", *few, *further)


@pytest.mark.parametrize(
    "beam", [["beam=local", "beam.size=4", "beam.merge=signature"], ["lattice.beam=4"]]
)
def test_a_run_learns_from_lattices_and_parses_them(parts, tmp_path, monkeypatch, capsys, beam):
    """With the beam that it was measured with, whichever setting that was."""
    metrics = train(run(parts, "recipe=accurate", *beam), tmp_path / "run")
    assert {"las", "uas", "words", "upos", "gold_path_las"} <= metrics["dev"].keys()
    assert TrainedModel.load(tmp_path / "run").lookahead == 3
    output = tmp_path / "parsed.conllu"
    assert parse_command(monkeypatch, tmp_path / "run", parts / "dev.conllul", "-o", output) == 0
    assert "20 sentences" in capsys.readouterr().err
    scores = evaluate_files(parts / "dev.conllu", output)
    for key in ("las", "uas", "words", "upos"):
        assert scores[key].f1 == pytest.approx(metrics["dev"][key])


def parse_command(monkeypatch, *arguments: object) -> int:
    """Return the status of the command parse."""
    monkeypatch.setattr("sys.argv", ["parse.py", *map(str, arguments)])
    return parse_main()


def test_gold_paths_alone_can_be_learned_from_and_changed_lattices_are_noticed(parts, tmp_path):
    shutil.copytree(parts, tmp_path, dirs_exist_ok=True)
    wanted = run(tmp_path, "lattice.choices=false", "column=2", "lattice.lookahead=1")
    metrics = train(wanted, tmp_path / "run")
    model = TrainedModel.load(tmp_path / "run")
    assert model.lookahead is None
    assert not any(slot.position in ("b1", "b2") for slot in model.slots)
    assert train(wanted, tmp_path / "run") == metrics
    with (tmp_path / "dev.conllul").open("a") as file:
        file.write("# changed\n")
    with pytest.raises(CheckpointError, match=r"other contents of lattice\.dev"):
        train(wanted, tmp_path / "run")


def test_a_bad_sentence_does_not_lose_the_rest(parts, tmp_path, monkeypatch, capsys):
    lattice_model(2).save(tmp_path / "model")
    good = (parts / "dev.conllul").read_text()
    (tmp_path / "in.conllul").write_text(f"0\t1\ta\n\n{good}")
    command = tmp_path / "model", tmp_path / "in.conllul", "-o", tmp_path / "out.conllu"
    with pytest.raises(ValueError, match=r"in\.conllul, line 1, sentence 1: 3 columns"):
        parse_command(monkeypatch, *command)
    assert parse_command(monkeypatch, *command, "--on-error=skip", "--beam=2") == 1
    assert "3 columns" in capsys.readouterr().err
    assert (tmp_path / "out.conllu").read_text().count("\n\n") == 20
    for option in ("--on-error=keep", "--allow-missing-columns", "--text"):
        with pytest.raises(ValueError, match="lattice"):
            parse_command(monkeypatch, *command, option)


@pytest.mark.parametrize("merge", ["none", "configuration"])
def test_several_parses_of_each_sentence_are_written(parts, tmp_path, monkeypatch, merge):
    lattice_model(2).save(tmp_path / "model")
    texts = []
    for further in ([], ["--k-best=3"]):
        given = (
            tmp_path / "model",
            parts / "dev.conllul",
            "--beam=3",
            f"--merge={merge}",
            "-o",
            tmp_path / "out.conllu",
        )
        assert parse_command(monkeypatch, *given, *further) == 0
        texts.append((tmp_path / "out.conllu").read_text())
    best, several = (text.split("\n\n")[:-1] for text in texts)
    ranks = re.findall("# beam_rank = (.*)", texts[1])
    scores = [float(score) for score in re.findall("# beam_score = (.*)", texts[1])]
    first = [i for i, rank in enumerate(ranks) if rank == "1"]
    assert len(first) == len(best) == 20
    assert len(set(several)) == len(several) == len(ranks) > 40
    assert [re.sub("# beam.*\n", "", several[i]) for i in first] == best
    for start, end in pairwise([*first, len(ranks)]):
        assert scores[start:end] == sorted(scores[start:end], reverse=True)
