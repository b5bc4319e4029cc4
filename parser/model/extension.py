"""Transfers the weights of a model to one with larger vocabularies;
rows of new values keep their fresh weights.

A row of a table belongs to a value, an element of values, a relation or an output. Rows that both
models have are copied, even if their places differ; all other tensors are copied whole.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from parser.data.parts.part import Labels
from parser.data.tasks import TASKS
from parser.data.vocabulary import N_RESERVED, Vocabulary
from parser.inference.layouts import TOKENS
from parser.inference.weights import SlotLayout
from parser.model.model import NetworkModel
from parser.transitions.features import RELATION

if TYPE_CHECKING:
    from torch import Tensor

    from parser.model.trained_model import TrainedModel

_RESERVED = [*range(N_RESERVED)]


def difference(model: NetworkModel, other: NetworkModel) -> tuple[str, Any, Any] | None:
    """Return the first difference that prevents the transfer of weights;
    settings of training may differ.

    Args:
        model: the model with the weights.
        other: the model to train.

    Returns:
        A setting, and its values in ``model`` and ``other``; None: no difference.
    """
    ours, theirs = (
        _flat(asdict(one.spec))
        | {"system": one.system.name}
        | {f"the option {name} of the system": value for name, value in one.system.options.items()}
        | {"lattice.lookahead": one.lookahead, "slots": ", ".join(map(str, one.slots))}
        for one in (model, other)
    )
    # No weights are copied for a task that is learned after the parser and that only one of the
    # models has.
    both = model.vocabularies, other.vocabularies
    absent = [
        kind.name
        for kind in TASKS
        if not kind.in_passes and None in [known.task(kind) for known in both]
    ]
    for key in {**ours, **theirs}:
        if key.endswith("dropout") or key.startswith(tuple(f"encoder.{name}" for name in absent)):
            continue
        if ours.get(key) != theirs.get(key):
            return key, ours.get(key), theirs.get(key)
    return None


def _flat(spec: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the fields of a spec by the names of their settings."""
    found: dict[str, Any] = {}
    for name, value in spec.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict):
            found |= _flat(value, f"{key}.")
        else:
            found[key if "." in key or key == "encoder" else f"classifier.{key}"] = value
    return found


def transfer_weights(model: TrainedModel, old: TrainedModel) -> None:
    """Copy an old model's weights into a fresh model with larger vocabularies, if their
    ``difference()`` is None.
    """
    tensors, known = model.classifier.state_dict(), old.classifier.state_dict()
    labels, labels_before = _labels(model), _labels(old)
    for name, tensor in tensors.items():
        if name not in known:
            continue  # a task that is new to the model
        if name not in labels:
            tensor.copy_(known[name])
            continue
        _copy_rows(tensor, known[name], labels[name], labels_before[name])


def _copy_rows(tensor: Tensor, known: Tensor, labels: Labels, before: Labels) -> None:
    rows = {label: row for row, label in enumerate(labels)}
    kept = [(rows[label], row) for row, label in enumerate(before) if label in rows]
    if kept:
        here, there = zip(*kept, strict=True)
        tensor[list(here)] = known[list(there)].to(tensor.device)


def _labels(model: TrainedModel) -> dict[str, Labels]:
    """Return, by tensor, the label of each row,
    for tensors whose rows belong to entries of vocabularies.
    """
    vocabularies, relations = model.vocabularies, model.relations
    known: dict[str, Vocabulary] = {**vocabularies.by_attribute, RELATION: relations}
    embedded = model.spec.embeddings
    found: dict[str, Labels] = {
        f"{TOKENS}embeddings.vectors.{name}": one.vector_labels for name, one in known.items()
    }
    for part in vocabularies.parts:
        found |= {f"{TOKENS}{name}": labels for name, labels in part.labels().items()}
    sizes = (
        dict.fromkeys(embedded, 1)
        if model.spec.encoder is None
        else dict.fromkeys(["token", *embedded], 1)
    )
    layout = SlotLayout.of(
        model.slots, sizes, {name: len(values) for name, values in known.items()}
    )
    one_hot: list[Hashable] = [
        (column, value)
        for column in layout.one_hot_columns
        for value in (*_RESERVED, *known[model.slots[column].attribute].symbols)
    ]
    found["one_hot.weight"] = one_hot or [None]
    found["output.weight"] = found["output.bias"] = _output_labels(model)
    for task in vocabularies.tasks:
        found |= {f"{TOKENS}{task.name}.{name}": labels for name, labels in task.labels().items()}
    return found


def _output_labels(model: NetworkModel) -> Labels:
    sizes, symbols = model.system.block_sizes.tolist(), model.relations.symbols
    labels = [
        (block, None if size == 1 else symbols[number])
        for block, size in enumerate(sizes)
        for number in range(size)
    ]
    return labels if model.lookahead is None else [*labels, "choice"]
