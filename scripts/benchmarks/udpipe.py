"""UDPipe 1 (Straka and Strakova 2017) for comparison: training, tokenizing, tagging, parsing.

It needs the package ufal.udpipe (extra ``peers``). Training is reproducible, because UDPipe fixes
its seeds. ``python -m scripts.benchmarks.udpipe MODEL`` parses standard input, as a whole process
to compare with.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

from oracles.errors import OptimalStepError
from parser.conllu.checks import BYTE_ORDER_MARK
from parser.conllu.stream import read_sentences
from parser.decoding.parse_options import SentenceEnds
from parser.storage import replacing
from parser.text.tokens import SplitSentence, conllu_lines, tokens_of

Options = Mapping[str, object]

# The examples for UD of its manual:
# https://ufal.mff.cuni.cz/udpipe/1/users-manual#model_training_parser
PARSER = {
    "iterations": 10,
    "transition_system": "projective",
    "transition_oracle": "dynamic",
    "structured_interval": 0,
    "embedding_form": 50,
    "embedding_upostag": 20,
    "embedding_feats": 20,
    "embedding_deprel": 20,
    "hidden_layer": 200,
    "batch_size": 10,
    "learning_rate": 0.02,
    "learning_rate_final": 0.001,
    "l2": 0.3,
    "use_gold_tags": 1,
}

# One model for tags and lemmas, the default. With two models, as in the manual's examples, lemmas
# are 1.1 better on hu, but FEATS 1.0 worse, which costs the parser 1.4 LAS.
TAGGER = {"models": 1, "iterations_1": 10}

# Its authors' options for treebanks of this size:
# https://ufal.mff.cuni.cz/udpipe/1/users-manual#model_training_tokenizer But they use dimension 24:
# with 16, tokens are just as good, in two thirds of the time (experiments/from_text.md).
TOKENIZER: dict[str, int | float] = {
    "tokenize_url": 1,
    "dimension": 16,
    "epochs": 100,
    "initialization_range": 0.5,
    "batch_size": 50,
    "learning_rate": 0.005,
    "dropout": 0.1,
    "early_stopping": 1,
}

# The comments that UDPipe reads: beginnings of paragraphs and documents.
_BEGINNING = re.compile(rf"{BYTE_ORDER_MARK}?#[ \t]*(newpar|newdoc)")


def package() -> Any:
    """Return the module, imported on the first call.

    Raises:
        OptimalStepError: it is not installed.
    """
    try:
        from ufal import udpipe
    except ImportError as error:
        raise OptimalStepError(
            "UDPipe is not installed; pip install '.[peers]' in a checkout"
        ) from error
    return udpipe


def load(path: Path) -> Any:
    """Load a model of UDPipe 1.

    Raises:
        OptimalStepError: the package is not installed, or the file does not exist,
            or is not a model.
    """
    udpipe = package()
    if not path.is_file():  # UDPipe's error does not tell a missing file from a damaged one
        raise OptimalStepError(f"{path}: there is no file of this name; name a model of UDPipe 1")
    with path.open("rb") as file:
        # of the name of the model's kind; UDPipe reads 128 or more as negative and would crash
        # Python
        length = file.read(1)
    model = None if length >= b"\x80" else udpipe.Model.load(str(path))
    if model is None:
        raise OptimalStepError(
            f"{path}: UDPipe cannot load this as a model; name a model of UDPipe 1"
        )
    return model


def read_conllu(text: str, name: str) -> Any:
    """Read CoNLL-U into sentences of UDPipe.

    Raises:
        OptimalStepError: the package is not installed, or cannot read the text,
            which errors call ``name``.
    """
    udpipe = package()
    reader = udpipe.InputFormat.newConlluInputFormat()
    reader.setText(text)
    sentences, sentence, error = udpipe.Sentences(), udpipe.Sentence(), udpipe.ProcessingError()
    while reader.nextSentence(sentence, error):
        sentences.append(sentence)
        sentence = udpipe.Sentence()
    if error.occurred():
        raise OptimalStepError(f"{name}: UDPipe cannot read this ({error.message})")
    return sentences


def trained_model(
    train_on: Any,
    held_out: Any,
    name: str,
    *,
    tokenizer: Options | None = None,
    tagger: Options | None = None,
    parser: Options | None = None,
) -> bytes:
    """Train a model.

    Args:
        train_on: sentences, see read_conllu().
        held_out: sentences for early stopping; may be an empty list.
        name: what errors call the sentences.
        tokenizer, tagger, parser: options of each part; None: do not train it.

    Raises:
        OptimalStepError: UDPipe cannot train on these sentences.
    """
    udpipe = package()
    parts = (tokenizer, tagger, parser)
    options = [
        "none"
        if options_of_part is None
        else ";".join(f"{key}={value}" for key, value in options_of_part.items())
        for options_of_part in parts
    ]
    error = udpipe.ProcessingError()
    model: bytes = udpipe.Trainer.train("morphodita_parsito", train_on, held_out, *options, error)
    if error.occurred():
        raise OptimalStepError(f"{name}: UDPipe cannot train on this ({error.message})")
    return model


class Udpipe:
    """A model of UDPipe.

    Raises:
        OptimalStepError: the package is not installed, or cannot load the model.
    """

    def __init__(self, path: str | Path) -> None:
        self._udpipe = package()
        self._model = load(Path(path))

    def parse(self, text: str, beam: int = 1) -> str:
        """Return CoNLL-U parsed with the tags of the input; greedily with beam 1."""
        return self._process(text, self._udpipe.Pipeline.NONE, f"beam_search={beam}")

    def tag(self, text: str) -> str:
        """Return CoNLL-U with the tags and features of the tagger; trees stay."""
        return self._process(text, self._udpipe.Pipeline.DEFAULT, self._udpipe.Pipeline.NONE)

    def _process(self, text: str, tagger: str, parser: str) -> str:
        error = self._udpipe.ProcessingError()
        processed = self._udpipe.Pipeline(self._model, "conllu", tagger, parser, "conllu").process(
            text, error
        )
        if error.occurred():
            raise OptimalStepError(f"UDPipe: {error.message}")
        return processed


def train(
    text: str,
    name: str,
    target: Path,
    *,
    tagger: Options | None = None,
    parser: Options | None = None,
) -> float:
    """Train a model.

    Args:
        text: CoNLL-U to train on.
        name: what errors call the text.
        target: the file of the model.
        tagger: options of the tagger; None: train no tagger.
        parser: options of the parser; None: train no parser.

    Returns:
        The CPU seconds that the training took.

    Raises:
        OptimalStepError: the package is not installed, or cannot train on the text.
    """
    print(f"training UDPipe on {name}", file=sys.stderr)
    sentences = read_conllu(text, name)
    begun = time.process_time()
    model = trained_model(sentences, package().Sentences(), name, tagger=tagger, parser=parser)
    seconds = time.process_time() - begun
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as temporary:
        temporary.write_bytes(model)
    return seconds


class UdpipeSplitter:
    """A splitter into tokens and sentences by UDPipe, for a TextPipeline.

    Args:
        path: the file of the model.

    Raises:
        OptimalStepError: the package is not installed, or cannot load the model.
    """

    finds_sentences = True

    def __init__(self, path: Path) -> None:
        self._udpipe, self._model, self._path = package(), load(path), path

    def split(self, text: str, sentences: SentenceEnds = SentenceEnds.MODEL) -> list[SplitSentence]:
        """Return the sentences of a text.

        Raises:
            OptimalStepError: UDPipe cannot tokenize it.
        """
        tokenizer = self._model.newTokenizer(
            "presegmented;ranges" if sentences == SentenceEnds.LINE else "ranges"
        )
        tokenizer.setText(text)
        split_sentences, error, sentence = (
            [],
            self._udpipe.ProcessingError(),
            self._udpipe.Sentence(),
        )
        while tokenizer.nextSentence(sentence, error):
            split_sentences.append(_split_sentence(sentence))
            sentence = self._udpipe.Sentence()
        if error.occurred():
            raise OptimalStepError(f"{self._path}: UDPipe cannot tokenize this ({error.message})")
        return split_sentences


def _split_sentence(sentence: Any) -> SplitSentence:
    ranges = {token.idFirst: token for token in sentence.multiwordTokens}
    words = list(sentence.words)[1:]
    split = SplitSentence([], [], [], [])
    number = 1
    while number <= len(words):
        token = ranges.get(number)
        last = number if token is None else token.idLast
        written = words[number - 1] if token is None else token
        split.forms.append(written.form)
        split.words.append(tuple(word.form for word in words[number - 1 : last]))
        split.places.append((written.getTokenRangeStart(), written.getTokenRangeEnd()))
        split.lines.append(1)
        number = last + 1
    return split


def train_tokenizer(
    train: Sequence[str | Path],
    dev: str | Path,
    target: Path,
    options: Options = TOKENIZER,
    sentences: bool = True,
) -> None:
    """Train a tokenizer.

    Args:
        train: files of CoNLL-U to learn from; the text comes from the forms and SpaceAfter=No.
        dev: CoNLL-U to choose the epoch on.
        target: the file to write the tokenizer to.
        options: UDPipe's options.
        sentences: choose the epoch by the sum of the F1 of tokens and of sentences;
            otherwise by tokens alone.

    Raises:
        OptimalStepError: UDPipe is not installed, or cannot train on this;
            or a file is not CoNLL-U.
    """
    name = ", ".join(map(str, train))
    learned = read_conllu("".join(map(_text, train)), name)
    model = trained_model(
        learned, read_conllu(_text(dev, sentences), str(dev)), name, tokenizer=options
    )
    with replacing(target) as temporary:
        temporary.write_bytes(model)


def _text(path: str | Path, sentences: bool = True) -> str:
    """Return the CoNLL-U that UDPipe learns from: ID, FORM and SpaceAfter=No of each token, and the
    beginnings of paragraphs.

    UDPipe would refuse some sentences for their other columns, such as the lemma of a multiword
    token. Without ``sentences``, all tokens are one sentence, so that UDPipe's F1 of sentences is 0
    after every epoch.
    """
    if not sentences:
        return "\n".join(
            [*conllu_lines([*chain.from_iterable(map(tokens_of, read_sentences(path)))]), "", ""]
        )
    lines = []
    for sentence in read_sentences(path):
        before = takewhile(lambda line: not line[:1].isdigit(), sentence.lines)
        lines += [f"# {begins[1]}" for line in before if (begins := _BEGINNING.match(line))]
        lines += [*conllu_lines([*tokens_of(sentence)]), ""]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.stdout.buffer.write(Udpipe(sys.argv[1]).parse(sys.stdin.buffer.read().decode()).encode())
