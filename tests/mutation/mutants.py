"""The mutants of a source file: each is the file with one small change inside a function, as a slip
of the hand would make it.

What is changed: comparisons, arithmetic, whole numbers, truth values, and/or, not and minus,
conditions, min and max, break and continue; and assignments to elements and by operators are left
out. Messages, annotations, decorators and defaults of arguments stay as they are.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

# How an operator is written, and the one that takes its place; those without another stay.
_OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    **{ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")},
    **{
        ast.Eq: ("==", "!="),
        ast.NotEq: ("!=", "=="),
        ast.Is: ("is", "is not"),
        ast.In: ("in", "not in"),
    },
    **{
        ast.Add: ("+", "-"),
        ast.Sub: ("-", "+"),
        ast.Mult: ("*", "+"),
        ast.FloorDiv: ("//", "*"),
        ast.Div: ("/", "*"),
    },
    **{
        ast.Mod: ("%", "//"),
        ast.BitAnd: ("&", "|"),
        ast.BitOr: ("|", "&"),
        ast.LShift: ("<<", ">>"),
        ast.RShift: (">>", "<<"),
    },
    **{ast.And: ("and", "or"), ast.Or: ("or", "and")},
}
_NAMES = {"min": "max", "max": "min"}


@dataclass(frozen=True)
class Mutant:
    """A change of a file.

    Attributes:
        start, end: the places in the text, in characters, between which ``new`` is put.
        line: the line of the change, from 1.
        old, new: what is replaced, by what.
    """

    start: int
    end: int
    line: int
    old: str
    new: str

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]


def mutants_of(text: str) -> list[Mutant]:
    """All mutants of a source, in the order of their places."""
    source = _Source(text)
    found = [mutant for node in ast.walk(ast.parse(text)) for mutant in source.of_function(node)]
    return sorted(set(found), key=lambda mutant: (mutant.start, mutant.end, mutant.new))


class _Source:
    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = text.splitlines(keepends=True)
        self._starts = [0, *accumulate(map(len, self._lines))]

    def of_function(self, node: ast.AST) -> Iterator[Mutant]:
        """Those of the body of a function, if the node is one;
        functions inside it are met by themselves, too.
        """
        if isinstance(node, ast.FunctionDef):
            for statement in node.body:
                yield from self._within(statement)

    def _within(self, node: ast.AST) -> Iterator[Mutant]:
        if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr, ast.FunctionDef, ast.ClassDef)):
            return
        yield from self._of(node)
        for name, child in ast.iter_fields(node):
            if name in ("annotation", "returns"):
                continue
            for part in child if isinstance(child, list) else [child]:
                if isinstance(part, ast.AST):
                    yield from self._within(part)

    def _of(self, node: ast.AST) -> Iterator[Mutant]:
        """Yield the mutants of a node itself, not of what is in it."""
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for left, right, operator in zip(operands, operands[1:], node.ops, strict=False):
                yield from self._operator(left, right, operator)
        elif isinstance(node, ast.BinOp):
            yield from self._operator(node.left, node.right, node.op)
        elif isinstance(node, ast.BoolOp):
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from self._operator(left, right, node.op)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
            yield self._replaced(node, f"({self._shown(node.operand)})")
        elif isinstance(node, ast.Constant) and isinstance(node.value, int):
            yield self._replaced(
                node, str(not node.value) if isinstance(node.value, bool) else str(node.value + 1)
            )
        elif isinstance(node, ast.Name) and node.id in _NAMES:
            yield self._replaced(node, _NAMES[node.id])
        elif isinstance(node, (ast.Break, ast.Continue)):
            yield self._replaced(node, "continue" if isinstance(node, ast.Break) else "break")
        elif isinstance(node, ast.AugAssign) or (
            isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript)
        ):
            yield self._replaced(node, "pass")
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            yield self._replaced(node.test, f"(not ({self._shown(node.test)}))")

    def _operator(self, left: ast.expr, right: ast.expr, operator: ast.AST) -> Iterator[Mutant]:
        """Yield the mutant in which another operator stands between two expressions,
        if there is another.
        """
        if type(operator) in _OPERATORS:
            name, other = _OPERATORS[type(operator)]
            start = self._place(left)[1]
            match = re.search(re.escape(name), self._text[start : self._place(right)[0]])
            assert match is not None
            yield self._mutant(start + match.start(), start + match.end(), other)

    def _replaced(self, node: ast.expr | ast.stmt, new: str) -> Mutant:
        return self._mutant(*self._place(node), new)

    def _mutant(self, start: int, end: int, new: str) -> Mutant:
        return Mutant(start, end, self._text.count("\n", 0, start) + 1, self._text[start:end], new)

    def _shown(self, node: ast.expr) -> str:
        start, end = self._place(node)
        return self._text[start:end]

    def _place(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Its start and end in characters; Python counts the bytes of a line."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        ends = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        start, end = (
            self._starts[line - 1] + len(self._lines[line - 1].encode()[:byte].decode())
            for line, byte in ends
        )
        return start, end
