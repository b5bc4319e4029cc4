"""Training of the tokenizer on a treebank, and of the segmenter, which is kept if it finds
sentences better.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from oracles.errors import OptimalStepError
from parser.conllu.stream import read_sentences
from parser.model_folder import SEGMENTER, SEGMENTER_TENSORS, TOKENIZER
from parser.settings.groups import SegmenterName
from parser.text.abbreviations import abbreviations_of
from parser.text.tokens import Paragraph, read_paragraphs, text_of, tokens_of
from parser.training.text.learning_texts import f1, plain_text
from parser.training.text.segmenter import train_segmenter
from parser.training.text.tokenizer import train_tokenizer

_TEXT = "# text ="
# If no token has SpaceAfter=No, this share of the sentences must have a # text that is their tokens
# with spaces between them.
_MOST = 0.9

log = logging.getLogger(__name__)


class NoRunningTextError(OptimalStepError):
    """A treebank does not record the spacing of its words."""


def write_splitting(
    train: Sequence[str | Path],
    dev: str | Path | None,
    folder: Path,
    seed: int,
    *,
    segmenter: SegmenterName = SegmenterName.auto,
    language: str | None = None,
) -> dict[str, float]:
    """Train a tokenizer and a segmenter for a model's folder; return the CPU seconds of each.

    Args:
        train: files of CoNLL-U to learn from.
        dev: CoNLL-U to choose on; None: nothing is chosen,
            and only ``bilstm`` trains a segmenter.
        folder: the model's folder.
        seed: the seed of the training.
        segmenter: ``auto`` keeps the segmenter if its sentences on dev are better than the
            tokenizer's.
        language: the code that names a list of abbreviations; None: no list is used.

    Raises:
        ConlluError: a file is not CoNLL-U.
        NoRunningTextError: no token has SpaceAfter=No, and the comments # text are not the tokens
            with spaces between them.
    """
    begun = time.process_time()
    paragraphs = [paragraph for path in train for paragraph in read_paragraphs(path)]
    if not _is_running_text(paragraphs, train):
        raise NoRunningTextError(
            f"{', '.join(map(str, train))}: no token has SpaceAfter=No, and # text is missing or "
            "has other spaces; a tokenizer learns from a treebank that records the spacing of its "
            "words"
        )
    log.info("training a tokenizer: %s", folder / TOKENIZER)
    held_out = None if dev is None else read_paragraphs(dev)
    tokenizer = train_tokenizer(paragraphs, held_out, seed, abbreviations_of(language))
    notes = {}
    if held_out:
        tokens, sentences = f1(plain := plain_text(held_out), tokenizer.split(plain.text))
        notes = {"dev_token_f1": round(tokens, 2), "dev_sentence_f1": round(sentences, 2)}
        log.info(
            "tokenizer: dev has F1 of %.2f for tokens, and of %.2f for sentences",
            tokens,
            sentences,
        )
    wanted = segmenter is SegmenterName.bilstm or (
        segmenter is SegmenterName.auto and bool(held_out)
    )
    trained = time.process_time()
    better = None
    scores: dict[str, float] = {}
    if wanted:
        log.info("training a segmenter, which takes a minute or two: %s", folder / SEGMENTER)
        better, scores = train_segmenter(paragraphs, held_out, tokenizer, seed)
    if scores:
        log.info(
            "sentences of dev, as it is and disturbed: tokenizer %(tokenizer).2f, "
            "segmenter %(segmenter).2f",
            scores,
        )
        if segmenter is SegmenterName.auto and scores["tokenizer"] >= scores["segmenter"]:
            better = None
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(folder, notes)
    if better is not None:
        better.save(folder, {"dev_sentence_f1": scores} if scores else None)
    else:  # there may be one of an earlier training
        for name in (SEGMENTER, SEGMENTER_TENSORS):
            (folder / name).unlink(missing_ok=True)
    return {"tokenizer": trained - begun, "segmenter": time.process_time() - trained}


def _is_running_text(paragraphs: Sequence[Paragraph], files: Sequence[str | Path]) -> bool:
    """Return whether a treebank records the spacing of its words.

    Vietnamese and Gothic have no SpaceAfter=No, because all their tokens have a space after them.
    Then # text also has these spaces.
    """
    if any(
        not token.space_after
        for sentence in chain.from_iterable(paragraphs)
        for token in sentence[:-1]
    ):
        return True
    same = total = 0
    for sentence in chain.from_iterable(map(read_sentences, files)):
        text = text_of(tokens_of(sentence))
        same += any(
            line.removeprefix(_TEXT).strip() == text
            for line in sentence.lines
            if line.startswith(_TEXT)
        )
        total += 1
    return same >= _MOST * total > 0
