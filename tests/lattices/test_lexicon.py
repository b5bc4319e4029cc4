"""Lexicons: analyses as they were seen, those of unknown tokens, jackknifed lattices, the command,
and tags by last letters.
"""

import io
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parser.commands.lattices import main
from parser.conllu.stream import RawSentence, read_raw_sentences
from parser.lattices import LatticeError, read_lattices, stream_lattices, text_of
from parser.lattices.gold_paths import gold_paths, read_trees
from parser.lattices.lexicon import Guess, Lexicon, SuffixGuesser, Tags, jackknife
from tests.lattices.made import all_paths, shared

TRAIN = """# sent_id = 1
1-2 ab _ _ _ _ _ _ _ SpaceAfter=No
1 a a ADP _ _ 2 case _ _
2 b b NOUN NN Case=Nom 3 obl _ _
3 runs run VERB _ _ 0 root _ _

# sent_id = 2
1 ab ab PROPN _ _ 2 nsubj _ _
2 runs run NOUN _ _ 0 root _ _

# sent_id = 3
1-3 ab _ _ _ _ _ _ _ _
1 a a ADP _ _ 2 case _ _
2 b b NOUN NN Case=Gen 0 root _ _
3 c c ADV _ _ 2 advmod _ _
4 runs run VERB _ _ 2 acl _ _

"""


def read(text: str) -> list[RawSentence]:
    return list(read_raw_sentences(io.BytesIO(text.replace(" ", "\t").encode()), "t.conllu"))


def test_analyses_are_those_that_were_seen():
    train = read(TRAIN)
    lexicon = Lexicon.of(train)
    assert len(lexicon) == 2
    assert lexicon.look_up("runs") == [
        (("runs", "run", "VERB", "_", "_"),),
        (("runs", "run", "NOUN", "_", "_"),),
    ]
    # equally frequent ones in alphabetical order
    assert [len(analysis) for analysis in lexicon.look_up("ab")] == [3, 2, 1]
    assert lexicon.unknown == [("VERB", "_", "_"), ("NOUN", "_", "_"), ("PROPN", "_", "_")]
    assert lexicon.look_up("new") == [
        (("new", "_", tag, "_", "_"),) for tag in ("VERB", "NOUN", "PROPN")
    ]
    assert Lexicon.of(train, 1).unknown == [("VERB", "_", "_")]
    assert Lexicon().look_up("new") == [(("new", "_", "X", "_", "_"),)]


def test_unknown_tokens_may_be_guessed_by_their_last_letters():
    train = read(TRAIN.replace("runs", "walks").replace("ab", "Ab"))
    lexicon = Lexicon.of(train, guess=Guess.SUFFIXES)
    # as seen with walks
    assert lexicon.look_up("talks") == [
        (("talks", "_", tag, "_", "_"),) for tag in ("NOUN", "VERB")
    ]
    # Ab, alone in beginning with a capital letter
    assert lexicon.look_up("Talks") == [(("Talks", "_", "PROPN", "_", "_"),)]
    # with digits there is nothing to guess from
    assert lexicon.look_up("3") == Lexicon.of(train).look_up("3") != []
    assert lexicon.look_up("walks") == Lexicon.of(train).look_up("walks")
    assert Lexicon.of(train, 1, Guess.SUFFIXES).look_up("talks") == [
        (("talks", "_", "NOUN", "_", "_"),)
    ]
    of_others = Lexicon.of([train[0], train[2]], 1, Guess.SUFFIXES)
    assert list(jackknife(train, 3, 1, Guess.SUFFIXES))[1].arcs == of_others.lattice(train[1]).arcs


def test_decomposed_tokens_are_looked_up_composed():
    """Their words are written as the token was."""
    train = read(
        TRAIN.replace("ab", "\u00e1b")
        .replace(" a a ", " \u00e1 \u00e1 ")
        .replace("runs", "r\u00fan")
    )
    lexicon = Lexicon.of(train, guess=Guess.SUFFIXES)
    composed, decomposed = lexicon.look_up("\u00e1b"), lexicon.look_up("a\u0301b")
    assert [[word[0] for word in analysis] for analysis in decomposed] == [
        ["a\u0301", "b", "c"],
        ["a\u0301", "b"],
        ["a\u0301b"],
    ]
    assert [[word[1:] for word in one] for one in decomposed] == [
        [word[1:] for word in one] for one in composed
    ]
    assert lexicon.look_up("tu\u0301n") == [
        (("tu\u0301n", *word[1:]),) for (word,) in lexicon.look_up("t\u00fan")
    ]


def test_lattices_hold_the_analyses_and_the_gold_paths():
    train = read(TRAIN)
    lexicon = Lexicon.of(train)
    lattices = [lexicon.lattice(sentence) for sentence in train]
    forms = {tuple(lattices[1].forms[arc] for arc in path) for path in all_paths(lattices[1])}
    assert forms == {("ab", "runs"), ("a", "b", "runs"), ("a", "b", "c", "runs")}
    assert lattices[0].tokens[0].misc == "SpaceAfter=No"
    _, found = gold_paths(lattices, train)
    assert (found.with_upos, found.tokens_with_upos) == (3, 6)
    for lattice in lattices:
        (again,) = stream_lattices(io.BytesIO(text_of(lattice).encode()), "f")
        assert again.arcs == lattice.arcs


def test_words_of_the_text_are_not_read():
    train = read(TRAIN)
    other = read(TRAIN.replace("NOUN", "X").replace("Case", "Mood").replace("b b", "x y"))
    lexicon = Lexicon.of(train)
    for sentence, its_like in zip(train, other, strict=True):
        assert lexicon.lattice(sentence).arcs == lexicon.lattice(its_like).arcs


def test_a_jackknife_knows_other_sentences_alone():
    train = read(TRAIN)
    lattices = list(jackknife(train, 3))
    assert "PROPN" not in lattices[1].upos
    assert lattices[1].arcs == Lexicon.of([train[0], train[2]]).lattice(train[1]).arcs
    with pytest.raises(LatticeError, match=r"3 sentences .* 10 parts"):
        list(jackknife(train))
    for folds in (0, 1):
        with pytest.raises(LatticeError, match=rf"--folds {folds}: .* at least two"):
            list(jackknife(train, folds))


def test_a_lexicon_is_written_and_read(tmp_path):
    for lexicon in (Lexicon.of(read(TRAIN)), Lexicon.of(read(TRAIN), 2, Guess.SUFFIXES)):
        lexicon.save(tmp_path / "lexicon.json")
        assert Lexicon.load(tmp_path / "lexicon.json") == lexicon
    with pytest.raises(LatticeError, match=r"nothing\.json: it cannot be read"):
        Lexicon.load(tmp_path / "nothing.json")
    for text in (
        *("", "[]", "{}", '{"format": 2, "guess": "x"}', '{"format": 9}'),
        '{"format": 1, "unknown": [], "analyses": {}}',
        (
            '{"format": 2, "guess": "frequent", "most": 5, "unknown": [], "analyses": {"a":'
            ' [[["x"]]]}}'
        ),
    ):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(LatticeError, match=r"bad\.json: not a lexicon"):
            Lexicon.load(tmp_path / "bad.json")


def test_the_command(tmp_path, capsys):
    (tmp_path / "train.conllu").write_text(
        TRAIN.replace(" ", "\t").replace("#\tsent_id\t=\t", "# sent_id = ")
    )
    train, lexicon, lattices = (
        str(tmp_path / name) for name in ("train.conllu", "lexicon.json", "train.conllul.gz")
    )
    main(["build", train, "-o", lexicon])
    assert "2 forms" in capsys.readouterr().err
    main(["apply", lexicon, train, "-o", lattices])
    assert (
        "3 sentences, 6 tokens, 3.50 arcs a token, 0.0% unknown tokens" in capsys.readouterr().err
    )
    assert len(read_lattices(lattices)) == 3
    main(["paths", lattices, train])
    written = capsys.readouterr()
    assert "100.0% of the tokens (with UPOS: 100.0%)" in written.err
    found = list(read_raw_sentences(io.BytesIO(written.out.encode()), "out"))
    for ours, theirs in zip(found, read_trees(train), strict=True):
        assert [columns[:8] for columns in ours.columns] == [
            columns[:8] for columns in theirs.columns
        ]
        assert ours.multiwords == theirs.multiwords
    main(["jackknife", train, "--folds", "3", "-o", lattices])
    assert len(read_lattices(lattices)) == 3
    main(["build", train, "-o", lexicon, "--guess", "suffixes"])
    assert "gets the analyses of forms with its ending" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["build", train, "-o", lexicon, "--guess", "nothing"])
    assert "choose from" in capsys.readouterr().err
    (tmp_path / "empty.conllu").touch()
    with pytest.raises(LatticeError, match=r"empty\.conllu: there is no sentence in this file"):
        main(["build", str(tmp_path / "empty.conllu"), "-o", lexicon])


@pytest.mark.parametrize(
    ("folder", "name", "upos", "arcs"),
    [("UD_Greek-GDT", "el_gdt", "92.7", 2.5), ("UD_Hungarian-Szeged", "hu_szeged", "91.0", 3.1)],
)
def test_figures_of_treebanks(folder, name, upos, arcs):
    train, test = (
        read_trees(shared(f"ud-v2.2/{folder}/{name}-ud-{part}.conllu"))
        for part in ("train", "test")
    )
    lexicon = Lexicon.of(train)
    lattices = [lexicon.lattice(sentence) for sentence in test]
    _, found = gold_paths(lattices, test)
    assert f"(with UPOS: {upos}%), 100.0% of the sentences" in str(found)
    assert sum(map(len, lattices)) / found.tokens == pytest.approx(arcs, abs=0.05)


NOUN, VERB, NUM = (("NOUN", "_", "_"), ("VERB", "_", "_"), ("NUM", "_", "_"))


def kind(form: str) -> tuple[bool, bool]:
    return form[:1].isupper(), any(letter.isdigit() for letter in form)


def probability(tags: Tags, form: str, letters: int, forms: dict[str, list[Tags]]) -> Fraction:
    """Written down as it is defined, over all forms."""
    ending = form[len(form) - letters :].lower()
    same = [
        known
        for other, known in forms.items()
        if kind(other) == kind(form) and other.lower().endswith(ending)
    ]
    alike = [one for known in same for one in known]
    if not alike:
        return probability(tags, form, letters - 1, forms)
    share = Fraction(alike.count(tags), len(alike))
    if letters == 0:
        return share
    return (share + Fraction(3, 10) * probability(tags, form, letters - 1, forms)) / Fraction(
        13, 10
    )


FORMS = st.text("abAB1", min_size=1, max_size=8)
TAGS = st.lists(st.sampled_from([NOUN, VERB, NUM]), max_size=3, unique=True)


@given(st.dictionaries(FORMS, TAGS), FORMS)
def test_the_most_probable_tags(forms, form):
    guessed = SuffixGuesser(forms.items(), 3)(form)
    alike = {tags for other, known in forms.items() if kind(other) == kind(form) for tags in known}
    assert set(guessed) == alike
    chances = [probability(tags, form, min(6, len(form)), forms) for tags in guessed]
    assert all(first >= second - Fraction(1, 10**9) for first, second in pairwise(chances))


def test_only_so_many_and_of_equally_probable_ones_the_first_in_alphabetical_order():
    assert SuffixGuesser({"a": [NOUN, VERB, NUM]}.items(), 2)("b") == [NOUN, NUM]
