"""Makes the models of models/ again: python scripts/make_models.py [NAME ...] --treebanks FOLDER [-o models].

The folder has the treebanks that optimal-step fetch_treebanks en pt ko ga cy hy vi fetches. Each model is trained below
--runs, where an interrupted training goes on; packed into models/NAME.zip; and measured as packed, on the test part.
models/index.json has the figures. From them come models/README.md and the table of docs/models.md, which --pages writes alone.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from parser.commands.arguments import Arguments
from parser.commands.fetch_treebanks import known
from parser.conllu.checks import FORM
from parser.conllu.stream import RawSentence, read_sentences
from parser.evaluation.scores import evaluate_files
from parser.model.packs import fetch, read_index
from parser.model_folder import CARD, EXAMPLE, INDEX, MODEL
from parser.storage import replacing, write_json
from parser.text.pipeline import TextPipeline
from parser.text.segmenter_training import read_paragraphs
from parser.text.tokens import text_of
from scripts import documentation

ROOT = Path(__file__).resolve().parents[1]

_LONG = 30  # words; longer sentences are measured by themselves
_FEWEST = 20  # kinds with fewer sentences get None
# What is measured from text, by the scores of parser.evaluation.
_FROM_TEXT = {
    "LAS": "las_universal",
    "UAS": "uas",
    "UPOS": "upos",
    "lemmas": "lemmas",
    "mlas": "mlas",
    "blex": "blex",
    "words_f1": "words",
    "sentences_f1": "sentences",
}
_BEAM = "--beam", "32", "--rerank"
_PAGE = ROOT / "docs" / "models.md"


@dataclass(frozen=True)
class Wanted:
    """A model to make.

    Attributes:
        treebank: its name in configs/treebank.
        language: in English.
        licence: of the treebank, and so of the model.
        example: a sentence of our own to try it with; none of a treebank is handed on.
        recipe: of its training.
        settings: others for training.
        limit: what its text splitting is bad at, because of the treebank.
    """

    treebank: str
    language: str
    licence: str
    example: str
    recipe: str = "fast"
    settings: tuple[str, ...] = ()
    limit: str = ""


_FOX = "The quick brown fox jumps over the lazy dog."
_SPACED = "The treebank's text has a blank before each punctuation mark. One that is written without it stays part of its word."
# Fewer vectors of affixes. Lemmas of dev are as good on en (96.86 and 96.87), pt (98.08 and 98.12) and vi (98.75 and 98.73);
# on hu they are 0.4 worse, and on ko 1.2 (on test).
_SMALL_LEMMAS = ("encoder.lemmas.size=32", "encoder.lemmas.buckets=8192")

MODELS = {
    "en": Wanted("en", "English", "CC BY-SA 4.0", _FOX, settings=(*_SMALL_LEMMAS, "second_pass.most_words=null")),
    "en-text": Wanted("en", "English", "CC BY-SA 4.0", _FOX, "text"),
    "pt": Wanted("pt", "Portuguese", "CC BY-SA 4.0", "O gato preto dorme no sofá da sala.", settings=_SMALL_LEMMAS),
    "ko": Wanted("ko", "Korean", "CC BY-SA 4.0", "나는 어제 친구와 함께 학교에 갔다."),
    "ga": Wanted("ga", "Irish", "CC BY-SA 3.0", "Tá an cat ina chodladh cois na tine."),
    "cy": Wanted("cy", "Welsh", "CC BY-SA 4.0", "Mae'r gath yn cysgu ar y gadair."),
    "hy": Wanted("hy", "Armenian", "CC BY-SA 4.0", "Կատուն քնած է աթոռի վրա\u0589"),
    "vi": Wanted("vi", "Vietnamese", "CC BY-SA 4.0", "Con mèo đang ngủ trên ghế .", settings=_SMALL_LEMMAS, limit=_SPACED),
}


def main() -> None:
    """Makes what the command line names."""
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MODELS)} (default: all)")
    parser.add_argument("--treebanks", type=Path, default=Path("ud-v2.16"), metavar="FOLDER")
    parser.add_argument("--runs", type=Path, default=Path("runs/models"), metavar="FOLDER", help="where models are trained")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "models", metavar="FOLDER")
    parser.add_argument("--pages", action="store_true", help="make no model; write the pages from index.json")
    given = parser.parse_args()
    for name in [] if given.pages else given.names or MODELS:
        make(name, MODELS[name], given.treebanks, given.runs / name, given.output)
    write_pages(json.loads((given.output / INDEX).read_text(encoding="utf-8")), given.output)


def make(name: str, wanted: Wanted, treebanks: Path, run: Path, output: Path) -> None:
    """Trains, packs and measures a model, and puts what it is into the index."""
    folder, code, release = known()[wanted.treebank]
    dev, test = (treebanks / folder / f"{code}-ud-{part}.conllu" for part in ("dev", "test"))
    words = (f"treebank={wanted.treebank}", f"recipe={wanted.recipe}", "tokenizer=udpipe", *wanted.settings)
    _run("train", *words, f"paths.treebanks={treebanks}", f"hydra.run.dir={run}")
    metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    contributors = _contributors(treebanks / folder)
    with TemporaryDirectory() as place:
        model, packs, unpacked = (Path(place) / part for part in (name, "packs", "unpacked"))
        unpacked.mkdir()
        shutil.copytree(run / MODEL, model)
        (model / EXAMPLE).write_bytes(b"".join(TextPipeline.of_model(model).conllu(io.BytesIO(wanted.example.encode()))))
        # A first pack is measured, whose weights are rounded; what it reaches goes into the card of the second.
        _run("pack", str(model), "-o", str(packs / f"{name}.zip"), "--name", name, "--dev", str(dev))
        fetch(name, read_index(str(packs))[name], str(packs), unpacked)
        measured = measure(unpacked / name, test, Path(place))
        source = f"{folder} {release} (https://github.com/UniversalDependencies/{folder}), by {contributors}"
        _add_to_card(model / CARD, wanted, measured, source)
        _run("pack", str(model), "-o", str(output / f"{name}.zip"), "--name", name, "--dev", str(dev))
    index = json.loads((output / INDEX).read_text(encoding="utf-8"))
    index[name] |= {
        "language": wanted.language,
        "treebank": f"{folder} {release}",
        "contributors": contributors,
        "licence": wanted.licence,
        "recipe": wanted.recipe,
        "command": f"optimal-step train {' '.join(words)}",
        "words": metrics["train"]["words"],
        "training_seconds": round(metrics["cpu_seconds"]),
        **measured,
    }
    write_json(output / INDEX, index)


def measure(model: Path, test: Path, place: Path) -> dict[str, Any]:
    """Return F1 in percent on a test part from text; from gold words for LAS_gold_words* and _HARD. LAS ignores subtypes.

    Words per second are of whole processes on one thread, in CPU time, from text. A kind of sentences of which there are few
    has None.
    """
    raw, parsed, gold = place / "raw.txt", place / "parsed.conllu", place / "gold.conllu"
    paragraphs = [text_of(token for sentence in one for token in sentence) for one in read_paragraphs(test)]
    raw.write_text("\n\n".join(paragraphs), encoding="utf-8", newline="\n")

    def scores(file: Path, read: Path, *options: str) -> dict[str, float]:
        _run("parse", str(model), str(read), "-o", str(parsed), *options)
        return {key: round(score.f1, 2) for key, score in evaluate_files(file, parsed).items()}

    scores(test, raw, "--text")  # compiles what is not compiled yet
    before = _cpu_seconds()
    text = scores(test, raw, "--text")
    seconds = _cpu_seconds() - before
    sentences = [sentence for sentence in read_sentences(test) if len(sentence)]
    found: dict[str, Any] = {key: text[score] for key, score in _FROM_TEXT.items()}
    found["words_per_second"] = round(sum(map(len, sentences)) / seconds)
    found["LAS_reranked"] = scores(test, raw, "--text", *_BEAM)["las_universal"]
    tags = ("--tags", "overwrite")
    found["LAS_gold_words"] = scores(test, test, *tags)["las_universal"]
    found["LAS_gold_words_reranked"] = scores(test, test, *tags, *_BEAM)["las_universal"]
    for key, some in _HARD.items():
        hard = [lines for sentence in sentences if (lines := some(sentence))]
        gold.write_text("".join(chain.from_iterable(hard)), encoding="utf-8", newline="\n")
        found[f"LAS_{key}"] = scores(gold, gold, *tags)["las_universal"] if len(hard) >= _FEWEST else None
    return found


def _if(chosen: Callable[[RawSentence], bool]) -> Callable[[RawSentence], list[str]]:
    return lambda sentence: sentence.lines if chosen(sentence) else []


def _in_lower_case(sentence: RawSentence) -> list[str]:
    rows = [line.split("\t") for line in sentence.lines]
    return ["\t".join([*row[:FORM], row[FORM].lower(), *row[FORM + 1 :]]) if len(row) > FORM else row[0] for row in rows]


# Hard sentences, by the name of the kind: functions from a sentence to the lines to parse, if any.
_HARD: dict[str, Callable[[RawSentence], list[str]]] = {
    "questions": _if(lambda sentence: any({*form} & {*"?\u055e\uff1f"} for form in sentence.column(FORM))),
    "long": _if(lambda sentence: len(sentence) > _LONG),
    "lower_case": _in_lower_case,
}


def _add_to_card(card: Path, wanted: Wanted, measured: dict[str, Any], source: str) -> None:
    """Says in the card what the licence asks for, and what the model is bad at."""
    hard = {
        "LAS_long": f"sentences of more than {_LONG} words",
        "LAS_questions": "questions",
        "LAS_lower_case": "lower case",
    }
    of_hard = ", ".join(f"{what} {measured[key]:.2f}" for key, what in hard.items() if measured[key] is not None)
    splitting = f"Text is split by UDPipe 1's tokenizer. {wanted.limit}".rstrip()
    text = card.read_text(encoding="utf-8")
    text += f"""
## Licence and limits

The model is derived from {source}, and is passed on under {wanted.licence}. {splitting}

LAS (official) on the test part: {measured["LAS"]:.2f} from text, {measured["LAS_gold_words"]:.2f} with the gold words.
With these: {of_hard}.
"""
    with replacing(card) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _contributors(folder: Path) -> str:
    """Return whom the README of a treebank names, as its licence asks."""
    text = "".join(path.read_text(encoding="utf-8") for path in folder.glob("README.*"))
    found = re.search(r"^Contributors: *(.+?) *$", text, re.MULTILINE)
    return found[1] if found else "the contributors that its README names"


def _run(command: str, *words: str) -> None:
    """Runs a command of this checkout, on one thread."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    subprocess.run([sys.executable, str(ROOT / "scripts" / f"{command}.py"), *words], check=True, env=os.environ | threads)


def _cpu_seconds() -> float:
    """Of the processes that this one has started, and that have ended."""
    times = os.times()
    return times.children_user + times.children_system


# The columns of the table in docs/models.md, and the keys of the index that they show.
_COLUMNS = {
    "LAS": "LAS",
    "reranked": "LAS_reranked",
    "UPOS": "UPOS",
    "lemmas": "lemmas",
    "words": "words_f1",
    "sentences": "sentences_f1",
    "LAS, gold words": "LAS_gold_words",
    "reranked ": "LAS_gold_words_reranked",
}
_LIMITS = {"long sentences": "LAS_long", "questions": "LAS_questions", "lower case": "LAS_lower_case"}


def tables(index: dict[str, dict[str, Any]]) -> str:
    """The tables of docs/models.md."""

    def table(head: Sequence[str], row: Callable[[dict[str, Any]], Iterable[str]]) -> list[str]:
        rows = [f"| `{name}` | {' | '.join(row(of))} |" for name, of in index.items()]
        return [f"| name | {' | '.join(head)} |", f"|---|{'---|' * len(head)}", *rows, ""]

    def about(of: dict[str, Any]) -> Iterable[str]:
        yield from (of["language"], of["treebank"], of["licence"], f"`{of['recipe']}`", f"{of['words']:,}")
        yield from (f"{of['bytes'] / 1e6:.1f}", f"{of['words_per_second']:,}", f"{of['training_seconds'] / 60:.0f}")

    def percent(keys: Iterable[str]) -> Callable[[dict[str, Any]], Iterable[str]]:
        return lambda of: ("\u2013" if of[key] is None else f"{of[key]:.2f}" for key in keys)

    head = ("language", "treebank", "licence", "recipe", "training words", "MB", "words/s", "CPU minutes of training")
    lines = [*table(head, about), *table([*_COLUMNS], percent(_COLUMNS.values()))]
    return "\n".join([*lines, *table(["LAS, gold words", *_LIMITS], percent(["LAS_gold_words", *_LIMITS.values()]))])


def write_pages(index: dict[str, dict[str, Any]], output: Path) -> None:
    """Writes README.md of the models' folder, and into docs/models.md the tables."""
    lines = [
        "# Models",
        "",
        "Packs of `scripts/make_models.py`; what they reach is in [docs/models.md](../docs/models.md). Each is derived from a",
        "treebank of Universal Dependencies, and has the licence of that treebank:",
        "",
    ]
    for name, of in index.items():
        folder, _, release = of["treebank"].partition(" ")
        url = f"https://github.com/UniversalDependencies/{folder}"
        lines.append(f"* `{name}.zip`: [{folder}]({url}), release {release}, {of['licence']}, by {of['contributors']}")
    with replacing(output / "README.md") as temporary:
        temporary.write_text("\n".join([*lines, ""]), encoding="utf-8", newline="\n")
    documentation.main([str(_PAGE)])


if __name__ == "__main__":
    main()
