"""What a service answers is what parse.py writes; jobs that wait are worked on together;
limits of requests.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from io import BytesIO
from itertools import permutations
from threading import Event
from types import SimpleNamespace

import pytest

from parser.commands import serve
from parser.commands.serve import name_of
from parser.conllu.checks import ConlluError
from parser.conllu.stream import read_raw_sentences
from parser.data.lemma_lexicon import LemmaLexicon
from parser.decoding.files.file_parsing import RawColumns
from parser.decoding.files.missing_columns import MissingColumnsError
from parser.decoding.given_arcs import GivenArcs
from parser.decoding.parse_options import (
    NoTagsError,
    OutputFormat,
    ParseOptions,
    SentenceEnds,
    TagUse,
)
from parser.decoding.predictor import Predictor
from parser.serving import corrections, page
from parser.serving import service as module
from parser.serving.app import Batcher, Limited, Limits
from parser.serving.corrections import CorrectionError
from parser.serving.page import form_page, page_request
from parser.serving.service import Request, RequestError, Service, TooLateError
from parser.text.pipeline import BlankSplitter, TextPipeline
from tests import parsed_files
from tests.forgery import small_linear_model
from tests.random_models import random_static_model
from tests.serving.documents import EXAMPLE, WORD, document, job, model_of_kind, parsed
from tests.text.tiny_tokenizer import tiny_tokenizer


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(model_of_kind(), "toy-small", ParseOptions(allow_missing_columns=True))


@pytest.fixture(scope="module")
def tagging() -> Service:
    return Service(model_of_kind("text"), "text", ParseOptions(allow_missing_columns=True))


@pytest.mark.parametrize("share", [1, 7, 4000])
def test_many_at_a_time_are_as_each_alone_and_a_bad_one_loses_itself(service, monkeypatch, share):
    monkeypatch.setattr(module, "_SHARE", share)
    documents = [document(seed, seed % 4) for seed in range(12)]
    answers = service.answers(
        [job(data=text, parser="") for text in [*documents[:6], "1\ta\n\n", *documents[6:]]]
    )
    assert isinstance(answers.pop(6), ConlluError)
    assert answers == [parsed(service.model, text) for text in documents]


def test_what_nobody_waits_for_is_not_parsed(service):
    request = Request.of({"data": document(1), "parser": ""})
    late, in_time = service.answers([replace(request, deadline=0.0), request])
    assert isinstance(late, TooLateError)
    assert in_time == parsed(service.model, document(1))
    for heads in ("", "1.1=0"):
        fields = {"data": document(1), "allow_missing_columns": "", "heads": heads}
        [late] = service.answers([replace(page_request(service, fields), deadline=0.0)])
        assert isinstance(late, TooLateError)


def test_what_nobody_waits_for_any_more_is_not_tokenized(service, monkeypatch):
    """The time is over after the second piece of the text."""
    now, taken = iter([0.0, 1.0, 2.0, 3.0]), []

    class Pieces(TextPipeline):
        def conllu(self, source, name="-", sentences=None, ranges=False):
            for piece in range(4):
                taken.append(piece)
                yield b""

    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(now)))
    reading = Service(service.model, "toy", tokenizer=Pieces(BlankSplitter()))
    [late] = reading.answers([replace(Request.of({"data": "a", "tokenizer": ""}), deadline=1.5)])
    assert isinstance(late, TooLateError)
    assert taken == [0, 1]


def columns_of(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines() if line[:1].isdigit()]


def test_steps_that_are_not_asked_for_are_not_done(service, tagging):
    text = document(2)
    assert service.answers([job(data=text), job(data=text, output="conllu")]) == [text, text]
    everything, tree, tags = tagging.answers(
        [
            job(data=text, tagger="", parser=""),
            job(data=text, parser=""),
            job(data=text, tagger=""),
        ]
    )
    assert everything == parsed(tagging.model, text, TagUse.OVERWRITE)
    assert tree == parsed(tagging.model, text)
    # The one has the tags of the first, the other its trees.
    of_all, of_tree, of_tags, of_none = map(columns_of, (everything, tree, tags, text))
    assert of_tags == [a[:6] + n[6:] for a, n in zip(of_all, of_none, strict=True)]
    assert of_tree == [n[:6] + a[6:] for a, n in zip(of_all, of_none, strict=True)]
    assert of_all != of_tree != of_none


def test_lemmas_are_written_with_the_tags():
    model, text = model_of_kind("lemmas"), document(2)
    lexicon = LemmaLexicon({("_", "_"): {"b": "written"}})
    for given in (None, lexicon):
        service = Service(model, "lemmas", ParseOptions(allow_missing_columns=True, lexicon=given))
        everything, tags = service.answers(
            [job(data=text, tagger="", parser=""), job(data=text, tagger="")]
        )
        of_all, of_tags, of_none = map(columns_of, (everything, tags, text))
        assert of_tags == [a[:6] + n[6:] for a, n in zip(of_all, of_none, strict=True)]
        lemmas = {(form, lemma) for _, form, lemma, *_ in of_all}
        assert (("b", "written") in lemmas) == (given is not None)
        assert "_" not in {lemma for _, lemma in lemmas}
    with pytest.raises(NoTagsError, match="predicts no lemmas"):
        Service(model_of_kind("text"), "text", ParseOptions(lexicon=lexicon))


def test_simple_formats(service):
    (found,) = service.answers([job(data="a b  c\n\nd\u00a0e\n", input="horizontal", parser="")])
    lines = "".join(
        WORD.format(i, w, "_").replace("X", "_").replace("0\tdep", "_\t_")
        for i, w in enumerate("abc", 1)
    )
    assert found.startswith("# sent_id = 1\n# text = a b c\n")
    rest = "# sent_id = 2\n# text = d e\n" + WORD.format(1, "d e", "_").replace("X", "_").replace(
        "0\tdep", "_\t_"
    )
    assert found == parsed(service.model, f"# sent_id = 1\n# text = a b c\n{lines}\n{rest}\n")
    vertical, horizontal, back = service.answers(
        [
            job(data="a\nb\rc\r\n\u00a0\n\nd\u00a0e", input="vertical", parser=""),
            job(data=found, output="horizontal"),
            job(data=found, output="vertical"),
        ]
    )
    assert vertical == found
    assert horizontal == "a b c\nd\u00a0e\n"
    assert back == "a\nb\nc\n\nd\u00a0e\n\n"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"data": "", "model": "other"}, "model=other is not served here; the model is toy-small"),
        ({"data": "", "tagger": ""}, "toy-small predicts no tags; leave out tagger"),
        ({"data": "", "tokenizer": ""}, "toy-small has no tokenizer; give words"),
        (
            {"data": "# a\n\nA dog.\n"},
            "data has no tabs, so it is not CoNLL-U; send input=horizontal",
        ),
        (
            {"data": WORD.format(1, "a", "_") + "1" * 3000, "model": "toy"},
            "data, line 2, sentence 1: 1 column ",
        ),
        (
            {"data": "a " * 2001, "input": "horizontal"},
            "sent_id 1.: 2,001 words, but at most 2,000 are allowed; split it",
        ),
        (
            {"data": "", "tokenizer": "ranges;range"},
            r"range is not known \(did you mean ranges\?\); leave it empty, or say pres",
        ),
        ({"data": "", "parser": "x" * 100}, "parser=x{60}... is not known; leave it empty"),
        (
            {"data": "", "input": "../a"},
            "input=../a is not known; known: conllu, horizontal, vertical",
        ),
        ({"data": "", "output": "matxin"}, "output=matxin is not known"),
        ({"data": "", "output": "conllu=v3"}, "output=conllu=v3 is not known"),
    ],
)
def test_what_cannot_be_asked_or_done(service, fields, told):
    with pytest.raises(ValueError, match=told):
        raise service.answers([job(**fields)])[0]


def test_what_clients_of_udpipe_send():
    service = Service(
        model_of_kind(),
        "toy",
        ParseOptions(allow_missing_columns=True),
        TextPipeline(tiny_tokenizer()),
    )
    with pytest.raises(RequestError, match="send tokenizer= for text, or input=horizontal"):
        service.read(Request.of({"data": "A dog."}))
    text = "1  du a.  b."
    plain, ranges, lines = service.answers(
        [
            job(data=text, tokenizer="", output="conllu=v2"),
            job(data=text, tokenizer="ranges"),
            job(data=text, tokenizer="presegmented;ranges"),
        ]
    )
    by_line, within = service.answers(
        [job(data="a b\nc a. b", tokenizer=how) for how in ("presegmented", "paragraph;ranges")]
    )
    assert (by_line.count("# text"), within.count("# text"), within.count("TokenRange")) == (
        2,
        3,
        6,
    )
    with pytest.raises(
        RequestError, match="presegmented and paragraph, which exclude each other; leave one out"
    ):
        job(data=text, tokenizer="presegmented;paragraph")
    shown = form_page(service, {"data": text, "sentences": "paragraph"})
    assert '<option value="paragraph" selected>at line ends, and where' in shown
    assert (
        page_request(service, {"data": text, "sentences": "paragraph"}).sentences
        == SentenceEnds.PARAGRAPH
    )
    with pytest.raises(
        RequestError, match="sentences=a is not known; known: model, line, paragraph"
    ):
        page_request(service, {"data": text, "sentences": "a"})
    assert [(columns[0], columns[1], columns[9]) for columns in columns_of(ranges)] == [
        ("1", "1", r"SpacesAfter=\s\s|TokenRange=0:1"),
        ("2-3", "du", "TokenRange=3:5"),  # of a multiword token; its words have none
        ("2", "de", "_"),
        ("3", "le", "_"),
        ("4", "a", "SpaceAfter=No|TokenRange=6:7"),
        ("5", ".", r"SpacesAfter=\s\s|TokenRange=7:8"),
        ("1", "b", "SpaceAfter=No|TokenRange=10:11"),
        ("2", ".", "SpaceAfter=No|TokenRange=11:12"),
    ]
    assert [columns[:9] for columns in columns_of(ranges)] == [
        columns[:9] for columns in columns_of(plain)
    ]
    assert (plain.count("# text"), ranges.count("# text"), lines.count("# text")) == (2, 2, 1)


def test_input_without_tags_is_refused():
    strict = Service(model_of_kind(), "toy")
    untagged = WORD.format(1, "a", "_")
    anyway = Request(untagged, parser=True, allow_missing_columns=True)
    answer, allowed = strict.answers([job(data=f"{untagged}\n" * 100, parser=""), anyway])
    assert isinstance(answer, MissingColumnsError)
    assert allowed == parsed(strict.model, untagged)


def test_names_and_root_paths(tmp_path):
    assert name_of(tmp_path / "hu" / "model") == name_of(tmp_path / "hu") == "hu"
    assert name_of(tmp_path / "hu" / "2026-01-02_03-04-05-678901" / "model") == "hu"
    assert [serve._root_path(given) for given in ("/parser", "a/b/", "/", "")] == [
        "/parser",
        "/a/b",
        "",
        "",
    ]


def with_heads(service: Service, data: str, heads: str) -> str | Exception:
    fields = {"data": data, "allow_missing_columns": "", "heads": heads}
    [answer] = service.answers([page_request(service, fields)])
    return answer


@pytest.mark.parametrize("kind", ["plain", "text"])
def test_given_heads_and_relations_are_kept_by_the_page(kind):
    service = Service(model_of_kind(kind), "toy")
    assert service.keeps_heads
    data = "a b é a\nb a"
    heads = [columns[6] for columns in columns_of(with_heads(service, data, "1.2=4 2.1=0"))]
    assert (heads[1], heads[4], len(heads)) == ("4", "0", 6)
    trees = [columns_of(tree) for tree in with_heads(service, data, "").strip().split("\n\n")]
    number, word = next(
        (n, w)
        for n, tree in enumerate(trees)
        for w, columns in enumerate(tree)
        if columns[6] != "0"
    )
    head, was = trees[number][word][6:8]
    wanted = next(relation for relation in service.relations if relation != was)
    assert "root" not in service.relations
    for given, relation in (
        (f"{number + 1}.{word + 1}={head}", was),
        (f"{number + 1}.{word + 1}={head}:{wanted}", wanted),
    ):
        found = [
            columns_of(tree) for tree in with_heads(service, data, given).strip().split("\n\n")
        ]
        assert found[number][word][6] == head
        assert given.endswith(head) or found[number][word][7] == relation


def corrected(service: Service, data: str, **fields: str) -> list[list[list[str]]]:
    """Return the columns of each sentence."""
    [answer] = service.answers(
        [page_request(service, {"data": data, "allow_missing_columns": "", **fields})]
    )
    assert isinstance(answer, str), answer
    return [columns_of(tree) for tree in answer.strip().split("\n\n")]


def test_a_corrected_upos_is_written_and_reaches_a_model_that_predicts_it():
    service = Service(model_of_kind("lemmas"), "lemmas")
    assert service.upos == ["X", "Y"]
    texts = ["b aé é a b", "é b a", "a a b b é aé"]
    changed = False
    before = corrected(service, "\n".join(texts))
    for number, tree in enumerate(before):
        for word, columns in enumerate(tree):
            other = "XY".replace(columns[3], "")
            after = corrected(service, "\n".join(texts), upos=f"{number + 1}.{word + 1}={other}")
            own = after.pop(number)
            assert after == before[:number] + before[number + 1 :]
            upos = [one[3] for one in own]
            assert upos.pop(word) == other
            assert upos == [one[3] for place, one in enumerate(tree) if place != word]
            changed |= [one[6:8] for one in own] != [one[6:8] for one in tree]
    assert changed  # some tree


@pytest.mark.parametrize("fields", [{}, {"heads": "1.1=2"}, {"upos": "1.2=Y"}])
def test_the_page_keeps_the_tags_of_conllu_and_fills_what_is_missing(fields):
    model = model_of_kind("lemmas")
    words = [("a", "_", "Y", "A=b"), ("b", "_", "X", "_"), ("é", "_", "X", "A=b|C=d")]
    lemmas = [("a", "own", "_", "_"), ("b", "_", "_", "_")]
    data = "".join(
        "".join(
            f"{number}\t{form}\t{lemma}\t{upos}\tT\t{feats}\t_\t_\t_\t_\n"
            for number, (form, lemma, upos, feats) in enumerate(rows, 1)
        )
        + "\n"
        for rows in (words, lemmas)
    )
    first, second = corrected(Service(model, "lemmas"), data, **fields)
    upos = ["Y", "Y" if "upos" in fields else "X", "X"]
    assert [one[3:6] for one in first] == [
        [tag, "T", feats] for tag, (*_, feats) in zip(upos, words, strict=True)
    ]
    assert "_" not in {one[2] for one in first}
    assert [(one[2], one[4]) for one in second] == [("own", "T"), ("_", "T")]
    assert {one[3] for one in second} <= {"X", "Y"}
    filled = columns_of(parsed(model, data, TagUse.FILL))
    assert second == filled[3:]
    assert fields or first == filled[:3]


def test_a_corrected_upos_is_a_tag_of_the_input_of_a_model_that_reads_it(sentences):
    model = random_static_model(sentences, {"form": 5})
    service = Service(model, "static")
    lines = "".join(f"{n}\ta\t_\tNOUN\t_\t_\t_\t_\t_\t_\n" for n in range(1, 6)) + "\n"
    [found] = corrected(service, lines, upos="1.3=VERB")
    assert [columns[3] for columns in found] == ["NOUN", "NOUN", "VERB", "NOUN", "NOUN"]
    given = lines.replace("3\ta\t_\tNOUN", "3\ta\t_\tVERB")
    assert [found] == corrected(service, given)
    assert [found] != corrected(service, lines)
    assert "VERB" in service.upos


def test_a_model_that_knows_no_upos_takes_those_of_ud(service):
    assert len(service.upos) == 17
    [found] = corrected(service, "a b", upos="1.2=PROPN")
    assert [columns[3] for columns in found] == ["_", "PROPN"]


def test_what_was_corrected_is_said_in_a_comment(service):
    fields = {
        "data": "a b é a\nb a\na",
        "heads": "1.3=4 1.2=3:obj 2.1=0",
        "own_heads": "1.2",
        "upos": "1.4=X 1.3=NOUN",
    }
    [answer] = service.answers([page_request(service, fields)])
    trees = answer.split("\n\n")
    comments = [[line for line in tree.split("\n") if line.startswith("#")] for tree in trees[:3]]
    assert [named[2:] for named in comments] == [
        ["# corrected = 2 deprel; 3 head upos; 4 upos"],
        ["# corrected = 1 head"],
        [],
    ]
    assert columns_of(answer)[1][6:8] == ["3", "obj"]
    # The trees are made anew, so an old comment would not be true.
    [again] = service.answers([page_request(service, {"data": answer})])
    assert "corrected" not in again
    [again] = service.answers([page_request(service, {"data": answer, "heads": "1.1=2"})])
    assert [line for line in again.split("\n") if "corrected" in line] == ["# corrected = 1 head"]


@pytest.mark.parametrize(
    ("undo", "left"),
    [
        ("1.3.head", {"heads": "1.2=3:obj", "own_heads": "1.2", "upos": "1.3=X"}),
        ("1.3.deprel", {"heads": "1.2=3:obj 1.3=4", "own_heads": "1.2", "upos": "1.3=X"}),
        ("1.3.upos", {"heads": "1.2=3:obj 1.3=4:det", "own_heads": "1.2", "upos": ""}),
        ("1.2.deprel", {"heads": "1.3=4:det", "own_heads": "", "upos": "1.3=X"}),
        ("2.1.head", {"heads": "1.2=3:obj 1.3=4:det", "own_heads": "1.2", "upos": "1.3=X"}),
    ],
)
def test_each_correction_can_be_undone(service, undo, left):
    fields = {
        "data": "a b é a",
        "heads": "1.2=3:obj 1.3=4:det",
        "own_heads": "1.2",
        "upos": "1.3=X",
    }
    shown = page.form_page(service, fields | {"undo": undo})
    assert dict(re.findall(r'<input type="hidden" name="(\w+)" value="(.*?)">', shown)) == left
    answers = [
        service.answers([page_request(service, one)])
        for one in (fields | {"undo": undo}, fields | left)
    ]
    assert answers[0] == answers[1]
    assert 'name="forget"' in shown
    assert 'name="forget"' not in page.form_page(service, fields | {"forget": ""})


def test_a_relation_that_does_not_fit_its_new_head_is_asked_for_again(monkeypatch):
    """With a head alone; a relation that a person chose stays."""
    service = Service(model_of_kind("text"), "text")
    data = "a b é a\nb a é"
    free = {
        (word, head): corrected(service, data, heads=f"1.{word}={head}")[0]
        for word, head in permutations(range(1, 5), 2)
    }
    (word, head), tree = next(
        (arc, tree) for arc, tree in free.items() if tree[arc[0] - 1][7] == "det"
    )
    heads = f"1.{word}={head}"
    monkeypatch.setattr(corrections, "_MISFITS", {"X": {"det"}, "Y": {"det"}})
    monkeypatch.setattr(corrections, "_LEAST", 1e-9)
    found = corrected(service, data, heads=heads)[0]
    assert found[word - 1][6:8] == [str(head), "obj"]  # the only other one that is not the root's
    assert corrected(service, data, heads=f"{heads}:det")[0][word - 1][6:8] == [str(head), "det"]
    monkeypatch.setattr(corrections, "_LEAST", 1e9)  # none is probable enough
    assert corrected(service, data, heads=heads)[0] == tree
    monkeypatch.setattr(corrections, "_LEAST", 1e-9)
    monkeypatch.setattr(corrections, "_PREDICATE", {"det", "obj", "root"})
    # the word itself makes its head a predicate
    assert corrected(service, data, heads=heads)[0] == tree


def test_the_next_relation_is_the_one_that_the_model_finds_most_probable(monkeypatch, sentences):
    model = random_static_model(sentences, {"form": 5})
    service = Service(model, "static")
    lines = "".join(f"{n}\ta\t_\tNOUN\t_\t_\t_\t_\t_\t_\n" for n in range(1, 6)) + "\n"
    [before] = corrected(service, lines, heads="1.2=4")
    own = before[1][7]
    asked = {}
    for relation in service.relations:
        monkeypatch.setattr(corrections, "_MISFITS", {"NOUN": {*service.relations} - {relation}})
        monkeypatch.setattr(corrections, "_LEAST", 1e-9)
        asked[relation] = corrected(service, lines, heads="1.2=4")[0][1][7]
    assert asked == {relation: relation for relation in service.relations}
    monkeypatch.setattr(corrections, "_MISFITS", {"NOUN": {own}})
    [after] = corrected(service, lines, heads="1.2=4")
    parsing = Predictor(model, ParseOptions(keep_heads=True, keep_relations=True), steps=True)
    [sentence] = read_raw_sentences(BytesIO(lines.encode()))
    logs = {}
    for relation in {*service.relations} - {own}:
        arcs = GivenArcs([[-1, 4, -1, -1, -1]], [["_", relation, "_", "_", "_"]])
        logs[relation] = parsing.predict(
            model.vocabularies.encode([RawColumns(sentence)]), (), arcs
        ).steps.arcs[2]
    assert after[1][7] == max(logs, key=logs.__getitem__)


@pytest.mark.parametrize("data", ["a b é a\nb a a", document(5, 2)])
def test_messages_about_corrections_name_no_line_of_the_request(service, data):
    for heads, told in (
        ("2.1=2 2.2=1", "sentence 2: a cycle: "),
        ("2.1=0 2.2=0", "sentence 2: several roots: "),
    ):
        [error] = service.answers([page_request(service, {"data": data, "heads": heads})])
        assert isinstance(error, CorrectionError)
        assert str(error).startswith(told)
        assert "line" not in str(error)
    [error] = service.answers([page_request(service, {"data": "a " * 2001})])
    assert str(error).startswith("data, sentence 1 (sent_id 1): 2,001 words, but")


def test_relations_of_the_document_are_not_given(service):
    text = document(5, 1).replace("\tdep\t", "\tnever-seen\t")
    assert "never-seen" not in with_heads(service, text, "1.1=0")


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        (
            "1.1=2:zz",
            (
                "word 1 of sentence 1, with head 2, cannot have the relation zz; "
                "choose another relation"
            ),
        ),
        ("1.1=2:root", "with head 2, cannot have the relation root"),
        ("1.1=0:dep", "with head 0, cannot have the relation dep"),
        ("1.5=1", "a head is given for word 5 of sentence 1, but there is no such word"),
        ("3.1=1", "for word 1 of sentence 3, but there is no such word"),
        ("1.1=3 1.2=4", "is lost: system=arc_standard"),
        ("1.1=7", "word 1 of sentence 1 has the head 7, but there is no such word"),
    ],
)
def test_heads_that_cannot_be_given_are_named(service, heads, message):
    with pytest.raises(ValueError, match=message):
        raise with_heads(service, "a b é a\nb a", heads)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"upos": "1.1=ZZ"}, "word 1 of sentence 1 cannot have the UPOS ZZ; choose another UPOS"),
        ({"upos": "1.9=X"}, "a UPOS is given for word 9 of sentence 1, but there is no such word"),
        ({"upos": "1.1"}, r"upos=1\.1 is not SENTENCE\.WORD=UPOS; leave it out"),
        ({"own_heads": "1"}, r"own_heads=1 is not SENTENCE\.WORD; leave it out"),
        (
            {"undo": "1.1.lemma"},
            r"undo=1\.1\.lemma is not SENTENCE\.WORD\.head, \.deprel or \.upos; leave it out",
        ),
    ],
)
def test_other_corrections_that_cannot_be_read_or_kept_are_named(service, fields, message):
    with pytest.raises(ValueError, match=message):
        raise service.answers([page_request(service, {"data": "a b", **fields})])[0]


def test_what_is_no_head_is_refused_and_what_keeps_none_says_so(service):
    with pytest.raises(RequestError, match=r"heads=1:2 is not SENTENCE\.WORD=HEAD or"):
        page_request(service, {"data": "a", "heads": "1:2"})
    linear = Service(small_linear_model(), "toy")
    assert not linear.keeps_heads
    assert "cannot keep given heads" in str(with_heads(linear, "a b", "1.1=2"))


@pytest.mark.parametrize(
    ("needs_tags", "tokenizer", "data"),
    [
        (True, None, EXAMPLE),
        (True, "any", EXAMPLE),
        (False, "any", "Így c d."),
        (False, None, "Így c\u00a0d ."),
    ],
)
def test_the_example_is_the_models_as_it_reads_it(needs_tags, tokenizer, data):
    model = SimpleNamespace(example=EXAMPLE, needs_tags=needs_tags, tokenizer=tokenizer)
    assert page.example(model) == {"data": data}


def test_arcs_below_one_percent_are_folded_away(monkeypatch):
    def candidates(*others: float) -> list[list[page.Candidate]]:
        return [
            [
                page.Candidate(0, "root", 0.9, 1, None, True),
                *(page.Candidate(1, "x", p, 1, None, False) for p in others),
            ]
        ]

    monkeypatch.setattr(page, "candidates", lambda trace: candidates(0.02, 0.01, 0.0099, 0.005))
    shown, folded = page._candidates(None, ["a"]).split(
        "<details><summary>Other arcs below 1%</summary>"
    )
    assert re.findall(r"0\.\d{4}", shown.partition("</table>")[0]) == [
        "0.9000",
        "0.0200",
        "0.0100",
    ]
    assert re.findall(r"0\.\d{4}", folded) == ["0.0099"]  # three others are shown at most
    monkeypatch.setattr(page, "candidates", lambda trace: candidates(0.02, 0.00009))
    assert "<details>" not in page._candidates(None, ["a"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["--root-path", "https://example.org/a"],
            "https://example.org/a is not the path of an address; give only the path",
        ),
        (["--uds", "a", "--port", "8002"], "--uds excludes --host and --port; leave them out"),
        (
            ["--unix-socket", "a", "--host", "::1"],
            "--uds excludes --host and --port; leave them out",
        ),
    ],
)
def test_arguments_that_cannot_be(arguments, told, capsys):
    with pytest.raises(SystemExit):
        serve.main(["model", *arguments])
    assert told in capsys.readouterr().err


def jobs(n: int, data: str = "a") -> list[Request]:
    return [Request(f"{data}{i}") for i in range(n)]


def test_those_that_wait_are_worked_on_together():
    batches, free = [], Event()

    def work(batch):
        free.wait()
        batches.append([job.data for job in batch])
        return [job.data.upper() for job in batch]

    async def ask():
        batcher = Batcher(work)
        asked = [asyncio.create_task(batcher.answer(job)) for job in jobs(5)]
        await asyncio.sleep(0)  # the first batch has begun, with all that was there
        asked += [asyncio.create_task(batcher.answer(job)) for job in jobs(4, "b")]
        await asyncio.sleep(0)
        asked[6].cancel()
        free.set()
        answers = await asyncio.gather(*asked, return_exceptions=True)
        batcher.close()
        return answers

    answers = asyncio.run(ask())
    assert answers[:6] + answers[7:] == ["A0", "A1", "A2", "A3", "A4", "B0", "B2", "B3"]
    assert isinstance(answers[6], asyncio.CancelledError)
    assert [*map(sorted, batches)] == [["a0", "a1", "a2", "a3", "a4"], ["b0", "b2", "b3"]]


def test_large_ones_are_worked_on_alone():
    async def ask():
        batcher = Batcher(lambda batch: [len(batch)] * len(batch))
        return await asyncio.gather(*(batcher.answer(job) for job in jobs(3, "a" * 400_000)))

    assert asyncio.run(ask()) == [1, 1, 1]


def test_a_failure_is_told_to_all_and_ends_nothing():
    failing = iter([True, False])

    def work(batch):
        if next(failing):
            raise KeyError("a mistake")
        return ["right" for _ in batch]

    async def ask():
        batcher = Batcher(work)
        with pytest.raises(RuntimeError, match="a mistake"):
            await batcher.answer(*jobs(1))
        return await batcher.answer(*jobs(1))

    assert asyncio.run(ask()) == "right"


def answered(
    limits: Limits, bodies: list[list[bytes]], waits: bool = False
) -> list[tuple[int, bytes]]:
    """Statuses and contents of the answers to requests that come at the same time; ``waits``:
    none is ever answered.
    """
    httpx = pytest.importorskip("httpx2", reason="httpx2 is not installed (extra dev)")

    async def app(scope, receive, send):
        message = await receive()
        if waits:
            await asyncio.Event().wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": message["body"]})

    async def one_by_one(parts: list[bytes]) -> AsyncIterator[bytes]:
        for part in parts:
            await asyncio.sleep(0)  # meanwhile the others come
            yield part

    async def ask_all():
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(Limited(app, limits)), base_url="http://a"
        ) as client:
            return await asyncio.gather(
                *(client.post("/", content=one_by_one(parts)) for parts in bodies)
            )

    return [(answer.status_code, answer.content) for answer in asyncio.run(ask_all())]


def test_too_many_bytes_requests_and_seconds():
    assert answered(Limits(bytes=4), [[b"ab", b"cd"]]) == [(200, b"abcd")]
    ((status, said),) = answered(Limits(bytes=4), [[b"ab", b"cd", b"e"]])
    assert (status, said.partition(b";")[0]) == (413, b"the request has more than 4 bytes")
    *first, (status, said) = answered(Limits(requests=2), [[b"a"], [b"b"], [b"c"]])
    assert first == [(200, b"a"), (200, b"b")]
    assert (status, said) == (429, b"2 requests are being worked on; try again later\n")
    ((status, said),) = answered(Limits(seconds=0.01), [[b"a"]], waits=True)
    assert (status, said.partition(b";")[0]) == (408, b"there was no answer within 0.01 seconds")


def test_json_is_what_parse_writes():
    service = Service(
        model_of_kind(),
        "toy",
        ParseOptions(allow_missing_columns=True),
        TextPipeline(tiny_tokenizer()),
    )
    expected = parsed_files.parsed(
        service.model, document(1).encode(), allow_missing_columns=True, format=OutputFormat.JSON
    )
    found, plain, of_text = service.answers(
        [
            job(data=document(1), parser="", output="json"),
            job(data=WORD.format(1, "a", "_"), output="json"),
            job(data="1  du a.  b.", tokenizer="", output="json"),
        ]
    )
    assert found == expected.decode()
    assert json.loads(plain) == [{"id": 1, "text": "a", "upos": "X", "head": 0, "deprel": "dep"}]
    first, second = map(json.loads, of_text.splitlines())
    assert [(one["id"], one.get("start_char")) for one in first] == [
        (1, 0),
        ([2, 3], 3),
        (2, None),
        (3, None),
        (4, 6),
        (5, 7),
    ]
    assert second[0] == {
        "id": 1,
        "text": "b",
        "misc": "SpaceAfter=No",
        "start_char": 10,
        "end_char": 11,
    }
    with pytest.raises(
        RequestError, match=r"input=json is not known; known: conllu, horizontal, vertical$"
    ):
        job(data="", input="json")
