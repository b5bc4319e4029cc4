"""Sentences by a segmenter: what it learns, its windows, its files,
and the tokenizer that asks it.
"""

import io
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from parser import batch_sizes
from parser.data.vocabulary import Vocabulary
from parser.decoding.parse_options import SentenceEnds
from parser.evaluation import evaluate_files
from parser.inference.encoder import FrozenEncoder
from parser.model_folder import TOKENIZER, ModelError
from parser.text import segmenter as module
from parser.text.pipeline import BlankSplitter, TextPipeline
from parser.text.segmenter import ATTRIBUTES, Segmenter, SegmenterSpec, encoded, sentences
from parser.text.sentence_ends import SHORT_LINE
from parser.text.tokens import SplitSentence, Token, read_paragraphs, text_of
from parser.training.text.learning_texts import LearningText, paragraphs_of, plain_text
from parser.training.text.segmenter import (
    SegmenterNetwork,
    SegmenterTraining,
    ends_of,
    fitted,
    sentence_f1,
    train_segmenter,
)
from tests.forgery import change, set_at
from tests.text.tiny_tokenizer import save_tiny_tokenizer, tiny_tokenizer

SHAPE = SegmenterSpec(form=6, affix=4, layers=2, hidden=8, dropout=0.1)
# "c" ends a sentence of two or three tokens; nothing else tells.
GOLD = [
    [
        [Token(form, (form,), True) for form in words.split()]
        for words in ("a b c", "b c", "a a c", "b b c") * 3
    ]
]
TEXTS = [plain_text(GOLD)]
QUICK = SegmenterTraining(
    SHAPE, window=9, batch=4, tokens=1_500, most_epochs=60, learning_rate=0.02
)


def sentences_of(pipeline, text):
    return [sentence.tokens for sentence in pipeline.read(text)]


def words(paragraph):
    return [token for sentence in paragraph for token in sentence]


def random_segmenter(seed=0):
    torch.manual_seed(seed)
    tokens = words(GOLD[0])
    vocabularies = {name: Vocabulary.of(map(value, tokens)) for name, value in ATTRIBUTES.items()}
    network = SegmenterNetwork(SHAPE, vocabularies)
    return Segmenter(network.tensors(), SHAPE, vocabularies, 0.5), network


@pytest.fixture(scope="module")
def learned():
    return fitted(TEXTS, 1, QUICK)


def test_it_learns_where_sentences_end(learned):
    text = words(GOLD[0])[1:] + words(GOLD[0])[:7]
    found = learned.split([text, [], text[:1]])
    assert [[token.form for token in sentence][-1] for sentence in found[0]][:-1] == ["c"] * (
        len(found[0]) - 1
    )
    assert words(found[0]) == text
    assert found[1:] == [[], [text[:1]]]


def test_the_same_seed_makes_the_same_segmenter_and_leaves_the_generator_alone(learned):
    torch.manual_seed(7)
    again, drawn = fitted(TEXTS, 1, QUICK), torch.rand(3)
    torch.manual_seed(7)
    torch.testing.assert_close(drawn, torch.rand(3), rtol=0, atol=0)
    for name, tensor in learned.tensors.items():
        np.testing.assert_array_equal(tensor, again.tensors[name])


@settings(max_examples=20)
@given(
    st.lists(st.integers(0, 40), max_size=4),
    st.sampled_from([(128, 32), (5, 3), (1, 0)]),
    st.integers(0, 9),
)
def test_windows_are_read_as_the_network_reads_each_by_itself(lengths, sizes, seed):
    """The reference: torch's LSTMs, one window at a time."""
    rng, (segmenter, network) = np.random.default_rng(seed), random_segmenter(seed)
    paragraphs = [
        [Token(str(rng.choice(list("abcdX"))), ("a",), bool(rng.random() < 0.5)) for _ in range(n)]
        for n in lengths
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_DECIDED", sizes[0])
        patch.setattr(module, "_AROUND", sizes[1])
        patch.setattr(batch_sizes, "TOKENS_PER_SEGMENTING", 3)
        found = segmenter.probabilities(paragraphs)
    network.eval()
    for paragraph, probabilities in zip(paragraphs, found, strict=True):
        for start in range(0, len(paragraph), sizes[0]):
            first = max(0, start - sizes[1])
            read = encoded(segmenter.vocabularies, paragraph[first : start + sum(sizes)]).T
            with torch.no_grad():
                vectors = network.encoder.encode(
                    torch.from_numpy(read), np.array([len(read)])
                ).tokens
                expected = torch.sigmoid(network.output(vectors))[:, 0].numpy()
            decided = probabilities[start : start + sizes[0]]
            np.testing.assert_allclose(
                decided, expected[start - first :][: len(decided)], rtol=1e-4, atol=1e-5
            )


@pytest.mark.parametrize("seed", range(3))
def test_sentences_are_those_of_single_precision(seed):
    """The threshold is where 8 bits decide some tokens otherwise;
    each paragraph is read as a whole.
    """
    rng, (segmenter, _) = np.random.default_rng(seed), random_segmenter(seed)
    paragraphs = [
        [Token(form, (form,), True) for form in rng.choice(list("abcdX"), 60)] for _ in range(40)
    ]
    probabilities = segmenter.probabilities(paragraphs)
    segmenter.threshold = float(np.median(np.concatenate(probabilities)))
    pairs = zip(paragraphs, probabilities, strict=True)
    expected = [sentences(tokens, likely > segmenter.threshold) for tokens, likely in pairs]
    assert segmenter.split(paragraphs) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_OPEN", 0)
        assert segmenter.split(paragraphs) != expected


def test_tokens_that_are_open_are_read_again_together():
    """Else each would be read with all that is around it,
    which takes a hundred times the time where all are open.
    """
    segmenter, n, far = random_segmenter()[0], module._DECIDED, module._AROUND
    segmenter.threshold = 0.5
    found = [
        np.full(2 * n + 1, 0.5, np.float32),
        np.ones(9, np.float32),
        np.ones(3 * far, np.float32),
    ]
    found[2][[2, 4, 2 * far]] = 0.51
    expected = [
        (0, 0, n),
        (0, n, 2 * n),
        (0, 2 * n, 2 * n + 1),
        (2, 2, 5),
        (2, 2 * far, 2 * far + 1),
    ]
    assert segmenter._open(found) == expected


def test_a_warm_up_reads_in_8_bits_and_in_single_precision(monkeypatch, learned):
    stored, encode = set(), FrozenEncoder.encode
    monkeypatch.setattr(
        FrozenEncoder,
        "encode",
        lambda self, read: stored.add(self.arithmetic.stored) or encode(self, read),
    )
    TextPipeline(BlankSplitter(), learned).warm_up()
    assert stored == {np.uint8, np.float32}


def test_a_folder_gives_it_back_and_damage_is_named(tmp_path, learned, monkeypatch):
    monkeypatch.setattr(learned, "threshold", 0.35)
    learned.save(tmp_path, {"note": 1})
    loaded = Segmenter.load(tmp_path)
    assert loaded.threshold == 0.35
    for here, there in zip(
        learned.probabilities(GOLD[0]), loaded.probabilities(GOLD[0]), strict=True
    ):
        np.testing.assert_array_equal(here, there)
    for place, value, message in (
        ("threshold", "x", "could not convert"),
        ("threshold", 2, "not a probability"),
        ("shape hidden", 9, "do not belong to the same model"),
        ("shape hidden", 10**9, r"shape\.hidden: "),
        ("shape layers", 10**9, r"shape\.layers: "),
        ("shape layers", True, r"shape\.layers is bool"),
        ("shape dropout", 7, r"shape\.dropout: "),
        ("vocabularies", {}, "there is no field 'lower'"),
    ):
        learned.save(tmp_path, {})
        change(tmp_path / "segmenter.json", set_at(*place.split(), value))
        with pytest.raises(ModelError, match=message):
            Segmenter.load(tmp_path)
    (tmp_path / "segmenter.safetensors").unlink()
    with pytest.raises(ModelError, match=r"segmenter\.safetensors: .* missing"):
        Segmenter.load(tmp_path)


def test_the_tokenizer_asks_it_and_its_paragraphs_stay(tmp_path, learned):
    save_tiny_tokenizer(tmp_path)
    text = "a b c b. c a a c\n\nb b c a c"
    without = TextPipeline.of_model(tmp_path)
    learned.save(tmp_path)
    asked = TextPipeline.of_model(tmp_path)
    tokens = words(sentences_of(asked, text))
    assert tokens == words(sentences_of(without, text))
    expected = learned.split(
        [words(sentences_of(without, paragraph)) for paragraph in text.split("\n\n")]
    )
    assert sentences_of(asked, text) == [
        sentence for paragraph in expected for sentence in paragraph
    ]
    conllu = b"".join(asked.conllu(io.BytesIO(text.encode()))).decode()
    texts = [f"# text = {text_of(sentence)}" for paragraph in expected for sentence in paragraph]
    assert [line for line in conllu.splitlines() if line.startswith("# text")] == texts
    assert conllu.count("# newpar") == 2
    # which may be given one
    assert len(sentences_of(TextPipeline(tiny_tokenizer(), learned), "b c b c")) == 2
    # A file that is named comes with its own sentences,
    # and lines are sentences where they are said to be.
    assert sentences_of(
        TextPipeline.of_model(tmp_path, tmp_path / TOKENIZER), text
    ) == sentences_of(without, text)
    (presegmented,) = asked.conllu(io.BytesIO(b"a b c b c\n"), sentences=SentenceEnds.LINE)
    assert presegmented.count(b"# text") == 1


def test_it_finds_the_sentences_of_words_at_spaces(tmp_path, learned):
    """Lines do not matter to it, blank ones do;
    of a long paragraph it reads what is tokenized at a time.
    """
    learned.save(tmp_path)
    spaces = TextPipeline.of_model(tmp_path, tokens="space")
    words = [Token(form, (form,), space_after=True) for form in "abcbcaac"]
    assert (
        sentences_of(spaces, "a b\nc b c a a c\n\na b c b c a a c") == 2 * learned.split([words])[0]
    )
    assert (
        "".join(
            token.form for sentence in sentences_of(spaces, "a b\n" * 40_000) for token in sentence
        )
        == "ab" * 40_000
    )


class Deciding:
    """In place of a tokenizer: tokens at blanks, and a sentence for each paragraph,
    or each token.
    """

    def __init__(self, each: bool) -> None:
        self.each = each

    def split(self, text: str) -> list[SplitSentence]:
        found = []
        for paragraph in re.finditer(r"[^\n]+(\n[^\n]+)*", text):
            tokens = [
                (one[0], one.span()) for one in re.compile(r"\S+").finditer(text, *paragraph.span())
            ]
            for group in [[one] for one in tokens] if self.each else [tokens]:
                forms, places = [form for form, _ in group], [place for _, place in group]
                found.append(
                    SplitSentence(forms, [(form,) for form in forms], places, [1] * len(forms))
                )
        return found


def test_its_sentences_of_dev_are_compared_with_the_tokenizers():
    _, compared = train_segmenter(GOLD, GOLD, Deciding(each=False), 1, QUICK)
    assert compared["segmenter"] > 80 > compared["tokenizer"]
    single = [[[token] for token in words(GOLD[0])]]
    _, compared = train_segmenter(GOLD, single, Deciding(each=True), 1, QUICK)
    assert compared["tokenizer"] == 100 > compared["segmenter"]
    without, compared = train_segmenter(GOLD, None, Deciding(each=False), 1, QUICK)
    assert (without.threshold, compared) == (0.5, {})


def test_it_learns_what_the_ends_of_lines_mean():
    """Nothing else tells: all tokens are alike."""
    lengths = [3, 2, 4, 2, 3, 5] * 6
    text = LearningText("\n".join(" ".join(["abcdefghijkl"] * n) for n in lengths))
    text.places = [found.span() for found in re.finditer(r"\w+", text.text)]
    last = np.cumsum(lengths) - 1
    text.ends = [number in last for number in range(sum(lengths))]
    text.words = [("abcdefghijkl",)] * sum(lengths)
    (tokens,) = paragraphs_of(text.text, text.split())
    assert {token.line for token in words(tokens)} > {1}
    found = fitted([text], 1, QUICK)
    (likely,) = found.probabilities([words(tokens)])
    assert likely[last[:-1]].min() > np.delete(likely, last).max()
    short = [replace(token, line=SHORT_LINE) for token in words(GOLD[0])[:3]]
    assert len(found.split([short])[0]) == 3


def test_surface_tokens_and_paragraphs_of_a_file(tmp_path):
    lines = ["# newdoc id = x", "1-2\tdel\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No"]
    lines += [
        f"{i}\t{form}\t_\t_\t_\t_\t{i - 1}\tdep\t_\t_"
        for i, form in enumerate(["de", "el", "a b"], 1)
    ]
    second = ["1\tc\t_\t_\t_\t_\t0\troot\t_\tX=1|SpaceAfter=No"]
    path = tmp_path / "a.conllu"
    path.write_text("\n".join([*lines, "", *second, "", "# newpar", *second, "", ""]))
    del_, a_b, c = (
        Token("del", ("de", "el"), False),
        Token("a b", ("a b",), True),
        Token("c", ("c",), False),
    )
    assert read_paragraphs(path) == [[[del_, a_b], [c]], [[c]]]


@given(
    st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=4), min_size=1, max_size=4),
    st.integers(0, 99),
)
def test_its_f1_is_that_of_the_official_evaluation(tmp_path_factory, lengths, seed):
    folder, rng = tmp_path_factory.mktemp("f1"), np.random.default_rng(seed)
    gold = [[[Token("ab", ("ab",), True)] * n for n in paragraph] for paragraph in lengths]
    found = [
        sentences(words(paragraph), rng.random(len(words(paragraph))) < 0.5) for paragraph in gold
    ]
    for name, paragraphs in (("gold", gold), ("found", found)):
        (folder / f"{name}.conllu").write_text(conllu_of(paragraphs))
    scores = evaluate_files(folder / "gold.conllu", folder / "found.conllu")
    assert sentence_f1(gold, found) == pytest.approx(scores["sentences"].f1, abs=1e-9)
    assert sentence_f1(gold, gold) == 100
    np.testing.assert_array_equal(np.flatnonzero(ends_of(gold[0])) + 1, np.cumsum(lengths[0]))


def conllu_of(paragraphs):
    """CoNLL-U in which each word's head is the one before."""
    lines = []
    for paragraph in paragraphs:
        lines.append("# newpar")
        for sentence in paragraph:
            for i, token in enumerate(sentence, 1):
                relation = "dep" if i > 1 else "root"
                lines.append(f"{i}\t{token.form}\t_\tX\t_\t_\t{i - 1}\t{relation}\t_\t_")
            lines.append("")
    return "\n".join(lines) + "\n"
