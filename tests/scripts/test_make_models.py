"""What scripts/make_models.py measures of a model, on a toy treebank that a pretended parser gets
right, and what it writes.
"""

import json
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from parser.commands import pack
from parser.conllu.stream import read_sentences
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary
from parser.model.trained_model import TrainedModel
from parser.model_folder import CARD, EXAMPLE, INDEX, MODEL, text_folder, treebank_text_folder
from parser.network_spec import BiLSTMSpec, ClassifierSpec, Embedding
from parser.storage import write_json
from parser.text.tokens import read_paragraphs, text_of
from parser.training.text import write_splitting
from parser.transitions.features import slots_of
from scripts import make_models
from scripts.make_models import OTHERS, WRITTEN

WORDS = """1\t"\t"\tPUNCT\t_\t_\t2\tpunct\t_\tSpaceAfter=No
2\tStraße\tStraße\tNOUN\t_\t_\t0\troot\t_\tSpaceAfter=No
3\t"\t"\tPUNCT\t_\t_\t2\tpunct\t_\t_
4-5\tzum\t_\t_\t_\t_\t_\t_\t_\t_
4\tzu\tzu\tADP\t_\t_\t6\tcase\t_\t_
5\tdem\tder\tDET\t_\t_\t6\tdet\t_\t_
6\tCafé\tCafé\tNOUN\t_\t_\t2\tnmod\t_\tSpaceAfter=No
7\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

"""
GOLD = f"# newpar\n{WORDS}{WORDS}# newpar\n{WORDS}"
TEXT = '"Straße" zum Café.'


@pytest.fixture
def test_part(tmp_path):
    path = tmp_path / "test.conllu"
    path.write_text(GOLD, encoding="utf-8")
    return path


@pytest.fixture
def parsed(monkeypatch, test_part, tmp_path):
    """Return what is given to the parser, which finds the gold trees;
    text has to be that of a gold file.
    """
    given = []

    def parse(command, model, read, _, target, *options):
        assert command == "parse"
        if "--text" in options:
            with open(read, encoding="utf-8", newline="") as file:
                given.append(file.read())
            read = next(
                path
                for path in (test_part, tmp_path / "gold.conllu")
                if path.exists() and "".join(given[-1].split()) == _characters(path)
            )
        shutil.copyfile(read, target)

    monkeypatch.setattr(make_models, "_run", parse)
    monkeypatch.setattr(make_models, "_cpu_seconds", iter(range(10)).__next__)
    return given


def _characters(path):
    return "".join(
        token.form for one in read_paragraphs(path) for sentence in one for token in sentence
    )


def test_a_model_is_measured_on_text_as_people_write_it(parsed, test_part, tmp_path):
    measured = make_models.measure(tmp_path / "model", test_part, tmp_path)
    paragraphs = {
        "capitals": '"STRASSE" ZUM CAFÉ.',
        "lower case": '"straße" zum café.',
        "typographic quotes": "\u201cStraße\u201d zum Café.",
        "NFD": '"Straße" zum Cafe\u0301.',
        "a paragraph a line": TEXT,
    }
    assert [*measured[WRITTEN]] == [*paragraphs]
    as_it_is, written = parsed[0], parsed[-len(paragraphs) :]
    assert as_it_is == f"{TEXT} {TEXT}\n\n{TEXT}"
    between = dict.fromkeys(paragraphs, "\n\n") | {"a paragraph a line": "\n"}
    assert written == [f"{text} {text}{between[name]}{text}" for name, text in paragraphs.items()]
    for scores in measured[WRITTEN].values():
        assert scores == {
            "LAS": 100,
            "UPOS": 100,
            "lemmas": 100,
            "words_f1": 100,
            "sentences_f1": 100,
        }
    assert (measured["LAS"], measured["LAS_questions"], measured["words_per_second"]) == (
        100,
        None,
        21,
    )


def test_another_treebank_is_measured_from_text_only_where_it_is_running_text(
    parsed, test_part, tmp_path
):
    found = make_models.measure_other(tmp_path / "model", test_part, tmp_path)
    assert found["words"] == 21
    assert parsed == [f"{TEXT} {TEXT}\n\n{TEXT}"]
    assert found["LAS"] == found["LAS_gold_words"] == found["lemmas_gold_words"] == 100
    spoken = tmp_path / "spoken.conllu"
    rows = [line.split("\t") for line in GOLD.replace("SpaceAfter=No", "_").splitlines()]
    spoken.write_text(
        "\n".join("\t".join([*row[:2], "_", *row[3:]]) if len(row) > 1 else row[0] for row in rows)
        + "\n"
    )
    found = make_models.measure_other(tmp_path / "model", spoken, tmp_path)
    assert len(parsed) == 1, "no text"
    assert (found["LAS_gold_words"], found["lemmas_gold_words"]) == (
        100,
        None,
    ), "no lemmas are annotated"
    assert {found[key] for key in ("LAS", "words_f1", "sentences_f1")} == {None}


def test_the_text_of_a_changed_file_is_that_of_its_tokens(test_part, tmp_path):
    make_models.write_changed(
        test_part, tmp_path / "changed.conllu", lambda forms: [f"{form}x" for form in forms]
    )
    assert [one.column(1)[3:5] for one in read_sentences(tmp_path / "changed.conllu")] == [
        ["zux", "demx"]
    ] * 3
    (first, _), (_,) = read_paragraphs(tmp_path / "changed.conllu")
    assert text_of(first) == '"xStraßex"x zumx Caféx.x'


def _entry(**more):
    index = json.loads((make_models.ROOT / "models" / "index.json").read_text(encoding="utf-8"))
    return {key: value for key, value in index["en"].items() if key not in (WRITTEN, OTHERS)} | more


def test_packs_of_before_have_a_dash_for_what_was_not_measured():
    scores = {"LAS": 80.5, "words_f1": 98.0, "sentences_f1": 88.0, "lemmas": 95.0}
    other = {
        "kind": "spoken",
        "words": 1234,
        "LAS_gold_words": 90.0,
        "UPOS_gold_words": 91.0,
        "LAS": None,
    }
    now = _entry(**{WRITTEN: {"capitals": scores}, OTHERS: {"UD_X-Y 2.16": other}}, LAS=84.0)
    page = make_models.tables({"old": _entry(LAS=83.0), "new": now})
    ways = (
        "| name | as it is | capitals | lower case | typographic quotes | NFD | one paragraph "
        "per line |"
    )
    assert page.count(ways) == 2
    none = " | \u2013"
    assert f"| `old` | 83.00{5 * none} |\n| `new` | 84.00 | 80.50{4 * none} |\n" in page
    assert "| 98.00 / 88.00 / 95.00 |" in page
    assert f"| `new` | UD_X-Y 2.16 | spoken | 1,234 | 90.00 | 91.00{4 * none} |" in page
    assert "treebank | kind" not in make_models.tables({"old": _entry()})


def test_the_card_says_in_a_line_what_other_ways_to_write_cost(tmp_path):
    card = tmp_path / "README.md"
    card.write_text("# A model\n", encoding="utf-8")
    written = {
        "capitals": {"LAS": 80.5},
        "NFD": {"LAS": 84.0},
        "a paragraph a line": {"LAS": 83.0},
    }
    others = {"UD_X-Y 2.16": {"kind": "spoken", "LAS_gold_words": 90.0}}
    measured = _entry(**{WRITTEN: written, OTHERS: others}, LAS=84.0)
    make_models._add_to_card(card, make_models.MODELS["vi"], measured, "UD_X")
    lines = card.read_text(encoding="utf-8").splitlines()
    assert (
        "From text that is written in other ways: 80.50 (-3.50) in capitals, 84.00 (+0.00) in "
        "NFD, 83.00 (-1.00) with one paragraph per line." in lines
    )
    assert "On UD_X-Y 2.16 (spoken): 90.00 with the gold words." in lines
    assert (
        "The model is derived from UD_X, and is distributed under CC BY-SA 4.0. The treebank's text"
        in "\n".join(lines)
    )
    assert "UDPipe" not in "\n".join(lines)


def test_card_and_page_name_the_pretrained_encoder_and_its_licence(tmp_path, monkeypatch):
    monkeypatch.setattr(make_models.documentation, "main", lambda _: None)
    wanted, card = make_models.MODELS["en-tuned"], tmp_path / "CARD.md"
    card.write_text("# A model\n", encoding="utf-8")
    make_models._add_to_card(card, wanted, _entry(**{WRITTEN: {}, OTHERS: {}}, LAS=84.0), "UD_X")
    entry = {"treebank": "UD_X 2.16", "licence": "CC BY-SA 4.0", "contributors": "A"}
    make_models.write_pages(
        {name: entry | {"file": f"{name}.zip"} for name in ("en-tuned", "en")}, tmp_path
    )
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    for text in (card.read_text(encoding="utf-8"), page):
        assert text.count("multilingual-e5-small") == 2  # the name and the address
        assert "MIT licence" in text


def test_treebanks_of_other_kinds_are_of_the_same_release(tmp_path):
    (other,) = make_models.MODELS["en"].others
    assert other.name == "UD_English-ESLSpok 2.16"
    assert other.test(tmp_path) == tmp_path / "UD_English-ESLSpok" / "en_eslspok-ud-test.conllu"
    assert make_models.MODELS["en-text"].others == make_models.MODELS["en"].others


_TOGETHER = ("hy-tuned", "ko-tuned")


@pytest.fixture
def treebanks(tmp_path) -> Path:
    """Return a folder with the treebanks of some models, of few words."""
    for number, name in enumerate(_TOGETHER, 1):
        for part in ("train", "dev", "test"):
            file = make_models.MODELS[name].files(tmp_path / "ud", part)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(GOLD * 2 * number, encoding="utf-8")
    return tmp_path / "ud"


@pytest.fixture
def commands(monkeypatch, treebanks) -> list[tuple[str, ...]]:
    """Return the commands that are run. Training writes a model that knows nothing."""
    done = []

    def run(command, *words):
        done.append((command, *words))
        if command == "train":
            folder = Path(words[-1].partition("=")[2])
            write_told_apart(folder / MODEL, treebanks)
            write_json(folder / "metrics.json", {"train": {"words": 99}, "cpu_seconds": 60.0})
        elif command == "pack":
            monkeypatch.setattr(sys, "argv", ["pack", *words])
            pack.main()

    monkeypatch.setattr(make_models, "_run", run)
    return done


def write_told_apart(folder: Path, treebanks: Path) -> None:
    names = [make_models.MODELS[name].treebank for name in _TOGETHER]
    vocabularies = Vocabularies({"form": Vocabulary(["zu"]), "treebank": Vocabulary(names)})
    embeddings = dict.fromkeys([*vocabularies.by_attribute, "deprel"], Embedding(3, True))
    spec = ClassifierSpec(12, "tanh", 0.0, 0.0, 0.0, embeddings, BiLSTMSpec(1, 5, 0.0, 0.0))
    slots = slots_of({"token": ["s0", "b0"]})
    TrainedModel.new(vocabularies, Vocabulary(["dep", "root"]), slots, spec).save(folder)
    (folder / CARD).write_text("# A parser\n", encoding="utf-8")
    for name in _TOGETHER:
        wanted = make_models.MODELS[name]
        train = wanted.files(treebanks, "train")
        write_splitting([train], None, treebank_text_folder(folder, wanted.treebank), 1)


def test_one_model_of_several_treebanks_has_a_name_for_each(
    commands, treebanks, tmp_path, monkeypatch
):
    measured = []

    def measure(model, test, _):
        measured.append((json.loads((model / "settings.json").read_bytes())["treebank"], test.name))
        assert make_models.MODELS[model.name].example.split()[0] in (
            text_folder(model) / EXAMPLE
        ).read_text(encoding="utf-8")
        hard = dict.fromkeys(("LAS_long", "LAS_questions", "LAS_lower_case"))
        return {"LAS": 80.0, "LAS_gold_words": 81.0, WRITTEN: {}, **hard}

    monkeypatch.setattr(make_models, "measure", measure)
    members = {name: make_models.MODELS[name] for name in _TOGETHER}
    output = tmp_path / "out"
    output.mkdir()
    write_json(output / INDEX, {})
    make_models.make("tuned", members, treebanks, tmp_path / "run", output)
    assert measured == [("hy", "hy_bsut-ud-test.conllu"), ("ko", "ko_gsd-ud-test.conllu")]
    index = json.loads((output / INDEX).read_text(encoding="utf-8"))
    assert {name: (of["file"], of["as_treebank"], of["words"]) for name, of in index.items()} == {
        "hy-tuned": ("tuned.zip", "hy", 42),
        "ko-tuned": ("tuned.zip", "ko", 84),
    }
    (train, *words) = commands[0]
    folders = {"hy": "UD_Armenian-BSUT/hy_bsut", "ko": "UD_Korean-GSD/ko_gsd"}
    hy, ko = (f"{treebanks.as_posix()}/{folder}-ud" for folder in folders.values())
    assert (train, *words[:2]) == (
        "train",
        f"treebank.train={{hy: [{', '.join(3 * [f'{hy}-train.conllu'])}], "
        f"ko: [{', '.join(2 * [f'{ko}-train.conllu'])}]}}",
        f"treebank.dev={{hy: [{hy}-dev.conllu], ko: [{ko}-dev.conllu]}}",
    )
    assert f"'{words[0]}'" in index["hy-tuned"]["command"]
    with zipfile.ZipFile(output / "tuned.zip") as packed:
        card = packed.read(CARD).decode()
        assert {f"text/{name}/{EXAMPLE}" for name in folders} < {*packed.namelist()}
    for language, folder in (
        ("Armenian", "UD_Armenian-BSUT 2.16"),
        ("Korean", "UD_Korean-GSD 2.10"),
    ):
        assert f"## Licence and limits, {language}\n\nThe model is derived from {folder} " in card
    # again, with new tokenizers alone
    commands.clear()
    make_models.make("tuned", members, treebanks, None, output)
    assert [(command, words[-2:]) for command, *words in commands[:2]] == [
        ("train_tokenizer", ["--segmenter", "none"])
    ] * 2
    assert json.loads((output / INDEX).read_text(encoding="utf-8")) == index
    with zipfile.ZipFile(output / "tuned.zip") as packed:
        assert packed.read(CARD).decode() == card


def test_without_the_treebanks_the_error_of_training_is_the_last_line(tmp_path, capfd):
    with pytest.raises(SystemExit) as ended:
        make_models.make(
            "cy", {"cy": make_models.MODELS["cy"]}, tmp_path / "no", tmp_path / "run", tmp_path
        )
    assert ended.value.code == 1
    assert capfd.readouterr().err.splitlines()[-1].startswith("error: treebank.train=")
