"""The parser as a library."""

import copy
import io
import itertools
import pickle
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from unicodedata import normalize

import conllu
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parser as package
from oracles.errors import OptimalStepError
from parser import InputError, Parser, library
from parser.beam_settings import Beam, Merge
from parser.conllu.checks import check_tree
from parser.decoding import predictor
from parser.decoding.files import missing_columns
from parser.decoding.files.missing_columns import MissingColumnsError
from parser.decoding.parse_options import TagUse
from parser.decoding.search import parse, search_for
from parser.library import parsed_sentence
from parser.library.parsed_sentence import read_words
from parser.model_folder import TOKENIZER, ModelError
from parser.text.tokens import TokenizerError
from tests.forgery import small_linear_model, small_model
from tests.forked import new_python
from tests.parsed_files import parse_file
from tests.random_models import random_lemma_model, random_text_model
from tests.searches import parser_with_beam
from tests.text.tiny_tokenizer import save_tiny_tokenizer
from tests.toy import ROOT, sentence

FORMS = [["a", "b", "éa"], ["b"], []]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library") / "model"
    random_text_model().save(folder)
    return folder


@pytest.fixture(scope="module")
def parser(folder) -> Parser:
    return Parser.load(folder)


@pytest.fixture(scope="module")
def with_lemmas(tmp_path_factory) -> Parser:
    folder = tmp_path_factory.mktemp("lemmas") / "model"
    random_lemma_model().save(folder)
    return Parser.load(folder)


def test_importing_the_package_loads_no_torch():
    new_python("import sys, parser; from parser import Parser; assert 'torch' not in sys.modules")


def test_the_package_has_the_names_of_its_pages():
    assert all(getattr(package, name) is getattr(library, name) for name in package.__all__)
    assert package.MissingColumnsError is MissingColumnsError
    assert package.__all__ == sorted(package.__all__)
    assert {*package.__all__} <= {*dir(package)}
    for error in (name for name in package.__all__ if name.endswith("Error")):
        assert f"`{error}`" in (ROOT / "docs" / "library.md").read_text()


@given(
    st.lists(
        st.lists(st.text("ab\u00e9\u0323e", min_size=1, max_size=4), min_size=1, max_size=4),
        max_size=3,
    )
)
def test_decomposed_forms_have_the_trees_tags_and_lemmas_of_composed_ones(with_lemmas, forms):
    one, other = (
        [[normalize(form, word) for word in words] for words in forms] for form in ("NFC", "NFD")
    )
    for composed, decomposed in zip(with_lemmas.parse(one), with_lemmas.parse(other), strict=True):
        assert (composed.heads, composed.deprels, composed.tags) == (
            decomposed.heads,
            decomposed.deprels,
            decomposed.tags,
        )
        assert [normalize("NFC", form) for form in decomposed.forms] == composed.forms


def test_forms_may_all_be_underscores(parser):
    """Which would be a missing column in a file."""
    words = [("_", "DET", "X", "A=b")] * 120
    assert [len(one) for one in parser.parse([words])] == [120]


def test_lists_of_forms_are_parsed(parser):
    found = parser.parse(FORMS)
    assert [one.forms for one in found] == FORMS
    for one in found[:2]:
        check_tree(one.heads)
        assert len(one) == len(one.deprels) == len(one.probabilities) == len(one.tags["upos"])
        assert all(0 < probability < 1 for probability in one.probabilities)
        assert 0 < one.probability <= 1
    assert (found[2].heads, found[2].probability) == ([], 1.0)


def test_it_gives_the_trees_of_the_commands(parser):
    read = [sentence([0] + [1] * n) for n in range(6)]
    found = parser.parse([one.forms for one in read])
    for one in read:
        one.feats = ["_"] * len(one)
    assert [head for one in found for head in (-1, *one.heads)] == parse(
        random_text_model(), read
    ).heads.tolist()


def test_tuples_and_token_lists_are_the_same(parser):
    lines = ["# text = ab", "1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_"]
    lines += [f"{i}\t{form}\t_\tX\t_\tA=b|C=d\t_\t_\t_\t_" for i, form in enumerate("ab", 1)]
    [tokens] = conllu.parse("\n".join(lines) + "\n\n")
    assert parser.parse([tokens]) == parser.parse(
        [[("a", "X", "_", "A=b|C=d"), ("b", "X", None, "A=b|C=d")]]
    )


def test_feats_are_written_as_the_library_does():
    lines = "".join(
        f"{i}\tb\t_\tX\t_\t{feats}\t_\t_\t_\t_\n"
        for i, feats in enumerate(["Foo", "A=b|C=d", "_", "E="], 1)
    )
    [tokens] = conllu.parse(lines + "\n")
    written = [line.split("\t")[5] for line in tokens.serialize().splitlines() if line]
    assert written == ["Foo", "A=b|C=d", "_", "E=_"]
    assert read_words(tokens, 1).feats == written


@pytest.fixture
def asked(monkeypatch):
    """Return the beams that are asked for."""
    beams = []

    def note(model, wish):
        beams.append(wish.beam)
        return search_for(model, wish)

    monkeypatch.setattr(predictor, "search_for", note)
    return beams


def test_it_searches_with_the_beam_of_the_model(tmp_path, asked):
    model = random_text_model()
    model.beam = Beam(4)
    model.save(tmp_path / "model")
    many = [["a", "b", "éa", "b", "a", "ab"][:n] for n in range(7)]
    encoded = model.vocabularies.encode([read_words(forms, 1) for forms in many])
    for size in (None, np.int64(2), 1):
        found = Parser.load(tmp_path, beam=size).parse(many)
        expected = parser_with_beam(model, Beam(int(size or 4))).parse(encoded)
        assert [head for one in found for head in (-1, *one.heads)] == expected.heads.tolist()
        assert all(0 < probability < 1 for one in found for probability in one.probabilities)
    assert [beam for beam in asked if beam.size > 1] == [Beam(4), Beam(2)]


def test_products_of_8_bits(folder):
    parser = Parser.load(folder, int8=True)
    assert parser.model.int8
    check_tree(parser.parse([["a", "b", "éa"]])[0].heads)


def test_a_pickled_parser_is_loaded_again_with_its_options(folder, monkeypatch, asked):
    monkeypatch.chdir(folder.parent)
    loaded = Parser.load("model", beam=4, merge="none", rerank=True)
    written = pickle.dumps(loaded)
    assert len(written) < 1000
    monkeypatch.chdir("/")
    again = pickle.loads(written)
    assert [beam for beam in asked if beam.size > 1] == [Beam(4, Merge.NONE, rerank=True)] * 2
    assert again.parse(FORMS) == loaded.parse(FORMS)
    assert pickle.dumps(again) == written
    with pytest.raises(TypeError, match="a parser that Parser"):
        pickle.dumps(Parser(random_text_model()))


def test_a_relative_folder_is_that_of_loading(folder, tmp_path, monkeypatch):
    """Also where a folder of the same name lies in the new working folder;
    the tokenizer is read with the first text.
    """
    for place in ("here", "there"):
        shutil.copytree(folder, tmp_path / place / "model")
        save_tiny_tokenizer(tmp_path / place / "model")
    (tmp_path / "there" / "model" / TOKENIZER).write_text("no tokenizer")
    monkeypatch.chdir(tmp_path / "here")
    loaded = [
        Parser.load("model"),
        Parser.load("."),
        Parser(random_text_model(), folder=Path("model")),
    ]
    again = pickle.dumps(loaded[0])
    assert repr(loaded[0]) == "Parser('model', arc_standard)"
    monkeypatch.chdir(tmp_path / "there")
    for parser in (*loaded, pickle.loads(again)):
        assert [len(one) for one in parser.parse_text("a b. b", allow_missing_columns=True)] == [
            3,
            1,
        ]


def test_options_that_are_true_or_false(folder, parser, reader):
    """A bool of numpy, 0 and 1 are meant so; the text "no" is true for Python, so it is refused,
    as is any other value.
    """
    for value in (False, 0, np.False_, np.int64(0), True, 1, np.True_, None):
        made = Parser.load(folder, int8=value)
        assert made.model.int8 is bool(value)
        assert pickle.loads(pickle.dumps(made)).model.int8 is bool(value)
        assert Parser.load(folder, beam=2, rerank=value)._predictor._beam.rerank is bool(value)
        assert parser.parse(FORMS, single_root=value) == parser.parse(
            FORMS, single_root=bool(value)
        )
        assert parser.parse(FORMS, allow_missing_columns=value)
        assert parser.parse(FORMS, fit_tags=value)
        assert reader.parse_text("a b.", single_root=value) == reader.parse_text(
            "a b.", single_root=bool(value)
        )
        assert [*reader.pipe(["a b."], single_root=value, allow_missing_columns=value)]
    for value in ("no", "", "False", 2, -1, 0.0, [], np.array(False)):
        for option in ("int8", "rerank"):
            with pytest.raises(
                OptimalStepError, match=f"{option}=.* is not possible; give True or False"
            ):
                Parser.load(folder, beam=2, **{option: value})
        for function, words, *names in (
            (parser.parse, FORMS, "single_root", "allow_missing_columns", "fit_tags"),
            (reader.parse_text, "a b.", "single_root", "allow_missing_columns"),
            # refused when called, not when the first result is asked for
            (reader.pipe, FORMS, "single_root", "allow_missing_columns", "progress"),
        ):
            for option in names:
                with pytest.raises(
                    OptimalStepError, match=f"{option}=.* is not possible; give True or False"
                ):
                    function(words, **{option: value})


def test_devices_and_treebanks_of_any_type(folder, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for device in ("cuda", "gpu", "cuda:1", 3, None):
        with pytest.raises(ModelError, match=f"there is no device '{device}' here; ") as raised:
            Parser.load(folder, device=device)
        assert "did you mean" not in str(raised.value), "it is not here, either"
    for treebank in (3, ["a"], b"a"):
        with pytest.raises(ModelError, match="the model was not trained on a treebank"):
            Parser.load(folder, treebank=treebank)


def test_a_sentence_is_written_as_conllu(parser):
    given = [("a", "DET", None, "E=f"), ("b", None, None), ("éa", "X")]
    [found] = parser.parse([given])
    [read] = conllu.parse(found.conllu())
    assert [(word["id"], word["form"], word["upos"]) for word in read] == [
        (1, "a", "DET"),
        (2, "b", "_"),
        (3, "éa", "X"),
    ]
    assert [word["feats"] for word in read] == [{"E": "f"}, None, None]
    assert [(word["head"], word["deprel"]) for word in read] == list(
        zip(found.heads, found.deprels, strict=True)
    )
    [found, nothing] = parser.parse([["a", "b"], []])
    assert [line.split("\t")[3] for line in found.conllu().splitlines()[:2]] == found.tags["upos"]
    assert found.conllu().endswith("\n\n")
    assert nothing.conllu() == ""


def test_lemmas_are_given_and_written(tmp_path):
    random_lemma_model().save(tmp_path / "model")
    (tmp_path / "lemmas.tsv").write_text("b\t_\twritten\n")
    plain, loaded = Parser.load(tmp_path), Parser.load(tmp_path, lexicon=tmp_path / "lemmas.tsv")
    target = BytesIO()
    lines = "".join(
        f"{number}\t{form}\t_\t_\t_\t_\t_\t_\t_\t_\n" for number, form in enumerate(FORMS[0], 1)
    )
    parse_file(
        plain.model,
        BytesIO(f"{lines}\n".encode()),
        target,
        tags=TagUse.FILL,
        allow_missing_columns=True,
    )
    [found] = plain.parse(FORMS[:1], allow_missing_columns=True)
    assert found.conllu() == target.getvalue().decode()
    assert [word.lemma for word in found.words] == found.tags["lemma"] != ["_"] * 3
    again = pickle.loads(pickle.dumps(loaded))
    for parser in (loaded, again):
        [other] = parser.parse(FORMS[:1], allow_missing_columns=True)
        assert other.tags["lemma"] == [found.tags["lemma"][0], "written", found.tags["lemma"][2]]
    [given] = plain.parse(
        [conllu.parse(lines.replace("b\t_", "b\tB") + "\n")[0]], allow_missing_columns=True
    )
    assert [line.split("\t")[2] for line in given.conllu().split("\n")[:3]] == ["_", "B", "_"]


def test_what_is_printed_is_short(folder, parser):
    [found] = parser.parse([["ab"] * 1000], allow_missing_columns=True)
    assert repr(parser) == f"Parser({str(folder)!r}, arc_standard)"
    assert repr(parser.model).startswith("FrozenModel(arc_standard, ")
    assert repr(small_linear_model()).startswith("LinearModel(arc_standard, ")
    assert repr(found).startswith("ParsedSentence(1,000 words: 'ab ab ")
    assert max(len(repr(one)) for one in (parser.model, small_linear_model(), found)) < 150


def test_words_one_by_one_and_the_tree_drawn(parser, monkeypatch):
    [found, nothing] = parser.parse([[("a<b", "DET"), "b"], []])
    assert [word.form for word in found.words] == ["a<b", "b"]
    for word, head, deprel, probability in zip(
        found.words, found.heads, found.deprels, found.probabilities, strict=True
    ):
        assert (word.head, word.deprel, word.probability) == (head, deprel, probability)
    assert (found.words[0].id, found.words[0].upos) == (1, "DET")
    drawn = found.draw().splitlines()
    assert len(drawn) == 2
    assert all(
        word.deprel in line and line.endswith(word.form)
        for word, line in zip(found.words, drawn, strict=True)
    )
    picture = found._repr_html_()
    assert picture.count("<svg") == 1
    assert "a&lt;b</text>" in picture
    assert nothing.words == []
    assert nothing._repr_html_().count("<svg") == 1
    monkeypatch.setattr(parsed_sentence, "LONGEST", len(found) - 1)
    assert found._repr_html_() is None


def test_a_parser_is_called_with_words_or_text(folder, tmp_path):
    save_tiny_tokenizer(tmp_path / "tokenizer")
    parser = Parser.load(folder, tokenizer=tmp_path / "tokenizer")
    assert parser(FORMS, single_root=False) == parser.parse(FORMS, single_root=False)
    assert parser("a b. b") == parser.parse_text("a b. b")
    assert len(parser("a b. b")) == 2


@pytest.fixture
def reader(folder, tmp_path) -> Parser:
    """Return a parser with a tokenizer."""
    save_tiny_tokenizer(tmp_path / "tokenizer")
    return Parser.load(folder, tokenizer=tmp_path / "tokenizer")


MIXED = ["a b. b", ["a", "b"], "", [], "du éa b.\nb", [("a", "DET"), "éa"], " ", "b."]


@pytest.mark.parametrize("batch_size", [1, 3, np.int64(8), 100])
def test_a_pipe_gives_what_is_found_one_by_one(reader, batch_size):
    expected = [
        reader.parse_text(one) if isinstance(one, str) else reader.parse([one])[0] for one in MIXED
    ]
    found = list(reader.pipe(iter(MIXED), batch_size=batch_size))
    assert found == expected
    assert [one.text for one in found[0]] == ["a b.", "b"]
    assert list(map(type, found)) == list(map(type, expected))
    options = {"sentences": "line", "tokens": "space", "single_root": False}
    lines = [one for one in MIXED if isinstance(one, str)]
    assert list(reader.pipe(lines, batch_size=batch_size, **options)) == [
        reader.parse_text(one, **options) for one in lines
    ]


def test_a_pipe_reads_no_more_than_a_batch(reader):
    read = []
    endless = (read.append(number) or ["a"] * (1 + number % 3) for number in itertools.count())
    piped = reader.pipe(endless, batch_size=4)
    assert read == []
    assert [len(one) for one in itertools.islice(piped, 5)] == [1, 2, 3, 1, 2]
    assert read == [*range(8)]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (3, "sentence 4 is int 3"),
        (["a", 7], "sentence 4, word 2"),
        ("a\ud800", "character 2 of text 4 is '.ud800', half of a surrogate"),
    ],
)
def test_a_pipe_raises_an_error_after_the_results_before_it(reader, wrong, message):
    piped = reader.pipe([["a"], "b.", ["b"], wrong, ["a"]])
    assert [len(next(piped)) for _ in range(3)] == [1, 1, 1]
    with pytest.raises(InputError, match=message):
        next(piped)
    assert list(piped) == []


def test_a_pipe_looks_for_the_columns_of_each_item():
    model = small_model("static")
    model.vocabularies.by_attribute["upos"] = model.vocabularies.by_attribute.pop("form")
    piped = Parser(model).pipe([[("a", "X")], ["a"]])
    assert len(next(piped)) == 1
    with pytest.raises(MissingColumnsError, match=r"UPOS is _ .* 1 word"):
        next(piped)
    assert len(list(Parser(model).pipe([[("a", "X")], ["a"]], allow_missing_columns=True))) == 2


@pytest.mark.parametrize(
    ("items", "options", "message"),
    [
        ("a b", {}, "str 'a b' is not a list of texts or sentences"),
        (None, {}, "None is not a list of texts"),
        ([["a"]], {"batch_size": 0}, "batch_size=0 is not possible"),
        ([["a"]], {"batch_size": True}, "batch_size=True is not possible"),
        (["a"], {"tokens": "spaces"}, "tokens='spaces' is unknown"),
    ],
)
def test_what_cannot_be_piped_is_refused_at_once(parser, items, options, message):
    with pytest.raises(InputError, match=message):
        parser.pipe(items, **options)


def test_a_pipe_shows_its_progress_if_asked(parser, monkeypatch):
    for progress in (False, True):
        monkeypatch.setattr(sys, "stderr", said := io.StringIO())
        assert len(list(parser.pipe([["a"], ["b"]], progress=progress))) == 2
        assert ("2/2" in said.getvalue()) == progress


def test_words_know_the_words_around_them(parser):
    forms = ["a", "b", "éa", "b", "a"]
    [found] = parser.parse([forms], heads=[[2, 0, 5, 3, 2]])
    words = found.words
    assert [word.head_word and word.head_word.id for word in words] == [2, None, 5, 3, 2]
    assert [[child.id for child in word.children] for word in words] == [[], [1, 5], [4], [], [3]]
    assert [[below.id for below in word.subtree] for word in words] == [
        [1],
        [1, 2, 3, 4, 5],
        [3, 4],
        [4],
        [3, 4, 5],
    ]
    assert words[1].children[0] is words[0]
    for again in (pickle.loads(pickle.dumps(words)), copy.deepcopy(words), found.words):
        assert again == words
        assert again[1].subtree == words
    assert pickle.loads(pickle.dumps(words[3])).head_word == words[2]
    assert (len(words[0]), words[0]._fields[-1], tuple(words[0])) == (11, "end", words[0])
    assert repr(words[0]).startswith("ParsedWord(id=1, form='a', ")
    with pytest.raises(OptimalStepError, match="take it from the words of a ParsedSentence"):
        _ = words[0]._replace(form="b").children


def test_a_long_chain_of_words_is_no_trouble(parser):
    [found] = parser.parse([["a"] * 3000], allow_missing_columns=True)
    words = replace(found, heads=[*range(3000)]).words
    assert [len(word.subtree) for word in words[:2]] == [3000, 2999]
    assert len(pickle.loads(pickle.dumps(words))[0].subtree) == 3000


@pytest.mark.parametrize(
    "separator", ["\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u2028", "\u3000", "\x0b"]
)
def test_separators_are_words_as_in_files(reader, separator):
    """Which Python's str.strip() would remove."""
    [found] = reader.parse([["a", separator]])
    assert found.conllu().split("\n")[1].split("\t")[1] == separator
    text = f"a {separator} b."
    source = BytesIO(b"".join(reader._pipeline("model").conllu(BytesIO(text.encode()))))
    parse_file(
        reader.model,
        source,
        target := BytesIO(),
        tags=TagUse.OVERWRITE,
        allow_missing_columns=True,
    )
    written = target.getvalue().decode().split("\n")
    library = "".join(one.conllu() for one in reader.parse_text(text)).split("\n")
    assert [line for line in written if line[:1] != "#"] == [
        line for line in library if line[:1] != "#"
    ]


def test_a_list_of_sentences_is_shown_as_its_trees(parser, monkeypatch):
    monkeypatch.setattr(parsed_sentence, "_MOST_DRAWN", 2)
    monkeypatch.setattr(parsed_sentence, "LONGEST", 2)
    found = parser([["a"], ["a", "b", "b"], ["a", "b"]])
    assert isinstance(found, list)
    assert found._repr_html_() == f"{found[0]._repr_html_()}<p>2 sentences not drawn</p>"
    assert parser([["a", "b"]])._repr_html_().count("<svg") == 1
    assert parser([])._repr_html_() is None


def test_the_text_of_words_that_were_given(parser):
    lines = [
        f"{i}\t{form}\t_\tX\tY\tA=b\t_\t_\t_\t{misc}"
        for i, form, misc in [(1, "b", "_"), ("2-3", "ab", "SpaceAfter=No")]
    ]
    lines += [
        f"{i}\t{form}\t_\tX\tY\tA=b\t_\t_\t_\t_"
        for i, form in [(2, "a"), (3, "b"), ("3.1", "éa"), (4, "b")]
    ]
    [tokens] = conllu.parse("\n".join(lines) + "\n\n")
    of_tokens, of_forms = parser([tokens, ["a", "b"]])
    assert (of_tokens.text, of_forms.text) == ("b abb", "a b")
    odd = [
        {"id": (1, "-", 2)},
        {"form": "a", "misc": "_"},
        {"id": 2, "form": "b", "misc": None},
        {"id": ("x",), "form": "c"},
    ]
    assert [parser([odd])[0].text, parser([[]])[0].text] == ["a b", ""]
    assert [(word.xpos, word.feats, word.start, word.end) for word in of_tokens.words] == [
        ("Y", "A=b", None, None)
    ] * 4


@pytest.mark.parametrize("form", ["", " ", "a\tb", "a\nb", "\r", "\ud800"])
def test_what_conllu_cannot_hold(parser, form):
    given = parser.parse([["a", "b"]], heads=[[0, 1]], deprels=[["root", form or None]])
    for found in parser.parse([["a", form]]) + (given if form else []):
        with pytest.raises(InputError, match=r"word 2: .* cannot be written"):
            found.conllu()


def test_linear_models_parse_and_have_no_probabilities(tmp_path):
    model = small_linear_model()
    model.save(tmp_path / "model")
    for beam in (None, 4):
        [found] = Parser.load(tmp_path / "model", beam=beam).parse(
            [[("a", "NOUN"), ("w1", "VERB"), ("a", "VERB")]]
        )
        check_tree(found.heads)
        assert beam or np.isnan([found.probability, *found.probabilities]).all()


def test_threads_share_a_parser(parser):
    many = [[form * (i % 3 + 1) for form in ("a", "b", "é")] for i in range(30)]
    expected = [one.heads for one in parser.parse(many)]
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(parser.parse, [many] * 8):
            assert [one.heads for one in found] == expected


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (["a b"], "sentence 1 is a str"),
        (
            [("A", "DET"), ("dog", "NOUN")],
            r"sentence 1 is the tuple \('A', 'DET'\), a word with its tags",
        ),
        ([["a"], ["b", 3]], "sentence 2, word 2"),
        ([[()]], "sentence 1, word 1"),
        ([[(None, "X")]], "sentence 1, word 1"),
        ([[("a", "b", "c", "d", "e")]], "sentence 1, word 1"),
        (None, "None is not a list of sentences"),
        ([["a"], None], "sentence 2 is None"),
        ([["a"], 7], "sentence 2 is int 7"),
        ([b"a b"], "sentence 1 is bytes"),
        ([{"form": "a"}], "sentence 1 is dict"),
        ([["a", b"b"]], "sentence 1, word 2"),
        ([[("a", 5)]], "sentence 1, word 1: its upos is int 5"),
        ([[{"form": "a", "lemma": 5}]], "sentence 1, word 1: its lemma is int 5"),
        ([[("a", "X", None, {"A": "b"})]], "sentence 1, word 1: its feats is dict"),
        ([["a"], [{"id": 1, "form": "b", "xpos": ["Y"]}]], "sentence 2, word 1: its xpos is list"),
    ],
)
def test_what_is_no_sentence(parser, sentences, message):
    with pytest.raises(InputError, match=message):
        parser.parse(sentences)


@pytest.mark.parametrize("path", ["some/folder", Path("some/folder")])
def test_a_path_is_no_model(path):
    with pytest.raises(TypeError, match=r"Parser\.load\('some/folder'\)"):
        Parser(path)


def test_of_few_words_a_column_may_be_missing_as_is_told_once(caplog, monkeypatch):
    monkeypatch.setattr(missing_columns, "_FEW_VALUES", 0)
    parser = Parser(small_model("static"))
    parser.parse([["a", "b", "a"]], allow_missing_columns=True)
    parser.parse([["a"]])
    assert not caplog.records
    for _ in range(2):
        parser.parse([["a", "b", "a"]])
    assert caplog.messages == [
        "the sentences: FEATS may be missing: all of the 3 words have _, "
        "and this model reads it; if so, tag the input first"
    ]


def test_a_column_that_the_model_reads_must_be_there():
    model = small_model("static")
    model.vocabularies.by_attribute["upos"] = model.vocabularies.by_attribute.pop("form")
    with pytest.raises(
        MissingColumnsError, match=r"UPOS is _ .* 2 words.* allow_missing_columns=True$"
    ):
        Parser(model).parse([["a", "b"]])
    [found] = Parser(model).parse([["a", "b"]], allow_missing_columns=True)
    assert len(found.heads) == 2


def test_text_needs_a_tokenizer(parser):
    with pytest.raises(InputError, match="bytes b'a' is not text"):
        parser.parse_text(b"a")
    with pytest.raises(TokenizerError, match="give one"):
        Parser(random_text_model()).parse_text("a b")
