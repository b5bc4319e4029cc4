"""A treebank prepared for training: its splits, vocabularies,
word vectors and encoded sentences.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import oracles
from oracles.errors import did_you_mean
from oracles.projectivization.optimal import MAX_TOKENS_TO_PROJECTIVIZE
from parser import transitions
from parser.conllu.checks import EMPTY, counted
from parser.data.attributes import TREEBANK, attribute_values, never_seen
from parser.data.parts import PARTS
from parser.data.sentences import NO_NODE
from parser.data.similar import attribute_vocabulary
from parser.data.tasks import TASKS
from parser.data.tasks.task import Task, TaskSource
from parser.data.treebank import (
    Sentence,
    Treebank,
    TreebankError,
    language_of,
    listed,
    read_treebanks,
)
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import N_RESERVED, UD_ROOT, UD_UNSPECIFIED, UNKNOWN, Vocabulary
from parser.data.word_vectors import BackgroundVectors, WordVectors
from parser.evaluation.gold_split import GoldSplit, has_values
from parser.inference.layouts import TOKENS
from parser.inference.weights import under
from parser.lattices.gold_paths import MissingPath
from parser.model.parser_model import ParserModel
from parser.model.trained_model import TrainedModel
from parser.settings.groups import SettingsError, TrainingTrees, VectorSettings
from parser.settings.plan import (
    ExplorationPlan,
    NetworkPlan,
    OnlinePlan,
    Plan,
    StructuredPlan,
)
from parser.training.examples.augmentation import copies_of
from parser.training.examples.examples import TrainingSentences
from parser.training.examples.lattices import LatticeSplit, within_lookahead
from parser.transitions.features import RELATION, TOKEN, Slot, at_candidates, slots_of

log = logging.getLogger(__name__)

# Making a sentence of this many words projective takes about two seconds.
_LONG = 1500


class _TreebankSplits(NamedTuple):
    """The splits of a treebank as read; ``others`` has dev and test, if any. For ``known`` and
    ``lattices``, see Corpus.
    """

    train: Treebank
    known: list[Sentence]
    others: dict[str, Treebank]
    lattices: dict[str, LatticeSplit]


def _read_splits(plan: Plan) -> _TreebankSplits:
    """Read the splits that a plan names, and log their oddities.

    Raises:
        TreebankError, ConlluError: a file cannot be read.
        SettingsError: there is nothing to learn from.
    """
    log.info("reading the treebank")
    lattices, files = _lattices(plan), plan.files
    train, dev, test = files.train.split(
        lattices["train"].treebank if "train" in lattices else files.train.read()
    )
    _report("train", train)
    others = {}
    for split, split_files, held_out in (("dev", files.dev, dev), ("test", files.test, test)):
        treebank = held_out
        if split_files is not None and split in lattices:
            treebank = lattices[split].treebank
        elif split_files is not None:
            treebank = read_treebanks(
                split_files.paths,
                files.train.skip,
                split_files.names,
                files.train.partial,
                scored=True,
            )
        if treebank is not None:
            others[split] = treebank
            _report(split, treebank)
    _report_known(train, others.values())
    if TrainingTrees.projectivized in plan.trees:
        _check_lengths(train)
    _check_gold_trees(plan, train)
    known_sentences = _projective_subset(train) if plan.vocabulary_of_subset else train.sentences
    return _TreebankSplits(train, known_sentences, others, lattices)


class Corpus:
    """Everything that training reads; made by new() or continued().

    Attributes:
        train: the training split.
        known: the training sentences that vocabularies and word vectors are made from.
        tagged: the known sentences; a column for which a file has no gold value has the predictions
            of the model of ``start``.
        untaught: with ``start``, by training file: the predicted columns for which the file has no
            gold value, so that it teaches nothing about them.
        dev: the split to choose on; None if the treebank has none.
        test: the split to report on; None if the treebank has none.
        vocabularies: the vocabularies of the attributes that the features read.
        relations: the relations of the known sentences.
        slots: the feature slots, except those of attributes with one value in all known sentences.
        vectors: the word vectors; None if the features do not read the attribute that they are for.
        vector_length: the length of the word vectors, also of a model that is trained further;
            None if there are none.
        projectivization: how non-projective trees are made projective.
        lattices: the word lattices by split (train, dev, test), if there are any.
    """

    def __init__(
        self,
        plan: Plan,
        splits: _TreebankSplits,
        vocabularies: Vocabularies,
        relations: Vocabulary,
        slots: list[Slot],
        vectors: WordVectors | None = None,
        vector_length: int | None = None,
        tagged: list[Sentence] | None = None,
        untaught: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> None:
        about = splits, vocabularies, relations, plan.files.train.partial
        self.train, self.known, self.lattices = splits.train, splits.known, splits.lattices
        self.dev, self.test = _gold_split("dev", *about), _gold_split("test", *about)
        self.vocabularies, self.relations, self.slots = vocabularies, relations, slots
        self.tagged, self.untaught = splits.known if tagged is None else tagged, untaught
        self.vectors = vectors
        self.vector_length = vector_length if vectors is None else vectors.matrix.shape[1]
        self.projectivization = plan.projectivization

    @classmethod
    def new(cls, plan: Plan, background: BackgroundVectors | None = None) -> Corpus:
        """Read the splits of the treebank, and make vocabularies and word vectors from the known
        sentences.

        Args:
            background: waits for the word vectors, if another process is already training them.
        """
        splits = _read_splits(plan)
        network = plan.model if isinstance(plan.model, NetworkPlan) else None
        by_attribute, vectors = _vocabularies(plan, network, splits, background)
        relations = _relations(splits.known, plan.files.train.partial)
        if network is None:
            vocabularies, slots = Vocabularies(by_attribute), []
        else:
            word_parts = [
                part for kind in PARTS if (part := kind.new(network, splits.known)) is not None
            ]
            language = language_of(plan.files.train.paths)
            tasks = _tasks(TaskSource(network, splits.known, splits.known, relations, language))
            vocabularies = Vocabularies(by_attribute, word_parts, tasks)
            slots = _slots(plan, network, vocabularies)
        if not (by_attribute if network is None else slots):
            raise SettingsError(
                "no feature slot is left to read; "
                "see features.* and the columns of the training part"
            )
        return cls(plan, splits, vocabularies, relations, slots, vectors)

    @classmethod
    def continued(cls, plan: Plan, start: TrainedModel) -> Corpus:
        """Read the splits of the treebank for a model that is trained further;
        its vocabularies are extended by new values.

        ``start``: the model that is trained further.
        """
        assert isinstance(plan.model, NetworkPlan), "plan() has checked this"
        splits, wanted = _read_splits(plan), plan.model.vectors
        untaught = _untaught(
            splits.train.sentences, plan.files.train.paths, start.vocabularies.tasks
        )
        tagged = _tagged(splits.known, untaught, start)
        vocabularies, relations = _extended(start, plan, plan.model, splits.known, tagged)
        slots = _slots(plan, plan.model, vocabularies)
        length = None
        if wanted is not None and wanted.attribute in start.spec.embeddings:
            length = start.spec.embeddings[wanted.attribute].size
        about = vocabularies, relations, slots
        return cls(plan, splits, *about, vector_length=length, tagged=tagged, untaught=untaught)

    @property
    def silent(self) -> set[str]:
        """The columns that the model of ``start`` predicts,
        but for which no training file has a gold value.
        """
        return set.intersection(*map(set, self.untaught.values())) if self.untaught else set()

    def training_sentences(
        self, kind: TrainingTrees, shares: Mapping[str, float] = MappingProxyType({})
    ) -> TrainingSentences:
        """Return the training split with trees of the given kind;
        the projective subset has fewer sentences.

        After them come the copies that epochs change, by their ``shares``; see augmentation.py.
        """
        originals = self.sentences(kind)
        changed, short = copies_of(originals, shares)
        sentences = [*originals, *changed, *short]
        trees = self._trees(originals, kind)
        if changed or short:
            original_heads = [*map(trees.__getitem__, range(len(originals)))]
            shorter = self._trees(short, kind)
            heads = [
                *original_heads,
                *(original_heads if changed else []),
                *map(shorter.__getitem__, range(len(short))),
            ]
            trees = oracles.Trees.from_heads(heads, partial=True)
        relations = np.full(len(trees.heads), NO_NODE, np.int32)
        is_word = np.ones(len(relations), np.bool_)
        is_word[trees.offsets[:-1]] = False
        deprels = chain.from_iterable(sentence.deprels for sentence in sentences)
        # negative if unknown
        relations[is_word] = np.array(self.relations.encode(deprels), np.int32) - N_RESERVED
        tasks = [task for task in self.vocabularies.tasks if task.in_passes]
        gold = {task.name: task.gold(sentences, trees, relations) for task in tasks}
        for row, column in (
            (gold[task.name][i], column) for task in tasks for i, column in enumerate(task.columns)
        ):
            silent = np.array(
                [
                    column in self.untaught.get(_file_of(sentence, self.untaught), ())
                    for sentence in sentences
                ],
                np.bool_,
            )
            row[np.repeat(silent, np.diff(trees.offsets))] = UNKNOWN
        return TrainingSentences(
            self.vocabularies.encode(sentences),
            trees,
            relations,
            gold,
            len(sentences) - len(originals),
        )

    def _trees(self, sentences: list[Sentence], kind: TrainingTrees) -> oracles.Trees:
        """Return the trees that training learns for these sentences, of the given kind."""
        whole = sentences is self.train.sentences
        trees = (
            self.train.trees
            if whole
            else oracles.Trees.from_heads((s.heads for s in sentences), partial=True)
        )
        return (
            oracles.projectivize_trees(trees, self.projectivization)
            if kind is TrainingTrees.projectivized
            else trees
        )

    def sentences(self, kind: TrainingTrees) -> list[Sentence]:
        """Return the sentences of training_sentences() as read, without copies."""
        return (
            _projective_subset(self.train)
            if kind is TrainingTrees.projective_subset
            else self.train.sentences
        )

    def value_counts(self) -> dict[str, np.ndarray]:
        """Return, by attribute, how often the known sentences have each value, int64[values]."""
        values = self.vocabularies.encode(self.known).values
        return {
            name: np.bincount(numbers, minlength=len(vocabulary))
            for numbers, (name, vocabulary) in zip(
                values, self.vocabularies.by_attribute.items(), strict=False
            )
        }


def _check_lengths(train: Treebank) -> None:
    """Warn of sentences that take long to make projective, and refuse those that would not fit into
    memory.
    """
    fix = "split it, or make the trees projective with optimal-step projectivize --method lifting"
    for s in np.flatnonzero(~train.trees.projective & (train.trees.lengths > _LONG)).tolist():
        place, n = train[s].where, len(train[s])
        if n > MAX_TOKENS_TO_PROJECTIVIZE:
            most = f"{MAX_TOKENS_TO_PROJECTIVIZE:,}"
            raise TreebankError(
                f"{place}: {n:,} words and not projective; trees of more than {most} words cannot "
                f"be made projective: {fix}"
            )
        log.warning(
            "%s: making %d words projective may take minutes (time grows with n^3); faster: %s",
            place,
            n,
            fix,
        )


def _check_gold_trees(plan: Plan, train: Treebank) -> None:
    """Refuse trees that a pass gives to the oracle as they are, and that the oracle refuses."""
    asking = ExplorationPlan, OnlinePlan, StructuredPlan
    kinds = {pass_plan.trees for pass_plan in plan.passes if isinstance(pass_plan, asking)}
    if not kinds - {TrainingTrees.projectivized}:
        return
    oracle = plan.oracle.create()
    refused = ~oracle.takes(train.trees)
    if TrainingTrees.original not in kinds:
        refused &= train.trees.projective
    if refused.any():
        sentences = np.flatnonzero(refused).tolist()
        needed = (
            f"gold trees that system={oracle.system} can parse"
            if oracle.needs_parseable_gold
            else "other gold trees"
        )
        more = f" (nor are {len(sentences) - 1:,} after it)" if len(sentences) > 1 else ""
        choices = " or ".join(f"oracle={name}" for name in oracle.alternatives)
        raise TreebankError(
            f"{train[sentences[0]].where}: oracle={oracle.name} needs {needed}, and this tree is "
            f"not one{more}; {f'choose {choices}, or ' if choices else ''}leave the sentence out"
        )


def _vocabularies(
    plan: Plan,
    network: NetworkPlan | None,
    splits: _TreebankSplits,
    background: BackgroundVectors | None,
) -> tuple[dict[str, Vocabulary], WordVectors | None]:
    """Return the vocabularies of a new model, for attributes with several values; and the word
    vectors, if there are any.
    """
    wanted, vectors, by_attribute = None if network is None else network.vectors, None, {}
    similar = network is not None and network.similar
    for attribute in plan.model.attributes:
        values = attribute_values(splits.known, attribute)
        symbols = Vocabulary.of(chain.from_iterable(values)).symbols
        if attribute == TREEBANK:
            # the first one is the default in parsing
            symbols = [*dict.fromkeys(plan.files.train.names)]
        if len(symbols) == 1:
            told = "%s: every word has %s %r; features that read it are left out"
            log.warning(told, splits.train.path, attribute, symbols[0])
        elif wanted is not None and attribute == wanted.attribute:
            vectors = _vectors(wanted, values, plan.seed, background)
            by_attribute[attribute] = attribute_vocabulary(
                attribute, vectors.vocabulary.symbols, similar
            )
        else:
            by_attribute[attribute] = attribute_vocabulary(attribute, symbols, similar)
    return by_attribute, vectors


def _file_of(sentence: Sentence, files: Iterable[str]) -> str:
    """Return the file of a sentence; "" if it is in none of these files."""
    return next((file for file in files if sentence.where.startswith(f"{file}, line ")), "")


def _untaught(
    train: list[Sentence], files: Sequence[str], tasks: Sequence[Task]
) -> dict[str, list[str]]:
    """Return, by training file, the columns of tasks for which the file has no gold value.
    Log these columns, and LEMMA if the file has no lemmas.
    """
    columns = {column: task for task in tasks for column in task.columns}
    later = {name: task for task in tasks if not task.in_passes for name in task.predicted}
    untaught: dict[str, list[str]] = {}
    for sentence in train:
        missing = untaught.setdefault(_file_of(sentence, files), [*columns, *later])
        for name in [*missing]:
            is_taught = (
                has_values(columns[name].values(sentence, name))
                if name in columns
                else later[name].is_taught([sentence])
            )
            if is_taught:
                missing.remove(name)
    for file, missing in untaught.items():
        if missing:
            named = ", ".join(name.upper() for name in missing)
            log.info(
                "%s: no gold value of %s, so it teaches none; the model predicts them as before",
                file or "lattices",
                named,
            )
    return {
        file: [name for name in missing if name in columns] for file, missing in untaught.items()
    }


def _tagged(
    sentences: list[Sentence], untaught: Mapping[str, Sequence[str]], start: TrainedModel
) -> list[Sentence]:
    """Return the sentences; in columns without gold values, they have the predictions of a
    model.
    """
    tagged, places = (
        list(sentences),
        [
            place
            for place, sentence in enumerate(sentences)
            if untaught.get(_file_of(sentence, untaught))
        ],
    )
    if not places:
        return tagged
    encoded = start.vocabularies.encode([sentences[place] for place in places])
    tags, _ = start.classifier.tokens.tags_and_rules(encoded)
    for number, place in enumerate(places):
        words = slice(encoded.offsets[number] + 1, encoded.offsets[number + 1])
        columns = untaught[_file_of(sentences[place], untaught)]
        values: dict[str, Any] = {
            column: [
                start.vocabularies.columns[column].symbols[n] for n in tags[column][words].tolist()
            ]
            for column in columns
        }
        tagged[place] = replace(sentences[place], **values)
    return tagged


def _extended(
    start: TrainedModel,
    plan: Plan,
    network: NetworkPlan,
    sentences: list[Sentence],
    tagged: list[Sentence],
) -> tuple[Vocabularies, Vocabulary]:
    """Return the vocabularies and relations of a model,
    extended by new values in some sentences; log what is new.

    New values stay unknown where training changes no vectors, because they would have none. For
    ``tagged``, see Corpus.
    """
    before, wanted = start.vocabularies, network.vectors
    by_attribute: dict[str, Vocabulary] = {}
    for name, vocabulary in before.by_attribute.items():
        embedding = start.spec.embeddings.get(name)
        values = chain.from_iterable(attribute_values(sentences, name))
        if name == TREEBANK:  # the first one is the default in parsing
            named = plan.files.train.names or [choose_treebank(start, plan, f"start={plan.start}")]
            by_attribute[name] = Vocabulary([*dict.fromkeys([*named, *vocabulary.symbols])])
        elif embedding is None or embedding.trained:
            rarest = (
                wanted.training.min_count if wanted is not None and wanted.attribute == name else 1
            )
            by_attribute[name] = attribute_vocabulary(
                name, vocabulary.extended(values, rarest), before.similar
            )
        else:
            by_attribute[name] = vocabulary
    tensors = {
        name: tensor.numpy()
        for name, tensor in under(TOKENS, start.classifier.state_dict()).items()
    }
    extended = [(part, part.extended(network, sentences, tensors)) for part in before.parts[1:]]
    parts = [(part, new) for part, new in extended if new is not None]
    relations = Vocabulary(start.relations.extended(_deprels(sentences, plan.files.train.partial)))
    language = language_of(plan.files.train.paths)
    tasks = _tasks(TaskSource(network, sentences, tagged, relations, language), before)
    vocabularies = Vocabularies(by_attribute, [new for _, new in parts], tasks)
    counts = [
        (name, len(by_attribute[name].symbols) - len(old.symbols))
        for name, old in before.by_attribute.items()
    ]
    old_symbols = {name: symbols for task in before.tasks for name, symbols in task.symbols.items()}
    new_symbols = {name: symbols for task in tasks for name, symbols in task.symbols.items()}
    counts += [
        (name, len(new_symbols[name]) - len(old))
        for name, old in old_symbols.items()
        if name in new_symbols
    ]
    counts += [
        (new.name, len(new.symbols) - len(part.symbols)) for part, new in parts if new.symbols
    ]
    new = relations.symbols[len(start.relations.symbols) :]
    counts.append(("relations", len(new)))
    named = f" ({', '.join(new)})" if new else ""
    log.info(
        "start  new to the model: %s%s",
        ", ".join(f"{name} {count}" for name, count in counts),
        named,
    )
    return vocabularies, relations


def choose_treebank(model: ParserModel, plan: Plan, named: str) -> str:
    """Return, and log, the treebank of the model that sentences are read as: the one with the run's
    name, or the first if there is none.

    Raises:
        SettingsError: the name was given by hand, and the model does not know it.
    """
    treebanks, name = model.vocabularies.treebanks, str(plan.labels["treebank"])
    if plan.names_treebank and name not in treebanks:
        raise SettingsError(
            f"treebank.name={name} is unknown{did_you_mean(name, treebanks)}; the model knows "
            f"{', '.join(treebanks)}; treebank.train={{{name}: FILE}} adds one"
        )
    chosen = name if name in treebanks else treebanks[0]
    told = (
        "%s knows several treebanks (%s): these sentences are read as %s; "
        "treebank.name=NAME chooses another"
    )
    log.info(told, named, ", ".join(treebanks), chosen)
    return chosen


def _slots(plan: Plan, network: NetworkPlan, vocabularies: Vocabularies) -> list[Slot]:
    """Return the slots of attributes with more than one value."""
    templates = at_candidates(network.templates, transitions.system_class(plan.system.name))
    slots = [
        slot
        for slot in slots_of(templates)
        if slot.attribute in [*vocabularies.attributes, TOKEN, RELATION]
    ]
    return slots if plan.lattices is None else within_lookahead(slots, plan.lattices.lookahead)


def _tasks(source: TaskSource, before: Vocabularies | None = None) -> list[Task]:
    """Return the tasks of an encoder; in further training, the model's own (``before``),
    extended by new values.

    Tasks that are learned after the parser may be new to a model.
    """
    tasks: list[Task] = []
    for kind in TASKS if source.wanted.spec.encoder is not None else ():
        old_task = None if before is None else before.task(kind)
        source = replace(source, tasks=tasks)
        if old_task is not None:
            task = old_task.extended(source)
        else:
            task = kind.new(source) if before is None or not kind.in_passes else None
        if task is not None:
            tasks.append(task)
    return tasks


def _projective_subset(train: Treebank) -> list[Sentence]:
    if not (sentences := train.projective_subset):
        raise SettingsError(
            f"{train.path}: no tree is projective, and this run learns only from projective trees; "
            "choose column=2, 4, 5 or 6 (systems other than arc_standard: "
            "first_pass.trees=projectivized; model=linear: online.sentences=all)"
        )
    return sentences


def _lattices(plan: Plan) -> dict[str, LatticeSplit]:
    """Return the lattices by split. In dev and test every sentence counts,
    with or without a gold path.
    """
    if (wanted := plan.lattices) is None:
        return {}
    splits = {"train": plan.files.train, "dev": plan.files.dev, "test": plan.files.test}
    trees = {split: files.paths[0] for split, files in splits.items() if files is not None}
    gold = {
        "train": MissingPath(wanted.gold),
        "dev": MissingPath.INFUSED,
        "test": MissingPath.INFUSED,
    }
    return {
        split: LatticeSplit.read(split, file, trees[split], gold[split], wanted.max_arcs)
        for split in splits
        if (file := getattr(wanted, split)) is not None
    }


def _report(split: str, treebank: Treebank) -> None:
    """Log the size of a split, and probable mistakes in it."""
    log.info("%-5s %s", split, treebank)
    if treebank.faults:
        log.warning(
            "%s left out:\n%s", counted(treebank.n_left_out, "sentence"), listed(treebank.faults)
        )
    if oddities := treebank.oddities():
        log.warning("%s: %s; correct them if they are mistakes", treebank.path, oddities)


def _report_known(train: Treebank, others: Iterable[Treebank]) -> None:
    """Warn of splits that mostly repeat the training split: scores on them say nothing about new
    sentences.
    """
    forms = {tuple(sentence.forms) for sentence in train}
    for split in others:
        repeated = sum(tuple(sentence.forms) in forms for sentence in split)
        if 2 * repeated > len(split):
            share = f"{repeated:,} of {counted(len(split), 'sentence')}"
            log.warning(
                "%s: %s are also in the training part; scores on them say nothing about new ones",
                split.path,
                share,
            )


def _deprels(sentences: Iterable[Sentence], partial: bool) -> Iterator[str]:
    """Yield the relations of some sentences, word by word. With ``partial``, ``_`` is an unknown
    relation, and is left out.
    """
    deprels = chain.from_iterable(sentence.deprels for sentence in sentences)
    return (deprel for deprel in deprels if not (partial and deprel == EMPTY))


def _relations(sentences: Iterable[Sentence], partial: bool) -> Vocabulary:
    """Return the relations of some sentences."""
    relations = Vocabulary.of(_deprels(sentences, partial))
    # all sentences have one word; the words of longer sentences need another relation
    if {*relations.symbols} <= {UD_ROOT}:
        return Vocabulary([UD_ROOT, UD_UNSPECIFIED])
    return relations


def _gold_split(
    split: str,
    splits: _TreebankSplits,
    vocabularies: Vocabularies,
    relations: Vocabulary,
    partial: bool,
) -> GoldSplit | None:
    if (treebank := splits.others.get(split)) is None:
        return None
    _report_unknown(split, treebank, vocabularies, relations, partial)
    gold = GoldSplit.of(treebank.sentences, vocabularies, relations)
    if not gold.labelled.any():
        lacking = (
            "HEAD but no DEPREL: LAS is" if treebank.n_known_heads else "no HEAD: UAS and LAS are"
        )
        log.warning(
            "%s: the %s part has %s not measured; annotate some of its words",
            treebank.path,
            split,
            lacking,
        )
    return gold


def _vectors(
    wanted: VectorSettings,
    values: list[list[str]],
    seed: int,
    background: BackgroundVectors | None,
) -> WordVectors:
    log.info("%s word vectors", "training" if wanted.file is None else f"{wanted.file}: reading")
    if wanted.file is not None:
        forms = set(chain.from_iterable(values))
        vectors = WordVectors.read(
            Path(wanted.file), wanted.limit, forms if wanted.restrict else None
        )
        if not any(form in vectors.vocabulary for form in forms):
            fix = "is it for this language, and in the same Unicode normalization?"
            log.warning(
                "%s: it has no vector for any form of the training part; %s", wanted.file, fix
            )
        return vectors
    return WordVectors.train(values, wanted.training, seed) if background is None else background()


def _report_unknown(
    split: str,
    treebank: Treebank,
    vocabularies: Vocabularies,
    relations: Vocabulary,
    partial: bool,
) -> None:
    """Log the values of a split that were never seen in training; words with an unknown relation
    are always wrong.
    """
    counts = vocabularies.unknown_counts(vocabularies.encode(treebank.sentences))
    if unseen := never_seen(counts, treebank.n_words):
        log.info("%-5s %s", split, unseen)
    new = Counter(
        deprel for sentence in treebank for deprel in sentence.deprels if deprel not in relations
    )
    if partial:
        new.pop(EMPTY, None)
    if new:
        named = ", ".join(f"{deprel} ({times})" for deprel, times in new.most_common())
        log.warning(
            "%s: %s with a relation that was never seen in training: %s",
            treebank.path,
            counted(new.total(), "word"),
            named,
        )
