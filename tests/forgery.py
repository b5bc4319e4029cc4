"""Small models of every kind, saved, and changed as a stranger might change them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from parser.data.known_lemmas import KnownLemmas
from parser.data.lemmas import Lemmas, Seen
from parser.data.parts.characters import Characters
from parser.data.tasks.heads import HeadTask
from parser.data.tasks.lemmas import LemmaTask
from parser.data.tasks.tags import TagTask
from parser.data.tasks.task import Task
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary, tag_vocabulary, vocabulary_for
from parser.linear.model import LinearModel
from parser.linear.weights import HashedWeights
from parser.model.trained_model import TrainedModel
from parser.network_spec import (
    BiLSTMSpec,
    CharacterSpec,
    ClassifierSpec,
    Embedding,
    HeadSpec,
    LemmaSpec,
    TaggerSpec,
)
from parser.text.segmenter import ATTRIBUTES, Segmenter, SegmenterSpec
from parser.training.text.segmenter import SegmenterNetwork
from parser.transitions.features import slots_of

KINDS = ("static", "contextual", "attardi", "text", "lemmas")

# Of the kind "lemmas": rules, and what training saw.
RULES = [
    "lower\t0\t\t0\t",
    "keep\t0\t\t1\té",
    "keep\t0\t\t2\ta",
    "keep\t1\tx\t0\t",
    "keep\t0\t\t0\t",
]
SEEN: Seen = {
    (): {"éa": "always"},
    ("X", "_"): {"aé": "seen", "b": "B"},
    ("X", "A=b|C=d"): {"w1": "one"},
}


def small_model(kind: str, tag_size: int = 2) -> TrainedModel:
    """One of KINDS: a classifier of embeddings, a BiLSTM, Attardi's system, a BiLSTM with
    characters and tags, and lemmas.
    """
    torch.manual_seed(0)
    vocabularies = Vocabularies(
        {
            name: vocabulary_for(name, symbols)
            for name, symbols in {"form": ["a", "b"], "feats_pairs": ["_", "A=b|C=d"]}.items()
        }
    )
    relations = Vocabulary(["det", "root", "obj"])
    embeddings = {"form": Embedding(3, False), "feats_pairs": Embedding(2, True)}
    if kind == "contextual":
        spec = ClassifierSpec(5, "tanh", 0.5, 0.1, 0.0, embeddings, BiLSTMSpec(2, 3, 0.1, 0.1))
        return TrainedModel.new(
            vocabularies, relations, slots_of({"token": ["s0", "b0"], "deprel": ["s0.l1"]}), spec
        )
    if kind in ("text", "lemmas"):
        values = {"upos": ["X", "Y"], "feats": ["_", "A=b", "A=b|C=d"]}
        tags = {column: tag_vocabulary(column, symbols) for column, symbols in values.items()}
        tasks: list[Task] = [TagTask(tags), HeadTask(relations)]
        parts = CharacterSpec(2, 3, 4), TaggerSpec(1, tag_size, 0.1), HeadSpec(3, 2, 0.1)
        encoder = BiLSTMSpec(2, 3, 0.1, 0.1, *parts)
        if kind == "lemmas":
            known = KnownLemmas({"X": ["always", "seen"], "Y": ["B", "seen"]}, {"é": "e"})
            tasks.append(LemmaTask(Lemmas(RULES, ["upos", "feats"], SEEN, known), tags))
            encoder.lemmas = LemmaSpec(4, 50, 0.1, 2)
        vocabularies = Vocabularies(
            vocabularies.by_attribute, [Characters(["a", "b", "é"], 4)], tasks
        )
        spec = ClassifierSpec(5, "tanh", 0.5, 0.1, 0.0, embeddings, encoder)
        return TrainedModel.new(
            vocabularies, relations, slots_of({"token": ["s0", "b0"], "deprel": ["s0.l1"]}), spec
        )
    spec = ClassifierSpec(5, "relu", 0.0, 0.0, 0.0, embeddings)
    slots = slots_of({"form": ["s0", "b0"], "feats_pairs": ["s1"], "deprel": ["s0.l1"]})
    if kind == "attardi":
        return TrainedModel.new(vocabularies, relations, slots, spec, "attardi", {"degree": 2})
    return TrainedModel.new(vocabularies, relations, slots, spec)


def small_linear_model() -> LinearModel:
    vocabularies = Vocabularies(
        {"form": Vocabulary(["a", "w1"]), "upos": Vocabulary(["NOUN", "VERB"])}
    )
    model = LinearModel.new(
        vocabularies, Vocabulary(["det", "root"]), ["X:p", "Y:p", "X:p+Y:p", "Y:vl"]
    )
    keys = np.unique(np.random.default_rng(0).integers(1, 2**62, 20)).astype(np.uint64)
    starts, outputs = np.arange(21), np.arange(20, dtype=np.int32) % model.system.n_outputs
    model.weights = HashedWeights(
        keys, starts, outputs, np.ones(20, np.float32), model.system.n_outputs
    )
    return model


def small_segmenter() -> Segmenter:
    torch.manual_seed(0)
    spec = SegmenterSpec(form=6, affix=4, layers=2, hidden=8)
    vocabularies = {name: Vocabulary(["a", "b"]) for name in ATTRIBUTES}
    network = SegmenterNetwork(spec, vocabularies)
    return Segmenter(network.tensors(), spec, vocabularies, 0.5)


def change(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Lets ``edit`` change the JSON object that a part is."""
    value = json.loads(path.read_text())
    edit(value)
    path.write_text(json.dumps(value))


def set_at(*keys: Any) -> Callable[[dict[str, Any]], None]:
    """Return an edit: ``set_at("a", "b", 1)`` sets the field b of a to 1."""

    def edit(value: dict[str, Any]) -> None:
        *way, last, new = keys
        for key in way:
            value = value[key]
        value[last] = new

    return edit
