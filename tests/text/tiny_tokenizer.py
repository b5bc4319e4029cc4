"""A tokenizer of UDPipe's that has learned a few sentences by heart."""

from pathlib import Path

from parser.text.udpipe import OPTIONS, train_tokenizer

TEXT = "A kutya ugat. Jön a lány!\n\nMa is jön.\n"
TINY = OPTIONS | {"epochs": 1, "dimension": 16, "batch_size": 20}
SENTENCES = [["A", "kutya", "ugat", "."], ["Jön", "a", "lány", "!"], ["Ma", "is", "jön", "."]]


def train_tiny_tokenizer(target: Path) -> None:
    """Trains it, in less than a second.

    Raises:
        UdpipeError: UDPipe is not installed.
    """
    learned = target.with_suffix(".conllu")
    learned.write_text(_conllu())
    train_tokenizer([learned], None, target, TINY)


def _conllu() -> str:
    """Sentences in which words are separated by spaces, and the full stops are not."""
    lines = []
    for i in range(60):
        words = SENTENCES[i % 3]
        for number, form in enumerate(words, 1):
            misc = "SpaceAfter=No" if number == len(words) - 1 else "_"
            lines.append("\t".join([str(number), form, "_", "X", "_", "_", str(min(number - 1, 1)), "dep", "_", misc]))
        lines.append("")
    return "\n".join(lines) + "\n"
