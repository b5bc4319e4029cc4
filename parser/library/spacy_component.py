"""The parser as a component of spaCy (extra ``spacy``):

    nlp = spacy.blank("hu")
    nlp.add_pipe("optimal_step", config={"model": "RUN_FOLDER/model"})
    doc = nlp("A kutya ugat.")

It parses the words that spaCy's tokenizer finds. An earlier component may have decided whether a
token begins a sentence (``token.is_sent_start`` is True or False); where it has not (None), spaCy's
Sentencizer decides. Each sentence gets one root, called ROOT as everywhere in spaCy. Tokens of
whitespace are not parsed: they are attached to the word before them, at the start of a sentence to
the word after them, and begin no sentence except the first.

nlp.to_disk() and nlp.to_bytes() save the model's files with the pipeline. nlp.pipe(n_process=2)
sends pickled pipelines to processes. A pickle names the model folder to load from, by its absolute
path; after from_bytes() it holds the files.
"""

from __future__ import annotations

import logging
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save
from spacy.attrs import DEP, HEAD
from spacy.language import Language
from spacy.parts_of_speech import IDS as POS_IDS
from spacy.pipeline import Pipe, Sentencizer
from spacy.pipeline.dep_parser import parser_score
from spacy.tokens import Doc, Span, Token
from spacy.util import minibatch
from spacy.vocab import Vocab

from oracles.errors import OptimalStepError, did_you_mean
from parser.conllu.checks import EMPTY, shortened
from parser.data.parts.pretrained import HELD
from parser.data.vocabulary import UD_ROOT
from parser.decoding.parse_options import NoTagsError, SentenceEnds, TagUse, truth
from parser.library.noun_chunks import noun_chunks
from parser.library.parsed_sentence import ParsedSentence
from parser.library.parser import Parser
from parser.model.packs import find_named, lasting
from parser.model_folder import ModelError
from parser.storage import replacing_folder
from parser.text.pipeline import TextPipeline
from parser.text.tokens import TokenizerError

log = logging.getLogger(__name__)

# spaCy's relation of a root, and our relation of whitespace.
ROOT = "ROOT"
_SPACE = "dep"
# The part of speech for values that UD does not have, which spaCy refuses.
_OTHER_POS = "X"

# spaCy's names of the columns that may be set.
ATTRIBUTES = {"lemma": "LEMMA", "upos": "POS", "xpos": "TAG", "feats": "MORPH"}


def _set(token: Token, column: str, value: str) -> None:
    """Set the value of a column; ``_`` is empty, except as a lemma."""
    value = "" if value == EMPTY and column != "lemma" else value
    match column:
        case "lemma":
            token.lemma_ = value
        case "upos":
            token.pos_ = value if value in POS_IDS else _OTHER_POS
        case "xpos":
            token.tag_ = value
        case "feats":
            token.set_morph(value)


def columns(token: Token) -> tuple[str, str, str, str]:
    """Return the columns of a token that the parser reads."""
    return token.text, token.pos_, token.tag_, str(token.morph)


def heads_of_spaces(sentences: list[Span], n: int) -> tuple[list[int], list[str]]:
    """Return heads and relations of n tokens as if all were whitespace: the word before, or the
    first word of the sentence.
    """
    heads, deps = list(range(n)), [_SPACE] * n
    for sentence in sentences:
        last = next((token.i for token in sentence if not token.is_space), sentence.start)
        if sentence[last - sentence.start].is_space:
            deps[last] = ROOT
        for token in sentence:
            heads[token.i] = last
            if not token.is_space:
                last = token.i
    return heads, deps


# The files of a model of any kind; the component needs no tokenizer.
_PART = re.compile(rf"({HELD}/)?[\w-]+(\.safetensors\.index)?\.(json|safetensors)")
PROBABILITY = "arc_probability"

if not Token.has_extension(PROBABILITY):
    Token.set_extension(PROBABILITY, default=None)


@Language.factory(
    "optimal_step",
    assigns=[
        "token.head",
        "token.dep",
        "token.is_sent_start",
        "doc.sents",
        f"token._.{PROBABILITY}",
    ],
)
class OptimalStep(Pipe):
    """Sets heads, relations and sentence boundaries, and ``token._.arc_probability``, how likely
    head and relation are right.

    nlp.evaluate() scores heads, relations and sentences as for spaCy's own parser:
    without punctuation.

    Args:
        nlp: the pipeline; its noun chunks are those of UD's relations (noun_chunks.py) where a doc
            has these.
        name: the name of the component in its pipeline; all other arguments are keys of
            ``nlp.add_pipe("optimal_step", config=...)``.
        model: the folder of a model, or of a run; it is loaded at once.
        beam: items of the beam; None: as the model folder says.
        rerank: rank the trees of the beam also by the heads that the encoder predicts (models of
            recipe=text).
        tags: which predicted values of lemma, pos, tag and morph are set: ``keep``: none; ``fill``:
            attributes that no token of a document has yet; ``overwrite``: all.
        allow_missing_columns: parse even without the tags that the model reads,
            far less accurately.
        device: ``cpu`` or ``cuda``, for a pretrained encoder; all else runs on the CPU.
    """

    def __init__(
        self,
        nlp: Language | None = None,
        name: str = "optimal_step",
        *,
        model: str | None = None,
        beam: int | None = None,
        rerank: bool = False,
        tags: str = TagUse.KEEP,
        allow_missing_columns: bool = False,
        device: str = "cpu",
    ) -> None:
        if tags not in [*TagUse]:
            near = did_you_mean(str(tags), TagUse)
            raise OptimalStepError(
                f"tags={tags!r} of {name} is unknown{near}; known: {', '.join(TagUse)}"
            )
        self.name = name
        self.scorer = parser_score
        self._folder = None if model is None else lasting(Path(model))
        # the files from from_bytes(), instead of a folder
        self._parts: dict[str, bytes] | None = None
        self._beam, self._rerank, self._device = beam, truth("rerank", rerank), device
        self._tags = TagUse(tags)
        self._allow_missing_columns = truth("allow_missing_columns", allow_missing_columns)
        self._loaded: Parser | None = None
        self._whole: WholeTokens | None = None
        self._warned = False
        self._sentencizer = Sentencizer()
        if nlp is not None:
            set_noun_chunks(nlp.vocab)
        if self._folder is not None and not _is_from_saved_pipeline():
            _ = self.parser  # refuses a bad model here, not at the first text

    @property
    def parser(self) -> Parser:
        """The parser; in a pipeline that was read or unpickled, it is loaded on first use.

        Raises:
            ModelError: there is no model.
            NoTagsError: tags are to be set, but the model predicts none.
        """
        if self._loaded is None:
            if not self._has_model:
                raise ModelError(
                    f'{self.name} has no model; nlp.add_pipe("{self.name}", config={{"model":'
                    " FOLDER}) names one"
                )
            with self._model_folder() as folder:
                loaded = Parser.load(folder, self._device, beam=self._beam, rerank=self._rerank)
                if self._tags is not TagUse.KEEP and not loaded.model.vocabularies.predicted:
                    raise NoTagsError(
                        f"{folder}: this model predicts no tags; train one with recipe=text, "
                        "or set tags=keep"
                    )
                self._whole = None if self._warned else WholeTokens.of(folder)
                if self._parts is None:
                    self._folder = folder.absolute()
            self._loaded = loaded
        return self._loaded

    def __call__(self, doc: Doc) -> Doc:
        """Parse a document, in place."""
        self._annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Parse documents, ``batch_size`` at a time;
        batches that go to spaCy's error handler are left out.
        """
        handle = self.get_error_handler()
        for batch in minibatch(stream, size=batch_size):
            docs = list(batch)
            try:
                self._annotate(docs)
            except Exception as error:  # the handler decides, as in spaCy's own components
                handle(self.name, self, docs, error)
            else:
                yield from docs

    def to_disk(self, path: str | Path, exclude: Iterable[str] = ()) -> None:
        """Copy the model folder, whole or not at all, so that the pipeline's folder is complete.

        An older folder is replaced, or removed if there is no model.

        Raises:
            ModelError: the folder of the model does not exist.
        """
        target = Path(path)
        if not self._has_model:
            shutil.rmtree(target, ignore_errors=True)
            return
        with self._model_folder() as source:
            if source.resolve() != target.resolve():
                with replacing_folder(target) as temporary:
                    shutil.copytree(source, temporary, dirs_exist_ok=True)

    def from_disk(self, path: str | Path, exclude: Iterable[str] = ()) -> OptimalStep:
        """Use the model that to_disk() has copied.

        Raises:
            ModelError: the copy is missing, but the component has a model. The model that the
                settings name is not used instead, because it may have changed.
        """
        if Path(path).is_dir():
            self._folder, self._parts, self._loaded = Path(path).absolute(), None, None
        elif self._has_model:
            raise ModelError(
                f"{path}: the model of {self.name} is missing; "
                "copy the whole folder of the pipeline again"
            )
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the files of the model, without a tokenizer, so that from_bytes() needs no folder.

        Raises:
            ModelError: the folder of the model does not exist.
        """
        parts: dict[str, np.ndarray] = {}
        if self._has_model:
            with self._model_folder() as folder:
                paths = {
                    path.relative_to(folder).as_posix(): path
                    for path in (*folder.iterdir(), *(folder / HELD).glob("*"))
                }
                model_files = {name: path for name, path in paths.items() if _PART.fullmatch(name)}
                parts = {
                    name: np.frombuffer(path.read_bytes(), np.uint8)
                    for name, path in model_files.items()
                }
        written: bytes = save(parts)  # unlike a pickle, it cannot contain code
        return written

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> OptimalStep:
        """Use the model in the bytes that to_bytes() returned, if there is one.

        Raises:
            ModelError: the bytes are not from to_bytes().
        """
        try:
            parts = {name: part.tobytes() for name, part in load(data).items()}
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise ModelError(
                f"{self.name}: these bytes hold no model ({error}); give bytes of nlp.to_bytes()"
            ) from error
        for name in parts:
            if not _PART.fullmatch(name):  # it might be a path to another folder
                raise ModelError(
                    f"{self.name}: {shortened(repr(name))} is not part of a model; "
                    "give bytes of nlp.to_bytes()"
                )
        if parts:
            self._folder, self._parts, self._loaded = None, parts, None
        return self

    def __reduce__(self) -> tuple[type[OptimalStep], tuple[None, str], dict[str, Any]]:
        """Pickle without the loaded parser. spaCy's Pipe would not call __getstate__."""
        return type(self), (None, self.name), self.__dict__ | {"_loaded": None, "_whole": None}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)

    @property
    def _has_model(self) -> bool:
        return self._folder is not None or self._parts is not None

    @contextmanager
    def _model_folder(self) -> Iterator[Path]:
        """Yield the folder of the model, which must exist; for files from from_bytes(),
        a temporary folder.
        """
        if self._parts is None:
            assert self._folder is not None
            yield find_named(self._folder)
            return
        with TemporaryDirectory() as folder:
            for name, content in self._parts.items():
                (Path(folder) / name).parent.mkdir(exist_ok=True)
                (Path(folder) / name).write_bytes(content)
            yield Path(folder)

    def _annotate(self, docs: list[Doc]) -> None:
        sentences = [(doc, words) for doc in docs for words in self._sentences(doc)]
        parsed = self.parser.parse(
            [[columns(token) for token in words] for _, words in sentences],
            fit_tags=self._tags is TagUse.FILL,
            allow_missing_columns=self._allow_missing_columns,
        )
        self._warn_of_whole_tokens(word.text for _, words in sentences for word in words)
        by_doc: dict[int, list[tuple[list[Token], ParsedSentence]]] = {}
        for (doc, words), tree in zip(sentences, parsed, strict=True):
            by_doc.setdefault(id(doc), []).append((words, tree))
        for doc in docs:
            if len(doc):
                self._write(doc, by_doc.get(id(doc), []))

    def _sentences(self, doc: Doc) -> Iterator[list[Token]]:
        """Yield the words of each sentence that has words."""
        if not doc.has_annotation("SENT_START", require_complete=True):
            open_starts = [token.i for token in doc[1:] if token.is_sent_start is None]
            self._sentencizer(doc)  # it sets only the open ones
            _move_starts_off_whitespace(doc, {*open_starts})
        for sentence in doc.sents:
            if words := [token for token in sentence if not token.is_space]:
                yield words

    def _write(self, doc: Doc, trees: list[tuple[list[Token], ParsedSentence]]) -> None:
        heads, deps = heads_of_spaces(list(doc.sents), len(doc))
        for words, tree in trees:
            for word, head, deprel in zip(words, tree.heads, tree.deprels, strict=True):
                heads[word.i] = words[head - 1].i if head else word.i
                deps[word.i] = ROOT if deprel == UD_ROOT else deprel
        relations = [doc.vocab.strings.add(dep) for dep in deps]
        relative = np.array(heads, np.int64) - np.arange(len(doc))
        doc.noun_chunks_iterator = _with_ours(doc.noun_chunks_iterator)
        doc.from_array(
            [HEAD, DEP],
            np.stack([relative.astype(np.uint64), np.array(relations, np.uint64)], axis=1),
        )
        written = {column for column in ATTRIBUTES if self._writes(doc, column)}
        for words, tree in trees:
            for number, word in enumerate(words):
                word._.set(PROBABILITY, tree.probabilities[number])
                for column in written & tree.tags.keys():
                    _set(word, column, tree.tags[column][number])

    def _warn_of_whole_tokens(self, forms: Iterable[str]) -> None:
        """Warn once, if the model knows words that this pipeline does not split."""
        if self._whole is None:
            return
        if splits := self._whole.among(forms):
            shown = ", ".join(f"{whole} ({' '.join(words)})" for whole, words in splits.items())
            log.warning(
                "%s: this pipeline leaves whole what the model has learned as several words, such "
                "as %s; its trees are better for a Doc of the words that Parser.parse_text finds,"
                ' see "In spaCy" in docs/library.md',
                self.name,
                shown,
            )
            self._warned = True
        if self._warned or self._whole.done:
            self._whole = None

    def _writes(self, doc: Doc, column: str) -> bool:
        if self._tags is TagUse.FILL:
            return not doc.has_annotation(ATTRIBUTES[column])
        return self._tags is TagUse.OVERWRITE


class WholeTokens:
    """A search for tokens that a model's own tokenizer splits into several words,
    such as ``ao`` (a o) in Portuguese.
    """

    # Distinct forms to look at: contractions are frequent, so they come early.
    # So many forms take some 50 ms.
    MOST = 1000
    # Forms to name in the warning.
    _SHOWN = 3

    def __init__(self, pipeline: TextPipeline) -> None:
        self._pipeline = pipeline
        self._seen: set[str] = set()

    @classmethod
    def of(cls, folder: Path) -> WholeTokens | None:
        """Return the search with the tokenizer of a model's folder;
        None if it has none that can be used.
        """
        try:
            return cls(TextPipeline.of_model(folder))
        except (TokenizerError, ModelError):
            return None

    @property
    def done(self) -> bool:
        """Whether enough forms have been looked at."""
        return len(self._seen) >= self.MOST

    def among(self, forms: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return some of the forms that are split, with their words;
        forms that were looked at before are left out.
        """
        new = [
            form
            for form in dict.fromkeys(forms)
            if form not in self._seen and form.isprintable() and " " not in form
        ]
        new = new[: self.MOST - len(self._seen)]
        self._seen.update(new)
        lines = [
            sentence.tokens for sentence in self._pipeline.read("\n".join(new), SentenceEnds.LINE)
        ]
        split = {
            line[0].form: line[0].words
            for line in lines
            if len(line) == 1 and len(line[0].words) > 1
        }
        return {
            form: split[form] for form in [form for form in new if form in split][: self._SHOWN]
        }


def set_noun_chunks(vocab: Vocab) -> None:
    """Let the docs of a pipeline have the noun chunks of UD's relations; with other relations,
    those of its language.
    """
    vocab.get_noun_chunks = _with_ours(vocab.get_noun_chunks)


def _with_ours(iterator: Any) -> Any:
    """Return our iterator of noun chunks, which leaves other trees to the language's; it can be
    pickled with the vocabulary.
    """
    return (
        iterator
        if isinstance(iterator, partial) and iterator.func is noun_chunks
        else partial(noun_chunks, own=iterator)
    )


def _is_from_saved_pipeline() -> bool:
    """Return whether spaCy makes the component from a saved pipeline,
    and then gives it the model by from_disk().

    The settings may then name a folder that no longer exists. spaCy does not tell a component, so
    the call stack is searched for Language.from_config(), where it calls add_pipe() itself.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code is not Language.add_pipe.__code__:
        frame = frame.f_back
    while frame is not None and frame.f_code.co_name == "add_pipe":  # including that of a subclass
        frame = frame.f_back
    return frame is not None and frame.f_code is Language.from_config.__func__.__code__


def _move_starts_off_whitespace(doc: Doc, movable: set[int]) -> None:
    """Move a sentence start from whitespace to the next word, if any:
    a line break at the end is not a sentence.

    ``movable``: the tokens whose starts may be set;
    a start that an earlier component has set stays.
    """
    begins = False
    for token in doc[1:]:
        if token.i in movable:
            begins = begins or bool(token.is_sent_start)
            token.is_sent_start = begins and not token.is_space
        begins = begins and token.is_space


make_optimal_step = OptimalStep  # the entry point in pyproject.toml
