"""Suggestions for the name of a setting that does not exist: the nearest names, and settings for
words that other toolkits use.

The words are those of spaCy's, Stanza's, SuPar's and UDPipe's options, of Hugging Face's and
Lightning's trainers, and of torch. A wrong suggestion is worse than none: words without a
counterpart here are listed as well, so that no setting is suggested for them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache

from oracles.errors import did_you_mean, nearest, question
from parser import transitions
from parser.data.attributes import ATTRIBUTES, TAGS
from parser.settings.files import CONFIGS
from parser.settings.given import Given
from parser.settings.groups import keys

_FOLDER = "hydra.run.dir"
# How similar (0 to 1) a name must be to be suggested: a name in another group, or a whole name; and
# a word of another toolkit.
_SURE, _WORD = 0.85, 0.8
_OF_HYDRA = (_FOLDER, "hydra.sweep.dir", "hydra.sweep.subdir")

# For each setting or group of settings, their names elsewhere. The last part of one of our own
# settings' names may be listed too, if several settings end in it: the key then says which of them
# is meant.
_ELSEWHERE = {
    "first_pass.epochs second_pass.epochs online.iterations": (
        "epochs epoch max_epochs num_epochs n_epochs num_train_epochs n_iter iterations max_steps"
    ),
    "optimizer.learning_rate": "lr learning_rate learn_rate eta alpha",
    "pretrained.learning_rate": "bert_learning_rate bert_lr transformer_lr finetune_lr",
    "optimizer.batch_size": (
        "batch batch_size bs minibatch batchsize train_batch_size per_device_train_batch_size"
    ),
    "optimizer.name": "opt optim optimiser optimizer_type optimizer.type optimizer.kind",
    "optimizer.schedule": "scheduler lr_schedule lr_scheduler lr_scheduler_type decay lr_decay",
    "pretrained.warmup": "warmup warmup_steps warmup_ratio num_warmup_steps",
    "classifier.hidden encoder.hidden": (
        "hidden hidden_size hidden_dim hidden_width hidden_layer hidden_units units"
    ),
    "classifier.hidden encoder.hidden beam.size": "width size",
    "encoder.hidden": "lstm_hidden n_encoder_hidden n_lstm_hidden rnn_hidden",
    "classifier.dropout encoder.dropout": "dropout dropout_rate drop_rate p_dropout",
    "classifier.word_dropout": "word_dropout word_drop",
    "classifier.input_dropout": "embed_dropout embedding_dropout emb_dropout",
    "classifier.dropout": "mlp_dropout",
    "classifier.activation": "activation_function nonlinearity",
    "encoder.layers": "num_layers n_layers depth n_encoder_layers n_lstm_layers",
    "encoder.pretrained": (
        "bert roberta bert_model transformer transformer_name hf_model encoder_name "
        "model_name_or_path"
    ),
    "pretrained.tune": "bert_finetune finetune fine_tune",
    "pretrained.layers": "n_bert_layers bert_layers num_hidden_layers",
    "encoder.characters": "charlm use_chars char use_char char_lstm",
    "encoder.characters.embedding": (
        "char_emb_dim char_embedding char_embeddings n_char_embed char_dim"
    ),
    "encoder.characters.hidden": "char_hidden_dim char_hidden n_char_hidden",
    "encoder.augment": "augment_nopunct augmentation augment",
    "vectors.file": (
        "word_vectors embeddings_file pretrain no_pretrain wordvec_file wordvec_pretrain_file "
        "embedding_form_file embed glove init_vectors"
    ),
    "vectors.dimensions": (
        "embedding_dim embedding_size emb_dim word_emb_dim vector_size embedding_form n_embed"
    ),
    "vectors.dimensions classifier.hidden encoder.hidden": "dim",
    "vectors.min_count": "min_freq min_count minimum_frequency",
    "vectors.limit": "pretrain_max_vocab max_vectors",
    "embeddings": (
        "embedding_upostag embedding_upos embedding_xpostag embedding_feats tag_emb_dim "
        "pos_emb_dim deprel_emb_dim"
    ),
    "features": "feat feats templates template feature_templates",
    "treebank": "lang language corpus dataset shorthand ud",
    "treebank.train": "train data train_file train_path training_file train_data do_train",
    "treebank.dev": "dev eval_file dev_file dev_path valid validation heldout do_eval",
    "treebank.test": "test test_file test_path",
    "treebank.held_out": "split dev_split val_split validation_split",
    "treebank.folds": "k_folds cv cross_validation",
    "treebank.name": "treebank_name dataset_name name",
    "beam.size": "beam_size beam_width",
    "system": "transition_system",
    "oracle": "transition_oracle",
    "model": "architecture arch model_type network model_name",
    "recipe": "config preset",
    "start": (
        "checkpoint init pretrained_model resume_from continue_from base_model "
        "resume_from_checkpoint load"
    ),
    "hydra.run.dir start": "model_path model_file path model_dir",
    "keep": "early_stopping patience load_best_model_at_end",
    "seed": "random_seed random_state rng",
    "device": (
        "gpu gpus gpu_id use_gpu cuda no_cuda cpu n_gpu accelerator devices use_cuda use_cpu"
    ),
    "threads": (
        "n_threads num_threads workers num_workers jobs n_jobs dataloader_num_workers num_proc"
    ),
    _FOLDER: (
        "run_dir output output_dir output_path out out_dir o save_dir save_path save_to log_dir "
        "logdir folder run_name exp_name experiment experiment_name save_name logging_dir"
    ),
}

# Words of other toolkits that have no counterpart here, by the message to show for them. The names
# may include their groups.
_WITHOUT = {
    "an encoder's gradients are always clipped, and no setting changes that": (
        "clip grad_clip clip_grad clip_grad_norm clip_gradients clipping gradient_clip "
        "gradient_clipping gradient_clip_val max_grad_norm grad_norm"
    ),
    "there is no weight decay": "weight_decay wd l2 l2_reg regularization reg",
    "Adam has torch's defaults, and sgd no momentum": (
        "momentum beta beta1 beta2 betas adam_beta1 adam_beta2 adam_epsilon epsilon eps mu nu"
    ),
    "the classifier has one hidden layer": (
        "classifier.layers classifier.num_layers classifier.n_layers classifier.depth"
    ),
    "": (
        "loss loss_fn criterion shuffle batch_norm layer_norm normalization label_smoothing code "
        "verbose quiet debug project wandb wandb_project run max_length max_seq_length max_len "
        "save_steps eval_steps logging_steps decay_steps save_total_limit log_level accumulate "
        "fp16 bf16 amp mixed_precision "
        "accumulate_grad_batches gradient_accumulation_steps update_every use_pos use_upos "
        "use_feats pos_tags upos xpos feats_dim parser lemmatizer nlp pipeline components punct "
        "tree proj build conf pad_index unk_index fix_len transformed_dim deep_biaff_hidden_dim "
        "n_arc_mlp n_rel_mlp overwrite_output_dir rec_dropout attention_dropout bidirectional "
        "num_heads gpu_allocator tie_weights score_dev eval_interval per_device_eval_batch_size "
        "eval_batch_size"
    ),
}
WORDS: dict[str, list[str]] = {word: [] for words in _WITHOUT.values() for word in words.split()}
_SAID = {word: said for said, words in _WITHOUT.items() for word in words.split()}
for _settings, _words in _ELSEWHERE.items():
    WORDS.update({word: _settings.split() for word in _words.split()})

# For each setting and value, what the value is called elsewhere.
_NAMES_OF_VALUES = {
    "device": {"cuda": "gpu nvidia"},
    "model": {"bilstm": "lstm transformer", "linear": "perceptron", "mlp": "feedforward neural"},
    "recipe": {"accurate": "best", "paper": "default", "text": "raw", "fast": "quick"},
    "system": {
        "arc_eager": "nivreeager nivre",
        "arc_standard": "nivrestandard stackproj projective",
        "attardi": "link2",
        "covington": "covnonproj",
        "swap": "stacklazy stackeager",
    },
    "oracle": {"swap_lazy": "static_lazy", "swap_eager": "static_eager"},
    "beam": {"none": "greedy false", "local": "true"},
    "tokenizer": {"characters": "true", "none": "false"},
    "treebank": {"sample": "toy example"},
    "optimizer.name": {"adam": "adamw", "sgd": "momentum"},
}
_VALUES = {
    setting: {name: value for value, names in by_value.items() for name in names.split()}
    for setting, by_value in _NAMES_OF_VALUES.items()
}

# For each setting or KEY=VALUE that has been removed, what to type instead.
_REMOVED = {
    "tokenizer=udpipe": (
        "UDPipe's tokenizer is no longer trained; tokenizer=characters trains ours, in seconds"
    ),
    "tokenizer.epochs": (
        "it belonged to UDPipe's tokenizer; leave it out, and choose tokenizer=characters"
    ),
    "distillation.teacher": (
        "parse more text with the teacher, and give treebank.train=[TRAIN,PARSED]; "
        "commit b043ab10 still has this setting"
    ),
    "tokenizer.name": "leave it out, and choose tokenizer=characters or tokenizer=none",
}

# For each dictionary, the names that its entries may have.
_ENTRIES = {
    "embeddings": [*ATTRIBUTES],
    "features": [*ATTRIBUTES],
    "encoder.tagger.weights": [*TAGS],
}


def meant_setting(name: str, given: Given) -> str:
    """Return the hint for an error about an unknown setting; empty if no setting is near. See
    oracles.did_you_mean().

    Args:
        name: the name with dots, or only its last part.
        given: the settings given by hand; settings that these choices make possible come first.
    """
    if name in _REMOVED:
        return f" ({_REMOVED[name]})"
    if said := _SAID.get(name, _SAID.get(name.rpartition(".")[2])):
        return f" ({said})"
    chosen = {f"{setting.name}={setting.text}" for setting in given.settings}
    names = nearest_settings(name)
    at_hand = [key for key in names if _is_at_hand(key, chosen)]
    shown = at_hand or [f"{key} with {keys()[key].choices[0]}" for key in names]
    shown.sort(key=lambda key: not (key in keys() and chosen.intersection(keys()[key].choices)))
    return question(shown[:3])


def _is_at_hand(name: str, chosen: set[str]) -> bool:
    """Return whether the setting exists in a run with these choices, or in every run."""
    if name not in keys() or not (choices := keys()[name].choices):
        return True
    return any(chosen.issuperset(choice.split()) for choice in choices)


def nearest_settings(name: str) -> list[str]:
    """Return the settings that ``name`` may mean: by its last part, in groups near its own;
    otherwise by the whole name.
    """
    if name in WORDS:
        return WORDS[name]
    group, _, last = name.rpartition(".")
    names = [*keys(), *_OF_HYDRA]
    groups = _groups(names)
    inside = (
        _by_last(key for key in names if key.rpartition(".")[0] in nearest(group, groups))
        if group
        else {}
    )
    if near := [key for end in nearest(last, inside, least=_SURE) for key in inside[end]]:
        return near
    if last in WORDS:
        own = [
            key
            for key in WORDS[last]
            if key.startswith(f"{group}.") or key in inside.get(key.rpartition(".")[2], [])
        ]
        ends = dict.fromkeys(key.rpartition(".")[2] for key in WORDS[last])
        # pretrained.lr means pretrained.learning_rate
        called_alike = [key for end in ends if group in groups for key in inside.get(end, [])]
        return own or called_alike or WORDS[last]
    by_last = _by_last(names)
    last_parts = {
        **by_last,
        **({} if group else {key: [key] for key in names}),
        **{w: WORDS[w] for w in WORDS if w in by_last},
    }
    # If the group exists here, one of its settings is meant, unless the last part is almost
    # identical to that of a setting in another group.
    least = _SURE if group in groups else None
    for settings, least_alike in (
        (last_parts, 1.0),
        (inside, None),
        (last_parts, least),
        (WORDS, least or _WORD),
    ):
        if near := [
            key for end in nearest(last, settings, least=least_alike) for key in settings[end]
        ]:
            return [*dict.fromkeys(near)]
    return [] if group in groups else nearest(name, names, least=_SURE)


def _groups(names: Iterable[str]) -> list[str]:
    return [*dict.fromkeys(name.rpartition(".")[0] for name in names if "." in name)]


def _by_last(names: Iterable[str]) -> dict[str, list[str]]:
    """Return settings by the last part of their names."""
    by_last: dict[str, list[str]] = {}
    for name in names:
        by_last.setdefault(name.rpartition(".")[2], []).append(name)
    return by_last


def meant_value(key: str, value: str, known: Iterable[str]) -> str:
    """Return the hint for an error about an unknown value of a setting; empty if no known value is
    near.
    """
    if (left := _REMOVED.get(f"{key}={value}")) is not None:
        return f" ({left})"
    return did_you_mean(
        value, known, treebank_words() if key == "treebank" else _VALUES.get(key, {})
    )


def meant_oracle(value: str, known: Iterable[str], system: str) -> str:
    """Return the hint for an error about an unknown oracle: an oracle of the transition system, if
    one is near, otherwise one of another system.

    ``dynamic`` means the system's first oracle. So does ``exact``, except for swap, whose first
    oracle is not exact.
    """
    own = transitions.system_class(system).oracles if system in transitions.names() else ()
    if not own:
        return meant_value("oracle", value, known)
    exact = {} if system == "swap" else {"exact": own[0]}
    words = {name.rpartition("_")[2]: name for name in own} | {"dynamic": own[0]} | exact
    return did_you_mean(value, own, words) or meant_value("oracle", value, known)


def meant_entry(name: str) -> str:
    """Return the hint for an error about a setting in a dictionary, such as ``embeddings.fomr``."""
    group, _, last = name.rpartition(".")
    entries: Collection[str] = _ENTRIES.get(group, ())
    return (
        "" if last in entries else question([f"{group}.{near}" for near in nearest(last, entries)])
    )


@cache
def treebank_words() -> dict[str, str]:
    """Return what people call the treebanks known by name: ``Hungarian``, ``UD_Hungarian-Szeged``,
    ``hu_szeged``, ``hu``.
    """
    words = {}
    for path in sorted((CONFIGS / "treebank").glob("*.yaml")):
        words[path.stem] = path.stem
        if match := re.search(
            r"/(UD_([^/-]+)-[^/]+)/(\w+)-ud-train", path.read_text(encoding="utf-8")
        ):
            words |= dict.fromkeys(match.groups(), path.stem)
    return words
