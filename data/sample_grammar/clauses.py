"""Clauses: a verb with its frame, what it takes, adverbials, and what leaves its place.

A clause is kept as its fields (front, subject, auxiliaries, core, after, late) until all of them are known, because
questions invert the first auxiliary, extraction fills the front and extraposition fills the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from . import lexicon
from .adverbials import adverb, time
from .comparison import compare
from .draw import Draw
from .lexicon import Verb
from .noun_phrases import MAX_DEPTH, adjective, is_single_noun, noun_modifier, noun_phrase, place, preposition, role, you
from .tree import Phrase, Token, word
from .verb_groups import COPULA, contract, verb_group

_FRAMES: tuple[tuple[str, float], ...] = (
    ("transitive", 40), ("intransitive", 18), ("oblique", 10), ("ditransitive", 8), ("copular", 10), ("passive", 8),
    ("saying", 6), ("trying", 7), ("particle", 5),
)  # fmt: skip
_TENSES = (("simple", 62), ("modal", 12), ("perfect", 12), ("progressive", 14))
_SPECIAL_PLACES = {"swim": lexicon.SWIMMING_PLACES, "plant": lexicon.PLANTING_PLACES}
_VERBS = {
    "transitive": lexicon.TRANSITIVE,
    "passive": lexicon.TRANSITIVE,
    "intransitive": lexicon.INTRANSITIVE,
    "oblique": lexicon.OBLIQUE,
    "ditransitive": lexicon.DITRANSITIVE,
    "saying": lexicon.SAYING,
    "trying": lexicon.TRYING,
    "particle": lexicon.PARTICLE,
    "copular": (COPULA,),
}


@dataclass
class Clause:
    """The fields of a clause in their order; all phrases are attached already."""

    head: Token
    verb: Verb
    frame: str
    subject_class: str
    subject: Phrase | None
    auxiliaries: list[Phrase]
    core: Phrase
    front: list[Phrase] = field(default_factory=list)
    medial: list[Phrase] = field(default_factory=list)
    after: list[Phrase] = field(default_factory=list)
    late: list[Phrase] = field(default_factory=list)
    stranded: str = ""
    object: Phrase | None = None
    object_class: str = ""

    def phrase(self, inverted: bool = False) -> Phrase:
        """The clause in one piece."""
        whole = Phrase([], self.head)
        whole.before(*self.front)
        subject = [self.subject] if self.subject else []
        if inverted:
            whole.before(*self.auxiliaries[:1], *subject, *self.auxiliaries[1:])
        else:
            # n't belongs to the auxiliary before it, an adverb comes after both
            finite = 2 if len(self.auxiliaries) > 1 and self.auxiliaries[1].head.lemma == "not" else 1
            whole.before(*subject, *self.auxiliaries[:finite], *self.medial, *self.auxiliaries[finite:])
        return whole.before(self.core, *self.after, *self.late)


_LIVING_FRAMES = ("transitive", "intransitive", "copular", "passive", "oblique")
NounModifier = Callable[["ClauseMaker", Phrase, str, int], Phrase | None]


@dataclass(frozen=True)
class ClauseMaker:
    """Makes the clauses of a sentence.

    Attributes:
        relative: makes the relative clause of a noun (it is made of clauses in its turn).
        era: past or present, of the whole sentence: tenses and adverbs of time agree with it.
    """

    draw: Draw
    relative: NounModifier
    era: str

    def nominal(self, noun_class: str, depth: int, *, subject: bool = False, definite: float = 0.6) -> Phrase:
        """A noun phrase, some with a relative clause."""
        phrase = noun_phrase(self.draw, noun_class, depth, subject=subject, definite=definite)
        if depth < MAX_DEPTH and is_single_noun(phrase) and self.draw.chance(0.07 if subject else 0.09):
            clause = self.relative(self, phrase, noun_class, depth)
            if clause:
                phrase.before(clause)
        return phrase

    def clause(
        self,
        depth: int,
        *,
        subject: Phrase | None = None,
        subject_class: str = "",
        agree: Phrase | None = None,
        silent: bool = False,
        tense: str = "",
        frame: str = "",
        gap: str = "",
        inverted: bool = False,
        extrapose: float = 0.0,
    ) -> Clause:
        """A clause.

        Args:
            depth: how deep it is embedded.
            subject: the subject, if it is there already (a relative pronoun, wh-word), of ``subject_class``.
            agree: what the verb agrees with, if not with the subject.
            silent: no subject at all (infinitives, imperatives).
            gap: the class of the object that has been taken out, to be attached by the caller; in the frame ``oblique`` the
                object of the preposition.
            inverted: prepare for a question.
            extrapose: probability that a relative clause or modifier moves to the end where it can.
        """
        draw = self.draw
        if not frame:
            thing = subject_class not in ("", "person", "animal")
            frame = draw.weighted((("copular", 1), ("passive", 1))) if thing else self._frame(subject_class, depth)
        verb = self._verb(frame, subject_class, gap, active=silent and tense != "gerund")
        patient = subject_class
        if not subject_class:
            patient = draw.uniform(verb.objects) if frame == "passive" else "person"
            subject_class = "animal" if frame != "passive" and verb.animal and draw.chance(0.25) else patient
        moved: Phrase | None = None
        if subject is None and not silent:
            if (frame == "passive" or verb.lemma in lexicon.PRESENTING) and draw.chance(extrapose):
                subject, moved = self._split_subject(subject_class, depth)
            else:
                subject = self.nominal(subject_class, depth, subject=True, definite=0.75)
            if inverted and subject.person == 1:
                subject = you()
        agree = agree or subject or word("it", "it", "PRON", "PRP")
        tense = tense or draw.weighted(_TENSES)
        if frame == "copular" and tense in ("perfect", "progressive"):
            tense = "simple"
        if tense == "progressive" and (frame == "passive" or verb.lemma in lexicon.STATIVE):
            tense = "simple"
        finite = tense not in ("infinitive", "imperative", "gerund")
        negated = finite and not inverted and agree is subject and draw.chance(0.1)
        group = verb_group(
            draw,
            verb,
            agree,
            tense=tense,
            era=self.era,
            passive=frame == "passive",
            inverted=inverted,
            negated=negated,
        )
        core = group.verb or self._predicate(subject_class, agree, depth)
        auxiliaries = [phrase.depend(core.head, relation) for phrase, relation in group.auxiliaries]
        made = Clause(core.head, verb, frame, subject_class, subject, auxiliaries, core)
        if subject:
            subject.depend(core.head, "nsubj:pass" if frame == "passive" else "nsubj")
            if not inverted:
                contract(draw, subject, auxiliaries)
        if frame != "copular":
            self._complements(made, gap, depth, subject_class == "animal")
            self._adjuncts(made, depth, subject_class == "animal", tense)
            if finite and not inverted and not negated and draw.chance(0.08):
                made.medial.append(adverb(draw, lexicon.FREQUENCY).depend(core.head, "advmod"))
        if moved:
            made.late.append(moved)
        elif made.object and len(made.after) > 1 and draw.chance(extrapose) and is_single_noun(made.object):
            clause = self.relative(self, made.object, made.object_class, depth)
            if clause:
                made.late.append(clause)
        return made

    def clause_of(self, verb: Verb, subject: Phrase, inverted: bool) -> Clause:
        """The bare clause of a verb and its subject, to which the caller adds the complement."""
        group = verb_group(self.draw, verb, subject, tense="simple", era=self.era, inverted=inverted)
        assert group.verb is not None
        head = group.verb.head
        auxiliaries = [phrase.depend(head, relation) for phrase, relation in group.auxiliaries]
        return Clause(head, verb, "saying", "person", subject.depend(head, "nsubj"), auxiliaries, group.verb)

    def _frame(self, subject_class: str, depth: int) -> str:
        frames = _FRAMES
        if subject_class == "animal":
            frames = tuple(pair for pair in _FRAMES if pair[0] in _LIVING_FRAMES)
        elif depth >= MAX_DEPTH:
            frames = tuple(pair for pair in _FRAMES if pair[0] not in ("saying", "trying"))
        return self.draw.weighted(frames)

    def _verb(self, frame: str, subject_class: str, gap: str, active: bool) -> Verb:
        """A verb of the frame; ``active``: something that one can decide to do."""
        verbs = [
            verb
            for verb in _VERBS[frame]
            if (not gap or gap in verb.objects)
            and (subject_class != "animal" or verb.animal or frame in ("copular", "passive"))
            and (frame != "passive" or (subject_class in ("", *verb.objects) and verb.locative > 0.1))
            and not (active and verb.lemma in (*lexicon.STATIVE, *lexicon.PRESENTING))
        ]
        return self.draw.verb(verbs)

    def _split_subject(self, subject_class: str, depth: int) -> tuple[Phrase, Phrase | None]:
        """An indefinite subject and its relative clause or modifier, which will be put at the end of the clause."""
        subject = noun_phrase(self.draw, subject_class, depth, definite=0.2, modifiers=0, coordination=0, plain=True)
        if subject_class in ("text", "image") and self.draw.chance(0.6):
            modifier = noun_modifier(self.draw, subject_class, depth + 1)
            return subject, modifier and modifier.depend(subject.head, "nmod")
        return subject, self.relative(self, subject, subject_class, depth)

    def _predicate(self, subject_class: str, subject: Phrase, depth: int) -> Phrase:
        """What follows the copula: an adjective, a noun phrase, a place."""
        draw = self.draw
        kind = draw.weighted((("adjective", 5), ("noun", 3 if subject_class == "person" else 0), ("place", 2)))
        if kind == "place":
            return place(draw)
        if kind == "noun" and subject.number == "Sing":
            return role(draw)
        predicate = adjective(draw.word(lexicon.ADJECTIVES.get(subject_class, lexicon.OTHER_ADJECTIVES)))
        if draw.chance(0.35):
            form = draw.uniform(("very", "quite", "too", "rather"))
            predicate.after(word(form, form, "ADV", "RB").depend(predicate.head, "advmod"))
        return predicate

    def _complements(self, made: Clause, gap: str, depth: int, animal: bool) -> None:
        """What the frame asks for."""
        draw, verb, head = self.draw, made.verb, made.head
        if made.frame == "oblique":
            form = verb.slots[0][0]
            if gap:
                made.stranded = form
            else:
                noun = self.nominal(draw.uniform(verb.objects), depth + 1)
                made.after.append(preposition(draw, form, noun).depend(head, "obl"))
        elif made.frame == "passive":
            if draw.chance(0.35):
                agent = noun_phrase(draw, "person", depth + 1, plain=draw.chance(0.8))
                made.after.append(preposition(draw, "by", agent).depend(head, "obl"))
        elif made.frame == "saying":
            inner = self.clause(depth + 1, tense=draw.weighted((("simple", 5), ("modal", 2), ("perfect", 2)))).phrase()
            if draw.chance(0.65):
                inner.after(word("that", "that", "SCONJ", "IN").depend(inner.head, "mark"))
            made.after.append(inner.depend(head, "ccomp"))
        elif made.frame == "trying":
            made.after.append(self.infinitive(depth + 1).depend(head, "xcomp"))
        elif made.frame in ("transitive", "particle", "ditransitive"):
            self._objects(made, gap, depth, animal)

    def _objects(self, made: Clause, gap: str, depth: int, animal: bool) -> None:
        draw, verb, head = self.draw, made.verb, made.head
        dative = self.nominal("person", depth + 1) if made.frame == "ditransitive" else None
        double = dative is not None and draw.chance(0.6)
        if dative and double:
            made.after.append(dative.depend(head, "iobj"))
        if not gap:
            liked = [noun_class for noun_class in verb.objects if not animal or noun_class in lexicon.ANIMAL_OBJECTS]
            made.object_class = draw.uniform(liked)
            made.object = self.nominal(made.object_class, depth + 1, definite=0.5)
            compare(draw, made.object, made.object_class)
            made.after.append(made.object.depend(head, "obj"))
        if dative and not double:
            made.after.append(preposition(draw, "to", dative).depend(head, "obl"))
        if verb.particle:
            particle = word(verb.particle, verb.particle, "ADP", "RP").depend(head, "compound:prt")
            first = made.object is None or (draw.chance(0.4) and made.object.head.upos != "PRON")
            made.after.insert(0 if first else len(made.after), particle)

    def infinitive(self, depth: int, intransitive: float = 2) -> Phrase:
        """to + verb phrase."""
        frames = (("transitive", 5), ("intransitive", intransitive), ("oblique", 2), ("ditransitive", 1), ("particle", 1))
        frame = self.draw.weighted(frames)
        inner = self.clause(depth, silent=True, tense="infinitive", frame=frame).phrase()
        return inner.after(word("to", "to", "PART", "TO").depend(inner.head, "mark"))

    def _adjuncts(self, made: Clause, depth: int, animal: bool, tense: str) -> None:
        """Prepositional phrases that the verb likes, a place (the verb's or the object's), a time or manner."""
        draw, verb, head = self.draw, made.verb, made.head
        eager = 0.75 if depth == 0 else 0.3
        when = self.era if tense not in ("imperative", "infinitive", "gerund") else "present"
        if made.frame in ("saying", "trying"):
            if draw.chance(0.12):  # after the embedded clause, and yet the outer verb's
                made.after.append(time(draw, head, when))
            return
        if made.frame != "oblique" and not animal:  # no telescopes for cats
            for form, noun_class, probability in verb.slots:
                if draw.chance(probability * eager):
                    noun = noun_phrase(draw, noun_class, depth + 1, definite=0.5)
                    made.after.append(preposition(draw, form, noun).depend(head, "obl"))
        if not made.stranded and draw.chance(0.3 * eager):
            where = place(draw, _SPECIAL_PLACES.get(verb.lemma, lexicon.PLACES))
            last = made.object is not None and made.object is made.after[-1] and made.object.head.upos == "NOUN"
            if made.object and last and not draw.chance(verb.locative):
                made.object.before(where.depend(made.object.head, "nmod"))
            else:
                made.after.append(where.depend(head, "obl"))
        if draw.chance(0.26 * eager):
            made.after.append(time(draw, head, when))
