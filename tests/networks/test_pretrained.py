"""What a pretrained encoder makes of sentences: against transformers, word by word,
window by window.
"""

import os
import re
import shutil
import signal
import sys
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from parser.data.parts.characters import Characters
from parser.data.parts.pretrained import CONFIG, PretrainedError, PretrainedTokenizer, find_encoder
from parser.data.parts.subwords import TOKENIZER, WEIGHTS
from parser.data.sentences import Sentences
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import N_RESERVED, ROOT, UNKNOWN, Vocabulary
from parser.inference.transformer import float_weights
from parser.inference.windows import windows
from parser.network_spec import PretrainedSpec
from parser.networks import pretrained
from parser.networks.pretrained import (
    PretrainedEncoder,
    cache_vectors,
    computes_in_bfloat16,
    groups_of_like_length,
)
from tests.forgery import change
from tests.pretrained import SIZE, transformers, write_transformer
from tests.toy import sentence

pytestmark = pytest.mark.extras

SENTENCES = [["the", "w1", "nost"], ["w1"], [], ["a", "", "☃", "λβ", "the"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    transformers()
    return write_transformer(tmp_path_factory.mktemp("pretrained") / "encoder")


def reading(layers: int, tuned: bool = False) -> PretrainedSpec:
    return PretrainedSpec(SIZE, layers, 256, tuned)


@pytest.fixture
def encoder(folder) -> PretrainedEncoder:
    return PretrainedEncoder(PretrainedTokenizer.of(str(folder)), reading(3))


def encoded(encoder: PretrainedEncoder, forms: list[list[str]]) -> Sentences:
    offsets = np.cumsum([0, *(len(some) + 1 for some in forms)])
    return Sentences(encoder.pieces.encode_forms(forms), offsets)


def expected(encoder: PretrainedEncoder, forms: list[str]) -> np.ndarray:
    """float32[tokens, layers, width], word by word from what transformers makes of the whole
    sentence.
    """
    pieces = [
        encoder.pieces.pieces(form)[0][: PretrainedTokenizer.rows] if form else [] for form in forms
    ]
    read = [
        *encoder.pieces.before,
        *(one for some in pieces for one in some),
        *encoder.pieces.after,
    ]
    with torch.no_grad():
        layers = encoder.transformer(torch.tensor([read]), output_hidden_states=True).hidden_states
    by_piece = torch.stack(layers, dim=2)[0].numpy()
    vectors, place = [by_piece[0]], len(encoder.pieces.before)
    for some in pieces:
        vectors.append(
            by_piece[place : place + len(some)].mean(axis=0) if some else np.zeros_like(by_piece[0])
        )
        place += len(some)
    stacked = np.stack(vectors)
    centred = stacked - stacked.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(centred.var(axis=-1, keepdims=True) + 1e-5)


def test_a_word_has_the_mean_of_its_pieces_in_each_layer(encoder):
    sentences = encoded(encoder, SENTENCES)
    found = encoder.vectors(sentences.values, sentences.offsets)
    assert found.shape == (sentences.offsets[-1], 3, SIZE)
    assert found.dtype == np.float16
    of_words = np.concatenate([expected(encoder, forms) for forms in SENTENCES])
    np.testing.assert_allclose(found, of_words, atol=2e-3)
    assert not found[6].any() or found[6].shape == (3, SIZE)


def test_pieces_of_forms(encoder):
    first, *_ = encoder.pieces.encode_forms([["the", "", "☃", "w" * 99, "\ud800"]])
    assert first[0] == ROOT
    assert first[2] == UNKNOWN
    assert (first[[1, 3, 4]] >= N_RESERVED).all()
    assert (encoder.pieces.before, encoder.pieces.after) == ([0], [0])
    assert (encoder.pieces.encode_forms([["w" * 99]])[:, 1] >= N_RESERVED).all()


def test_vectors_depend_on_the_sentence_alone_and_not_on_threads(encoder):
    together = encoded(encoder, SENTENCES * 3)
    found = encoder.vectors(together.values, together.offsets)
    before = torch.get_num_threads()
    try:
        for n in (1, 2):
            torch.set_num_threads(n)
            one_by_one = [encoded(encoder, [forms]) for forms in SENTENCES * 3]
            alone = np.concatenate(
                [encoder.vectors(some.values, some.offsets) for some in one_by_one]
            )
            assert alone.tobytes() == found.tobytes()
            assert torch.get_num_threads() == n
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("kind", ["T5", "Bart"])
def test_of_an_encoder_and_a_decoder_the_first_is_read_and_saved(kind, folder, tmp_path):
    package = transformers()
    sizes = {"t5": {"num_layers": 2, "num_heads": 2, "d_kv": 6, "d_ff": 16}}
    of_bart = ("layers", 2), ("attention_heads", 2), ("ffn_dim", 16)
    sizes["bart"] = {f"{part}_{name}": n for part in ("encoder", "decoder") for name, n in of_bart}
    config = getattr(package, f"{kind}Config")(
        vocab_size=60, d_model=SIZE, pad_token_id=1, **sizes[kind.lower()]
    )
    shutil.copytree(folder, tmp_path / "both")
    getattr(package, f"{kind}Model")(config).save_pretrained(tmp_path / "both")
    encoder = PretrainedEncoder(PretrainedTokenizer.of(str(tmp_path / "both")), reading(3))
    sums = encoder.save(tmp_path / "saved")
    saved = PretrainedEncoder(PretrainedTokenizer(tmp_path / "saved", "saved", sums), reading(3))
    sentences = encoded(encoder, SENTENCES)
    found, again = (one.vectors(sentences.values, sentences.offsets) for one in (encoder, saved))
    assert again.tobytes() == found.tobytes()
    tensors = load_file(tmp_path / "saved" / WEIGHTS)
    save_file(
        {name: tensor for name, tensor in tensors.items() if "embed_tokens" not in name},
        tmp_path / "saved" / WEIGHTS,
    )
    with pytest.raises(PretrainedError, match="is missing in the weights"):
        PretrainedEncoder(PretrainedTokenizer.of(str(tmp_path / "saved")), reading(3))


def test_an_encoder_without_a_window_is_read_in_windows_nevertheless(folder, tmp_path):
    package = transformers()
    shutil.copytree(folder, tmp_path / "xlnet")
    config = package.XLNetConfig(vocab_size=60, d_model=SIZE, n_layer=2, n_head=2, d_inner=16)
    package.XLNetModel(config).save_pretrained(tmp_path / "xlnet")
    encoder = PretrainedEncoder(PretrainedTokenizer.of(str(tmp_path / "xlnet")), reading(3))
    sentences = encoded(encoder, [["the"] * 1000])
    assert np.isfinite(encoder.vectors(sentences.values, sentences.offsets)).all()


def test_a_tuned_encoder_reads_with_its_present_weights(folder):
    tuned, other = (
        PretrainedEncoder(PretrainedTokenizer.of(str(folder)), reading(1, tuned=True))
        for _ in range(2)
    )
    sentences = encoded(tuned, SENTENCES)
    arguments = torch.from_numpy(sentences.values), np.diff(sentences.offsets)
    optimizer = torch.optim.Adam(tuned.transformer.parameters(), lr=0.05, fused=True)
    for _ in range(3):
        found = tuned.frozen(False).vectors(sentences.values, sentences.offsets)
        assert found.tobytes() == tuned.vectors(sentences.values, sentences.offsets).tobytes()
        rounded = {
            name: torch.from_numpy(array) for name, array in float_weights(tuned.tensors()).items()
        }
        other.transformer.load_state_dict(rounded)
        with torch.no_grad():
            np.testing.assert_allclose(found, other.compute(*arguments), atol=4e-3)
        optimizer.zero_grad()
        tuned.compute(*arguments)[:, 0, :3].square().sum().backward()
        optimizer.step()


def test_padding_changes_nothing_but_rounding(encoder):
    sentences = encoded(encoder, SENTENCES)
    with torch.no_grad():
        found = encoder.compute(torch.from_numpy(sentences.values), np.diff(sentences.offsets))
    np.testing.assert_allclose(
        found, encoder.vectors(sentences.values, sentences.offsets), atol=2e-3
    )


def cost_of(groups: list[list[int]], lengths: list[int]) -> int:
    return sum(
        pretrained._GROUP_COST + len(group) * max(lengths[window] for window in group)
        for group in groups
    )


@given(st.lists(st.integers(1, 500), max_size=9))
def test_no_other_groups_of_windows_cost_less(lengths):
    groups = groups_of_like_length(lengths)
    assert sorted(window for group in groups for window in group) == [*range(len(lengths))]
    order = sorted(range(len(lengths)), key=lambda window: lengths[window])
    for cuts in product([False, True], repeat=max(0, len(lengths) - 1)):
        others = [order[:1]] if order else []
        for cut, window in zip(cuts, order[1:], strict=True):
            if cut:
                others.append([window])
            else:
                others[-1] = [*others[-1], window]
        assert cost_of(groups, lengths) <= cost_of(others, lengths)


def test_groups_of_windows_are_not_too_large():
    groups = groups_of_like_length([7] * 100)
    assert sorted(map(len, groups)) == [4, 32, 32, 32]


def test_a_long_sentence_is_read_in_windows(encoder):
    forms = ["the", "w1", "a"] * 20
    sentences = encoded(encoder, [forms])
    found = encoder.vectors(sentences.values, sentences.offsets)
    sizes = (sentences.values[:, 1:] >= N_RESERVED).sum(axis=0)
    parts = windows(sizes, 22)
    assert len(parts) > 2
    for window in parts:
        of_window = expected(encoder, forms[window.first : window.last])[1:]
        kept = of_window[window.kept - window.first : window.end - window.first]
        np.testing.assert_allclose(found[1 + window.kept : 1 + window.end], kept, atol=2e-3)
    np.testing.assert_allclose(found[0], expected(encoder, forms[: parts[0].last])[0], atol=2e-3)


def test_vectors_are_computed_once_and_read_from_the_cache(encoder, folder, tmp_path, monkeypatch):
    parts = [encoded(encoder, SENTENCES), encoded(encoder, SENTENCES[:1])]
    without = encoder.vectors(parts[0].values, parts[0].offsets)
    cache_vectors(encoder, parts, tmp_path / "cache")
    files = {path: path.read_bytes() for path in (tmp_path / "cache").iterdir()}
    assert len(files) == 2
    other = PretrainedEncoder(PretrainedTokenizer.of(str(folder)), reading(3))
    monkeypatch.setattr(other, "compute", None)
    cache_vectors(other, parts, tmp_path / "cache")
    assert other.vectors(parts[0].values, parts[0].offsets).tobytes() == without.tobytes()
    assert {path: path.read_bytes() for path in (tmp_path / "cache").iterdir()} == files
    fewer = PretrainedEncoder(PretrainedTokenizer.of(str(folder)), reading(2))
    cache_vectors(fewer, parts, tmp_path / "cache")
    assert len([*(tmp_path / "cache").iterdir()]) == 4


def test_a_damaged_file_of_the_cache_is_written_again(encoder, tmp_path):
    parts = [encoded(encoder, SENTENCES)]
    cache_vectors(encoder, parts, tmp_path)
    [path] = tmp_path.iterdir()
    whole = path.read_bytes()
    for damaged in (whole[:50], whole[:-1], b"", b"PK\x03\x04", b"\x80\x04."):
        path.write_bytes(damaged)
        encoder.known.clear()
        cache_vectors(encoder, parts, tmp_path)
        assert path.read_bytes() == whole


def test_what_a_killed_run_left_in_the_cache_a_day_ago_is_removed(encoder, tmp_path):
    old, new, foreign = (
        tmp_path / f".{name}.tmp"
        for name in ("a.npy.0123456789abcdef", "b.npy.0123456789abcdef", "notes")
    )
    for path in (old, new, foreign):
        path.touch()
    for path in (old, foreign):
        os.utime(path, (0, 0))
    cache_vectors(encoder, [], tmp_path)
    assert {*tmp_path.iterdir()} == {new, foreign}


@pytest.mark.posix
def test_a_full_disk_names_the_file_and_leaves_nothing(encoder, tmp_path):
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, before[1]))
        with pytest.raises(OSError, match=re.escape(str(tmp_path))):
            cache_vectors(encoder, [encoded(encoder, SENTENCES)], tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert not [*tmp_path.iterdir()]


def test_pieces_stand_after_all_other_values(encoder):
    words = sentence([0, 1])
    words.forms = ["the", "w1"]
    both = Vocabularies({"form": Vocabulary(["w1"])}, [encoder.pieces, Characters(["a"], 3)])
    values = both.encode([words]).values
    assert both.n_rows == len(values) == 1 + 3 + PretrainedTokenizer.rows
    np.testing.assert_array_equal(values[4:], encoder.pieces.encode_forms([words.forms]))


def test_a_byte_level_tokenizer_reads_the_blank_before_a_word(folder, tmp_path):
    write_transformer(tmp_path / "bytes")
    package = transformers() and sys.modules["tokenizers"]
    made = package.Tokenizer(package.models.BPE({"Ġ": 0, "a": 1, "Ġa": 2}, [("Ġ", "a")]))
    made.pre_tokenizer = package.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.save(str(tmp_path / "bytes" / TOKENIZER))
    pieces = PretrainedTokenizer.of(str(tmp_path / "bytes"))
    assert pieces.encode_forms([["a"]])[0, 1] == N_RESERVED + 2
    assert (pieces.before, pieces.after) == ([], [])


def _without(name: str):
    return lambda folder: (folder / name).unlink()


def _config(**changed):
    return lambda folder: change(folder / CONFIG, lambda config: config.update(changed))


def _lacking(folder):
    tensors = load_file(folder / WEIGHTS)
    tensors.pop("encoder.layer.0.output.dense.weight")
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})


FAULTS = {
    "no config": (_without(CONFIG), rf"lacks {CONFIG}"),
    "no tokenizer": (_without(TOKENIZER), rf"lacks {TOKENIZER} of a fast tokenizer"),
    "no weights": (_without(WEIGHTS), rf"lacks {WEIGHTS}"),
    "a pickle alone": (
        lambda folder: (folder / WEIGHTS).rename(folder / "pytorch_model.bin"),
        rf"lacks {WEIGHTS}",
    ),
    "a tensor is missing": (
        _lacking,
        r"encoder\.layer\.0\.output\.dense\.weight is missing in the weights",
    ),
    "sizes that the weights cannot have": (
        _config(hidden_size=10**12),
        r"hidden_size=1,000,000,000,000 is more than",
    ),
    "layers without end": (
        _config(num_hidden_layers=1000),
        r"num_hidden_layers=1,000 is more than",
    ),
    "another kind of model": (
        _config(model_type="no such"),
        r"cannot load this encoder|knows no such encoder",
    ),
    "code of its own": (
        _config(model_type="own", auto_map={"AutoModel": "code.Own", "AutoConfig": "code.Config"}),
        r"cannot load this encoder|knows no such encoder",
    ),
    "quantized": (_config(quantization_config={}), r"its weights are quantized"),
    "other sizes": (
        _config(max_position_embeddings=12),
        r"position_embeddings\.weight has another size in the weights",
    ),
    "a short window": (
        lambda folder: write_transformer(folder, window=12),
        r"it reads only 12 pieces",
    ),
    "weights that are none": (
        lambda folder: (folder / WEIGHTS).write_bytes(b"no"),
        r"cannot be read",
    ),
    "a tokenizer that is none": (lambda folder: (folder / TOKENIZER).write_text("{"), TOKENIZER),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_with_a_folder_is_said(tmp_path, fault):
    edit, message = FAULTS[fault]
    edit(write_transformer(tmp_path / "encoder"))
    with pytest.raises(PretrainedError, match=message):
        PretrainedEncoder(PretrainedTokenizer.of(str(tmp_path / "encoder")), reading(2))


def test_a_relative_folder_is_that_of_loading(folder, monkeypatch):
    """The weights are read later than the tokenizer."""
    monkeypatch.chdir(folder.parent)
    pieces = PretrainedTokenizer.of(folder.name)
    monkeypatch.chdir("/")
    assert PretrainedEncoder(pieces, reading(2))


def test_more_layers_than_there_are(folder):
    with pytest.raises(PretrainedError, match="it has 3 layers"):
        PretrainedEncoder(PretrainedTokenizer.of(str(folder)), reading(4))


def test_an_encoder_that_is_not_there(tmp_path):
    transformers()
    with pytest.raises(PretrainedError, match="there is no such folder"):
        find_encoder(str(tmp_path / "no"))
    with pytest.raises(
        PretrainedError, match=r"it has not been fetched \(hf download no-such/model\)"
    ):
        find_encoder("no-such/model")


def test_a_name_on_the_hub_is_fetched_in_training_alone(folder, tmp_path, monkeypatch):
    asked = []

    def snapshot_download(name, *, allow_patterns, local_files_only):
        asked.append((name, local_files_only))
        assert not any("bin" in pattern or "py" in pattern for pattern in allow_patterns)
        return str(folder)

    transformers()
    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    pieces = PretrainedTokenizer.of("some/model", download=True)
    assert (pieces.source, pieces.folder) == ("some/model", folder)
    assert PretrainedTokenizer.needed_by(tmp_path, "some/model", pieces.sums).folder == folder
    assert asked == [("some/model", False), ("some/model", True)]


@pytest.mark.parametrize(
    ("instructions", "expected"),
    [
        ({"avx512f", "avx512bf16"}, False),  # Intel without AMX
        ({"avx512f", "avx512bf16", "amx-bf16"}, True),
        ({"avx512f", "avx512bf16", "sse4a"}, True),  # AMD
        ({"avx2", "sse4a"}, False),
    ],
)
def test_training_uses_bfloat16_where_it_is_faster(instructions, expected, monkeypatch):
    monkeypatch.setattr(pretrained, "instructions", lambda: instructions)
    assert computes_in_bfloat16(torch.device("cpu")) == expected
    assert not computes_in_bfloat16(torch.device("meta")), "it has no autocast"
