"""Tags that fit given ones, against a plain reading of the rules;
and what an older model's folder says of them.
"""

import numpy as np
import pytest

from parser.data.lemmas import Lemmas, Seen
from parser.data.tag_sets import NEVER_SEEN, NOT_GIVEN, TagSets, numbers_of
from parser.data.tasks.lemmas import LemmaTask
from parser.data.tasks.tags import TagTask
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary, tag_vocabulary
from tests.toy import sentence

COLUMNS = ["upos", "xpos", "feats"]
SIZES = (3, 4, 3)


def tagged(*words: tuple[str, str, str]):
    made = sentence([0, *range(1, len(words))])
    made.upos, made.xpos, made.feats = (list(column) for column in zip(*words, strict=True))
    return made


def slowly(
    sets: list[tuple[int, ...]], scores: list[np.ndarray], given: tuple[int, ...]
) -> list[int]:
    """Return the tags of one word, from the scores of its columns."""
    predicted = [int(own.argmax()) for own in scores]
    found = [best if number < 0 else number for best, number in zip(predicted, given, strict=True)]
    for asked in (given, (given[0], NOT_GIVEN, NOT_GIVEN)):
        fitting = [
            one
            for one in sets
            if all(number in (NOT_GIVEN, value) for number, value in zip(asked, one, strict=True))
        ]
        if fitting and max(asked) >= 0:
            free = [c for c, number in enumerate(given) if number == NOT_GIVEN]
            occurring = [{one[c] for one in sets} for c in range(3)]
            if any(
                found[c] in occurring[c] and found[c] not in {one[c] for one in fitting}
                for c in free
            ):
                best = max(fitting, key=lambda one: sum(float(scores[c][one[c]]) for c in free))
                for c in free:
                    found[c] = best[c]
            break
    return found


@pytest.mark.parametrize("seed", range(20))
def test_given_tags_stay_and_others_fit_them(seed):
    rng = np.random.default_rng(seed)
    sets = [tuple(int(rng.integers(size)) for size in SIZES) for _ in range(rng.integers(1, 9))]
    tokens = 30
    scores = {
        c: rng.normal(size=(tokens, size)).astype(np.float32)
        for c, size in zip(COLUMNS, SIZES, strict=True)
    }
    given = {
        c: rng.integers(NEVER_SEEN, size, tokens, np.int32)
        for c, size in zip(COLUMNS, SIZES, strict=True)
    }
    before = {column: own.copy() for column, own in scores.items()}
    found = TagSets(COLUMNS, dict.fromkeys(sets)).settled(scores, given)
    np.testing.assert_equal(scores, before)
    for token in range(tokens):
        own = [scores[column][token] for column in COLUMNS]
        expected = slowly(sets, own, tuple(int(given[column][token]) for column in COLUMNS))
        assert [int(found[column][token].argmax()) for column in COLUMNS] == expected
        for column, best in zip(COLUMNS, own, strict=True):
            changed = (found[column][token] != best).any()
            if changed:  # the chosen value has all probability
                shares = np.exp(found[column][token] - found[column][token].max())
                assert shares.sum() == 1
            elif expected == [int(one.argmax()) for one in own]:
                np.testing.assert_array_equal(found[column][token], best)


def test_where_nothing_given_changes_anything_the_scores_are_the_same_object():
    sets = TagSets(["upos", "xpos"], [(0, 0), (1, 1)])
    scores = {
        "upos": np.array([[2, 1], [1, 2]], np.float32),
        "xpos": np.array([[2, 1], [1, 2]], np.float32),
    }
    for upos in ([NOT_GIVEN, NOT_GIVEN], [0, 1], [NEVER_SEEN, NOT_GIVEN]):
        assert sets.settled(scores, {"upos": np.array(upos, np.int32)}) is scores
    found = sets.settled(scores, {"upos": np.array([1, NOT_GIVEN], np.int32)})
    assert [own.argmax(axis=1).tolist() for own in found.values()] == [[1, 1], [1, 1]]
    np.testing.assert_array_equal(found["xpos"][1], scores["xpos"][1])


def test_the_sets_of_a_treebank_are_numbered_the_most_frequent_first():
    tags = {"upos": Vocabulary(["V", "N"]), "xpos": Vocabulary(["VB", "NN", "NNS"])}
    read = [
        tagged(("N", "NN", "_"), ("V", "VB", "_"), ("N", "NNS", "_")),
        tagged(("N", "NN", "a"), ("N", "?", "_")),
    ]
    sets = TagSets.of(read, tags)
    assert sets.described() == [[1, 1], [0, 0], [1, 2]]
    assert TagSets.read(sets.described(), tags).described() == sets.described()
    assert sets.extended(TagSets(["upos", "xpos"], [(0, 1), (0, 0)])).described() == [
        [1, 1],
        [0, 0],
        [1, 2],
        [0, 1],
    ]
    assert numbers_of(["N", "", "X"], tags["upos"]).tolist() == [1, NOT_GIVEN, NEVER_SEEN]


def older(forms: dict[tuple[str, str], int]) -> TagSets:
    """Of a folder whose lemmas name so many forms with each UPOS and FEATS."""
    seen: Seen = {
        tags: {f"{tags}{number}": "l" for number in range(times)} for tags, times in forms.items()
    }
    values = {
        column: [*dict.fromkeys(own)]
        for column, own in zip(("upos", "feats"), zip(*forms, strict=True), strict=True)
    }
    known = {column: tag_vocabulary(column, symbols) for column, symbols in values.items()}
    lemmas = Lemmas(["keep\t0\t\t0\t"], ["upos", "feats"], seen)
    return Vocabularies({}, tasks=[TagTask(known), LemmaTask(lemmas, known)]).tag_sets


@pytest.mark.parametrize(
    ("predicted", "times", "expected"),
    [
        ("VERB", 100, "Number=Sing"),  # predicted otherwise than given
        ("VERB", 1, "Number=Sing"),
        ("NOUN", 100, "Number=Sing"),  # many nouns should have it, and none has
        ("NOUN", 1, "Tense=Past"),
    ],
)
def test_an_older_folder_tells_from_its_lemmas_what_fits(predicted, times, expected):
    sets = older(
        {("NOUN", "Number=Sing"): 100, ("VERB", "Tense=Past"): times, ("NOUN", "Number=Plur"): 2}
    )
    feats = ["Number=Sing", "Tense=Past", "Number=Plur"]
    scores = {
        "upos": np.array([[1, 1 + (predicted == "VERB")]], np.float32),
        "feats": np.array([[1, 3, 0]], np.float32),
    }
    found = sets.settled(scores, {"upos": np.array([0], np.int32)})
    assert feats[int(found["feats"].argmax())] == expected
    assert not sets.complete


def test_in_an_older_folder_the_attributes_of_feats_count_and_what_it_does_not_name_fits():
    sets = older(
        {("AUX", "Number=Sing"): 3, ("VERB", "Number=Plur"): 100, ("VERB", "Tense=Past"): 100}
    )
    scores = {"upos": np.array([[0, 1]], np.float32), "feats": np.array([[0, 1, 0.5]], np.float32)}
    found = sets.settled(scores, {"upos": np.array([0], np.int32)})
    assert int(found["feats"].argmax()) == 1
    nothing = Vocabularies(
        {}, tasks=[TagTask({"upos": tag_vocabulary("upos", ["A", "B"])})]
    ).tag_sets
    assert (
        int(
            nothing.settled(
                {"upos": np.array([[1, 0]], np.float32)}, {"upos": np.array([1], np.int32)}
            )["upos"].argmax()
        )
        == 1
    )
