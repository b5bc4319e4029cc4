"""Text cut where it has no spaces for long, for a tokenizer that takes four times as long for twice as many letters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# Letters without a space between them that are tokenized at a time: 100,000 at once take UDPipe minutes. No word comes near,
# but text without spaces does.
LONGEST_RUN = 1000
_TOO_LONG = re.compile(rf"\S{{{LONGEST_RUN + 1},}}")
# The mark of an end, and the quotes and brackets that close after it.
_SENTENCE_END = re.compile("[.!?\u3002\uff01\uff1f]+[\"')\\]\u00bb\u2019\u201d\u300d\u300f\uff09]*")
_MOST_MARKS = 10  # accents and the like that stay with their letter


def pieces(text: str) -> Iterator[str]:
    """The text, cut within runs of letters that are too long.

    A piece ends after the end of a sentence if there is one in its second half, else where no accent follows if that can be.
    """
    start = 0
    for run in _TOO_LONG.finditer(text):
        while run.end() - (first := max(start, run.start())) > LONGEST_RUN:
            end = first + LONGEST_RUN
            ends = [found.end() for found in _SENTENCE_END.finditer(text, first + LONGEST_RUN // 2, end)]
            letters = (place for place in range(end, end - _MOST_MARKS, -1) if not unicodedata.combining(text[place]))
            cut = ends[-1] if ends else next(letters, end)
            yield text[start:cut]
            start = cut
    yield text[start:]
