"""Word vectors that a process of its own trains while this one loads torch and reads the treebank.

    with background_vectors(plan.vector_request) as vectors:
        from parser.training.run import train  # loads torch
        train(plan, folder, vectors=vectors)

Loading gensim and training vectors takes about as long as all else before the first update, and does not need any of it. The
process is ``python -m parser.data.background_vectors REQUEST``; its answer on standard output is an .npz of plain arrays. It
ends when its standard input does, that is, with the process that started it, however that one ends.
"""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import numpy as np

from parser.child_process import end_with_parent
from parser.data.attributes import attribute_values
from parser.data.treebank import TrainingFiles
from parser.data.vocabulary import Vocabulary
from parser.data.word_vectors import VectorTraining, WordVectors

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class VectorRequest:
    """Which word vectors to train.

    Attributes:
        files: of the training part.
        subset: whether only the sentences with projective trees are read.
        attribute: whose values get vectors.
        training: how.
        seed: of the run.
    """

    files: TrainingFiles
    subset: bool
    attribute: str
    training: VectorTraining
    seed: int


class BackgroundVectors:
    """Word vectors that another process is training."""

    def __init__(self, process: subprocess.Popen[bytes], messages: IO[bytes]) -> None:
        self._process = process
        self._messages = messages

    def result(self) -> WordVectors:
        """Waits for them; to be called once.

        Raises:
            ChildProcessError: the process failed; the message is what it said.
        """
        assert self._process.stdout is not None
        answer = self._process.stdout.read()  # communicate() would close its standard input first
        self._process.wait()
        self._messages.seek(0)
        messages = self._messages.read().decode(errors="replace").strip()
        if self._process.returncode:
            raise ChildProcessError(f"training the word vectors failed:\n{messages}")
        for message in messages.splitlines():
            log.warning("%s", message)
        with np.load(io.BytesIO(answer), allow_pickle=False) as arrays:
            return WordVectors(Vocabulary(json.loads(arrays["forms"].tobytes())), arrays["matrix"])


@contextmanager
def background_vectors(request: VectorRequest | None) -> Iterator[BackgroundVectors | None]:
    """Begins to train the word vectors of a run; None if none are wanted, or the training part is not there."""
    if request is None or not all(Path(file).is_file() for file in request.files.paths):
        yield None
        return
    # -P: a file parser.py in the folder where the user stands is not ours.
    command = [sys.executable, "-P", "-m", "parser.data.background_vectors", json.dumps(asdict(request))]
    with (
        tempfile.TemporaryFile() as messages,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages) as process,
    ):
        try:
            yield BackgroundVectors(process, messages)
        finally:
            process.kill()  # nobody waits for it any more


def _answer(request: str) -> None:
    """What the process does."""
    end_with_parent()
    fields = json.loads(request)
    parts = {"files": TrainingFiles(**fields["files"]), "training": VectorTraining(**fields["training"])}
    wanted = VectorRequest(**(fields | parts))
    train, _, _ = wanted.files.split(wanted.files.read())
    values = attribute_values(train.projective_subset if wanted.subset else train.sentences, wanted.attribute)
    vectors = WordVectors.train(values, wanted.training, wanted.seed)
    forms = np.frombuffer(json.dumps(vectors.vocabulary.symbols).encode(), np.uint8)
    file = io.BytesIO()
    np.savez(file, forms=forms, matrix=vectors.matrix)
    sys.stdout.buffer.write(file.getvalue())


if __name__ == "__main__":
    _answer(sys.argv[1])
