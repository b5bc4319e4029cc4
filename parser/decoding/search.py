"""The table of sentence parsers; the first one that does what is wanted is chosen.

Each row of ``SEARCHES`` says what a parser can do; faster ones come first. A parser is imported
only when it is chosen: each module with compiled loops makes commands start more slowly.
docs/oracles_and_systems.md prints the table by system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any

from oracles.errors import OptimalStepError
from parser import transitions
from parser.beam_settings import Beam, BeamError, Merge, is_greedy
from parser.data.attributes import AttributeColumns
from parser.data.sentences import Parses
from parser.decoding.given_arcs import GivenArcsError, has_exact_oracle
from parser.decoding.sentence_parser import SentenceParser
from parser.model.parser_model import ParserModel
from parser.transitions.attardi import Attardi
from parser.transitions.system import TransitionSystem, behaves_as

if TYPE_CHECKING:
    from parser.linear.model import LinearModel
    from parser.model.model import FrozenModel

GREEDY = Beam(1)
"""No beam: the best step is taken."""


class Ability(Enum):
    """An ability of a parser."""

    PARSE = "parses with the model"
    GREEDY = "takes the best step"
    BEAM = "searches with a beam, and finds several trees"
    MERGES = "merges items that have the same configuration, or none"
    SIGNATURES = "merges items with the same signature"
    RERANKS = "ranks the trees of a beam by the heads that the encoder predicts"
    KEEPS_ARCS = "keeps given arcs"
    RECORDS = "records the probabilities of its steps"
    LATTICES = "chooses the words of a lattice"


@dataclass(frozen=True)
class SearchWish:
    """The requirements on a parser.

    Attributes:
        beam: how to search; a beam of one item is greedy parsing.
        threads: how many spans of sentences to parse at the same time.
        k_best: whether several trees of each sentence are wanted;
            then even one item is searched for with a beam.
        keeps_arcs: whether given arcs are kept.
        records: whether the probabilities of steps are recorded.
        lattices: whether lattices are parsed, rather than sentences.
    """

    beam: Beam = GREEDY
    threads: int = 1
    k_best: bool = False
    keeps_arcs: bool = False
    records: bool = False
    lattices: bool = False

    def needs(self) -> Iterator[Ability]:
        """Yield the abilities that the wish needs;
        the first that is missing is the one that a refusal names.
        """
        if self.lattices:
            yield Ability.LATTICES
        yield Ability.PARSE
        if self.beam.rerank:
            yield Ability.RERANKS
        if self.k_best or not is_greedy(self.beam) or self.lattices:
            yield Ability.BEAM
            yield Ability.SIGNATURES if self.beam.merge is Merge.SIGNATURE else Ability.MERGES
        else:
            yield Ability.GREEDY
        if self.keeps_arcs:
            yield Ability.KEEPS_ARCS
        if self.records:
            yield Ability.RECORDS


@dataclass(frozen=True)
class Search:
    """A parser and its abilities.

    Attributes:
        parser: the name of its class, below parser.decoding.
        kind: the kind of models that it parses with.
        can: what it can do.
        make: a function that makes it from the class, a model and a wish.
        systems: a function that returns whether it parses with a transition system; None: it parses
            with any.
        only: for some abilities, the models with which it has them.
    """

    parser: str
    kind: str
    can: Set[Ability]
    make: Callable[[Any, Any, SearchWish], Any]
    systems: Callable[[TransitionSystem], bool] | None = None
    only: Mapping[Ability, Callable[[ParserModel], bool]] = field(default_factory=dict)

    def fits(self, model: ParserModel, need: Ability) -> bool:
        """Return whether the parser has an ability with a model."""
        if need is Ability.PARSE:
            return self.kind == model.kind and (self.systems is None or self.systems(model.system))
        return need in self.can and (need not in self.only or self.only[need](model))

    def parser_for(self, model: ParserModel, wish: SearchWish) -> Any:
        """Return the parser."""
        module, _, name = f"parser.decoding.{self.parser}".rpartition(".")
        return self.make(getattr(import_module(module), name), model, wish)


def searches(model: ParserModel, wish: SearchWish) -> list[Search]:
    """Return the parsers that do what is wanted, the fastest first.

    Raises:
        BeamError, GivenArcsError, OptimalStepError: none does;
            the message names the ability that is missing.
    """
    candidates: Sequence[Search] = SEARCHES
    for need in wish.needs():
        fitting = [search for search in candidates if search.fits(model, need)]
        if not fitting:
            raise _refusal(model, need, wish)
        candidates = fitting
    return list(candidates)


def search_for(model: ParserModel, wish: SearchWish | None = None) -> SentenceParser:
    """Return the fastest parser that does what is wanted, with the model's present weights;
    without a wish, one that parses greedily.

    With ``k_best``, it is a KBestParser; with ``lattices``, a LatticeParser.

    Raises:
        BeamError, GivenArcsError, OptimalStepError: see searches().
        Int8Error: 8-bit products are requested, and not available.
    """
    wish = SearchWish() if wish is None else wish
    first, *_ = searches(model, wish)
    parser: SentenceParser = first.parser_for(model.frozen(), wish)
    return parser


def parse(
    model: ParserModel,
    sentences: Sequence[AttributeColumns],
    *,
    single_root: bool = True,
    threads: int = 1,
) -> Parses:
    """Parse sentences greedily into valid UD trees; without ``single_root``,
    the root may have several children.
    """
    return search_for(model, SearchWish(threads=threads)).parse(
        model.vocabularies.encode(sentences), single_root=single_root
    )


def _refusal(model: ParserModel, need: Ability, wish: SearchWish) -> OptimalStepError:
    """Return the error that names the missing ability and the fix."""
    kind, system = model.kind, model.system.name
    match need:
        case Ability.RERANKS:
            why = (
                "this model has no encoder that predicts heads (recipe=text), "
                "which reranking needs; parse without --rerank"
            )
            return BeamError(why)
        case Ability.SIGNATURES if wish.lattices:
            return BeamError(
                f"merge={Merge.SIGNATURE} is not supported with lattices; "
                f"use merge={Merge.CONFIGURATION}"
            )
        case Ability.SIGNATURES if kind != _NETWORK:
            return BeamError(
                f"merge={Merge.SIGNATURE} is not supported with model={kind}; "
                f"use merge={Merge.CONFIGURATION}"
            )
        case Ability.SIGNATURES:
            return BeamError(
                f"merge={Merge.SIGNATURE} is supported only with system=arc_standard, and the "
                f"model has system={system}; use merge={Merge.CONFIGURATION}"
            )
        case Ability.KEEPS_ARCS if not has_exact_oracle(model.system):
            able = ", ".join(
                name
                for name, system in transitions.registered().items()
                if has_exact_oracle(system)
            )
            return GivenArcsError(
                f"given arcs cannot be kept: system={system} has no exact oracle; "
                f"systems with one: {able}"
            )
        case Ability.KEEPS_ARCS if kind != _NETWORK:
            return GivenArcsError(
                f"given arcs cannot be kept with model={kind}; train with model=mlp or model=bilstm"
            )
        case Ability.KEEPS_ARCS:
            return BeamError(
                "given arcs cannot be kept with merge=signature or with rerank; parse greedily, "
                f"or with another beam, such as --beam 8 --merge {Merge.CONFIGURATION}"
            )
        case Ability.LATTICES | Ability.PARSE if wish.lattices and kind != _NETWORK:
            return BeamError(f"model={kind} does not parse lattices; train with model=mlp")
        case Ability.LATTICES if wish.lattices:
            return BeamError(
                "models with an encoder do not parse lattices: "
                "they read the whole sentence first; train with model=mlp"
            )
        case Ability.PARSE if wish.lattices:
            return BeamError(
                f"lattices need system=arc_standard or attardi, and the model has system={system}"
            )
    return OptimalStepError(f"no parser {need.value}, with model={kind} and system={system}")


_NETWORK, _LINEAR = "classifier", "linear"


def _is_attardi(system: TransitionSystem) -> bool:
    return behaves_as(system, Attardi)


def _is_lr_spine(system: TransitionSystem) -> bool:
    from parser.transitions.lr_spine import LRSpine

    return behaves_as(system, LRSpine)


def _attaches_to_buffer(system: TransitionSystem) -> bool:
    from parser.decoding.greedy.buffer_arcs import attaches_to_buffer

    return attaches_to_buffer(system)


def _merges_by_signature(system: TransitionSystem) -> bool:
    from parser.decoding.beam.signature import merges_by_signature

    return merges_by_signature(system)


def _greedy(parser: Any, model: FrozenModel, wish: SearchWish) -> Any:
    return parser(model.weights, model.system, model.table, wish.threads)


def _beam(parser: Any, model: FrozenModel, wish: SearchWish) -> Any:
    return parser(model.weights, model.system, model.table, wish.beam, wish.threads)


def _batched(parser: Any, model: FrozenModel, wish: SearchWish) -> Any:
    return parser(model.weights, model.system, model.table)


def _batched_beam(parser: Any, model: FrozenModel, wish: SearchWish) -> Any:
    return parser.with_weights(model.weights, model.system, model.table, wish.beam)


def _linear(parser: Any, model: LinearModel, wish: SearchWish) -> Any:
    return parser(model, wish.threads)


def _linear_beam(parser: Any, model: LinearModel, wish: SearchWish) -> Any:
    return parser(model.system, model.templates, lambda part: model.weights.scores, wish.beam)


def _reranking(parser: Any, model: FrozenModel, wish: SearchWish) -> Any:
    plain = replace(wish, beam=replace(wish.beam, rerank=False), threads=1)
    return parser(
        search_for(model, plain), model.weights.encoder, model.head_scorer, wish.beam, wish.threads
    )


def _lattice(parser: Any, model: FrozenModel, wish: SearchWish) -> Any:
    return parser(model, wish.beam, threads=wish.threads)


_KEEPS_ARCS = {Ability.KEEPS_ARCS: lambda model: has_exact_oracle(model.system)}

SEARCHES = [
    Search("greedy.compiled.GreedyParser", _NETWORK, {Ability.GREEDY}, _greedy, _is_attardi),
    Search("greedy.spine.SpineParser", _NETWORK, {Ability.GREEDY}, _greedy, _is_lr_spine),
    Search(
        "greedy.buffer_arcs.BufferArcParser",
        _NETWORK,
        {Ability.GREEDY},
        _greedy,
        _attaches_to_buffer,
    ),
    Search(
        "greedy.batched.BatchedParser",
        _NETWORK,
        {Ability.GREEDY, Ability.KEEPS_ARCS, Ability.RECORDS},
        _batched,
        only=_KEEPS_ARCS,
    ),
    Search("greedy.batched.LinearParser", _LINEAR, {Ability.GREEDY}, _linear),
    Search(
        "beam.compiled.BeamParser", _NETWORK, {Ability.BEAM, Ability.MERGES}, _beam, _is_attardi
    ),
    Search(
        "beam.signature_beam.SignatureBeamParser",
        _NETWORK,
        {Ability.BEAM, Ability.SIGNATURES},
        _beam,
        _merges_by_signature,
    ),
    Search(
        "beam.batched.BatchedBeamParser",
        _NETWORK,
        {Ability.BEAM, Ability.MERGES, Ability.KEEPS_ARCS},
        _batched_beam,
        only=_KEEPS_ARCS,
    ),
    Search("beam.batched.BatchedBeamParser", _LINEAR, {Ability.BEAM, Ability.MERGES}, _linear_beam),
    Search(
        "beam.reranking.RerankingParser",
        _NETWORK,
        {Ability.BEAM, Ability.MERGES, Ability.SIGNATURES, Ability.RERANKS},
        _reranking,
        only={
            Ability.RERANKS: lambda model: model.predicts_heads,
            Ability.SIGNATURES: lambda model: _merges_by_signature(model.system),
        },
    ),
    Search(
        "lattice.parser.LatticeParser",
        _NETWORK,
        {Ability.BEAM, Ability.MERGES, Ability.LATTICES},
        _lattice,
        _is_attardi,
        only={Ability.LATTICES: lambda model: not model.contextual},
    ),
]
"""The parsers, the faster ones first."""
