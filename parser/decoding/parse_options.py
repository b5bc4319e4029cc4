"""How to parse: the options of the commands, of the library and of the server, each declared once.

A field says which commands have its flag, its help, for which input it is, and what it needs of a model. From these come the
options of argparse (commands/parsing_options.py) and the refusals: refuse() those of a model, ``ParseOptions`` those of options
that exclude one another. What an option does, predictor.py does, or files/file_parsing.py if it is only about files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

from parser.beam_settings import Beam, Merge, searching
from parser.data.lemmas import LemmaLexicon
from parser.decoding.given_arcs import check_keeps_arcs
from parser.decoding.parsers import check_search
from parser.model.loading import AnyModel
from parser.model.model import Model


class OnError(StrEnum):
    """How a sentence that is not valid CoNLL-U is handled."""

    STOP = "stop"  # it is an error, and nothing behind it is parsed
    SKIP = "skip"  # it is left out
    KEEP = "keep"  # it passes through as it is


class TagUse(StrEnum):
    """How the columns LEMMA, UPOS, XPOS and FEATS are written."""

    KEEP = "keep"  # they pass through
    FILL = "fill"  # one that is _ in all words of a sentence is written; in FEATS a single _ is a value, no features
    OVERWRITE = "overwrite"  # those that the model predicts are written


class SentenceEnds(StrEnum):
    """Where the sentences of a text end."""

    MODEL = "model"
    LINE = "line"


class TokenEnds(StrEnum):
    """Where the tokens of a text end."""

    MODEL = "model"
    SPACE = "space"


class Input(StrEnum):
    """What is parsed."""

    CONLLU = "CoNLL-U"
    TEXT = "text"
    LATTICES = "lattices"


class NoTagsError(ValueError):
    """A model predicts no tags, or no lemmas; the message says what to do."""


def _predicts_tags(model: AnyModel, options: ParseOptions) -> None:
    if not isinstance(model, Model) or not model.vocabularies.predicted:
        raise NoTagsError(
            "this model predicts no tags; train one with recipe=text, which does, or leave the tags alone (--tags=keep)"
        )


def _predicts_lemmas(model: AnyModel, options: ParseOptions) -> None:
    _predicts_tags(model, options)
    if model.vocabularies.lemmas is None:
        raise NoTagsError("this model predicts no lemmas; train one with recipe=text on lemmas, or leave the lexicon out")


def _is_calibrated(model: AnyModel, options: ParseOptions) -> None:
    if not isinstance(model, Model):
        raise ValueError(f"the scores of model={model.kind} are no probabilities; use a model=mlp or model=bilstm")
    if not model.calibration.shares:
        fix = "train it with a dev part (treebank.dev), of 50 words or more, on which they are calibrated"
        raise ValueError(f"the probabilities of this model are not calibrated; {fix}")


def _keeps_arcs(model: AnyModel, options: ParseOptions) -> None:
    check_keeps_arcs(model, options.search(model))


def _has_pretrained_encoder(model: AnyModel, options: ParseOptions) -> None:
    if not isinstance(model, Model) or not model.spec.pretrained:
        cpu = "the model reads no pretrained encoder, and all else is done on the CPU"
        raise ValueError(f"--device {options.device}: {cpu}")


class Flag(NamedTuple):
    """What a field of ParseOptions says of its flag; the flag is named as the field is, with dashes.

    Attributes:
        help: for --help.
        input: what it is for.
        commands: those that have it.
        needs: raises an error that says the fix, if a model cannot do it; called where the option is given.
        metavar: the name of its value in --help.
    """

    help: str
    input: tuple[Input, ...] = (*Input,)
    commands: tuple[str, ...] = ("parse", "parse_many")
    needs: Callable[[AnyModel, ParseOptions], None] | None = None
    metavar: str | None = None


_EVERYWHERE = "parse", "parse_many", "serve"
_PARSE = ("parse",)
_WORDS, _CONLLU, _TEXT, _LATTICES = (Input.CONLLU, Input.TEXT), (Input.CONLLU,), (Input.TEXT,), (Input.LATTICES,)


def option(default: Any, help: str, *others: Any, **named: Any) -> Any:
    """A field of ParseOptions with its flag, see Flag."""
    return field(default=default, metadata={"flag": Flag(help, *others, **named)})


@dataclass(frozen=True)
class ParseOptions:
    """How to parse; the help of the flags says what each option does.

    Besides, ``beam`` may be a whole beam, and ``lexicon`` what was read from a file.

    Raises:
        ValueError: two of them exclude one another.
    """

    treebank: str | None = option(
        None,
        "for a model of several treebanks: the one that the input resembles (default: the first of treebank.train)",
        commands=_EVERYWHERE,
        metavar="NAME",
    )
    beam: int | Beam | None = option(
        None, "search with a beam of N items (default: the model's own, or 1)", commands=_EVERYWHERE, metavar="N"
    )
    merge: Merge | None = option(None, "which items of the beam are merged (default: configuration)", commands=_EVERYWHERE)
    rerank: bool = option(
        False,
        "choose among the trees of the beam with the heads that the encoder predicts, too (models of recipe=text)",
        _WORDS,
        _EVERYWHERE,
    )
    int8: bool = option(
        False,
        "with an encoder: multiply in 8 bits, which is nearly as accurate, and faster on processors with VNNI (default: as the "
        "model's folder says)",
        commands=_EVERYWHERE,
    )
    float32: bool = option(False, "with an encoder: multiply in single precision", commands=_EVERYWHERE)
    device: str = option(
        "cpu",
        "where a pretrained encoder reads, cpu (default) or cuda; all else is done on the CPU",
        commands=_PARSE,
        needs=_has_pretrained_encoder,
    )
    several_roots: bool = option(False, "let the artificial root have several children")
    on_error: OnError = option(OnError.STOP, "what to do with a sentence that is not CoNLL-U (default: stop)")
    allow_missing_columns: bool = option(False, "parse input without the tags that the model reads", _WORDS, _EVERYWHERE)
    tags: TagUse = option(
        TagUse.KEEP,
        "what to do with LEMMA, UPOS, XPOS and FEATS if the model predicts them: keep the input's (default), fill those that "
        "are _ throughout a sentence, or overwrite",
        _WORDS,
        needs=_predicts_tags,
    )
    lexicon: Path | LemmaLexicon | None = option(
        None,
        "lemmas that come before predicted ones: lines of form, UPOS or _, lemma and, if they matter, FEATS, with tabs between "
        "them",
        _WORDS,
        _EVERYWHERE,
        _predicts_lemmas,
        "FILE",
    )
    text: bool = option(
        False,
        "the input is text, not CoNLL-U: it is split into sentences and words first, and all predicted tags are written",
        _WORDS,
    )
    tokenizer: Path | None = option(
        None,
        "with --text: a model file of UDPipe 1 (default: the model's own tokenizer, optimal-step train tokenizer=udpipe)",
        _TEXT,
        metavar="FILE",
    )
    sentences: SentenceEnds | None = option(
        None, "with --text: where sentences end, as the model finds them (default) or at each line", _TEXT
    )
    tokens: TokenEnds | None = option(
        None,
        "with --text: where words end, as the tokenizer finds them (default) or at spaces, which needs no tokenizer",
        _TEXT,
    )
    ranges: bool = option(False, "with --text: write where each token stands in the text (TokenRange in MISC)", _TEXT)
    k_best: int | None = option(None, "write the K best trees of each sentence", commands=_PARSE, metavar="K")
    keep_heads: bool = option(False, "keep the input's arcs, where HEAD is not _", _CONLLU, _PARSE, _keeps_arcs)
    keep_relations: bool = option(False, "keep the relations of these arcs, too", _CONLLU, _PARSE)
    probabilities: bool = option(
        False, "write into MISC how probable each arc is to be right (Prob=0.87)", _WORDS, needs=_is_calibrated
    )
    lattice: bool = option(False, "INPUT holds word lattices, CoNLL-UL (implied by the name .conllul)", _LATTICES, _PARSE)
    max_arcs: int | None = option(None, "with --lattice: refuse sentences with more arcs", _LATTICES, _PARSE, metavar="N")

    def __post_init__(self) -> None:
        if self.keep_relations and not self.keep_heads:
            raise ValueError("--keep-relations keeps the relations of arcs that are kept; add --keep-heads")
        for flag, given in (("--keep-heads", self.keep_heads), ("--probabilities", self.probabilities)):
            if given and self.k_best is not None:
                raise ValueError(f"--k-best {self.k_best} is not supported with {flag}; leave one of them out")
        if self.tokens == TokenEnds.SPACE and self.tokenizer is not None:
            raise ValueError(f"--tokenizer {self.tokenizer} would not be read with --tokens space; leave one of them out")
        if self.int8 and self.float32:
            raise ValueError("--int8 and --float32 exclude one another; leave one of them out")

    @property
    def input(self) -> Input:
        """What is parsed."""
        return Input.LATTICES if self.lattice else Input.TEXT if self.text else Input.CONLLU

    @property
    def single_root(self) -> bool:
        """Whether trees are valid UD trees, with exactly one child of the root."""
        return not self.several_roots

    @property
    def arithmetic(self) -> bool | None:
        """Whether encoders multiply in 8 bits; None: as the model's folder says."""
        return True if self.int8 else False if self.float32 else None

    def search(self, model: AnyModel) -> Beam:
        """Return the beam to search with; one of a single item is greedy parsing.

        Raises:
            BeamError: there is no such beam.
        """
        if isinstance(self.beam, Beam):
            return self.beam
        own = model.lattice_beam if self.lattice and isinstance(model, Model) else None
        return searching(own or model.beam, self.beam, self.merge, self.rerank) or Beam(1)


def predicted_tags(model: AnyModel) -> TagUse:
    """Return the use of tags that writes all which a model predicts: OVERWRITE, or KEEP if it predicts none."""
    return TagUse.OVERWRITE if model.vocabularies.predicted else TagUse.KEEP


def flags() -> dict[str, tuple[type, Flag]]:
    """Return, by name of an option, the first type that its value may have, and its flag."""
    hints = get_type_hints(ParseOptions)
    return {
        one.name: ((get_args(hints[one.name]) or (hints[one.name],))[0], one.metadata["flag"]) for one in fields(ParseOptions)
    }


def changed(options: ParseOptions) -> dict[str, Any]:
    """Return the options that are not as they are by default, by name."""
    values = {one.name: (getattr(options, one.name), one.default) for one in fields(options)}
    return {name: value for name, (value, default) in values.items() if value != default}


def refuse(model: AnyModel, options: ParseOptions) -> None:
    """Refuse what a model cannot do, before anything is computed.

    Raises:
        BeamError: the model cannot be searched so, or the beam cannot yield that many trees.
        NoTagsError, GivenArcsError, ValueError: see the functions above.
    """
    search = options.search(model)
    check_search(model, search)
    if options.k_best is not None:
        search.check_k_best(options.k_best)
    given = changed(options)
    for name, (_, flag) in flags().items():
        if flag.needs is not None and name in given:
            flag.needs(model, options)
