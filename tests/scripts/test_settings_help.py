"""train --help: all settings with what they are for, and their values in the run that is described."""

from __future__ import annotations

import sys

import pytest

from parser.commands import train
from parser.commands.settings_help import CHOICES, SECTIONS, schema_keys, settings_help


def test_all_settings_are_explained():
    text = settings_help(["seed=3", "recipe=accurate"])
    for key in [*schema_keys(), *CHOICES]:
        assert f"\n  {key}=" in text or f"\n  {key}.NAME=VALUE" in text, key
    assert all(f"\n{title}\n" in text for title in SECTIONS)
    assert "\n  seed=3   " in text
    assert "\n  optimizer.name=adam   " in text
    assert "for weights, word vectors and the order of the examples" in text
    assert "experiments" not in text
    assert max(map(len, text.splitlines())) <= 110


def test_there_are_no_more_settings_than_people_can_know():
    """A new setting takes the place of one that brings less."""
    assert settings_help([]).endswith(f"\n\n{len(schema_keys())} settings")
    assert len(schema_keys()) <= 117


def test_the_command_prints_it(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["train.py", "--help", "beam=local", "beam.size=32", "treebank.train=a (1).conllu"])
    train.main()
    found = capsys.readouterr().out
    assert "\n  beam.size=32   " in found
    assert "\n  treebank.train=a (1).conllu   " in found
    monkeypatch.setattr(sys, "argv", ["train.py", "--help", "sead=1"])
    with pytest.raises(ValueError, match=r"no setting sead; --help lists"):
        train.main()
