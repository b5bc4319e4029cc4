"""Every option of parsing is an argument of the library and a key of spaCy's component,
or is left out for a reason.
"""

from collections.abc import Callable
from dataclasses import fields
from inspect import Parameter, signature

import pytest

from parser import Parser
from parser.decoding.parse_options import ParseOptions
from tests.random_models import random_text_model

# Options that Parser.load() does not have, and why.
NOT_OF_LOAD = {
    "float32": "int8=False",
    "several_roots": "single_root=False of parse() and parse_text()",
    "allow_missing_columns": "an argument of parse() and parse_text()",
    "text": "parse_text() parses text, parse() words",
    "sentences": "an argument of parse_text()",
    "tokens": "an argument of parse_text()",
    "ranges": "to_dict() always has them of text: start_char and end_char",
    "keep_heads": "heads= of parse()",
    "keep_relations": "deprels= of parse()",
    "tags": "predicted tags and lemmas are beside the given columns; nothing is overwritten",
    "probabilities": "trees always have them",
    "k_best": "a ParsedSentence is one tree",
    "on_error": "InputError names the word; the caller decides",
    "format": "conllu() and to_dict()",
    "words_only": "words are given without multiword tokens",
    "lattice": "words are certain; optimal-step parse reads lattices",
    "max_arcs": "of lattices",
}
# Options that the component of spaCy does not have, and why.
NOT_OF_SPACY = {
    "merge": "as the model's folder says",
    "int8": "as the model's folder says",
    "float32": "as the model's folder says",
    "treebank": "the first treebank of the model",
    "lexicon": "a component after this one can set lemmas",
    "several_roots": "sentences of spaCy have one root",
    "text": "spaCy's tokenizer finds the words",
    "tokenizer": "spaCy's tokenizer finds the words",
    "abbreviations": "spaCy's tokenizer finds the words",
    "sentences": "an earlier component, or spaCy's Sentencizer",
    "tokens": "spaCy's tokenizer finds the words",
    "ranges": "tokens of spaCy have idx",
    "keep_heads": "the component sets all heads",
    "keep_relations": "the component sets all heads",
    "probabilities": "token._.arc_probability always has them",
    "k_best": "a document has one tree",
    "on_error": "spaCy's error handler decides",
    "format": "a document is not written",
    "words_only": "tokens of spaCy are words",
    "lattice": "spaCy's tokenizer finds the words",
    "max_arcs": "of lattices",
}


def check_options(
    function: Callable[..., object], left_out: dict[str, str], own: set[str]
) -> dict[str, Parameter]:
    """Compare the parameters of a function with the options; ``own``:
    parameters that are no options.
    """
    found, options = (
        dict(signature(function).parameters),
        {one.name: one for one in fields(ParseOptions)},
    )
    assert {*options} - {*found} - {*left_out} == set(), (
        "give these options an argument, or say here why there is none"
    )
    assert {*left_out} - {*options} == set(), "these are no options any more"
    assert {*left_out} & {*found} == set(), "these options have an argument"
    assert {*found} - {*options} == own
    for name in {*found} & {*options}:
        assert found[name].default in (options[name].default, None), name
    return found


def test_the_library_has_every_option_or_says_why_not(tmp_path):
    found = check_options(Parser.load, NOT_OF_LOAD, {"folder"})
    before = [
        "folder",
        "device",
        "tokenizer",
        "beam",
        "merge",
        "int8",
        "rerank",
        "treebank",
        "lexicon",
        "abbreviations",
    ]
    assert [*found][: len(before)] == before, "positional arguments keep their places"
    random_text_model().save(tmp_path)
    load, options = Parser.load(tmp_path).__reduce__()
    assert [*signature(load).bind(*options).arguments] == [*found], "a pickle has every option"


def test_what_is_left_out_of_load_is_an_argument_of_the_methods_that_are_named():
    for method in (Parser.parse, Parser.parse_text):
        assert {"single_root", "allow_missing_columns"} <= {*signature(method).parameters}
    assert {"sentences", "tokens"} <= {*signature(Parser.parse_text).parameters}
    assert {"heads", "deprels"} <= {*signature(Parser.parse).parameters}


@pytest.mark.extras
def test_the_component_of_spacy_has_every_option_or_says_why_not():
    pytest.importorskip("spacy", reason="spaCy is not installed (extra spacy)")
    from parser.library.spacy_component import OptimalStep

    check_options(OptimalStep, NOT_OF_SPACY, {"nlp", "name", "model"})
