"""Prob= in MISC: what a Parser says of the same words, whatever else is written, and refused where
it would mean nothing.
"""

from dataclasses import replace

import pytest

from parser import Parser
from parser.beam_settings import Beam
from parser.conllu.checks import EMPTY, FEATS, FORM, HEAD, MISC, UPOS, XPOS
from parser.decoding.parse_options import OnError, TagUse
from parser.inference.calibration import Calibration
from parser.model.trained_model import TrainedModel
from tests import parsed_files
from tests.forgery import small_linear_model, small_model
from tests.random_models import random_text_model, with_random_weights

CALIBRATION = Calibration((-3.0, 3.0), (0.2, 0.9), 0.95)
MISCS = ["SpaceAfter=No", EMPTY, "Prob=0.11|X=1|Prob=0.2", "Prob=0.5"]
LINES = [
    f"{i}\t{form}\t_\tX\t_\tA=b\t_\t_\t_\t{misc}\n"
    for i, (form, misc) in enumerate(zip("abca", MISCS, strict=True), 1)
]
TEXT = (
    "# text = x\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\tProb=1\n"
    + "".join(LINES)
    + "\n"
    + LINES[0].replace("\ta\t", "\tc\t")
    + "\n"
)


def calibrated(model: TrainedModel) -> TrainedModel:
    model.calibration = CALIBRATION
    return model


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    return calibrated(with_random_weights(small_model("static")))


def parsed(model: TrainedModel, text: str, probabilities: bool = True, **options) -> str:
    return parsed_files.parsed(
        model, text.encode(), probabilities=probabilities, allow_missing_columns=True, **options
    ).decode()


def words(text: str) -> list[list[str]]:
    return [
        columns
        for line in text.splitlines()
        if len(columns := line.split("\t")) == 10 and columns[0].isdigit()
    ]


@pytest.mark.parametrize("beam", [None, Beam(4)])
def test_they_are_those_of_the_library_in_place_of_former_ones(model, beam):
    found = words(parsed(model, TEXT, beam=beam))
    sentences = [
        [(row[FORM], row[UPOS], row[XPOS], row[FEATS]) for row in part]
        for part in (found[:4], found[4:])
    ]
    expected = [
        f"Prob={p:.2f}"
        for one in Parser(model, beam=beam).parse(sentences)
        for p in one.probabilities
    ]
    before = ["SpaceAfter=No|", "", "X=1|", "", "SpaceAfter=No|"]
    assert [row[MISC] for row in found] == [
        kept + said for kept, said in zip(before, expected, strict=True)
    ]
    assert len(set(expected)) > 1


def test_nothing_else_changes(model):
    rows = [line.split("\t")[:9] for line in parsed(model, TEXT, probabilities=False).splitlines()]
    assert [line.split("\t")[:9] for line in parsed(model, TEXT).splitlines()] == rows
    assert "ab\t_\t_\t_\t_\t_\t_\t_\tProb=1\n" in parsed(model, TEXT)  # of a multiword token


@pytest.mark.parametrize("options", [{"chunk_bytes": 1}, {"threads": 3, "chunk_bytes": 60}])
def test_any_chunks_and_threads_give_the_same(model, options):
    assert parsed(model, TEXT * 5, **options) == parsed(model, TEXT * 5)


@pytest.mark.parametrize("relations", [False, True])
def test_given_arcs_have_none(model, relations):
    given = TEXT.replace("_\t_\t_\tProb=0.5", "1\tx\t_\tProb=0.5")
    rows = words(parsed(model, given, keep_heads=True, keep_relations=relations))
    assert (rows[3][HEAD], rows[3][MISC]) == ("1", EMPTY)
    assert all("Prob=" in row[MISC] for row in rows[:3])
    crossing = TEXT.replace("_\t_\t_\tSpace", "3\tx\t_\tSpace").replace(
        "_\t_\t_\t_\n", "4\tx\t_\t_\n"
    )
    kept = parsed(model, crossing, keep_heads=True, keep_relations=relations, on_error=OnError.KEEP)
    assert kept.split("\n\n")[0] == crossing.split("\n\n")[0]  # as it is


def test_predicted_tags_are_written_too():
    model = calibrated(random_text_model())
    rows = words(parsed(model, TEXT, tags=TagUse.OVERWRITE))
    assert {row[UPOS] for row in rows} <= {*model.vocabularies.tags["upos"].symbols}
    assert all("Prob=" in row[MISC] for row in rows)


def test_what_has_no_probabilities_says_so(model):
    uncalibrated = replace(model, calibration=Calibration())
    with pytest.raises(ValueError, match=r"not calibrated; train it with a dev part"):
        parsed(uncalibrated, TEXT)
    with pytest.raises(ValueError, match="scores of model=linear are not probabilities"):
        parsed(small_linear_model(), TEXT)
