"""Sentences that epochs change: which ones, what changes, and that killed runs draw the same."""

import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from parser import transitions
from parser.data.changed_text import is_final_mark, other_quotes, without_final_mark
from parser.data.parts.characters import Characters
from parser.data.treebank import Sentence, Treebank
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary
from parser.settings.groups import CHANGES, TrainingTrees
from parser.training.examples import augmentation
from parser.training.examples.augmentation import Augmentation
from parser.training.examples.corpus import Corpus
from parser.training.examples.examples import TrainingSentences, batched_computations
from parser.training.passes.classifier_passes import TrainedClassifier
from parser.training.run import train
from tests.random_trees import random_projective_tree
from tests.toy import sentence, write_conllu
from tests.training.small_runs import GLOBAL, TEXT, check_resumes, run

ALL = [
    "encoder.augment.capitals=0.2",
    "encoder.augment.lower=0.2",
    "encoder.augment.quotes=0.2",
    "encoder.augment.unfinished=0.5",
]


def finished_sentences(n: int):
    """Sentences that end with a mark, except each third, with capitals and quotes."""
    rng = random.Random(1)
    made: list[Sentence] = []
    while len(made) < n:
        heads = random_projective_tree(rng, rng.randint(2, 7))
        if heads.count(0) == 1:
            one = sentence([*heads, heads.index(0) + 1], rng)
            one.forms = [rng.choice(["Aa", "b", "don't", '"', "CC"]) for _ in one.forms]
            one.forms[-1] = "." if len(made) % 3 else "Aa"
            made.append(one)
    return made


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    return write_conllu(tmp_path_factory.mktemp("marks") / "marks.conllu", finished_sentences(24))


VOCABULARIES = Vocabularies(
    {"form": Vocabulary(["Aa", "AA", "aa", "b", "B", "don't", "don\u2019t", "."])},
    [Characters('"\u201c\u201dCc', 3)],
)


def corpus(sentences) -> Corpus:
    """As training_sentences() needs it."""
    made = object.__new__(Corpus)
    made.train, made.vocabularies = Treebank("marks", sentences), VOCABULARIES
    made.relations = Vocabulary([deprel for one in sentences for deprel in {*one.deprels}][:1])
    return made


def augmented(sentences, seed=(1,), **shares) -> tuple[TrainingSentences, Augmentation]:
    data = corpus(sentences).training_sentences(TrainingTrees.original, shares)
    return data, Augmentation(shares, data, sentences, VOCABULARIES, seed)


def test_marks_and_quotes():
    assert [
        is_final_mark(form)
        for form in (".", "...", "\u2026", "?!", "\u3002", "a.", '"', "'", "", "-", "@")
    ] == [True] * 5 + [False] * 6
    assert other_quotes(['"', "don't", '"', '""', "a"]) == [
        "\u201c",
        "don\u2019t",
        "\u201d",
        "\u201c\u201d",
        "a",
    ]
    # what has typographic ones gets those of ASCII
    assert other_quotes(["\u201c", "don\u2019t", '"']) == ['"', "don't", '"']


def test_a_sentence_loses_its_mark_only_if_a_tree_stays():
    one = sentence([2, 0, 2, 2])
    one.forms[-1] = "."
    short = without_final_mark(one)
    assert short is not None
    assert (short.forms, short.heads, short.deprels) == (
        one.forms[:-1],
        [2, 0, 2],
        one.deprels[:-1],
    )
    assert without_final_mark(replace(one, forms=["a", "b", "c", "d"])) is None
    assert without_final_mark(replace(one, heads=[2, 4, 4, 0])) is None  # it is the root
    assert without_final_mark(replace(one, heads=[2, 0, 4, 2])) is None  # it has a child
    assert without_final_mark(replace(one, heads=[2, 0, 2, -1])) is None  # its head is unknown
    assert without_final_mark(replace(sentence([0]), forms=["."])) is None


def test_each_change_of_the_settings_is_one():
    assert [*augmentation._CHANGES] == [*CHANGES]


def values_of(data: TrainingSentences, number: int) -> np.ndarray:
    return data.sentences.span(number, number + 1).values


@pytest.mark.parametrize(
    ("name", "change"), [("capitals", str.upper), ("lower", str.lower), ("quotes", None)]
)
def test_an_epoch_has_all_sentences_and_changed_copies_of_some(name, change):
    sentences = finished_sentences(40)
    data, drawn = augmented(sentences, **{name: 0.4})
    assert (len(data), data.n_copies, data.n_words) == (80, 40, sum(map(len, sentences)))
    taken = []
    for epoch in range(3):
        found = drawn.of(epoch)
        assert found.active[:40].all()
        copied = np.flatnonzero(found.active[40:])
        for number, one in enumerate(sentences):
            assert (values_of(found, number) == values_of(data, number)).all()
            assert data.trees[number] == data.trees[40 + number] == one.heads
            if number in copied:
                forms = (
                    other_quotes(one.forms)
                    if change is None
                    else [change(form) for form in one.forms]
                )
                other = VOCABULARIES.encode([replace(one, forms=forms)]).values
                assert (values_of(found, 40 + number) == other).all()
        assert found.trees is data.trees
        taken.append({*copied.tolist()})
    assert all(6 <= len(one) <= 28 for one in taken)
    assert len(set.union(*taken)) > max(map(len, taken))  # each epoch draws anew


def test_a_sentence_has_at_most_one_changed_copy():
    sentences = finished_sentences(40)
    _, drawn = augmented(sentences, capitals=0.5, lower=0.5)
    found = drawn.of(0)
    assert found.active.all()
    changed = [
        [[change(form) for form in one.forms] for one in sentences]
        for change in (str.upper, str.lower)
    ]
    encoded = [
        VOCABULARIES.encode(
            [replace(one, forms=own) for one, own in zip(sentences, forms, strict=True)]
        )
        for forms in changed
    ]
    capitals = [
        (values_of(found, 40 + n) == encoded[0].span(n, n + 1).values).all() for n in range(40)
    ]
    lower = [
        (values_of(found, 40 + n) == encoded[1].span(n, n + 1).values).all() for n in range(40)
    ]
    assert all(one or other for one, other in zip(capitals, lower, strict=True))
    assert 10 < sum(capitals) < 35


def test_copies_without_final_marks_have_examples_of_their_own():
    sentences = finished_sentences(30)
    data, drawn = augmented(sentences, unfinished=0.5)
    marked = [n for n, one in enumerate(sentences) if one.forms[-1] == "."]
    assert (len(data), data.n_copies, data.n_words) == (
        30 + len(marked),
        len(marked),
        sum(map(len, sentences)),
    )
    for copy, number in enumerate(marked, 30):
        assert data.trees[copy] == data.trees[number][:-1]
        assert (values_of(data, copy) == values_of(data, number)[:, :-1]).all()
    taken = []
    for epoch in range(4):
        found = drawn.of(epoch)
        assert found.active[:30].all()
        assert found.active.sum() == found.n_active
        assert (found.sentences.values == data.sentences.values).all()
        batches = batched_computations(found, transitions.create("arc_standard", 3))
        numbers = np.concatenate([batch.numbers for batch in batches])
        assert sorted(numbers.tolist()) == np.flatnonzero(found.active).tolist()
        taken.append(tuple(found.active.tolist()))
    assert len({*taken}) == 4
    assert 0.2 < np.mean([row[30:] for row in taken]) < 0.8


def test_projectivized_trees_are_those_of_each_copy():
    sentences = [sentence([3, 4, 0, 3, 3]), sentence([2, 0, 2])]
    for one in sentences:
        one.forms[-1] = "."
    own = corpus(sentences)
    own.projectivization = "nearest_ancestor"
    data = own.training_sentences(TrainingTrees.projectivized, {"lower": 0.1, "unfinished": 0.1})
    assert data.trees.projective.all()
    assert [data.trees[n] for n in (2, 3)] == [data.trees[n] for n in (0, 1)]
    assert [data.trees[n] for n in (4, 5)] == [data.trees[n][:-1] for n in (0, 1)]


def test_the_seed_and_the_epoch_decide():
    sentences = finished_sentences(30)
    shares = {"capitals": 0.2, "lower": 0.2, "quotes": 0.2, "unfinished": 0.3}
    one, other, third = (
        augmented(sentences, seed, **shares)[1] for seed in ((1, 2), (1, 2), (1, 3))
    )
    first = one.of(5)
    other.of(2)
    again = other.of(5)
    np.testing.assert_array_equal(first.sentences.values, again.sentences.values)
    np.testing.assert_array_equal(first.active, again.active)
    assert not np.array_equal(first.active, third.of(5).active)


@pytest.mark.parametrize(
    ("fixed", "changes"), [([], True), ([False], True), ([False, True], False)]
)
def test_vectors_of_parts_that_are_computed_once_are_of_sentences_as_they_are(fixed, changes):
    model = SimpleNamespace(
        vocabularies=SimpleNamespace(parts=[SimpleNamespace(fixed=one) for one in fixed])
    )
    for shares in ({"capitals": 0.1, "lower": 0.0}, {"capitals": 0.0}, {}):
        trained = TrainedClassifier(model, SimpleNamespace(augment=shares), None, None, None)
        assert trained.shares == (shares if changes and shares.get("capitals") else {})


@pytest.mark.parametrize(
    "more", [[], ["second_pass.explore_every=0"], [*GLOBAL, "beam.training.learning_rate=0.005"]]
)
def test_a_killed_run_is_resumed_to_the_same_end(treebank, tmp_path, more):
    check_resumes(run(treebank, *TEXT, *ALL, *more), tmp_path, 2)


def test_shares_of_zero_change_nothing(treebank, tmp_path, monkeypatch):
    zero = [one.partition("=")[0] + "=0" for one in ALL]

    def unused(*arguments):
        raise AssertionError("no epoch is drawn")

    plain = run(treebank, *TEXT, *zero)
    with monkeypatch.context() as patch:
        patch.setattr(Augmentation, "of", unused)
        train(plain, tmp_path / "plain")
    seen = []
    with monkeypatch.context() as patch:
        of = Augmentation.of
        patch.setattr(Augmentation, "of", lambda self, epoch: seen.append(epoch) or of(self, epoch))
        train(run(treebank, *TEXT, *ALL), tmp_path / "changed")
    assert seen == [0, 0, 1]  # one epoch of the first pass, two of the second
    tensors = [
        (tmp_path / name / "model" / "classifier.safetensors").read_bytes()
        for name in ("plain", "changed")
    ]
    assert tensors[0] != tensors[1]
