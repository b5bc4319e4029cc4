"""Whole sentences: statements, questions, requests, reported and quoted speech, with their punctuation."""

from __future__ import annotations

from collections.abc import Callable

from . import lexicon
from .adverbials import adverb, time
from .clauses import Clause, ClauseMaker
from .draw import Draw
from .morphology import features
from .noun_phrases import common_noun, mend_article, name, noun_phrase, place, you
from .relative_clauses import relative_clause, strand
from .tree import Phrase, Token, punctuation, word

EXTRAPOSE = 0.3


def sentence(draw: Draw) -> list[Token]:
    """A sentence: its tokens, with their heads."""
    maker = ClauseMaker(draw, relative_clause, "past" if draw.chance(0.65) else "present")
    kinds: tuple[tuple[Callable[[ClauseMaker], Phrase], float], ...] = (
        (_statement, 72),
        (_question, 11),
        (_long_question, 3),
        (_topic, 2),
        (_request, 4),
        (_existential, 4),
        (_quotation, 5),
    )
    phrase = mend_article(draw.weighted(kinds)(maker))
    first = next(token for token in phrase.tokens if token.upos != "PUNCT")
    first.form = first.form[0].upper() + first.form[1:]
    return phrase.tokens


def _statement(maker: ClauseMaker) -> Phrase:
    return _finish(_body(maker), ".")


def _body(maker: ClauseMaker) -> Phrase:
    """A main clause with what may come before and after it."""
    draw = maker.draw
    made = maker.clause(0, extrapose=EXTRAPOSE)
    if len(made.after) < 2 and draw.chance(0.25):
        made.front.extend(_fronted(maker, made.head))
    if made.late:
        pass  # what has been moved to the end stays there
    elif made.frame not in ("copular", "passive") and not made.auxiliaries and draw.chance(0.15):
        made.late.append(_second_verb(maker, made))
    elif made.verb.lemma in lexicon.PURPOSEFUL and draw.chance(0.3):
        made.late.append(maker.infinitive(1, intransitive=0).depend(made.head, "advcl"))  # purpose
    elif draw.chance(0.1):
        made.late.append(_subordinate(maker).depend(made.head, "advcl"))
    phrase = made.phrase()
    if draw.chance(0.08):
        other = maker.clause(1).phrase()
        form = draw.weighted((("and", 5), ("but", 4), ("so", 1)))
        other.after(word(form, form, "CCONJ", "CC").depend(other.head, "cc"))
        other.after(punctuation(",", other.head))
        phrase.before(other.depend(phrase.head, "conj"))
    return phrase


def _fronted(maker: ClauseMaker, head: Token) -> list[Phrase]:
    """An adverb, place, time or clause in front, with its comma."""
    draw = maker.draw
    kind = draw.weighted((("adverb", 3), ("place", 2), ("time", 2), ("clause", 3)))
    if kind == "adverb":
        phrase = adverb(draw, lexicon.FRONTING).depend(head, "advmod")
    elif kind == "place":
        phrase = place(draw).depend(head, "obl")
    elif kind == "time":
        phrase = time(draw, head, maker.era)
    else:
        phrase = _subordinate(maker).depend(head, "advcl")
    if kind == "clause" or draw.chance(0.5):
        phrase.before(punctuation(",", phrase.head))
    return [phrase]


def _subordinate(maker: ClauseMaker) -> Phrase:
    """when she arrived ..."""
    phrase = maker.clause(1).phrase()
    form = maker.draw.word(lexicon.SUBORDINATORS)
    if form == "when":
        return phrase.after(word(form, form, "ADV", "WRB", features(PronType="Int")).depend(phrase.head, "advmod"))
    return phrase.after(word(form, form, "SCONJ", "IN").depend(phrase.head, "mark"))


def _second_verb(maker: ClauseMaker, first: Clause) -> Phrase:
    """... and watched the stars: a second verb phrase with the same subject."""
    person = first.subject_class == "person"
    frame = maker.draw.weighted((("transitive", 4), ("intransitive", 2), ("particle", 1 if person else 0), ("oblique", 1)))
    phrase = maker.clause(
        1, silent=True, subject_class=first.subject_class, agree=first.subject, tense="simple", frame=frame
    ).phrase()
    phrase.after(word("and", "and", "CCONJ", "CC").depend(phrase.head, "cc"))
    return phrase.depend(first.head, "conj")


def _wh(draw: Draw, noun_class: str) -> Phrase:
    """who, what or which + noun."""
    if draw.chance(0.35):
        noun = common_noun(draw, noun_class, 0, 2, determined=False)
        return noun.after(word("which", "which", "DET", "WDT", features(PronType="Int")).depend(noun.head, "det"))
    form = "who" if noun_class == "person" else "what"
    return word(form, form, "PRON", "WP", features(PronType="Int"))


def _question(maker: ClauseMaker) -> Phrase:
    """Yes or no; who did it; what, where, to whom (stranded: what did they talk about?)."""
    draw = maker.draw
    kind = draw.weighted((("polar", 3), ("subject", 2), ("object", 3), ("adverb", 3), ("oblique", 3)))
    if kind == "subject":
        frame = draw.weighted((("transitive", 4), ("ditransitive", 2), ("oblique", 2), ("intransitive", 1), ("particle", 1)))
        made = maker.clause(0, subject=_wh(draw, "person"), subject_class="person", frame=frame)
        return _finish(made.phrase(), "?")
    if kind in ("object", "oblique"):
        frame = "transitive" if kind == "object" else "oblique"
        verbs = lexicon.TRANSITIVE if kind == "object" else lexicon.OBLIQUE
        asked = draw.uniform(draw.verb(verbs).objects)
        made = maker.clause(0, frame=frame, gap=asked, inverted=True)
        filler = _wh(draw, asked).depend(made.head, "obj" if kind == "object" else "obl")
        made.front.append(filler)
        if kind == "oblique":
            strand(made.after, made.stranded, filler)
        return _finish(made.phrase(inverted=True), "?")
    made = maker.clause(0, inverted=True)
    if kind == "adverb":
        form = draw.weighted((("where", 2), ("when", 3), ("why", 3), ("how", 2)))
        made.front.append(word(form, form, "ADV", "WRB", features(PronType="Int")).depend(made.head, "advmod"))
    return _finish(made.phrase(inverted=True), "?")


def _embedded_gap(maker: ClauseMaker, filler: Callable[[str], Phrase], inverted: bool) -> Phrase:
    """What do you think the baker bought: the filler belongs to the embedded verb and stands before the outer one."""
    draw = maker.draw
    asked = draw.uniform(draw.verb(lexicon.TRANSITIVE).objects)
    inner = maker.clause(1, frame="transitive", gap=asked)
    verb = draw.verb(lexicon.SAYING[:3])
    subject = noun_phrase(draw, "person", 2, subject=True, coordination=0, definite=0.7)
    if inverted and subject.person == 1:
        subject = you()
    outer = maker.clause_of(verb, subject, inverted)
    outer.front.append(filler(asked).depend(inner.head, "obj"))
    outer.after.append(inner.phrase().depend(outer.head, "ccomp"))
    return outer.phrase(inverted)


def _long_question(maker: ClauseMaker) -> Phrase:
    return _finish(_embedded_gap(maker, lambda asked: _wh(maker.draw, asked), True), "?")


def _topic(maker: ClauseMaker) -> Phrase:
    """This letter I think Anna has read."""
    return _finish(_embedded_gap(maker, lambda asked: _demonstrated(maker.draw, asked), False), ".")


def _demonstrated(draw: Draw, noun_class: str) -> Phrase:
    noun = common_noun(draw, noun_class, 0, 2, determined=False)
    form, lemma = draw.uniform(
        (("these", "this"), ("those", "that")) if noun.number == "Plur" else (("this", "this"), ("that", "that"))
    )
    feats = features(Number=noun.number, PronType="Dem")
    return noun.after(word(form, lemma, "DET", "DT", feats).depend(noun.head, "det"))


def _request(maker: ClauseMaker) -> Phrase:
    """(Please) give the basket to Anna(, Tom)."""
    draw = maker.draw
    frame = draw.weighted((("transitive", 3), ("ditransitive", 3), ("particle", 3), ("oblique", 1)))
    made = maker.clause(0, silent=True, tense="imperative", frame=frame)
    if draw.chance(0.5):
        made.front.append(word("please", "please", "INTJ", "UH").depend(made.head, "discourse"))
    elif draw.chance(0.5):
        vocative = name(draw)
        made.late.append(vocative.after(punctuation(",", vocative.head)).depend(made.head, "vocative"))
    return _finish(made.phrase(), "!" if draw.chance(0.2) else ".")


def _existential(maker: ClauseMaker) -> Phrase:
    """There was a boat near the bridge (that she had painted: extraposed from the noun)."""
    draw = maker.draw
    noun_class = draw.uniform(("animal", "artifact", "building", "person", "container", "event"))
    noun = noun_phrase(draw, noun_class, 1, definite=0, coordination=0, plain=True)
    plural = noun.number == "Plur"
    if maker.era == "past":
        form, xpos, tense = "were" if plural else "was", "VBD", "Past"
    else:
        form, xpos, tense = "are" if plural else "is", "VBP" if plural else "VBZ", "Pres"
    verb = word(form, "be", "VERB", xpos, features(Mood="Ind", Tense=tense, VerbForm="Fin"))
    there = word("there", "there", "PRON", "EX").depend(verb.head, "expl")
    where = place(draw).depend(verb.head, "obl")
    verb.after(there).before(noun.depend(verb.head, "nsubj"), where)
    if draw.chance(EXTRAPOSE) and len(noun.tokens) < 4:
        clause = relative_clause(maker, noun, noun_class, 1)
        if clause:
            verb.before(clause)
    return _finish(verb, ".")


def _quotation(maker: ClauseMaker) -> Phrase:
    """Anna's own words, said Anna: the quotation is the complement of the verb of saying."""
    draw = maker.draw
    quoted = maker.clause(1).phrase()
    opening = word('"', '"', "PUNCT", "``").depend(quoted.head, "punct")
    closing = word('"', '"', "PUNCT", "''").depend(quoted.head, "punct")
    closing.head.joined = True
    quoted.tokens[0].joined = True
    quoted.after(opening).before(punctuation(",", quoted.head), closing)
    form, lemma = draw.weighted(((("said", "say"), 3), (("answered", "answer"), 1)))
    said = word(form, lemma, "VERB", "VBD", features(Mood="Ind", Tense="Past", VerbForm="Fin"))
    speaker = noun_phrase(draw, "person", 2, definite=0.9, coordination=0, plain=True) if draw.chance(0.7) else name(draw)
    said.before(speaker.depend(said.head, "nsubj"))
    return _finish(said.after(quoted.depend(said.head, "ccomp")), ".")


def _finish(phrase: Phrase, mark: str) -> Phrase:
    return phrase.before(punctuation(mark, phrase.head))
