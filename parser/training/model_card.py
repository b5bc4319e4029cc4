"""The model card, README.md in the model's folder: how and on what it was trained, its scores,
and what it is not for.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from parser.conllu.checks import counted
from parser.data.attributes import TREEBANK
from parser.data.parts.pretrained import HELD
from parser.data.parts.subwords import WEIGHTS
from parser.decoding.files.missing_columns import tags_read
from parser.decoding.search import GREEDY, SearchWish, search_for
from parser.evaluation.scores import NAMES
from parser.model.loading import load
from parser.model_folder import (
    CARD,
    MODEL,
    SEGMENTER,
    TENSORS,
    TOKENIZER,
    VOCABULARIES,
    find_model,
    has_tokenizer,
    holds_model,
    predicted_columns,
    read_json,
    text_files,
)
from parser.storage import ESCAPES, replacing
from parser.training.observers import Observer, RunStart

_SCORES = ("uas", "las", "las_universal", "uas_nopunct", "las_nopunct")
_TAG_SCORES = ("upos", "feats", "lemma")
_SETTINGS = (
    *("system", "degree", "column", "oracle", "strategy", "ties"),
    *("recipe", "model", "beam", "seed"),
)
_KINDS_OF_LAS = "LAS counts subtypes; LAS (official), that of the CoNLL 2018 script, does not."
# In a word of a command: the leading folders of an absolute path,
# except the one directly above model/.
_FOLDERS = re.compile(
    r"""(^|[=[{(,:]\s*["']?)(?:[A-Za-z]:\\|/)(?:(?:[^],}:"']*[\\/])?(?!model\b|[],}"']|$))?"""
)


class ModelCard(Observer):
    """An observer that writes the card when the run ends.

    Args:
        command: the command that trained the model.
    """

    def __init__(self, command: str) -> None:
        self._command = shlex.join(_FOLDERS.sub(r"\1", word) for word in shlex.split(command))

    def on_start(self, start: RunStart) -> None:
        """Record the data of the run now, because its files, and the cards of other models, may
        change while it trains.
        """
        self._start, plan, sums = start, start.plan, start.manifest.files
        files = [(key, Path(path)) for key, path in sorted(plan.files.named.items()) if key in sums]
        self._rows = [
            f"| {key} | {path.name} | `{sums[key]}` | {_licence(path)} |" for key, path in files
        ]
        for folders, weights in ((plan.files.models, TENSORS), (plan.files.pretrained, WEIGHTS)):
            for key, path in folders.items():
                digest = sums.get(f"{key}/{weights}", "in several files")
                licence = _licence(Path(path) / weights)
                self._rows.append(
                    f"| {key} | {_run_name(Path(path))} | `{digest}` | weights of a network; "
                    f"{licence} |"
                )
        for key, path in plan.files.pretrained.items():
            if _is_held(Path(path)):
                self._rows += _rows_of_card(key, Path(path).parent)
        kept = (
            text_files(find_model(Path(plan.start)))
            if plan.start is not None and plan.keeps_text
            else []
        )
        names = {file.rpartition("/")[2] for file in kept}
        self._kept = ["tokenizer"] if TOKENIZER in names else []
        self._kept += ["segmenter"] if SEGMENTER in names else []
        if plan.start is not None:
            self._rows += _rows_of_card("start", Path(plan.start))

    def on_end(self, metrics: dict[str, Any]) -> None:
        """Write the card beside the model."""
        facts = [*self._facts(), *_arithmetic(metrics)]
        with replacing(self._start.folder / MODEL / CARD) as temporary:
            temporary.write_text(
                self._card(metrics, facts), encoding="utf-8", errors=ESCAPES, newline="\n"
            )

    def _facts(self) -> list[str]:
        """Return date and size; the language, if files are named as in Universal Dependencies; and
        the speed, if there is a dev split.
        """
        codes = sorted(
            {*re.findall(r"treebank\.train\S* \| ([a-z]{2,3})_\w+-ud-", "\n".join(self._rows))}
        )
        # https://reproducible-builds.org/specs/source-date-epoch
        epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
        day = datetime.fromtimestamp(
            int(epoch) if re.fullmatch("[0-9]{1,11}", epoch) else time.time(), UTC
        )
        folder, dev = self._start.folder / MODEL, self._start.corpus.dev
        size = sum(
            path.stat().st_size
            for path in folder.rglob("*")
            if path.is_file() and path.name != CARD
        )
        facts = [f"date: {day:%Y-%m-%d}, UTC", f"size: {size / 1e6:.1f} MB"]
        if codes:
            facts.insert(0, f"language: {', '.join(codes)}")
        if dev is not None and len(dev.heads):
            model = load(folder)
            parser = search_for(model, SearchWish(model.beam or GREEDY))
            parser.parse(dev.sentences.span(0, 1))  # compiles and computes what is needed only once
            some = dev.sentences.span(*next(dev.sentences.spans(10_000)))  # enough to measure
            begun = time.perf_counter()
            parser.parse(some)
            speed = (some.offsets[-1] - len(some)) / (time.perf_counter() - begun)
            facts.append(
                f"speed: {speed:,.0f} words per second (trees of dev, one thread, "
                "on the machine that trained it)"
            )
        return facts

    def _origins(self) -> list[str]:
        """Return where each of the model's parts comes from: the model of ``start``, or this run.
        Empty without ``start``.
        """
        start, plan, corpus = self._start, self._start.plan, self._start.corpus
        if plan.start is None:
            return []
        here, named = start.folder / MODEL, f"start ({_run_name(Path(plan.start))})"
        before, after = (
            load(folder, int8=False) for folder in (find_model(Path(plan.start)), here)
        )
        origins = [f"network: from {named}, trained further on treebank.train"]
        if self._kept:
            origins.append(f"{' and '.join(self._kept)}: from {named}, unchanged")
        elif text_files(here):
            origins.append("tokenizer: trained on treebank.train")
        for file, columns in corpus.untaught.items():
            values = ", ".join(column.upper() for column in columns)
            if columns:
                origins.append(
                    f"{values}: as {named} predicts; {Path(file).name or 'the training part'} has "
                    "no gold value"
                )
        for task in after.vocabularies.tasks:
            if not task.in_passes:
                sources = [named] * (before.vocabularies.task(type(task)) is not None)
                sources += ["treebank.train"] * task.is_taught(corpus.tagged)
                origins.append(f"{task.name}: from {' and '.join(sources)}")
        kept = after.calibration == before.calibration
        return [
            *origins,
            f"calibration of probabilities: {f'from {named}' if kept else 'fitted to dev'}",
        ]

    def _card(self, metrics: dict[str, Any], facts: list[str]) -> str:
        """Return the card in Markdown; ``metrics`` is the content of metrics.json."""
        train, folder = metrics["train"], self._start.folder / MODEL
        attributes = read_json(folder, VOCABULARIES)["attributes"]
        tags = tags_read(attributes)
        measured = [split for split in ("dev", "test") if metrics[split]]
        model_columns = predicted_columns(folder) if measured else ()
        predicted = [name for name in _TAG_SCORES if name in model_columns]
        columns = [*_SCORES, *predicted]
        conditions = (
            f"with the gold tags of the files ({tags})" if tags else "of forms alone, without tags"
        )
        needs = (
            f"The input needs {tags}, tagged as the treebank is"
            if tags
            else "The input needs no tags"
        )
        if predicted:
            named = " and ".join(filter(None, (", ".join(predicted[:-1]), predicted[-1])))
            conditions += f"; {named}: predicted values that are right"
            needs += "; --tags=fill writes those that the model predicts"
        settings = ", ".join(
            f"{key}={metrics[key]}" for key in _SETTINGS if metrics.get(key) is not None
        )
        scores = []
        for split in measured:
            cells = [
                f"{metrics[split][key]:.2f}" if key in metrics[split] else "-" for key in columns
            ]
            scores.append(f"| {split} | {' | '.join(cells)} |")
        input_options = "text.txt --text" if not tags and has_tokenizer(folder) else "input.conllu"
        if treebanks := attributes.get(TREEBANK):
            input_options += f" --treebank {shlex.quote(treebanks[0])}"
            needs += f"; --treebank names the one that it resembles ({', '.join(treebanks)})"
        origins = [f"* {origin}\n" for origin in self._origins()]
        learned = f"{counted(train['sentences'], 'sentence')}, {counted(train['words'], 'word')}"
        learned += ", and before on the data of start" if self._start.plan.start else ""
        return f"""# A dependency parser for {metrics["treebank"]}

Trained by optimal-step on {learned}. {settings}.

    {self._command}

{chr(10).join(f"* {fact}" for fact in facts)}

## Data

| setting | file | SHA-256 | licence |
|---|---|---|---|
{chr(10).join(self._rows)}
{"".join([chr(10), "## Where the parts come from", chr(10) * 2, *origins] if origins else [])}
## Scores

Percentages, {conditions}. {_KINDS_OF_LAS}

| part | {" | ".join(NAMES.get(key, key.upper()) for key in columns)} |
|---|{"---|" * len(columns)}
{chr(10).join(scores) or "| nothing was measured |" + " |" * len(columns)}

## Use

    optimal-step parse THIS_FOLDER {input_options} -o output.conllu

{needs}. Text unlike that of the treebank is parsed worse than the scores say.
"""


def _arithmetic(metrics: dict[str, Any]) -> list[str]:
    """Return how the encoder multiplies, where 8 bits were tried."""
    if (lost := metrics.get("int8_lost_las")) is None:
        return []
    used = (
        "8-bit products, which lose"
        if metrics["int8"]
        else "single precision, because 8-bit products would lose"
    )
    where = "dev" if metrics["dev"] else "the dev part of start"
    return [f"arithmetic: {used} {lost:.2f} LAS on {where} (parse --int8 and --float32 choose)"]


def _rows_of_card(key: str, model: Path) -> list[str]:
    """Return the rows in the card of a model that the run starts from or learns from; without a
    card, a row that says so.
    """
    path = find_model(model) / CARD
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    rows = re.findall(r"^\| (.+ \| .+ \| `\w{64}` \| .+ \|)$", text, re.MULTILINE)
    return [f"| {key}/{row}" for row in rows] or [
        f"| {key} | data of a model without a card | | not known |"
    ]


def _is_held(encoder: Path) -> bool:
    """Return whether the folder of a pretrained encoder is part of a model's folder."""
    return encoder.name == HELD and holds_model(encoder.parent)


def _run_name(folder: Path) -> str:
    """Return the name of a model's folder; if it is called model, the name of the run's folder. For
    an encoder that a model holds, it is the name of this model.
    """
    if _is_held(folder):
        folder = folder.parent
    return folder.parent.name if folder.name == MODEL else folder.name


def _licence(path: Path) -> str:
    """Return the first line of the licence beside the file;
    treebanks of Universal Dependencies have a LICENSE.txt.
    """
    for name in ("LICENSE.txt", "LICENSE", "LICENSE.md"):
        beside = path.parent / name
        if beside.is_file():
            lines = beside.read_text(encoding="utf-8", errors="replace").splitlines()
            return next(
                (line.strip().replace("|", "/") for line in lines if line.strip()), "not stated"
            )
    return "not stated beside the file"
