"""Noun chunks of trees with the relations of UD, in spaCy's docs."""

import pickle

import pytest

from oracles import OptimalStepError
from tests.random_models import random_text_model

spacy = pytest.importorskip("spacy", reason="spaCy is not installed (extra spacy)")
from spacy.lang.en.syntax_iterators import noun_chunks as english  # noqa: E402
from spacy.tokens import Doc, DocBin  # noqa: E402

from parser.library.noun_chunks import noun_chunks  # noqa: E402
from parser.library.spacy_component import OptimalStep, set_noun_chunks  # noqa: E402

pytestmark = pytest.mark.extras

# Words with their heads, relations and parts of speech; and the chunks.
CHUNKS = {
    "a case marker is outside, a predicate has a chunk": (
        (
            "She/4/nsubj/PRON is/4/cop/AUX the/4/det/DET owner/0/ROOT/NOUN of/6/case/ADP "
            "dogs/4/nmod/NOUN"
        ),
        ["She", "the owner", "dogs"],
    ),
    "possessors and what is below them": (
        (
            "the/2/det/DET man/5/nmod:poss/NOUN 's/2/case/PART old/5/amod/ADJ dog/6/nsubj/NOUN "
            "barks/0/ROOT/VERB"
        ),
        ["the man 's old dog"],
    ),
    "names, to the right": (
        (
            "Dr./5/nsubj/PROPN Ada/1/flat/PROPN M./1/flat:name/PROPN Byron/1/flat/PROPN "
            "wrote/0/ROOT/VERB it/5/obj/PRON"
        ),
        ["Dr. Ada M. Byron", "it"],
    ),
    "compounds, numerals and a comma between adjectives": (
        (
            "two/6/nummod/NUM big/6/amod/ADJ ,/4/punct/PUNCT old/6/amod/ADJ ice/6/compound/NOUN "
            "machines/0/ROOT/NOUN"
        ),
        ["two big , old ice machines"],
    ),
    "an adjective to the right, but no clause": (
        (
            "a/2/det/DET casa/4/nsubj/NOUN branca/2/amod/ADJ caiu/0/ROOT/VERB algo/4/obj/PRON "
            "capaz/5/amod/ADJ de/8/mark/SCONJ voar/6/acl/VERB"
        ),
        ["a casa branca", "algo"],
    ),
    "a phrase before the noun that holds a noun": (
        "der/5/det/DET von/3/case/ADP ihm/4/obl/PRON geliebte/5/amod/ADJ Hund/0/ROOT/NOUN",
        ["der von ihm geliebte Hund"],
    ),
    "a gap ends a chunk": (
        "magnam/3/amod/ADJ vidit/0/ROOT/VERB urbem/2/obj/NOUN et/5/cc/CCONJ viros/3/conj/NOUN",
        ["urbem", "viros"],
    ),
    "expletives, adverbs and determiners have none": (
        (
            "there/2/expl/PRON are/0/ROOT/VERB home/2/advmod/NOUN all/5/det:predet/DET "
            "those/2/nsubj/PRON"
        ),
        ["all those"],
    ),
    "punctuation at the edge is outside": (
        (
            '"/3/punct/PUNCT old/3/amod/ADJ dogs/0/ROOT/NOUN "/3/punct/PUNCT ,/6/punct/PUNCT'
            " cats/3/conj/NOUN"
        ),
        ["old dogs", "cats"],
    ),
}


def read(vocab, text, tagged=True) -> Doc:
    rows = [word.rsplit("/", 3) for word in text.split()]
    words, heads, deps, pos = zip(*rows, strict=True)
    own = [int(head) - 1 if head != "0" else i for i, head in enumerate(heads)]
    return Doc(vocab, list(words), heads=own, deps=list(deps), pos=list(pos) if tagged else None)


@pytest.mark.parametrize("what", CHUNKS)
def test_chunks(what):
    text, expected = CHUNKS[what]
    doc = read(spacy.blank("xx").vocab, text)
    assert [doc[start:end].text for start, end, _ in noun_chunks(doc)] == expected
    assert {doc.vocab.strings[label] for _, _, label in noun_chunks(doc)} == {"NP"}


def test_without_parts_of_speech_relations_say_what_is_a_noun():
    text, _ = CHUNKS["a case marker is outside, a predicate has a chunk"]
    doc = read(spacy.blank("xx").vocab, text, tagged=False)
    assert [doc[start:end].text for start, end, _ in noun_chunks(doc)] == ["She", "dogs"]


def test_a_doc_without_relations_is_refused_as_by_spacy():
    with pytest.raises(OptimalStepError, match="E029"):
        list(noun_chunks(spacy.blank("en")("no tree")))


UD = (
    "The/2/det/DET man/3/nsubj/NOUN saw/0/ROOT/VERB dogs/3/obj/NOUN in/7/case/ADP the/7/det/DET "
    "park/3/obl/NOUN"
)
SPACY = (
    "The/2/det/DET man/3/nsubj/NOUN saw/0/ROOT/VERB dogs/3/dobj/NOUN in/3/prep/ADP the/7/det/DET "
    "park/5/pobj/NOUN"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chunks") / "model"
    random_text_model().save(folder)
    return folder


def texts(doc):
    return [chunk.text for chunk in doc.noun_chunks]


@pytest.mark.parametrize("code", ["en", "pt", "hu", "xx"])
def test_a_pipeline_with_this_component_has_them_in_every_language(folder, code):
    """Also docs that are stored without user data, or are parts of others; and docs with spaCy's
    relations keep spaCy's.
    """
    nlp = spacy.blank(code)
    nlp.add_pipe("optimal_step", config={"model": str(folder)})
    doc = read(nlp.vocab, UD)
    expected = ["The man", "dogs", "the park"]
    stored = DocBin(docs=[doc]).to_bytes()
    again = Doc(pickle.loads(pickle.dumps(nlp.vocab))).from_bytes(doc.to_bytes())
    for one in (
        doc,
        next(DocBin().from_bytes(stored).get_docs(nlp.vocab)),
        again,
        doc[:].as_doc(),
    ):
        assert texts(one) == expected
    assert [chunk.text for chunk in doc[2:4].noun_chunks] == ["dogs"]
    if code == "en":
        assert texts(read(nlp.vocab, SPACY)) == expected
    before = nlp.vocab.get_noun_chunks
    set_noun_chunks(nlp.vocab)
    assert nlp.vocab.get_noun_chunks is before


def test_pipelines_without_it_keep_those_of_their_language(folder):
    spacy.blank("en").add_pipe("optimal_step", config={"model": str(folder)})
    nlp = spacy.blank("en")
    assert nlp.vocab.get_noun_chunks is english
    assert texts(read(nlp.vocab, SPACY)) == ["The man", "dogs", "the park"]
    with pytest.raises(NotImplementedError):
        texts(read(spacy.blank("hu").vocab, UD))


def test_docs_that_were_made_before_have_them(folder):
    doc = Doc(spacy.blank("hu").vocab, ["a", "b", "éa"])
    OptimalStep(model=str(folder), allow_missing_columns=True, tags="fill")(doc)
    assert isinstance(texts(doc), list)
