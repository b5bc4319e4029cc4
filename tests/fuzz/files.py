"""Whatever else people give: files of lexicons, word vectors, packs and earlier runs,
and settings on a command line.
"""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from oracles.errors import OptimalStepError
from parser.data.lemma_lexicon import LemmaLexicon
from parser.data.word_vectors import WordVectors
from parser.lattices.lexicon import Lexicon
from parser.model.packs import read_index
from parser.model_folder import INDEX, MODEL
from parser.reports.run_report import gold_file
from parser.settings.given import Given
from parser.settings.overrides import training_settings
from parser.settings.plan import plan
from parser.text.shards import REFUSALS, Refusals
from parser.training.run_folder import METRICS, Manifest, finished_metrics
from parser.training.sweeps import read_jobs
from tests.fuzz.mutations import changed_value, mutate_bytes

# What means something to hydra or YAML, and what their readers may stumble over.
_WORDS = [
    *[
        "seed",
        "column",
        "treebank",
        "treebank.train",
        "features.form",
        "model",
        "beam",
        "hydra.run.dir",
        "nope",
        "a.b.c",
        "+",
        "~",
    ],
    *[
        "=",
        "=",
        "=",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "'",
        '"',
        "\\",
        "$",
        "${",
        "${seed}",
        "${oc.env:X}",
        "${oc.decode:",
        "(",
        ")",
    ],
    *[
        "@",
        "/",
        ".",
        "..",
        " ",
        "\t",
        "\n",
        "null",
        "true",
        "1",
        "-1",
        "1e400",
        "nan",
        "inf",
        "0x1",
        "1_000",
        "9" * 5000,
        "[" * 700,
    ],
    *[
        "glob(*)",
        "range(1,3)",
        "choice(1,2)",
        "shuffle(",
        "sort(a)",
        "int(x)",
        "str(1)",
        "mlp",
        "bilstm",
        "linear",
        "hu",
        "sample",
    ],
    *[
        "\0",
        "\ud800",
        "\udcff",
        "\u2028",
        "\xa0",
        "ő",
        "!!int a",
        "&a",
        "*a",
        "# x",
        "a" * 300,
        "???",
    ],
]


def _write_vectors(rng: Random) -> bytes:
    rows = [(f"w{n}".encode(), np.full(3, n, "<f4")) for n in range(6)]
    head = b"6 3\n"
    if rng.random() < 0.5:
        return head + b"".join(word + b" " + vector.tobytes() + b"\n" for word, vector in rows)
    lines = b"".join(
        word + b" " + b" ".join(b"%g" % number for number in vector) + b"\n"
        for word, vector in rows
    )
    return (head if rng.random() < 0.7 else b"") + lines


_FASTTEXT = (
    struct.pack("<2i 12i d 3i 2q", 793712314, 12, *range(12), 1e-4, 2, 2, 0, 9, -1)
    + b"w1\0"
    + bytes(9)
    + b"w2\0"
    + bytes(9)
)

_LEXICON = {
    "format": 2,
    "guess": "frequent",
    "most": 3,
    "unknown": [["X", "_", "_"]],
    "analyses": {"a": [[["a", "b", "X", "_", "_"]]]},
}
_RUN = {
    "settings": {"treebank": {"train": "a", "dev": "b", "test": ["c", "d"]}, "seed": 1},
    "files": {"treebank.train": "12"},
}
_JOB = {
    "number": 1,
    "overrides": ["seed=1"],
    "dev_las": 1.5,
    "test_las": None,
    "seconds": 2.0,
    "error": None,
}


def fuzz_files(rng: Random, folder: Path) -> None:
    """Each file is read, or refused with its name."""
    name, content, read = rng.choice(_FILES)
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    if isinstance(content, dict) and rng.random() < 0.7:
        value: Any = content
        for _ in range(rng.choice([1, 1, 2, 4])):
            value = changed_value(value, rng)
        path.write_bytes(json.dumps(value).encode())
    else:
        whole = json.dumps(content).encode() if isinstance(content, dict) else content(rng)
        path.write_bytes(
            mutate_bytes(
                whole,
                rng,
                [
                    b"[" * 100_000,
                    b"\0",
                    b"\xff",
                    b"9" * 5000,
                    b"9" * 15,
                    b" ",
                    b"\t",
                    b"\n",
                    b"1e999",
                    b"NaN",
                ],
            )
        )
    try:
        read(path)
    except OptimalStepError as error:
        assert str(path) in str(error) or str(path.parent) in str(error)
        assert len(str(error)) < 2000


def fuzz_overrides(rng: Random, folder: Path) -> None:
    """Any words of a command line are settings, or refused in a line."""
    words = [
        "".join(rng.choice(_WORDS) for _ in range(rng.randint(1, 5)))
        for _ in range(rng.choice([1, 1, 2]))
    ]
    if rng.random() < 0.7:
        keys = ["seed", "treebank.train", "model", "beam.size", "hydra.job.name"]
        words = [f"{rng.choice(keys)}={word}" for word in words]
    try:
        plan(training_settings(words), Given(words))
    except OptimalStepError as error:
        assert str(error)
        assert len(str(error)) < 12_000


def _resume(run: Path) -> object:
    (run / MODEL).mkdir(exist_ok=True)
    (run / METRICS).write_text("{}")
    return finished_metrics(run, Manifest({}, {}))


_FILES: list[tuple[str, dict[str, Any] | Callable[[Random], bytes], Callable[[Path], object]]] = [
    ("lexicon.json", _LEXICON, Lexicon.load),
    ("vectors.vec", _write_vectors, WordVectors.read),
    ("vectors.bin", lambda _: _FASTTEXT, WordVectors.read),
    ("lemmas.tsv", lambda _: "a\tX\tb\nő\t_\té\n# x\n".encode() * 3, LemmaLexicon.read),
    (
        f"packs/{INDEX}",
        {"en": {"file": "en.zip", "sha256": "0" * 64}},
        lambda path: read_index(str(path.parent)),
    ),
    ("run/run.json", _RUN, lambda path: gold_file(path.parent)),
    ("run/run.json", _RUN, lambda path: _resume(path.parent)),
    (f"out/{REFUSALS}", {"file": "a", "sentences": 2}, lambda path: Refusals(path.parent)),
    ("sweep/job.json", _JOB, lambda path: read_jobs(path.parent)),
]
