"""Drawings as PNG and PDF: the same picture as the SVG, with the letters of every script."""

import struct
from xml.etree import ElementTree

import pytest

from parser.drawing import DrawnTree, as_svg
from parser.drawing.pictures import _page, as_picture


@pytest.fixture
def typst() -> None:
    pytest.importorskip("typst", reason="drawings as PNG and PDF need typst")


def tree(*forms: str) -> DrawnTree:
    return DrawnTree(
        forms, ["X"] * len(forms), [*range(len(forms))], ["root", *["dep"] * (len(forms) - 1)]
    )


def size(png: bytes) -> tuple[int, int]:
    return struct.unpack(">2I", png[16:24])


@pytest.mark.extras
@pytest.mark.usefixtures("typst")
def test_a_png_is_twice_as_dense_as_the_svg():
    drawn = tree("a", "dog", 'quo"te', "back\\slash", "<b>&", "#let x = 1")
    found = as_picture([drawn, tree("other")], "png")
    assert found.startswith(b"\x89PNG\r\n\x1a\n")
    svg = as_svg(drawn)
    width, height = (float(svg.split(f'{side}="')[1].split('"')[0]) for side in ("width", "height"))
    assert size(found) == pytest.approx((2 * width, 2 * height), abs=2)
    assert found == as_picture([drawn], "png")  # of the first tree, and the same bytes again


@pytest.mark.extras
@pytest.mark.usefixtures("typst")
def test_a_pdf_has_a_page_for_each_tree():
    found = as_picture([tree("a"), tree("b", "c"), tree("d")], "pdf")
    assert found.startswith(b"%PDF-")
    assert (
        found.count(b"/Type/Page/") == found.count(b"/Type/Page") - found.count(b"/Type/Pages") == 3
    )
    assert found == as_picture([tree("a"), tree("b", "c"), tree("d")], "pdf")


@pytest.mark.extras
@pytest.mark.usefixtures("typst")
def test_a_wide_drawing_is_made_smaller():
    assert size(as_picture([tree(*["word"] * 400)], "png"))[0] == pytest.approx(16_384, abs=2)


def test_words_are_taken_out_of_the_svg_and_set_in_their_direction():
    drawn = DrawnTree(
        ["\u0645\u0631\u062d\u0628\u0627", 'a"\\b'], ["X", "Y"], [0, 1], ["root", "dep"]
    )
    source = _page(ElementTree.fromstring(as_svg(drawn)))
    assert "text>" not in source
    assert source.count("path d=") == as_svg(drawn).count("<path d=")
    words = [line for line in source.splitlines() if line.startswith("#word(")]
    assert len(words) == 2 + 2 * 4  # forms; tags and relations, each with an edge
    assert words[0].endswith(', rtl, 11.25pt, rgb("#111"), none, "\u0645\u0631\u062d\u0628\u0627")')
    assert any(line.endswith(r'"a\"\\b")') for line in words)
