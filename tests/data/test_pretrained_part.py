"""How forms are read by the tokenizer of a pretrained encoder."""

import pytest

from parser.data.parts.pretrained import without_capitals


@pytest.mark.parametrize(
    ("sentence", "read"),
    [
        ("THE MARKET IS NEVER WRONG !", "the market is never wrong !"),
        ("ԲԱՐԻ ՕՐ :", "բարի օր :"),
        ("STRASSE 5 , BERLIN", "strasse 5 , berlin"),
        ("The NATO summit", "The NATO summit"),
        ("NATO .", "NATO ."),
        ("A. B. C", "A. B. C"),
        ("A USA", "A USA"),
        ("나는 학교에 갔다 .", "나는 학교에 갔다 ."),
        ("NATO iPhone", "NATO iPhone"),
        ("1 , 2", "1 , 2"),
    ],
)
def test_sentences_in_capitals_are_read_in_lower_case(sentence, read):
    assert without_capitals(sentence.split()) == read.split()
