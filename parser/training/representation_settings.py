"""What ``model=`` means for the settings: which keys say how tokens are represented and what slots read of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import oracles
from parser.beam_settings import EXACT
from parser.data.attributes import TAGS
from parser.linear.templates import ATTRIBUTES as LINEAR_ATTRIBUTES
from parser.network_spec import BiLSTMSpec
from parser.settings import (
    EncoderSettings,
    ExampleUse,
    Mode,
    OnlineSentences,
    Settings,
    SettingsError,
    TaggerSettings,
    TrainingTrees,
)
from parser.transitions.features import RELATION, TOKEN


class ModelKind(ABC):
    """A value of ``model``.

    Attributes:
        two_passes: whether it is trained in the two passes of first_pass.* and second_pass.*.
    """

    two_passes: ClassVar[bool] = True

    @abstractmethod
    def check(self, settings: Settings) -> None:
        """Raises SettingsError where the settings of the token representation cannot be."""

    @abstractmethod
    def templates(self, settings: Settings) -> Mapping[str, list[str]]:
        """By attribute, the addresses at which slots read it."""

    def trees(self, settings: Settings) -> set[str]:
        """The kinds of trees that training learns from (see TrainingTrees)."""
        exact = TrainingTrees.PROJECTIVIZED if settings.beam.name == EXACT and settings.beam.training is not None else None
        return {trees for trees in (settings.first_pass.trees, settings.second_pass.trees, exact) if trees is not None}

    def attributes(self, settings: Settings) -> list[str]:
        """The attributes of tokens that it reads, which there will be vocabularies of."""
        return [attribute for attribute, addresses in settings.features.items() if attribute != RELATION and addresses]

    @abstractmethod
    def encoder(self, settings: Settings) -> BiLSTMSpec | None:
        """The encoder's shape; None if tokens are represented only by the embeddings of their attributes."""


class _Mlp(ModelKind):
    """Slots read the attributes of ``features``."""

    def check(self, settings: Settings) -> None:
        if settings.encoder is not None:
            raise SettingsError("model=mlp has no encoder.*; choose the group, model=bilstm or model=mlp")

    def templates(self, settings: Settings) -> Mapping[str, list[str]]:
        return settings.features

    def encoder(self, settings: Settings) -> None:
        return None


class _BiLSTM(ModelKind):
    """The encoder reads the attributes of ``features``; slots are ``encoder.slots``."""

    def check(self, settings: Settings) -> None:
        encoder = self._settings(settings)
        for attribute in encoder.slots:
            if attribute not in (TOKEN, RELATION):
                raise SettingsError(f"encoder.slots.{attribute}: with an encoder, slots can read only {TOKEN} or {RELATION}")
        if not encoder.slots.get(TOKEN):
            raise SettingsError(f"encoder.slots.{TOKEN} is empty: no slot would read what the encoder makes of the words")
        if settings.classifier.slot_dropout:
            raise SettingsError(
                "classifier.slot_dropout is for model=mlp; with an encoder, encoder.attribute_dropout is its counterpart"
            )
        embedded = [*settings.embeddings, settings.vectors.attribute]
        for attribute, addresses in settings.features.items():
            if addresses and attribute != RELATION and attribute not in embedded:
                raise SettingsError(
                    f"features.{attribute}: model={settings.model} reads embedded attributes; choose recipe=accurate, which "
                    f"embeds them all, or give embeddings.{attribute}=SIZE"
                )
        if encoder.tagger is not None:
            self._check_tagger(encoder.tagger)
        try:
            self.encoder(settings)
        except ValueError as error:
            raise SettingsError(f"encoder.{error}") from error
        joined = settings.second_pass.examples == ExampleUse.JOIN
        if joined and settings.first_pass.trees == TrainingTrees.PROJECTIVE_SUBSET != settings.second_pass.trees:
            raise SettingsError(
                "second_pass.examples=join with an encoder needs the same sentences in both passes; choose column=4 or 5"
            )

    def templates(self, settings: Settings) -> Mapping[str, list[str]]:
        return self._settings(settings).slots

    def encoder(self, settings: Settings) -> BiLSTMSpec:
        return BiLSTMSpec.of(self._settings(settings))

    def _check_tagger(self, tagger: TaggerSettings) -> None:
        if not tagger.weights:
            raise SettingsError("encoder.tagger.weights is empty: nothing would be predicted; or choose encoder.tagger=null")
        for column in tagger.weights:
            if column not in TAGS:
                raise SettingsError(f"encoder.tagger.weights.{column}: there is no such column; known: {', '.join(TAGS)}")

    def _settings(self, settings: Settings) -> EncoderSettings:
        if settings.encoder is None:
            raise SettingsError("model=bilstm needs encoder.*; choose the group, model=bilstm or model=mlp")
        return settings.encoder


class _Linear(ModelKind):
    """Templates read the attributes that they are made for."""

    two_passes = False

    def check(self, settings: Settings) -> None:
        online = settings.online
        if online is None:
            raise SettingsError("model=linear needs online.*; choose the group, model=linear")
        if settings.device != "cpu":
            raise SettingsError(f"device={settings.device}: model=linear is trained on the CPU; leave device= out")
        for key, value, known in (("mode", online.mode, Mode), ("sentences", online.sentences, OnlineSentences)):
            if value not in list(known):
                raise SettingsError(f"online.{key}={value} is unknown; known: {', '.join(known)}")
        if online.explore_after and online.mode != Mode.EXPLORE:
            raise SettingsError(f"online.explore_after={online.explore_after} is only for online.mode=explore; leave it out")
        if online.follow != 1 and online.mode != Mode.EXPLORE:
            raise SettingsError(f"online.follow={online.follow} is only for online.mode=explore; leave it out")

    def templates(self, settings: Settings) -> Mapping[str, list[str]]:
        return {}

    def trees(self, settings: Settings) -> set[str]:
        if settings.online is not None and settings.online.sentences == OnlineSentences.PROJECTIVE:
            return {TrainingTrees.PROJECTIVE_SUBSET}
        needs_projective = oracles.oracle_class(settings.oracle).needs_projective_gold
        return {TrainingTrees.PROJECTIVIZED if needs_projective else TrainingTrees.ORIGINAL}

    def attributes(self, settings: Settings) -> list[str]:
        feats = settings.online is not None and settings.online.feats
        return [attribute for attribute in LINEAR_ATTRIBUTES.values() if feats or attribute != "feats"]

    def encoder(self, settings: Settings) -> None:
        return None


MODELS: dict[str, ModelKind] = {"mlp": _Mlp(), "bilstm": _BiLSTM(), "linear": _Linear()}
