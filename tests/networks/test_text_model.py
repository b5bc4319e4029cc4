"""Characters and tags in the encoder: against plain loops, and through parsing, saving and loading."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from parser import batch_sizes
from parser.data.lemma_rules import rule_elements
from parser.data.lemmas import affixes
from parser.data.parts.characters import Characters
from parser.data.vocabulary import N_RESERVED, SetVocabulary, tag_vocabulary
from parser.decoding.greedy.batched import parse_batched
from parser.decoding.parsers import parse, parser_of
from parser.model.model import Model
from parser.network_spec import CharacterSpec, LemmaSpec, TaggerSpec
from parser.networks.bilstm import BiLSTM
from parser.networks.parts import CharacterEncoder
from parser.networks.tasks import LemmaScorer, Tagger
from tests.forgery import small_model
from tests.random_models import random_text_model
from tests.toy import sentence


def test_forms_have_the_vectors_that_a_plain_lstm_gives_each_of_them():
    torch.manual_seed(0)
    encoder = CharacterEncoder(CharacterSpec(4, 3, 6), 9)
    both = nn.LSTM(4, 3, bidirectional=True)
    with torch.no_grad():
        for suffix, side in (("", encoder.forwards), ("_reverse", encoder.backwards)):
            for name, weight in side.named_parameters():
                getattr(both, name + suffix).copy_(weight)
    characters = Characters(["a", "b", "c"], 6)
    forms = ["abc", "a", "abc", "cccccccc", "ba"]
    encoded = torch.from_numpy(characters.encode_forms([forms]).T.copy())
    found = encoder(encoded)
    for row, vector in zip(encoded, found, strict=True):
        read = encoder.vectors[row[row != 0].long()]
        expected = both(read)[0]
        torch.testing.assert_close(vector, torch.cat([expected[-1, :3], expected[0, 3:]]))
    assert torch.equal(found[1], found[3])


def test_expected_vectors_are_sums_over_the_values():
    torch.manual_seed(0)
    values = {"upos": tag_vocabulary("upos", ["X", "Y"]), "feats": tag_vocabulary("feats", ["_", "A=b", "A=b|C=d"])}
    tagger = Tagger(TaggerSpec(1, 3, 0.0), 5, values)
    tokens = torch.randn(4, 5)
    scores = tagger.scores(tokens)
    assert {column: list(of_column.shape) for column, of_column in scores.items()} == {"upos": [4, 2], "feats": [4, 3]}
    parts = []
    for column, of_column in scores.items():
        table = tagger.inputs[column]
        vectors = list(table.whole)
        if column == "feats":  # elements are numbered by how often values have them: A=b, then _ and C=d by name
            elements = dict(zip(["A=b", "C=d", "_"], table.elements[N_RESERVED:], strict=True))
            sets = [["_"], ["A=b"], ["A=b", "C=d"]]
            vectors = [whole + sum(elements[e] for e in found) for whole, found in zip(vectors, sets, strict=True)]
        distribution = of_column.softmax(1)
        parts.append(sum(distribution[:, i : i + 1] * vector for i, vector in enumerate(vectors)))
    torch.testing.assert_close(tagger.expected(scores), torch.cat(parts, dim=1))


def test_rules_are_scored_by_the_sums_of_the_vectors_of_their_parts():
    torch.manual_seed(0)
    # Of the casings keep is there most often, of what happens at the front nothing; the other parts are once there.
    rules = SetVocabulary(["keep\t0\t\t0\t", "keep\t0\t\t1\ta", "lower\t1\tb\t2\ta"], rule_elements)
    tags = {"upos": tag_vocabulary("upos", ["X", "Y"]), "feats": tag_vocabulary("feats", ["_", "A=b", "A=b|C=d"])}
    scorer = LemmaScorer(LemmaSpec(4, 7, 0.5, 2), tags, rules)
    assert not any(parameter.any() for parameter in scorer.parameters())
    scorer.initialize()
    with torch.no_grad():
        scorer.bias.normal_()
    names = ["0\t\t", "keep", "\t0\t", "\t1\ta", "\t2\ta", "1\tb\t", "lower"]
    parts = dict(zip(names, scorer.outputs.elements[N_RESERVED:], strict=True))
    sets = [["keep", "0\t\t", "\t0\t"], ["keep", "0\t\t", "\t1\ta"], ["lower", "1\tb\t", "\t2\ta"]]
    sums = [sum(parts[element] for element in of_rule) for of_rule in sets]
    vectors = torch.stack([whole + added for whole, added in zip(scorer.outputs.whole, sums, strict=True)])
    forms, scores = ["Ab", "c", ""], {"upos": torch.randn(3, 2), "feats": torch.randn(3, 3)}
    rows = []
    for place, form in enumerate(forms):
        numbers = affixes([form], 7, 2)[0]
        of_tags = (of_task[place].softmax(0) @ scorer.inputs[task]() for task, of_task in scores.items())
        rows.append(scorer.affixes[numbers].sum(dim=0) + sum(of_tags))
    hidden = torch.stack(rows)
    expected = torch.where(hidden > 0, hidden, 0.1 * hidden) @ vectors.t() + scorer.bias
    torch.testing.assert_close(scorer.scores(forms, scores), expected)
    assert not torch.equal(scorer.scores(forms, scores, dropping=True), expected)


def test_tags_that_are_not_read_are_predicted_all_the_same(sentences):
    model = small_model("text", tag_size=0)
    encoded = model.vocabularies.encode(sentences)
    parse(model, sentences)
    assert set(model.classifier.tokens.tags_and_rules(encoded)[0]) == {"upos", "feats"}


def test_tags_alone_are_those_of_the_whole_encoder(sentences):
    model = random_text_model()
    tokens = model.classifier.tokens
    assert isinstance(tokens, BiLSTM)
    encoded = model.vocabularies.encode(sentences)
    found = tokens.tags_and_rules(encoded)[0]
    assert list(found) == ["upos", "feats"]
    with torch.no_grad():
        whole = tokens.encode(torch.from_numpy(encoded.values.T.copy()), np.diff(encoded.offsets))
    for column, values in found.items():
        np.testing.assert_array_equal(values, whole.tag_scores[column].argmax(1).numpy())


def test_a_saved_text_model_parses_and_tags_the_same(sentences, tmp_path, monkeypatch):
    model = random_text_model()
    encoded = model.vocabularies.encode(sentences)
    expected = parse_batched(encoded, model.system, model.table, model.scorer(encoded))
    model.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    assert loaded._description() == model._description()
    monkeypatch.setattr(batch_sizes, "TOKENS_PER_SPAN", 15)
    for parses in (parse(model, sentences), parse(loaded, sentences), parser_of(loaded, 3).parse(encoded)):
        np.testing.assert_array_equal(parses.heads, expected.heads)
        np.testing.assert_array_equal(parses.relations, expected.relations)
    for column, values in model.classifier.tokens.tags_and_rules(encoded)[0].items():
        np.testing.assert_array_equal(loaded.classifier.tokens.tags_and_rules(encoded)[0][column], values)


def test_characters_decide_about_unknown_forms(sentences):
    model = random_text_model()
    one, other = sentence([0, 1]), sentence([0, 1])
    one.forms, other.forms = ["xab", "y"], ["xba", "y"]
    vectors = [model.classifier.tokens.vectors_of(model.vocabularies.encode([s]))["token"] for s in (one, other)]
    assert not torch.equal(*vectors)
