"""Every mutant is Python and another program;
and the one that no test notices is told from the one that is noticed.
"""

import ast

import pytest

from tests.mutation import run
from tests.mutation.mutants import mutants_of

pytestmark = pytest.mark.long

SOURCE = '''"""A module."""
LIMIT = 3


@decorated(cache=True)
def climb(x: int = 1, é=[0 < 1]) -> int:
    """Says 1 + 1."""
    while x < 2 and not x == 7:
        x += 3
    y[0] = -min(x, "é" + 4)
    if x <= 0:
        raise ValueError(f"{x + 1} is below 0")
    return x
'''


def test_mutants_of_a_function():
    found = [(mutant.line, mutant.old, mutant.new) for mutant in mutants_of(SOURCE)]
    assert found == [
        (8, "x < 2 and not x == 7", "(not (x < 2 and not x == 7))"),
        (8, "<", "<="),
        (8, "2", "3"),
        (8, "and", "or"),
        (8, "not x == 7", "(x == 7)"),
        (8, "==", "!="),
        (8, "7", "8"),
        (9, "x += 3", "pass"),
        (9, "3", "4"),
        (10, 'y[0] = -min(x, "é" + 4)', "pass"),
        (10, "0", "1"),
        (10, '-min(x, "é" + 4)', '(min(x, "é" + 4))'),
        (10, "min", "max"),
        (10, "+", "-"),
        (10, "4", "5"),
        (11, "x <= 0", "(not (x <= 0))"),
        (11, "<=", "<"),
        (11, "0", "1"),
    ]


@pytest.mark.parametrize("part", run.PARTS)
def test_every_mutant_of_ours_is_another_program(part):
    for path in sorted((run.ROOT / part).rglob("*.py")):
        text = path.read_text("utf-8")
        tree = ast.dump(ast.parse(text))
        mutants = mutants_of(text)
        for mutant in mutants[:: 1 + len(mutants) // 4]:
            assert ast.dump(ast.parse(mutant.applied(text))) != tree, (path, mutant)


def test_every_file_has_tests():
    for part in run.PARTS:
        for path in (run.ROOT / part).rglob("*.py"):
            tests = run.tests_of(str(path.relative_to(run.ROOT)))
            assert tests
            assert all((run.ROOT / test).exists() for test in tests)


def test_survivors_are_listed(tmp_path, capsys, monkeypatch):
    """With a check of its own in place of pytest, which takes seconds to start."""
    source = tmp_path / "code.py"
    source.write_text("def twice(x):\n    if x > 5:\n        return 2 * x\n    return x + x\n")

    def failure(checker, tests, limit):
        exec(source.read_text(), found := {})
        return None if found["twice"](4) == 8 else f"{tests} fail"

    monkeypatch.setattr(run.Checker, "_failure", failure)
    drawn = [
        ("code.py", mutant) for mutant in mutants_of(source.read_text()) if mutant.old in ("2", "+")
    ]
    before = source.read_text()
    assert run.check(tmp_path, drawn, 1, lambda _: ["test_code.py"]) == 1
    told = capsys.readouterr().out
    assert "survived: code.py:3: '2' -> '3' (1 of 2)" in told
    assert told.endswith("code.py: 1 of 2 killed\nall: 1 of 2 killed, 1 survived; 0 not tried\n")
    assert source.read_text() == before
    source.write_text("def twice(x):\n    return 0\n")
    with pytest.raises(RuntimeError, match="fail before anything is changed"):
        run.check(tmp_path, drawn, 1, lambda _: ["test_code.py"])
