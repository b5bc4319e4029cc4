"""Comparatives with their standard: a larger boat than mine."""

from __future__ import annotations

from . import lexicon
from .draw import Draw
from .morphology import features
from .noun_phrases import adjective, name, preposition
from .tree import Phrase, word

_COMPARED = ("artifact", "furniture", "container", "building", "pastry", "text")


def compare(draw: Draw, phrase: Phrase, noun_class: str) -> None:
    """a larger boat than mine: the standard depends on the adjective, across the noun, so the tree is non-projective."""
    if noun_class not in _COMPARED or phrase.head is not phrase.tokens[-1]:
        return
    if len(phrase.tokens) != 2 or phrase.tokens[0].lemma != "a" or not draw.chance(0.25):
        return
    form, _, lemma = draw.word(lexicon.COMPARATIVES).partition(":")
    comparative = adjective(form, lemma, "Cmp").depend(phrase.head, "amod")
    phrase.tokens.insert(1, comparative.head)
    phrase.before(preposition(draw, "than", _standard(draw)).depend(comparative.head, "obl"))


def _standard(draw: Draw) -> Phrase:
    """mine, Anna, the old one"""
    kind = draw.weighted((("own", 2), ("name", 2), ("one", 2)))
    if kind == "name":
        return name(draw)
    if kind == "own":
        form, lemma, person, number = draw.uniform(
            (("mine", "my", "1", "Sing"), ("hers", "her", "3", "Sing"), ("ours", "our", "1", "Plur"))
        )
        feats = features(Case="Gen", Number=number, Person=person, Poss="Yes", PronType="Prs")
        return word(form, lemma, "PRON", "PRP", feats)
    one = word("one", "one", "NOUN", "NN", features(Number="Sing"))
    one.after(adjective(draw.uniform(("old", "last", "first"))).depend(one.head, "amod"))
    return one.after(word("the", "the", "DET", "DT", features(Definite="Def", PronType="Art")).depend(one.head, "det"))
