"""A model card: README.md in the model's folder says what it was trained on and how, what it scores, and what it is not for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from parser.conllu.checks import counted
from parser.data.subwords import WEIGHTS
from parser.decoding.files.missing_columns import tags_read
from parser.model_folder import CARD, MODEL, TENSORS, VOCABULARIES, read_json
from parser.settings import numbered
from parser.storage.atomic import replacing
from parser.training.observers.observer import Observer, RunStart
from parser.training.run_folder import Manifest

_SCORES = ("uas", "las", "las_universal", "uas_nopunct", "las_nopunct")
_TAG_SCORES = ("upos", "feats", "lemma")
_SETTINGS = ("system", "degree", "column", "oracle", "strategy", "ties", "recipe", "model", "beam", "seed")


class ModelCard(Observer):
    """Writes the card when the run ends.

    Args:
        command: the command that trained the model.
    """

    def __init__(self, command: str) -> None:
        self._command = command
        self._manifest: Manifest | None = None
        self._folder = Path()

    def on_start(self, start: RunStart) -> None:
        """Notes what the run is made from: its files may change while it trains."""
        self._manifest, self._folder = start.manifest, start.folder

    def on_end(self, metrics: dict[str, Any]) -> None:
        """Writes the card beside the model."""
        assert self._manifest is not None
        with replacing(self._folder / MODEL / CARD) as temporary:
            attributes = read_json(self._folder / MODEL, VOCABULARIES)["attributes"]
            temporary.write_text(card(self._manifest, metrics, self._command, attributes), encoding="utf-8", newline="\n")


def card(manifest: Manifest, metrics: dict[str, Any], command: str, attributes: Iterable[str]) -> str:
    """The card, Markdown; the same for the same run.

    Args:
        manifest: settings and files of the run.
        metrics: what metrics.json holds.
        command: the command that trained the model.
        attributes: what the model reads of a word.
    """
    train = metrics["train"]
    tags = tags_read(attributes)
    predicted = [name for name in _TAG_SCORES if any(name in (metrics[part] or {}) for part in ("dev", "test"))]
    columns = [*_SCORES, *predicted]
    if tags:
        read = f"with the gold tags of the files ({tags})"
        needs = f"The input needs {tags}, tagged as the treebank is"
    else:
        read = "of forms alone, without tags"
        needs = "The input needs no tags"
    if predicted:
        named = " and ".join(filter(None, (", ".join(predicted[:-1]), predicted[-1])))
        read += f"; {named}: predicted values that are right"
        needs += "; --tags=fill writes those that the model predicts"
    settings = ", ".join(f"{key}={metrics[key]}" for key in _SETTINGS if metrics.get(key) is not None)
    files = []
    for key, digest in sorted(manifest.files.items()):
        if "/" in key:  # a file of another model
            continue
        path: Any = manifest.settings
        for name in key.split("."):
            path = path[int(name)] if isinstance(path, list) else path.get(name, {})
        if isinstance(path, str):
            files.append(f"| {key} | {Path(path).name} | `{digest}` | {_licence(Path(path))} |")
    scores = [
        f"| {part} | {' | '.join(f'{metrics[part][key]:.2f}' for key in columns)} |"
        for part in ("dev", "test")
        if metrics[part]
    ]
    learned = f"{counted(train['sentences'], 'sentence')}, {counted(train['words'], 'word')}"
    return f"""# A dependency parser for {metrics["treebank"]}

Trained by optimal-step on {learned}. {settings}.{_taught(manifest)}{_pretrained(manifest)}

    {command}

## Data

| setting | file | SHA-256 | licence |
|---|---|---|---|
{chr(10).join(files)}

## Scores

Percentages, {read}; las counts subtypes, las_universal is that of the CoNLL 2018 script.

| part | {" | ".join(columns)} |
|---|{"---|" * len(columns)}
{chr(10).join(scores) or "| nothing was measured |" + " |" * len(columns)}

## Use

    optimal-step parse THIS_FOLDER input.conllu -o output.conllu

{needs}. Text unlike that of the treebank is parsed worse than the scores say.
"""


def _taught(manifest: Manifest) -> str:
    """A sentence on the model's teachers, if it has any."""
    distillation = manifest.settings.get("distillation", {})
    if distillation.get("teacher") is None:
        return ""
    encoders = []
    for key, path in numbered("distillation.teacher", distillation["teacher"]).items():
        folder = Path(path)
        name = folder.parent.name if folder.name == MODEL else folder.name
        encoders.append(f"{name} (SHA-256 of its weights: `{manifest.files.get(f'{key}/{TENSORS}', 'not there')}`)")
    of_them = f"an encoder, {encoders[0]}" if len(encoders) == 1 else f"{len(encoders)} encoders (mean): {', '.join(encoders)}"
    over = "all steps" if distillation["over"] == "all" else "the optimal steps"
    temperature = distillation.get("temperature", 1)
    divided = "" if temperature == 1 else f", temperature {temperature:g}"
    return f" It learned besides from the distributions over {over} of {of_them}, weight {distillation['weight']:g}{divided}."


def _pretrained(manifest: Manifest) -> str:
    """Sentences on the pretrained encoder that vectors of subwords are from, and on that which reads the sentences first."""
    said = ""
    for group, key, what in (
        ("vectors", "subwords", "Its vectors of subwords are from"),
        ("encoder", "pretrained", "What it reads is read first by"),
    ):
        if (folder := manifest.settings.get(group, {}).get(key)) is not None:
            digest = manifest.files.get(f"{group}.{key}/{WEIGHTS}", "in several files")
            said += f" {what} {Path(folder).name} (SHA-256 of its weights: `{digest}`)."
    return said


def _licence(path: Path) -> str:
    """The first line of the licence beside the file; Universal Dependencies have a LICENSE.txt in each treebank's folder."""
    for name in ("LICENSE.txt", "LICENSE", "LICENSE.md"):
        beside = path.parent / name
        if beside.is_file():
            lines = beside.read_text(encoding="utf-8", errors="replace").splitlines()
            return next((line.strip().replace("|", "/") for line in lines if line.strip()), "not stated")
    return "not stated beside the file"
