"""Tasks that are learned after the parser, without changing it: ``learn_task`` has a function for
each kind, so far only for lemmas.

Lemmas are learned from forms, and from the tags that the parser predicts.

The only context of a word that the network reads is the probabilities of its tags. For training
words, these are computed with dropout, so that they are as uncertain as for new words. Lemmas
learned from gold tags are worse. Lemmas of known words are looked up (data/lemmas.py), so a
frequent word counts only a few times. Every rule that leads to the right lemma is right.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from functools import singledispatch

import numpy as np
import torch
from torch import Tensor

from parser import batch_sizes
from parser.data.known_lemmas import LemmaOfUpos
from parser.data.lemmas import tokens_of
from parser.data.tasks.lemmas import LemmaTask
from parser.data.tasks.task import Task, numbers_of_columns
from parser.data.treebank import Sentence
from parser.data.vocabulary import N_RESERVED
from parser.model.trained_model import TrainedModel
from parser.networks.bilstm import BiLSTM
from parser.networks.tasks import LemmaScorer

# How often a form with the same tags and lemma counts at most (if only once, lemmas of hu's dev
# part are 0.3 points worse), and how often tags are predicted with dropout.
_TIMES, _DRAWS = 3, 2
_LEARNING_RATE = 0.004


@singledispatch
def learn_task(
    task: Task,
    model: TrainedModel,
    sentences: list[Sentence],
    epochs: int,
    seed: int,
    anew: bool = True,
) -> None:
    """Learn a task from training sentences; only the task's own weights change.

    Args:
        model: a model with this task.
        sentences: the sentences that the vocabularies are made from.
        epochs: how often to learn from each word.
        seed: the seed of the random numbers drawn here; torch's global generator is left as it was.
        anew: whether to start from new weights rather than from the model's.
    """
    raise TypeError(
        f"nothing learns {task.name}; register a function with "
        "parser.training.lemma_training.learn_task.register"
    )


@learn_task.register(LemmaTask)
@torch.random.fork_rng(devices=[])
def _(
    task: LemmaTask,
    model: TrainedModel,
    sentences: list[Sentence],
    epochs: int,
    seed: int,
    anew: bool = True,
) -> None:
    torch.manual_seed(seed)
    tokens, lemmas = model.classifier.tokens, task.lemmas
    assert isinstance(tokens, BiLSTM), "only an encoder predicts lemmas"
    scorer, device = tokens.tasks[LemmaTask.name], tokens.reserved.device
    assert isinstance(scorer, LemmaScorer), "the encoder predicts lemmas"
    encoded = model.vocabularies.encode(sentences)
    rules = lemmas.encode(sentences) - N_RESERVED
    forms = tokens_of(sentence.forms for sentence in sentences)
    places = _chosen(task, sentences, rules)
    # Of all words, the scores of thousands of values of XPOS and FEATS would take too much memory.
    tag_scores = [
        tokens.all_tag_scores(encoded, dropping=True, chosen=places) for _ in range(_DRAWS)
    ]
    outcomes = _Outcomes(task, sentences)

    if not len(places):
        return
    scorer.initialize(anew)
    dense = [parameter for parameter in scorer.parameters() if parameter is not scorer.affixes]
    optimizers = torch.optim.SparseAdam([scorer.affixes]), torch.optim.Adam(dense)
    size = batch_sizes.WORDS_PER_LEMMA_UPDATE
    steps = epochs * math.ceil(len(places) / size)
    for step in range(steps):
        number = step % (steps // epochs)
        if number == 0:
            order = torch.randperm(len(places)).numpy()
        rows = order[number * size : (number + 1) * size]
        batch = places[rows]
        draw = tag_scores[int(torch.randint(_DRAWS, ()))]
        tags = {task: all_tags[rows] for task, all_tags in draw.items()}
        scores = scorer.scores([forms[place] for place in batch.tolist()], tags, dropping=True)
        gained, wrong = (torch.from_numpy(array).to(device) for array in outcomes.of(batch, tags))
        # Several rules may lead to the right lemma.
        loss = (
            (scores + gained).logsumexp(1)
            - (scores + gained).masked_fill(wrong, -torch.inf).logsumexp(1)
        ).mean()
        for optimizer in optimizers:
            optimizer.param_groups[0]["lr"] = (
                _LEARNING_RATE * 0.5 * (1 + math.cos(math.pi * step / steps))
            )
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
    scorer.requires_grad_(False)


def _chosen(task: LemmaTask, sentences: list[Sentence], rules: np.ndarray) -> np.ndarray:
    """Return int64[m], the places of the words to learn from, among all tokens."""
    tags = numbers_of_columns(
        {name: [getattr(sentence, name) for sentence in sentences] for name in task.tags},
        task.tags,
    )
    words = tokens_of(sentence.forms for sentence in sentences)
    counts: Counter[tuple[str, ...]] = Counter()
    chosen = []
    for place in np.flatnonzero(rules >= 0).tolist():
        word = (words[place], *map(str, (rules[place], *(row[place] for row in tags))))
        counts[word] += 1
        if counts[word] <= _TIMES:
            chosen.append(place)
    return np.array(chosen, np.int64)


class _Outcomes:
    """The rules that are right for training words, and those that lead to known lemmas,
    as if the form were new.
    """

    def __init__(self, task: LemmaTask, sentences: list[Sentence]) -> None:
        self._lemmas = task.lemmas
        self._upos = task.tags["upos"].symbols if "upos" in task.tags else None
        columns = (
            tokens_of(getattr(sentence, column) for sentence in sentences)
            for column in ("forms", "lemmas")
        )
        self._words = [*zip(*columns, strict=True)]
        forms_of: dict[LemmaOfUpos, set[str]] = {}
        for sentence in sentences:
            for form, lemma, upos in zip(
                sentence.forms, sentence.lemmas, sentence.upos, strict=True
            ):
                for key in ("", upos):
                    forms_of.setdefault((lemma, key), set()).add(form)
        self._only: dict[str, set[LemmaOfUpos]] = {}
        for lemma_of_upos, forms in forms_of.items():
            if len(forms) == 1:
                self._only.setdefault(min(forms), set()).add(lemma_of_upos)
        self._known: dict[str, dict[str, list[int]]] = {}
        self._right: dict[tuple[str, str], list[int]] = {}

    def of(
        self, places: np.ndarray, tag_scores: Mapping[str, Tensor]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the bonus that the rules have in parsing, float32[m, rules], and which rules are
        wrong, bool[m, rules].

        Args:
            places: int64[m], the places of the words among all tokens.
            tag_scores: for each task, float32[m, values], the scores of the words' tags.
        """
        known_lemmas = self._lemmas.known
        gained = np.zeros((len(places), len(self._lemmas.rules.symbols)), np.float32)
        wrong = np.ones(gained.shape, np.bool_)
        upos = (
            [""] * len(places)
            if self._upos is None
            else [self._upos[i] for i in tag_scores["upos"].argmax(1).tolist()]
        )
        for row, place in enumerate(places.tolist()):
            word = form, gold = self._words[place]
            only = self._only.get(form, set())
            if word not in self._right:
                by_lemma = self._lemmas.rules_by_lemma(form, only)
                self._right[word] = by_lemma[known_lemmas.spelled(gold, only)]
                self._known[form] = {
                    lemma: numbers
                    for lemma, numbers in by_lemma.items()
                    if known_lemmas.gain(lemma, "", only)
                }
            for lemma, numbers in self._known[form].items():
                gained[row, numbers] = known_lemmas.gain(lemma, upos[row], only)
            wrong[row, self._right[word]] = False
        return gained, wrong
