"""What everything that parses encoded sentences looks like from outside."""

from __future__ import annotations

from typing import Protocol

from parser.data.parses import Parses
from parser.data.vocabulary import Sentences


class SentenceParser(Protocol):
    """Parses encoded sentences. What it returns depends on each sentence alone, for any number of threads."""

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parses sentences into valid UD trees, or, without ``single_root``, into any trees."""
        ...
