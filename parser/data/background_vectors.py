"""Word vectors that a process of its own trains while this one loads torch and reads the treebank.

    with background_vectors(settings) as vectors:
        from parser.training.passes import train  # loads torch
        train(settings, folder, vectors=vectors)

Loading gensim and training vectors takes about as long as all else before the first update, and does not need any of it. The
process is ``python -m parser.data.background_vectors REQUEST``; its answer on standard output is an .npz of plain arrays.
"""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from omegaconf import OmegaConf

from parser.data.treebank import read_treebank
from parser.data.vocabulary import Vocabulary, attribute_values
from parser.data.word_vectors import WordVectors, train_vectors
from parser.settings import Settings, VectorSettings

log = logging.getLogger(__name__)


class BackgroundVectors:
    """Word vectors that another process is training."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def result(self) -> WordVectors:
        """Waits for them; to be called once.

        Raises:
            ChildProcessError: the process failed; the message is what it said.
        """
        answer, said = self._process.communicate()
        messages = said.decode(errors="replace").strip()
        if self._process.returncode:
            raise ChildProcessError(f"training the word vectors failed:\n{messages}")
        for message in messages.splitlines():
            log.warning("%s", message)
        with np.load(io.BytesIO(answer), allow_pickle=False) as arrays:
            return WordVectors(Vocabulary(json.loads(arrays["forms"].tobytes())), arrays["matrix"])


@contextmanager
def background_vectors(settings: Settings) -> Iterator[BackgroundVectors | None]:
    """Begins to train the word vectors of a run; None if the settings ask for none, or the training part is not there."""
    vectors, train = settings.vectors, settings.treebank.train
    read = vectors.attribute is not None and settings.features.get(vectors.attribute)
    if vectors.file is not None or not read or train is None or not Path(train).is_file():
        yield None
        return
    request = {"train": train, "vectors": OmegaConf.to_container(vectors, resolve=True), "seed": settings.seed}
    # -P: a file parser.py in the folder where the user stands is not ours.
    command = [sys.executable, "-P", "-m", "parser.data.background_vectors", json.dumps(request)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield BackgroundVectors(process)
        finally:
            process.kill()  # nobody waits for it any more


def _answer(request: str) -> None:
    """What the process does."""
    wanted = json.loads(request)
    values = attribute_values(read_treebank(wanted["train"]).sentences, wanted["vectors"]["attribute"])
    vectors = train_vectors(VectorSettings(**wanted["vectors"]), values, wanted["seed"])
    forms = np.frombuffer(json.dumps(vectors.vocabulary.symbols).encode(), np.uint8)
    file = io.BytesIO()
    np.savez(file, forms=forms, matrix=vectors.matrix)
    sys.stdout.buffer.write(file.getvalue())


if __name__ == "__main__":
    _answer(sys.argv[1])
