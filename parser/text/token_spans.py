"""Where the tokens of a text stand in it."""

from __future__ import annotations

from collections.abc import Iterable

from parser.conllu.checks import BYTE_ORDER_MARK
from parser.text.tokens import Token, TokenizerError


def spans(text: str, sentences: Iterable[list[Token]]) -> list[list[tuple[int, int]]]:
    """Where the tokens of a text stand in it, each as (start, end); those of UDPipe's option ``ranges``.

    Nothing but what separates stands between two tokens, or in place of a space within one, and no token begins with it: so
    what is between the spaces of a form is where it comes next.

    Args:
        text: as tokenize() was given it.
        sentences: what tokenize() found.

    Raises:
        TokenizerError: they are of another text.
    """
    end = int(text.startswith(BYTE_ORDER_MARK))
    found: list[list[tuple[int, int]]] = []
    for tokens in sentences:
        found.append([])
        for token in tokens:
            starts = []
            for part in token.form.split(" "):
                if (start := text.find(part, end)) < 0:
                    raise TokenizerError(
                        f"{token.form!r} is not in the text after character {end:,}; give the text it comes from"
                    )
                starts.append(start)
                end = start + len(part)
            found[-1].append((starts[0], end))
    return found
