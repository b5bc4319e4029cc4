"""What uptraining.py and recombination.py have in common, where a parser with an encoder teaches one without: the table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.tables import NOT_RUN, Row, chosen, markdown, numbers, score

MLP, ENCODER = "mlp", "encoder"

# Percentages, all words, full relations, gold tags; ``words`` are those of the files that were trained on.
MEASURED = ("words", "las", "uas", "dev_las")


def measured(metrics: dict) -> dict[str, str]:
    """Of a run's metrics, words trained on, LAS and UAS on test, LAS on dev, as rows have them."""
    scores = (metrics["test"]["las"], metrics["test"]["uas"], metrics["dev"]["las"])
    words = str(metrics["train"]["words"])
    return dict(zip(MEASURED, [words, *(f"{score:.4f}" for score in scores)], strict=True))


def table(rows: list[Row], languages: Sequence[str], students: Sequence[str]) -> str:
    """Markdown: words, LAS / UAS on test, LAS on dev; and how much of the way from the plain parser to the encoder it is."""
    lines = []
    for language in languages:
        of_language = chosen(rows, treebank=language)
        for system in (MLP, ENCODER, *students):
            found = chosen(of_language, system=system)
            if not found:
                lines.append([language, system, NOT_RUN, "", "", "", ""])
                continue
            words = " and ".join(dict.fromkeys(f"{int(row['words']):,}" for row in found))
            ways = [_way(of_language, system, name) if system in students else "" for name in ("las", "dev_las")]
            lines.append([language, system, words, score(found, "las", "uas"), ways[0], score(found, "dev_las"), ways[1]])
    head = ["treebank", "parser", "words trained on", "LAS / UAS", "of the way", "LAS on dev", "of the way"]
    return markdown(head, lines)


def _way(rows: list[Row], system: str, name: str) -> str:
    """How much of the way from the plain parser to the encoder, in percent of the means."""
    found = [numbers(chosen(rows, system=one), name) for one in (MLP, ENCODER, system)]
    if not all(found):
        return ""
    plain, encoder, own = map(np.mean, found)
    return f"{100 * (own - plain) / (encoder - plain):.0f}"
