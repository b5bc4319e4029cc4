"""Tokenizers under one parser: which cells are asked for, what is measured of another version,
and the page.
"""

import pytest

from experiments import tokenizing
from experiments.command import settings_of
from experiments.tokenizing import BEFORE, OURS, WHOLE
from oracles.errors import OptimalStepError
from parser.decoding.parse_options import SentenceEnds
from parser.text.pipeline import BlankSplitter, TextPipeline
from scripts.make_models import raw_text
from tests.random_models import small_bilstm_model
from tests.toy import SAMPLE, flat_sentences


def wanted(tmp_path, *overrides: str) -> tokenizing.Tokenizers:
    given = [
        "languages=[sample]",
        "seeds=2",
        "published=null",
        f"+models={{sample: '{tmp_path}/model'}}",
        *overrides,
    ]
    return settings_of(
        tokenizing.Tokenizers,
        "tokenizers",
        [*given, f"runs={tmp_path}/runs", f"results={tmp_path}/results"],
    )


@pytest.fixture
def model(tmp_path):
    small_bilstm_model(flat_sentences([2])).save(tmp_path / "model")
    return tmp_path / "model"


def test_rows_name_the_one_parser(model, tmp_path):
    (tmp_path / "before").mkdir()
    asked = wanted(tmp_path, f"before={tmp_path}/before")
    with pytest.raises(OptimalStepError, match=r"sample\.conllu is not there.*sample\.txt"):
        tokenizing.cells(asked)
    (tmp_path / "before" / "sample.conllu").touch()
    cells = tokenizing.cells(asked)
    keys = [(OURS, "1"), (OURS, "2"), (BEFORE, "1"), (WHOLE, "1")]
    assert [cell.key for cell in cells] == [("sample", *key) for key in keys]
    (settings,) = {cell.settings for cell in cells}
    (model / "classifier.safetensors").write_bytes(b"another")
    assert tokenizing.cells(asked)[0].settings != settings
    assert len({cell.group for cell in cells}) == 4
    asked.models = {}
    assert {cell.settings for cell in tokenizing.cells(asked)} == {"recipe=fast"}


def test_another_version_is_measured_with_its_own_trees_and_with_those_of_the_parser(
    model, tmp_path, monkeypatch
):
    (tmp_path / "before").mkdir()
    gold = SAMPLE / "sample-ud-test.conllu"
    (tmp_path / "before" / "sample.conllu").write_bytes(gold.read_bytes())
    asked = wanted(tmp_path, f"before={tmp_path}/before")
    trained = []

    def train_into(training, folder, seed):
        trained.append((training.treebank, folder.name, seed))
        return {"seconds": 1.25, "segmenter_seconds": 2.0}

    monkeypatch.setattr(tokenizing, "train_into", train_into)
    monkeypatch.setattr(
        tokenizing.TextPipeline, "of_model", lambda folder: _AtBlanks(BlankSplitter())
    )
    for job in tokenizing.prepare(asked, tokenizing.cells(asked)):
        job.work()
    assert (tmp_path / "runs" / "sample.txt").read_text(encoding="utf-8") == raw_text(gold)
    found = dict(tokenizing.measure(asked, tokenizing.cells(asked)))
    whole, before, ours = (found["sample", name, "1"] for name in (WHOLE, BEFORE, OURS))
    assert {whole[name] for name in ("tokens", "words", "sentences", "las")} == {"100.0000"}
    assert {before[name] for name in ("tokens", "words", "sentences")} == {"100.0000"}
    assert float(before["las"]) < 100, "the trees of the file do not count"
    assert float(ours["sentences"]) < 100
    assert (ours["seconds"], ours["segmenter_seconds"]) == ("1.2", "2.0")
    assert "seconds" not in before
    assert trained == [("sample", f"sample-tokenizer-{seed}", seed) for seed in (1, 2)]


def test_nothing_is_left_of_an_interrupted_training(model, tmp_path, monkeypatch):
    def killed(train, dev, folder, seed, language):
        (folder / "tokenizer.json").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(tokenizing, "write_splitting", killed)
    folder, training = tmp_path / "runs" / "one", wanted(tmp_path).training("sample")
    with pytest.raises(KeyboardInterrupt):
        tokenizing.train_into(training, folder, 1)
    assert not folder.exists()
    monkeypatch.setattr(
        tokenizing, "write_splitting", lambda *given, language: {"tokenizer": 1.0, "segmenter": 2.0}
    )
    assert tokenizing.train_into(training, folder, 1) == {"seconds": 1.0, "segmenter_seconds": 2.0}
    assert folder.is_dir()


class _AtBlanks(TextPipeline):
    """Words at blanks, and a line is a sentence."""

    def conllu(self, source):
        return super().conllu(source, sentences=SentenceEnds.LINE)


def test_the_page_has_a_line_for_each_tokenizer(tmp_path):
    def row(words, seed, score):
        return {"treebank": "sample", "words_of": words, "seed": seed} | dict.fromkeys(
            tokenizing.MEASURED, score
        )

    page = tokenizing.page(
        [row(BEFORE, "1", "98.5"), row(OURS, "1", "99.0"), row(OURS, "2", "99.2")], wanted(tmp_path)
    )
    assert page.splitlines()[-3:] == [
        f"| sample | {WHOLE} |{' not run |' * 5}",
        f"| sample | {BEFORE} |{' 98.50 |' * 5}",
        f"| sample | {OURS} |{' 99.10 ± 0.14 |' * 5}",
    ]
