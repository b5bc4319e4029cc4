"""The bundled sample treebank: it is what its grammar writes, it is valid UD, and it is as hard as it claims to be."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from udtools import Validator

from data.sample_grammar import tree
from data.sample_grammar.draw import Draw
from data.sample_grammar.treebank import LONGEST, PARTS, SHORTEST, file_name, make_parts
from oracles.trees import Trees
from scripts import make_sample_treebank
from tests.toy import ROOT

FOLDER = ROOT / "data" / "sample"


def read(part: str) -> str:
    return (FOLDER / file_name(part)).read_bytes().decode()


def blocks(part: str) -> list[list[str]]:
    """The lines of each sentence."""
    return [block.split("\n") for block in read(part).removesuffix("\n\n").split("\n\n")]


def words(block: list[str]) -> list[list[str]]:
    """The columns of each syntactic word."""
    rows = [line.split("\t") for line in block if not line.startswith("#")]
    return [row for row in rows if row[0].isdigit()]


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return make_parts()


@pytest.mark.parametrize("part", PARTS)
def test_the_committed_files_are_what_the_grammar_writes(made: dict[str, str], part: str) -> None:
    assert made[part] == read(part), "data/sample is stale: run scripts/make_sample_treebank.py and commit what it writes"


def test_the_command_writes_them_where_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        make_sample_treebank.main(["--help"])
    assert list(tmp_path.iterdir()) == []
    make_sample_treebank.main(["there"])
    assert {path.name: path.read_bytes().decode() for path in (tmp_path / "there").iterdir()} == {
        file_name(part): made[part] for part in PARTS
    }


def test_another_seed_writes_other_sentences(made: dict[str, str]) -> None:
    assert make_parts(seed=1)["dev"] != made["dev"]


def test_draw_is_the_same_on_every_python() -> None:
    draw = Draw(7, held_out=False)
    assert [draw.uniform("abcdefgh") for _ in range(12)] == list("cbfaecaeadaa")


def test_words_marked_as_held_out_never_reach_training() -> None:
    for held_out, expected in ((False, {"a", "c"}), (True, {"a", "b", "c"})):
        draw = Draw(1, held_out)
        assert {draw.word(("a", "*b", "c")) for _ in range(200)} == expected


def test_the_official_validator_finds_no_error() -> None:
    """Level 5 for English: relations, features and auxiliaries included, not the structure alone."""
    validator = Validator(lang="en", level=5, output=None)
    state = validator.validate_files([str(FOLDER / file_name(part)) for part in PARTS])
    errors = [incident.message for incident in state.error_tracker if type(incident).__name__ == "Error"]
    assert state.passed(), errors[:3]


@pytest.mark.parametrize("part", PARTS)
def test_every_tree_has_one_root_and_no_cycle(part: str) -> None:
    for block in blocks(part):
        rows = words(block)
        heads = [int(row[6]) for row in rows]
        assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))
        assert heads.count(0) == 1
        assert all((row[6] == "0") == (row[7] == "root") for row in rows)
        Trees.from_heads([heads])  # refuses cycles and heads out of range
        assert SHORTEST <= len(rows) <= LONGEST


@pytest.mark.parametrize("part", PARTS)
def test_sizes_and_nonprojective_share(part: str) -> None:
    heads = [[int(row[6]) for row in words(block)] for block in blocks(part)]
    assert len(heads) == PARTS[part]
    assert 9.5 <= sum(map(len, heads)) / len(heads) <= 14
    assert 0.10 <= 1 - Trees.from_heads(heads).projective.mean() <= 0.25


@pytest.mark.parametrize("part", PARTS)
def test_text_comments_match_the_tokens(part: str) -> None:
    for block in blocks(part):
        printed, covered = "", 0
        for row in (line.split("\t") for line in block if not line.startswith("#")):
            first, _, last = row[0].partition("-")
            if int(first) <= covered:
                continue
            covered = int(last or first)
            printed += row[1] + ("" if "SpaceAfter=No" in row[9] else " ")
        assert block[1] == f"# text = {printed.strip()}"


def test_no_sentence_occurs_twice() -> None:
    texts = Counter(block[1] for part in PARTS for block in blocks(part))
    assert [text for text, count in texts.items() if count > 1] == []
    idents = Counter(block[0] for part in PARTS for block in blocks(part))
    assert max(idents.values()) == 1


def test_dev_and_test_have_some_unknown_words() -> None:
    known = {row[1].lower() for block in blocks("train") for row in words(block)}
    for part in ("dev", "test"):
        forms = [row[1].lower() for block in blocks(part) for row in words(block)]
        unknown = sum(form not in known for form in forms) / len(forms)
        assert 0.01 < unknown < 0.08


def test_the_phenomena_are_there() -> None:
    rows = [row for block in blocks("train") for row in words(block)]
    relations = Counter(row[7] for row in rows)
    expected = ("nsubj:pass", "aux:pass", "acl:relcl", "obl:tmod", "iobj", "xcomp", "ccomp", "advcl", "conj", "cop", "expl")
    assert [name for name in expected if relations[name] < 20] == []
    assert all(row[3] != "_" and row[2] != "_" for row in rows)
    assert {row[5] for row in rows if row[3] == "NOUN"} == {"Number=Sing", "Number=Plur"}
    # both attachments of "with" after an object: the decision that needs the words
    heads_of_with: Counter[str] = Counter()
    for block in blocks("train"):
        sentence = words(block)
        for row in sentence:
            if row[1] == "with" and row[7] == "case":
                heads_of_with[sentence[int(row[6]) - 1][7]] += 1
    assert min(heads_of_with["nmod"], heads_of_with["obl"]) >= 50


def test_multiword_tokens() -> None:
    ranges = re.findall(r"^\d+-\d+\t(\S+)", read("train"), flags=re.MULTILINE)
    assert len(ranges) > 50
    assert any(form.lower() == "didn't" for form in ranges)


def test_conllu_of_a_sentence_written_by_hand() -> None:
    verb = tree.word("sleep", "sleep", "VERB", "VB")
    auxiliary = tree.word("do", "do", "AUX", "VBP").depend(verb.head, "aux")
    negation = tree.word("n't", "not", "PART", "RB", "Polarity=Neg").depend(verb.head, "advmod")
    negation.head.fused = True
    sentence = verb.after(auxiliary, negation).before(tree.punctuation(".", verb.head))
    assert tree.conllu(sentence.tokens, "x").split("\n") == [
        "# sent_id = x",
        "# text = don't sleep.",
        "1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_",
        "1\tdo\tdo\tAUX\tVBP\t_\t3\taux\t_\t_",
        "2\tn't\tnot\tPART\tRB\tPolarity=Neg\t3\tadvmod\t_\t_",
        "3\tsleep\tsleep\tVERB\tVB\t_\t0\troot\t_\tSpaceAfter=No",
        "4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_",
        "",
        "",
    ]
