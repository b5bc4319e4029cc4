"""Files that are CoNLL-U, or nearly, with all that may be odd about them:
for properties of what passes through.
"""

from hypothesis import strategies as st


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def line(identifier: object, *columns: str, end: str = "\n") -> bytes:
    filled = [str(identifier), *columns, *["_"] * (9 - len(columns))]
    return ("\t".join(filled) + end).encode()


ends = st.sampled_from([b"\n", b"\r\n"])
texts = st.binary(max_size=6).filter(lambda text: not set(text) & set(b"\t\r\n"))
columns = st.lists(
    st.sampled_from([b"_", b"a", b"\xc3\xa9", b"\xc3"]) | texts, min_size=9, max_size=9
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Draw a file of any bytes in columns and comments, with any line ends."""
    pieces = [draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))]
    for _ in range(draw(st.integers(0, 3))):
        end = draw(ends)
        pieces += (
            [b" " * draw(st.integers(0, 1)) + end for _ in range(draw(st.integers(0, 2)))]
            if len(pieces) > 1
            else []
        )
        pieces += [b"#" + draw(texts) + end for _ in range(draw(st.integers(0, 2)))]
        for word in range(1, draw(st.integers(0, 3)) + 1):
            ids = [str(word)]
            ids = [f"{word}-{word}", *ids] if draw(st.booleans()) else ids
            ids += [f"{word}.1"] if draw(st.booleans()) else []
            pieces += [
                b"\t".join([identifier.encode(), *draw(columns)]) + end for identifier in ids
            ]
        pieces.append(end)
    whole = b"".join(pieces)
    return whole[: len(whole) - draw(st.integers(0, 2))] if whole.endswith(b"\n\n") else whole


@st.composite
def damaged_files(draw: st.DrawFn) -> bytes:
    """Draw such a file, a few short stretches replaced by bytes that mean something in CoNLL-U."""
    content = draw(files())
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(content)))
        end = min(len(content), begin + draw(st.integers(0, 3)))
        content = (
            content[:begin] + draw(st.text("\t\n\r #-.0129_", max_size=3)).encode() + content[end:]
        )
    return content
