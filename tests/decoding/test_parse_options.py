"""Options of parsing: flags that come from fields,
and refusals by name before anything is parsed.
"""

from argparse import ArgumentParser

import pytest

from parser.beam_settings import Beam, BeamError, Merge
from parser.commands.parsing_options import add_options, options_of
from parser.decoding.given_arcs import GivenArcsError
from parser.decoding.parse_options import (
    NoTagsError,
    OnError,
    ParseOptions,
    TagUse,
    changed,
    flags,
)
from parser.decoding.predictor import Predictor
from tests.forgery import small_linear_model, small_model
from tests.random_models import random_text_model

GIVEN = (
    "--beam 4 --merge none --several-roots --on-error skip --tags fill --lexicon l.tsv --k-best 2 "
    "--device cpu"
)


def read(line: str, command: str = "parse", **more) -> ParseOptions:
    parser = ArgumentParser()
    add_options(parser, command)
    return options_of(parser.parse_args(line.split()), command, **more)


def test_flags_make_options_and_what_is_not_given_is_as_by_default():
    assert read("") == ParseOptions()
    found = changed(read(GIVEN))
    assert str(found.pop("lexicon")) == "l.tsv"
    how = {"on_error": OnError.SKIP, "tags": TagUse.FILL, "k_best": 2}
    assert found == {"beam": 4, "merge": Merge.NONE, "several_roots": True, **how}
    assert read("", named_lattices=True) == ParseOptions(lattice=True)


def test_each_command_has_the_flags_that_name_it(capsys):
    for command in ("parse", "parse_many", "serve"):
        parser = ArgumentParser()
        add_options(parser, command)
        parser.print_help()
        told = capsys.readouterr().out
        for name, (_, flag) in flags().items():
            assert (
                f"--{name.replace('_', '-')} " in told.replace("\n", " ").replace("]", " ")
            ) == (command in flag.commands)


def test_a_beam_is_the_models_own_unless_another_one_is_given():
    model = small_model("static")
    assert ParseOptions().search(model) == Beam(1)
    model.beam = Beam(8, Merge.NONE)
    assert ParseOptions().search(model) == Beam(8, Merge.NONE)
    assert ParseOptions(beam=4).search(model) == Beam(4, Merge.NONE)
    assert ParseOptions(beam=Beam(2)).search(model) == Beam(2)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (ParseOptions(tags=TagUse.FILL), NoTagsError, "predicts no tags.*recipe=text"),
        (ParseOptions(beam=2, k_best=3), BeamError, "ask for 1 to 2"),
        (ParseOptions(keep_heads=True), GivenArcsError, "model=linear"),
        (ParseOptions(beam=4, merge=Merge.SIGNATURE), BeamError, "use merge=configuration"),
        (
            ParseOptions(device="cuda"),
            ValueError,
            "--device cuda: this model reads no pretrained encoder",
        ),
    ],
)
def test_what_a_model_cannot_do_is_refused_at_once(options, error, message):
    linear = options.keep_heads or options.merge is not None
    with pytest.raises(error, match=message):
        Predictor(small_linear_model() if linear else small_model("static"), options)


def test_text_gets_all_tags_that_a_model_predicts():
    assert Predictor(random_text_model(), ParseOptions(text=True)).tag_use is TagUse.OVERWRITE
    assert Predictor(small_model("static"), ParseOptions(text=True)).tag_use is TagUse.KEEP
