"""A tokenizer of UDPipe's that has learned a few sentences by heart."""

from pathlib import Path

from parser.text.tokens import Token, conllu_lines
from parser.text.udpipe import OPTIONS, train_tokenizer

TEXT = "A kutya ugat. Jön a lány!\n\nMa is jön.\n"
TINY = OPTIONS | {"epochs": 1, "batch_size": 20}
SENTENCES = [["A", "kutya", "ugat", "."], ["Jön", "a", "lány", "!"], ["Ma", "is", "jön", "."]]


def tiny_text() -> str:
    """What it learns from, in CoNLL-U."""
    text = ""
    for words in SENTENCES * 20:
        tokens = [Token(form, (form,), space_after=form != words[-2]) for form in words]
        text += "\n".join([*conllu_lines(tokens), "", ""])
    return text


def train_tiny_tokenizer(target: Path) -> None:
    """Trains it, in less than a second.

    Raises:
        UdpipeError: UDPipe is not installed.
    """
    learned = target.with_suffix(".conllu")
    learned.write_text(tiny_text())
    train_tokenizer([learned], None, target, TINY)
