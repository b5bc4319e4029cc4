"""How to parse: the options of the commands, of the library and of the server, each declared once.

Each field names the commands that have its flag, its help text, the kinds of input it applies to,
and what it needs of a model. The options of argparse are built from these fields
(commands/parsing_options.py). ``ParseOptions`` refuses options that exclude each other; refuse()
refuses options that a model cannot follow. predictor.py applies the options; files/file_parsing.py
applies those that concern only files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import StrEnum
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np

from oracles.errors import OptimalStepError
from parser.beam_settings import Beam, Merge, searching
from parser.data.lemma_lexicon import LemmaLexicon
from parser.decoding.search import SearchWish, searches
from parser.model.parser_model import ParserModel


class OnError(StrEnum):
    """How to treat a sentence that is not valid CoNLL-U."""

    STOP = "stop"  # with an error; nothing after the sentence is parsed
    SKIP = "skip"  # leave the sentence out
    KEEP = "keep"  # copy the sentence unchanged


class TagUse(StrEnum):
    """How to fill the columns LEMMA, UPOS, XPOS and FEATS."""

    KEEP = "keep"  # copy the input's
    # fill a column that is _ in all words of a sentence; elsewhere a _ in FEATS means no features
    FILL = "fill"
    OVERWRITE = "overwrite"  # replace every column that the model predicts


class OutputFormat(StrEnum):
    """The format of the output."""

    CONLLU = "conllu"
    JSON = "json"  # a line for each sentence; see parser.conllu.dicts


class SentenceEnds(StrEnum):
    """Where the sentences of a text end."""

    MODEL = (  # where the model finds an end; it sees in each paragraph whether lines are wrapped
        "model"
    )
    LINE = "line"  # each line is a sentence
    PARAGRAPH = "paragraph"  # each line is a paragraph, in which the model finds sentences


class TokenEnds(StrEnum):
    """Where the tokens of a text end."""

    MODEL = "model"
    SPACE = "space"


class Input(StrEnum):
    """The kind of input."""

    CONLLU = "CoNLL-U"
    TEXT = "text"
    LATTICES = "lattices"


class NoTagsError(OptimalStepError):
    """The model predicts no tags, or no lemmas; the message says what to do."""


def _predicts_tags(model: ParserModel, options: ParseOptions) -> None:
    if not model.vocabularies.predicted:
        raise NoTagsError(
            "this model predicts no tags; parse with --tags=keep, "
            "or with a model that was trained with recipe=text"
        )


def _predicts_lemmas(model: ParserModel, options: ParseOptions) -> None:
    _predicts_tags(model, options)
    if model.vocabularies.lemmas is None:
        raise NoTagsError(
            "this model predicts no lemmas; omit the lexicon, "
            "or train one with recipe=text and lemmas"
        )


def _is_calibrated(model: ParserModel, options: ParseOptions) -> None:
    if not model.gives_probabilities:
        raise OptimalStepError(
            f"the scores of model={model.kind} are not probabilities; "
            "train with model=mlp or model=bilstm"
        )
    if not model.calibration.shares:
        fix = "train it with a dev part of at least 50 words (treebank.dev)"
        raise OptimalStepError(f"the probabilities of this model are not calibrated; {fix}")


def _keeps_arcs(model: ParserModel, options: ParseOptions) -> None:
    searches(model, SearchWish(options.search(model), keeps_arcs=True))


def _has_pretrained_encoder(model: ParserModel, options: ParseOptions) -> None:
    if not model.reads_pretrained:
        why = (
            "this model reads no pretrained encoder; "
            "only such encoders run on other devices than the CPU"
        )
        raise OptimalStepError(f"--device {options.device}: {why}")


class Flag(NamedTuple):
    """The command-line flag of a field of ParseOptions; its name is the field's, with dashes.

    Attributes:
        help: text for --help.
        input: the kinds of input that it applies to.
        commands: the commands that have it.
        needs: raises an error that says the fix, if the model cannot follow the option; called only
            where the option is given.
        metavar: the name of its value in --help.
    """

    help: str
    input: tuple[Input, ...] = (*Input,)
    commands: tuple[str, ...] = ("parse", "parse_many")
    needs: Callable[[ParserModel, ParseOptions], None] | None = None
    metavar: str | None = None


_EVERYWHERE = "parse", "parse_many", "serve"
_PARSE = ("parse",)
_WORDS = (Input.CONLLU, Input.TEXT)
_CONLLU = (Input.CONLLU,)
_TEXT = (Input.TEXT,)
_LATTICES = (Input.LATTICES,)


def option(default: Any, help: str, *others: Any, **named: Any) -> Any:
    """Return a field of ParseOptions with its ``Flag``."""
    return field(default=default, metadata={"flag": Flag(help, *others, **named)})


@dataclass(frozen=True)
class ParseOptions:
    """How to parse; the help of the flags says what each option does.

    In code, ``beam`` may also be a ``Beam``, and ``lexicon`` a ``LemmaLexicon``.

    Raises:
        OptimalStepError: two options exclude each other,
            or an option that must be true or false has another value.
    """

    treebank: str | None = option(
        None,
        "for a model of several treebanks: the one that the input resembles (default: "
        "the first of treebank.train)",
        commands=_EVERYWHERE,
        metavar="NAME",
    )
    beam: int | Beam | None = option(
        None,
        "search with a beam of N items (default: the model's own size, or 1)",
        commands=_EVERYWHERE,
        metavar="N",
    )
    merge: Merge | None = option(
        None, "which items of the beam are merged (default: configuration)", commands=_EVERYWHERE
    )
    rerank: bool = option(
        False,
        "rank the trees of the beam also by the heads that the encoder predicts (models of "
        "recipe=text)",
        _WORDS,
        _EVERYWHERE,
    )
    int8: bool = option(
        False,
        "with an encoder: multiply in 8 bits: nearly as accurate, and faster on processors with "
        "VNNI (default: what the model's folder says)",
        commands=_EVERYWHERE,
    )
    float32: bool = option(
        False, "with an encoder: multiply in single precision", commands=_EVERYWHERE
    )
    device: str = option(
        "cpu",
        "where a pretrained encoder runs: cpu (default) or cuda; everything else runs on the CPU",
        commands=_PARSE,
        needs=_has_pretrained_encoder,
    )
    several_roots: bool = option(False, "let the artificial root have several children")
    on_error: OnError = option(
        OnError.STOP, "what to do with a sentence that is not CoNLL-U (default: stop)"
    )
    allow_missing_columns: bool = option(
        False, "parse input without the tags that the model reads", _WORDS, _EVERYWHERE
    )
    tags: TagUse = option(
        TagUse.KEEP,
        "what to do with LEMMA, UPOS, XPOS and FEATS if the model predicts them: keep the input's "
        "(default), fill columns that are _ throughout a sentence, or overwrite all",
        _WORDS,
        needs=_predicts_tags,
    )
    lexicon: Path | LemmaLexicon | None = option(
        None,
        "lemmas to use instead of predicted ones: tab-separated lines: form, UPOS (or _), "
        "lemma and, if they matter, FEATS",
        _WORDS,
        _EVERYWHERE,
        _predicts_lemmas,
        "FILE",
    )
    text: bool = option(
        False,
        "the input is plain text, not CoNLL-U: split it into sentences and words first, "
        "and write all predicted tags",
        _WORDS,
    )
    tokenizer: Path | None = option(
        None,
        "with --text: the tokenizer of another model: the model's name or folder, "
        "or its file tokenizer.json (default: the model's own)",
        _TEXT,
        metavar="FILE",
    )
    abbreviations: Path | None = option(
        None,
        "with --text: your own abbreviations, one on each line with its period, "
        "and + behind it if a name or number follows",
        _TEXT,
        metavar="FILE",
    )
    sentences: SentenceEnds | None = option(
        None,
        "with --text: where sentences end: where the model finds an end (default), at each line "
        "end alone (line), or at each line end and where the model finds one (paragraph)",
        _TEXT,
    )
    tokens: TokenEnds | None = option(
        None,
        "with --text: where words end: "
        "where the tokenizer finds an end (default) or at spaces, which needs no tokenizer",
        _TEXT,
    )
    ranges: bool = option(
        False,
        "with --text: write the position of each token in the text (TokenRange in MISC)",
        _TEXT,
    )
    k_best: int | None = option(
        None, "write the K best trees of each sentence", commands=_PARSE, metavar="K"
    )
    keep_heads: bool = option(
        False, "keep the arcs of the input, where HEAD is not _", _CONLLU, _PARSE, _keeps_arcs
    )
    keep_relations: bool = option(
        False, "with --keep-heads: keep also the relations of these arcs", _CONLLU, _PARSE
    )
    probabilities: bool = option(
        False,
        "write into MISC the probability that each arc is right (Prob=0.87)",
        _WORDS,
        needs=_is_calibrated,
    )
    format: OutputFormat = option(
        OutputFormat.CONLLU,
        "what is written: conllu, or json, with a line for each sentence: a list of dicts as "
        "Stanza's to_dict() gives it (default: json if OUTPUT is named .json or .jsonl, "
        "else conllu)",
        commands=_PARSE,
    )
    words_only: bool = option(False, "leave out the lines of multiword tokens, such as 3-4")
    lattice: bool = option(
        False,
        "INPUT holds word lattices in CoNLL-UL (implied by the name .conllul)",
        _LATTICES,
        _PARSE,
    )
    max_arcs: int | None = option(
        None, "with --lattice: refuse sentences with more arcs", _LATTICES, _PARSE, metavar="N"
    )

    def __post_init__(self) -> None:
        for option_field in fields(self):
            if option_field.default is False:
                object.__setattr__(
                    self,
                    option_field.name,
                    truth(option_field.name, getattr(self, option_field.name)),
                )
        if self.keep_relations and not self.keep_heads:
            raise OptimalStepError("--keep-relations needs --keep-heads")
        for flag, is_set in (
            ("--keep-heads", self.keep_heads),
            ("--probabilities", self.probabilities),
        ):
            if is_set and self.k_best is not None:
                raise OptimalStepError(
                    f"--k-best {self.k_best} is not supported with {flag}; omit one of them"
                )
        if self.format is OutputFormat.JSON and self.k_best is not None:
            fix = "omit it, or write CoNLL-U (--format conllu)"
            raise OptimalStepError(
                f"--k-best {self.k_best}: JSON has no place for ranks and scores of trees; {fix}"
            )
        if self.format is OutputFormat.JSON and self.on_error is OnError.KEEP:
            fix = "choose --on-error skip, or write CoNLL-U (--format conllu)"
            raise OptimalStepError(
                f"--on-error keep cannot copy what is not CoNLL-U into JSON; {fix}"
            )
        if self.tokens == TokenEnds.SPACE and self.tokenizer is not None:
            raise OptimalStepError(
                f"--tokens space uses no tokenizer; omit it, or omit --tokenizer {self.tokenizer}"
            )
        if self.tokens == TokenEnds.SPACE and self.abbreviations is not None:
            raise OptimalStepError(
                f"--tokens space knows no abbreviations; omit --abbreviations {self.abbreviations}"
            )
        if self.int8 and self.float32:
            raise OptimalStepError("--int8 and --float32 exclude each other; omit one of them")

    @property
    def input(self) -> Input:
        """The kind of input."""
        return Input.LATTICES if self.lattice else Input.TEXT if self.text else Input.CONLLU

    @property
    def places(self) -> bool:
        """Whether the places of tokens in a text are needed."""
        return self.ranges or self.format is OutputFormat.JSON

    @property
    def single_root(self) -> bool:
        """Whether exactly one word of a tree is a child of the artificial root, as UD requires."""
        return not self.several_roots

    @property
    def arithmetic(self) -> bool | None:
        """Whether encoders multiply in 8 bits; None: as the model's folder says."""
        return True if self.int8 else False if self.float32 else None

    def search(self, model: ParserModel) -> Beam:
        """Return the beam to search with; a beam of one item is greedy parsing.

        Raises:
            BeamError: the options describe no valid beam.
        """
        if isinstance(self.beam, Beam):
            return self.beam
        lattice_beam = model.lattice_beam if self.lattice else None
        return searching(lattice_beam or model.beam, self.beam, self.merge, self.rerank) or Beam(1)


def truth(name: str, value: object) -> bool:
    """Return the value of an option that is true or false: a bool, also numpy's, or 0 or 1;
    None means False.

    Raises:
        OptimalStepError: the value is anything else, such as the text "no", which Python would take
            for true; the message names the option.
    """
    if value is None:
        return False
    if isinstance(value, bool | np.bool_ | Integral) and value in (0, 1):
        return bool(value)
    raise OptimalStepError(f"{name}={value!r} is not possible; give True or False")


def predicted_tags(model: ParserModel) -> TagUse:
    """Return the ``TagUse`` that writes all tags of a model: OVERWRITE,
    or KEEP if it predicts none.
    """
    return TagUse.OVERWRITE if model.vocabularies.predicted else TagUse.KEEP


def flags() -> dict[str, tuple[type, Flag]]:
    """Return, by name of an option, its flag and the first type that its value may have."""
    hints = get_type_hints(ParseOptions)
    types = {name: (get_args(hint) or (hint,))[0] for name, hint in hints.items()}
    return {
        option.name: (types[option.name], option.metadata["flag"])
        for option in fields(ParseOptions)
    }


def changed(options: ParseOptions) -> dict[str, Any]:
    """Return, by name, the options that differ from their defaults."""
    defaults = {option.name: option.default for option in fields(options)}
    return {
        name: value
        for name, default in defaults.items()
        if (value := getattr(options, name)) != default
    }


def refuse(model: ParserModel, options: ParseOptions) -> None:
    """Refuse options that a model cannot follow, before anything is computed.

    Raises:
        BeamError: the model cannot be searched with this beam, or the beam cannot yield ``k_best``
            trees. NoTagsError, GivenArcsError, OptimalStepError: the model does not have what an
            option needs (``Flag.needs``).
    """
    search = options.search(model)
    searches(model, SearchWish(search, lattices=options.lattice))
    if options.k_best is not None:
        search.check_k_best(options.k_best)
    changes = changed(options)
    for name, (_, flag) in flags().items():
        if flag.needs is not None and name in changes:
            flag.needs(model, options)
