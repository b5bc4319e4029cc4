"""Classifiers that score anything: NaN, infinities, constants, extremes.
What they parse must be trees all the same.
"""

from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import torch

from parser.beam_settings import Beam, Merge
from parser.conllu.checks import check_tree
from parser.evaluation.scores import nonprojective_edges
from parser.model.trained_model import TrainedModel
from parser.transitions import system_class
from parser.transitions.features import at_candidates, slots_of
from tests.forgery import small_model
from tests.searches import beam_parser_of, parser_of
from tests.toy import sentence
from tests.transition_systems import variant_name, variants

# Transition systems, and encoders over arc-standard.
VARIANTS = {variant_name(variant): variant for variant in variants()}
MODELS = (*VARIANTS, "contextual", "text")
_OF_FORGERY = {
    "arc_standard": "static",
    "attardi": "attardi",
    "contextual": "contextual",
    "text": "text",
}
_CONSTANTS = [0.0, 1.0, -1.0, 1e38, -1e38, 1e-40, float("inf"), float("-inf"), float("nan")]


def fuzz_output(rng: Random, folder: Path) -> None:
    """However it is searched, each tree has one root, or several where they may; no cycle;
    projective where the system is.
    """
    model = hostile_model(rng.choice(MODELS))
    make_hostile(model, rng)
    sentences = [sentence([0] + [1] * (n - 1), rng) for n in (1, 2, rng.randint(3, 12))]
    encoded, single_root = model.vocabularies.encode(sentences), rng.random() < 0.7
    beam = None if rng.random() < 0.5 else Beam(rng.randint(1, 6), rng.choice(_merges(model)))
    parser = parser_of(model, rng.choice([1, 2])) if beam is None else beam_parser_of(model, beam)
    parses = parser.parse(encoded, single_root=single_root)
    for s, (start, end) in enumerate(zip(parses.offsets[:-1] + 1, parses.offsets[1:], strict=True)):
        assert end - start == len(sentences[s])
        _check(model, parses.heads[start:end], parses.relations[start:end], single_root)
    if beam is not None:
        for s, trees in enumerate(
            beam_parser_of(model, beam).k_best(encoded, beam.size, single_root=single_root)
        ):
            assert trees, "no tree was found"
            for tree in trees:
                assert len(tree.heads) == len(sentences[s])
                _check(model, tree.heads, tree.relations, single_root)


def _check(
    model: TrainedModel, heads: np.ndarray, relations: np.ndarray, single_root: bool
) -> None:
    check_tree(heads.tolist(), several_roots=not single_root)
    if single_root:  # else any relation will do at any place
        assert ((heads == 0) == (relations == model.relations.symbols.index("root"))).all()
    assert ((relations >= 0) & (relations < len(model.relations.symbols))).all()
    assert not model.system.projective or not nonprojective_edges(heads.tolist())


def make_hostile(model: TrainedModel, rng: Random) -> None:
    generator = torch.Generator().manual_seed(rng.randrange(2**31))
    with torch.no_grad():
        for parameter in model.classifier.parameters():
            kind = rng.randrange(4)
            if kind == 0:
                parameter.fill_(rng.choice(_CONSTANTS))
                continue
            parameter.normal_(std=rng.choice([1.0, 100.0, 1e20, 1e38]), generator=generator)
            if kind == 1:
                parameter[torch.rand(parameter.shape, generator=generator) < 0.1] = rng.choice(
                    _CONSTANTS
                )


def _merges(model: TrainedModel) -> list[Merge]:
    return [*Merge] if model.system.name == "arc_standard" else [Merge.NONE, Merge.CONFIGURATION]


def compile_kernels() -> None:
    """Lets no case wait for kernels to be compiled."""
    for name in MODELS:
        model = hostile_model(name)
        encoded = model.vocabularies.encode([sentence([0, 1])])
        parser_of(model).parse(encoded)
        for merge in _merges(model):
            beam_parser_of(model, Beam(2, merge)).k_best(encoded, 2)
            beam_parser_of(model, Beam(2, merge)).parse(encoded)


@cache
def hostile_model(name: str) -> TrainedModel:
    """One of MODELS, whose weights the cases change."""
    if name in _OF_FORGERY:
        return small_model(_OF_FORGERY[name])
    like, (system_name, options) = small_model("static"), VARIANTS[name]
    system = system_class(system_name)
    slots = slots_of(
        at_candidates({"form": ["s0", "b0"], "feats_pairs": ["s1"], "deprel": ["s0.l1"]}, system)
    )
    return TrainedModel.new(
        like.vocabularies, like.relations, slots, like.spec, system_name, options
    )
