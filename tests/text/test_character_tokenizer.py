"""The tokenizer: what it reads, against slow references over strings; what it learns;
its places in the text; its files.
"""

import json
import re
import unicodedata
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from parser.data.spelling import visible
from parser.decoding.parse_options import SentenceEnds
from parser.model_folder import ModelError
from parser.text import decisions, sentence_ends, token_ends
from parser.text.character_tokenizer import SETTINGS, TENSORS, CharacterTokenizer
from parser.text.characters import (
    EDGE,
    NONE,
    PARAGRAPH,
    POWERS,
    characters_of,
    class_of,
    composed_text,
    folded,
    hash_of,
    stretch,
)
from parser.text.kinds import find_kinds, whole_kinds
from parser.text.multiword import MARK, PREFIX, SUFFIX, MultiwordRules, Rule, rules_of
from parser.text.sentence_ends import token_rows
from parser.text.tokens import Paragraph, Token
from parser.training.text import examples
from parser.training.text.learning_texts import disturbed_text, f1, plain_text
from parser.training.text.logistic_regression import FeatureWeights, LogisticRegression, mean_of
from parser.training.text.tokenizer import train_tokenizer

# Letters of several scripts, composed and not, white space of all kinds, marks, quotes, an emoji, a
# byte order mark, a NUL, a soft hyphen, and a mark of direction.
ALPHABET = (
    "ab\u00e9e\u0301\u1100\u1161D\u0130 "
    "\t\n\r\f\u2028\u00a0.,!?'\u2019\"\u201c()-\u20137@/\U0001f600\ufeff\0\u00ad\u200e"
)
texts = st.text(alphabet=ALPHABET, max_size=40)


def shown_characters(text):
    """Return a text without invisible characters, unless nothing else is between two gaps."""
    stretches = groupby(text, lambda character: NONE < class_of(character) <= PARAGRAPH)
    return "".join(visible("".join(stretch)) for _, stretch in stretches)


def slow_characters(text):
    """Return the paragraphs of a text, each as (character in NFC, class) pairs,
    with a run of white space as one character.
    """
    composed = (
        unicodedata.normalize("NFC", shown_characters(text))
        .replace("\r\n", "\n")
        .replace("\ufeff", "")
    )
    paragraphs, gap = [[]], ""
    for character in composed:
        kind = class_of(character)
        if kind <= PARAGRAPH:
            gap += "P" if kind == PARAGRAPH else "L" if kind == 2 else "B"
            continue
        if "P" in gap or gap.count("L") > 1:
            paragraphs.append([])
        elif gap:
            paragraphs[-1].append(("\n", 2) if "L" in gap else (" ", 1))
        gap = ""
        paragraphs[-1].append((character, kind))
    return [
        list(paragraph)
        for paragraph in paragraphs
        if any(kind > PARAGRAPH for _, kind in paragraph)
    ]


def stripped(paragraph):
    while paragraph and paragraph[0][1] <= PARAGRAPH:
        paragraph = paragraph[1:]
    return paragraph


@given(texts)
def test_characters_are_those_of_the_text(text):
    found = characters_of(text)
    codes, kinds = found.codes.tolist(), found.kinds.tolist()
    inside = [
        (chr(code), kind) for code, kind in zip(codes, kinds, strict=True) if kind != PARAGRAPH
    ]
    expected = [pair for paragraph in slow_characters(text) for pair in stripped(paragraph)]
    assert inside == expected
    # EDGE characters around each paragraph, and nothing else that separates them
    runs = "".join("P" if kind == PARAGRAPH else "." for kind in kinds).replace("P" * EDGE, "|")
    assert "P" not in runs
    assert runs.count("|") == max(1, len(slow_characters(text)) + 1)
    for place, kind in enumerate(kinds):
        if kind > PARAGRAPH:
            letters = visible(text[found.starts[place] : found.ends[place]])
            assert chr(codes[place]) in unicodedata.normalize("NFC", letters)
    assert (np.diff(found.starts[found.kinds > PARAGRAPH]) >= 0).all()


@given(texts)
@example("7\ufeff\xad")
def test_each_paragraph_is_read_as_if_it_were_alone(text):
    alone = [
        characters_of("".join(character for character, _ in stripped(own)))
        for own in slow_characters(text)
    ]
    kinds = characters_of(text).kinds
    inner = [own.kinds[EDGE:-EDGE].tolist() for own in alone]
    assert [kind for own in inner for kind in own] == kinds[kinds != PARAGRAPH].tolist()


@given(st.text(max_size=30))
def test_composing_keeps_places(text):
    composed, starts, ends = composed_text(text)
    assert composed == unicodedata.normalize("NFC", shown_characters(text))
    assert len(starts) == len(ends) == len(composed)
    places = list(zip(starts.tolist(), ends.tolist(), strict=True))
    assert all(start < end for start, end in places)
    assert all(
        end <= then for (_, end), (then, _) in pairwise(places) if len(text) >= len(composed)
    )
    assert not text or not (text[: places[0][0]] + text[places[-1][1] :]).strip("\ufeff")


@given(st.text(alphabet=ALPHABET, min_size=1, max_size=30), st.data())
def test_a_stretch_has_the_hash_of_its_form(text, data):
    found = characters_of(text)
    inside = np.flatnonzero(found.kinds > PARAGRAPH)
    if not len(inside):
        return
    start = data.draw(st.sampled_from(inside.tolist()))
    end = start + 1
    while found.kinds[end] > PARAGRAPH and data.draw(st.booleans()):
        end += 1
    form = found.codes[start:end].tobytes().decode("utf-32-le")
    assert int(stretch(found.hashes, POWERS, start, end)) == hash_of(form)


def test_forms_are_compared_in_lower_case_with_quotes_of_ascii():
    assert folded("D\u2019\u00d3L") == "d'\u00f3l"
    assert folded('`A"@Z') == "'a\"@z"
    assert folded("e\u0301") == "\u00e9"
    assert folded("\u0130") == "\u0130"  # its lower case has two characters
    assert hash_of("YOU\u2019RE") == hash_of("you're") != hash_of("youre")


def slow_places(text):
    """Yield what token_ends.ATOMS are of each place of a paragraph without white space at its ends,
    for each begin of a token.
    """
    characters = slow_characters(text)
    if len(characters) != 1:
        return
    pairs = characters[0]
    s = [folded(character) if kind > PARAGRAPH else " " for character, kind in pairs]
    kinds = [kind for _, kind in pairs]
    n = len(s)

    def part(a, b):
        return tuple(s[k] if 0 <= k < n else " " for k in range(a, b))

    def classes(a, b):
        return tuple(kinds[k] if 0 <= k < n else PARAGRAPH for k in range(a, b))

    def chunk(k):
        a, b = k, k
        while a > 0 and kinds[a - 1] > PARAGRAPH:
            a -= 1
        while b < n and kinds[b] > PARAGRAPH:
            b += 1
        return a, b

    for i in range(n - 1):
        if kinds[i] <= PARAGRAPH:
            continue
        j = i + 1 if kinds[i + 1] > PARAGRAPH else i + 2
        begins = [
            b
            for b in range(i + 1)
            if kinds[b] > PARAGRAPH and all(kinds[k] > PARAGRAPH for k in range(b, i + 1))
        ]
        start, end = chunk(i)
        _, stop = chunk(j)
        for begun in begins:
            atoms = {}
            for size in range(1, 7):
                atoms[f"left{size}"], atoms[f"right{size}"] = (
                    part(i + 1 - size, i + 1),
                    part(j, j + size),
                )
            for size in range(1, 6):
                atoms[f"kleft{size}"], atoms[f"kright{size}"] = (
                    classes(i + 1 - size, i + 1),
                    classes(j, j + size),
                )
            for distance in (1, 2, 3):
                atoms[f"l{distance + 1}"] = part(i - distance, i - distance + 1)
                atoms[f"r{distance + 1}"] = part(j + distance, j + distance + 1)
            atoms["pair"] = (kinds[i], kinds[j], kinds[i + 1] if j > i + 1 else 0)
            atoms["chunk"], atoms["kchunk"] = (
                (part(start, end), i - start),
                (classes(start, end), i - start),
            )
            atoms["rest"], atoms["krest"], atoms["restn"] = (
                part(j, stop),
                classes(j, stop),
                min(stop - j, 8),
            )
            atoms["head"] = part(start, i + 1)
            atoms["last"], atoms["first"], atoms["after"] = (
                kinds[stop - 1],
                kinds[start],
                classes(stop, stop + 1),
            )
            atoms["token"], atoms["ktoken"], atoms["tokenn"] = (
                part(begun, i + 1),
                classes(begun, i + 1),
                min(i + 1 - begun, 6),
            )
            atoms["token+1"] = part(begun, j + 1)
            yield i, j, begun, atoms


@given(
    st.lists(
        st.text(alphabet="ab\u00e9D.,'\u20197@/\n ", min_size=1, max_size=12),
        min_size=1,
        max_size=6,
    )
)
def test_places_are_read_as_the_slow_reference_reads_them(several):
    """Two places have the same value of an atom if and only if the reference has."""
    by_name = {}
    forms = np.zeros(2, np.uint32)
    for text in (text.strip() for text in several):
        found = characters_of(text)
        atoms = np.zeros(len(token_ends.ATOMS), np.uint64)
        for i, j, begun, expected in slow_places(text) or ():
            token_ends.fill_atoms(atoms, EDGE + i, EDGE + j, EDGE + begun, found, forms, POWERS)
            for name, value in expected.items():
                by_name.setdefault(name, {}).setdefault(value, set()).add(
                    int(atoms[token_ends.ATOMS.index(name)])
                )
    for name, values in by_name.items():
        assert all(len(numbers) == 1 for numbers in values.values()), name
        assert len({number for numbers in values.values() for number in numbers}) == len(values), (
            name
        )


def slow_key(atoms, template):
    key = np.uint64(template + 1)
    mask = (1 << 64) - 1
    value = int(key)
    for atom in token_ends.PROGRAM[template]:
        if atom == decisions.NO_ATOM:
            break
        if atoms[atom] == 0:
            return 0
        value = ((value ^ int(atoms[atom])) * 0x9E3779B97F4A7C15) & mask
        value ^= value >> 29
    value = ((value ^ (value >> 32)) * 0xBF58476D1CE4E5B9) & mask
    value ^= value >> 31
    return value | 1 << 63


@given(st.integers(0, 2**32 - 1))
def test_weights_are_those_that_were_packed(seed):
    random = np.random.default_rng(seed)
    atoms = random.integers(0, 4, len(token_ends.ATOMS)).astype(np.uint64)
    keys = [slow_key(atoms, number) for number in range(len(token_ends.TEMPLATES))]
    known = np.unique(np.array([key for key in keys if key and random.random() < 0.5], np.uint64))
    weights = random.normal(0, 1, len(known))
    table = decisions.packed(known, weights)
    steps = dict(
        zip(
            known.tolist(),
            np.clip(np.rint(weights / decisions.STEP), -127, 127).tolist(),
            strict=True,
        )
    )
    workspace = np.empty(len(keys), np.uint64)
    assert decisions.score(table, atoms, token_ends.PROGRAM, workspace) == sum(
        steps.get(key, 0) for key in keys if key
    )
    assert 2 * np.count_nonzero(table) <= len(table)


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=8).map(hash_of), st.integers(0, 2**16 - 1), max_size=50
    )
)
def test_forms_have_the_values_that_were_packed(values):
    table = decisions.packed_forms(
        np.array([*values], np.uint64), np.array([*values.values()], np.uint16)
    )
    assert all(
        decisions.form_value(table, np.uint64(form)) == value for form, value in values.items()
    )


@pytest.mark.parametrize(
    ("form", "words", "rule"),
    [
        ("Germany's", ("Germany", "'s"), Rule(SUFFIX, "'s", ("", "'s"))),
        ("You\u2019re", ("You", "\u2019re"), Rule(SUFFIX, "'re", ("", "'re"))),
        ("can't", ("ca", "n't"), Rule(SUFFIX, "n't", ("", "n't"))),
        ("THEY'VE", ("THEY", "'VE"), Rule(SUFFIX, "'ve", ("", "'ve"))),
        ("do", ("de", "o"), Rule(SUFFIX, "o", ("e", "o"))),
        ("Nas", ("Em", "as"), Rule(PREFIX, "n", ("em", ""))),
        ("dela", ("de", "ela"), Rule(SUFFIX, "la", ("", "ela"))),
        (
            "\u056b\u0576\u0579\u055e",
            ("\u056b\u0576\u0579", "\u055e"),
            Rule(SUFFIX, "\u055e", ("", "\u055e")),
        ),
        ("a\u055eb", ("ab", "\u055e"), Rule(MARK, "\u055e")),
        ("zum", ("an", "der"), None),
    ],
)
def test_rules_give_the_words(form, words, rule):
    found = rules_of(form, words)
    assert rule in found if rule is not None else not found
    assert all(one.apply(form) == words for one in found)


def test_of_the_rules_for_a_form_the_one_of_most_forms_is_learned():
    tokens = [(form, (form[:-3], form[-3:])) for form in ("can't", "don't", "isn't", "hasn't")]
    assert MultiwordRules.learned(tokens).rules["can't"] == {Rule(SUFFIX, "n't", ("", "n't")): 1}


def test_a_rule_is_open_for_new_forms_beside_one_that_more_forms_have():
    ends = {"you": ("'re", "'ll", "'d", "'ve"), "they": ("'re", "'ll", "'d"), "we": ("'re", "'ll")}
    tokens = [(word + end, (word, end)) for word, own in ends.items() for end in own]
    rules = MultiwordRules.learned(tokens)
    assert rules.rules["you're"] == {Rule(PREFIX, "you", ("you", "")): 1}
    assert ("who", "'re") in [candidate.words for candidate in rules.candidates("who're")]


@given(st.text("an'`\u2019B\u00e9", min_size=2, max_size=6))
def test_rules_for_new_forms_are_tried_where_they_fit(form):
    ends, begins = {"'n": ("", "'n"), "an": ("a", "n")}, {"b'": ("b'", "")}
    open_rules = [
        *(Rule(SUFFIX, *one) for one in ends.items()),
        *(Rule(PREFIX, *one) for one in begins.items()),
    ]
    found = MultiwordRules(
        {}, {}, {}, [*open_rules, Rule(MARK, "\u00e9")], lambda small: 0
    ).candidates(form)
    small = form.lower().translate(str.maketrans("`\u2019", "''"))
    fitting = [
        Rule(SUFFIX, part, ends[part])
        for part in ends
        if small.endswith(part) and len(small) > len(part)
    ]
    fitting += [
        Rule(PREFIX, part, begins[part])
        for part in begins
        if small.startswith(part) and len(small) > len(part)
    ]
    fitting += [Rule(MARK, "\u00e9")] if "\u00e9" in small[:-1] else []
    assert {candidate.rule for candidate in found} == {
        rule for rule in fitting if rule.apply(form) is not None
    }


def test_a_rule_keeps_case_and_characters_of_the_token():
    possessive = Rule(SUFFIX, "'s", ("", "'s"))
    assert possessive.apply("EGYPT\u2019S") == ("EGYPT", "\u2019S")
    assert possessive.apply("'s") is None  # no first word would be left
    assert Rule(SUFFIX, "o", ("e", "o")).apply("DO") == ("DE", "O")


@pytest.mark.parametrize(
    ("text", "kind", "stretch"),
    [
        (
            "see https://www.example.org/docs/page.html#install.",
            "url",
            "https://www.example.org/docs/page.html#install",
        ),
        ("(www.example.org)", "url", "www.example.org"),
        ("http://a.org/x_(y)", "url", "http://a.org/x_(y)"),
        ("to anna.b+c@mail.example.org,", "email", "anna.b+c@mail.example.org"),
        ("Go to example.org.", "domain", "example.org"),
        ("in /home/anna/docs/ now", "path", "/home/anna/docs/"),
        ("on 2019-05-03 there", "date", "2019-05-03"),
        ("on 12/31/1999.", "date", "12/31/1999"),
        ("less than 1/2.", "fraction", "1/2"),
        ("at 10:30pm", "time", "10:30"),
        ("about 1,000,000.50!", "number", "1,000,000.50"),
        ("Pi is 3.14159.", "number", "3.14159"),
        ("Open v2_final.pdf.", "file", "v2_final.pdf"),
        ("We use Node.js and", "file", "Node.js"),
        ("so #blessed today", "hashtag", "#blessed"),
        ("hi @maria!", "mention", "@maria"),
        ("love \u2764\ufe0f it", "emoji", "\u2764\ufe0f"),
        ("\U0001f469\u200d\U0001f4bb codes", "emoji", "\U0001f469\u200d\U0001f4bb"),
        (
            "https://example.org/wiki/Bob\u2019s_\u00dcbung.",
            "url",
            "https://example.org/wiki/Bob\u2019s_\u00dcbung",
        ),
        ("at https://example.org\u2019s page", "url", "https://example.org"),
        ("http://a.kr/x\ub97c", "url", "http://a.kr/x"),
        ("ask db.example.com:8080.", "domain", "db.example.com:8080"),
        ("in src/tools/a.b.py.", "path", "src/tools/a.b.py"),
        ("use v2.0.1-rc1 now", "version", "v2.0.1-rc1"),
        ("Node v18.", "version", "v18"),
        ("Python 3.11.4, too", "version", "3.11.4"),
        ("for x86_64.", "identifier", "x86_64"),
        ("fun\U0001f389\U0001f44d\U0001f3fd!", "emoji", "\U0001f389\U0001f44d\U0001f3fd"),
        ("\u2605\u2605\u2605 stars", "emoji", "\u2605\u2605\u2605"),
        ("He/she and/or Mr.Smith, well-known (yes). 1-2 a.b B2B <3 a\u2192b \U0001f389", None, ""),
    ],
)
def test_kinds_are_found_where_they_stand(text, kind, stretch):
    found = characters_of(text)
    flat = found.codes.tobytes().decode("utf-32-le")
    assert [(name, flat[start:end]) for name, start, end in find_kinds(found)] == (
        [(kind, stretch)] if kind else []
    )


def test_a_tokenizer_of_before_has_the_kinds_of_before(tokenizer, tmp_path):
    text = characters_of("See v2.0.1-rc1 of x86_64, a/b.py: \U0001f389\U0001f389 \u2764\ufe0f!")
    flat = text.codes.tobytes().decode("utf-32-le")
    assert [flat[start:end] for _, start, end in find_kinds(text, 1)] == ["\u2764\ufe0f"]
    tokenizer.save(tmp_path)
    settings = json.loads((tmp_path / SETTINGS).read_text("utf-8"))
    assert CharacterTokenizer.load(tmp_path).kinds == settings.pop("kinds") == 2
    (tmp_path / SETTINGS).write_text(json.dumps(settings), "utf-8")
    loaded = CharacterTokenizer.load(tmp_path)
    assert loaded.kinds == loaded.with_abbreviations({"x.": False}).kinds == 1


def test_a_treebank_that_has_enough_of_a_kind_decides_whether_it_is_cut():
    text = characters_of("at 10:30 or 11:30 or 12:30 and 1,000 there")
    starts = [
        k
        for k in range(len(text.kinds))
        if text.kinds[k] > PARAGRAPH and text.kinds[k - 1] <= PARAGRAPH
    ]
    stops = [
        k
        for k in range(len(text.kinds))
        if text.kinds[k] <= PARAGRAPH and text.kinds[k - 1] > PARAGRAPH
    ]
    assert "time" in whole_kinds(text, np.array([starts, stops]))
    colons = [k for k in range(len(text.kinds)) if chr(text.codes[k]) in ":,"]
    cut = np.array([sorted(starts + colons), sorted(stops + colons)])
    assert "time" not in whole_kinds(text, cut)
    assert {"url", "number"} <= {*whole_kinds(text, cut)}  # of which there are too few


def sentences(*lines):
    """Sentences of tokens between blanks; ``_`` before a token: no blank before it;
    ``~`` between the words of a token.
    """
    made = []
    for line in lines:
        tokens = line.split()
        own = []
        for token, then in zip(tokens, [*tokens[1:], ""], strict=True):
            words = tuple(token.lstrip("_").split("~"))
            own.append(Token("".join(words), words, not then.startswith("_")))
        made.append(own)
    return made


STORY = sentences(
    "The dog~'s bone is old _.",
    "A cat sees Dr. Hill _, and runs _.",
    "It~'s late _!",
    "The man~'s hat is new _.",
    "Where is my coat _?",
    "We met Dr. Wood _.",
)
TRAIN = [(STORY[k:] + STORY[:k])[: len(STORY) - k] for k in range(6)] * 8


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(TRAIN, None, 1)


def shown(found):
    return [" ".join("~".join(words) for words in sentence.words) for sentence in found]


def test_it_learns_tokens_words_and_sentences(tokenizer):
    text = "The cat's bone is new. We met Dr. Hill, and runs. It's old! Where is my dog?"
    expected = [
        "The cat~'s bone is new .",
        "We met Dr. Hill , and runs .",
        "It~'s old !",
        "Where is my dog ?",
    ]
    assert shown(tokenizer.split(text)) == expected
    assert shown(tokenizer.split(text.upper().replace("'", "\u2019"))) == [
        line.upper().replace("'", "\u2019") for line in expected
    ]


def test_a_token_may_have_several_ends_to_split_off():
    lines = [f"{who}~{end} gone _." for who in ("I", "We", "They") for end in ("'d", "'ve", "'ll")]
    tokenizer = train_tokenizer([sentences(*lines)] * 4, None, 1)
    for text in ("I'd've gone.", "WE'LL'VE gone.", "Who'd've gone."):
        stem, middle, end = re.split("(?=')", text.split()[0])
        assert shown(tokenizer.split(text)) == [f"{stem}~{middle}~{end} gone ."]


def test_a_word_as_long_as_its_token_is_not_split_again():
    train = [
        [[Token(form, (form, "b"), True), Token("gone", ("gone",), True)]]
        for form in ("xa", "ya", "za")
    ]
    tokenizer = train_tokenizer(train * 4, None, 1)
    assert tokenizer.split("xa gone")[0].words[0] == ("xa", "b")


def test_few_ends_are_split_off_a_token_of_many(tokenizer):
    text = "dog" + 5_000 * "'s"
    for sentence in tokenizer.split(text):
        for form, words in zip(sentence.forms, sentence.words, strict=True):
            assert "".join(words) == form
            assert len(words) < 10


def test_with_lines_each_line_is_a_sentence(tokenizer):
    found = tokenizer.split("It's late! The dog runs\nA cat\n\nis old.", SentenceEnds.LINE)
    assert shown(found) == ["It~'s late ! The dog runs", "A cat", "is old ."]


@given(text=texts)
def test_tokens_and_places_are_those_of_the_text(tokenizer, text):
    for ends in SentenceEnds:
        found = tokenizer.split(text, ends)
        places = [place for sentence in found for place in sentence.places]
        assert places == sorted(places)
        assert all(end <= start for (_, end), (start, _) in pairwise(places))
        for sentence in found:
            for form, (start, end) in zip(sentence.forms, sentence.places, strict=True):
                assert (
                    " ".join(text[start:end].replace("\ufeff", "").replace("\0", " ").split())
                    == form
                )
        left_out = "".join(
            text[a:b]
            for a, b in zip(
                [0, *(e for _, e in places)], [*(s for s, _ in places), len(text)], strict=True
            )
        )
        assert not left_out.replace("\ufeff", "").replace("\0", "").strip()


@given(text=texts)
def test_a_paragraph_is_split_as_if_it_were_alone(tokenizer, text):
    once = [sentence.forms for sentence in tokenizer.split(text)]
    twice = tokenizer.split(f"{text}\n\n{text}")
    assert [sentence.forms for sentence in twice] == once + once


def test_decomposed_letters_change_nothing(tokenizer):
    text = "The caf\u00e9's bone is old. We met Dr. Gar\u00e7on."
    apart = unicodedata.normalize("NFD", text)
    assert [
        [tuple(unicodedata.normalize("NFC", word) for word in words) for words in sentence.words]
        for sentence in tokenizer.split(apart)
    ] == [sentence.words for sentence in tokenizer.split(text)]


@given(text=texts)
def test_the_normal_form_of_a_text_changes_none_of_its_words(tokenizer, text):
    composed, apart = (
        tokenizer.split(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")
    )
    assert [[unicodedata.normalize("NFC", form) for form in one.forms] for one in apart] == [
        one.forms for one in composed
    ]
    normal = [
        [[unicodedata.normalize("NFC", word) for word in words] for words in one.words]
        for one in apart
    ]
    assert normal == [[[*words] for words in one.words] for one in composed]
    for one in apart:
        assert all(unicodedata.is_normalized("NFD", form) for form in one.forms)


def test_invisible_characters_change_nothing_but_the_forms(tokenizer):
    text = "The dog's bone is old. We met Dr. Hill."
    hidden = "\u200eThe dog\u00ad's bo\u00ad\u200bne is old.\u200b We met D\u2060r. Hill."
    once, twice = tokenizer.split(text), tokenizer.split(hidden)
    assert [[visible(form) for form in one.forms] for one in twice] == [one.forms for one in once]
    assert twice[0].forms[:3] == ["\u200eThe", "dog\u00ad's", "bo\u00ad\u200bne"]
    assert [hidden[start:end] for one in twice for start, end in one.places] == [
        form for one in twice for form in one.forms
    ]
    assert [len(words) for one in twice for words in one.words] == [
        len(words) for one in once for words in one.words
    ]


def test_an_invisible_character_between_blanks_is_a_token(tokenizer):
    assert [one.forms for one in tokenizer.split("a \u200b b")] == [["a", "\u200b", "b"]]


def test_an_abbreviation_of_a_list_does_not_end_a_sentence():
    text = "We met Prof. Hill. The dog runs."
    listed = train_tokenizer(TRAIN, None, 1, {"prof.": True, "the.": True})
    assert shown(listed.split(text)) == ["We met Prof. Hill .", "The dog runs ."]
    assert listed.abbreviations == ["prof."]  # training has "the" often, and never with a period


def test_an_abbreviation_that_a_large_treebank_lacks_ends_a_sentence_only_before_a_likely_beginning(
    monkeypatch,
):
    monkeypatch.setattr(examples, "_MUCH", 0)
    shorts = {"dra.": False, "bone.": False}
    found = train_tokenizer([*TRAIN, *[sentences("We saw the dog _.")] * 8], None, 1, shorts)
    values = [
        decisions.form_value(found.tokens.forms, np.uint64(hash_of(short))) >> decisions.LISTED & 3
        for short in shorts
    ]
    assert values == [decisions.OWN_ABBREVIATION, 0]  # the dog has a bone
    assert shown(found.split("We met Dra. Hill. We saw Dra. The dog runs.")) == [
        "We met Dra. Hill .",
        "We saw Dra.",
        "The dog runs .",
    ]


def test_learning_is_the_same_again_and_its_seed_counts(tokenizer):
    again, other = train_tokenizer(TRAIN, None, 1), train_tokenizer(TRAIN, None, 2)
    assert np.array_equal(again.tokens.weights, tokenizer.tokens.weights)
    assert np.array_equal(again.sentences.weights, tokenizer.sentences.weights)
    assert not np.array_equal(other.sentences.weights, tokenizer.sentences.weights)


def test_dev_chooses_what_the_copy_counts():
    text = plain_text([STORY])
    how = LogisticRegression(epochs=2)
    found = train_tokenizer(TRAIN, [STORY], 1, how=how)
    assert f1(text, found.split(text.text)) == (100.0, 100.0)


keyed_weights = st.dictionaries(
    st.integers(1, 2**64 - 1), st.floats(-5, 5, width=32), min_size=0, max_size=5
)


@given(st.lists(keyed_weights, min_size=1, max_size=4))
def test_the_mean_of_trainings_is_that_of_each_feature(trainings):
    mean = mean_of(
        [
            FeatureWeights(
                np.array([*weights], np.uint64), np.array([*weights.values()], np.float32)
            )
            for weights in trainings
        ]
    )
    keys = {key for weights in trainings for key in weights}
    assert dict(zip(mean.keys.tolist(), mean.weights.tolist(), strict=True)) == {
        key: pytest.approx(sum(weights.get(key, 0) for weights in trainings) / len(trainings))
        for key in keys
    }


def test_the_copy_has_the_tokens_of_the_text():
    plain, disturbed = plain_text(TRAIN), disturbed_text(TRAIN, 3, attach=False)
    for text in (plain, disturbed):
        assert all(text.text[start:end].strip() for start, end in text.places)
        assert sum(text.ends) == sum(map(len, TRAIN))
    forms = [plain.text[start:end] for start, end in plain.places]
    changed = [disturbed.text[start:end] for start, end in disturbed.places]
    assert len(changed) < len(forms)  # final marks are lost
    assert {form.lower().replace("\u2019", "'") for form in changed} <= {
        form.lower() for form in forms
    }
    assert disturbed.text.count("\n") > plain.text.count("\n")
    assert disturbed_text(TRAIN, 3, attach=False).text == disturbed.text


def test_the_copy_has_paragraphs_in_lines_and_lower_case():
    paragraphs = [[[Token(form, (form,), True) for form in ("Dogs", "Bark")]]] * 400
    written = disturbed_text(paragraphs, 1, attach=False).text
    assert re.search(r"[^\n]\nDogs", written)  # no other mode has one line end between paragraphs
    assert "dogs bark" in written


def test_sentences_of_a_script_without_blanks_stand_side_by_side():
    def paragraph(*sentences: str, space_after: bool) -> Paragraph:
        return [
            [
                Token(form, (form,), space_after and number < len(forms))
                for number, form in enumerate(forms, 1)
            ]
            for forms in map(str.split, sentences)
        ]

    chinese = [paragraph("我 去 。", "他 来 了 。", space_after=False)] * 30
    assert plain_text(chinese[:2]).text == "我去。他来了。\n\n我去。他来了。"
    assert " " not in disturbed_text(chinese, 1, attach=False).text
    # SpaceAfter=No at the end of a sentence need not mean that the next one follows at once.
    german = [paragraph("Wir gehen jetzt", "Er kam", space_after=True)]
    assert plain_text(german).text == "Wir gehen jetzt Er kam"

    found = train_tokenizer(chinese, None, 1).split("他去。我来了。")
    assert shown(found) == ["他 去 。", "我 来 了 。"]


def test_addresses_are_never_cut(tokenizer):
    found = tokenizer.split("See https://example.org/dog's/a.b, or /home/dog/old_bone.txt now.")
    assert {"https://example.org/dog's/a.b", "/home/dog/old_bone.txt"} <= {
        form for sentence in found for form in sentence.forms
    }


def test_saved_it_splits_the_same(tokenizer, tmp_path):
    tokenizer.save(tmp_path, {"note": "for people"})
    loaded = CharacterTokenizer.load(tmp_path)
    text = "The dog's hat is old. It's Dr. Hill!\nA cat's coat is new"
    assert loaded.split(text) == tokenizer.split(text)
    assert json.loads((tmp_path / SETTINGS).read_text("utf-8"))["note"] == "for people"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", 2, "train it again"),
        ("threshold", 0.5, "threshold is float"),
        ("blanks_in_tokens", 1, "blanks_in_tokens is int"),
        ("dashes_in_tokens", 1, "dashes_in_tokens is int"),
        ("relations_in_tokens", 1, "relations_in_tokens is int"),
        ("rules", [["other", "x", "y"]], "not a rule"),
        ("rules", [["suffix", "x"]], "not a rule"),
        ("open_rules", [99], "there is no rule 99"),
        ("multiword", {"x": [1, [0, "2"]]}, "multiword is str"),
        ("exact", {"x": []}, "empty word"),
        ("abbreviations", [1], "abbreviations is int"),
        ("whole", "url", "whole is str"),
        ("kinds", 3, "reads 1 to 2"),
    ],
)
def test_damaged_settings_are_refused(tokenizer, tmp_path, key, value, message):
    tokenizer.save(tmp_path)
    settings = json.loads((tmp_path / SETTINGS).read_text("utf-8"))
    (tmp_path / SETTINGS).write_text(json.dumps(settings | {key: value}), "utf-8")
    with pytest.raises(ModelError, match=message):
        CharacterTokenizer.load(tmp_path)


@pytest.mark.parametrize("name", ["forms", "tokens.weights", "tokens.candidates"])
def test_damaged_weights_are_refused(tokenizer, tmp_path, name):
    from safetensors.numpy import load_file, save_file

    tokenizer.save(tmp_path)
    tensors = load_file(tmp_path / TENSORS)
    save_file(tensors | {name: np.ones(1000, np.uint16)}, tmp_path / TENSORS)
    with pytest.raises(ModelError, match=name.partition(".")[0]):
        CharacterTokenizer.load(tmp_path)
    full = np.ones_like(tensors[name])
    save_file(tensors | {name: full if "candidates" not in name else full[:5]}, tmp_path / TENSORS)
    with pytest.raises(ModelError):  # a search in a full table would not end
        CharacterTokenizer.load(tmp_path)


@pytest.mark.parametrize(
    ("last", "line_ends"), [("g" * 20, [1, 4, 4, 1, 1, 1, 1]), ("gggg", [1, 5, 5, 1, 1, 1, 1])]
)
def test_rows_of_tokens_say_how_lines_end(last, line_ends):
    text = characters_of(f"aaaa bbb\ncc\ndddd eeee ffff {last}\n\nx")
    starts = [
        k
        for k in range(len(text.kinds))
        if text.kinds[k] > PARAGRAPH and text.kinds[k - 1] <= PARAGRAPH
    ]
    stops = [
        k
        for k in range(len(text.kinds))
        if text.kinds[k] <= PARAGRAPH and text.kinds[k - 1] > PARAGRAPH
    ]
    rows = token_rows(text, np.array([starts, stops], np.int32), np.zeros(2, np.uint32), POWERS)
    assert rows[sentence_ends.LINE_END, EDGE : EDGE + 7].tolist() == line_ends
    assert rows.shape[1] == 8 + 3 * EDGE


def test_initials_keep_their_period(tokenizer):
    found = tokenizer.split("A. B. Baker met J. K. Hill and George W. Wood, and B runs")
    forms = [form for sentence in found for form in sentence.forms]
    assert [form for form in forms if len(form) == 2 and form.endswith(".")] == [
        "A.",
        "B.",
        "K.",
        "W.",
    ]


def test_lines_too_short_to_be_wrapped_end_sentences(tokenizer):
    found = tokenizer.split("the dog\nthe cat\nthe hat\n\nThe dog's hat is old and the cat\nruns.")
    assert [len(sentence.forms) for sentence in found[:3]] == [2, 2, 2]
    assert len(found) == 4


@pytest.mark.parametrize("older", [False, True])
def test_words_of_a_script_that_training_lacks_are_whole(tokenizer, tmp_path, older):
    words = (
        "\u0939\u093f\u0928\u094d\u0926\u0940 \u0645\u0631\u062d\u0628\u0627 "
        "\u4f60\u597d\u4e16\u754c x\u0323\u4e16"
    )
    if older:  # it was saved with all of these places open
        places = tokenizer.tokens.places
        places = places._replace(candidates=np.ones_like(places.candidates))
        open_ = tokenizer.tokens._replace(places=places)
        CharacterTokenizer(open_, tokenizer.sentences, tokenizer.words).save(tmp_path)
        settings = json.loads((tmp_path / SETTINGS).read_text("utf-8"))
        del settings["dashes_in_tokens"]
        (tmp_path / SETTINGS).write_text(json.dumps(settings), "utf-8")
        tokenizer = CharacterTokenizer.load(tmp_path)
    found = tokenizer.split(f"The dog met {words} here.")
    forms = [form for sentence in found for form in sentence.forms]
    assert [form for form in forms if not form.isascii()] == words.split()


@given(st.lists(st.text("\u4f60\u0939\u093f\u0301\u0645aB1", min_size=1), min_size=1, max_size=5))
def test_no_token_begins_with_a_combining_mark(tokenizer, words):
    text = " ".join(f"x{word}" for word in words)
    assert not any(
        unicodedata.category(unicodedata.normalize("NFC", form)[0]).startswith("M")
        for sentence in tokenizer.split(text)
        for form in sentence.forms
    )


def test_the_mark_after_an_abbreviation_is_a_token():
    tokenizer = train_tokenizer(TRAIN, None, 1, {"prof.": True, "etc.": False})
    own = tokenizer.with_abbreviations({"oz.": False})
    found = own.split("Is it a Prof.? It's 5 oz.! A dog, etc.? It's 5 oz... The cat runs.")
    forms = [form for sentence in found for form in sentence.forms]
    assert [form for form in forms if form[:2] in ("Pr", "oz", "et")] == [
        *("Prof.", "oz.", "etc.", "oz")
    ]
    assert shown(tokenizer.split("We met Prof. Hill?"))[0].startswith("We met Prof. Hill")


def test_a_dash_between_words_is_a_token_unless_training_has_it_within_tokens(tokenizer):
    text = "The dog\u2013cat 25\u201330 and Hill\u2014\u2018old\u2019\u2014runs."
    forms = [form for sentence in tokenizer.split(text) for form in sentence.forms]
    assert not any(len(form) > 1 and {*"\u2013\u2014"} & {*form} for form in forms)
    whole = train_tokenizer([*TRAIN, *[sentences("The old dog\u2013cat runs _.")] * 8], None, 1)
    assert whole.tokens.places.dashes
    assert shown(whole.split("The old dog\u2013cat runs.")) == ["The old dog\u2013cat runs ."]
    apart = train_tokenizer([*TRAIN, *[sentences("The dog _\u2013 _cat runs _.")] * 8], None, 1)
    assert not apart.tokens.places.dashes


def test_a_relation_sign_beside_a_word_is_a_token_unless_training_has_it_within_tokens(tokenizer):
    text = "The dog (n=12, x\u22645) is >$5 and dog<cat, \u00b12, p=.05."
    forms = [form for sentence in tokenizer.split(text) for form in sentence.forms]
    signs = {*"=<>\u2264\u00b1"}
    assert [form for form in forms if signs & {*form}] == [*"=\u2264><\u00b1="]
    [emoticon] = tokenizer.split("The dog <3")
    assert emoticon.forms[-1] == "<3"
    address = [sentences("The cat runs https://x.org/?a=1&b=2 .", "A dog _< _cat .")]
    assert not train_tokenizer([*TRAIN, *address], None, 1).tokens.places.relations
    whole = train_tokenizer([*TRAIN, *[sentences("The dog<cat runs .")] * 8], None, 1)
    assert whole.tokens.places.relations
    assert shown(whole.split("The dog<cat runs .")) == ["The dog<cat runs ."]


def test_an_amount_after_an_abbreviation_begins_no_sentence():
    tokenizer = train_tokenizer(TRAIN, None, 1, {"etc.": False})
    for split in (tokenizer, tokenizer.with_abbreviations({"approx.": False})):
        for short in split.abbreviations:
            [found] = split.split(f"The dog {short} $5 and the cat, {short} \u20ac6 runs.")
            assert found.forms.count(short) == 2
