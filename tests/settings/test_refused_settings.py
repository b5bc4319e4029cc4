"""Settings that cannot be are refused before data are read,
in one line that names the key and the fix.
"""

import re

import pytest
from hydra._internal.utils import get_args_parser

from parser import Parser
from parser.data.attributes import TAGS
from parser.model_folder import ModelError
from parser.network_spec import Range
from parser.settings import SettingsError
from parser.settings.given import Given
from parser.settings.groups import keys
from parser.settings.nearest import WORDS
from parser.settings.overrides import OPTIONS, SHORT_OPTIONS, check_overrides
from parser.settings.plan import Plan, plan, plans
from tests.toy import ROOT, settings

BILSTM = "recipe=accurate model=bilstm"
GLOBAL = "recipe=accurate beam=global start=runs/some"
LINEAR = "model=linear beam=global"
LATTICE = "lattice.train=a.conllul"
TUNED = "recipe=text encoder.pretrained=FOLDER pretrained.tune=true"
SEVERAL = "treebank.train={a:a.conllu,b:b.conllu} treebank.test=null"


def planned(*overrides: str) -> Plan:
    """Return what a command with these overrides plans."""
    return plan(settings(*overrides), Given(overrides))


# What is given, and the keys, choices and ends of ranges that the message names.
REFUSED = [
    # Keys that are not there, and that another choice has.
    ("sead=1", "sead"),
    ("+colunm=2", "colunm"),
    ("second_pass.target=marginal", "second_pass.target=marginal own_best fixed_order"),
    ("model=bilstm treebank.train={x:null}", "there is no training part treebank.train=FILE"),
    ("model=bilstm +encoder.tagger.weights.upos=1", "encoder.tagger.weights.upos recipe=text"),
    ("embeddings={form:10}", "embeddings +embeddings="),
    ("~start", "start"),
    ("device=gpu", "device=gpu cpu cuda"),
    ("encoder.layers=3", "encoder.layers=3 model=bilstm"),
    ("encoder.slots.token=[s0]", "encoder.slots.token=[s0] model=bilstm"),
    (f"{BILSTM} encoder.heads.size=9", "encoder.heads.size=9 recipe=text model=bilstm"),
    ("online.mode=static", "online.mode=static model=linear"),
    ("+online.mode=static", "online model=linear"),
    ("encoder.augment.capitals=0.1", "encoder.augment.capitals=0.1 model=bilstm"),
    (
        "recipe=text encoder.augment.capitals=0.6 encoder.augment.lower=0.5",
        "encoder.augment.capitals encoder.augment.lower 1.13",
    ),
    ("recipe=text encoder.augment.unfinished=2", "encoder.augment.unfinished=2 1"),
    (
        "recipe=text +encoder.augment.shout=0.1",
        "encoder.augment.shout capitals lower quotes unfinished",
    ),
    (
        "recipe=text encoder.pretrained=FOLDER encoder.augment.lower=0.1",
        "encoder.augment.lower=0.1 pretrained.tune=true",
    ),
    (f"{BILSTM} {LATTICE}", "lattice.train=a.conllul model=mlp"),
    ("beam.size=4", "beam.size=4 beam.size beam=local beam=global"),
    ("beam.merge=none", "beam.merge=none beam=local beam=global"),
    ("beam=local beam.training.epochs=3", "beam.training.epochs=3 beam=global"),
    ("features.suffix3=[s0]", "features.suffix3 +features.suffix3=[s0]"),
    ("seed 1", "seed"),
    ("~keep", "keep=VALUE"),
    # Values that are not KEY=VALUE, or of another type.
    ("seed=1,2", "seed=1,2 -m"),
    ("features=[s0]", "features=[s0]"),
    ("+embeddings.upos=four", "+embeddings.upos=four"),
    ("recipe=text encoder.tagger.weights.upos=x", "encoder.tagger.weights.upos=x"),
    ("features.form=s0", "features.form=s0"),
    ("features.form=s0,b0", "features.form=s0,b0 -m"),
    ("treebank.held_out=0.1,0.1,0.1", "treebank.held_out=0.1,0.1,0.1 -m"),
    ("column=[1]", "column=[1] 1"),
    ("device=[cpu]", "device=[cpu] list"),
    ("treebank.held_out=null", "treebank.held_out=null 0.1,0.1"),
    ("treebank.folds=0 treebank.test=null", "treebank.folds=0 2 1,000"),
    ("keep=[best", "keep=[best KEY=VALUE"),
    ("optimizer=adam", "optimizer.KEY=VALUE"),
    (f"{BILSTM} encoder=null", ""),
    ("beam=global beam.training=null", ""),
    ("first_pass.epochs=many", "first_pass.epochs=many"),
    ("vectors.limit=1.5", "vectors.limit=1.5 1"),
    ("classifier.dropout=x", "classifier.dropout=x"),
    ("beam=null", "beam=null --help"),
    ("beam=[8]", "beam=[8] beam=NAME"),
    ("beam=local,[8]", "beam=local,[8]"),
    ("treebank={train:a.conllu}", "treebank={train:a.conllu} treebank=NAME"),
    ("optimizer=[adam]", "optimizer=[adam] optimizer.KEY=VALUE"),
    (f"{BILSTM} encoder.tagger=[1]", "encoder.tagger=[1] encoder.tagger.KEY=VALUE"),
    ("treebank=2018", "treebank=2018 --help"),
    ("treebank=my.conllu", "treebank=my.conllu sample"),
    ("treebank.dev=", "treebank.dev treebank.dev=null"),
    ("treebank.train=[a.conllu,'']", "treebank.train treebank.train=null"),
    ("beam=local beam.size=null", "beam.size=null"),
    ("seed=null", "seed=null"),
    # Words.
    ("keep=lost", "keep=lost last best"),
    ("resume=perhaps", "resume=perhaps"),
    ("column=7", "column=7 1 2 3 4 5 6"),
    ("oracle=delphi", "oracle=delphi context_rows swap_lazy"),
    ("oracle=swap_lazy", "oracle=swap_lazy system=arc_standard context_rows"),
    ("ties=random", "ties=random null nearest_ancestor monotonic commit"),
    ("strategy=lucky", "strategy=lucky left_before_right"),
    ("projectivization=some", "projectivization=some nearest_ancestor arbitrary"),
    ("vectors.attribute=word", "vectors.attribute=word null form lower"),
    ("recipe=accurate model=transformer", "model=transformer bilstm linear mlp"),
    ("optimizer.name=lbfgs", "optimizer.name=lbfgs sgd adam"),
    ("optimizer.schedule_over=night", "optimizer.schedule_over=night pass run"),
    ("classifier.activation=step", "classifier.activation=step relu"),
    ("second_pass.trees=some", "second_pass.trees=some projective_subset projectivized original"),
    ("second_pass.policy=wander", "second_pass.policy=wander prediction mixed sample"),
    ("beam=local beam.merge=all", "beam.merge=all none configuration"),
    ("beam=local beam.name=global", "beam.name=global beam=local beam=global"),
    ("tokenizer=udpipe", "tokenizer=udpipe tokenizer=characters"),
    ("distillation.teacher=runs/taught", "distillation.teacher treebank.train=[TRAIN,PARSED]"),
    ("beam=global beam.training.update=late", "beam.training.update=late early max_violation"),
    (f"{LATTICE} lattice.gold=some", "lattice.gold=some infused skip"),
    ("model=linear online.mode=random", "online.mode=random static nondet explore"),
    ("model=linear online.sentences=some", "online.sentences=some all projective"),
    # Numbers; see also test_numbers_beyond_their_ranges.
    ("classifier.word_dropout=nan", "classifier.word_dropout=nan 0 1,000,000"),
    ("optimizer.learning_rate=inf", "optimizer.learning_rate=inf 0 1,000,000"),
    ("treebank.held_out=0.9", "treebank.held_out=0.9 0 0.5"),
    ("treebank.held_out=x", "treebank.held_out=x 0 0.5 0.1,0.1"),
    ("treebank.held_out=[0.1,0.1,0.1]", "treebank.held_out=[0.1, 0.1, 0.1]"),
    ("treebank.held_out=[0.5,0.5]", "treebank.held_out=[0.5, 0.5]"),
    ("treebank.held_out=0.1", "treebank.held_out=0.1 treebank.dev treebank.dev=null"),
    ("treebank.held_out=[0,0.1] treebank.dev=null", "treebank.test treebank.test=null"),
    (
        "treebank.held_out=[0.1,0.1] treebank.test=null treebank.folds=3 treebank.fold=1",
        "treebank.dev treebank.folds treebank.dev=null treebank.folds=null",
    ),
    ("treebank.folds=10", "treebank.folds=10 treebank.test=null"),
    ("treebank.folds=10 treebank.test=null", "treebank.folds=10 treebank.fold=K"),
    (
        "treebank.folds=10 treebank.test=null treebank.fold=11",
        "treebank.fold=11 treebank.folds=10",
    ),
    ("treebank.fold=1", "treebank.fold=1 treebank.folds=N"),
    ("treebank.on_error=keep", "treebank.on_error=keep stop skip"),
    ("recipe=text encoder.tagger.weights.upos=0", "encoder.tagger.weights.upos=0.0 0 1,000,000"),
    (f"{TUNED} pretrained.cache=FOLDER", "pretrained.cache=FOLDER pretrained.tune=true"),
    # What is given, but not read.
    (
        "recipe=text pretrained.save=true",
        "pretrained.save=true encoder.pretrained=FOLDER start=RUN_FOLDER",
    ),
    (
        "recipe=text encoder.pretrained=FOLDER pretrained.warmup=9",
        "pretrained.warmup=9 pretrained.tune=true",
    ),
    ("model=linear classifier.hidden=9", "classifier.hidden=9 model=mlp model=bilstm"),
    ("model=linear column=2", "column=2 model=mlp model=bilstm"),
    ("model=linear recipe=accurate", "recipe=accurate model=mlp model=bilstm"),
    (f"{LINEAR} beam.training.learning_rate=0.01", "beam.training.learning_rate=0.01 model=mlp"),
    (f"{LINEAR} beam.training.batch_sentences=4", "beam.training.batch_sentences=4 model=mlp"),
    ("vectors.limit=10", "vectors.limit=10 vectors.file=FILE"),
    ("vectors.restrict=true", "vectors.restrict=true vectors.file=FILE"),
    ("recipe=accurate vectors.subwords=FOLDER", "vectors.subwords=FOLDER model=bilstm"),
    (
        "second_pass.exploration_probability=0.5",
        "second_pass.exploration_probability=0.5 second_pass.policy=mixed",
    ),
    ("lattice.gold=skip", "lattice.gold=skip lattice.train=FILE"),
    ("lattice.choices=false", "lattice.choices=false lattice.train=FILE"),
    (f"{LATTICE} beam=local lattice.beam=4", "lattice.beam=4 beam=none"),
    ("segmenter=none", "segmenter=none tokenizer=characters"),
    ("tokenizer.epochs=3", "tokenizer.epochs tokenizer=characters"),
    (f"{GLOBAL} second_pass.epochs=3", "second_pass.epochs=3 start=null beam!=global"),
    (f"{GLOBAL} oracle=static", "oracle=static start=null"),
    (f"{GLOBAL} optimizer.learning_rate=0.5", "optimizer.learning_rate=0.5 start=null"),
    # Systems, oracles, trees.
    ("column=null", "column=null 1 2 3 4 5 6"),
    ("system=arc_hybrid column=3", "column=3 system=arc_standard system=arc_hybrid"),
    (
        "system=arc_hybrid oracle=context_rows",
        "oracle=context_rows system=arc_hybrid arc_hybrid_local",
    ),
    ("system=arc_hybrid degree=2", "degree=2 system=attardi"),
    ("oracle=arc_hybrid_local", "oracle=arc_hybrid_local system=arc_standard context_rows"),
    ("system=attardi ties=nearest_ancestor", "ties=nearest_ancestor oracle=attardi_search"),
    ("ties=commit", "ties=commit oracle=context_rows system=arc_eager oracle=arc_eager_rows"),
    (
        "system=arc_eager oracle=arc_eager_local ties=commit",
        "ties=commit oracle=arc_eager_local oracle=arc_eager_rows",
    ),
    (
        "system=arc_eager oracle=arc_eager_local",
        "oracle=arc_eager_local oracle=arc_eager_rows second_pass.trees=projectivized",
    ),
    ("column=5 oracle=static", "oracle=static second_pass.trees=projectivized"),
    (
        "column=5 oracle=nederhof_linear",
        "oracle=nederhof_linear oracle=context_rows oracle=nederhof_cubic",
    ),
    (
        "system=covington ties=monotonic",
        "ties=monotonic oracle=covington_loss system=arc_eager oracle=arc_eager_rows",
    ),
    ("system=lr_spine oracle=lr_spine_tabular", "oracle=lr_spine_tabular oracle=lr_spine_chart"),
    ("first_pass.trees=original", "first_pass.trees=original projectivized projective_subset"),
    (
        "column=1 second_pass.trees=original oracle=context_rows vocabulary_from=first_pass",
        "vocabulary_from=first_pass second_pass.trees=original vocabulary_from=all",
    ),
    (
        "column=1 beam=global vocabulary_from=first_pass",
        "vocabulary_from=first_pass beam=global vocabulary_from=all",
    ),
    # Several treebanks.
    (
        f"recipe=text {SEVERAL} treebank.dev=d.conllu",
        "treebank.dev=d.conllu treebank.train={NAME:",
    ),
    (
        f"recipe=text {SEVERAL} treebank.dev={{el:d.conllu}}",
        "treebank.dev el unknown treebank.train",
    ),
    (
        "recipe=text treebank.train=a.conllu treebank.dev={a:d.conllu}",
        "treebank.dev={...} treebank.train={NAME:",
    ),
    (f"{SEVERAL} treebank.dev={{a:d.conllu}}", "treebank.train={NAME: model=bilstm"),
    # Features and the encoder.
    ("features.form=[s1,[s0]]", "features.form ['s0'] [s0,s1,b0]"),
    (f"{BILSTM} encoder.slots.token=[s1,[s0]]", "encoder.slots.token ['s0']"),
    ("features.upos=[s0,c1.l1]", "upos c1.l1 system=arc_standard system=lr_spine"),
    ("+embeddings.shape=3", "embeddings.shape form deprel"),
    ("+embeddings.form=8", "embeddings.form vectors.attribute=form"),
    ("+features.feats_pairs=[s0]", "features.feats_pairs embeddings.feats_pairs"),
    ("model=bilstm", "features.upos model=bilstm recipe=accurate embeddings.upos=SIZE"),
    (f"{BILSTM} encoder.slots.token=[]", "encoder.slots.token empty"),
    (f"{BILSTM} +encoder.slots.upos=[s0]", "encoder.slots.upos token deprel"),
    (
        f"{BILSTM} classifier.slot_dropout=0.1",
        "classifier.slot_dropout model=mlp encoder.attribute_dropout",
    ),
    (
        (
            f"{BILSTM} second_pass.examples=join column=3 second_pass.trees=original "
            "oracle=context_rows"
        ),
        "second_pass.examples=join column=4",
    ),
    ("recipe=text encoder.layers=1", "encoder.tagger.layer=1 layers=1 more layers tagger=null"),
    ("recipe=text encoder.tagger.layer=3", "encoder.tagger.layer=3 layers=3 tagger=null"),
    (
        "recipe=text " + " ".join(f"~encoder.tagger.weights.{name}" for name in TAGS),
        "encoder.tagger.weights encoder.tagger=null",
    ),
    (
        "recipe=text +encoder.tagger.weights.lemma=1",
        "encoder.tagger.weights.lemma upos xpos feats",
    ),
    # Linear models.
    (
        "model=linear online.mode=static online.exploration_probability=0.9",
        "online.exploration_probability=0.9 online.mode=explore",
    ),
    (
        "model=linear online.mode=nondet online.explore_after=2",
        "online.explore_after=2 online.mode=explore",
    ),
    ("model=linear device=cuda", "device=cuda model=linear"),
    (
        "model=linear oracle=lr_spine_chart",
        "oracle=lr_spine_chart system=arc_standard context_rows",
    ),
    # Trees that are known in part.
    (
        "treebank.partial=true oracle=nederhof_linear",
        "treebank.partial=true oracle=nederhof_linear oracle=context_rows",
    ),
    ("treebank.partial=true system=swap", "treebank.partial=true system=swap another system"),
    (
        "treebank.partial=true model=linear",
        "treebank.partial=true model=linear model=mlp model=bilstm",
    ),
    # Beams and global training.
    (
        "model=linear beam=local beam.merge=signature",
        "beam.merge=signature system=arc_standard beam.merge=configuration",
    ),
    (
        "system=attardi beam=local beam.merge=signature",
        "beam.merge=signature system=arc_standard beam.merge=configuration",
    ),
    ("beam=global beam.training.update=early", "beam.training.update=early model=linear"),
    ("beam=global system=swap", "system=swap model=mlp system=arc_standard beam=local"),
    (f"{LINEAR} system=swap", "beam=global system=swap beam=local"),
    (f"{LINEAR} oracle=nederhof_linear", "oracle=nederhof_linear oracle=context_rows"),
    (f"{LINEAR} start=runs/x", "start=runs/x model=mlp model=bilstm"),
    ("start=runs/x vectors.file=v.vec", "vectors.file=v.vec start=null"),
    ("recipe=text start=runs/x pretrained.tune=true", "pretrained.tune=true start=null"),
    # Lattices.
    ("lattice.dev=d", "lattice.dev=d lattice.train=FILE"),
    (f"{LATTICE} system=swap", "lattice.train=a.conllul system=arc_standard system=attardi"),
    (f"{LATTICE} lattice.test=t treebank.test=null", "lattice.test=t treebank.test=FILE"),
    (
        f"{LATTICE} column=1",
        "lattice.choices=true first_pass.trees=projective_subset column=2 lattice.choices=false",
    ),
    (f"{LATTICE} treebank.train=[a,b]", "lattice.train treebank.train"),
    (
        f"{LATTICE} treebank.held_out=0.1 treebank.dev=null",
        "treebank.held_out=0.1 treebank.dev lattice.dev",
    ),
    (f"{LATTICE} treebank.test=null treebank.folds=9 treebank.fold=1", "treebank.folds=9"),
    (f"{LATTICE} treebank.on_error=skip", "treebank.on_error=skip"),
    # Teachers.
    # The machine, and the files.
    ("~treebank", "treebank=NAME treebank.train=FILE"),
    ("treebank.train=null", "treebank=NAME treebank.train=FILE"),
    ("treebank.train=[]", "treebank=NAME treebank.train=FILE"),
]


@pytest.mark.parametrize(
    ("overrides", "named"), REFUSED, ids=[overrides for overrides, _ in REFUSED]
)
def test_settings_that_cannot_be(overrides, named):
    with pytest.raises(SettingsError) as raised:
        planned(*overrides.split())
    message = str(raised.value)
    for word in re.split(r"(?<!,) ", named):
        assert re.search(rf"(?<![^\s(\[']){re.escape(word)}(?!\w)", message), message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("overrides", "meant"),
    [
        ("recpie=fast", "recipe"),
        ("epochs=3", "first_pass.epochs or second_pass.epochs"),
        ("model=linear epochs=3", "online.iterations, first_pass.epochs or second_pass.epochs"),
        ("lr=0.1", "optimizer.learning_rate"),
        ("learning_rate=0.1", "optimizer.learning_rate"),
        ("batch_size=8", "optimizer.batch_size"),
        ("run_dir=x", "hydra.run.dir"),
        ("+output_dri=x", "hydra.run.dir"),
        ("hydra.run.dri=x", "hydra.run.dir"),
        ("~sead", "seed"),
        ("colunm=2", "column"),
        ("hidden_size=8", "classifier.hidden"),
        (f"{BILSTM} hidden_size=8", "encoder.hidden or classifier.hidden"),
        ("layers=2", "encoder.layers with model=bilstm or pretrained.layers with model=bilstm"),
        ("dropout=0.3", "classifier.dropout"),
        ("train=a.conllu", "treebank.train"),
        ("gpu=0", "device"),
        ("first_pass_epochs=3", "first_pass.epochs"),
        # The group counts, unless it is another toolkit's.
        ("frist_pass.epochs=3", "first_pass.epochs"),
        ("optimzer.lr=0.1", "optimizer.learning_rate"),
        ("pretrained.lr=0.1", "pretrained.learning_rate with model=bilstm"),
        ("optimizer.hidden=8", "classifier.hidden"),
        ("beam.sze=4", "beam.size with beam=local"),
        ("beam=local beam.sze=4", "beam.size"),
        ("paths.treebank=ud", "paths.treebanks"),
        ("training.max_epochs=3", "first_pass.epochs or second_pass.epochs"),
        ("training.optimizer.learn_rate=3", "optimizer.learning_rate"),
        ("embeddings.fomr=3", "embeddings.form"),
        ("+embeddings.fomr=3", "form"),
        ("recipe=text model=bilstm encoder.tagger.weights.upso=1", "encoder.tagger.weights.upos"),
        ("encoder.width=200", "encoder.hidden with model=bilstm"),
        ("classifier.width=200", "classifier.hidden"),
        ("width=200", "classifier.hidden"),
        ("beam=local beam.width=4", "beam.size"),
        ("encoder.size=3", "encoder.hidden with model=bilstm"),
        ("encoder.dim=3", "encoder.hidden with model=bilstm"),
        ("encoder.word_dropout=0.2", "classifier.word_dropout"),
        ("encoder.char_hidden=4", "encoder.characters.hidden with recipe=text model=bilstm"),
        ("bert_learning_rate=1e-5", "pretrained.learning_rate with model=bilstm"),
        ("model_path=x", "hydra.run.dir or start"),
        ("embed_dropout=0.3", "classifier.input_dropout"),
        ("min_freq=2", "vectors.min_count"),
        ("optimizer.type=adam", "optimizer.name"),
        ("exp_name=x", "hydra.run.dir"),
        ("second_pass.tree=original", "second_pass.trees"),
        ("epohcs=3", "first_pass.epochs or second_pass.epochs"),
        # Options.
        ("--batch_size=5", "optimizer.batch_size"),
        ("--cpu", "device"),
        ("--dryrun", "--dry-run"),
        ("--mutlirun", "--multirun"),
        ("-o x", "hydra.run.dir"),
        ("--epochs 3", "first_pass.epochs or second_pass.epochs"),
        # Values.
        ("recipe=accurat", "accurate"),
        ("recipe=Accurate", "accurate"),
        ("system=arceager", "arc_eager"),
        ("oracle=nederhof_cubc", "nederhof_cubic"),
        ("oracle=exat", "context_rows"),
        ("oracle=dynamic", "context_rows"),
        ("system=arc_eager oracle=dynamc", "arc_eager_rows"),
        ("system=arc_eager oracle=local", "arc_eager_local"),
        ("system=swap oracle=dynamic", "swap_dynamic"),
        ("oracle=arc_eager_rws", "arc_eager_rows"),
        ("system=stackproj", "arc_standard"),
        ("model=lstm", "bilstm"),
        ("beam=locla", "local"),
        ("beam=8", "beam=local beam.size=8"),
        ("beam=true", "local"),
        ("tokenizer=charcters", "characters"),
        ("treebank=hungarian", "hu"),
        ("treebank=UD_Hungarian-Szeged", "hu"),
        ("treebank=hu_szeged", "hu"),
        ("treebank=greek", "el"),
        ("device=gpu", "cuda"),
        ("optimizer.name=AdamW", "adam"),
        ("optimizer.schedule=cosin", "cosine"),
        ("second_pass.trees=projectvized", "projectivized"),
        ("keep=bets", "best"),
        ("strategy=left_before_rigth", "left_before_right"),
        ("ties=nearest_ancester", "nearest_ancestor"),
        ("projectivization=arbitary", "arbitrary"),
        ("classifier.activation=rleu", "relu"),
        ("beam=local beam.merge=configration", "configuration"),
        ("vectors.attribute=fomr", "form"),
        (f"{SEVERAL} treebank.dev={{aa:a.conllu}} model=bilstm recipe=text", "a"),
    ],
)
def test_the_setting_or_value_that_was_meant_is_named(overrides, meant):
    with pytest.raises(SettingsError) as raised:
        planned(*overrides.split())
    assert f"(did you mean {meant}?)" in str(raised.value)


@pytest.mark.parametrize("given", ["em", "english", "UD_English-EWT", "en_core_web_sm"])
def test_the_model_that_was_meant_is_named(given):
    """By a name, a language, a treebank, or spaCy's name."""
    with pytest.raises(
        SettingsError, match=rf"^start={given}: there is neither .* \(did you mean en\?\)$"
    ):
        plans(settings(f"start={given}"), Given([f"start={given}"]), ROOT)
    with pytest.raises(ModelError, match=rf"^{given}: there is neither .* \(did you mean en\?\)$"):
        Parser.load(given)


ORDINARY = (
    "loss=nll criterion=nll shuffle=true code=x.py project=x run=1 parser=x batch_norm=true "
    "save_steps=9 save_total_limit=1 use_pos=true fix_len=20 optimizer.foo=1 beam.k=4 "
    "encoder.bidirectional=true label_smoothing=0.1"
)


@pytest.mark.parametrize(
    "override",
    [
        "zzz=1",
        "treebank=my.conllu",
        "oracle=delphi",
        "--qqq",
        "system=swap oracle=exact",
        *ORDINARY.split(),
    ],
)
def test_nothing_is_suggested_that_is_not_near(override):
    with pytest.raises((SettingsError, SystemExit)) as raised:
        planned(*override.split())
    assert "did you mean" not in str(raised.value)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        *(
            (word, "gradients are always clipped")
            for word in ("clip=5", "optimizer.clip=5", "--max_grad_norm=1")
        ),
        *(
            (word, "no weight decay")
            for word in ("weight_decay=0.1", "optimizer.weight_decay=0.1", "l2=0.1")
        ),
        *(
            (word, "torch's defaults")
            for word in ("adam_epsilon=1e-8", "optimizer.betas=[0.9,0.9]", "momentum=0.9")
        ),
        ("classifier.layers=3", "one hidden layer"),
    ],
)
def test_what_no_setting_changes_is_said(override, said):
    with pytest.raises(SettingsError, match=said):
        planned(override)


@pytest.mark.parametrize("word", ["--seed=1", "--optimizer.name=sgd"])
def test_a_setting_with_dashes_is_written_without_them(word):
    with pytest.raises(SettingsError, match=f"settings have no dashes; write {word.strip('-')}$"):
        check_overrides(Given([word]), sweep=False)


def test_the_options_that_are_not_settings_are_those_of_hydra():
    """And what people of other toolkits type leads to settings that there are."""
    hydras = [option for action in get_args_parser()._actions for option in action.option_strings]
    assert {*OPTIONS, *SHORT_OPTIONS} == {*hydras, "--dry-run"}
    for settings_of_word in WORDS.values():
        assert {*settings_of_word} - {*keys(), "hydra.run.dir"} == set()


@pytest.mark.parametrize(
    "overrides",
    [
        "treebank.held_out=0",
        "treebank.held_out=[0.1,0.1] treebank.dev=null",
        "treebank.held_out=[0.1,0.1] treebank.test=null",
        "treebank.held_out=0.1 treebank.train=a.conllu",
        "treebank.held_out=0.1 treebank.dev=null treebank.test=null treebank.folds=3 "
        "treebank.fold=1",
        "vectors.file=vectors.vec vectors.limit=10 vectors.restrict=true",
        "second_pass.policy=mixed second_pass.exploration_probability=0.5",
        (
            f"{LATTICE} lattice.lookahead=2 lattice.gold=skip lattice.max_arcs=9 "
            "lattice.choices=false lattice.beam=4"
        ),
        "model=linear system=attardi degree=3 oracle=attardi_search keep=last",
        "column=3 vocabulary_from=first_pass",
        *(f"{BILSTM} column={column}" for column in range(1, 7)),
        "recipe=text encoder.tagger=null",
        "recipe=text encoder.heads=null",
        "recipe=text encoder.tagger.size=0",
        "recipe=text encoder.characters=null",
        "recipe=text model=mlp",
        "recipe=text model=bilstm",
        "recipe=text vectors.subwords=FOLDER",
        "recipe=text encoder.pretrained=FOLDER pretrained.save=true pretrained.cache=cache",
        f"{TUNED} pretrained.learning_rate=1e-4 pretrained.warmup=9",
    ],
)
def test_settings_that_can_be(overrides):
    planned(*overrides.split())


@pytest.mark.parametrize(
    ("override", "said"),
    [
        (
            "treebank.train=nowhere.conllu",
            r"^treebank\.train=nowhere\.conllu: there is no such file$",
        ),
        ("treebank.train=[nowhere,there]", r"^treebank\.train\.0=nowhere: "),
        ("treebank.dev=/", r"^treebank\.dev=/: this is a folder"),
        (
            "treebank=hu",
            r"hu_szeged-ud-train\.conllu: there is no such file; paths\.treebanks=data",
        ),
    ],
)
def test_a_missing_treebank_is_named_with_what_to_set(override, said):
    with pytest.raises(SettingsError, match=said):
        planned(override).files.check()


def test_every_number_has_a_range():
    """But the column, which is known by its name."""
    for key in keys().values():
        if (
            key.type in (int, float, int | None, float | None, dict[str, int], dict[str, float])
            and key.name != "column"
        ):
            assert isinstance(key.range, Range), key.name


# With what else a number is read, by the beginning of its key.
READ_WITH = {
    "beam.training": "beam=global",
    "beam": "beam=local",
    "degree": "system=attardi",
    "encoder.layers": BILSTM,
    "encoder": "recipe=text",
    "lattice": LATTICE,
    "online": "model=linear online.mode=explore",
    "pretrained": TUNED,
    "second_pass.exploration_probability": "second_pass.policy=mixed",
    "treebank": "treebank.test=null",
    "vectors.limit": "vectors.file=v.vec",
}


# The tagger's layer and the fold lie within other settings, see above.
NUMBERS = [
    key
    for key in keys().values()
    if key.range is not None and key.name not in ("encoder.tagger.layer", "treebank.fold")
]


@pytest.mark.parametrize("key", NUMBERS, ids=lambda key: key.name)
def test_numbers_beyond_their_ranges(key):
    whole = "int" in str(key.type)
    name = f"++{key.name}.upos" if key.is_dictionary else key.name
    context = next(
        (given for start, given in READ_WITH.items() if key.name.startswith(start)), ""
    ).split()
    below, above = (
        (key.range.lowest, key.range.highest)
        if not whole
        else map(int, (key.range.lowest, key.range.highest))
    )
    for number in (
        below if key.range.above else below - 1,
        above if key.range.below else above + 1,
    ):
        with pytest.raises(SettingsError) as raised:
            planned(*context, f"{name}={number}")
        for part in (
            f"{name.lstrip('+')}=",
            f"{key.range.lowest:,g}",
            f"{key.range.highest:,.10g}",
        ):
            assert part in str(raised.value)


def test_a_choice_with_a_name_that_no_file_can_have_is_refused():
    with pytest.raises(
        SettingsError,
        match=r"^model=x{30}\.\.\.: no name has 5,000 characters; --help lists the names$",
    ):
        check_overrides(Given(["model=" + "x" * 5000]), sweep=False)
