"""Text to sentences and words: blocks, places, what is refused;
tokens are those of a small tokenizer.
"""

import io
import pickle
import random
import re
import sys
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oracles.errors import OptimalStepError
from parser import InputError, Parser
from parser.commands import parse, parse_many
from parser.data.treebank import read_treebank
from parser.decoding.parse_options import ParseOptions, SentenceEnds
from parser.model.trained_model import TrainedModel
from parser.model_folder import TOKENIZER, UDPIPE_TOKENIZER, ModelError, fetched_models
from parser.serving.service import Request, Service
from parser.text import blocks as blocks_module
from parser.text.blocks import LINE_END, PARAGRAPH_END, blocks_of
from parser.text.characters import hash_of
from parser.text.decisions import form_value
from parser.text.pipeline import TRAIN_TOKENIZER, TextPipeline, as_stream
from parser.text.shards import Shard
from parser.text.tokens import Token, TokenizerError
from parser.text.worker import ShardParser, begin_parser
from tests.forgery import small_segmenter
from tests.random_models import random_text_model
from tests.text.tiny_tokenizer import SENTENCES, TEXT, rebuilt, save_tiny_tokenizer, tiny_tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a model with a tokenizer that has learned a made-up language."""
    made = tmp_path_factory.mktemp("text") / "model"
    random_text_model().save(made)
    save_tiny_tokenizer(made)
    return made


@pytest.fixture
def by_command(tmp_path, monkeypatch, capsysbinary):
    """Return a function that parses a text, which is then in text.txt, with parse.py,
    and returns what it prints.
    """

    def run(folder, text: str, *options: str) -> str:
        (tmp_path / "text.txt").write_text(text, encoding="utf-8", newline="")
        monkeypatch.setattr(
            sys, "argv", ["parse.py", str(folder), str(tmp_path / "text.txt"), "--text", *options]
        )
        assert parse.main() == 0
        return capsysbinary.readouterr().out.decode()

    return run


def as_one_of_many(folder, tmp_path, **how) -> str:
    """Return the trees of text.txt as those of a file of many."""
    parser = ShardParser(folder, ParseOptions(text=True, **how))
    assert parser(Shard(str(tmp_path / "text.txt"), str(tmp_path / "trees.conllu"))).error is None
    return (tmp_path / "trees.conllu").read_text(encoding="utf-8")


def treebank_of(tmp_path, conllu: str):
    (tmp_path / "parsed.conllu").write_text(conllu, encoding="utf-8", newline="")
    return read_treebank(tmp_path / "parsed.conllu")


def in_conllu(folder, text: str, tokens: str | None = None, **how) -> str:
    return b"".join(
        TextPipeline.of_model(folder, tokens=tokens).conllu(io.BytesIO(text.encode()), **how)
    ).decode()


def texts(conllu: str) -> list[str]:
    return [
        line.removeprefix("# text = ")
        for line in conllu.splitlines()
        if line.startswith("# text = ")
    ]


def test_text_is_split_and_parsed(folder, tmp_path, by_command):
    found = by_command(folder, TEXT)
    treebank = treebank_of(tmp_path, found)
    assert [sentence.forms for sentence in treebank] == SENTENCES
    assert {tag for sentence in treebank for tag in sentence.upos} <= {"X", "Y"}
    comments = [line for line in found.splitlines() if line.startswith("#")]
    assert comments[:4] == ["# newdoc", "# newpar", "# sent_id = 1", "# text = A kutya ugat."]
    assert comments.count("# newpar") == 2
    assert [line.split("\t")[9] for line in found.splitlines()[4:8]] == [
        "_",
        "_",
        "SpaceAfter=No",
        "_",
    ]
    assert as_one_of_many(folder, tmp_path) == found
    assert ShardParser(folder, ParseOptions(text=True)).tokenizer_path == folder / TOKENIZER


ODD = [
    *'aé.,!?"1   \n\r\t\0\u00a0\u2028\u200b\u3000\x0b\x85\ufeff\U0001f600',
    "\r\n",
    "\n\n",
    "e\u0301",
    "A kutya ugat.",
]


@pytest.mark.parametrize("ends", [None, "space"])
@pytest.mark.parametrize("size", [1, 9, 2**16])
def test_a_text_is_rebuilt_from_conllu_to_the_last_character(folder, cut_at, size, ends):
    """However it is cut: MISC has all spaces,
    and TokenRange counts the characters of the whole text.
    """
    cut_at(READ_BYTES=size, BLOCK=size, LONGEST=2 * size)
    rng = random.Random(size)
    for text in [
        "du\u00a0| \\s\r\n",
        *("".join(rng.choices([*ODD, "|", "\\", "du"], k=rng.randrange(60))) for _ in range(50)),
    ]:
        made = in_conllu(
            folder,
            text,
            ends,
            sentences=SentenceEnds.LINE if ends else SentenceEnds.MODEL,
            ranges=True,
        )
        found, tokens = rebuilt(made)
        assert found == (text.replace("\0", " ") if tokens else ""), ascii(text)
        assert all(
            written == text.replace("\0", " ")[start:end] for written, (start, end) in tokens
        )


def test_runs_of_spaces_are_one_in_the_comment_and_in_forms(folder):
    [sentence] = Parser.load(folder).parse_text("A  kutya\t ugat. ", allow_missing_columns=True)
    assert sentence.conllu().startswith("# text = A kutya ugat.\n1\tA\t")


@pytest.mark.parametrize(
    "text",
    [
        f"\ufeff  A du \U0001f600.\r\n\r\n{TEXT}",
        f"{TEXT}{TEXT}".replace("\n", "\r\n"),
        f"A du\nlány.  {'a' * 2_005}\0Ma\rjön \U0001f600.",
        " \n\n ",
    ],
)
def test_the_library_reads_text_as_the_commands_do(folder, tmp_path, by_command, text):
    found = by_command(folder, text, "--allow-missing-columns", "--ranges", "--threads", "2")
    assert as_one_of_many(folder, tmp_path, allow_missing_columns=True, ranges=True) == found
    sentences = Parser.load(folder)(text, allow_missing_columns=True)
    tokens = [
        (text[start:end], (start, end)) for sentence in sentences for start, end in sentence.spans
    ]
    assert rebuilt(found) == (text.replace("\0", " ") if tokens else "", tokens)
    plain = by_command(folder, text, "--allow-missing-columns")
    assert "".join(sentence.conllu() for sentence in sentences) == re.sub(
        "# (newdoc|newpar|sent_id).*\n", "", plain
    )
    for sentence in sentences:
        words = [
            span
            for token, span in zip(sentence.tokens, sentence.spans, strict=True)
            for _ in token.words
        ]
        assert [(word.start, word.end) for word in sentence.words] == words
        assert sentence.text == text[words[0][0] : words[-1][1]]


@pytest.mark.parametrize("command", [parse, parse_many])
def test_ranges_are_those_of_text(folder, tmp_path, monkeypatch, command):
    monkeypatch.setattr(
        sys,
        "argv",
        ["parse.py", str(folder), str(tmp_path / "a"), "-o", str(tmp_path), "--ranges"],
    )
    with pytest.raises(ValueError, match="--ranges is "):
        command.main()


@pytest.mark.parametrize(
    ("text", "message"),
    [("A \ud800 b.", r"character 3 .*'\\ud800'"), ("\udc80", r"character 1 .*'\\udc80'")],
)
def test_half_of_a_surrogate_pair_is_named(folder, text, message):
    with pytest.raises(InputError, match=message):
        Parser.load(folder).parse_text(text)


@pytest.mark.parametrize(
    "text", ["", "\n\n \n", "a" * 100_000, "\0\x01\u2028 \ufeff", "\r\n\r\na\r\nb"]
)
def test_odd_text_becomes_trees_or_nothing(folder, tmp_path, by_command, text):
    found = by_command(folder, text, "--allow-missing-columns")
    if text.strip("\0\r\n \u2028\ufeff"):
        assert treebank_of(tmp_path, found).n_words
    else:
        assert found == ""


IDEOGRAPHS = "\u6587" * 900 + "\u3002" + "\u5b57" * 3_000 + "\u3002"


@pytest.mark.parametrize(
    ("letters", "around"),
    [("a" * 10_000, ""), ("ab\u0301" * 2_000, ""), (IDEOGRAPHS, ""), (IDEOGRAPHS, " word . ")],
)
def test_of_text_without_spaces_neither_letters_nor_spaces_are_lost(folder, letters, around):
    text = f"{around}{letters}{around}"
    conllu = in_conllu(folder, text, ranges=True)
    assert rebuilt(conllu)[0] == text
    assert conllu.count("# newpar") == 1


@pytest.mark.parametrize("tokens", [None, "space"])
def test_a_presegmented_line_is_never_cut(folder, tokens):
    """Also one longer than what is tokenized at a time, whose sentences end where a text may be
    cut, and one without spaces.
    """
    long = ["a" * 2_005 + " end", "b" * 3_000]
    lines = ["Ma. " * 40_000 + "jön", *long, "A kutya", "ugat", "", "Ma"]
    conllu = in_conllu(folder, "\n".join(lines), tokens, sentences=SentenceEnds.LINE, ranges=True)
    assert rebuilt(conllu)[0] == "\n".join(lines)
    assert texts(conllu) == [line for line in lines if line]
    assert conllu.count("# newpar") == 2


def test_words_at_spaces_need_no_tokenizer(tmp_path, by_command):
    """A sentence is a line; the commands and the library agree."""
    random_text_model().save(tmp_path / "model")
    text = "A kutya(du) ugat.\n10\u00a0000\t \u2003lány\n\u00a0 \n\ufeff.. Ma\fjön"
    expected = [["A", "kutya(du)", "ugat."], ["10 000", "lány"], ["..", "Ma"], ["jön"]]
    found = by_command(
        tmp_path, text, "--tokens=space", "--sentences=line", "--allow-missing-columns"
    )
    assert [sentence.forms for sentence in treebank_of(tmp_path, found)] == expected
    assert texts(found) == [" ".join(forms) for forms in expected]
    assert found.count("# newpar") == 3
    how = {"tokens": "space", "sentences": "line", "allow_missing_columns": True}
    assert as_one_of_many(tmp_path / "model", tmp_path, **how) == found

    parser = Parser.load(tmp_path)
    sentences = parser(text, **how)
    assert [sentence.forms for sentence in sentences] == expected
    start, end = sentences[1].spans[0]
    assert text[start:end] == "10\u00a0000"
    with pytest.raises(TokenizerError, match="needs a segmenter"):
        parser.parse_text("a b", tokens="space")
    for wrong in ({"tokens": "spaces"}, {"sentences": "lines"}):
        with pytest.raises(InputError, match="known: model, "):
            parser.parse_text("a b", **wrong)


def test_a_paragraph_a_line_has_sentences_within(folder, tmp_path, by_command):
    """By the command, for files of many, and by the library; a line end ends a sentence, also
    within one of the model's.
    """
    text = "A kutya ugat a lány. Jön a du\nszép lány is, a kutya ugat! Ma is jön\n\n1 a"
    expected = [
        "A kutya ugat a lány.",
        "Jön a du",
        "szép lány is, a kutya ugat!",
        "Ma is jön",
        "1 a",
    ]
    found = by_command(
        folder, text, "--sentences=paragraph", "--allow-missing-columns", "--threads=2"
    )
    assert texts(found) == expected
    assert found.count("# newpar") == 3
    how = {"sentences": "paragraph", "allow_missing_columns": True}
    assert as_one_of_many(folder, tmp_path, **how) == found
    assert [sentence.text for sentence in Parser.load(folder)(text, **how)] == expected
    assert [one.text for one in next(Parser.load(folder).pipe([text], **how))] == expected
    assert texts(by_command(folder, text, "--sentences=line", "--allow-missing-columns")) == [
        *text.split("\n")[:2],
        "1 a",
    ]


def test_words_at_spaces_have_paragraphs_by_lines_with_a_segmenter(folder, tmp_path):
    (tmp_path / "model").mkdir()
    small_segmenter().save(tmp_path / "model")
    pipeline = TextPipeline.of_model(tmp_path / "model", tokens="space")
    found = pipeline.read("a b\nc d\n\ne", SentenceEnds.PARAGRAPH)
    assert [one.tokens[0].form for one in found if one.begins_paragraph] == ["a", "c", "e"]
    assert [
        one.tokens[0].form for one in pipeline.read("a b\nc d\n\ne") if one.begins_paragraph
    ] == ["a", "e"]


ABBREVIATED = "A kutya ugat a ház. 20 du is, z.B. a lány ugat a ház. A kutya ugat a szp. Lny is."


def test_a_users_own_abbreviations(folder, tmp_path, by_command):
    """They keep their period; a sentence ends after one before a word that often begins sentences,
    here *A*.
    """
    (tmp_path / "short.txt").write_text("\ufeff# mine\n\nHáz.\r\nz.B.\nszp. +\n", encoding="utf-8")
    given = f"--abbreviations={tmp_path / 'short.txt'}"
    found = by_command(folder, ABBREVIATED, "--allow-missing-columns", given)
    assert texts(found) == [
        "A kutya ugat a ház. 20 du is, z.B. a lány ugat a ház.",
        "A kutya ugat a szp. Lny is.",
    ]
    forms = [line.split("\t")[1] for line in found.splitlines() if line[:1].isdigit()]
    assert [form for form in forms if form.endswith(".")] == ["ház.", "z.B.", "ház.", "szp.", "."]
    assert len(texts(by_command(folder, ABBREVIATED, "--allow-missing-columns"))) > 2
    how = {"abbreviations": tmp_path / "short.txt", "allow_missing_columns": True}
    assert as_one_of_many(folder, tmp_path, **how) == found
    parser = Parser.load(folder, abbreviations=tmp_path / "short.txt")
    for one in (
        parser,
        pickle.loads(pickle.dumps(parser)),
        Parser.load(folder, tokenizer=folder, abbreviations=how["abbreviations"]),
    ):
        assert [
            sentence.text for sentence in one(ABBREVIATED, allow_missing_columns=True)
        ] == texts(found)


def test_many_abbreviations_are_all_known_and_nothing_else_changes(folder):
    """Also more than the table of forms has places."""
    tokenizer = tiny_tokenizer()
    short = {f"q{number}.": False for number in range(5000)}
    own = tokenizer.with_abbreviations(short)
    assert len(own.tokens.forms) > len(tokenizer.tokens.forms)
    text = " ".join(f"{form} a" for form in short)
    assert [form for one in own.split(text) for form in one.forms][::2] == list(short)
    assert own.split(TEXT) == tokenizer.split(TEXT)
    for known in ("kutya", "lány", "a"):
        hashed = np.uint64(hash_of(known))
        assert (
            form_value(own.tokens.forms, hashed) == form_value(tokenizer.tokens.forms, hashed) > 0
        )


def test_the_segmenters_sentences_go_on_after_an_abbreviation_of_the_users():
    class Everywhere:
        def split(self, paragraphs):
            return [[[token] for token in tokens] for tokens in paragraphs]

    pipeline = TextPipeline(tiny_tokenizer(), Everywhere(), abbreviations={"a.": False, "b.": True})
    tokens = [Token(form, (form,), True) for form in ("A.", "c", "a.", "C", "B.", "C", "d")]
    found = pipeline._joined([[token] for token in tokens])
    assert [[token.form for token in one] for one in found] == [
        ["A.", "c"],
        ["a."],
        ["C"],
        ["B.", "C"],
        ["d"],
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"a.\nProf\n",
            (
                "short.txt, line 2: 'Prof' is not an abbreviation; "
                "write one with its period on each line"
            ),
        ),
        (b"# a\nB. b. c.\n", "short.txt, line 2: 'B. b. c.' is not an abbreviation"),
        (b"a.\n\nd\xe9p.\n", "short.txt, line 3: not UTF-8"),
        (b"...\n", "short.txt, line 1: '...' is not an abbreviation"),
        (None, "short.txt: No such file"),
    ],
)
def test_what_is_no_list_of_abbreviations_is_refused_with_its_place(
    folder, tmp_path, by_command, content, message
):
    if content is not None:
        (tmp_path / "short.txt").write_bytes(content)
    with pytest.raises(OptimalStepError, match=re.escape(message)):
        by_command(folder, TEXT, f"--abbreviations={tmp_path / 'short.txt'}")
    with pytest.raises(OptimalStepError, match=re.escape(message)):
        Parser.load(folder, abbreviations=tmp_path / "short.txt")


def test_conllu_that_is_parsed_as_text_is_warned_of(tmp_path, monkeypatch, capsys, caplog):
    """By parse, by parse_many and by the library."""
    random_text_model().save(tmp_path / "model")
    how = {"tokens": "space", "sentences": "line", "allow_missing_columns": True}
    words = ["--text", "--tokens=space", "--sentences=line", "--allow-missing-columns"]
    file, said = (
        tmp_path / "text.txt",
        "this is CoNLL-U, and its numbers, tags and underscores are parsed as words of a text",
    )
    for text, warns in (
        ("# sent_id = 1\n1\tA\t_\tDET" + "\t_" * 6 + "\n", True),
        ("1 A 2\n", False),
    ):
        file.write_text(text, encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["parse.py", str(tmp_path), str(file), *words])
        parse.main()
        assert (f"warning: {file}: {said}; leave out --text\n" in capsys.readouterr().err) == warns
        outcome = ShardParser(tmp_path / "model", ParseOptions(text=True, **how))(
            Shard(str(file), str(tmp_path / "trees"))
        )
        assert (f"{file}: {said}; leave out --text" in outcome.warnings) == warns
        caplog.clear()
        Parser.load(tmp_path)(text, **how)
        assert (f"the text: {said}; give its words to parse()" in caplog.text) == warns


@pytest.fixture
def cut_at(monkeypatch):
    """Return a function that sets how many bytes are read at a time, what a block holds,
    and the longest part of a paragraph.
    """

    def cut(**sizes: int) -> None:
        for name, size in sizes.items():
            monkeypatch.setattr(blocks_module, f"_{name}", size)

    return cut


def paragraphs_of(text: str) -> list[str]:
    """Those of a text, in its words."""
    lines = (
        text.replace("\ufeff", "")
        .replace("\0", " ")
        .replace("\f", "\n\n")
        .replace("\u2029", "\n\n")
        .replace("\r\n", "\n")
    )
    found = re.split(r"\n(?:[^\S\n]*\n)+", re.sub("[\r\v\x85\u2028]", "\n", lines))
    return [" ".join(part.split()) for part in found if part.strip()]


@pytest.mark.parametrize(("size", "n_blocks"), [(1, 6), (7, 4), (2**16, 1)])
def test_text_is_cut_after_blank_lines_alone(cut_at, size, n_blocks):
    cut_at(READ_BYTES=size, BLOCK=size)
    text = "é a\nb\n\nc\r\n \t\r\n\n\n\ufeffd\fe\u2028f\u2029g"
    blocks = list(blocks_of(io.BytesIO(text.encode("utf-8-sig")), "text"))
    assert "".join(block.text for block in blocks) == f"\ufeff{text}"
    assert [part for block in blocks for part in paragraphs_of(block.text)] == paragraphs_of(text)
    assert sum(bool(block.text.strip()) for block in blocks) == n_blocks - (size == 1)


PIECES = st.lists(
    st.sampled_from([*"ab .!?\n\r\t\f\u2028\ufeff\0\u0301", "\r\n", "\n\n", "a. b\n"]),
    max_size=100,
)


@given(PIECES.map("".join), st.integers(1, 20), st.integers(1, 20), st.sampled_from(SentenceEnds))
@example("\n\r\na. b\n", 1, 2, SentenceEnds.MODEL)  # a CR is read, its LF not yet
@example("a\n\f\ufeff\n", 1, 4, SentenceEnds.MODEL)  # the first of two paragraph ends is read first
def test_a_long_paragraph_is_cut_and_nothing_is_lost(text, size, longest, sentences):
    """Where it is cut does not depend on how it is read."""
    found = []
    for read in (1, size, 1000):
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (
                ("_READ_BYTES", read),
                ("_BLOCK", size),
                ("_LONGEST", size + longest),
            ):
                patch.setattr(blocks_module, name, value)
            found.append(list(blocks_of(io.BytesIO(text.encode()), "text", sentences)))
    assert [
        [block.text.split() for block in blocks if block.text.strip()] for blocks in found[1:]
    ] == 2 * [[block.text.split() for block in found[0] if block.text.strip()]]
    for blocks in found:
        assert "".join(block.text for block in blocks) == text
        assert [block.start for block in blocks] == [
            *accumulate((len(block.text) for block in blocks[:-1]), initial=0)
        ][: len(blocks)]
        assert all(block.text for block in blocks)
        if sentences == SentenceEnds.LINE:
            assert all(LINE_END.search(block.text[-1]) for block in blocks[:-1])


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("It is. So it\nis. " * 3, "is. "),
        ("It is.\nSo it is. " * 3, "It is.\n"),
        ("It is.\r\nSo it is. " * 3, "It is.\r\n"),
        ("jah qaþ\nþata " * 3, "qaþ\n"),
        ("jah qaþ " * 3, " "),
        ("\u6587" * 40, "\u6587"),
        ("a\u0301" * 40, "a\u0301"),
        ("!" * 40, "!"),
    ],
)
def test_a_long_paragraph_is_cut_after_a_sentence_a_line_or_a_word(cut_at, text, end):
    cut_at(BLOCK=10, LONGEST=30)
    first, *others = blocks_of(io.BytesIO(text.encode()), "text")
    assert first.text.endswith(end)
    assert len(first.text) > 9
    assert not any(PARAGRAPH_END.search(block.text) for block in (first, *others))


def test_a_paragraph_that_is_cut_is_one(folder, cut_at):
    text = "\n".join(f"A kutya {n} ugat." for n in range(30))
    cut_at(BLOCK=50, LONGEST=100)
    assert in_conllu(folder, f"{text}\n\n{text}").count("# newpar") == 2


class Endless(io.RawIOBase):
    """A line of many millions of letters; knows how much has been read."""

    def __init__(self, unit: str, length: int) -> None:
        self._unit, self._left, self.read_so_far = unit.encode(), length, 0

    def read(self, size: int = -1) -> bytes:
        taken = min(self._left, size // len(self._unit) * len(self._unit))
        self._left -= taken
        self.read_so_far += taken
        return self._unit * (taken // len(self._unit))


FEW_TOKENS = ["a", "\u6587", "e\u0301", "\U0001f600", "\ufeff", "\u00ad", "\0 "]
MANY_TOKENS = ["a b ", "a,", "a. B ", "1,", "a+b@", "(a"]


@pytest.mark.long
@pytest.mark.parametrize("unit", FEW_TOKENS)
def test_of_a_line_of_ten_million_bytes_little_is_held(folder, unit):
    check_little_is_held(folder, unit, 10_000_000)


@pytest.mark.long
@pytest.mark.parametrize("unit", MANY_TOKENS)
def test_of_a_line_of_many_tokens_little_is_held(folder, cut_at, unit):
    """In blocks of a sixteenth, which takes as much less time."""
    cut_at(
        BLOCK=blocks_module._BLOCK // 16,
        LONGEST=blocks_module._LONGEST // 16,
        READ_BYTES=blocks_module._READ_BYTES // 16,
    )
    check_little_is_held(folder, unit, 10_000_000 // 16)


def check_little_is_held(folder, unit, n_bytes):
    """Check that no more than two blocks are read ahead of what is written, and nothing is lost."""
    size = len(unit.encode())
    source = Endless(unit, n_bytes // size * size)
    most = 4 * (blocks_module._LONGEST + blocks_module._READ_BYTES)
    done = ahead = 0
    for piece in TextPipeline.of_model(folder).conllu(source, ranges=True):
        assert len(piece) < 100 * blocks_module._LONGEST
        done = int(piece.rstrip(b"\n").rpartition(b":")[2])
        ahead = max(ahead, source.read_so_far - done * size // len(unit))
    if unit.strip("\ufeff\0 "):
        assert ahead <= 2 * most
        assert done >= n_bytes * len(unit) // size - len(unit) - 1


@pytest.mark.parametrize(
    "content",
    [
        b"ab\xffc",
        b"a\n\n" * 30 + b"\xc3",
        b"\xe9",
        b"\xef\xbb\xbfab\xffc",
        b"\xef\xbb\xbfa\n\nb\xe9\n",
    ],
)
@pytest.mark.parametrize("size", [1, 2, 4, 2**16])
def test_text_that_is_not_utf_8_is_refused_with_the_place(cut_at, content, size):
    """Which counts a byte order mark."""
    cut_at(READ_BYTES=size)
    with pytest.raises(UnicodeDecodeError) as raised:
        content.decode("utf-8")
    line = content[: raised.value.start].count(b"\n") + 1
    with pytest.raises(
        TokenizerError,
        match=(
            rf"text, line {line}: not UTF-8 at byte {raised.value.start} .*: iconv -f LATIN1 -t"
            r" UTF-8, "
        ),
    ):
        list(blocks_of(io.BytesIO(content), "text"))


def test_pieces_are_a_stream():
    stream = as_stream(iter([b"", b"abc", b"", b"defg"]))
    assert stream.read(2) + stream.read(4) + stream.read() == b"abcdefg"


def test_what_is_no_tokenizer_is_refused_with_what_to_type(tmp_path):
    command = re.escape(TRAIN_TOKENIZER.format(tmp_path))
    with pytest.raises(
        TokenizerError,
        match=f"there is no tokenizer; train one: {command}; or name .*--tokenizer FILE",
    ):
        TextPipeline.of_model(tmp_path)
    for missing in (tmp_path / "nothing", tmp_path):
        with pytest.raises(
            TokenizerError,
            match=r"there is no tokenizer of this name; name the file tokenizer\.json",
        ):
            TextPipeline.of_file(missing)
    for content in (b"no model", b"", b"\xc3\xa9"):
        (tmp_path / "english.udpipe").write_bytes(content)
        with pytest.raises(
            TokenizerError,
            match=r"english\.udpipe: this is not tokenizer\.json .*UDPipe 1 .*train one: optimal-",
        ):
            TextPipeline.of_file(tmp_path / "english.udpipe")
    (tmp_path / TOKENIZER).write_text("{}")
    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        TextPipeline.of_file(tmp_path)


def test_a_tokenizer_is_known_by_the_name_of_its_model(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    fetched = fetched_models() / "mine"
    fetched.mkdir(parents=True)
    save_tiny_tokenizer(fetched)
    assert TextPipeline.of_file(Path("mine")).path == fetched / TOKENIZER
    assert TextPipeline.of_model(folder, Path("mine")).path == fetched / TOKENIZER
    loaded = Parser.load(folder, tokenizer="mine")
    monkeypatch.chdir("/")
    assert pickle.loads(pickle.dumps(loaded)).parse_text("a b.") == loaded.parse_text("a b.")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TokenizerError, match=r"^english: .* \(did you mean en\?\)"):
        TextPipeline.of_file(Path("english"))
    Path("mine").mkdir()  # what is here comes first
    with pytest.raises(TokenizerError, match="there is no tokenizer of this name"):
        TextPipeline.of_file(Path("mine"))
    save_tiny_tokenizer(Path("mine"))
    assert TextPipeline.of_file(Path("mine")).path == Path("mine", TOKENIZER)


def test_a_folder_with_a_tokenizer_of_udpipe_parses_words_and_refuses_text(
    folder, tmp_path, monkeypatch, capsysbinary
):
    """Its trees of CoNLL-U are those of the same model without it;
    text needs a tokenizer of ours.
    """
    before = tmp_path / "before"
    random_text_model().save(before / "model")
    random_text_model().save(tmp_path / "without")
    (before / "model" / UDPIPE_TOKENIZER).write_bytes(b"\x0emorphodita_parsito")
    (tmp_path / "words.conllu").write_text(
        "1\tA" + "\t_" * 8 + "\n2\tkutya" + "\t_" * 8 + "\n\n", encoding="utf-8"
    )
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    found = []
    for model in (before, tmp_path / "without"):
        monkeypatch.setattr(sys, "argv", ["parse.py", str(model), str(tmp_path / "words.conllu")])
        assert parse.main() == 0
        found.append(capsysbinary.readouterr().out)
    assert found[0] == found[1] != b""
    message = (
        r"before: its tokenizer tokenizer\.udpipe is of UDPipe 1, .*; train one: optimal-step"
        r" train_tokenizer "
    )
    monkeypatch.setattr(
        sys, "argv", ["parse.py", str(before), str(tmp_path / "text.txt"), "--text"]
    )
    with pytest.raises(TokenizerError, match=message):
        parse.main()
    with pytest.raises(TokenizerError, match=message):
        Parser.load(before).parse_text(TEXT)
    outcome = begin_parser(before, ParseOptions(text=True))(
        Shard(str(tmp_path / "text.txt"), str(tmp_path / "trees"))
    )
    assert re.search(message, str(outcome.error))
    with pytest.raises(TokenizerError, match="UDPipe 1 is no longer read"):
        Parser.load(before, tokenizer=before / "model" / UDPIPE_TOKENIZER)
    for named in (folder, folder / TOKENIZER):
        assert len(Parser.load(before, tokenizer=named).parse_text(TEXT)) == len(SENTENCES)


def test_a_service_reads_text(folder, by_command):
    of_parse = by_command(folder, TEXT)
    assert TrainedModel.load(folder).described() == random_text_model().described()
    service = Service(TrainedModel.load(folder), "hu", tokenizer=TextPipeline.of_model(folder))
    steps = {"tokenizer": "", "tagger": "", "parser": ""}
    everything, split = service.answers(
        [Request.of({"data": TEXT, **steps}), Request.of({"data": TEXT, "tokenizer": ""})]
    )
    assert everything == of_parse
    assert isinstance(split, str)
    assert split.replace("\t_", "").splitlines()[4:7] == [
        "1\tA",
        "2\tkutya",
        "3\tugat\tSpaceAfter=No",
    ]
    assert service.steps == ["tokenizer", "tagger", "parser"]
    # Presegmented text has a sentence a line, whatever is in it.
    (lines,) = service.answers(
        [Request.of({"data": "A kutya. Ugat a\nMa\n", "tokenizer": "presegmented"})]
    )
    assert isinstance(lines, str)
    assert texts(lines) == ["A kutya. Ugat a", "Ma"]
