"""Renews the generated parts of the pages: python scripts/documentation.py [--check] [--trained]
[PAGE ...].

Without PAGE, it renews README.md, CONTRIBUTING.md and all pages of docs/; with --check, it only
names those that are stale.

* ``<!-- generated: MAKER ARGUMENTS -->`` to ``<!-- end -->``: the text in between is written by a
  maker in MAKERS.
* ```` ```console ````: the output of the block of commands or of Python before it: all of it, or
  the paragraphs whose first lines the page shows. With ``<!-- not compared: REASON -->`` in the
  line before, it is left alone; with ``<!-- trained: REASON -->``, it is renewed only by --trained,
  because its commands take a minute and print different numbers on different processors.
* ``![TEXT](FILE.svg)``, where FILE.conllu is beside it: a drawing of its first tree, or of the
  configuration that its comments name (worked_configuration.py).

mkdocs.yml calls the functions on_... while the site is built.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import Any, cast

if __name__ == "__main__":
    sys.path[0] = str(
        Path(__file__).resolve().parents[1]
    )  # use this checkout even if another version is installed

# isort: split

import oracles
from oracles.errors import OptimalStepError
from parser import transitions
from parser.beam_settings import Beam, Merge
from parser.commands.arguments import Arguments
from parser.commands.command_line import run
from parser.commands.settings_help import groups, sections
from parser.decoding.search import SearchWish, searches
from parser.drawing import as_svg, read_trees
from parser.model.parser_model import ParserModel
from parser.storage import replacing
from scripts import worked_configuration

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = "python scripts/documentation.py"

_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_CODE = re.compile(r"(?<=<code>)[^<]+")
_WORD = r"[^\s<>]+"
_COMMANDS = re.compile(r'<div class="language-(?:sh|powershell) highlight">.*?</div>', re.DOTALL)
_HYPHENATED = r"(?<=[\s>])[^\s<>]{0,20}-[^\s<>]{0,20}(?=[\s<])"
_BEGIN, _END = re.compile(r"<!-- generated: (\S+)(?: ([^\n]+))? -->"), "<!-- end -->"
_GENERATED = re.compile(rf"^{_BEGIN.pattern}$\n.*?^{_END}$", re.DOTALL | re.MULTILINE)
_MARK = re.compile(r"<!-- (not compared|trained): \S.* -->")
_PICTURE = re.compile(r"!\[[^\]]+\]\(([^)\s]+)\.svg\)")
_LONGEST_CALL = 100  # characters; in a longer one, each argument has a line
# Sections of docstrings: those that are lists, and those with a heading in the reference.
_LISTS = ("Args", "Attributes", "Raises")
_HEADED = ("Raises", "Returns", "Yields")


class DocumentationError(OptimalStepError):
    """A page asks for something that cannot be made; the message names page and line."""


@dataclass(frozen=True)
class FencedBlock:
    """A fenced block of a page.

    Attributes:
        first: the index of its opening fence among the lines of the page.
        language: the word after the fence, "" if there is none.
        lines: the lines between the fences.
        before: the last line before it that is not blank.
    """

    first: int
    language: str
    lines: list[str]
    before: str

    @property
    def text(self) -> str:
        """Its lines, joined."""
        return "\n".join(self.lines)


def blocks(text: str) -> Iterator[FencedBlock]:
    """Yield the fenced blocks of a page."""
    block: FencedBlock | None = None
    before = ""
    for number, line in enumerate(text.splitlines()):
        if line.startswith("```"):
            if block is None:
                block = FencedBlock(number, line[3:].strip(), [], before)
            else:
                yield block
                block = None
        elif block is not None:
            block.lines.append(line)
        if line.strip():
            before = line


def with_generated_parts(page: Path, text: str) -> str:
    """Return the text of a page with its generated parts as they are made now.

    Raises:
        DocumentationError: a part has no end, or no maker.
    """

    lines = text.splitlines()
    begun = sum(_BEGIN.fullmatch(line) is not None for line in lines)
    if not begun == len(_GENERATED.findall(text)) == lines.count(_END):
        raise DocumentationError(f"{page}: each <!-- generated: ... --> needs one {_END} after it")

    def part(match: re.Match[str]) -> str:
        if match[1] not in MAKERS:
            raise DocumentationError(
                f"{page}: there is no maker {match[1]!r}; known: {', '.join(MAKERS)}"
            )
        generated = MAKERS[match[1]](*shlex.split(match[2] or ""))
        return "\n\n".join([match[0].partition("\n")[0], generated.strip("\n"), _END])

    return _GENERATED.sub(part, text)


def with_outputs(page: Path, text: str, trained: bool = False) -> str:
    """Return the text of a page with the outputs that its commands print now.

    Raises:
        DocumentationError: an output follows no command,
            or its command fails or prints nothing that begins like it.
    """
    lines, commands = text.splitlines(), None
    shown = []
    for block in blocks(text):
        if block.language in ("", "sh"):
            commands = block.text
        elif block.language == "python":
            commands = f"python - <<'END'\n{block.text}\nEND"
        elif block.language == "console":
            mark = _MARK.fullmatch(block.before)
            if mark is None or (trained and mark[1] == "trained"):
                shown.append((block, commands))
    for block, commands in reversed(shown):
        place = f"{page}, line {block.first + 1}"
        if commands is None:
            raise DocumentationError(f"{place}: no command before this output")
        try:
            printed = excerpt(block.text, output_of(commands))
        except DocumentationError as error:
            raise DocumentationError(f"{place}: {error}") from error
        lines[block.first + 1 : block.first + 1 + len(block.lines)] = printed.splitlines()
    return "\n".join([*lines, ""])


def output_of(commands: str) -> str:
    """Return the standard output of a block of commands,
    in a folder with the folders of the checkout.

    Raises:
        DocumentationError: a command fails.
    """
    python = shlex.quote(sys.executable)
    commands = re.sub(r"^(\.venv/bin/)?python(?= )", lambda _: python, commands, flags=re.MULTILINE)
    commands = re.sub(
        r"\boptimal-step (\w+)", lambda match: f"{python} scripts/{match[1]}.py", commands
    )
    with TemporaryDirectory() as folder:
        for name in ("data", "docs", "experiments", "scripts", "tests"):
            (Path(folder) / name).symlink_to(ROOT / name)
        environment = {
            "PYTHONPATH": str(ROOT),
            "PYTHONUTF8": "1",
            "XDG_CACHE_HOME": str(Path(folder) / "cache"),
        }
        # tests of kernels as plain Python would wait here for minutes
        environment["NUMBA_DISABLE_JIT"] = "0"
        done = subprocess.run(
            ["sh", "-ec", commands],
            cwd=folder,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
    if done.returncode:
        raise DocumentationError(f"the commands before it fail:\n{commands}\n{done.stderr}")
    return done.stdout


def excerpt(shown: str, printed: str) -> str:
    """Return the shown part of an output: all of it,
    or the paragraphs with the same first lines as those shown before.

    Raises:
        DocumentationError: no paragraph has such a first line.
    """
    paragraphs = printed.strip("\n").split("\n\n")
    wanted = [paragraph.partition("\n")[0] for paragraph in shown.strip("\n").split("\n\n")]
    if wanted == [""] or len(wanted) == len(paragraphs):
        return "\n\n".join(paragraphs)
    by_first_line = {paragraph.partition("\n")[0]: paragraph for paragraph in reversed(paragraphs)}
    for first in wanted:
        if first not in by_first_line:
            first_lines = ", ".join(map(repr, reversed(by_first_line)))
            raise DocumentationError(
                f"the commands before it print no paragraph that begins with {first!r}, "
                f"but {first_lines}"
            )
    return "\n\n".join(by_first_line[first] for first in wanted)


def pictures(page: Path, text: str) -> Iterator[tuple[Path, str]]:
    """Yield the file and the content of each drawing of a page."""
    for match in _PICTURE.finditer(text):
        tree = page.parent / f"{match[1]}.conllu"
        if tree.exists():
            yield tree.with_suffix(".svg"), picture(tree)


def picture(tree: Path) -> str:
    """Return a drawing of the first tree of a file, or of its configuration, on white, since
    readers may have a dark page.
    """
    drawn = worked_configuration.picture(tree) or as_svg(next(read_trees(tree)).tree)
    start, _, rest = drawn.partition("\n")
    return f'{start}\n<rect width="100%" height="100%" fill="#fff"/>\n{rest}\n'


def renewed(page: Path, trained: bool = False) -> Iterator[tuple[Path, str]]:
    """Yield the files of a page that are stale, pictures included,
    with their content as it would be made now.

    Args:
        page: the page.
        trained: whether outputs of commands that train are compared, too.

    Raises:
        DocumentationError: the page asks for something that cannot be made.
    """
    text = page.read_text(encoding="utf-8")
    for file, content in (
        *pictures(page, text),
        (page, with_outputs(page, with_generated_parts(page, text), trained)),
    ):
        if not file.exists() or file.read_text(encoding="utf-8") != content:
            yield file, content


def configuration() -> str:
    """Return tables of all keys, with their defaults and explanations."""
    parts = ["### Choices that set other keys\n", "| key, value | what it can be |\n|---|---|"]
    parts += [
        f"| `{group}` <br> =&nbsp;`{choice}` | {_cell(comment)} |"
        for group, choice, comment in groups()
    ]
    parts.append("")
    for title, rows in sections():
        parts += [f"### {title}\n", "| key, value | what it is |\n|---|---|"]
        for key, value, comment in rows:
            shown = "that of `column`" if "table7" in value else f"`{_cell(value)}`"
            parts.append(
                f"| `{key}`{f' <br> =&nbsp;{shown}' if value else ''} | {_cell(comment)} |"
            )
        parts.append("")
    return "\n".join(parts)


def oracle_table() -> str:
    """Return the table of oracles."""
    rows = []
    for name in oracles.all_names():
        kind = oracles.oracle_class(name)
        parseable = "those that the system can parse" if kind.needs_parseable_gold else "any"
        trees = "projective" if kind.needs_projective_gold else parseable
        rows.append(
            f"| `{name}` | `{kind.system}` | {trees} | {_cell(kind.complexity)} | "
            f"{_cell(kind.source)} |"
        )
    return "\n".join(
        ["| oracle | system | gold trees | time | source |\n|---|---|---|---|---|", *rows]
    )


def system_table() -> str:
    """Return the table of transition systems and their oracles."""
    rows = []
    for name in transitions.names():
        kind = transitions.system_class(name)
        trees = "projective" if kind.projective else "also non-projective"
        rows.append(
            f"| `{name}` | {trees} | {', '.join(f'`{oracle}`' for oracle in kind.oracles)} |"
        )
    return "\n".join(
        ["| system | trees that it makes | oracles, the default first |\n|---|---|---|", *rows]
    )


@dataclass(frozen=True)
class _DescribedModel:
    """The properties of a model that decide which searches it has; they stand in for a model."""

    kind: str
    system: transitions.TransitionSystem
    contextual: bool = False
    predicts_heads: bool = True


def search_table() -> str:
    """Return the table of searches for networks of each transition system,
    and for linear models.
    """
    beam = Beam(8)
    wishes = {
        "greedily": SearchWish(),
        "`--beam`, `--k-best`": SearchWish(beam),
        "`--merge signature`": SearchWish(replace(beam, merge=Merge.SIGNATURE)),
        "`--rerank`": SearchWish(replace(beam, rerank=True)),
        "`--keep-heads`": SearchWish(keeps_arcs=True),
        "`--keep-heads --beam`": SearchWish(beam, keeps_arcs=True),
        "`--lattice`": SearchWish(beam, lattices=True),
    }
    described = {
        f"`{name}`": _DescribedModel("classifier", transitions.create(name, 2, 0))
        for name in transitions.names()
    }
    linear = _DescribedModel(
        "linear", transitions.create("arc_standard", 2, 0), predicts_heads=False
    )
    rows = [f"| | {' | '.join(wishes)} |", f"|---{'|---' * len(wishes)}|"]
    for name, model in (described | {"any, `model=linear`": linear}).items():
        rows.append(
            f"| {name} | {' | '.join(_searched(model, wish) for wish in wishes.values())} |"
        )
    return "\n".join(rows)


def _searched(model: _DescribedModel, wish: SearchWish) -> str:
    """Return the cell of a model in the table of searches."""
    try:
        searches(cast(ParserModel, model), wish)
    except OptimalStepError:
        return "\u2013"
    # this search finds the trees to rerank
    unranked = replace(wish, beam=replace(wish.beam, rerank=False))
    first = searches(cast(ParserModel, model), unranked)[0]
    return "in batches" if ".batched." in first.parser else "compiled"


def models() -> str:
    """Return the tables of the models that come with the project."""
    from scripts.make_models import tables  # loads torch

    return tables(json.loads((ROOT / "models" / "index.json").read_text(encoding="utf-8")))


def without_title(file: str) -> str:
    """Return the text of a page of the checkout below its title."""
    return (ROOT / file).read_text(encoding="utf-8").partition("\n")[2]


def code(file: str, *names: str) -> str:
    """Return a block with the definitions of classes,
    functions or fields in a file of the checkout.
    """
    definitions = _definitions(file)
    return "\n".join(["```py", "\n\n\n".join(definitions[name][1] for name in names), "```"])


def reference(file: str, *names: str) -> str:
    """Return the signatures and docstrings of classes in a file of the checkout,
    and of their public methods.
    """
    parts = []
    nodes = {name: node for name, (node, _) in _definitions(file).items()}
    for name in names:
        init = nodes.get(f"{name}.__init__")
        parts += _described(
            f"## {name}", nodes[name], None if init is None else _call(name, init.args)
        )
        for member, node in nodes.items():
            if (
                member.startswith(f"{name}.")
                and not member.startswith(f"{name}._")
                and isinstance(node, ast.FunctionDef)
            ):
                is_property = any(
                    isinstance(decorator, ast.Name) and decorator.id == "property"
                    for decorator in node.decorator_list
                )
                returned = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
                parts += _described(
                    f"### {member}",
                    node,
                    None if is_property else _call(member, node.args) + returned,
                )
    return "\n\n".join(parts)


def _described(title: str, node: ast.ClassDef | ast.FunctionDef, call: str | None) -> list[str]:
    """Return the title, the call and the docstring of a class or a function."""
    return [
        title,
        *([] if call is None else [f"```py\n{call}\n```"]),
        _as_markdown(ast.get_docstring(node) or ""),
    ]


def _definitions(file: str) -> dict[str, tuple[Any, str]]:
    """Return the nodes and source of the classes, functions and fields of a file; members of
    classes are named Class.name.
    """
    text = (ROOT / file).read_text(encoding="utf-8")
    lines = text.splitlines()

    def walk(nodes: list[ast.stmt], prefix: str) -> Iterator[tuple[str, tuple[Any, str]]]:
        for node in nodes:
            match node:
                case (
                    ast.ClassDef(name=name)
                    | ast.FunctionDef(name=name)
                    | ast.AnnAssign(target=ast.Name(id=name))
                ):
                    first = min(
                        [
                            node.lineno,
                            *(
                                decorator.lineno
                                for decorator in getattr(node, "decorator_list", [])
                            ),
                        ]
                    )
                    yield (
                        prefix + name,
                        (node, dedent("\n".join(lines[first - 1 : node.end_lineno]))),
                    )
            if isinstance(node, ast.ClassDef):
                yield from walk(node.body, f"{node.name}.")

    return dict(walk(ast.parse(text).body, ""))


def _call(name: str, arguments: ast.arguments) -> str:
    """Return a function's name and arguments as a caller sees them."""
    arguments.args = [
        argument for argument in arguments.args if argument.arg not in ("self", "cls")
    ]
    signature = re.sub(r"(?<=[\w\]])=", " = ", ast.unparse(arguments))  # all arguments have types
    if len(name) + len(signature) > _LONGEST_CALL:
        signature = "\n    " + re.sub(r", (?=\*,|\w+:)", ",\n    ", signature) + ",\n"
    return f"{name}({signature})"


def _as_markdown(docstring: str) -> str:
    """Return a docstring with its sections as lists."""
    lines, section = [], ""
    for line in docstring.replace("``", "`").splitlines():
        if heading := re.fullmatch(r"(\w+):", line):
            section = heading[1]
            lines += [f"{section}:\n"] if section in _HEADED else []
        elif section in _LISTS and (item := re.fullmatch(r" {4}(\w[\w, ]*): (.*)", line)):
            lines.append(f"* {', '.join(f'`{word}`' for word in item[1].split(', '))}: {item[2]}")
        else:
            section = section if line.startswith(" ") else ""
            lines.append(
                re.sub(r"^ {4,}", "  " if section in _LISTS else "", line) if section else line
            )
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").strip()


MAKERS: dict[str, Callable[..., str]] = {
    "configuration": configuration,
    "oracles": oracle_table,
    "systems": system_table,
    "searches": search_table,
    "models": models,
    "without_title": without_title,
    "code": code,
    "reference": reference,
    **worked_configuration.MAKERS,
}


def on_page_content(html: str, **_: Any) -> str:
    """Mark text that docs/site.css keeps on one line: identifiers and numbers in tables, options in
    commands.
    """
    html = _TABLE.sub(lambda table: _whole(table[0]), html)
    return _COMMANDS.sub(lambda block: _mark(_HYPHENATED, block[0]), html)


def _whole(table: str) -> str:
    table = _CODE.sub(lambda code: _mark(_WORD, code[0]), table)
    return table.replace(" ± ", "\xa0±\xa0").replace(" / ", "\xa0/ ")


def _mark(words: str, html: str) -> str:
    """Put each match outside tags into an element that is kept on one line."""
    return re.sub(
        f"<[^>]*>|({words})",
        lambda match: f'<span class="whole">{match[0]}</span>' if match[1] else match[0],
        html,
    )


def on_post_page(output: str, **_: Any) -> str:
    """Remove the attribute for which the theme's script would ask the repository's host for its
    number of stars.
    """
    return output.replace(' data-md-component="source"', "")


def on_post_template(output_content: str, **_: Any) -> str:
    """Remove it from the page for addresses that are not found."""
    return on_post_page(output_content)


def main(arguments: list[str] | None = None) -> int:
    """Renew pages, or name those that are stale; return 1 if some are."""
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "pages",
        metavar="PAGE",
        nargs="*",
        type=Path,
        help="default: README.md, CONTRIBUTING.md, docs/*.md",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; the exit status is 1 if a page is stale",
    )
    parser.add_argument("--trained", action="store_true", help="also run commands that train")
    args = parser.parse_args(arguments)
    stale = False
    for page in args.pages or PAGES:
        for file, content in renewed(page, args.trained):
            stale = True
            name = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
            print(f"{name}: {f'stale; {COMMAND} renews it' if args.check else 'renewed'}")
            if not args.check:
                with replacing(file) as temporary:
                    temporary.write_text(content, encoding="utf-8", newline="\n")
    return int(args.check and stale)


if __name__ == "__main__":
    run(main)
