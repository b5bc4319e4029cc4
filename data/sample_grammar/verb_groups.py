"""Verb groups: tense, aspect, modals, passive, negation, do-support, contraction."""

from __future__ import annotations

from dataclasses import dataclass

from .draw import Draw
from .lexicon import Verb
from .morphology import auxiliary, features, main_verb
from .tree import Phrase, Token, word

_N_T_STEMS = {"will": "wo", "can": "ca"}
_NO_N_T = ("am", "might", "be", "been", "being")
_CONTRACTED = {"will": "'ll", "is": "'s", "are": "'re", "am": "'m", "have": "'ve"}
MODALS = {"past": ("could", "would", "might"), "present": ("will", "can", "should", "might")}
COPULA = Verb("be", "was", "been")


@dataclass
class VerbGroup:
    """Auxiliaries (with the negation), not yet attached, each with its relation; and the main verb, None for a copula."""

    auxiliaries: list[tuple[Phrase, str]]
    verb: Phrase | None


def verb_group(
    draw: Draw,
    verb: Verb,
    subject: Phrase,
    *,
    tense: str,
    era: str,
    passive: bool = False,
    inverted: bool = False,
    negated: bool = False,
) -> VerbGroup:
    """The verb group that agrees with the subject.

    Args:
        verb: COPULA gives a group whose last auxiliary is the copula.
        tense: simple, modal, perfect, progressive; infinitive, imperative, gerund (no auxiliary but that of the passive).
        era: past or present.
        inverted: there must be an auxiliary to invert with the subject.
    """
    chain: list[tuple[str, str, str]] = []  # lemma, relation, the form of what follows
    if tense == "modal":
        modal = draw.weighted([(modal, 1 / (rank + 1)) for rank, modal in enumerate(MODALS[era])])
        chain.append((modal, "aux", "infinitive"))
    elif tense == "perfect":
        chain.append(("have", "aux", "participle"))
    elif tense == "progressive":
        chain.append(("be", "aux", "gerund"))
    if passive:
        chain.append(("be", "aux:pass", "passive"))
    if (inverted or negated) and not chain and verb is not COPULA:
        chain.append(("do", "aux", "infinitive"))
    form = tense if tense in ("infinitive", "imperative", "gerund") else era
    auxiliaries: list[tuple[Phrase, str]] = []
    for lemma, relation, following in chain:
        token = auxiliary(lemma, form, subject.number, subject.person)
        auxiliaries.append((Phrase([token], token), relation))
        form = following
    if verb is COPULA:
        token = auxiliary("be", form, subject.number, subject.person)
        auxiliaries.append((Phrase([token], token), "cop"))
        head = None
    else:
        token = main_verb(verb, form, subject.number, subject.person)
        head = Phrase([token], token)
    if negated:
        auxiliaries.insert(1, (_negation(draw, auxiliaries[0][0].head), "advmod"))
    return VerbGroup(auxiliaries, head)


def _negation(draw: Draw, after: Token) -> Phrase:
    """``not``, or ``n't`` fused with the auxiliary before it."""
    if after.form in _NO_N_T or draw.chance(0.35):
        return word("not", "not", "PART", "RB", features(Polarity="Neg"))
    after.form = _N_T_STEMS.get(after.form, after.form)
    negation = word("n't", "not", "PART", "RB", features(Polarity="Neg"))
    negation.head.fused = True
    return negation


def contract(draw: Draw, subject: Phrase, auxiliaries: list[Phrase]) -> None:
    """she's, we've, they'll: fuses the first auxiliary with a pronoun right before it."""
    if not auxiliaries or len(subject.tokens) != 1 or subject.head.upos != "PRON" or "Prs" not in subject.head.feats:
        return
    first = auxiliaries[0].head
    negated = len(auxiliaries) > 1 and auxiliaries[1].head.fused
    if first.form in _CONTRACTED and not negated and draw.chance(0.4):
        first.form = _CONTRACTED[first.form]
        first.fused = True
