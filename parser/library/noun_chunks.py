"""The noun chunks of trees of Universal Dependencies,
for ``doc.noun_chunks`` of spaCy (extra ``spacy``).

The iterators of spaCy's languages expect the relations that its own models predict. For some
languages, such as English and German, these are not those of UD, where a preposition is a child of
its noun and a predicate noun has the copula as its child.

A chunk here is the same in all languages: a noun, proper noun or pronoun with the words that belong
to it without a preposition or clause. To its left these are determiners, adjectives, numerals,
parts of compounds, and possessors (``nmod:poss``), with the words below them. To its right they are
the rest of a name (``flat``), and adjectives, numerals and determiners without nouns or clauses
below them. A chunk has no gap. Chunks do not overlap: of two, the longer one is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from spacy.errors import Errors
from spacy.symbols import NOUN, PRON, PROPN
from spacy.tokens import Doc, Span, Token

from oracles.errors import OptimalStepError
from parser.evaluation.evaluated_text import CONTENT_RELATIONS, FUNCTIONAL_RELATIONS

Chunks = Iterator[tuple[int, int, int]]
"""The first token of each chunk, the one after its last, and the number of its label."""

# The relations of UD; spaCy calls that of the root ROOT, and a token may have none yet.
_KNOWN = CONTENT_RELATIONS | FUNCTIONAL_RELATIONS | {"punct", "ROOT", ""}
_NOMINAL = NOUN, PROPN, PRON
# Words that belong to a noun on either side, without subtypes; and possessors, to its left.
_PARTS = {"amod", "clf", "compound", "det", "fixed", "flat", "goeswith", "nummod"}
_POSSESSOR = "nmod:poss"
# What may stand between two parts of a chunk,
# and what may be below a word to the right of the noun.
_BETWEEN = {"acl", "advmod", "nmod", "punct"}
_SIMPLE = _PARTS | {"advmod", "cc", "conj", "dep", "punct"}
# Nouns and pronouns with these relations have no chunk of their own; a compound has one where it
# stands apart from its noun.
_FUNCTIONS = {"advmod", "aux", "case", "cc", "cop", "discourse", "expl", "mark"}
_FUNCTIONS |= {"punct", "reparandum"}
_WITHOUT = _FUNCTIONS | _PARTS - {"compound"}
# The relations of nouns, for a doc without parts of speech.
_OF_NOUNS = {"appos", "dislocated", "iobj", "nmod", "nsubj", "obj", "obl", "vocative"}


def noun_chunks(doclike: Doc | Span, own: Callable[[Doc | Span], Chunks] | None = None) -> Chunks:
    """Yield the noun chunks of a doc or a span.

    Args:
        doclike: all of a doc, or a part of it.
        own: the iterator of its language, for docs with relations that are not of UD; None:
            there is none.

    Raises:
        OptimalStepError: the doc has no relations; spaCy's message says so.
    """
    doc = doclike.doc
    if not doc.has_annotation("DEP"):
        raise OptimalStepError(Errors.E029)
    if own is not None and not all(_relation(token) in _KNOWN for token in doc):
        yield from own(doclike)
        return
    tagged = doc.has_annotation("POS")
    label = doc.vocab.strings.add("NP")
    extents = [_extent(token) for token in doclike if _has_chunk(token, tagged)]
    taken: set[int] = set()
    kept = []
    for start, end in sorted(extents, key=lambda extent: extent[0] - extent[1]):
        if taken.isdisjoint(range(start, end)):
            taken.update(range(start, end))
            kept.append((start, end, label))
    yield from sorted(kept)


def _relation(token: Token) -> str:
    """Return the relation of a token without its subtype."""
    relation: str = token.dep_
    return relation.partition(":")[0]


def _has_chunk(token: Token, tagged: bool) -> bool:
    relation = _relation(token)
    return token.pos in _NOMINAL and relation not in _WITHOUT if tagged else relation in _OF_NOUNS


def _extent(noun: Token) -> tuple[int, int]:
    """Return the first token of a noun's chunk and the one after its last."""
    inside: set[int] = set()
    between: set[int] = set()
    for child in noun.lefts:
        if (relation := _relation(child)) in _PARTS or child.dep_ == _POSSESSOR:
            inside |= {token.i for token in child.subtree}
        elif relation in _BETWEEN:
            between |= {token.i for token in child.subtree}
    start = _reach(noun, inside, between, -1)
    inside = set()
    for child in noun.rights:
        below = list(child.subtree)
        if _relation(child) in _PARTS and all(_relation(token) in _SIMPLE for token in below):
            inside |= {token.i for token in below}
    return start, _reach(noun, inside, set(), 1) + 1


def _reach(noun: Token, inside: set[int], between: set[int], step: int) -> int:
    """Return the last token of a chunk in one direction; punctuation and spaces do not end it."""
    doc, last, place = noun.doc, noun.i, noun.i + step
    while 0 <= place < len(doc) and (place in inside or place in between or doc[place].is_space):
        if place in inside and not doc[place].is_punct and not doc[place].is_space:
            last = place
        place += step
    return last
