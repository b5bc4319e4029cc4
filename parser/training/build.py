"""What a run is made of, as its settings say: a new model, and what fits its classifier in a pass."""

from __future__ import annotations

import numpy as np

from parser.model.model import Model
from parser.network_spec import ClassifierSpec, Embedding, MlpSpec
from parser.settings import Settings, system_options
from parser.training.examples.corpus import Corpus
from parser.training.examples.examples import TrainingSentences
from parser.training.fitting.example_fitter import ExampleFitter
from parser.training.fitting.fitter import Fitter, Span
from parser.training.fitting.sentence_encoding import TaskWeights
from parser.training.fitting.sentence_fitter import SentenceFitter
from parser.training.fitting.word_dropout import WordDropout, unknown_rates
from parser.training.representation_settings import MODELS
from parser.transitions.features import RELATION


def new_model(settings: Settings, corpus: Corpus) -> Model:
    """A model with fresh weights, drawn from torch's global generator, and the corpus's word vectors."""
    known = [*corpus.vocabularies.attributes, RELATION]
    embeddings = {name: Embedding(size, True) for name, size in settings.embeddings.items() if name in known}
    if corpus.vectors is not None:
        size = corpus.vectors.matrix.shape[1]
        embeddings[str(settings.vectors.attribute)] = Embedding(size, settings.vectors.trained)
    layer, encoder = MlpSpec.of(settings.classifier), MODELS[settings.model].encoder(settings)
    spec = ClassifierSpec(**vars(layer), embeddings=embeddings, encoder=encoder)
    system = settings.system, system_options(settings)
    lookahead = settings.lattice.lookahead if corpus.lattices and settings.lattice.choices else None
    model = Model.new(corpus.vocabularies, corpus.relations, corpus.slots, spec, *system, lookahead)
    if corpus.vectors is not None:
        model.classifier.tokens.set_vectors(str(settings.vectors.attribute), corpus.vectors.matrix)
    return model


def fitter_of(model: Model, corpus: Corpus, settings: Settings, pass_number: int, data: TrainingSentences) -> Fitter:
    """What fits the model's classifier in a pass (0 or 1) to examples of these sentences."""
    classifier, optimizer, span = model.classifier, settings.optimizer, _span(settings, pass_number)
    if classifier.tokens.contextual:
        assert settings.encoder is not None
        weights = task_weights_of(settings, corpus)
        word_dropout = word_dropout_of(model, settings, corpus, corpus.vocabularies.attributes)
        return SentenceFitter(classifier, data, optimizer, span, settings.encoder.max_grad_norm, word_dropout, weights)
    word_dropout = word_dropout_of(model, settings, corpus, [slot.attribute for slot in model.slots])
    return ExampleFitter(classifier, optimizer, span, word_dropout, settings.distillation)


def task_weights_of(settings: Settings, corpus: Corpus) -> TaskWeights:
    """The weights of the encoder's further tasks: of the columns that there are to predict, and of heads."""
    if settings.encoder is None:
        return TaskWeights()
    tagger, heads = settings.encoder.tagger, settings.encoder.heads
    tags = {} if tagger is None else {column: tagger.weights[column] for column in corpus.vocabularies.tags}
    return TaskWeights(tags, 0.0 if heads is None else heads.weight)


def _span(settings: Settings, pass_number: int) -> Span:
    """Which epochs the learning rate's schedule spans, for a pass."""
    epochs = [settings.first_pass.epochs]
    if settings.second_pass.trees is not None:
        epochs.append(settings.second_pass.epochs)
    if settings.optimizer.schedule_over == "pass":
        return Span(0, epochs[pass_number])
    return Span(sum(epochs[:pass_number]), sum(epochs))


def word_dropout_of(model: Model, settings: Settings, corpus: Corpus, columns: list[str]) -> WordDropout | None:
    """The word dropout of a matrix whose columns hold values of these attributes; None if there is none."""
    weight = settings.classifier.word_dropout
    if weight == 0:
        return None
    counts = corpus.value_counts()
    counts[RELATION] = np.zeros(0, np.int64)
    rates = [unknown_rates(counts[attribute], weight) for attribute in columns]
    return WordDropout(rates, model.classifier.output.weight.device)
