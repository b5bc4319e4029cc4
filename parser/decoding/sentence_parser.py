"""What everything that parses encoded sentences looks like from outside."""

from __future__ import annotations

from typing import Protocol

from parser.data.parses import Parses
from parser.data.sentences import Sentences
from parser.decoding.k_best import Tree


class SentenceParser(Protocol):
    """Parses encoded sentences; the trees are the same for any number of threads.

    A tree depends only on its sentence. (On another device than the CPU, the last digits of scores depend on the sentences that
    an encoder reads together.)
    """

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parses sentences into valid UD trees, or, without ``single_root``, into any trees."""
        ...


class KBestParser(SentenceParser, Protocol):
    """Can also say which trees come next."""

    def k_best(self, sentences: Sentences, k: int, *, single_root: bool = True) -> list[list[Tree]]:
        """For each sentence, the k best distinct trees that were found, or as many as there are, best first.

        Raises:
            BeamError: there cannot be that many.
        """
        ...
