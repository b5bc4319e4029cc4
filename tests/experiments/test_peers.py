"""Parsers of others: their commands in processes of their own, what is measured of them,
and the page.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from experiments import peers
from experiments.command import settings_of
from experiments.peers import Peer, PeerRun, Peers, words_alone
from experiments.tables import NOT_RUN
from experiments.text import raw_text
from parser.evaluation import evaluate_files
from scripts.benchmarks import spacy_pipeline, udpipe
from tests.toy import ROOT

# A peer that learns nothing: its first command remembers the name of the language,
# and it hangs all words on the first one.
LEARN = "import sys; open('model', 'a').write(sys.argv[1])"
HANG = """
import sys
with open(sys.argv[1]) as source, open(sys.argv[2], "w") as target:
    for line in source:
        number, word, *others = line.split("\\t") if line.strip() else ("", "")
        assert all(column.strip() == "_" for column in others)
        tree = "0\\troot" if number == "1" else "_\\t_" if "-" in number else "1\\tdep"
        tagged = f"{number}\\t{word}\\t_\\tNOUN\\t_\\t_"
        target.write(f"{tagged}\\t{tree}\\t_\\t_\\n" if number else "\\n")
"""


def peer(*train: str, minutes: float = 1) -> Peer:
    return Peer(
        python=sys.executable,
        package="numpy",
        names={"sample": "xx"},
        config={"lexers": [{"size": 3}]},
        minutes=minutes,
        train=[f"-c {shlex.quote(code)} {{language}}".replace("'''", "'") for code in train],
        parse=[
            f"-c {shlex.quote(HANG.replace('{', '{{').replace('}', '}}'))} {{input}} {{output}}"
        ],
        reads_text=False,
        model=["model", "config.yaml"],
        lacks=["ufeats"],
    )


def asked(tmp_path: Path, **of_peers: Peer) -> Peers:
    given = [
        "languages=[sample]",
        f"runs={tmp_path}",
        "published=null",
        f"paths.treebanks={ROOT / 'data'}",
    ]
    wanted = settings_of(Peers, "peers", given)
    wanted.all_peers = of_peers
    return wanted


def test_a_peer_is_trained_and_measured_by_its_commands(tmp_path):
    wanted = asked(tmp_path, hanging=peer(LEARN))
    cells = peers.cells(wanted)
    ((key, found),) = peers.measure(wanted, cells)
    assert key == ("hanging", "sample", "1")
    folder = tmp_path / "sample" / "hanging"
    assert (folder / "model").read_text() == "xx"
    assert (folder / "config.yaml").read_text().split() == [
        "{",
        '"lexers":',
        "[",
        "{",
        '"size":',
        "3",
        "}",
        "]",
        "}",
    ]
    assert (folder / "train.conllu").read_bytes() == (
        ROOT / "data/sample/sample-ud-train.conllu"
    ).read_bytes()
    scores = evaluate_files(
        ROOT / "data/sample/sample-ud-test.conllu", folder / "test.conllu.parsed.conllu"
    )
    assert found["las"] == f"{scores['las_universal'].f1:.4f}"
    assert 0 < float(found["uas"]) < 100
    assert "ufeats" not in found
    assert "raw_las" not in found
    assert found["stopped"] == "false"
    assert float(found["megabytes"]) == round(
        ((folder / "config.yaml").stat().st_size + 2) / 1e6, 2
    )
    parts = (ROOT / f"data/sample/sample-ud-{part}.conllu" for part in ("train", "dev", "test"))
    assert (folder / "all.conllu").read_text(encoding="utf-8") == "".join(map(words_alone, parts))
    assert float(found["words_per_second"]) > 0
    again = dict(peers.measure(wanted, cells))[key]
    assert again["cpu_minutes"] == found["cpu_minutes"]
    assert (folder / "model").read_text() == "xx"  # it was not trained again
    (folder / "of before").touch()
    wanted.fresh = True
    list(peers.measure(wanted, cells))
    assert (folder / "model").read_text() == "xx"
    assert not (folder / "of before").exists()


@pytest.mark.posix
@pytest.mark.parametrize(
    "code",
    ["import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "while True: pass"],
    ids=["by hand", "by its limit"],
)
def test_a_training_that_is_stopped_counts_with_what_it_has_saved(code, tmp_path):
    run = PeerRun(peer(LEARN, code, LEARN, minutes=1 / 60), tmp_path, "xx")
    assert [one["stopped"] for one in run.train()] == [False, True, False]
    assert (tmp_path / "model").read_text() == "xxxx"
    assert len(run.train()) == 3
    assert (tmp_path / "model").read_text() == "xxxx"


def test_what_other_commands_have_trained_does_not_count(tmp_path):
    PeerRun(peer(LEARN, LEARN), tmp_path, "x").train()
    other = LEARN.replace("sys.argv[1]", "'y'")
    assert len(PeerRun(peer(LEARN, other), tmp_path, "x").train()) == 2
    assert (tmp_path / "model").read_text() == "xxxy"
    changed = replace(peer(LEARN, other), config={"lexers": []})
    assert len(PeerRun(changed, tmp_path, "x").train()) == 2
    assert (tmp_path / "model").read_text() == "xxxyxy"


def test_a_peer_finds_nothing_of_ours_and_one_that_fails_is_an_error_that_names_its_log(
    tmp_path, monkeypatch
):
    with pytest.raises(ValueError, match=r"ended with 3; .*log.txt says why$"):
        PeerRun(peer("import sys; sys.exit(3)"), tmp_path, "xx").train()
    assert not (tmp_path / "trained.json").exists()
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    code = (
        "import os; open('model', 'w').write(str(os.environ.get('PYTHONPATH')) + "
        "os.environ['OMP_NUM_THREADS'])"
    )
    PeerRun(peer(code), tmp_path, "xx").train()
    assert (tmp_path / "model").read_text() == "None1"


def test_nothing_of_a_sentence_is_left_but_its_words(tmp_path):
    lines = [
        "# text = Aő",
        "1-2\tAő\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No",
        "1\tA\ta\tDET\tD\tX=Y\t2\tdet\t2:det\t_",
        "1.1\tB\t_\t_\t_\t_\t_\t_\t0:root\t_",
        "2\tő\to\tNOUN\tN\t_\t0\troot\t_\t_",
    ]
    (tmp_path / "gold.conllu").write_bytes(("\r\n".join(lines) + "\r\n\r\n").encode())
    blank = "\t_" * 8
    assert words_alone(tmp_path / "gold.conllu") == f"1-2\tAő{blank}\n1\tA{blank}\n2\tő{blank}\n\n"


def test_there_is_one_seed_and_peers_are_known_whose_commands_can_be_filled_in(tmp_path):
    with pytest.raises(ValueError, match=r"^seeds=2: "):
        peers.cells(
            settings_of(
                Peers,
                "peers",
                ["languages=[sample]", "seeds=2", f"paths.treebanks={ROOT / 'data'}"],
            )
        )
    with pytest.raises(
        ValueError, match=r"peers has 'x'; known are 'spaCy', 'HopsParser', 'Stanza', 'UDPipe'$"
    ):
        peers.cells(settings_of(Peers, "peers", ["peers=[x]"]))
    for one in settings_of(Peers, "peers").all_peers.values():
        run = PeerRun(one, tmp_path, "hu")
        for command in [*one.train, *one.parse]:
            assert "{" not in "".join(run.arguments(command, input="a", output="b"))


def test_the_page_says_what_was_not_run_not_predicted_and_stopped(tmp_path):
    wanted = asked(tmp_path, one=peer(), two=peer())
    numbers = dict.fromkeys(peers.MEASURED, "1.25") | {
        "version": "3.1",
        "ufeats": "",
        "raw_las": "",
        "stopped": "true",
    }
    row = {
        "peer": "two",
        "treebank": "sample",
        "seed": "1",
        **numbers,
        "words_per_second": "1234.5",
    }
    lines = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in peers.page([row], wanted).splitlines()
        if "|" in line
    ]
    assert lines[2] == ["one", *[NOT_RUN] * (len(lines[0]) - 1)]
    assert lines[3] == [
        "two",
        "3.1",
        *["1.25"] * 3,
        "-",
        "-",
        *["1.25"] * 2,
        "1.2, stopped",
        "1,234",
        "1.2",
    ]


@dataclass
class Token:
    """As one of spaCy's."""

    i: int
    text: str
    above: int
    dep_: str = ""
    pos_: str = "NOUN"
    morph: str = ""

    @property
    def head(self) -> Token:
        return Token(self.above, "", self.above)


def test_further_roots_of_spacys_are_attached_to_the_first():
    tokens = [
        Token(5, "a", 6, "nsubj"),
        Token(6, "b", 6, "ROOT", morph="A=B"),
        Token(7, "c", 7, "ROOT", pos_=""),
    ]
    rows = spacy_pipeline.rows(tokens, 1)
    assert [(row[0], row[1], row[3], row[5], row[6], row[7]) for row in rows] == [
        ("1", "a", "NOUN", "_", "2", "nsubj"),
        ("2", "b", "NOUN", "A=B", "0", "root"),
        ("3", "c", "_", "_", "2", "parataxis"),
    ]


def test_udpipe_learns_and_parses_words_and_text(tmp_path):
    pytest.importorskip("ufal.udpipe", reason="UDPipe is not installed")
    one = settings_of(Peers, "peers").all_peers["UDPipe"]
    assert one.config["tagger"] == udpipe.TAGGER
    assert one.config["parser"] == udpipe.PARSER | {"use_gold_tags": 0}
    one.python = sys.executable
    one.config |= {"tokenizer": {"epochs": 1}, "tagger": {"models": 1, "iterations_1": 1}}
    one.config["parser"] |= {"iterations": 1, "hidden_layer": 2}
    gold = tmp_path / "train.conllu"
    sentences = (
        (ROOT / "data/sample/sample-ud-dev.conllu").read_text(encoding="utf-8").split("\n\n")[:30]
    )
    gold.write_text("\n\n".join([*sentences, ""]), encoding="utf-8", newline="\n")
    run = PeerRun(one, tmp_path, "sample")
    run.train()
    on_words = evaluate_files(gold, run.parse("test.conllu", words_alone(gold))[0])
    from_text = evaluate_files(gold, run.parse("test.txt", raw_text(gold))[0])
    assert on_words["upos"].f1 > 50
    assert 0 < from_text["las"].f1 <= on_words["las"].f1 < on_words["uas"].f1
