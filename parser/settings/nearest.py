"""The setting that was meant where none has the given name: the nearest names, and words that other toolkits use.

The words are those of spaCy's, Stanza's and UDPipe's options, of Hugging Face's trainer, and of torch.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache

from oracles.errors import did_you_mean, nearest, question
from parser.data.attributes import ATTRIBUTES, TAGS
from parser.settings.files import CONFIGS
from parser.settings.given import Given
from parser.settings.groups import keys

_FOLDER = "hydra.run.dir"
_OF_HYDRA = (_FOLDER, "hydra.sweep.dir", "hydra.sweep.subdir")

# By setting, or by several: what it is called elsewhere. A last part of settings may stand here too, to say which is meant.
_ELSEWHERE = {
    "first_pass.epochs second_pass.epochs online.iterations": "epochs epoch max_epochs num_epochs n_epochs num_train_epochs "
    "n_iter iterations max_steps",
    "optimizer.learning_rate": "lr learning_rate learn_rate eta alpha",
    "optimizer.batch_size": "batch batch_size bs minibatch batchsize train_batch_size",
    "optimizer.name": "opt optim optimiser",
    "optimizer.schedule": "scheduler lr_schedule lr_scheduler decay lr_decay",
    "pretrained.warmup": "warmup warmup_steps",
    "classifier.hidden encoder.hidden": "hidden hidden_size hidden_dim hidden_width hidden_layer hidden_units units",
    "classifier.dropout encoder.dropout": "dropout dropout_rate drop_rate p_dropout",
    "classifier.activation": "activation_function nonlinearity",
    "encoder.layers": "num_layers n_layers depth",
    "encoder.pretrained": "bert bert_model transformer transformer_name hf_model encoder_name",
    "pretrained.tune": "bert_finetune finetune fine_tune",
    "encoder.characters.embedding": "char_emb_dim char_embedding",
    "encoder.characters.hidden": "char_hidden_dim",
    "vectors.file": "word_vectors embeddings_file pretrain wordvec_file wordvec_pretrain_file embedding_form_file",
    "vectors.dimensions": "embedding_dim embedding_size emb_dim word_emb_dim vector_size dim",
    "treebank": "lang language corpus dataset shorthand ud",
    "treebank.train": "train data train_file train_path training_file train_data",
    "treebank.dev": "dev eval_file dev_file dev_path valid validation heldout",
    "treebank.test": "test test_file test_path",
    "treebank.held_out": "split dev_split val_split validation_split",
    "treebank.folds": "k_folds cv cross_validation",
    "beam.size": "beam_size beam_width width",
    "system": "transition_system",
    "oracle": "transition_oracle",
    "model": "architecture arch model_type network",
    "recipe": "config preset",
    "start": "checkpoint init pretrained_model resume_from continue_from base_model",
    "keep": "early_stopping patience",
    "seed": "random_seed random_state rng",
    "device": "gpu gpu_id use_gpu cuda cpu n_gpu",
    "threads": "n_threads num_threads workers num_workers jobs n_jobs",
    _FOLDER: "run_dir output output_dir output_path out out_dir o model_dir save_dir save_path save_to log_dir logdir folder",
}
WORDS = {word: settings.split() for settings, words in _ELSEWHERE.items() for word in words.split()}

# By setting and value: what the value is called elsewhere.
_NAMES_OF_VALUES = {
    "device": {"cuda": "gpu nvidia"},
    "model": {"bilstm": "lstm transformer", "linear": "perceptron", "mlp": "feedforward neural"},
    "recipe": {"accurate": "best", "paper": "default", "paper_tuned": "tuned", "text": "raw", "fast": "quick"},
    "system": {
        "arc_eager": "nivreeager",
        "arc_standard": "nivrestandard",
        "covington": "covnonproj",
        "swap": "stacklazy",
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

# By setting or KEY=VALUE that is no longer there: what to type instead.
_LEFT = {
    "tokenizer=udpipe": "UDPipe's tokenizer is no longer trained; tokenizer=characters trains ours, in seconds",
    "tokenizer.epochs": "it was of UDPipe's tokenizer; leave it out, and choose tokenizer=characters",
    "distillation.teacher": "parse more text with the teacher, and give treebank.train=[TRAIN,PARSED]; commit b043ab10 has it",
    "tokenizer.name": "leave it out, and choose tokenizer=characters or tokenizer=none",
}

# By dictionary: the names that its entries may have.
_ENTRIES = {"embeddings": [*ATTRIBUTES], "features": [*ATTRIBUTES], "encoder.tagger.weights": [*TAGS]}


def meant_setting(name: str, given: Given) -> str:
    """Return the hint for an error about an unknown setting; nothing, if no setting is near. See oracles.did_you_mean().

    Args:
        name: with dots, or only the last part.
        given: the settings given by hand; settings that these choices make possible come first.
    """
    if name in _LEFT:
        return f" ({_LEFT[name]})"
    chosen = {f"{setting.name}={setting.text}" for setting in given.settings}
    names = nearest_settings(name)
    at_hand = [key for key in names if _is_at_hand(key, chosen)]
    shown = at_hand or [f"{key} with {keys()[key].choices[0]}" for key in names]
    shown.sort(key=lambda key: not (key in keys() and chosen.intersection(keys()[key].choices)))
    return question(shown[:3])


def _is_at_hand(name: str, chosen: set[str]) -> bool:
    """Return whether a run with these choices, or without any, has the setting."""
    if name not in keys() or not (choices := keys()[name].choices):
        return True
    return any(chosen.issuperset(choice.split()) for choice in choices)


def nearest_settings(name: str) -> list[str]:
    """Return the settings that ``name`` may mean: by its last part, in groups near its own; else by the whole name."""
    group, _, last = name.rpartition(".")
    names = [*keys(), *_OF_HYDRA]
    inside = _by_last(key for key in names if key.rpartition(".")[0] in nearest(group, _groups(names))) if group else {}
    if last in inside:
        return inside[last]
    if last in WORDS:
        ends = dict.fromkeys(key.rpartition(".")[2] for key in WORDS[last])
        in_group = [key for end in ends if group in _groups(names) for key in inside.get(end, [])]  # pretrained.lr
        return in_group or [key for key in WORDS[last] if key in inside.get(key.rpartition(".")[2], [])] or WORDS[last]
    if near := [key for end in nearest(last, inside) for key in inside[end]]:
        return near
    words = {**_by_last(names), **({} if group else {key: [key] for key in names}), **WORDS}
    settings = [key for word in ([last] if last in words else nearest(last, words)) for key in words[word]]
    return list(dict.fromkeys(settings)) or nearest(name, names)


def _groups(names: Iterable[str]) -> list[str]:
    return [*dict.fromkeys(name.rpartition(".")[0] for name in names if "." in name)]


def _by_last(names: Iterable[str]) -> dict[str, list[str]]:
    """Return settings by the last part of their names."""
    by_last: dict[str, list[str]] = {}
    for name in names:
        by_last.setdefault(name.rpartition(".")[2], []).append(name)
    return by_last


def meant_value(key: str, value: str, known: Iterable[str]) -> str:
    """Return the hint for an error about an unknown value of a setting; nothing, if no known value is near."""
    if (left := _LEFT.get(f"{key}={value}")) is not None:
        return f" ({left})"
    return did_you_mean(value, known, treebank_words() if key == "treebank" else _VALUES.get(key, {}))


def meant_entry(name: str) -> str:
    """Return the hint for an error about a setting in a dictionary, such as ``embeddings.fomr``."""
    group, _, last = name.rpartition(".")
    entries: Collection[str] = _ENTRIES.get(group, ())
    return "" if last in entries else question([f"{group}.{near}" for near in nearest(last, entries)])


@cache
def treebank_words() -> dict[str, str]:
    """Return what people call the treebanks known by name: ``Hungarian``, ``UD_Hungarian-Szeged``, ``hu_szeged``, ``hu``."""
    words = {}
    for path in sorted((CONFIGS / "treebank").glob("*.yaml")):
        words[path.stem] = path.stem
        if match := re.search(r"/(UD_([^/-]+)-[^/]+)/(\w+)-ud-train", path.read_text(encoding="utf-8")):
            words |= dict.fromkeys(match.groups(), path.stem)
    return words
