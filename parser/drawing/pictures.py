"""Trees as PNG and PDF, made of their SVG by typst (extra ``draw``).

Typst sets the words itself, rather than as text of the SVG: then letters of every script are shaped
and joined, run in their direction, and come from another font of the machine if the first one does
not have them. Only letters of a script for which the machine has no font become boxes. CairoSVG
shapes nothing and takes one font; resvg makes no PDF. Typst is one package without dependencies,
and the same trees give the same bytes on one machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from oracles.errors import OptimalStepError
from parser.drawing import DrawnTree, as_svg

FORMATS = ("png", "pdf")

_SVG = "{http://www.w3.org/2000/svg}"
_POINTS, _INCH = 0.75, 72.0  # points of a pixel of SVG; of an inch
# Pixels of a PNG for a pixel of SVG, which is sharp on screens of twice the usual density;
# the most pixels of its width.
_SCALE, _WIDEST_PNG = 2.0, 16_384.0
# The width in points above which some readers of PDF cut a page off;
# a wider drawing is made smaller.
_WIDEST_PDF = 14_400.0

# Sets a word around x on a base line.
_START = """#set document(date: none)
#set page(margin: 0pt, fill: white)
#let word(x, y, direction, size, color, edge, body) = context {
  let letters = text(
    font: FONTS, dir: direction, size: size, fill: color, stroke: edge, top-edge: "baseline", body,
  )
  place(top + left, dx: x - measure(letters).width / 2, dy: y, letters)
}
"""


def check_installed(kind: str) -> None:
    """Refuse to draw without the package that makes pictures; ``kind`` is one of FORMATS.

    Raises:
        OptimalStepError: it is not installed.
    """
    _typst(kind)


def as_picture(trees: Sequence[DrawnTree], kind: str) -> bytes:
    """Return trees as a file of one of FORMATS.

    Args:
        trees: at least one; a PNG has the first one only, a PDF has each on a page of its own.
        kind: png or pdf.

    Raises:
        OptimalStepError: the package that makes pictures is not installed.
    """
    package = _typst(kind)
    # The drawings are our own, not a file that somebody gives.
    drawings = [
        ElementTree.fromstring(as_svg(tree)) for tree in trees[: 1 if kind == "png" else None]
    ]
    fonts = ", ".join(
        f'"{name.strip()}"' for name in drawings[0].attrib["font-family"].split(",")[:2]
    )
    source = _START.replace("FONTS", f"({fonts})") + "#pagebreak()\n".join(map(_page, drawings))
    widest = _WIDEST_PNG / min(_POINTS * float(drawings[0].attrib["width"]), _WIDEST_PDF)
    picture: bytes = package.compile(
        source.encode(), format=kind, ppi=_INCH * min(_SCALE / _POINTS, widest)
    )
    return picture


def _page(drawing: Element) -> str:
    """Return the source of a page with a drawing, whose words are taken out of it."""
    width, height = float(drawing.attrib["width"]), float(drawing.attrib["height"])
    unit = min(_POINTS, _WIDEST_PDF / width)
    words = []
    for parent in list(drawing.iter()):
        for text in parent.findall(f"{_SVG}text"):
            parent.remove(text)
            words.append(_word(text, unit))
    lines = _escaped(ElementTree.tostring(drawing, encoding="unicode"))
    size = f"width: {unit * width}pt, height: {unit * height}pt"
    return "\n".join(
        [
            f"#set page({size})",
            f'#place(top + left, image(bytes("{lines}"), format: "svg", {size}))',
            *words,
            "",
        ]
    )


def _word(text: Element, unit: float) -> str:
    """Return the source of a text of a drawing: a call of ``word`` in _START."""
    attributes = text.attrib
    x, y, size = (f"{unit * float(attributes[name])}pt" for name in ("x", "y", "font-size"))
    edge, color = "none", attributes.get("fill", "#fff")
    if "stroke" in attributes:
        thickness = f"{unit * float(attributes['stroke-width'])}pt"
        edge = f'(paint: rgb("{attributes["stroke"]}"), thickness: {thickness}, join: "round")'
    direction = attributes.get("direction", "auto")
    return (
        f'#word({x}, {y}, {direction}, {size}, rgb("{color}"), {edge},'
        f' "{_escaped(text.text or "")}")'
    )


def _escaped(text: str) -> str:
    """Return text as it stands within a string of typst."""
    return text.replace("\\", r"\\").replace('"', r"\"")


def _typst(kind: str) -> Any:
    try:
        import typst
    except ImportError as error:
        how = "pip install typst, or pip install '.[draw]' in a checkout"
        raise OptimalStepError(
            f"a drawing as .{kind} needs typst, which is not installed; {how}; "
            "or write .svg or .html, which need nothing"
        ) from error
    return typst
