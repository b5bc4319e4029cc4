"""Forms in pieces, and the vectors of pieces, from the folder of a pretrained encoder."""

import json
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from parser.data.parts.characters import Characters
from parser.data.parts.subwords import TOKENIZER, WEIGHTS, SubwordError, Subwords, read_pretrained
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import ABSENT, N_RESERVED, ROOT, UNKNOWN, Vocabulary
from tests.forgery import change, set_at
from tests.pretrained import SIZE, write_encoder
from tests.toy import sentence

FORMS = ["w12", "the", "abst", "w1", "a.", "tower", "w12"]


@pytest.fixture
def folder(tmp_path):
    return write_encoder(tmp_path / "encoder")


def mean(subwords: Subwords, vectors: np.ndarray, form: str) -> np.ndarray:
    numbers = subwords.encode_forms([[form]])[:, 1]
    return vectors[numbers[numbers != ABSENT]].astype(np.float64).mean(axis=0)


@pytest.mark.extras
def test_vectors_of_forms_are_the_principal_components_of_the_means_of_embeddings(folder):
    subwords, vectors = read_pretrained(folder, FORMS, 4)
    assert vectors.dtype == np.float16
    assert vectors.shape == (len(subwords), 4)
    assert not vectors[:N_RESERVED].any()
    whole, table = (
        Subwords((folder / TOKENIZER).read_text(encoding="utf-8")),
        load_file(folder / WEIGHTS),
    )
    embeddings = table["embeddings.word_embeddings.weight"].astype(np.float64)
    forms = sorted(set(FORMS))
    means = np.array([embeddings[whole.pieces(form)[0]].mean(axis=0) for form in forms])
    centred = means - means.mean(axis=0)
    expected = centred @ np.linalg.svd(centred)[2][:4].T
    expected /= np.sqrt((expected**2).sum(axis=1).mean())
    found = np.array([mean(subwords, vectors, form) for form in forms])
    np.testing.assert_allclose(found, expected * np.sign((found * expected).sum(axis=0)), atol=0.01)


@pytest.mark.extras
def test_every_form_has_a_vector(folder):
    subwords, vectors = read_pretrained(folder, FORMS, 4)
    encoded = subwords.encode_forms([["the", "", "☃☃", "λ", "w" * 99, "a b", "\ud800"], []])
    assert encoded.shape == (subwords.rows, 9)
    assert encoded[:2, 0].tolist() == [ROOT, ABSENT] == encoded[:2, 8].tolist()
    assert encoded[:2, 2].tolist() == [UNKNOWN, ABSENT]
    assert (encoded[:, [1, 3, 4, 5, 6, 7]] != ABSENT).any(axis=0).all()
    assert (encoded[:, 5] != ABSENT).all()
    assert vectors[encoded].any(axis=2)[0, [1, 3, 4, 5, 6, 7]].all()


@pytest.mark.extras
def test_pieces_of_other_scripts_are_left_out_and_the_others_stay_what_they_are(folder):
    whole = Subwords((folder / TOKENIZER).read_text(encoding="utf-8"))
    latin, _ = read_pretrained(folder, FORMS, 2)
    greek, _ = read_pretrained(folder, [*FORMS, "λβ"], 2)
    assert len(whole) - len(latin) == 4  # ▁λβ, β, λ, ▁Ш
    assert len(whole) - len(greek) == 1
    for form in [*FORMS, "w9", "new", ",", "10"]:
        assert latin.pieces(form)[1] == greek.pieces(form)[1] == whole.pieces(form)[1]
    unknown = json.loads(latin.description)["model"]["unk_id"]
    assert latin.pieces("λ")[0][-1] == unknown == 1


@pytest.mark.extras
def test_word_pieces_all_stay(tmp_path):
    folder = write_encoder(
        tmp_path / "encoder", "WordPiece", "bert.embeddings.word_embeddings.weight"
    )
    subwords, vectors = read_pretrained(folder, FORMS, SIZE + 1)
    assert vectors.shape[1] == SIZE  # no more components than there are numbers
    assert (
        len(vectors)
        == len(json.loads((folder / TOKENIZER).read_text(encoding="utf-8"))["model"]["vocab"])
        + N_RESERVED
    )
    assert subwords.pieces("λβ")[1] == ["λ", "##β"]
    assert subwords.pieces("Ш")[1] == ["[UNK]"]


@pytest.mark.extras
def test_special_tokens_are_not_found_in_forms(folder):
    subwords, _ = read_pretrained(folder, ["<s>", *FORMS], 2)
    assert subwords.pieces("a<s>b")[1] == ["▁a", "<", "s", ">", "b"]
    assert subwords.pieces("<s>")[1] == ["▁", "<", "s", ">"]


@pytest.mark.extras
def test_the_pieces_of_a_byte_level_tokenizer_begin_with_the_blank_before_a_word(folder):
    package = sys.modules["tokenizers"]
    made = package.Tokenizer(package.models.BPE({"Ġ": 0, "a": 1, "Ġa": 2, "b": 3}, [("Ġ", "a")]))
    made.pre_tokenizer = package.pre_tokenizers.ByteLevel(add_prefix_space=False)
    for normalizer in (None, package.normalizers.Lowercase()):
        if normalizer is not None:
            made.normalizer = normalizer
        made.save(str(folder / TOKENIZER))
        subwords, _ = read_pretrained(folder, ["ab"], 2)
        assert subwords.pieces("ab")[1] == ["Ġa", "b"]
        assert subwords.encode_forms([[""]])[0, 1] == UNKNOWN


@pytest.mark.extras
def test_the_same_bytes_every_time(folder):
    (one, first), (two, second) = (
        read_pretrained(folder, forms, 3) for forms in (FORMS, FORMS[::-1])
    )
    assert one.description == two.description
    assert first.tobytes() == second.tobytes()


@pytest.mark.extras
def test_vocabularies_put_them_between_attributes_and_characters(folder):
    subwords, _ = read_pretrained(folder, FORMS, 3)
    read = sentence([0, 1])
    read.forms = ["abst", "w1"]
    characters = Characters(["a"], 3)
    both = Vocabularies({"form": Vocabulary(["w1"])}, [subwords, characters])
    encoded = both.encode([read]).values
    assert both.n_rows == len(encoded) == 1 + subwords.rows + 3
    np.testing.assert_array_equal(encoded[1:-3], subwords.encode_forms([read.forms]))
    np.testing.assert_array_equal(encoded[-3:], characters.encode_forms([read.forms]))
    of_forms, rows = both.for_column("forms")
    np.testing.assert_array_equal(of_forms.encode([read]).values, encoded[rows])
    assert not len(both.for_column("upos")[1])


def weights(**tensors):
    return lambda folder: save_file(
        {name.replace("_", "."): values for name, values in tensors.items()}, folder / WEIGHTS
    )


def tokenizer_with(*place_and_value):
    return lambda folder: change(folder / TOKENIZER, set_at(*place_and_value))


NOTHING_LEFT = {"type": "Replace", "pattern": {"Regex": "."}, "content": ""}


@pytest.mark.extras
@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda folder: (folder / WEIGHTS).unlink(),
            rf"{WEIGHTS}: the input embeddings .* cannot be read",
        ),
        (
            lambda folder: (folder / WEIGHTS).write_bytes(b"x" * 99),
            rf"{WEIGHTS}: the input embeddings",
        ),
        (
            weights(other=np.ones((2, 2), np.float32)),
            r"no tensor in it ends in word_embeddings\.weight",
        ),
        (
            weights(wte_weight=np.full((99, 5), np.nan, np.float32)),
            r"wte\.weight is no table of finite numbers",
        ),
        (
            weights(wte_weight=np.ones((99, 5), np.int16)),
            r"wte\.weight is I16; save the encoder in float16",
        ),
        (
            weights(wte_weight=np.ones((9, 5), np.float32)),
            rf"{TOKENIZER} has 42 pieces, {WEIGHTS} 9 vectors",
        ),
        (lambda folder: (folder / TOKENIZER).unlink(), "name a folder of a pretrained encoder"),
        (tokenizer_with("normalizer", NOTHING_LEFT), "finds no pieces in any form"),
        (tokenizer_with("model", "unk_id", None), "cannot use this tokenizer"),
        (lambda folder: (folder / TOKENIZER).write_text("[]"), rf"{TOKENIZER} cannot be read"),
        (lambda folder: (folder / TOKENIZER).write_text("{}"), "cannot use this tokenizer"),
    ],
)
def test_a_folder_that_cannot_be_read(folder, edit, message):
    edit(folder)
    with pytest.raises(SubwordError, match=message):
        read_pretrained(folder, FORMS, 2)


def test_without_the_package_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(
        SubwordError,
        match=r"not installed; pip install tokenizers, or pip install '\.\[subwords\]'",
    ):
        Subwords("{}")
