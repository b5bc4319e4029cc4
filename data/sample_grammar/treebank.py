"""The three parts of the sample treebank, as text."""

from __future__ import annotations

from . import tree
from .draw import Draw
from .sentences import sentence

PARTS = {"train": 1200, "dev": 150, "test": 150}
SHORTEST, LONGEST = 3, 35
LONG = 15  # of the longer sentences two in three are left out: they are rare in easy texts, too
SEED = 2019


def file_name(part: str) -> str:
    """As UD names its files."""
    return f"sample-ud-{part}.conllu"


def _repeats(tokens: list[tree.Token]) -> bool:
    """The same noun or name twice: people would not say it so."""
    nouns = [token.lemma for token in tokens if token.upos in ("NOUN", "PROPN")]
    return len(set(nouns)) < len(nouns)


def make_parts(seed: int = SEED) -> dict[str, str]:
    """The CoNLL-U text of each part; the same seed gives the same bytes.

    A sentence that has occurred before, in any part, is drawn again, so that the test part tests generalization.
    """
    seen: set[str] = set()
    parts = {}
    for number, (part, size) in enumerate(PARTS.items()):
        draw = Draw(seed + number, held_out=part != "train")
        blocks: list[str] = []
        while len(blocks) < size:
            tokens = sentence(draw)
            printed = tree.text(tokens)
            if len(tokens) > LONG and draw.chance(2 / 3):
                continue
            if not SHORTEST <= len(tokens) <= LONGEST or printed in seen or _repeats(tokens):
                continue
            seen.add(printed)
            blocks.append(tree.conllu(tokens, f"{part}-{len(blocks) + 1:04d}"))
        parts[part] = "".join(blocks)
    return parts
