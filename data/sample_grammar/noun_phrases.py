"""Noun phrases: names, pronouns, determiners, adjectives, numerals, possessors, coordination and prepositional modifiers."""

from __future__ import annotations

from . import lexicon
from .draw import Draw
from .morphology import features, noun_token
from .tree import Phrase, punctuation, word

_PRONOUNS = (  # form, object form, possessive, person, number, gender; weight
    (("she", "her", "her", 3, "Sing", "Fem"), 6),
    (("he", "him", "his", 3, "Sing", "Masc"), 6),
    (("they", "them", "their", 3, "Plur", ""), 4),
    (("I", "me", "my", 1, "Sing", ""), 5),
    (("we", "us", "our", 1, "Plur", ""), 4),
    (("you", "you", "your", 2, "", ""), 2),
)
_DEMONSTRATIVES = {"Sing": ("this", "that"), "Plur": ("these", "those")}
_VOWEL_SOUND_EXCEPTIONS = ("useful",)
MAX_DEPTH = 2
_PARTS = ("limb", "part", "outfit", "sweet", "savoury")
_PLURALS = {"fruit": 0.65, "plant": 0.65, "outfit": 0.0, "optics": 0.1, "tool": 0.1, "spoon": 0.1, "pen": 0.1}
_NOT_OWNED = (*_PARTS, "nature", "person", "building", "road", "event")


def preposition(draw: Draw, form: str, noun: Phrase) -> Phrase:
    """Puts a preposition in front of a noun phrase."""
    return noun.after(word(form, form, "ADP", "IN").depend(noun.head, "case"))


def name(draw: Draw) -> Phrase:
    """A person's name."""
    form = draw.word(lexicon.NAMES)
    return word(form, form, "PROPN", "NNP", features(Number="Sing"))


def pronoun(draw: Draw, subject: bool) -> Phrase:
    """A personal pronoun in the nominative or the accusative."""
    form, object_form, _, person, number, gender = draw.weighted(_PRONOUNS)
    values = {"Case": "Nom" if subject else "Acc"} | _person_features(person, number, gender)
    phrase = word(form if subject else object_form, form, "PRON", "PRP", features(**values))
    phrase.number, phrase.person = number or "Plur", person
    return phrase


def _person_features(person: int, number: str, gender: str) -> dict[str, str]:
    values = {"Number": number, "Person": str(person), "PronType": "Prs", "Gender": gender}
    return {name: value for name, value in values.items() if value}


def you() -> Phrase:
    """The subject you."""
    phrase = word("you", "you", "PRON", "PRP", features(Case="Nom", Person="2", PronType="Prs"))
    phrase.number, phrase.person = "Plur", 2
    return phrase


def possessive(draw: Draw) -> Phrase:
    """my, her, their ..."""
    _, _, form, person, number, gender = draw.weighted(_PRONOUNS)
    values = {"Case": "Gen", "Poss": "Yes"} | _person_features(person, number, gender)
    return word(form, form, "PRON", "PRP$", features(**values))


def determiner(draw: Draw, number: str, definite: float, mass: bool = False) -> Phrase | None:
    """An article, a demonstrative or a quantifier; None where English has none."""
    if draw.chance(definite):
        if draw.chance(0.12):
            form = draw.uniform(_DEMONSTRATIVES["Sing" if mass else number])
            feats = features(Number="Sing" if mass else number, PronType="Dem")
            return word(form, {"these": "this", "those": "that"}.get(form, form), "DET", "DT", feats)
        return word("the", "the", "DET", "DT", features(Definite="Def", PronType="Art"))
    if number == "Plur" or mass:
        return word("some", "some", "DET", "DT", features(PronType="Ind")) if draw.chance(0.5) else None
    if definite > 0.7 and draw.chance(0.25):
        return word("every", "every", "DET", "DT", features(PronType="Tot"))
    return word("a", "a", "DET", "DT", features(Definite="Ind", PronType="Art"))


def mend_article(phrase: Phrase) -> Phrase:
    """Writes ``an`` for ``a`` before a vowel."""
    for token, following in zip(phrase.tokens, phrase.tokens[1:], strict=False):
        if token.lemma == "a" and token.upos == "DET":
            vowel = following.form[0].lower() in "aeiou" and following.form not in _VOWEL_SOUND_EXCEPTIONS
            token.form = "an" if vowel else "a"
    return phrase


def noun_phrase(
    draw: Draw,
    noun_class: str,
    depth: int = 0,
    *,
    subject: bool = False,
    definite: float = 0.6,
    modifiers: float = 0.18,
    coordination: float = 0.08,
    plain: bool = False,
) -> Phrase:
    """A noun phrase of the class.

    Args:
        depth: how deep it is embedded: the deeper, the simpler.
        subject: of a finite verb (the case of pronouns).
        definite: probability of a definite determiner.
        modifiers: probability of a prepositional modifier.
        coordination: probability that it is coordinated with one of its like.
        plain: a common noun in any case: no name, no pronoun.
    """
    if noun_class == "topic":
        noun_class = draw.uniform(lexicon.TOPICS)
    if noun_class == "town":
        town = draw.word(lexicon.TOWNS)
        return word(town, town, "PROPN", "NNP", features(Number="Sing"))
    if noun_class == "place":
        raise ValueError("a place comes with its preposition: use place()")
    if noun_class == "person" and not plain:
        kind = draw.weighted((("noun", 5), ("name", 2), ("pronoun", 4 if subject else 1)))
        if kind == "pronoun":
            return pronoun(draw, subject)
        if kind == "name":
            phrase = name(draw)
            return _coordinate(draw, phrase, name(draw)) if draw.chance(coordination) else phrase
    phrase = common_noun(draw, noun_class, definite, depth)
    if depth < MAX_DEPTH and draw.chance(modifiers):
        add_modifier(draw, phrase, noun_class, depth)
    if depth < MAX_DEPTH and draw.chance(coordination):
        alike = 1.0 if phrase.tokens[0].lemma == "the" else 0.0
        others = [common_noun(draw, noun_class, alike, MAX_DEPTH) for _ in range(2 if draw.chance(0.2) else 1)]
        phrase = _coordinate(draw, phrase, *others)
    return phrase


def common_noun(draw: Draw, noun_class: str, definite: float, depth: int, determined: bool = True) -> Phrase:
    """Determiner or possessor (if ``determined``), numeral, adjective and noun."""
    if noun_class == "topic":
        noun_class = draw.uniform(lexicon.TOPICS)
    entry = draw.word(lexicon.NOUNS[noun_class])
    mass = entry.endswith("~")
    plural = not mass and draw.chance(_PLURALS.get(noun_class, 0.22))
    noun = noun_token(entry, plural)
    phrase = Phrase([noun], noun, number="Plur" if plural else "Sing")
    adjectives = lexicon.ADJECTIVES.get(noun_class, lexicon.OTHER_ADJECTIVES)
    if draw.chance(0.2):
        phrase.after(adjective(draw.word(adjectives)).depend(noun, "amod"))
    if not determined:
        return phrase
    if plural and noun_class not in _PARTS and draw.chance(0.15):
        numeral = draw.word(lexicon.NUMERALS)
        phrase.after(word(numeral, numeral, "NUM", "CD", features(NumType="Card")).depend(noun, "nummod"))
        if not draw.chance(definite):
            return phrase
        definite = 1.0
    if noun_class not in _NOT_OWNED and draw.chance(0.06 if noun_class == "animal" else 0.2):
        return phrase.after(_possessor(draw, depth).depend(noun, "nmod:poss"))
    if noun_class in ("sweet", "savoury") and draw.chance(0.9):
        return phrase
    chosen = determiner(draw, phrase.number, definite, mass)
    return phrase.after(chosen.depend(noun, "det")) if chosen else phrase


def role(draw: Draw) -> Phrase:
    """a (kind) teacher: what somebody is"""
    noun = noun_token(draw.word(lexicon.NOUNS["person"]), plural=False)
    phrase = Phrase([noun], noun)
    if draw.chance(0.4):
        phrase.after(adjective(draw.word(lexicon.ADJECTIVES["person"])).depend(noun, "amod"))
    return phrase.after(word("a", "a", "DET", "DT", features(Definite="Ind", PronType="Art")).depend(noun, "det"))


def adjective(form: str, lemma: str = "", degree: str = "Pos") -> Phrase:
    """An adjective."""
    return word(form, lemma or form, "ADJ", "JJR" if degree == "Cmp" else "JJ", features(Degree=degree))


def _possessor(draw: Draw, depth: int) -> Phrase:
    if draw.chance(0.5):
        return possessive(draw)
    if draw.chance(0.6):
        owner = name(draw)
    else:
        noun = noun_token(draw.word(lexicon.NOUNS["person"]), plural=False)
        owner = Phrase([noun], noun)
        owner.after(word("the", "the", "DET", "DT", features(Definite="Def", PronType="Art")).depend(noun, "det"))
    clitic = word("'s", "'s", "PART", "POS").depend(owner.head, "case")
    clitic.head.fused = True
    return owner.before(clitic)


def add_modifier(draw: Draw, phrase: Phrase, noun_class: str, depth: int) -> None:
    """A prepositional modifier that the noun likes: the picture of ..., the house with ..."""
    modifier = noun_modifier(draw, noun_class, depth)
    if modifier:
        phrase.before(modifier.depend(phrase.head, "nmod"))


def noun_modifier(draw: Draw, noun_class: str, depth: int) -> Phrase | None:
    """The modifier alone, not yet attached."""
    options = lexicon.NOUN_MODIFIERS.get(noun_class)
    if not options:
        return None
    form, inner = draw.weighted([((form, inner), weight) for form, inner, weight in options])
    if inner == "place":
        return place(draw)
    if inner in ("fruit", "limb"):
        return preposition(draw, form, bare_plural(draw, inner))
    definite = 0.15 if inner in ("sweet", "savoury", "outfit", "part") else 0.5
    return preposition(draw, form, noun_phrase(draw, inner, depth + 1, definite=definite, modifiers=0.12))


def bare_plural(draw: Draw, noun_class: str) -> Phrase:
    """apples, ripe cherries"""
    noun = noun_token(draw.word(lexicon.NOUNS[noun_class]), plural=True)
    phrase = Phrase([noun], noun, number="Plur")
    if draw.chance(0.8 if noun_class == "limb" else 0.2):
        phrase.after(adjective(draw.word(lexicon.ADJECTIVES[noun_class])).depend(noun, "amod"))
    return phrase


def place(draw: Draw, options: tuple[str, ...] = lexicon.PLACES) -> Phrase:
    """in the garden, at the market ..."""
    form, _, noun = draw.word(options).partition(":")
    token = noun_token(noun, plural=False)
    phrase = Phrase([token], token)
    if draw.chance(0.12):
        phrase.after(adjective(draw.word(lexicon.ADJECTIVES["place"])).depend(token, "amod"))
    phrase.after(word("the", "the", "DET", "DT", features(Definite="Def", PronType="Art")).depend(token, "det"))
    return preposition(draw, form, phrase)


def _coordinate(draw: Draw, first: Phrase, *others: Phrase) -> Phrase:
    """a, b and c: all conjuncts below the first, the marks below the conjunct that follows; nothing where two are the same."""
    if len({phrase.head.lemma for phrase in (first, *others)}) <= len(others):
        return first
    for i, other in enumerate(others):
        if i < len(others) - 1:
            other.after(punctuation(",", other.head))
        else:
            form = "and" if draw.chance(0.85) else "or"
            other.after(word(form, form, "CCONJ", "CC").depend(other.head, "cc"))
        first.before(other.depend(first.head, "conj"))
    first.number, first.person = (others[-1].number if form == "or" else "Plur"), 3
    return first


def is_single_noun(phrase: Phrase) -> bool:
    """A common noun that is neither coordinated nor modified on its right by a clause or a standard of comparison."""
    if phrase.head.upos != "NOUN":
        return False
    return not any(token.deprel in ("conj", "acl", "acl:relcl") or token.form == "than" for token in phrase.tokens)
