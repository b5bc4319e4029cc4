"""What a run is made of, as its settings say: a new model, and what fits its classifier in a pass."""

from __future__ import annotations

import numpy as np

from parser.classifier.bilstm import EncoderShape
from parser.classifier.classifier import Embedding
from parser.classifier.context_classifier import ContextClassifier
from parser.data.vocabulary import Sentences
from parser.model import ClassifierShape, Model
from parser.settings import Settings, system_options
from parser.training.corpus import Corpus
from parser.training.fitter import Fitter, Span
from parser.training.sentence_fitter import SentenceFitter
from parser.training.word_dropout import WordDropout, unknown_rates
from parser.transitions.features import RELATION


def new_model(settings: Settings, corpus: Corpus) -> Model:
    """A model with fresh weights, drawn from torch's global generator, and the corpus's word vectors."""
    known = [*corpus.encoder.attributes, RELATION]
    embeddings = {name: Embedding(size, True) for name, size in settings.embeddings.items() if name in known}
    if corpus.vectors is not None:
        size = corpus.vectors.matrix.shape[1]
        embeddings[str(settings.vectors.attribute)] = Embedding(size, settings.vectors.trained)
    wanted, encoder = settings.classifier, None
    if (e := settings.encoder) is not None:
        encoder = EncoderShape(e.layers, e.hidden, e.dropout, e.attribute_dropout)
    shape = ClassifierShape(
        wanted.hidden, wanted.activation, wanted.dropout, wanted.input_dropout, wanted.slot_dropout, embeddings, encoder
    )
    model = Model.new(corpus.encoder, corpus.relations, corpus.slots, shape, settings.system, system_options(settings))
    if corpus.vectors is not None:
        model.classifier.set_vectors(str(settings.vectors.attribute), corpus.vectors.matrix)
    return model


def fitter_of(
    model: Model, corpus: Corpus, settings: Settings, pass_number: int, sentences: Sentences
) -> Fitter | SentenceFitter:
    """What fits the model's classifier in a pass (0 or 1) over these sentences."""
    classifier, optimizer, span = model.classifier, settings.optimizer, _span(settings, pass_number)
    if not isinstance(classifier, ContextClassifier):
        return Fitter(classifier, optimizer, span, _dropout_rates(settings, corpus, [slot.attribute for slot in model.slots]))
    assert settings.encoder is not None
    rates = _dropout_rates(settings, corpus, list(model.encoder.vocabularies))
    word_dropout = None if rates is None else WordDropout(rates, classifier.hidden_bias.device)
    return SentenceFitter(classifier, model.slots, sentences, optimizer, settings.encoder.longest_gradient, span, word_dropout)


def _span(settings: Settings, pass_number: int) -> Span:
    """Which epochs the learning rate's schedule spans, for a pass."""
    epochs = [settings.first_pass.epochs]
    if settings.second_pass.trees is not None:
        epochs.append(settings.second_pass.epochs)
    if settings.optimizer.schedule_over == "pass":
        return Span(0, epochs[pass_number])
    return Span(sum(epochs[:pass_number]), sum(epochs))


def _dropout_rates(settings: Settings, corpus: Corpus, attributes: list[str]) -> list[np.ndarray] | None:
    """For each of the attributes, how likely each value is taken for unknown in training; None: none is."""
    weight = settings.classifier.word_dropout
    if weight == 0:
        return None
    counts = corpus.value_counts()
    counts[RELATION] = np.zeros(0, np.int64)
    return [unknown_rates(counts[attribute], weight) for attribute in attributes]
