"""The parser as a component of spaCy (extra ``spacy``):

    nlp = spacy.blank("hu")
    nlp.add_pipe("optimal_step", config={"model": "RUN_FOLDER/model"})
    doc = nlp("A kutya ugat.")

It parses the words that spaCy's tokenizer finds. Sentences are those that an earlier component has set; where none has, spaCy's
Sentencizer is asked. Each gets one root, called ROOT as everywhere in spaCy. Whitespace that is a token of its own is not
parsed: it hangs on the word before it, at the start of a sentence on the word after it, and begins no sentence but the first.

nlp.to_disk() and nlp.to_bytes() save the model's files with the pipeline. A pickled pipeline, as nlp.pipe(n_process=2) sends it
to processes, names the model's folder, from which they load it; one of from_bytes() holds the files.
"""

from __future__ import annotations

import inspect
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
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

from parser.conllu.checks import EMPTY, shortened
from parser.data.parts.pretrained import HELD
from parser.data.vocabulary import UD_ROOT
from parser.decoding.parse_options import NoTagsError, TagUse
from parser.library.parsed_sentence import ParsedSentence
from parser.library.parser import Parser
from parser.model.packs import named_folder
from parser.model_folder import ModelError, find_model
from parser.storage import replacing_folder

# What spaCy calls the relation of a root, and ours of whitespace, which no word has.
ROOT = "ROOT"
_SPACE = "dep"
# The part of speech of values that UD does not have; spaCy takes no others.
_OTHER_POS = "X"

# By column that may be set, what spaCy calls it.
ATTRIBUTES = {"lemma": "LEMMA", "upos": "POS", "xpos": "TAG", "feats": "MORPH"}


def _set(token: Token, column: str, value: str) -> None:
    """Sets what a column says; ``_`` is nothing, but for a lemma."""
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
    """What the parser reads of a token."""
    return token.text, token.pos_, token.tag_, str(token.morph)


def heads_of_spaces(sentences: list[Span], n: int) -> tuple[list[int], list[str]]:
    """Heads and relations of all n tokens as if they were whitespace: on the word before it, or the first of the sentence."""
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


# The files of a model, whatever its kind; a tokenizer, which is none of them, is not needed here.
_PART = re.compile(rf"({HELD}/)?[\w-]+(\.safetensors\.index)?\.(json|safetensors)")
PROBABILITY = "arc_probability"

if not Token.has_extension(PROBABILITY):
    Token.set_extension(PROBABILITY, default=None)


@Language.factory(
    "optimal_step",
    assigns=["token.head", "token.dep", "token.is_sent_start", "doc.sents", f"token._.{PROBABILITY}"],
)
class OptimalStep(Pipe):
    """Sets heads, relations and sentence boundaries, and ``token._.arc_probability``, how likely head and relation are right.

    nlp.evaluate() scores heads, relations and sentences as it does those of spaCy's own parser: without punctuation.

    Args:
        nlp: the pipeline, which is not asked anything.
        name: the component's in its pipeline; the others are the keys of ``nlp.add_pipe("optimal_step", config=...)``.
        model: the folder of a model, or of a run; it is loaded at once.
        beam: items of the beam to search with; None: as the model remembers.
        rerank: rank the trees of the beam also by the heads that the encoder predicts (models of recipe=text).
        tags: which of lemma, pos, tag and morph are set, where the model predicts them: ``keep`` none, ``fill`` those that no
            token of a document has yet, ``overwrite`` all.
        allow_missing_columns: parse also without the tags that the model reads, but far worse.
        device: ``cpu`` or ``cuda``, where a pretrained encoder reads; all else is done on the CPU.
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
            raise ValueError(f"tags={tags!r} of {name} is unknown; known: {', '.join(TagUse)}")
        self.name = name
        self.scorer = parser_score
        self._folder = None if model is None else Path(model)
        self._parts: dict[str, bytes] | None = None  # what from_bytes() took, in place of the folder
        self._beam, self._rerank, self._device = beam, rerank, device
        self._tags = TagUse(tags)
        self._allow_missing_columns = allow_missing_columns
        self._loaded: Parser | None = None
        self._sentencizer = Sentencizer()
        if self._folder is not None and not _a_pipeline_is_read():
            _ = self.parser  # what cannot be used is refused here, not at the first text

    @property
    def parser(self) -> Parser:
        """The parser; that of a pipeline which was read or pickled is loaded when it is first asked for.

        Raises:
            ModelError: there is no model.
            NoTagsError: tags are asked for of a model that predicts none.
        """
        if self._loaded is None:
            if not self._has_model:
                raise ModelError(f'{self.name} has no model; nlp.add_pipe("{self.name}", config={{"model": FOLDER}}) names one')
            with self._model_folder() as folder:
                loaded = Parser.load(folder, self._device, beam=self._beam, rerank=self._rerank)
                if self._tags is not TagUse.KEEP and not loaded.model.vocabularies.predicted:
                    raise NoTagsError(f"{folder}: this model predicts no tags; train one with recipe=text, or set tags=keep")
            self._loaded = loaded
        return self._loaded

    def __call__(self, doc: Doc) -> Doc:
        """Parses a document, in place."""
        self._annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Parses documents, ``batch_size`` at a time; what an error handler of spaCy's takes is left out."""
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
        """Copies the model's folder, so that the pipeline's folder needs no other; whole or not at all.

        What is there already is replaced; without a model it is removed.

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
        """Takes the model that to_disk() has copied.

        Raises:
            ModelError: it is not there, though the component has a model. That which the settings name is not taken in its
                place: by now it may be another.
        """
        if Path(path).is_dir():
            self._folder, self._parts, self._loaded = Path(path), None, None
        elif self._has_model:
            raise ModelError(f"{path}: the model of {self.name} is missing; copy the whole folder of the pipeline again")
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The files of the model, so that what from_bytes() makes of them needs no folder; nothing of a tokenizer.

        Raises:
            ModelError: the folder of the model does not exist.
        """
        parts: dict[str, np.ndarray] = {}
        if self._has_model:
            with self._model_folder() as folder:
                paths = {path.relative_to(folder).as_posix(): path for path in (*folder.iterdir(), *(folder / HELD).glob("*"))}
                found = {name: path for name, path in paths.items() if _PART.fullmatch(name)}
                parts = {name: np.frombuffer(path.read_bytes(), np.uint8) for name, path in found.items()}
        written: bytes = save(parts)  # in which a stranger can put no code, as he can in a pickle
        return written

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> OptimalStep:
        """Takes the model that is in what to_bytes() gave, if there is one.

        Raises:
            ModelError: it is nothing that to_bytes() gave.
        """
        try:
            parts = {name: part.tobytes() for name, part in load(data).items()}
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{self.name}: these bytes hold no model ({error}); give what nlp.to_bytes() gave") from error
        for name in parts:
            if not _PART.fullmatch(name):  # it might be a path to elsewhere
                raise ModelError(f"{self.name}: {shortened(repr(name))} is not part of a model; give what nlp.to_bytes() gave")
        if parts:
            self._folder, self._parts, self._loaded = None, parts, None
        return self

    def __reduce__(self) -> tuple[type[OptimalStep], tuple[None, str], dict[str, Any]]:
        """Without what is loaded. Not __getstate__, which spaCy's Pipe does not ask."""
        return type(self), (None, self.name), self.__dict__ | {"_loaded": None}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)

    @property
    def _has_model(self) -> bool:
        return self._folder is not None or self._parts is not None

    @contextmanager
    def _model_folder(self) -> Iterator[Path]:
        """The folder of the model, which there must be; of what from_bytes() took, one that is removed afterwards."""
        if self._parts is None:
            assert self._folder is not None
            yield find_model(named_folder(self._folder))
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
            allow_missing_columns=self._allow_missing_columns,
        )
        of_docs: dict[int, list[tuple[list[Token], ParsedSentence]]] = {}
        for (doc, words), tree in zip(sentences, parsed, strict=True):
            of_docs.setdefault(id(doc), []).append((words, tree))
        for doc in docs:
            if len(doc):
                self._write(doc, of_docs.get(id(doc), []))

    def _sentences(self, doc: Doc) -> Iterator[list[Token]]:
        """The words of each sentence that has any."""
        if not doc.has_annotation("SENT_START"):
            self._sentencizer(doc)
            _whitespace_begins_no_sentence(doc)
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
        doc.from_array([HEAD, DEP], np.stack([relative.astype(np.uint64), np.array(relations, np.uint64)], axis=1))
        written = {column for column in ATTRIBUTES if self._writes(doc, column)}
        for words, tree in trees:
            for number, word in enumerate(words):
                word._.set(PROBABILITY, tree.probabilities[number])
                for column in written & tree.tags.keys():
                    _set(word, column, tree.tags[column][number])

    def _writes(self, doc: Doc, column: str) -> bool:
        if self._tags is TagUse.FILL:
            return not doc.has_annotation(ATTRIBUTES[column])
        return self._tags is TagUse.OVERWRITE


def _a_pipeline_is_read() -> bool:
    """Whether spaCy makes the component from a saved pipeline, whose copy of the model comes afterwards, with from_disk().

    The settings may name a folder that is no longer there then. Nothing that spaCy gives a component tells it.
    """
    return any(frame.function == "from_config" for frame in inspect.stack(0))


def _whitespace_begins_no_sentence(doc: Doc) -> None:
    """Moves what whitespace begins to the word after it, as far as there is one: else a line break at the end is a sentence."""
    begins = False
    for token in doc[1:]:
        begins = begins or bool(token.is_sent_start)
        token.is_sent_start = begins and not token.is_space
        begins = begins and token.is_space


make_optimal_step = OptimalStep  # what the entry point of pyproject.toml names
