"""New sentences of a treebank's."""

import random

from hypothesis import given
from hypothesis import strategies as st

from oracles import Trees
from parser.commands import recombine as command
from parser.data.recombination import recombine
from parser.data.treebank import Sentence, read_treebank
from tests.random_trees import random_mildly_nonprojective_tree
from tests.toy import sentence, write_conllu


def sentence_of(*words: tuple[str, str, int, str]) -> Sentence:
    """Of (form, UPOS, head, relation)."""
    forms, upos, heads, deprels = (list(column) for column in zip(*words, strict=True))
    empty = ["_"] * len(forms)
    return Sentence(forms, empty, upos, empty, empty, heads, deprels, "here")


OLD_DOGS_BARK = ("old", "ADJ", 2, "amod"), ("dogs", "NOUN", 3, "nsubj"), ("bark", "VERB", 0, "root")
DOGS = sentence_of(*OLD_DOGS_BARK)
LOUD_DOGS = sentence_of(*OLD_DOGS_BARK, *[("!", "PUNCT", 3, "punct")] * 2)
CATS = sentence_of(
    ("cats", "NOUN", 3, "nsubj:x"), ("often", "ADV", 3, "advmod"), ("see", "VERB", 0, "root"), ("mice", "NOUN", 3, "obj")
)


def test_subtrees_of_one_kind_take_each_others_place():
    """Old dogs are two of three words, and too many to be replaced in their own sentence."""
    found = {tuple(one.forms): one for one in recombine([DOGS, CATS], 200, 0.5, 1)}
    assert set(found) == {("old", "dogs", "bark"), ("cats", "often", "see", "mice")}
    found = {tuple(one.forms): one for one in recombine([LOUD_DOGS, CATS], 200, 0.5, 1)}
    assert set(found) == {
        ("old", "dogs", "bark", "!", "!"),
        ("cats", "bark", "!", "!"),
        ("cats", "often", "see", "mice"),
        ("old", "dogs", "often", "see", "mice"),
    }
    new = found["old", "dogs", "often", "see", "mice"]
    assert new.heads == [2, 4, 4, 0, 4]
    assert new.deprels == ["amod", "nsubj:x", "advmod", "root", "obj"]  # the relation is that of the place
    assert new.upos == ["ADJ", "NOUN", "ADV", "VERB", "NOUN"]
    assert found["cats", "bark", "!", "!"].heads == [2, 0, 2, 2]


@given(st.integers(0, 10_000), st.floats(0.1, 1.0))
def test_new_sentences_have_trees_and_edges_of_the_old_ones(seed, share):
    rng = random.Random(seed)
    old = [sentence(random_mildly_nonprojective_tree(rng, rng.randint(1, 9)), rng) for _ in range(6)]
    edges = {edge for one in old for edge in edges_of(one)}
    new = list(recombine(old, 3, share, seed))
    assert len(new) == 18
    Trees.from_heads([one.heads for one in new])  # refuses cycles
    for number, one in enumerate(new):
        source = old[number % 6]
        assert one.heads.count(0) == source.heads.count(0)
        assert len(one.forms) == len(one.upos) == len(one.feats) == len(one.deprels) == len(one)
        # Between words of one source, edges are as they were; to a top, relation and head are those of the place.
        assert {edge[2:] for edge in edges_of(one)} <= {edge[2:] for edge in edges}
        assert {edge[:2] for edge in edges_of(one)} <= {edge[:2] for edge in edges}
    assert [one.forms for one in new] == [one.forms for one in recombine(old, 3, share, seed)]


def edges_of(one: Sentence) -> list[tuple[str, str, str, str]]:
    return [
        (form, upos, deprel, one.forms[head - 1] if head else "")
        for form, upos, head, deprel in zip(one.forms, one.upos, one.heads, one.deprels, strict=True)
    ]


def test_the_command_writes_a_treebank(tmp_path, capsys):
    rng = random.Random(1)
    old = [sentence(random_mildly_nonprojective_tree(rng, rng.randint(2, 9)), rng) for _ in range(20)]
    train = write_conllu(tmp_path / "train.conllu", [one for one in old if one.heads.count(0) == 1])
    command.main([str(train), "-o", str(tmp_path / "new.conllu"), "--copies", "2", "--seed", "3"])
    new, known = read_treebank(tmp_path / "new.conllu"), read_treebank(train)
    assert len(new.sentences) == 2 * len(known.sentences)
    assert [one.forms for one in new] == [one.forms for one in recombine(known.sentences, 2, 0.5, 3)]
    assert f"{len(new.sentences)} new ones" in capsys.readouterr().err
