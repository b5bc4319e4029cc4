"""Relative clauses: on the subject, the object, an oblique (stranded or pied-piped), with where; and participles."""

from __future__ import annotations

from . import lexicon
from .clauses import ClauseMaker
from .draw import Draw
from .morphology import features
from .noun_phrases import preposition
from .tree import Phrase, word

_LIVING = ("person", "animal")


def relative_pronoun(draw: Draw, noun_class: str, subject: bool, number: str) -> Phrase:
    """who, which or that; it agrees with the noun."""
    form = draw.weighted((("who" if noun_class == "person" else "which", 3), ("that", 2)))
    xpos = "WP" if form == "who" else "WDT"
    phrase = word(form, form, "PRON", xpos, features(PronType="Rel"))
    phrase.number = number
    return phrase


def relative_clause(maker: ClauseMaker, noun: Phrase, noun_class: str, depth: int) -> Phrase | None:
    """A relative clause of the noun, attached to it; None where the lexicon has none to offer."""
    draw = maker.draw
    takes_object = any(noun_class in verb.objects for verb in lexicon.TRANSITIVE)
    takes_oblique = any(noun_class in verb.objects for verb in lexicon.OBLIQUE)
    kind = draw.weighted(
        (
            ("subject", 6 if noun_class in _LIVING else 2 if takes_object else 0),
            ("object", 4 if takes_object else 0),
            ("oblique", 3 if takes_oblique else 0),
            ("participle", 2 if noun_class in _LIVING else 0),
            ("where", 2 if noun_class == "building" else 0),
        )
    )
    inner = depth + 1
    if kind == "subject" and (noun_class in _LIVING or takes_object):
        pronoun = relative_pronoun(draw, noun_class, True, noun.number)
        phrase = maker.clause(inner, subject=pronoun, subject_class=noun_class).phrase()
    elif kind == "object" and takes_object:
        made = maker.clause(inner, frame="transitive", gap=noun_class)
        if draw.chance(0.75):
            made.front.append(relative_pronoun(draw, noun_class, False, noun.number).depend(made.head, "obj"))
        phrase = made.phrase()
    elif kind == "oblique" and takes_oblique:
        phrase = _oblique(maker, noun_class, noun.number, inner)
    elif kind == "participle":
        phrase = maker.clause(inner, silent=True, subject_class=noun_class, tense="gerund", frame="transitive").phrase()
        return phrase.depend(noun.head, "acl")
    elif kind == "where":
        phrase = maker.clause(inner).phrase()
        where = word("where", "where", "ADV", "WRB", features(PronType="Rel"))
        phrase.after(where.depend(phrase.head, "advmod"))
    else:
        return None
    return phrase.depend(noun.head, "acl:relcl")


def _oblique(maker: ClauseMaker, noun_class: str, number: str, depth: int) -> Phrase:
    """which they talked about (non-projective) or about which they talked."""
    draw = maker.draw
    made = maker.clause(depth, frame="oblique", gap=noun_class)
    if draw.chance(0.3):
        form = "whom" if noun_class == "person" else "which"
        lemma, xpos = ("who", "WP") if form == "whom" else ("which", "WDT")
        pronoun = word(form, lemma, "PRON", xpos, features(PronType="Rel"))
        made.front.append(preposition(draw, made.stranded, pronoun).depend(made.head, "obl"))
    else:
        pronoun = relative_pronoun(draw, noun_class, False, number)
        made.front.append(pronoun.depend(made.head, "obl"))
        strand(made.after, made.stranded, pronoun)
    return made.phrase()


def strand(after: list[Phrase], form: str, pronoun: Phrase) -> None:
    """Leaves the preposition behind the verb while its pronoun stands in front."""
    after.insert(0, word(form, form, "ADP", "IN").depend(pronoun.head, "case"))
