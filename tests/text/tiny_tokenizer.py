"""A small tokenizer of ours, that has learned a made-up language: trained once in a process,
in about a second.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from random import Random

from parser.model_folder import TOKENIZER
from parser.text.character_tokenizer import CharacterTokenizer
from parser.text.tokens import Paragraph, Token
from parser.training.text.tokenizer import train_tokenizer

TEXT = "A kutya ugat. Jön a lány!\n\nMa is jön.\n"
SENTENCES = [["A", "kutya", "ugat", "."], ["Jön", "a", "lány", "!"], ["Ma", "is", "jön", "."]]
_WORDS = [
    "a",
    "b",
    "c",
    "éa",
    "kutya",
    "ugat",
    "lány",
    "is",
    "jön",
    "szép",
    "ház",
    "du",
    "du",
    "1",
    "20",
    "3.1",
]
# What is written together with the word before it, and ends a sentence.
_ENDS = [".", ".", ".", "!", "?"]


def tiny_treebank() -> list[Paragraph]:
    """Return what it learns from: words at blanks and marks;
    ``du`` is a multiword token of ``de le``; .!? end sentences.
    """
    rng = Random(0)
    made = []
    for _ in range(150):
        paragraph = []
        for _ in range(rng.randint(1, 4)):
            forms = rng.choices(_WORDS, k=rng.randint(1, 7))
            if rng.random() < 0.6:
                forms[0] = forms[0].capitalize()
            if len(forms) > 3:
                forms.insert(2, rng.choice([",", ","]))
            forms.append(rng.choice(_ENDS))
            after = [then not in (",", *_ENDS) for then in forms[1:]] + [True]
            paragraph.append(
                [Token(form, _words(form), space) for form, space in zip(forms, after, strict=True)]
            )
        made.append(paragraph)
    for words in SENTENCES * 10:
        made.append([[Token(form, (form,), form != words[-2]) for form in words]])
    return made


def _words(form: str) -> tuple[str, ...]:
    return {"du": ("de", "le"), "Du": ("De", "le")}.get(form, (form,))


@cache
def tiny_tokenizer() -> CharacterTokenizer:
    """Train it."""
    return train_tokenizer(tiny_treebank(), None, 1)


def save_tiny_tokenizer(folder: Path) -> Path:
    """Save it into a folder, and return its file."""
    folder.mkdir(exist_ok=True)
    tiny_tokenizer().save(folder)
    return folder / TOKENIZER


_UNESCAPED = {"s": " ", "t": "\t", "r": "\r", "n": "\n", "p": "|", "\\": "\\"}


def rebuilt(conllu: str) -> tuple[str, list[tuple[str, tuple[int, ...]]]]:
    """Return the text that CoNLL-U comes from, and its tokens as they stand in it,
    with their TokenRange.
    """
    text, tokens, last = "", [], 0
    for line in conllu.split("\n"):
        number, *columns = line.split("\t")
        if not number[:1].isdigit():
            last = 0
        elif int(number.partition("-")[0]) > last:
            last = int(number.partition("-")[2] or 0)
            fields = dict(field.split("=", 1) for field in columns[8].split("|") if field != "_")
            named = {name: value for name, value in fields.items() if name.startswith("Spaces")}
            spaces = {
                name: re.sub(r"\\(.)", lambda found: _UNESCAPED[found[1]], value)
                for name, value in named.items()
            }
            written = spaces.get("SpacesInToken", columns[0])
            text += spaces.get("SpacesBefore", "") + written
            text += spaces.get("SpacesAfter", " " if "SpaceAfter" not in fields else "")
            tokens.append((written, tuple(map(int, fields["TokenRange"].split(":")))))
    return text, tokens
