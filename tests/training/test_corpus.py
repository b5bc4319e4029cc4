"""What vocabularies and word vectors are made of: all training sentences,
or those that the first pass learns from.
"""

import random

import numpy as np
import pytest

from oracles import Trees
from oracles.attardi.system import parseable
from parser.data.treebank import Sentence, TreebankError
from parser.settings import SettingsError
from parser.training.examples.corpus import Corpus
from tests import brute_force, random_trees
from tests.toy import sentence, write_conllu
from tests.training.small_runs import run_alone


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    """Sentences with projective and other trees; a form,
    a tag and a relation occur with the others alone.
    """
    rng = random.Random(5)
    trees = [
        random_trees.random_mildly_nonprojective_tree(rng, rng.randint(5, 9)) for _ in range(60)
    ]
    made = [sentence(tree, rng) for tree in trees if tree.count(0) == 1]
    for s in made:
        if not brute_force.is_projective(s.heads):
            s.forms[0], s.upos[0] = "elsewhere", "INTJ"
            s.deprels = [deprel if deprel == "root" else "dislocated" for deprel in s.deprels]
    return made


def corpus(path, *overrides: str) -> Corpus:
    return Corpus.new(run_alone(path, *overrides))


@pytest.mark.parametrize("recipe", ["paper", "accurate"])
@pytest.mark.parametrize("column", [1, 3])
def test_the_first_pass_alone_is_as_a_treebank_without_the_other_sentences(
    tmp_path, sentences, recipe, column
):
    projective = [s for s in sentences if brute_force.is_projective(s.heads)]
    whole, part = (
        write_conllu(tmp_path / "whole.conllu", sentences),
        write_conllu(tmp_path / "part.conllu", projective),
    )
    found = corpus(whole, f"recipe={recipe}", f"column={column}", "vocabulary_from=first_pass")
    expected = corpus(part, f"recipe={recipe}", f"column={column}")
    assert [s.forms for s in found.known] == [s.forms for s in projective]
    assert found.relations.symbols == expected.relations.symbols
    assert "dislocated" not in found.relations
    one, other = (
        {name: v.symbols for name, v in c.vocabularies.by_attribute.items()}
        for c in (found, expected)
    )
    assert one == other
    np.testing.assert_array_equal(found.vectors.matrix, expected.vectors.matrix)
    np.testing.assert_equal(found.value_counts(), expected.value_counts())


@pytest.mark.parametrize(
    "overrides", [("column=1",), ("column=2", "vocabulary_from=first_pass"), ("column=5",)]
)
def test_otherwise_all_sentences_are_known(tmp_path, sentences, overrides):
    found = corpus(write_conllu(tmp_path / "whole.conllu", sentences), *overrides)
    assert len(found.known) == len(sentences)
    assert {"dislocated", "elsewhere"} <= {
        *found.relations.symbols,
        *found.vocabularies.by_attribute["form"].symbols,
    }


def test_without_projective_trees_there_is_nothing_to_know(tmp_path):
    path = write_conllu(tmp_path / "none.conllu", [sentence([3, 4, 0, 3], random.Random(1))])
    with pytest.raises(SettingsError, match="no tree is projective"):
        corpus(path, "column=1", "vocabulary_from=first_pass")


def test_a_sentence_that_takes_long_to_be_made_projective_is_named(tmp_path, monkeypatch, caplog):
    """Where it is made projective: not in column 1,
    nor by model=linear with an oracle of all trees.
    """
    path = write_conllu(tmp_path / "train.conllu", [sentence([0, 1, 1, 1]), sentence([3, 4, 0, 3])])
    linear = "model=linear", "oracle=nederhof_linear"
    corpus(path)
    assert "may take minutes" not in caplog.text
    monkeypatch.setattr("parser.training.examples.corpus._LONG", 3)
    for overrides, named in (
        ((), 1),
        (linear, 1),
        (("column=1",), 0),
        (("model=linear", "oracle=context_rows"), 0),
    ):
        caplog.clear()
        corpus(path, *overrides)
        assert caplog.text.count("words projective may take minutes") == named, overrides
        assert (f"{path}, line 6, sentence 2: making 4 words projective" in caplog.text) == named
    monkeypatch.setattr("parser.training.examples.corpus.MAX_TOKENS_TO_PROJECTIVIZE", 3)
    with pytest.raises(TreebankError, match=r"line 6, sentence 2: 4 words .* 3 words"):
        corpus(path)


@pytest.mark.parametrize("model", [(), ("model=linear",)])
def test_trees_that_the_oracle_does_not_take_are_named_before_the_first_pass(tmp_path, model):
    beyond = sentence([3, 0, 2, 1])
    assert not parseable(Trees.from_heads([beyond.heads]), 2)[0]
    path = write_conllu(tmp_path / "train.conllu", [sentence([0, 1]), beyond, beyond])
    text = path.read_text(encoding="utf-8").replace("\n\n1", "\n\n# sent_id = s2\n1", 1)
    path.write_text(text, encoding="utf-8")
    attardi = "system=attardi", *model
    with pytest.raises(
        TreebankError,
        match=r"train\.conllu, line 4, sentence 2 \(sent_id s2\): oracle=attardi_tabular needs "
        r"gold trees that system=attardi can parse, and this tree is not one "
        r"\(nor are 1 after it\); choose oracle=attardi_search, or leave the sentence out$",
    ):
        corpus(path, *attardi, "oracle=attardi_tabular")
    corpus(path, *attardi, "oracle=attardi_search")
    write_conllu(path, [sentence([0, 1]), sentence([2, 0, 2])])
    corpus(path, *attardi, "oracle=attardi_tabular")


def test_training_tells_what_is_odd_in_its_sentences(tmp_path, caplog):
    odd = sentence([2, 0, 2, 3])
    odd.forms[0], odd.deprels[1], odd.deprels[2] = "", "dep", "_"
    corpus(
        write_conllu(tmp_path / "train.conllu", [sentence([0, 1]), odd]),
        "vectors.attribute=null",
        "features.form=[]",
    )
    (told,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    where = "in 1 word (the first in line 4, sentence 2); "
    assert told.startswith(
        f"{tmp_path}/train.conllu: FORM is empty {where}DEPREL is empty {where}DEPREL of the root"
    )


def test_vectors_of_another_language_are_told(tmp_path, sentences, caplog):
    path, vectors = write_conllu(tmp_path / "train.conllu", sentences), tmp_path / "v.vec"
    for form in ("ilyen", sentences[0].forms[1]):
        caplog.clear()
        vectors.write_text(f"egyik 1 2\n{form} 3 4\n")
        corpus(path, f"vectors.file={vectors}")
        told = [
            message
            for message in caplog.messages
            if message.startswith(f"{vectors}: it has no vector for any form")
        ]
        assert len(told) == (form == "ilyen")


def test_parts_that_training_has_seen_are_told(tmp_path, sentences, caplog):
    dev = write_conllu(tmp_path / "dev.conllu", sentences[:2])
    corpus(write_conllu(tmp_path / "train.conllu", sentences), f"treebank.dev={dev}")
    told = [
        record.getMessage() for record in caplog.records if "scores on them" in record.getMessage()
    ]
    assert told == [
        f"{dev}: 2 of 2 sentences are also in the training part; "
        "scores on them say nothing about new ones"
    ]
