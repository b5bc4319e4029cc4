"""Which pieces of a tokenizer with a unigram model are kept: those of the writing systems of a
text, and of these the best.

A multilingual encoder has a quarter of a million pieces, of which one language needs a few
thousand. A form whose piece is not kept is segmented into smaller ones, by the tokenizer's own
scores. Tokenizers of other kinds keep all pieces: in WordPiece and BPE, pieces depend on one
another.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

# The first character of each piece that begins a word.
_BEGINNING = "\u2581"


def kept_pieces(
    model: Mapping[str, Any],
    text: str,
    needed: Collection[int] = (),
    most: int | None = None,
    always: Collection[int] = (),
) -> np.ndarray | None:
    """Return int64[kept], in order, the places of the pieces that are kept; None: all, because this
    is not a unigram model.

    Args:
        model: the model in the description of a tokenizer,
            in the JSON of the package ``tokenizers``.
        text: the characters of the text; pieces with letters of other scripts are left out.
        needed: the places of the pieces that the text is segmented into.
        most: how many pieces are kept: single characters, those ``needed``, then those with the
            highest scores. None: all of the text's scripts.
        always: places that are kept in any case, such as those of special tokens.
    """
    if model.get("type") != "Unigram":
        return None
    vocabulary = model["vocab"]
    scripts = {script_of(character) for character in text if character.isalpha()}
    first = {*always, model["unk_id"]}
    kept = [
        place
        for place, (piece, _) in enumerate(vocabulary)
        if place in first
        or all(script_of(character) in scripts for character in piece if character.isalpha())
    ]
    if most is not None and len(kept) > most:
        of_text, first = (
            {*needed},
            {place for place in kept if len(vocabulary[place][0].lstrip(_BEGINNING)) <= 1} | first,
        )
        kept.sort(
            key=lambda place: (
                place not in first,
                place not in of_text,
                -vocabulary[place][1],
                place,
            )
        )
        kept = sorted(kept[:most])
    return np.array(kept, np.int64)


def keep(description: dict[str, Any], kept: np.ndarray) -> dict[str, Any]:
    """Return the description of a tokenizer with only some pieces;
    its special tokens keep their texts.

    Args:
        kept: int64[kept], from kept_pieces(). If it lacks a special token that stands around a
            text, none of these tokens is renumbered.
    """
    model, moved = description["model"], {int(place): number for number, place in enumerate(kept)}
    vocabulary = [model["vocab"][place] for place in kept]
    changed = description | {
        "model": model | {"vocab": vocabulary, "unk_id": moved[model["unk_id"]]}
    }
    added = description.get("added_tokens") or []
    changed["added_tokens"] = [
        token | {"id": moved[token["id"]]} for token in added if token["id"] in moved
    ]
    around = description.get("post_processor") or {}
    special = around.get("special_tokens") or {}
    if special and all(place in moved for token in special.values() for place in token["ids"]):
        moved_tokens = {
            name: token | {"ids": [moved[place] for place in token["ids"]]}
            for name, token in special.items()
        }
        changed["post_processor"] = around | {"special_tokens": moved_tokens}
    return changed


def script_of(letter: str) -> str:
    """Return the first word of a letter's name, such as LATIN."""
    return unicodedata.name(letter, "").partition(" ")[0]
