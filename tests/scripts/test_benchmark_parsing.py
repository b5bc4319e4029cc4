"""The benchmark of parsing measures all it names."""

import argparse
import random
from pathlib import Path

import pytest

from parser.beam_settings import Beam
from parser.model.trained_model import TrainedModel
from scripts.benchmarks import parsing, ratios, spacy_parser
from scripts.benchmarks.parsing import udpipe_parser
from scripts.benchmarks.ratios import Time
from tests.random_models import random_static_model
from tests.toy import sentence, write_conllu


@pytest.fixture
def model_and_file(tmp_path):
    rng = random.Random(0)
    sentences = [sentence([0, 1, 2], rng) for _ in range(5)]
    random_static_model(sentences, {"form": 4}).save(tmp_path / "model")
    return tmp_path / "model", write_conllu(tmp_path / "toy.conllu", sentences)


@pytest.mark.long
def test_it_counts_words_and_rates_every_job(model_and_file):
    model, file = model_and_file
    result = parsing.run(model, [file, file], times=3, repeat=2, threads=2)
    assert result["words"] == 30
    jobs = {
        f"{job}, {threads}"
        for job in ("decoding", "end to end")
        for threads in ("1 thread", "2 threads")
    }
    jobs |= {"end to end, 2 times over, 1 thread", "reading, 1 thread", "rows of words, 1 thread"}
    assert set(result["words_per_second"]) == set(result["words_per_cpu_second"]) == jobs
    assert all(
        len(times) == 3 and min(time["wall"] for time in times) > 0
        for times in result["all_measurements"].values()
    )
    assert set(result["ratios"]) == {"decoding, 2 threads over 1", "end to end, 2 threads over 1"}
    assert result["same_output_for_any_threads"]
    assert result["start_up_seconds"] > 0
    assert result["whole_process_cpu_seconds"][parsing.OURS] > 0
    assert "words/s" in parsing.as_table(result)
    assert parsing.quantities(result)["decoding, 1 thread"] == (
        result["words_per_second"]["decoding, 1 thread"],
        "words/s",
    )
    assert {"start-up", "decoding, 2 threads over 1", "end to end, 1 thread, CPU time"} <= set(
        parsing.quantities(result)
    )


def test_the_parts_of_a_word_add_up_to_the_whole_and_beams_are_compared_with_greedy_parsing():
    rates = {
        "end to end, 1 thread": 1e5,
        "decoding, 1 thread": 2e5,
        "reading, 1 thread": 5e5,
        "rows of words, 1 thread": 1e6,
    }
    parts = parsing.microseconds_per_word(rates)
    assert parts == pytest.approx(
        {"reading": 2.0, "rows of words": 1.0, "steps": 4.0, "writing, and the rest": 3.0}
    )
    del rates["rows of words, 1 thread"]
    assert parsing.microseconds_per_word(rates)["steps"] == pytest.approx(5.0)
    times = {
        "decoding, 1 thread": [Time(1, 1)],
        "b": [Time(9, 5)],
        ratios.UDPIPE_WITH_BEAM: [Time(8, 8)],
    }
    times[ratios.OURS_AS_UDPIPE] = [Time(2, 2)]
    found = ratios.beam_ratios(times, {"b": Beam(4)})
    assert found == {"b, words/s x size over greedy": 0.8, "end to end, beam 5, over UDPipe's": 4}


def test_text_of_any_kind_is_read(model_and_file, monkeypatch):
    """The slow way, too: what the fast one does not take."""
    folder, file = model_and_file
    model = TrainedModel.load(folder)
    parsing.read(model, file.read_bytes())
    monkeypatch.setattr(parsing, "find_words", lambda chunk: None)
    parsing.read(model, file.read_bytes())


@pytest.mark.long
def test_decoding_is_compared_with_beams_and_with_that_of_other_models(model_and_file):
    model, file = model_and_file
    result = parsing.run(
        model, [file], times=1, beam=[1, 3], over=[parsing._named(f"itself={model}")]
    )
    names = {
        f"decoding, beam {size}, merge {merge}"
        for size in (1, 3)
        for merge in ("none", "configuration")
    }
    assert names <= set(result["words_per_second"])
    assert {f"{name}, words/s x size over greedy" for name in names} <= set(result["ratios"])
    assert result["words_per_second"]["decoding by itself, 1 thread"] > 0
    assert result["ratios"][ratios.decoding_over("itself")] > 0
    times = {
        "decoding, 1 thread": [Time(9, 1), Time(9, 4)],
        "decoding by x, 1 thread": [Time(9, 3), Time(9, 4)],
    }
    assert ratios.ratios_over_others(times, ["x"]) == {"decoding, 1 thread, over x, CPU time": 2}
    with pytest.raises(ValueError, match="--over: x, x: "):
        parsing.run(model, [file], times=1, over=[("x", model), ("x", model)])
    with pytest.raises(argparse.ArgumentTypeError, match="give a name and a model folder"):
        parsing._named("model")


def test_every_round_begins_with_a_model_that_remembers_nothing(model_and_file):
    met = []
    parsing._measure(
        {"one": parsing.TimedTask(1, met.append), "other": parsing.TimedTask(1, met.append)},
        model_and_file[0],
        times=2,
    )
    assert len(met) == len({id(model) for model in met}) == 6


def test_ratios_are_those_of_rounds():
    times = {
        "decoding, 1 thread": [Time(2, 1), Time(4, 1), Time(6, 2)],
        "decoding, 2 threads": [Time(1, 2), Time(2, 2), Time(6, 2)],
        "end to end, 1 thread": [Time(1, 1)] * 3,
        "end to end, 2 threads": [Time(1, 1)] * 3,
        ratios.UDPIPE: [Time(9, 2), Time(9, 4), Time(9, 6)],
    }
    found = ratios.ratios_of(times, 2)
    assert found["decoding, 2 threads over 1"] == 2
    assert found["decoding, 1 thread, over UDPipe, CPU time"] == 3
    times[f"{ratios.repeated(10)}, 1 thread"] = [Time(9, 10), Time(9, 20), Time(9, 20)]
    assert (
        ratios.ratios_of(times, 2, 10)[f"{ratios.repeated(10)}, 1 thread, over UDPipe, CPU time"]
        == 2
    )


@pytest.mark.long
def test_udpipe_is_trained_and_measured_if_it_is_installed(model_and_file):
    pytest.importorskip("ufal.udpipe")
    model, file = model_and_file
    result = parsing.run(model, [file], times=1, udpipe_train=file, udpipe_iterations=1)
    assert result["words_per_second"][ratios.UDPIPE] > 0
    parse = udpipe_parser(None, file, 1).parse
    text = file.read_text()
    assert [row.split("\t")[:6] for row in parse(text).splitlines() if row[:1].isdigit()] == [
        row.split("\t")[:6] for row in text.splitlines() if row
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"udpipe": "nowhere.udpipe"}, "UDPipe"),
        ({"udpipe_train": Path("nowhere")}, "no such file to train UDPipe on"),
        ({"spacy_train": Path("nowhere")}, "no such file to train spaCy on"),
        ({"files": [Path("nofile")]}, "nofile: there is no such file"),
        ({"model": Path("nomodel")}, "nomodel: there is neither a folder nor a model"),
    ],
)
def test_what_is_missing_is_an_error(model_and_file, options, message):
    given = (
        dict(zip(("model", "files"), (model_and_file[0], [model_and_file[1]]), strict=True))
        | {"times": 1}
        | options
    )
    with pytest.raises(ValueError, match=message):
        parsing.run(**given)


@pytest.mark.extras
def test_spacy_is_measured_beside_it(model_and_file, tmp_path):
    pytest.importorskip("spacy", reason="spaCy is not installed (extra spacy)")
    model, file = model_and_file
    result = parsing.run(model, [file], times=1, spacy_train=file)
    assert result["words_per_second"][ratios.SPACY] > 0
    assert result["ratios"]["end to end, 1 thread, over spaCy, CPU time"] > 0
    with pytest.raises(ValueError, match="spaCy cannot load this"):
        parsing.run(model, [file], times=1, spacy=tmp_path)


@pytest.mark.extras
def test_spacy_keeps_all_but_the_trees(model_and_file, tmp_path):
    pytest.importorskip("spacy", reason="spaCy is not installed (extra spacy)")
    text = model_and_file[1].read_text()
    text = text.replace("\tNOUN\t", "\t_\t")  # a tag that spaCy does not know
    spacy_parser.train(text, tmp_path / "pipeline", 1)
    parsed = spacy_parser.Spacy(tmp_path / "pipeline").parse(f"# one\n{text}")

    def others(conllu: str) -> list[list[str]]:
        return [
            columns[:6] + columns[9:]
            for line in conllu.split("\n")
            if (columns := line.split("\t"))
        ]

    assert others(parsed) == others(f"# one\n{text}")
    heads = [line.split("\t")[6] for line in parsed.split("\n") if line[:1].isdigit()]
    assert heads.count("0") >= 5
