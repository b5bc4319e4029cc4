"""Lemmas are learned after the parser, which they leave as it is, from forms and from the tags that the parser predicts.

What the network reads of a word's context are the probabilities of its tags. For training words these are computed with dropout
in force, so that they are as uncertain as those of new words: learned from gold tags, lemmas are worse. Of known words nothing
needs to be learned, which training settles (data/lemmas.py); so a word counts a few times at most, however frequent it is.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.lemmas import KNOWN_LEMMA, Lemmas
from parser.data.treebank import Sentence
from parser.data.vocabularies import N_RESERVED
from parser.model.model import Model
from parser.networks.bilstm import BiLSTM

# How often a form counts that has the same tags and the same lemma (once: 0.3 worse on hu's dev part), how often tags are
# predicted with dropout, and the words of a batch.
_TIMES, _DRAWS, _BATCH = 3, 2, 64
_LEARNING_RATE = 0.004


def learn_lemmas(model: Model, sentences: list[Sentence], epochs: int, seed: int, anew: bool = True) -> None:
    """Learns the lemmas of training sentences; changes nothing of the model but what scores rules for lemmas.

    Args:
        model: whose vocabularies have lemmas.
        sentences: those that the vocabularies are made of.
        epochs: how often to learn from each word.
        seed: of its random numbers; torch's global generator is left as it was.
        anew: whether to begin with fresh weights, not those that are there.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        _learn(model, sentences, epochs, anew)


def _learn(model: Model, sentences: list[Sentence], epochs: int, anew: bool) -> None:
    tokens, lemmas = model.classifier.tokens, model.vocabularies.lemmas
    assert isinstance(tokens, BiLSTM), "only an encoder predicts lemmas"
    scorer, device = tokens.lemmas, tokens.reserved.device
    assert scorer is not None, "it predicts lemmas"
    assert lemmas is not None, "there are some"
    encoded = model.vocabularies.encode(sentences)
    tag_scores = [tokens.all_tag_scores(encoded, dropping=True) for _ in range(_DRAWS)]
    rules = lemmas.encode(sentences) - N_RESERVED
    forms = [form for sentence in sentences for form in ("", *sentence.forms)]
    places = _chosen(model, sentences, rules)
    known = _known_lemmas(lemmas, sentences, {forms[place] for place in places.tolist()})

    if not len(places):
        return
    scorer.initialize(anew)
    dense = [parameter for parameter in scorer.parameters() if parameter is not scorer.affixes]
    optimizers = torch.optim.SparseAdam([scorer.affixes]), torch.optim.Adam(dense)
    steps = epochs * math.ceil(len(places) / _BATCH)
    for step in range(steps):
        number = step % (steps // epochs)
        if number == 0:
            order = torch.randperm(len(places)).numpy()
        batch = places[order[number * _BATCH : (number + 1) * _BATCH]]
        draw = tag_scores[int(torch.randint(_DRAWS, ()))]
        of_batch = [forms[place] for place in batch.tolist()]
        scores = scorer.scores(of_batch, {task: of_all[batch] for task, of_all in draw.items()}, dropping=True)
        gained = _gained(scores, [known[form] for form in of_batch])
        loss = nn.functional.cross_entropy(scores + gained, torch.from_numpy(rules[batch]).to(device, torch.int64))
        for optimizer in optimizers:
            optimizer.param_groups[0]["lr"] = _LEARNING_RATE * 0.5 * (1 + math.cos(math.pi * step / steps))
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
    scorer.requires_grad_(False)


def _chosen(model: Model, sentences: list[Sentence], rules: np.ndarray) -> np.ndarray:
    """int64[m], the places of the words that are learned from, among all tokens."""
    tags = model.vocabularies.encode_tags(sentences)
    words = [form for sentence in sentences for form in ("", *sentence.forms)]
    counts: Counter[tuple[str, ...]] = Counter()
    chosen = []
    for place in np.flatnonzero(rules >= 0).tolist():
        word = (words[place], *map(str, (rules[place], *tags[:, place])))
        counts[word] += 1
        if counts[word] <= _TIMES:
            chosen.append(place)
    return np.array(chosen, np.int64)


def _known_lemmas(lemmas: Lemmas, sentences: list[Sentence], forms: set[str]) -> dict[str, list[int]]:
    """By form, the rules that lead to a lemma that another form has in these sentences: as if this form were new."""
    forms_of: dict[str, set[str]] = {}
    for sentence in sentences:
        for form, lemma in zip(sentence.forms, sentence.lemmas, strict=True):
            forms_of.setdefault(lemma, set()).add(form)
    return {form: lemmas.rules_to_known(form, forms_of) for form in forms}


def _gained(scores: Tensor, known: list[list[int]]) -> Tensor:
    """float32[m, rules], what the scores of the rules that lead to known lemmas gain, as in parsing."""
    gained = np.zeros(scores.shape, np.float32)
    for row, numbers in zip(gained, known, strict=True):
        row[numbers] = KNOWN_LEMMA
    return torch.from_numpy(gained).to(scores.device)
