"""experiments/text.py: raw text of a file, the table, and the settings that it compares."""

from __future__ import annotations

from experiments import text
from experiments.command import settings_of
from parser.settings.planning import plan


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


def test_the_systems_are_settings_that_can_be():
    wanted = settings_of(text.Text, "text")
    trainings = {system: text.training_of(wanted, system, "hu", 1) for system in wanted.all_systems}
    for training in trainings.values():
        plan(training.settings())
    fingerprints = {training.fingerprint() for training in trainings.values()}
    assert len(fingerprints) == len(trainings) - 4 == 5  # whose sentences are parsed, and how, is all the same to a training
    assert wanted.beams.keys() <= wanted.all_systems.keys()


def test_systems_that_share_a_training_are_one_job():
    wanted = settings_of(text.Text, "text")
    asked = [("text", "1"), (text.UDPIPE, "1"), ("text, beam 8", "1"), ("characters", "1"), ("text", "2")]
    trainings = {(system, "hu", seed): text.training_of(wanted, system, "hu", int(seed)) for system, seed in asked}
    labels = [job.label for job in text.jobs_of(trainings, wanted)]
    assert labels == ["hu text; text, beam 8 seed 1", "hu UDPipe", "hu characters seed 1", "hu text seed 2"]


def test_fresh_trains_the_tokenizer_again(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "train_tokenizer", lambda train, dev, target: target.write_text(f"{target.exists()}"))
    segmenters = []
    monkeypatch.setattr(text, "train_segmenter", lambda train, dev, tokenizer, seed: segmenters.append(tokenizer))
    training = text.training_of(settings_of(text.Text, "text"), text.UDPIPE, "hu", 1)
    path = text.tokenizer_of(training, tmp_path)
    assert path.read_text() == text.tokenizer_of(training, tmp_path).read_text() == "False"
    assert text.tokenizer_of(training, tmp_path, fresh=True).read_text() == "True"
    assert segmenters == [path, path]


def test_the_table_has_a_line_for_each_system():
    wanted = settings_of(text.Text, "text", ["languages=[hu]"])
    numbers = dict.fromkeys(("uas", "upos", "ufeats", "raw_las", "raw_upos", "raw_sentences", "raw_words"), "80.0000")
    rows = [text.Row("text", "hu", seed, f"7{seed}.0000", **numbers, seconds="1.0", config="") for seed in "12"]
    rows.append(text.Row("characters", "hu", "1", "65.0000", **(numbers | {"upos": ""}), seconds="1.0", config=""))
    page = text.page_of({row.key: row for row in rows}, wanted)
    assert "| text | 71.50 ± 0.71 | 80.00 ± 0.00 |" in page
    assert "| characters | 65.00 | 80.00 | none |" in page
    assert "| UDPipe | not run |" in page
