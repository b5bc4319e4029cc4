"""Which tags are written, through parse_file()."""

from io import BytesIO
from itertools import cycle
from unicodedata import normalize

import numpy as np
import pytest

from parser import Parser, batch_sizes
from parser.data.lemma_lexicon import LemmaLexicon
from parser.data.new_forms import is_symbol
from parser.data.tag_sets import TagSets
from parser.data.tasks.tags import TagTask
from parser.decoding.parse_options import NoTagsError, OnError, ParseOptions, TagUse
from parser.decoding.predictor import Predictor
from parser.inference.encoder import FrozenEncoder
from parser.model.trained_model import TrainedModel
from parser.networks import bilstm
from parser.serving.service import Service
from tests import parsed_files
from tests.forgery import SEEN, small_model
from tests.odd_files import line
from tests.random_models import random_lemma_model, random_text_model
from tests.toy import sentence


def word(number: int, form: str, upos: str = "_", feats: str = "_") -> bytes:
    return line(number, form, "l", upos, "x", feats, "_", "_", "_", "SpaceAfter=No")


SENTENCES = [
    b"# tagged\n" + word(1, "aé", "A") + word(2, "b", "B", "F=1"),
    line("1-2", "ab", "_", "M") + word(1, "a") + word(2, "b") + line("2.1", "_", "_", "E"),
    word(1, "a") + word(2, "é", "B"),
]
TEXT = b"".join(lines + b"\n" for lines in SENTENCES)


def parsed(
    use: TagUse, content: bytes = TEXT, model: TrainedModel | None = None, **options
) -> list[list[str]]:
    written = parsed_files.parsed(
        model or random_text_model(), content, tags=use, allow_missing_columns=True, **options
    )
    return [text.split("\t") for text in written.decode().splitlines()]


def columns(lines: list[list[str]], place: int) -> list[str]:
    return [line[place] for line in lines if len(line) == 10 and line[0].isdigit()]


def test_what_is_kept_filled_and_overwritten():
    kept, filled, written = (parsed(use) for use in TagUse)
    assert columns(kept, 3) == ["A", "B", "_", "_", "_", "B"]
    assert columns(kept, 5) == ["_", "F=1", "_", "_", "_", "_"]
    # what is empty throughout a sentence
    assert columns(filled, 3) == ["A", "B", *columns(written, 3)[2:4], "_", "B"]
    assert columns(filled, 5) == ["_", "F=1", *columns(written, 5)[2:]]
    for lines in (filled, written):
        assert [line[:3] + line[4:5] + line[6:] for line in lines] == [
            line[:3] + line[4:5] + line[6:] for line in kept
        ]
        assert [line for line in lines if not line[0].isdigit()] == [
            line for line in kept if not line[0].isdigit()
        ]
    known = random_text_model().vocabularies.tags
    assert set(columns(written, 3)) <= {*known["upos"].symbols}
    assert set(columns(written, 5)) <= {*known["feats"].symbols}
    assert columns(written, 4) == ["x"] * 6  # it does not predict XPOS


# compiled code reads the words, or Python
@pytest.mark.parametrize("use", [TagUse.KEEP, TagUse.OVERWRITE])
def test_decomposed_forms_are_parsed_and_tagged_as_composed_ones(use):
    one, other = (
        parsed(use, normalize(form, TEXT.decode()).encode(), random_lemma_model())
        for form in ("NFC", "NFD")
    )
    assert columns(one, 1) != columns(other, 1)
    assert [line[:1] + line[2:] for line in one] == [line[:1] + line[2:] for line in other]


@pytest.mark.parametrize("options", [{"chunk_bytes": 40}, {"threads": 3, "chunk_bytes": 200}])
def test_any_chunks_and_threads_give_the_same(options, monkeypatch):
    lemmas = BARE * 5, random_lemma_model()
    given = [(b"\xef\xbb\xbf" + TEXT * 5, random_text_model()), lemmas]
    whole = [parsed(TagUse.FILL, *one) for one in given]
    assert [parsed(TagUse.FILL, *one, **options) for one in given] == whole
    monkeypatch.setattr(batch_sizes, "TOKENS_PER_SPAN", 4)
    assert parsed(TagUse.FILL, *lemmas, **options) == whole[1]


def test_a_sentence_that_cannot_be_read_is_skipped():
    assert parsed(TagUse.OVERWRITE, b"1\tx\n\n" + TEXT, on_error=OnError.SKIP) == parsed(
        TagUse.OVERWRITE
    )


def test_the_parser_and_its_tags_share_an_encoder(monkeypatch):
    made = []

    class Counted(FrozenEncoder):
        def __init__(self, *arguments):
            made.append(self)
            super().__init__(*arguments)

    monkeypatch.setattr(bilstm, "FrozenEncoder", Counted)
    model, tagging = random_text_model(), ParseOptions(tags=TagUse.OVERWRITE)
    makers = (
        lambda: Predictor(model, tagging).prepare(),
        lambda: Parser(model),
        lambda: Service(model, "name"),
        model.frozen,
    )
    for number, make in enumerate(makers, 1):  # anew, as the model may have changed by then
        made_by_it = make()
        assert len(made) == number
    frozen = model.frozen()
    assert frozen.weights is frozen.frozen().weights is not made_by_it.weights
    assert model.frozen().weights is not model.frozen().weights


@pytest.mark.parametrize("share", [1, 4, 4_000])
def test_sentences_are_read_once_for_their_tags_and_their_trees(monkeypatch, share):
    plain, read = parsed(TagUse.KEEP), []
    monkeypatch.setattr(batch_sizes, "TOKENS_PER_SPAN", share)
    read_layers = FrozenEncoder._read
    monkeypatch.setattr(
        FrozenEncoder, "_read", lambda self, part: read.append(len(part)) or read_layers(self, part)
    )
    tagged = parsed(TagUse.OVERWRITE)
    assert sum(read) == len(SENTENCES)
    assert [columns(tagged, place) for place in (6, 7)] == [
        columns(plain, place) for place in (6, 7)
    ]


def expected_lemmas(model, forms, lexicon: LemmaLexicon | None = None):
    """One word after the other: by the lexicon, from training, a symbol itself, or by the best rule
    that applies; by torch.
    """
    found = []
    for words in forms:
        made = sentence([0, *range(1, len(words))])
        made.forms = words
        made.feats = ["_"] * len(words)
        tags, scores = model.classifier.tokens.tags_and_rules(model.vocabularies.encode([made]))
        known = {column: values.symbols for column, values in model.vocabularies.tags.items()}
        for place, form in enumerate(words, 1):
            upos, feats = (known[column][tags[column][place]] for column in ("upos", "feats"))
            by_rule = model.vocabularies.lemmas.by_rules(
                [form], [upos], scores["lemmas"]([form], np.array([place]))
            )[0]
            written = None if lexicon is None else lexicon.lemma(form, upos, feats)
            symbol = form if is_symbol(form) else None
            found.append(
                written
                or SEEN[()].get(form)
                or SEEN.get((upos, feats), {}).get(form)
                or symbol
                or by_rule
            )
    return found


FORMS = [["aé", "b", "Éa"], ["a"], ["b", "_", "w1", "éa", "é"], ["B", "aé", "a", "xyz"]]
BARE = b"".join(
    b"".join(line(number, form) for number, form in enumerate(words, 1)) + b"\n" for words in FORMS
)


@pytest.mark.parametrize("use", [TagUse.FILL, TagUse.OVERWRITE])
def test_lemmas_are_those_of_the_lexicon_of_training_or_of_rules(use):
    model = random_lemma_model()
    found = columns(parsed(use, BARE, model), 2)
    assert found == expected_lemmas(model, FORMS)
    assert "always" in found
    assert {"seen", "B", "one"} & {*found}
    lexicon = LemmaLexicon(
        {("X", "_"): {"b": "X-b"}, ("Y", "_"): {"b": "Y-b"}, ("_", "_"): {"a": "any"}}
    )
    written = columns(parsed(use, BARE, model, lexicon=lexicon), 2)
    assert written == expected_lemmas(model, FORMS, lexicon)
    assert {"any"} < {*written} - {*found}


def test_lemmas_are_filled_where_a_sentence_has_none():
    model, content = random_lemma_model(), BARE.replace(b"1\ta\t_", b"1\ta\tgiven")
    kept, filled, written = (columns(parsed(use, content, model), 2) for use in TagUse)
    assert kept == ["_"] * 3 + ["given"] + ["_"] * 9
    assert filled == [*written[:3], "given", *written[4:]]
    assert columns(parsed(TagUse.KEEP, content, model), 7) == columns(
        parsed(TagUse.OVERWRITE, content, model), 7
    )


def test_lemmas_follow_the_tags_that_are_kept():
    """Those that the input has, not those that the model predicts and nobody writes;
    with a lexicon, and without.
    """
    lexicon = LemmaLexicon(
        {
            ("X", "_"): {"w2": "lemma-X"},
            ("Y", "_"): {"w2": "lemma-Y"},
            ("Y", "F=1"): {"w3": "lemma-F"},
        }
    )
    words = [
        ("w2", "X", "_"),
        ("w2", "Y", "_"),
        ("w3", "Y", "F=1"),
        ("aé", "X", "_"),
        ("w1", "X", "A=b|C=d"),
        ("b", "Q", "_"),
    ]
    given = ["lemma-X", "lemma-Y", "lemma-F", "seen", "one"]
    content = b"".join(
        line(1, form, "_", upos, "_", feats, "0") + b"\n" for form, upos, feats in words
    )
    filled, written = (
        columns(parsed(use, content, random_lemma_model(), lexicon=lexicon), 2)
        for use in (TagUse.FILL, TagUse.OVERWRITE)
    )
    assert [filled[place] for place in (0, 1, 2, 4)] == [given[place] for place in (0, 1, 2, 4)]
    assert written[0] == written[1]
    sentences = Parser(random_lemma_model(), lexicon=lexicon).parse(
        [[(form, upos, None, feats)] for form, upos, feats in words]
    )
    assert [sentence.words[0].lemma for sentence in sentences] == filled
    # where UPOS is not there, it is predicted
    partly = content.replace(b"\tY\t_\tF=1", b"\t_\t_\tF=1")
    assert (
        columns(parsed(TagUse.FILL, partly, random_lemma_model(), lexicon=lexicon), 2)[:2]
        == given[:2]
    )


def test_a_lexicon_that_gave_no_lemma_is_told():
    for lemmas, told in (
        ({("Q", "_"): {"a": "l"}}, True),
        ({("_", "_"): {"A": "l"}}, False),
        ({}, True),
    ):
        model, lexicon = random_lemma_model(), LemmaLexicon(lemmas)
        for content in (BARE, b""):
            counts = parsed_files.parse_file(
                model, BytesIO(content), BytesIO(), tags=TagUse.FILL, lexicon=lexicon
            )
            assert any(
                "no word of the input had an entry in the lexicon" in text
                for text in counts.warnings()
            ) == (told and content != b"")


def test_tags_and_a_lexicon_are_refused_where_no_tags_or_lemmas_are_predicted():
    for model in (random_text_model(), small_model("static")):
        for use in (TagUse.KEEP, TagUse.FILL):
            with pytest.raises(NoTagsError, match=r"predicts no (lemmas|tags).*recipe=text"):
                parsed(use, BARE, model, lexicon=LemmaLexicon({}))


def fitting_model() -> TrainedModel:
    """Return a model of lemmas whose training had no X with features, and no Y without."""
    model = random_lemma_model()
    tagger = model.vocabularies.task(TagTask)
    assert tagger is not None
    tagger.sets = TagSets(["upos", "feats"], [(0, 0), (1, 1), (1, 2)])
    return model


def conllu(upos: str, feats: str) -> bytes:
    """FORMS with these tags, in turn."""
    given = zip(cycle(upos.split()), cycle(feats.split()))
    sentences = ([(form, *next(given)) for form in words] for words in FORMS)
    return b"".join(
        b"".join(
            line(number, form, "_", tag, "_", own)
            for number, (form, tag, own) in enumerate(words, 1)
        )
        + b"\n"
        for words in sentences
    )


def test_what_is_filled_fits_what_is_given():
    model = fitting_model()
    free = parsed(TagUse.FILL, conllu("_", "_"), model)
    assert not {("X", "_"), ("Y", "A=b"), ("Y", "A=b|C=d")} >= {
        *zip(columns(free, 3), columns(free, 5), strict=True)
    }
    for upos, fitting in (("X", {"_"}), ("Y", {"A=b", "A=b|C=d"})):
        found = parsed(TagUse.FILL, conllu(upos, "_"), model)
        assert {*columns(found, 3)} == {upos}
        assert {*columns(found, 5)} <= fitting
        assert [columns(found, place) for place in (6, 7)] == [
            columns(free, place) for place in (6, 7)
        ], "trees are the same"
        filled = Parser(model).parse(
            [[(form, upos) for form in words] for words in FORMS], allow_missing_columns=True
        )
        assert [word.feats for tree in filled for word in tree.words] == columns(found, 5)
        assert [word.lemma for tree in filled for word in tree.words] == columns(found, 2)
    found = parsed(TagUse.FILL, conllu("_", "_ A=b"), model)
    assert columns(found, 3) == [{"_": "X", "A=b": "Y"}[feats] for feats in columns(found, 5)]
    assert columns(found, 5) == ["_", "A=b"] * 6 + ["_"]


def test_tags_that_training_never_saw_and_those_that_are_all_given_or_overwritten_change_nothing():
    model, plain = fitting_model(), random_lemma_model()
    for use, upos, feats in (
        (TagUse.FILL, "_", "_"),
        (TagUse.FILL, "X Y", "A=b _"),
        (TagUse.OVERWRITE, "X Y", "_ A=b"),
    ):
        assert (
            parsed(use, conllu(upos, feats), model)[:4]
            == parsed(use, conllu(upos, feats), plain)[:4]
        )
    new, free = (parsed(TagUse.FILL, conllu(upos, "_"), model) for upos in ("NEW", "_"))
    assert [columns(new, place) for place in (5, 6, 7)] == [
        columns(free, place) for place in (5, 6, 7)
    ]


def test_a_folder_keeps_the_sets_of_tags(tmp_path):
    model = fitting_model()
    model.save(tmp_path)
    assert parsed(TagUse.FILL, conllu("X", "_"), TrainedModel.load(tmp_path)) == parsed(
        TagUse.FILL, conllu("X", "_"), model
    )
