"""recipe=text: characters and tags as a second task, through whole runs."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import oracles
from parser.data.known_lemmas import KnownLemmas
from parser.data.lemma_rules import LemmaRule
from parser.data.lemmas import Lemmas
from parser.data.tasks.lemmas import LemmaTask
from parser.data.vocabulary import N_RESERVED
from parser.decoding.parse_options import TagUse
from parser.model.trained_model import TrainedModel
from parser.model_folder import read_tensors
from parser.networks.layers import Grid
from parser.training.examples.examples import TrainingSentences, gold_examples
from parser.training.fitting.example_objective import SentenceObjective
from parser.training.fitting.sentence_batches import BatchEncoder
from parser.training.lemma_training import _Outcomes, learn_task
from parser.training.run import train
from tests.gold_data import gold_data
from tests.parsed_files import parsed
from tests.random_models import random_lemma_model, random_text_model
from tests.random_trees import random_projective_tree
from tests.toy import sentence, write_conllu
from tests.training.small_runs import TEXT, files_of, run


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    """Where UPOS, FEATS and the lemma follow from the last letter of the form,
    and XPOS is the same everywhere.
    """
    rng = random.Random(0)
    made = []
    for _ in range(15):
        one = sentence(random_projective_tree(rng, rng.randint(2, 8)), rng)
        if one.heads.count(0) != 1:
            continue
        one.forms = [
            "".join(rng.choice("abcde") for _ in range(rng.randint(1, 5))) + rng.choice("xyz")
            for _ in one.forms
        ]
        one.upos = [{"x": "NOUN", "y": "VERB", "z": "ADJ"}[form[-1]] for form in one.forms]
        one.feats = [
            {"x": "Case=Nom|Number=Sing", "y": "_", "z": "Number=Sing"}[form[-1]]
            for form in one.forms
        ]
        one.lemmas = [form[:-1] + {"x": "", "y": "i", "z": "z"}[form[-1]] for form in one.forms]
        made.append(one)
    return write_conllu(tmp_path_factory.mktemp("toy") / "toy.conllu", made)


def test_it_learns_the_tags_and_says_how_many_are_right(treebank, tmp_path):
    parts = [
        "encoder.",
        "encoder.attribute_",
        "encoder.tagger.",
        "encoder.heads.",
        "encoder.lemmas.",
        "classifier.word_",
    ]
    fast = [
        "optimizer.learning_rate=0.01",
        "optimizer.batch_size=15",
        "first_pass.epochs=8",
        "second_pass.epochs=12",
    ]
    fast += ["encoder.lemmas.epochs=100", "keep=last", *(f"{part}dropout=0" for part in parts)]
    metrics = train(run(treebank, *TEXT, *fast), tmp_path)
    assert (metrics["recipe"], metrics["model"]) == ("text", "bilstm")
    assert min(metrics["test"][key] for key in ("upos", "feats", "lemma")) > 95
    assert "xpos" not in metrics["test"]
    model = TrainedModel.load(tmp_path)
    assert len(model.vocabularies.lemmas.rules.symbols) == 3
    assert {len(numbers) for numbers in model.vocabularies.lemmas.use.rules.values()} == {
        1,
        2,
    }, "the identity, and its own"
    assert model.vocabularies.tag_sets.complete
    assert len(model.vocabularies.tag_sets.sets) == 3
    model.vocabularies.lemmas.seen.clear()  # so that all lemmas are those of rules
    gold = treebank.read_bytes()
    files = gold, parsed(model, gold, tags=TagUse.OVERWRITE)
    lemmas = np.array(
        [[line.split("\t")[2] for line in file.decode().splitlines() if line] for file in files]
    )
    assert (lemmas[0] == lemmas[1]).mean() > 0.95
    assert model.vocabularies.attributes == ["form", "suffix3"]
    assert set(model.vocabularies.tags) == {"upos", "feats"}
    assert "shares" in json.loads((tmp_path / "model" / "settings.json").read_text())["calibration"]


def test_a_parser_is_the_same_whether_lemmas_are_learned_or_not(treebank, tmp_path):
    """Where they are not asked for, all is as if there were none; where they are,
    nothing but them is learned besides.
    """
    lines = [line.split("\t") for line in treebank.read_text().split("\n")]
    bare = ["\t".join([*line[:2], "_", *line[3:]] if len(line) > 1 else line) for line in lines]
    (tmp_path / "bare.conllu").write_text("\n".join(bare))
    found = []
    for name, file, more in (
        ("off", treebank, ["encoder.lemmas=null"]),
        ("none", tmp_path / "bare.conllu", []),
    ):
        metrics = train(run(file, *TEXT, *more), tmp_path / name)
        assert "lemma" not in metrics["test"]
        assert TrainedModel.load(tmp_path / name).vocabularies.lemmas is None
        found.append(
            {
                part: files_of(tmp_path / name)[part]
                for part in ("classifier.safetensors", "vocabularies.json")
            }
        )
    assert found[0] == found[1]
    learned = train(run(treebank, *TEXT), tmp_path / "on")
    assert {**learned["test"], "lemma": None} == {**metrics["test"], "lemma": None}
    with_lemmas, without = (read_tensors(tmp_path / name / "model") for name in ("on", "off"))
    np.testing.assert_equal(
        {name: with_lemmas[name] for name in with_lemmas if not name.startswith("tokens.lemmas.")},
        without,
    )


def test_lemmas_are_learned_from_words_as_if_their_forms_were_new():
    """The numbers drawn elsewhere stay what they are, and so does the rest of the model."""
    sentences = [sentence([0, 1, 2]), sentence([0])]
    for one in sentences:
        one.lemmas = [
            f"{form[:-1]}é" if place % 2 else form for place, form in enumerate(one.forms)
        ]
    found = []
    for seed in (1, 1, 2):
        model = random_lemma_model()
        before = {name: tensor.clone() for name, tensor in model.classifier.state_dict().items()}
        torch.manual_seed(5)
        learn_task(model.vocabularies.tasks[-1], model, sentences, 3, seed)
        assert torch.initial_seed() == 5
        after = model.classifier.state_dict()
        changed = {name for name, tensor in after.items() if not torch.equal(tensor, before[name])}
        assert changed == {name for name in after if name.startswith("tokens.lemmas.")}
        found.append({name: after[name] for name in changed})
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])
    assert not all(torch.equal(found[0][name], found[2][name]) for name in found[0])


@pytest.mark.parametrize("written_for", [{}, {"é": "e"}])
def test_what_is_known_of_a_training_word_is_what_other_forms_show(written_for):
    """As if training had been without its form, by vocabularies that are made without it."""
    known_words = (
        "ae ae X,Ae ae X,aec aeé Y,AEÉ aeé X,be xe X,xe xe Y,x é X,é é Y,B b X,xeee xeeé X,eeé "
        "xeé X"
    )
    words = [tuple(word.split()) for word in known_words.split(",")]
    if not written_for:
        words += [("ae", "aé", "Y")]  # otherwise this is ae
    one = sentence([0, *range(1, len(words))])
    one.forms, one.lemmas, one.upos = (list(column) for column in zip(*words, strict=True))
    model = random_lemma_model()
    rules = model.vocabularies.lemmas.rules.symbols

    def known(but: str | None = None) -> KnownLemmas:
        left = [(lemma, upos) for form, lemma, upos in words if form != but]
        return KnownLemmas(
            {of: [lemma for lemma, upos in left if upos == of] for of in "XY"}, written_for
        )

    lemmas = Lemmas(rules, ["upos"], {}, known())
    task = LemmaTask(lemmas, model.vocabularies.tags)
    places = np.flatnonzero(lemmas.encode([one]) >= N_RESERVED)
    assert len(places) == len(words)
    scores = torch.randn(len(places), 2)
    gained, wrong = _Outcomes(task, [one]).of(places, {"upos": scores})
    for row, (form, gold, _) in enumerate(words):
        without, upos = known(form), "XY"[scores[row].argmax()]
        for number, rule in enumerate(map(LemmaRule.of, rules)):
            lemma = without.spelled(rule(form) or "")
            assert gained[row, number] == without.gain(lemma, upos)
            assert wrong[row, number] == (lemma != gold)
    assert gained.any()


def some_sentences(model, tags: bool) -> TrainingSentences:
    """With UPOS and FEATS of which the model does not know all, and projective trees."""
    rng = random.Random(0)
    made = [sentence(random_projective_tree(rng, n), rng) for n in (3, 1, 6)]
    for one in made:
        one.upos = [rng.choice("XYZ") for _ in one.upos]  # it does not know Z
        one.feats = [rng.choice(["_", "A=b"]) for _ in one.feats]
    data = gold_data(made, model.vocabularies, model.relations)
    tagger, heads = model.vocabularies.tasks
    return replace(
        data,
        gold={
            task.name: task.gold(made, data.trees, data.relations)
            for task in (tagger if tags else heads,)
        },
    )


def losses_of_tasks(model, data: TrainingSentences, weights: dict[str, float]) -> Tensor:
    examples = gold_examples(
        data, oracles.create("static").bind(data.trees), model.system, model.table
    )
    objective = SentenceObjective(
        model.classifier, BatchEncoder(model.classifier, data, task_weights=weights), 1000
    )
    objective.examples = examples
    _, (batch,) = objective.batches(torch.Generator())
    return objective.losses(batch, dropping=False)[1]


def test_losses_of_tags_are_weighted_means_over_words():
    model = random_text_model()
    data, weights = some_sentences(model, tags=True), {"upos": 0.5, "feats": 2.0}
    values = torch.from_numpy(data.sentences.values.T.copy())
    with torch.no_grad():
        scores = model.classifier.tokens.tag_scores(values, np.diff(data.sentences.offsets))
    expected = 0.0
    for row, (column, weight) in zip(data.gold["tagger"], weights.items(), strict=True):
        words = [place for place, number in enumerate(row) if number >= N_RESERVED]
        losses = [
            nn.functional.cross_entropy(scores[column][w], torch.tensor(int(row[w]) - N_RESERVED))
            for w in words
        ]
        expected += weight * float(torch.stack(losses).mean())
    assert losses_of_tasks(model, data, weights).item() == pytest.approx(expected, rel=1e-4)


def test_the_loss_of_heads_is_weighted_and_the_encoder_learns_from_it():
    model = random_text_model()
    data, encoder = some_sentences(model, tags=False), model.classifier.tokens
    lengths = np.diff(data.sentences.offsets)
    tokens = encoder.encode(torch.from_numpy(data.sentences.values.T.copy()), lengths).tokens
    gold = data.trees.heads, data.relations
    expected = (
        encoder.tasks["heads"]
        .loss(tokens, Grid.of(lengths, tokens.device), *gold, dropping=False)
        .item()
    )
    found = losses_of_tasks(model, data, {"heads": 0.5})
    assert found.item() == pytest.approx(0.5 * expected, rel=1e-4)
    found.backward()
    for name, parameter in model.classifier.named_parameters():
        if name.startswith(("tokens.heads.", "tokens.forwards.", "tokens.characters.")):
            assert parameter.grad.abs().max() > 0, name


def test_an_encoder_without_tasks_has_no_loss_of_them():
    model = random_text_model()
    data = some_sentences(model, tags=False)
    for gold, there in (({}, False), (data.gold, True)):
        assert (
            BatchEncoder(
                model.classifier, replace(data, gold=gold), task_weights={"heads": 1.0}
            ).has_tasks
            == there
        )
