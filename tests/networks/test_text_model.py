"""Parts of the encoder: characters, tags, lemmas and heads against plain loops; windows and threads
of pretrained encoders.
"""

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from parser.data.lemma_rules import rule_elements
from parser.data.lemmas import affixes
from parser.data.parts.characters import Characters
from parser.data.parts.pretrained import PretrainedError, PretrainedTokenizer
from parser.data.vocabulary import N_RESERVED, SetVocabulary, tag_vocabulary
from parser.decoding.search import parse
from parser.inference.windows import windows
from parser.network_spec import CharacterSpec, HeadSpec, LemmaSpec, TaggerSpec
from parser.networks.bilstm import BiLSTM
from parser.networks.layers import Grid
from parser.networks.parts import CharacterEncoder
from parser.networks.pretrained import one_thread
from parser.networks.tasks import HeadScorer, LemmaScorer, Tagger
from tests.forgery import small_model
from tests.networks.head_loops import loss_by_loops
from tests.random_models import random_text_model
from tests.random_trees import random_tree
from tests.toy import sentence


def test_forms_have_the_vectors_that_a_plain_lstm_gives_each_of_them():
    torch.manual_seed(0)
    encoder = CharacterEncoder(CharacterSpec(4, 3, 6), 9)
    characters = Characters(["a", "b", "c"], 6)
    forms = ["abc", "a", "abc", "cccccccc", "ba"]
    encoded = torch.from_numpy(characters.encode_forms([forms]).T.copy())
    found = encoder(encoded)
    for row, vector in zip(encoded, found, strict=True):
        read = encoder.vectors[row[row != 0].long()]
        (forwards, _), (backwards, _) = encoder.forwards(read), encoder.backwards(read.flip(0))
        torch.testing.assert_close(vector, torch.cat([forwards[-1], backwards[-1]]))
    assert torch.equal(found[1], found[3])


def test_expected_vectors_are_sums_over_the_values():
    torch.manual_seed(0)
    values = {
        "upos": tag_vocabulary("upos", ["X", "Y"]),
        "feats": tag_vocabulary("feats", ["_", "A=b", "A=b|C=d"]),
    }
    tagger = Tagger(TaggerSpec(1, 3, 0.0), 5, values)
    tokens = torch.randn(4, 5)
    scores = tagger.read(tokens)
    assert {column: list(of_column.shape) for column, of_column in scores.items()} == {
        "upos": [4, 2],
        "feats": [4, 3],
    }
    parts = []
    for column, of_column in scores.items():
        table = tagger.inputs[column]
        vectors = list(table.whole)
        # elements are numbered by how often values have them: A=b, then _ and C=d by name
        if column == "feats":
            elements = dict(zip(["A=b", "C=d", "_"], table.elements[N_RESERVED:], strict=True))
            sets = [["_"], ["A=b"], ["A=b", "C=d"]]
            vectors = [
                whole + sum(elements[e] for e in found)
                for whole, found in zip(vectors, sets, strict=True)
            ]
        distribution = of_column.softmax(1)
        parts.append(sum(distribution[:, i : i + 1] * vector for i, vector in enumerate(vectors)))
    torch.testing.assert_close(tagger.expected(scores), torch.cat(parts, dim=1))


def test_rules_are_scored_by_the_sums_of_the_vectors_of_their_parts():
    torch.manual_seed(0)
    # Of the casings keep is there most often, of what happens at the front nothing;
    # the other parts are once there.
    rules = SetVocabulary(["keep\t0\t\t0\t", "keep\t0\t\t1\ta", "lower\t1\tb\t2\ta"], rule_elements)
    tags = {
        "upos": tag_vocabulary("upos", ["X", "Y"]),
        "feats": tag_vocabulary("feats", ["_", "A=b", "A=b|C=d"]),
    }
    scorer = LemmaScorer(LemmaSpec(4, 7, 0.5, 2), tags, rules)
    assert not any(parameter.any() for parameter in scorer.parameters())
    scorer.initialize()
    with torch.no_grad():
        scorer.bias.normal_()
    names = ["0\t\t", "keep", "\t0\t", "\t1\ta", "\t2\ta", "1\tb\t", "lower"]
    parts = dict(zip(names, scorer.outputs.elements[N_RESERVED:], strict=True))
    sets = [["keep", "0\t\t", "\t0\t"], ["keep", "0\t\t", "\t1\ta"], ["lower", "1\tb\t", "\t2\ta"]]
    sums = [sum(parts[element] for element in of_rule) for of_rule in sets]
    vectors = torch.stack(
        [whole + added for whole, added in zip(scorer.outputs.whole, sums, strict=True)]
    )
    forms, scores = ["Ab", "c", ""], {"upos": torch.randn(3, 2), "feats": torch.randn(3, 3)}
    rows = []
    for place, form in enumerate(forms):
        numbers = affixes([form], 7, 2)[0]
        of_tags = (
            of_task[place].softmax(0) @ scorer.inputs[task]() for task, of_task in scores.items()
        )
        rows.append(scorer.affixes[numbers].sum(dim=0) + sum(of_tags))
    hidden = torch.stack(rows)
    expected = torch.where(hidden > 0, hidden, 0.1 * hidden) @ vectors.t() + scorer.bias
    torch.testing.assert_close(scorer.scores(forms, scores), expected)
    assert not torch.equal(scorer.scores(forms, scores, dropping=True), expected)


@pytest.mark.parametrize("tag_size", [0, 2])
def test_tags_alone_are_those_of_the_whole_encoder_though_nothing_may_read_them(
    sentences, tag_size
):
    model = small_model("text", tag_size=tag_size)
    tokens = model.classifier.tokens
    assert isinstance(tokens, BiLSTM)
    encoded = model.vocabularies.encode(sentences)
    parse(model, sentences)
    found = tokens.tags_and_rules(encoded)[0]
    assert list(found) == ["upos", "feats"]
    with torch.no_grad():
        whole = tokens.encode(torch.from_numpy(encoded.values.T.copy()), np.diff(encoded.offsets))
    for column, values in found.items():
        np.testing.assert_array_equal(values, whole.tag_scores[column].argmax(1).numpy())


def test_characters_decide_about_unknown_forms(sentences):
    model = random_text_model()
    one, other = sentence([0, 1]), sentence([0, 1])
    one.forms, other.forms = ["xab", "y"], ["xba", "y"]
    vectors = [
        model.classifier.tokens.vectors_of(model.vocabularies.encode([s]))["token"]
        for s in (one, other)
    ]
    assert not torch.equal(*vectors)


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(5, 20))
def test_windows_cover_each_word_once_and_none_is_too_long(sizes, room):
    found = windows(np.array(sizes, np.int64), room)
    assert [word for window in found for word in range(window.kept, window.end)] == [
        *range(len(sizes))
    ]
    for window in found:
        assert window.first <= window.kept <= window.end <= window.last
        assert sum(sizes[window.first : window.last]) <= room
    if sum(sizes) <= room:
        assert len(found) == 1


def test_words_far_from_the_ends_of_a_sentence_are_far_from_those_of_their_window():
    for window in windows(np.ones(100, np.int64), 20)[1:-1]:
        assert window.kept - window.first >= 4
        assert window.last - window.end >= 4


def test_each_thread_has_its_number_of_threads_back():
    begun, both, left = Event(), Event(), Event()

    def first() -> int:
        torch.set_num_threads(2)
        with one_thread(torch.device("cpu")):
            begun.set()
            both.wait()
        after = torch.get_num_threads()
        left.set()
        return after

    def second() -> tuple[int, int]:
        begun.wait()
        with one_thread(torch.device("cpu")):
            both.set()
            left.wait()
            within = torch.get_num_threads()
        return within, torch.get_num_threads()

    before = torch.get_num_threads()
    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(one) for one in (first, second)]
    torch.set_num_threads(before)
    assert [one.result() for one in found] == [2, (1, 2)]


def test_without_the_packages_it_is_said_how_to_install_them(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(
        PretrainedError,
        match=r"pip install transformers tokenizers torch, or pip install '\.\[pretrained\]'",
    ):
        PretrainedTokenizer.files(str(tmp_path))


WIDTH, RELATIONS = 5, 4


@pytest.mark.parametrize("unknown", [0.0, 0.3, 1.0])
def test_the_loss_is_that_of_plain_loops(unknown):
    rng = random.Random(1)
    torch.manual_seed(1)
    scorer = HeadScorer(HeadSpec(6, 3, 0.5), WIDTH, RELATIONS)
    nn.init.normal_(scorer.arc_bias)
    heads = [[-1, *random_tree(rng, n)] for n in (3, 1, 7, 2)]
    relations = [
        [-1] + [-2 if rng.random() < unknown else rng.randrange(RELATIONS) for _ in some[1:]]
        for some in heads
    ]
    sentences = [torch.randn(len(some), WIDTH) for some in heads]
    grid = Grid.of(np.array([len(some) for some in heads]), torch.device("cpu"))
    flat = [
        np.array([number for some in numbers for number in some]) for numbers in (heads, relations)
    ]
    found = scorer.loss(torch.cat(sentences), grid, *flat, dropping=False)
    assert found.item() == pytest.approx(
        loss_by_loops(scorer, sentences, heads, relations), rel=1e-5
    )
    # with dropout
    assert scorer.loss(torch.cat(sentences), grid, *flat).item() != pytest.approx(
        found.item(), rel=1e-3
    )


def test_what_is_dropped_is_dropped_all_through_a_sentence():
    torch.manual_seed(0)
    scorer = HeadScorer(HeadSpec(6, 3, 0.5), WIDTH, RELATIONS)
    dropped = scorer._dropped(torch.ones(4, 3, 8), dropping=True)
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert torch.equal(dropped, dropped[:1].expand(4, 3, 8))
    assert not torch.equal(dropped[:, 0], dropped[:, 1])
