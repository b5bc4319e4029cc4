"""What a command line gives is read once, and asked by name."""

import pytest

from parser.settings import given as reading
from parser.settings.given import Given, GivenSetting
from parser.settings.overrides import read_command, training_settings


@pytest.mark.parametrize(
    ("word", "name", "text", "value"),
    [
        ("seed=1", "seed", "1", 1),
        ("+features.suffix3=[s0]", "features.suffix3", "[s0]", ["s0"]),
        ("++column=null", "column", "null", None),
        ("~keep", "keep", "", None),
        ('treebank.train="a=b, c"', "treebank.train", '"a=b, c"', "a=b, c"),
        ("treebank.name=k\u0151", "treebank.name", "k\u0151", None),  # hydra cannot read it
        ("b.conllu", "b.conllu", "", None),
    ],
)
def test_a_setting(word, name, text, value):
    one = GivenSetting.of(word)
    assert (one.word, one.name, one.text, one.is_deleted, one.is_sweep) == (
        word,
        name,
        text,
        word.startswith("~"),
        False,
    )
    assert getattr(one.value, "text", one.value) == value
    assert (one.read is None) == (name == "b.conllu" or "\u0151" in word)


def test_settings_are_asked_by_name_and_group():
    given = Given(["-m", "beam=local", "beam.size=2,4", "+embeddings.upos=3", "~start"])
    assert [one.is_sweep for one in given.settings] == [False, True, False, False]
    assert given.names == {"beam", "beam.size", "embeddings.upos"}
    found = [given.find(key) for key in ("beam", "beam.size", "embeddings", "start", "seed")]
    words = ["beam=local", "beam.size=2,4", "+embeddings.upos=3", "~start", None]
    assert [None if one is None else one.word for one in found] == words
    beam, size = given.settings[:2]
    assert (beam.touches("beam.size"), beam.is_in("beam.size"), size.is_in("beam")) == (
        True,
        False,
        True,
    )
    assert not size.touches("beam.sizes")


def test_hydra_reads_a_word_once(monkeypatch):
    read: list[str] = []
    parse = reading.read_by_hydra
    monkeypatch.setattr(reading, "read_by_hydra", lambda word: read.append(word) or parse(word))
    given = read_command(["seed=3", "beam=local", "treebank.train=k\u0151.conllu"], sweep=False)
    assert [*given.words] == ["seed=3", "beam=local", 'treebank.train="k\u0151.conllu"']
    assert [one.value for one in given.settings] == [one.value for one in given.settings]
    assert sorted({*read}) == sorted(given.words)


def test_two_shares_are_a_list_for_python_as_on_the_command_line():
    assert training_settings(
        ["treebank.held_out=0.1,0.2", "treebank.dev=null"]
    ).treebank.held_out == [0.1, 0.2]
