"""What splits text: when a run learns it, and from what;
and the command that gives it to a folder.
"""

import re
import sys
from pathlib import Path

import pytest

from oracles.errors import OptimalStepError
from parser.commands import train_tokenizer
from parser.model_folder import SEGMENTER, TOKENIZER, UDPIPE_TOKENIZER
from parser.settings.groups import SegmenterName
from parser.text.character_tokenizer import CharacterTokenizer
from parser.training import run as training_run
from parser.training import stages
from parser.training import text as splitting
from parser.training.text import NoRunningTextError, write_splitting
from tests.training.small_runs import run_alone

LINEAR = ["model=linear", "online.iterations=1", "tokenizer=characters"]
SENTENCES = [["A", "kutya", "ugat", "."], ["Jön", "a", "lány", "!"], ["Ma", "is", "jön", "."]]


def conllu(sentences=SENTENCES, times=8, running=True) -> str:
    """Sentences whose last mark follows without a blank, if the text is running text."""
    text = ""
    for number, words in enumerate(sentences * times, 1):
        text += f"# sent_id = {number}\n"
        for place, form in enumerate(words, 1):
            misc = "SpaceAfter=No" if running and place == len(words) - 1 else "_"
            head, deprel = (0, "root") if place == 1 else (1, "dep")
            upos = "PUNCT" if form in ".!" else "X"
            text += f"{place}\t{form}\t_\t{upos}\t_\t_\t{head}\t{deprel}\t_\t{misc}\n"
        text += "\n"
    return text


@pytest.fixture
def treebank(tmp_path):
    path = tmp_path / "hu_toy-ud-train.conllu"
    path.write_text(conllu(), encoding="utf-8")
    return path


def test_a_run_gives_the_folder_of_the_model_a_tokenizer_that_splits_its_text(
    tmp_path, treebank, caplog
):
    training_run.train(run_alone(treebank, *LINEAR), tmp_path / "run")
    folder = tmp_path / "run/model"
    found = CharacterTokenizer.load(folder).split("A kutya ugat. Ma is jön. Jön a lány!")
    assert [sentence.forms for sentence in found] == [SENTENCES[0], SENTENCES[2], SENTENCES[1]]
    assert not (folder / SEGMENTER).exists()  # nothing is chosen without dev
    assert (
        "tokenizer=characters: this model reads UPOS, which text does not have; "
        "recipe=text needs none" in caplog.messages
    )


def test_a_finished_run_gets_one_later_and_is_not_trained_again(tmp_path, treebank, monkeypatch):
    plan = run_alone(treebank, *LINEAR)
    metrics = training_run.train(plan, tmp_path / "run")
    (tmp_path / "run/model" / TOKENIZER).unlink()
    monkeypatch.setattr(training_run, "Run", lambda *_: pytest.fail("the parser is trained again"))
    assert training_run.train(plan, tmp_path / "run") == metrics
    assert (tmp_path / "run/model" / TOKENIZER).is_file()


def test_without_running_text_a_warning_says_so(tmp_path, treebank, caplog):
    treebank.write_text(conllu(running=False), encoding="utf-8")
    training_run.train(run_alone(treebank, *LINEAR), tmp_path / "run")
    assert not (tmp_path / "run/model" / TOKENIZER).exists()
    assert "no tokenizer is trained, so the model parses CoNLL-U but no text" in caplog.text
    with pytest.raises(NoRunningTextError, match=re.escape(str(treebank))):
        write_splitting([treebank], None, tmp_path, 1)


@pytest.mark.parametrize(("share", "running"), [(1.0, True), (0.5, False)])
def test_a_text_whose_tokens_all_have_a_blank_after_them_is_running_text(
    tmp_path, treebank, share, running
):
    """As Vietnamese, and Gothic without punctuation: # text says so."""
    lines = []
    for number, sentence in enumerate(conllu(running=False).split("\n\n")[:-1]):
        text = " ".join(line.split("\t")[1] for line in sentence.splitlines() if "\t" in line)
        lines += [f"# text ={text}" if number % 10 < 10 * share else "# text = other", sentence, ""]
    treebank.write_text("\n".join([*lines, ""]), encoding="utf-8")
    if running:
        write_splitting([treebank], None, tmp_path, 1)
        assert (tmp_path / TOKENIZER).exists()
    else:
        with pytest.raises(NoRunningTextError):
            write_splitting([treebank], None, tmp_path, 1)


@pytest.mark.parametrize(
    ("given", "train", "dev"),
    [
        ("treebank.folds=3 treebank.fold=2 treebank.held_out=0.25", "1 3 4 7 9", "6"),
        ("treebank.held_out=0.25 treebank.on_error=skip", "1 2 3 5 6 7 9", "4 8"),
    ],
)
def test_it_is_learned_from_the_training_part_alone(
    tmp_path, treebank, monkeypatch, given, train, dev
):
    """Not from what is tested, held out, or faulty; dev chooses."""
    read = []

    def written(train, dev, folder, seed, *, segmenter, language):
        texts = [Path(name).read_text(encoding="utf-8") for name in (*train, dev)]
        read.append(
            [" ".join(re.findall("^# sent_id = (.*)$", text, re.MULTILINE)) for text in texts]
        )
        read.append((segmenter, language))

    monkeypatch.setattr(stages, "write_splitting", written)
    faulty = "1\ta\t_\tX\t_\t_\t5\tdep\t_\t_\n\n" if "skip" in given else ""
    treebank.write_text(faulty + conllu(times=3), encoding="utf-8")
    training_run.train(run_alone(treebank, *LINEAR, *given.split()), tmp_path / "run")
    assert read == [[train, dev], (SegmenterName.auto, "hu")]


@pytest.mark.parametrize(
    ("wanted", "better", "dev", "kept"),
    [
        ("auto", True, True, True),
        ("auto", False, True, False),
        ("auto", True, False, False),
        ("bilstm", False, True, True),
        ("bilstm", True, False, True),
        ("none", True, True, False),
    ],
)
def test_the_segmenter_is_kept_if_it_is_better_or_wanted(
    tmp_path, treebank, monkeypatch, wanted, better, dev, kept
):
    class Saved:
        def save(self, folder, notes):
            (folder / SEGMENTER).write_text(str(notes))

    scores = {"tokenizer": 90.0, "segmenter": 90.1 if better else 90.0}
    monkeypatch.setattr(
        splitting, "train_segmenter", lambda *given: (Saved(), scores if given[1] else {})
    )
    (tmp_path / SEGMENTER).write_text("of before")
    write_splitting(
        [treebank], treebank if dev else None, tmp_path, 1, segmenter=SegmenterName(wanted)
    )
    assert (tmp_path / SEGMENTER).exists() == kept
    assert not kept or "of before" not in (tmp_path / SEGMENTER).read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["en"], "en: there is no folder of this name; a shipped"),
        ([".", "--seed", "-1"], "--seed -1 is negative"),
    ],
)
def test_what_the_command_refuses(tmp_path, treebank, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["train_tokenizer", *arguments, "--train", str(treebank)])
    with pytest.raises(OptimalStepError, match=message):
        train_tokenizer.main()


def test_the_command_gives_a_folder_a_tokenizer(tmp_path, treebank, monkeypatch, capsys):
    training_run.train(run_alone(treebank, "model=linear", "online.iterations=1"), tmp_path / "run")
    folder = tmp_path / "run/model"
    (folder / UDPIPE_TOKENIZER).write_text("of before")
    monkeypatch.setattr(
        sys, "argv", ["train_tokenizer", str(tmp_path / "run"), "--train", str(treebank)]
    )
    train_tokenizer.main()
    said = capsys.readouterr().out
    assert f"{folder / TOKENIZER}: written" in said
    assert "this model reads UPOS, which text does not have" in said
    assert not (folder / UDPIPE_TOKENIZER).exists()
    assert [one.forms for one in CharacterTokenizer.load(folder).split("Ma is jön.")] == [
        SENTENCES[2]
    ]
