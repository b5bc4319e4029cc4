"""The example sentence of a model's folder, to try the model with."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import category

from parser.conllu.checks import EMPTY, HEAD, LEMMA
from parser.data.treebank import Treebank, read_again
from parser.text.tokens import conllu_lines, text_of, tokens_of

# The length of an example sentence, in words.
_SHORT = range(4, 10)


def example_sentence(treebank: Treebank, paths: Sequence[str]) -> str | None:
    """Return the CoNLL-U of a short sentence without its tree, to try a model with;
    None if no sentence is short.

    It is the first short sentence that ends in punctuation, or the first short one if none does;
    its # text must fit forms and SpaceAfter=No.

    ``paths``: the files that the treebank was read from.
    """
    first_example = None
    for _, sentence in read_again(
        (sentence for sentence in treebank if len(sentence) in _SHORT), paths
    ):
        tokens = [*tokens_of(sentence)]
        text = text_of(tokens)
        comment = f"# text = {text}"
        if text and all(
            line.rstrip() == comment for line in sentence.lines if line.startswith("# text =")
        ):
            columns = [[*word[LEMMA:HEAD], *EMPTY * 3] for word in sentence.columns]
            example = "".join(f"{line}\n" for line in (comment, *conllu_lines(tokens, columns), ""))
            if category(text[-1])[0] == "P":
                return example
            first_example = first_example or example
    return first_example
