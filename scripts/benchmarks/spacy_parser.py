"""spaCy's parser for comparison: training on a treebank,
and parsing with the tags of the input; extra ``spacy``.

It is spaCy's transition-based parser over spaCy's token vectors of norm, affixes, shape,
part of speech and morphology.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from oracles.errors import OptimalStepError
from parser.conllu.checks import DEPREL, FEATS, FORM, HEAD, UPOS
from parser.conllu.stream import RawSentence, read_raw_sentences, rewrite

# The attributes that a token vector of spaCy reads, and the rows of their tables: spaCy's defaults,
# with POS and MORPH added.
_READ = {"NORM": 5000, "PREFIX": 1000, "SUFFIX": 2500, "SHAPE": 2500, "POS": 100, "MORPH": 2500}
_WIDTH, _DEPTH = 96, 4
_BATCH_WORDS, _DROPOUT = 1000, 0.1


class Spacy:
    """A pipeline of spaCy that ends with a parser.

    Raises:
        OptimalStepError: spaCy is not installed, or there is no such pipeline.
    """

    def __init__(self, path: str | Path) -> None:
        spacy = _package()
        try:
            self._pipeline = spacy.load(path)
        except OSError as error:
            raise OptimalStepError(
                f"{path}: spaCy cannot load this ({error}); name a folder written by nlp.to_disk()"
            ) from error

    def parse(self, text: str) -> str:
        """Return CoNLL-U parsed with the tags of the input."""
        sentences = list(read_raw_sentences(BytesIO(text.encode())))
        docs = self._pipeline.pipe(
            _doc(self._pipeline.vocab, sentence) for sentence in sentences if len(sentence)
        )
        parts = []
        for sentence in sentences:
            if not len(sentence):
                parts.append("".join(sentence.lines))
                continue
            doc = next(docs)
            heads = [0 if token.head.i == token.i else token.head.i + 1 for token in doc]
            parts.append(
                rewrite(
                    sentence,
                    heads,
                    ["root" if token.dep_ == "ROOT" else token.dep_ for token in doc],
                )
            )
        return "".join(parts)


def train(text: str, target: Path, iterations: int, seed: int = 1) -> None:
    """Train a pipeline.

    Args:
        text: CoNLL-U to train on.
        target: the folder of the pipeline.
        iterations: the number of iterations over the sentences.
        seed: the seed of spaCy's random numbers.

    Raises:
        OptimalStepError: spaCy is not installed.
    """
    spacy = _package()
    spacy.util.fix_random_seed(seed)
    pipeline = spacy.blank("xx")
    pipeline.add_pipe("tok2vec", config={"model": _vectors()})
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": _WIDTH, "upstream": "*"}
    model = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "parser",
        "extra_state_tokens": False,
        "hidden_width": 128,
        "maxout_pieces": 3,
        "use_upper": False,
        "nO": None,
        "tok2vec": listener,
    }
    pipeline.add_pipe("parser", config={"model": model, "min_action_freq": 1})
    sentences = [
        sentence for sentence in read_raw_sentences(BytesIO(text.encode())) if len(sentence)
    ]
    examples = [_example(pipeline.vocab, sentence) for sentence in sentences]
    optimizer = pipeline.initialize(lambda: examples)
    print(f"training spaCy, {iterations} iterations", file=sys.stderr)
    order = random.Random(seed)
    for _ in range(iterations):
        order.shuffle(examples)
        for batch in _batches(examples):
            pipeline.update(batch, sgd=optimizer, drop=_DROPOUT)
    pipeline.to_disk(target)


def _vectors() -> dict[str, Any]:
    return {
        "@architectures": "spacy.Tok2Vec.v2",
        "embed": {
            "@architectures": "spacy.MultiHashEmbed.v2",
            "width": _WIDTH,
            "attrs": list(_READ),
            "rows": list(_READ.values()),
            "include_static_vectors": False,
        },
        "encode": {
            "@architectures": "spacy.MaxoutWindowEncoder.v2",
            "width": _WIDTH,
            "depth": _DEPTH,
            "window_size": 1,
            "maxout_pieces": 3,
        },
    }


def _doc(vocabulary: Any, sentence: RawSentence, **trees: Any) -> Any:
    """Return the words of a sentence, with their tags."""
    from spacy.parts_of_speech import IDS
    from spacy.tokens import Doc

    pos = [tag if tag in IDS else "X" for tag in sentence.column(UPOS)]  # spaCy refuses other tags
    columns: dict[str, Any] = {"words": sentence.column(FORM), "pos": pos}
    columns["morphs"] = ["" if value == "_" else value for value in sentence.column(FEATS)]
    if not trees:
        columns["sent_starts"] = [True] + [False] * (len(sentence) - 1)
    return Doc(vocabulary, **columns, **trees)


def _example(vocabulary: Any, sentence: RawSentence) -> Any:
    from spacy.training import Example

    columns = list(zip(sentence.column(HEAD), sentence.column(DEPREL), strict=True))
    heads = [place if head == "0" else int(head) - 1 for place, (head, _) in enumerate(columns)]
    deps = ["ROOT" if head == "0" else deprel for head, deprel in columns]
    return Example(_doc(vocabulary, sentence), _doc(vocabulary, sentence, heads=heads, deps=deps))


def _batches(examples: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield batches of examples, in order, of about _BATCH_WORDS words."""
    batch: list[Any] = []
    words = 0
    for example in examples:
        batch.append(example)
        words += len(example.x)
        if words >= _BATCH_WORDS:
            yield batch
            batch, words = [], 0
    if batch:
        yield batch


def _package() -> Any:
    try:
        import spacy
    except ImportError as error:
        raise OptimalStepError("spaCy is not installed; pip install -e '.[peers]'") from error
    return spacy


if __name__ == "__main__":
    sys.stdout.buffer.write(Spacy(sys.argv[1]).parse(sys.stdin.buffer.read().decode()).encode())
