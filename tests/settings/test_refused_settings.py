"""Settings that cannot be are refused before data are read, in one line that names the key and the fix."""

from __future__ import annotations

import logging

import pytest

from parser.data.attributes import TAGS
from parser.network_spec import Range
from parser.settings import Settings, SettingsError
from parser.settings.overrides import check_given, keys
from parser.settings.plan import Plan
from parser.settings.planning import check_files, plan
from tests.toy import settings

BILSTM = "recipe=accurate model=bilstm"
EXACT = f"{BILSTM} system=arc_hybrid beam=exact encoder.slots.token=[s0,b0] encoder.slots.deprel=[]"
GLOBAL = "recipe=accurate beam=global beam.training.start=runs/some"
LINEAR = "model=linear beam=global"
LATTICE = "lattice.train=a.conllul"
TAUGHT = "distillation.teacher=runs/taught"


def planned(*overrides: str) -> Plan:
    """What a command with these overrides plans."""
    composed: Settings = settings(*overrides)
    check_given(composed, overrides)
    return plan(composed)


REFUSED = [
    # Keys that are not there, and that another choice has.
    ("sead=1", "there is no setting sead; the nearest is seed"),
    ("+colunm=2", "there is no setting colunm; the nearest is column"),
    ("optimizer.lr=0.1", "there is no setting optimizer.lr; the nearest is optimizer.learning_rate"),
    ("+optimizer.lr=0.1", "there is no setting optimizer.lr; the nearest is optimizer.learning_rate"),
    ("treebnk=hu", "the nearest is treebank"),
    ("+experiment=table7", "there is no setting experiment; the nearest is "),
    ("encoder.layers=3", "there is no encoder in this run; leave it out, or choose model=bilstm"),
    ("encoder.slots.token=[s0]", "encoder.slots.token=[s0]: there is no encoder"),
    (
        f"{BILSTM} encoder.heads.size=9",
        "there is no encoder.heads in this run; leave it out, or choose recipe=text",
    ),
    ("online.mode=static", "there is no online in this run; leave it out, or choose model=linear"),
    ("+online.mode=static", "there is no online in this run; leave it out, or choose model=linear"),
    (f"{BILSTM} {TAUGHT}", "there is no distillation in this run; leave it out, or choose model=mlp"),
    (f"{BILSTM} {LATTICE}", "there is no lattice in this run; leave it out, or choose model=mlp"),
    ("beam.size=4", "beam.size=4: there is no beam.size in this run; leave it out, or choose beam=local or beam=global"),
    ("beam.merge=none", "there is no beam.merge in this run"),
    ("beam=local beam.training.epochs=3", "there is no beam.training in this run"),
    (f"{EXACT} beam.size=8", "there is no beam.size in this run"),
    (
        f"{EXACT} beam.training.update=early",
        "there is no beam.training.update in this run",
    ),
    (f"{EXACT} beam.training.gold_size=4", "there is no beam.training.gold_size in this run"),
    (f"{EXACT} beam.training=null beam.training.epochs=3", "there is no beam.training in this run"),
    ("features.suffix3=[s0]", "there is no features.suffix3 yet; write +features.suffix3=[s0]"),
    ("+keep=last", "+keep=last: leave out the plus"),
    ("~keep", "keep has no value"),
    ("~system", "system has no value"),
    ("~treebank treebank.train=x", "treebank.name has no value"),
    # Values that are not KEY=VALUE, or of another type.
    ("seed=1,2", "seed=1,2 has several values: add -m"),
    ("keep=[best", "keep=[best is not KEY=VALUE"),
    ("optimizer=adam", "give optimizer.KEY=VALUE with one of name, learning_rate"),
    (f"{BILSTM} encoder=null", "encoder=null"),
    ("beam=global beam.training=null", "beam.training=null"),
    ("first_pass.epochs=many", "first_pass.epochs=many"),
    ("beam=local beam.size=null", "beam.size=null: it cannot be null"),
    ("seed=null", "seed=null: it cannot be null"),
    # Words.
    ("keep=lost", "keep=lost is unknown; known: last, best"),
    ("resume=perhaps", "resume=perhaps is unknown; known: true, false"),
    ("column=7", "column=7 is unknown; known: 1, 2, 3, 4, 5, 6"),
    ("oracle=swap_lazy", "oracle=swap_lazy is unknown to system=arc_standard; known: "),
    ("ties=random", "ties=random is unknown; known: null, nearest_ancestor"),
    ("strategy=lucky", "strategy=lucky is unknown; known: left_before_right"),
    ("projectivization=some", "projectivization=some is unknown; known: nearest_ancestor, arbitrary"),
    ("tokenizer=moses", "tokenizer=moses is unknown; known: none, udpipe"),
    ("optimizer.name=lbfgs", "optimizer.name=lbfgs is unknown; known: sgd, adam, adamw"),
    ("optimizer.schedule_over=night", "optimizer.schedule_over=night is unknown; known: pass, run"),
    ("classifier.activation=step", "classifier.activation=step is unknown; known: relu"),
    ("second_pass.trees=some", "second_pass.trees=some is unknown; known: null, projective_subset, projectivized, original"),
    ("second_pass.policy=wander", "second_pass.policy=wander is unknown; known: prediction, mixed, sample, beam"),
    ("beam=wide", "beam=wide is unknown; known: exact, global, local, none"),
    ("beam=local beam.merge=all", "beam.merge=all is unknown; known: none, configuration"),
    ("beam=local beam.name=global", "beam.name=global is of another choice"),
    ("beam=global beam.name=local", "beam.name=local is of another choice"),
    ("beam=global beam.training.update=late", "beam.training.update=late is unknown; known: early, max_violation"),
    (f"{LATTICE} lattice.gold=some", "lattice.gold=some is unknown; known: infused, skip"),
    (f"{TAUGHT} distillation.over=some", "distillation.over=some is unknown; known: optimal, all"),
    ("model=linear online.mode=random", "online.mode=random is unknown; known: static, nondet, explore"),
    ("model=linear online.sentences=some", "online.sentences=some is unknown; known: all, projective"),
    # Numbers.
    ("seed=-1", "seed=-1 is out of range; a seed must be at least 0 and at most 4,294,967,295"),
    ("seed=4294967296", "seed=4294967296 is out of range"),
    ("threads=0", "threads=0 is out of range"),
    ("threads=1000000", "threads=1000000 is out of range"),
    ("vectors.epochs=-1", "vectors.epochs=-1 is out of range"),
    ("vectors.window=0", "vectors.window=0 is out of range"),
    ("vectors.min_count=0", "vectors.min_count=0 is out of range"),
    ("vectors.dimensions=1000000000", "vectors.dimensions=1000000000 is out of range"),
    ("classifier.hidden=10000000000", "classifier.hidden=10000000000 is out of range"),
    ("classifier.word_dropout=nan", "classifier.word_dropout=nan is out of range"),
    ("classifier.word_dropout=-1", "classifier.word_dropout=-1.0 is out of range"),
    ("classifier.dropout=1", "classifier.dropout=1.0 is out of range; a share of units must be at least 0 and below 1"),
    ("classifier.slot_dropout=1", "classifier.slot_dropout=1.0 is out of range"),
    ("optimizer.learning_rate=0", "optimizer.learning_rate=0.0 is out of range; the learning rate must be above 0"),
    ("optimizer.learning_rate=inf", "optimizer.learning_rate=inf is out of range"),
    ("optimizer.momentum=5", "optimizer.momentum=5.0 is out of range"),
    ("optimizer.weight_decay=-0.1", "optimizer.weight_decay=-0.1 is out of range"),
    ("optimizer.batch_size=0", "optimizer.batch_size=0 is out of range"),
    ("first_pass.epochs=0", "first_pass.epochs=0 is out of range"),
    ("second_pass.policy=mixed second_pass.follow=1.5", "second_pass.follow=1.5 is out of range"),
    ("treebank.held_out=0.9", "treebank.held_out=0.9 is out of range"),
    ("+embeddings.upos=0", "embeddings.upos=0 is out of range"),
    ("beam=local beam.size=0", "beam.size=0 is out of range"),
    ("beam=global beam.training.gold_size=0", "beam.training.gold_size=0 is out of range"),
    ("model=linear online.iterations=0", "online.iterations=0 is out of range"),
    (f"{LATTICE} lattice.lookahead=0", "lattice.lookahead=0 is out of range"),
    (f"{TAUGHT} distillation.weight=0", "distillation.weight=0.0 is out of range"),
    (f"{TAUGHT} distillation.temperature=0", "distillation.temperature=0.0 is out of range"),
    (f"{BILSTM} encoder.layers=0", "encoder.layers=0 is out of range"),
    (f"{BILSTM} encoder.dropout=1", "encoder.dropout=1.0 is out of range"),
    (f"{BILSTM} encoder.max_grad_norm=0", "encoder.max_grad_norm=0.0 is out of range"),
    ("recipe=text encoder.tagger.weights.upos=0", "encoder.tagger.weights.upos=0.0 is out of range"),
    ("recipe=text encoder.characters.longest=10000", "encoder.characters.longest=10000 is out of range"),
    ("recipe=text encoder.heads.weight=0", "encoder.heads.weight=0.0 is out of range"),
    # What is given, but not read.
    ("model=linear classifier.hidden=9", "classifier.hidden=9 is read only with model=mlp or model=bilstm"),
    ("model=linear column=2", "column=2 is read only with model=mlp or model=bilstm"),
    ("model=linear recipe=accurate", "recipe=accurate is read only with model=mlp or model=bilstm"),
    (
        f"{LINEAR} beam.training.learning_rate=0.01",
        "beam.training.learning_rate=0.01 is read only with model=mlp",
    ),
    (
        f"{LINEAR} beam.training.batch_sentences=4",
        "beam.training.batch_sentences=4 is read only with model=mlp",
    ),
    ("vectors.limit=10", "vectors.limit=10 is read only with vectors.file=FILE"),
    ("vectors.restrict=true", "vectors.restrict=true is read only with vectors.file=FILE"),
    ("recipe=accurate optimizer.momentum=0.9", "optimizer.momentum=0.9 is read only with optimizer.name=sgd"),
    ("second_pass.follow=0.5", "second_pass.follow=0.5 is read only with second_pass.policy=mixed"),
    ("lattice.gold=skip", "lattice.gold=skip is read only with lattice.train=FILE"),
    ("lattice.choices=false", "lattice.choices=false is read only with lattice.train=FILE"),
    (f"{LATTICE} beam=local lattice.beam=4", "lattice.beam=4 is read only with lattice.train=FILE and beam=none"),
    ("distillation.weight=2", "distillation.weight=2 is read only with distillation.teacher=RUN_FOLDER"),
    ("segmenter=none", "segmenter=none is read only with tokenizer=udpipe"),
    (f"{GLOBAL} second_pass.epochs=3", "second_pass.epochs=3 is for the first and second pass, and with beam.training.start "),
    (f"{GLOBAL} oracle=static", "oracle=static is for the first and second pass"),
    (f"{GLOBAL} optimizer.learning_rate=0.5", "optimizer.learning_rate=0.5 is for the first and second pass"),
    # Systems, oracles, trees.
    ("column=null", "column=null is only for systems other than arc_standard"),
    ("system=arc_hybrid column=3", "column=3 is only for system=arc_standard"),
    ("system=arc_hybrid oracle=context_rows", "known: arc_hybrid_local"),
    ("system=arc_hybrid degree=2", "degree=2 is only for system=attardi"),
    ("oracle=arc_hybrid_local", "known: context_rows"),
    (
        "system=attardi ties=nearest_ancestor",
        "ties=nearest_ancestor is not known to oracle=attardi_search",
    ),
    ("column=5 oracle=static", "oracle=static needs projective trees"),
    ("column=5 oracle=nederhof_linear", "choose oracle=context_rows or oracle=nederhof_cubic"),
    ("system=lr_spine oracle=lr_spine_tabular", "needs projective trees"),
    ("first_pass.trees=original", "first_pass.trees=original: gold computations of system=arc_standard need projective trees"),
    ("column=1 second_pass.trees=original oracle=context_rows vocabulary_from=first_pass", "choose vocabulary_from=all"),
    ("column=1 beam=global vocabulary_from=first_pass", "the third pass (beam=global) learns from all sentences"),
    # Features and the encoder.
    ("features.form=[s1,[s0]]", "features.form: ['s0'] is not a position; give a list of them"),
    (f"{BILSTM} encoder.slots.token=[s1,[s0]]", "encoder.slots.token: ['s0'] is not a position"),
    ("features.upos=[s0,c1.l1]", "upos is read at c1.l1, which system=arc_standard does not have"),
    ("+embeddings.shape=3", "embeddings.shape: there is no such attribute; known: form"),
    ("+embeddings.form=8", "embeddings.form and vectors.attribute=form are both given; drop one"),
    ("+features.feats_pairs=[s0]", "features.feats_pairs: its values are sets; embed them, give embeddings.feats_pairs"),
    ("model=bilstm", "choose recipe=accurate"),
    (f"{BILSTM} encoder.slots.token=[]", "encoder.slots.token is empty: no slot would read"),
    (f"{BILSTM} +encoder.slots.upos=[s0]", "encoder.slots.upos: with an encoder, slots can read only token or deprel"),
    (f"{BILSTM} classifier.slot_dropout=0.1", "encoder.attribute_dropout"),
    (
        f"{BILSTM} second_pass.examples=join column=3 second_pass.trees=original oracle=context_rows",
        "second_pass.examples=join with an encoder needs the same sentences in both passes",
    ),
    ("recipe=text encoder.tagger.layer=3", "encoder.tagger.layer=3: the tags are read by the layer above"),
    (
        "recipe=text " + " ".join(f"~encoder.tagger.weights.{name}" for name in TAGS),
        "nothing would be predicted",
    ),
    (
        "recipe=text +encoder.tagger.weights.lemma=1",
        "encoder.tagger.weights.lemma: there is no such column; known: upos",
    ),
    # Linear models.
    ("model=linear online.mode=static online.follow=0.9", "online.follow=0.9 is only for online.mode=explore"),
    ("model=linear online.mode=nondet online.explore_after=2", "online.explore_after=2 is only for online.mode=explore"),
    ("model=linear device=cuda", "device=cuda: model=linear is trained on the CPU"),
    ("model=linear oracle=lr_spine_chart", "known: context_rows"),
    # Beams, global training and exact search.
    ("second_pass.policy=beam", "second_pass.policy=beam explores with the parser's beam, and beam=none has none"),
    (f"{EXACT} second_pass.policy=beam", "second_pass.policy=beam explores with the parser's beam, and beam=exact has none"),
    ("model=linear beam=local beam.merge=signature", "choose beam.merge=configuration"),
    ("system=attardi beam=local beam.merge=signature", "choose beam.merge=configuration"),
    ("beam=global beam.training.update=early", "beam.training.update=early is only for model=linear"),
    ("beam=global system=swap", "not with system=swap model=mlp; choose system=arc_standard, or beam=local"),
    (f"{LINEAR} system=swap", "those of system=swap differ in length"),
    (f"{LINEAR} oracle=nederhof_linear", "choose oracle=context_rows"),
    (f"{LINEAR} beam.training.start=runs/x", "beam.training.start=runs/x is not supported with model=linear"),
    (f"{GLOBAL} first_pass.model=runs/x", "first_pass.model"),
    ("column=1 first_pass.model=runs/x", "first_pass.model is given, but there is no second pass"),
    (f"{EXACT} system=arc_standard column=5", "train one with system=arc_hybrid"),
    ("beam=exact system=arc_hybrid", "no encoder; train one with model=bilstm, or search with a beam (beam=local)"),
    (f"{EXACT} encoder.slots.token=[s0,s1,b0]", "train one with encoder.slots.token=[s0,b0]"),
    # Lattices.
    ("lattice.dev=d", "lattice.dev is given, but lattice.train is not"),
    (f"{LATTICE} system=swap", "lattice.train is only for system=arc_standard or attardi, not for system=swap"),
    (f"{LATTICE} lattice.test=t treebank.test=null", "lattice.test is given, but treebank.test"),
    (f"{LATTICE} column=1", "first_pass.trees=projective_subset leaves some out"),
    (f"{LATTICE} treebank.train=[a,b]", "give one treebank.train"),
    (f"{LATTICE} second_pass.policy=beam beam=local", "learns along single computations"),
    (
        f"{LATTICE} treebank.held_out=0.1 treebank.dev=null",
        "treebank.held_out=0.1 is not supported with lattices",
    ),
    # Teachers.
    (f"{TAUGHT} column=2", "teaches in the second pass, and there is none"),
    (f"{TAUGHT} system=lr_spine", "is not supported with system=lr_spine"),
    (f"{TAUGHT} {LATTICE}", "is not supported with lattices"),
    (f"{TAUGHT} beam=local second_pass.policy=beam", "is not supported with second_pass.policy=beam"),
    ("distillation.teacher=[]", "distillation.teacher=[] names no teacher"),
    ("distillation.teacher=[3]", "distillation.teacher=[3] is neither a path nor a list of paths"),
    ("distillation.teacher={a:b}", "is neither a path nor a list of paths"),
    # The machine, and the files.
    ("device=tpu", "device=tpu: there is no device 'tpu' here; available: cpu"),
    ("~treebank", "there is no training part: give treebank=NAME or treebank.train=FILE"),
    ("treebank.train=null", "there is no training part"),
    ("treebank.train=[]", "there is no training part"),
]


@pytest.mark.parametrize(("overrides", "message"), REFUSED, ids=[overrides for overrides, _ in REFUSED])
def test_settings_that_cannot_be(overrides, message):
    with pytest.raises(SettingsError) as raised:
        planned(*overrides.split())
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "overrides",
    [
        "vectors.file=vectors.vec vectors.limit=10 vectors.restrict=true",
        "second_pass.policy=mixed second_pass.follow=0.5",
        f"{LATTICE} lattice.lookahead=2 lattice.gold=skip lattice.max_arcs=9 lattice.choices=false lattice.beam=4",
        "model=linear system=attardi degree=3 oracle=attardi_search keep=last",
        "column=3 vocabulary_from=first_pass",
        "recipe=text encoder.tagger=null",
        "recipe=text encoder.heads=null",
        "recipe=text encoder.tagger.size=0",
        "recipe=text encoder.characters=null",
        "recipe=text model=mlp",
        "recipe=text model=bilstm",
        f"{EXACT} beam.training=null",
    ],
)
def test_settings_that_can_be(overrides):
    planned(*overrides.split())


def test_a_teacher_has_no_pass_to_teach_in():
    """The command says it of the override, and whoever calls train() is told, too."""
    with pytest.raises(SettingsError, match=r"distillation\.teacher=.* with beam\.training\.start"):
        plan(settings(*GLOBAL.split(), TAUGHT))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["treebank.train=nowhere.conllu"], r"^treebank\.train=nowhere\.conllu: there is no such file$"),
        (["treebank.train=[nowhere,there]"], r"^treebank\.train\.0=nowhere: there is no such file$"),
        (["treebank=hu"], r"hu_szeged-ud-train\.conllu: there is no such file; paths\.treebanks=data must be the folder "),
    ],
)
def test_a_missing_treebank_is_named_with_what_to_set(overrides, message):
    with pytest.raises(SettingsError, match=message):
        check_files(planned(*overrides).files)


def test_every_number_has_a_range():
    """But the column, which is known by its name."""
    for key in keys().values():
        if key.type in (int, float, int | None, float | None, dict[str, int], dict[str, float]) and key.name != "column":
            assert isinstance(key.range, Range), key.name


@pytest.mark.parametrize("override", ["oracle=nederhof_cubic", "strategy=any", "second_pass.policy=sample"])
def test_what_is_of_a_second_pass_is_told_where_there_is_none(caplog, override):
    """A sweep over column= has such jobs."""
    with caplog.at_level(logging.WARNING):
        planned("column=5", override)
        assert not caplog.messages
        planned("column=1", override)
    assert caplog.messages == [f"{override} is not read: this run has no second pass (column=3 to 6 have one)"]


def test_training_of_vectors_that_are_read_from_a_file_is_told(caplog):
    """And not refused: a sweep over vectors.file has such jobs."""
    planned("vectors.file=vectors.vec", "vectors.window=5", "vectors.limit=9")
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["vectors.window=5 is not read"]
    planned("vectors.window=5")
    assert len(caplog.records) == 1
