"""Word forms: plurals, verb forms, features (universal ones, agreeing) and Penn tags."""

from __future__ import annotations

from .lexicon import Verb
from .tree import Token

_DOUBLED = {"swim": "swimm", "begin": "beginn", "put": "putt", "set": "sett", "nap": "napp"}

# Finite forms of the auxiliaries: present of I, you/we/they, she; past singular, past plural.
_FINITE = {
    "be": ("am", "are", "is", "was", "were"),
    "have": ("have", "have", "has", "had", "had"),
    "do": ("do", "do", "does", "did", "did"),
}
_NON_FINITE = {"be": ("be", "been", "being"), "have": ("have", "had", "having"), "do": ("do", "done", "doing")}
_MODALS = ("will", "can", "could", "would", "should", "might")


def features(**values: str) -> str:
    """The FEATS column: sorted without regard to case, ``_`` if there are none."""
    return "|".join(f"{name}={values[name]}" for name in sorted(values, key=str.lower)) or "_"


def noun_token(entry: str, plural: bool) -> Token:
    """A common noun from its lexicon entry (``word``, ``word/plural`` or ``word~``)."""
    singular, _, irregular = entry.rstrip("~").partition("/")
    form = (irregular or singular + "s") if plural else singular
    number = "Plur" if plural else "Sing"
    return Token(form, singular, "NOUN", "NNS" if plural else "NN", features(Number=number))


def _third_person(lemma: str) -> str:
    if lemma.endswith("y") and lemma[-2] not in "aeou":
        return lemma[:-1] + "ies"
    return lemma + ("es" if lemma.endswith(("s", "sh", "ch", "x")) else "s")


def gerund(lemma: str) -> str:
    """The form in -ing."""
    if lemma in _DOUBLED:
        return _DOUBLED[lemma] + "ing"
    return (lemma[:-1] if lemma.endswith("e") and not lemma.endswith("ee") else lemma) + "ing"


def main_verb(verb: Verb, form: str, number: str, person: int) -> Token:
    """A verb as ``past``, ``present``, ``infinitive``, ``participle`` (passive: ``passive``), ``gerund`` or ``imperative``."""
    lemma = verb.lemma.removeprefix("*")
    third = form == "present" and number == "Sing" and person == 3
    surface, xpos, feats = {
        "past": (verb.past, "VBD", features(Mood="Ind", Tense="Past", VerbForm="Fin")),
        "present": (lemma, "VBP", features(Mood="Ind", Tense="Pres", VerbForm="Fin")),
        "infinitive": (lemma, "VB", features(VerbForm="Inf")),
        "imperative": (lemma, "VB", features(Mood="Imp", VerbForm="Fin")),
        "participle": (verb.participle, "VBN", features(Tense="Past", VerbForm="Part")),
        "passive": (verb.participle, "VBN", features(Tense="Past", VerbForm="Part", Voice="Pass")),
        "gerund": (gerund(lemma), "VBG", features(Tense="Pres", VerbForm="Part")),
    }[form]
    if third:
        feats = features(Mood="Ind", Number="Sing", Person="3", Tense="Pres", VerbForm="Fin")
        surface, xpos = _third_person(lemma), "VBZ"
    return Token(surface, lemma, "VERB", xpos, feats)


def auxiliary(lemma: str, form: str, number: str, person: int) -> Token:
    """be, have, do or a modal in the same forms as main_verb."""
    if lemma in _MODALS:
        return Token(lemma, lemma, "AUX", "MD", features(Mood="Ind", VerbForm="Fin"))
    if form in ("past", "present"):
        singular = number == "Sing" and person != 2
        past = form == "past"
        column = (3 if singular else 4) if past else {1: 0, 3: 2}.get(person, 1) if singular else 1
        surface = _FINITE[lemma][column]
        values = {"Mood": "Ind", "Tense": "Past" if past else "Pres", "VerbForm": "Fin"}
        if (lemma == "be" and singular) or surface in ("has", "does"):
            values |= {"Number": "Sing", "Person": str(person)}
        xpos = "VBD" if past else "VBZ" if surface in ("is", "has", "does") else "VBP"
        return Token(surface, lemma, "AUX", xpos, features(**values))
    infinitive, participle, ing = _NON_FINITE[lemma]
    if form == "infinitive":
        return Token(infinitive, lemma, "AUX", "VB", features(VerbForm="Inf"))
    if form == "participle":
        return Token(participle, lemma, "AUX", "VBN", features(Tense="Past", VerbForm="Part"))
    return Token(ing, lemma, "AUX", "VBG", features(Tense="Pres", VerbForm="Part"))
