"""Adverbs and expressions of time."""

from __future__ import annotations

from . import lexicon
from .draw import Draw
from .morphology import features
from .noun_phrases import adjective, preposition
from .tree import Phrase, Token, word


def adverb(draw: Draw, forms: tuple[str, ...]) -> Phrase:
    """An adverb."""
    form = draw.word(forms)
    return word(form, form, "ADV", "RB")


def time(draw: Draw, head: Token, era: str) -> Phrase:
    """yesterday, quietly, on Monday, in the evening, last week; in the present: today, this week."""
    manner = head.lemma not in lexicon.STATIVE
    kind = draw.weighted((("when", 5), ("manner", 5 if manner else 0), ("weekday", 2), ("daytime", 2), ("span", 3)))
    if kind in ("when", "manner"):
        manners = lexicon.MANNER[:1] if head.lemma in lexicon.CALM else lexicon.MANNER
        return adverb(draw, lexicon.WHEN[era] if kind == "when" else manners).depend(head, "advmod")
    if kind == "weekday":
        day = draw.word(lexicon.WEEKDAYS)
        return preposition(draw, "on", word(day, day, "PROPN", "NNP", features(Number="Sing"))).depend(head, "obl")
    if kind == "daytime":
        form, _, noun = draw.word(lexicon.DAYTIMES).partition(":")
        phrase = word(noun, noun, "NOUN", "NN", features(Number="Sing"))
        if form != "at":
            article = word("the", "the", "DET", "DT", features(Definite="Def", PronType="Art"))
            phrase.after(article.depend(phrase.head, "det"))
        return preposition(draw, form, phrase).depend(head, "obl")
    noun = draw.word(lexicon.SPANS)
    phrase = word(noun, noun, "NOUN", "NN", features(Number="Sing"))
    if era == "past":
        phrase.after(adjective("last").depend(phrase.head, "amod"))
    elif noun == "night" or draw.chance(0.5):
        phrase.after(word("every", "every", "DET", "DT", features(PronType="Tot")).depend(phrase.head, "det"))
    else:
        phrase.after(word("this", "this", "DET", "DT", features(Number="Sing", PronType="Dem")).depend(phrase.head, "det"))
    return phrase.depend(head, "obl:tmod")
