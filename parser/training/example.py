"""The example sentence of a model's folder, to try the model with."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import category

from parser.conllu.checks import EMPTY, HEAD, LEMMA
from parser.data.treebank import Treebank, read_again
from parser.text.tokens import conllu_lines, text_of, tokens_of

# Its length in words.
_SHORT = range(4, 10)


def example_sentence(treebank: Treebank, paths: Sequence[str]) -> str | None:
    """Return the CoNLL-U of a short sentence without its tree, to try a model with; None if no sentence is short.

    It is the first short one that ends in punctuation, else the first, of those whose # text fits forms and SpaceAfter=No.

    Args:
        treebank: the training part.
        paths: the files that it was read from.
    """
    found = None
    for _, sentence in read_again((one for one in treebank if len(one) in _SHORT), paths):
        tokens = [*tokens_of(sentence)]
        text = text_of(tokens)
        comment = f"# text = {text}"
        if text and all(line.rstrip() == comment for line in sentence.lines if line.startswith("# text =")):
            columns = [[*word[LEMMA:HEAD], *EMPTY * 3] for word in sentence.columns]
            example = "".join(f"{line}\n" for line in (comment, *conllu_lines(tokens, columns), ""))
            if category(text[-1])[0] == "P":
                return example
            found = found or example
    return found
