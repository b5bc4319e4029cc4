"""README.md, CONTRIBUTING.md and the pages of docs/: every command of theirs is tried, with
settings that make it fast.

What the pages take from elsewhere, and what they show of a command's output,
is compared with what it would be now.

Trainings but for a few, measurements and what needs a network are understood and stopped: settings
and options are checked as they would be. Commands run in a folder with all the files that the pages
speak of.
"""

import importlib
import importlib.metadata
import lzma
import os
import pkgutil
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments import command as experiment
from oracles.errors import OptimalStepError
from parser.commands import fetch_treebanks, settings_help
from parser.conllu.stream import read_raw_sentences
from parser.model_folder import TOKENIZER
from parser.training import run as training_run
from parser.training.observers.console import final_table
from scripts import documentation
from scripts.benchmarks.command import BENCHMARKS
from tests import forked
from tests.random_models import random_text_model
from tests.toy import ROOT, SAMPLE, TINY, forget_what_is_stored

PAGES = documentation.PAGES
SMALL = ["treebank.train=a.conllu", "treebank.dev=b.conllu", "treebank.test=c.conllu"]
_OPTUNA = "-m hydra/sweeper=optuna hydra.sweeper.direction=maximize"
_OPTUNA += " hydra.sweeper.n_trials=20 hydra.sweeper.n_jobs=1"
# Trained in fact, all but the first as a sweep of two jobs.
TRAINED = {
    "treebank=hu column=5 paths.treebanks=ud-v2.2": [],
    "-m treebank=hu,el column=1,2,5 seed=1,2,3 paths.treebanks=ud-v2.2": [
        "column=1,2",
        "treebank=hu",
        "seed=1",
    ],
    "-m hydra/launcher=joblib hydra.launcher.n_jobs=4 treebank=hu,el seed=1,2": [
        "treebank=hu",
        "paths.treebanks=ud-v2.2",
    ],
    "-m hydra/launcher=submitit_local seed=1,2": SMALL,
    f"{_OPTUNA} 'optimizer.learning_rate=interval(0.01,0.5)'": ["hydra.sweeper.n_trials=2", *SMALL],
}
PLUGINS = {
    "joblib": "hydra_joblib_launcher",
    "submitit": "hydra_submitit_launcher",
    "optuna": "hydra_optuna_sweeper",
}


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """Yield the fenced blocks of a page: the language, and the text."""
    for block in documentation.blocks(page.read_text(encoding="utf-8")):
        yield block.language, block.text


def lines_of(page: Path) -> Iterator[str]:
    """Yield the command lines of a page, without comments."""
    for language, text in blocks(page):
        if language in ("", "sh"):
            for line in text.replace("\\\n", " ").splitlines():
                if words := shlex.split(line, comments=True):
                    yield shlex.join(words)


COMMANDS = list(dict.fromkeys(line for page in PAGES for line in lines_of(page)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Return a folder with what the pages speak of:
    the checkout's folders, treebanks, a trained RUN_FOLDER, input and output.
    """
    folder = tmp_path_factory.mktemp("documents")
    for name in ("scripts", "experiments", "docs", "tests", "data"):
        (folder / name).symlink_to(ROOT / name)
    with (SAMPLE / "sample-ud-dev.conllu").open("rb") as stream:
        some = "".join(
            "".join(sentence.lines)
            for sentence, _ in zip(read_raw_sentences(stream), range(20), strict=False)
        )
    for name, code, release in fetch_treebanks.known().values():
        (folder / f"ud-v{release}" / name).mkdir(parents=True)
        for part in ("train", "dev", "test"):
            (folder / f"ud-v{release}" / name / f"{code}-ud-{part}.conllu").write_text(some)
    for name in (
        "a",
        "b",
        "c",
        "input",
        "gold",
        "output",
        "trees",
        "FILE",
        "train",
        "dev",
        "old",
        "new",
    ):
        (folder / f"{name}.conllu").write_text(some)
    made = {
        "batch": SAMPLE / "sample-ud-dev.conllu",
        "projective": ROOT / "docs" / "examples" / "hearing.conllu",
    }
    for name, source in made.items():
        forked.script(
            "scripts/projectivize.py", str(source), "-o", f"{name}.conllu", folder=folder
        ).check_returncode()
    lattices = [
        "build train.conllu -o lexicon.json",
        "apply lexicon.json dev.conllu -o dev.conllul",
    ]
    for line in (*lattices, "jackknife train.conllu -o train.conllul.xz"):
        forked.script("scripts/lattices.py", *line.split(), folder=folder).check_returncode()
    (folder / "in").mkdir()
    with lzma.open(folder / "in" / "one.conllu.xz", "wt") as file:
        file.write(some)
    trained = shlex.join(["optimal-step", "train", "hydra.run.dir=RUN_FOLDER"])
    assert trained in COMMANDS
    start(
        "train",
        [
            "hydra.run.dir=RUN_FOLDER",
            f"treebank.train={folder}/a.conllu",
            f"treebank.dev={folder}/b.conllu",
        ],
        folder,
    )
    forked.script(
        "scripts/pack.py", "RUN_FOLDER", "-o", "packs/hu-szeged-2.2.zip", folder=folder
    ).check_returncode()
    random_text_model().save(folder / "TEXT_FOLDER" / "model")
    return folder


def start(name: str, arguments: list[str], folder: Path, new: bool = False) -> str:
    """Trains in a process of its own, a new one for launchers that start others from it;
    its output.
    """
    file, arguments = f"scripts/{name}.py", [*arguments, *TINY]
    if new:
        command = [sys.executable, str(ROOT / file), *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    else:
        done = forked.script(file, *arguments, folder=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    """Works in a copy of the folder, so that no command reads another's output,
    and leaves the process as it was.
    """
    copy = shutil.copytree(folder, tmp_path / "copy", symlinks=True)
    monkeypatch.chdir(copy)
    monkeypatch.setenv("XDG_CACHE_HOME", str(copy / "cache"))
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # pytest keeps its own
    monkeypatch.setattr(sys, "path", list(sys.path))
    forget_what_is_stored(monkeypatch)
    return copy


def run(file: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> object:
    """Run a script of ours in this process; return what it exits with."""
    monkeypatch.setattr(sys, "argv", [file, *arguments])
    try:
        runpy.run_path(str(ROOT / file), run_name="__main__")
    except SystemExit as ended:
        return ended.code or 0
    return 0


def script(words: list[str]) -> tuple[str, list[str]]:
    """Return the script that a command starts, and its arguments."""
    if words[0] == "optimal-step":
        return f"scripts/{words[1]}.py", words[2:]
    assert words[0] in ("python", ".venv/bin/python")
    return words[1], words[2:]


def understood(*_: object, **__: object) -> None:
    raise OptimalStepError("understood")


def extra(text: str) -> list[pytest.MarkDecorator]:
    """Return marks for what of the pages needs optional packages."""
    return (
        [pytest.mark.extras] if re.search(r"hydra/(launcher|sweeper)=|import spacy", text) else []
    )


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, marks=extra(line))
        for line in COMMANDS
        if re.match(r"(\S*python (?!-m)|optimal-step )", line)
    ],
)
def test_commands_of_ours(line, here, tmp_path, monkeypatch, capsys):
    file, arguments = script(shlex.split(line))
    if file == "scripts/train.py":
        train(arguments, here, monkeypatch)
    elif file.startswith("experiments/") and "--help" not in arguments:
        monkeypatch.setattr(
            experiment, "settings_of", lambda *given: understood(SETTINGS_OF(*given))
        )
        assert run(file, arguments, monkeypatch) == "error: understood"
    elif (
        file.startswith(
            ("tests/", "scripts/make_models", "scripts/documentation", "scripts/train_tokenizer")
        )
        or {"--text", "--treebank"} & {*arguments}
        or (file == "scripts/benchmark.py" and "--help" not in arguments)
    ):
        knows_options(file, arguments, monkeypatch, capsys)
    else:
        if file == "scripts/serve.py":
            pytest.importorskip("fastapi", reason="FastAPI is not installed (extra serve)")
            monkeypatch.setattr(pytest.importorskip("uvicorn").Server, "run", lambda *_, **__: None)
            arguments = ["0" if word == "8001" else word for word in arguments]
        monkeypatch.setattr(fetch_treebanks, "_fetch", lambda *_: "fetched")
        given = [
            re.sub(r"\[?(RUN_FOLDER2|MY_FOLDER)\]?", "RUN_FOLDER", word).replace(".gz", ".xz")
            for word in arguments
        ]
        if "report" in file and "--gold" not in given:
            given += ["--gold", "gold.conllu"]  # RUN_FOLDER has no test part here
        assert run(file, given, monkeypatch) == 0


SETTINGS_OF = experiment.settings_of


def train(arguments: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = shlex.join(arguments)
    plugins = [
        plugin
        for name, plugin in PLUGINS.items()
        if re.search(f"hydra/(launcher|sweeper)={name}", line)
    ]
    for plugin in plugins:
        pytest.importorskip(
            f"hydra_plugins.{plugin}", reason=f"{plugin} is not installed (extra sweeps)"
        )
    if line in TRAINED:
        keys = [override.partition("=")[0] for override in TRAINED[line]]
        kept = [word for word in arguments if word.partition("=")[0] not in keys]
        assert "LAS" in start("train", [*kept, *TRAINED[line]], folder, new=bool(plugins))
        return
    if plugins:  # the jobs run on a cluster: the launcher's settings alone
        launcher = [word for word in arguments if word.startswith("hydra")]
        assert run("scripts/train.py", [*launcher, "--cfg", "all"], monkeypatch) == 0
        return

    monkeypatch.setattr(training_run, "train", understood)
    few = [
        word.replace("glob(nederhof_*)", "glob(nederhof_l*)").replace("range(1,7)", "range(1,3)")
        for word in arguments
    ]
    told = run("scripts/train.py", few, monkeypatch)
    # A sweep exits with 1, as its jobs were stopped.
    assert told == (0 if "--cfg" in arguments else 1 if "-m" in arguments else "error: understood")


def knows_options(file: str, arguments: list[str], monkeypatch, capsys) -> None:
    first = arguments[:1] if file == "scripts/benchmark.py" else []
    assert {*first} <= {*BENCHMARKS}
    assert run(file, [*first, "--help"], monkeypatch) == 0
    told = capsys.readouterr().out
    assert all(word.partition("=")[0] in told for word in arguments if word.startswith("--"))


@pytest.mark.parametrize(
    "line", [line for line in COMMANDS if not re.match(r"(\S*python (?!-m)|optimal-step )", line)]
)
def test_other_commands(line):
    """Of make, the target is there; of pip, the extra; of pytest, the files;
    of other programs, what declares them.
    """
    words = shlex.split(line)
    program = Path(words[0]).name
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    if program == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    elif program == "pip":
        for extra in re.findall(r"\[(\w+)\]", words[-1]):
            assert extra in project["optional-dependencies"]
        assert all((ROOT / file).is_file() for file in re.findall(r"-[rc] (\S+)", line))
    elif words[1:3] == ["-m", "pytest"]:
        assert all((ROOT / word).exists() for word in words[3:] if not word.startswith("-"))
    elif program == "tensorboard":
        assert importlib.metadata.distribution("tensorboard").entry_points.select(
            name="tensorboard"
        )
    else:
        # test_the_site_is_built, serving/test_app.py, test_shipped_models.py
        assert program in ("mkdocs", "curl", "echo")


@pytest.mark.parametrize(
    "target", ["help", "train", "test", "test-long", "test-extras", "lint", "format", "clean"]
)
def test_make_from_another_folder(target, tmp_path):
    """It says what it would do, in the folder of its file, and does nothing."""
    shown = [
        subprocess.run(
            ["make", "--dry-run", *there, target],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for folder, there in (
            (ROOT, []),
            (tmp_path, ["-C", str(ROOT)]),
            (tmp_path, ["-f", str(ROOT / "Makefile")]),
        )
    ]
    plain, *others = [
        [line for line in text.splitlines() if not line.startswith("make")] for text in shown
    ]
    assert plain
    assert others == [plain, plain]


def test_the_readme_is_short_and_its_table_is_that_of_a_training():
    """Scores depend on the processor."""
    assert len(PAGES[0].read_text(encoding="utf-8").split()) <= 900
    table = next(text for _, text in blocks(PAGES[0]) if text.lstrip().startswith("UAS"))
    scores = dict.fromkeys(("uas", "las", "las_universal", "uas_nopunct", "las_nopunct"), 90.0)
    parts = {"dev": scores, "test": scores}
    made = final_table(parts | {"after_first_pass": parts})
    assert re.sub(r"\d\d\.\d\d", "90.00", table) == made


def skip_without_tokenizer() -> None:
    """Skip what parses text with the shipped model for English,
    if its pack is from before our tokenizer.
    """
    if TOKENIZER not in zipfile.ZipFile(ROOT / "models" / "en.zip").namelist():
        pytest.skip("the pack of en was made before our tokenizer, so it parses no text")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_shows_what_it_takes_from_elsewhere_and_what_commands_print(page):
    if re.search(r"\bparse(\.py)? en .*--text", page.read_text(encoding="utf-8")):
        skip_without_tokenizer()
    stale = [str(file.relative_to(ROOT)) for file, _ in documentation.renewed(page)]
    assert stale == [], f"stale; {documentation.COMMAND} renews them"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_reads_as_it_lies_in_the_repository(page):
    """Nothing stands in it that only the site's builder would replace."""
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"\{\{ |\{% |--8<--|^::: ", text, re.MULTILINE)
    for file in re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", text):
        assert (page.parent / file).is_file()


TREE = "1\tIt\t_\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\tparses\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
PAGE = """A page.

<!-- generated: systems -->
before
<!-- end -->

![A tree](examples/tree.svg)

```
echo > made      # in a folder of its own
printf '%s\\n' 'step 1' a '' 'step 2' b '' 'step 3' c
```

<!-- not compared: as an example -->
```console
step 1
before
```

<!-- trained: as an example -->
```console
step 2
before
```

Two of the three steps:

```console
step 3
before

step 1
```
"""


def test_pages_that_are_stale_are_named_and_renewed(tmp_path, monkeypatch, capsys):
    page, picture = tmp_path / "page.md", tmp_path / "examples" / "tree.svg"
    picture.parent.mkdir()
    page.write_text(PAGE)
    picture.with_suffix(".conllu").write_text(TREE)
    assert documentation.main([str(page), "--check"]) == 1
    assert page.read_text() == PAGE
    assert not picture.exists()
    told = capsys.readouterr().out.splitlines()
    assert told == [
        f"{file}: stale; python scripts/documentation.py renews it" for file in (picture, page)
    ]
    assert documentation.main([str(page)]) == 0
    assert documentation.main([str(page), "--check"]) == 0
    assert '<rect width="100%" height="100%" fill="#fff"/>' in picture.read_text()
    assert (
        f"<!-- generated: systems -->\n\n{documentation.system_table()}\n\n<!-- end -->"
        in page.read_text()
    )
    assert [text for language, text in blocks(page) if language == "console"] == [
        "step 1\nbefore", "step 2\nbefore", "step 3\nc\n\nstep 1\na",
    ]  # fmt: skip
    assert documentation.main([str(page), "--trained"]) == 0
    assert "step 2\nb\n" in page.read_text()
    picture.write_text("")
    assert [file for file, _ in documentation.renewed(page)] == [picture]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "<!-- generated: nothing -->\n<!-- end -->\n",
            "there is no maker 'nothing'; known: configuration, oracles",
        ),
        ("<!-- generated: oracles -->\n", "needs one <!-- end --> after it"),
        (
            "<!-- generated: oracles -->\n<!-- generated: systems -->\n<!-- end -->\n",
            "needs one <!-- end --> after it",
        ),
        ("```console\nstep 1\n```\n", "line 1: no command before this output"),
        (
            "```python\nx\n```\n\n```console\n1\n```\n",
            "line 5: the commands before it fail:\n.*python",
        ),
        ("```\nfalse\n```\n\n```console\n1\n```\n", "line 5: the commands before it fail:\nfalse"),
        (
            "```\nprintf '1\\n\\n2\\n'\n```\n\n```console\n3\n```\n",
            "line 5: .* print no paragraph that begins with '3', but '1', '2'",
        ),
    ],
)
def test_what_a_page_cannot_have(text, told, tmp_path):
    (tmp_path / "page.md").write_text(text)
    with pytest.raises(documentation.DocumentationError, match=rf"page\.md.*{told}"):
        list(documentation.renewed(tmp_path / "page.md"))


def test_what_python_prints_is_renewed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nfor i in (1, 2):\n    print(i, 'a')\n```\n\n```console\nbefore\n```\n"
    )
    assert documentation.main([str(page)]) == 0
    assert "```console\n1 a\n2 a\n```" in page.read_text()


def test_a_reference_has_calls_docstrings_and_public_methods(tmp_path):
    source = '''
class Example:
    """An example.

    Args:
        a, b: two ``str``,
            two words: a space between.

    Raises:
        ValueError: always.
    """

    def __init__(self, a: str, b: str = "b") -> None: ...

    def public(self) -> int:
        """Count.

        Returns:
            one: or more.
        """

    def _private(self) -> None:
        """Nothing."""

    @property
    def word(self) -> str:
        """A word."""
'''
    (tmp_path / "example.py").write_text(source)
    assert documentation.reference(str(tmp_path / "example.py"), "Example").split("\n\n") == [
        "## Example", "```py\nExample(a: str, b: str = 'b')\n```", "An example.",
        "* `a`, `b`: two `str`,\n  two words: a space between.",
        "Raises:", "* `ValueError`: always.",
        "### Example.public", "```py\nExample.public() -> int\n```", "Count.", "Returns:",
        "one: or more.", "### Example.word", "A word.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("page", "text"),
    [
        pytest.param(page.name, text, marks=extra(text))
        for page in PAGES
        for language, text in blocks(page)
        if language == "python"
    ],
)
def test_python_of_the_pages(page, text, here, capsys):
    if "import spacy" in text:
        pytest.importorskip("spacy", reason="spaCy is not installed (extra spacy)")
        # as the entry point of an installed package
        importlib.import_module("parser.library.spacy_component")
    if 'Parser.load("en")' in text:
        skip_without_tokenizer()
    if '"DET"' not in text:  # words without tags
        text = text.replace("RUN_FOLDER", "TEXT_FOLDER")
    exec(compile(text, page, "exec"), {})
    assert capsys.readouterr().out


def test_every_key_is_explained():
    made = documentation.configuration()
    rows = [line for line in made.splitlines() if line.startswith("| `")]
    named = [line.split("`")[1] for line in rows]
    assert len(named) == len(set(named))
    assert {*settings_help.schema_keys(), *settings_help.CHOICES} == set(named)
    assert not [line for line in rows if line.endswith("|  |")]


def test_tables_are_those_of_the_code():
    assert documentation.oracle_table().count("\n| `") == len(documentation.oracles.all_names())
    assert "| `swap` | also non-projective | `swap_dynamic`" in documentation.system_table()


def test_the_page_of_the_paper_has_every_part_and_names_what_there_is():
    text = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    names = re.findall(r"`((?:oracles|parser|experiments)(?:\.\w+)+)`", text)
    assert len(names) >= 40
    for name in names:
        assert pkgutil.resolve_name(name) is not None
    for file in re.findall(r"`(\w+(?:/\w+)+\.\w+)`", text):
        assert (ROOT / file).is_file(), file
    numbered = {
        title: set(re.findall(r"^\| (\d+)", part, re.MULTILINE))
        for title, part in sections_of(text)
    }
    assert numbered["Sections"] == {*"2345678"}
    assert numbered["Tables"] == {*"1234567"}
    assert numbered["Figures"] == {"8", "9", "10"}


def sections_of(text: str) -> list[tuple[str, str]]:
    """Return the titles of the second level, each with the text below it."""
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def test_the_site_is_built(tmp_path):
    """Strictly: every link and every name that is documented is there;
    and no page loads anything from elsewhere.
    """
    for package in ("mkdocs", "material"):
        pytest.importorskip(package, reason="mkdocs-material is not installed (extra docs)")
    options = ["--strict", "-f", str(ROOT / "mkdocs.yml"), "-d", str(tmp_path / "site")]
    build = [sys.executable, "-m", "mkdocs", "build", *options]
    place = {"OPTIMAL_STEP_REPOSITORY": "https://github.com/someone/optimal-step"}
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, env=os.environ | place)
    assert done.returncode == 0, done.stderr
    pages = {path.name: path.read_text() for path in (tmp_path / "site").glob("*.html")}
    assert {page.with_suffix(".html").name for page in PAGES[2:]} <= set(pages)
    for text in pages.values():
        assert not re.search(
            r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?(?:https?:)?//", text
        )
        assert 'href="https://github.com/someone/optimal-step"' in text
        # its script would ask GitHub for the number of stars
        assert 'data-md-component="source"' not in text
        assert 'site.css"' in text
    assert '<h3 id="parserload">' in pages["library.html"]
    assert 'src="examples/hearing.svg"' in pages["two_passes.html"]
    assert (tmp_path / "site" / "examples" / "hearing.svg").is_file()
    assert "hu | 5 |" not in pages["table7.html"]
    assert "61.52\xa0±\xa00.12\xa0/ 75.20\xa0±\xa00.22" in pages["table7.html"]
    assert '<code><span class="whole">tokenizer</span></code>' in pages["configuration.html"]
    assert '<span class="whole">--gold</span>' in pages["index.html"]


FOLDERS = ("configs", "docs", "experiments", "oracles", "parser", "scripts", "tests")
TEXTS = [
    *PAGES,
    *(
        path
        for name in FOLDERS
        for kind in ("py", "yaml", "md")
        for path in (ROOT / name).rglob(f"*.{kind}")
    ),
]


def test_texts_name_extras_that_there_are_and_no_folder_beside_the_checkout():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for path in TEXTS:
        text = path.read_text(encoding="utf-8")
        assert f"{os.pardir}/shared" not in text, path
        named = re.findall(r"\bextra `+(\w+)`|\(extra (\w+)\)|'\.\[([\w,]+)\]'", text)
        assert {extra for groups in named for extra in "".join(groups).split(",")} <= {*extras}, (
            path
        )


DOCUMENTS = [*PAGES, ROOT / ".github" / "SECURITY.md", ROOT / "tests" / "README.md"]
DOCUMENTS += sorted((ROOT / "experiments").rglob("*.md"))


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not re.match(r"\w+:", link):
            file, _, heading = link.partition("#")
            target = page.parent / file if file else page
            assert target.exists(), link
            assert not heading or heading in headings(target), link


def headings(page: Path) -> list[str]:
    """As GitHub and mkdocs name the places of headings."""
    found = re.findall(r"^#+ (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in found]
