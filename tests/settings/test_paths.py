"""Values of settings that name paths: what is typed, what hydra makes of it, and what we print."""

import os
import shlex
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import example, given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from parser.settings import SettingsError
from parser.settings.groups import keys, path_settings
from parser.settings.paths import escaped, for_hydra, is_sweep, override, shell_command, split
from tests.odd_paths import ODD
from tests.toy import settings

TRAIN, DEV, RUN, SWEEP = "treebank.train", "treebank.dev", "hydra.run.dir", "hydra.sweep.dir"
PATHS = {
    *(f"{group}.{part}" for group in ("treebank", "lattice") for part in ("train", "dev", "test")),
    *("vectors.file", "vectors.subwords", "paths.treebanks", "start"),
    *("encoder.pretrained", "pretrained.cache"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Return an empty folder to stand in, with another one as home."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    return tmp_path / "here"


def values(word: str, *, sweep: bool | None = False) -> list[object]:
    """Return what hydra and OmegaConf read of KEY=VALUE, as it comes from a shell:
    a value for each job of a sweep.
    """
    key, _, _ = word.partition("=")
    (written,) = for_hydra([word], path_settings(), sweep=sweep)
    (parsed,) = OverridesParser.create().parse_overrides([written])
    jobs = (
        [*parsed.sweep_string_iterator()]
        if parsed.is_sweep_override()
        else [parsed.get_value_element_as_str()]
    )
    found = []
    for job in jobs:  # as hydra's sweeper hands them to its jobs
        (one,) = OverridesParser.create().parse_overrides([f"{key}={job}"])
        made = OmegaConf.to_object(OmegaConf.create({"value": one.value(), "seed": 7}))
        assert isinstance(made, dict)
        found.append(made["value"])
    return found


def at_home(value: object) -> object:
    """Return a value with HOME for the home folder."""
    if isinstance(value, list):
        return [*map(at_home, value)]
    return value.replace(os.path.expanduser("~"), "HOME") if isinstance(value, str) else value


def test_they_are_those_of_the_schema():
    assert set(path_settings()) == PATHS
    assert set(path_settings()) <= set(keys())


@pytest.mark.parametrize(
    ("key", "sweep"), [(TRAIN, False), (DEV, True), ("paths.treebanks", None), (RUN, False)]
)
@pytest.mark.parametrize("path", [*ODD, *(f"/x/{name}/y" for name in ODD)])
def test_what_is_printed_is_read_back(folder, path, sweep, key):
    read = os.path.join(".", path) if path.startswith("~") else path
    assert values(override(key, path), sweep=sweep) == [read]
    as_path = [os.path.normpath(str(one)) for one in values(override(key, Path(path)), sweep=sweep)]
    assert as_path == [os.path.normpath(path)]
    words = ["optimal-step", "train", "a b", override(key, path)]
    assert shlex.split(shell_command(words[:-1], {key: path})) == words
    # home is left alone in what is printed
    assert values(override(DEV, "~")) == [os.path.join(".", "~")]


@given(
    paths=st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1),
        max_size=3,
    )
)
@example(["a\\", "${", '\\"', "'", "\\${x}\\"])
@example(["a\\\\${b", "\\\\", '"', "x,"])
def test_lists_that_are_printed_are_read_back(paths):
    absolute = [f"/{path}" for path in paths]
    for path in absolute:
        assert values(override(DEV, path), sweep=True) == [path]
    assert values(override(TRAIN, absolute), sweep=True) == [absolute]


@given(st.text(st.sampled_from("${}\\ab:,'\"")))
def test_escaped_text_is_text(text):
    assert OmegaConf.create({"a": escaped(text), "b": "${a}/c"}).b == f"{text}/c"


@pytest.mark.parametrize(("key", "sweep"), [(TRAIN, False), (TRAIN, True), (DEV, None)])
@pytest.mark.parametrize("name", [name for name in ODD if name != "null"])
def test_a_file_that_is_there_is_meant_as_it_is_typed(folder, key, sweep, name):
    (folder / name).touch()
    assert values(f"{key}={name}", sweep=sweep) in ([name], [os.path.join(".", name)])
    assert values(f"{key}={folder}/{name}", sweep=sweep) == [f"{folder}/{name}"]


@pytest.mark.parametrize(
    "name", [name for name in ODD if name not in ("${seed}", "null", "'quoted'")]
)
@pytest.mark.parametrize("key", [RUN, SWEEP])
def test_a_folder_to_be_written_is_meant_as_it_is_typed(folder, key, name):
    assert values(f"{key}={name}", sweep=key == SWEEP) == [name]


@pytest.mark.parametrize(
    ("word", "single", "several"),
    [
        (f"{TRAIN}=[a b,\"c, d\",'[e',~/f]", [["a b", "c, d", "[e", "HOME/f"]], ...),
        (f"{TRAIN}=[]", [[]], ...),
        (f"{TRAIN}=[\"'a'\", b]", [["'a'", "b"]], ...),
        (f"{TRAIN}=choice(a) and (b)", ["choice(a) and (b)"], ...),
        (f"{TRAIN}=x (1, 2) ", ["x (1, 2) "], ...),
        (f"{TRAIN}=a,b", None, ["a", "b"]),
        (f"{TRAIN}=[a,b c], [ő]", None, [["a", "b c"], ["ő"]]),
        (f"{TRAIN}=choice([a,b c],ő)", ["choice([a,b c],ő)"], ...),
        (f"{DEV}=null,ő (1, 2),it's", None, [None, "ő (1, 2)", "it's"]),
        (f'{DEV}="a, b","c"', None, ["a, b", "c"]),
        (f'{DEV}="a, b"', ["a, b"], ...),
        (f"{DEV}='a \\' b'", ["a ' b"], ...),
        (f"{DEV}=(a,b", None, ["(a", "b"]),
        ("vectors.file=[a]", ["[a]"], ...),
        (f"{DEV}=null", [None], ...),
        (f"{DEV}='null'", ["null"], ...),
        (f"{DEV}=", [""], ...),
        (f"{DEV}=~/ő", ["HOME/ő"], ...),
        (f"{DEV}='~/a b'", ["HOME/a b"], ...),
        (f"{DEV}=a~", ["a~"], ...),
        (f"{DEV}=${{seed}} ő", ["7 ő"], ...),
        (f"{DEV}=\\${{seed}} ő", ["${seed} ő"], ...),
        (f"{DEV}=${{seed", ["${seed"], ...),
        (f"{RUN}=runs/${{seed}}, (a),b", ["runs/7, (a),b"], ...),
        (f"{RUN}='~/a b'", ["HOME/a b"], ...),
        (f"++{DEV}=ő", ["ő"], ...),
    ],
)
def test_what_is_typed(folder, word, single, several):
    several = single if several is ... else several
    for sweep, expected in ((False, single), (True, several)):
        if expected is None:
            with pytest.raises(
                SettingsError,
                match=r"=.* could be several values, or one value with commas: add -m",
            ):
                values(word, sweep=sweep)
        else:
            assert at_home(values(word, sweep=sweep)) == expected
    assert word in for_hydra([word], {}, sweep=False) or word.startswith(RUN)


@pytest.mark.parametrize("name", ["a,b", "[a,b]"])
def test_the_ways_that_a_refusal_names_are_understood(folder, name):
    with pytest.raises(SettingsError) as refused:
        for_hydra(
            [f"{TRAIN}={name}"] if name != "[a,b]" else [f"{DEV}={name},c"],
            path_settings(),
            sweep=False,
        )
    ways = [shlex.split(way)[0] for way in str(refused.value).split("write ")[1:]]
    ways = [way.removesuffix(";") for way in ways]
    assert values(ways[0]) == [name] or values(ways[0]) == [f"{name},c"]
    assert [values(way) for way in ways[1:]] == ([[["a", "b"]]] if name != "[a,b]" else [])


@pytest.mark.parametrize(
    ("key", "name", "sweep"), [(TRAIN, "[a,b]", False), (DEV, "a,b", False), (DEV, "a,b", True)]
)
def test_what_is_the_name_of_a_file_means_that_file_whatever_else_is_there(
    folder, key, name, sweep
):
    for path in (name, "a", "b"):
        (folder / path).touch()
    assert values(f"{key}={name}", sweep=sweep) == [name]


def test_words_that_name_no_paths():
    words = [
        "-m",
        "seed=1,2",
        "~treebank.dev",
        "treebank=hu,el",
        "ő",
        "model=mlp",
        "+features.x=[s0]",
        "--config-dir",
        "a b",
    ]
    assert for_hydra(words, path_settings(), sweep=True) == words
    assert all(
        is_sweep(["seed=1", option])
        for option in ("-m", "--multirun", "--mult", "hydra.mode=MULTIRUN")
    )
    assert not any(is_sweep([option]) for option in ("--", "-c", "--resolve", "model=mlp"))
    assert split('a, (b,c),[d,{e,f}] ,"g,h",it\'s,(i,j') == [
        "a",
        "(b,c)",
        "[d,{e,f}]",
        '"g,h"',
        "it's",
        "(i",
        "j",
    ]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        (
            "treebank.name=kő",
            (
                r"treebank.name=kő cannot be read as KEY=VALUE: .*; quotes within the shell's may"
                r" help"
            ),
        ),
        ("device=a=b", r"device=a=b cannot be read as KEY=VALUE: .*mismatched input '='"),
        ("device=f(x)", "Unknown function 'f'; "),
        ("b.conllu", r"b.conllu is not KEY=VALUE; to train on a file, give treebank.train=FILE$"),
        (
            "seed=1,2",
            (
                r"seed=1,2 has several values: add -m .*; write a list in brackets, and one value"
                r" with commas in quotes$"
            ),
        ),
    ],
)
def test_what_the_grammar_does_not_take_is_said_with_how_to_write_it(word, said):
    with pytest.raises(SettingsError, match=said):
        settings(word)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        (f"{TRAIN}={{a: F, a: G}}", "a"),
        (f"{TRAIN}={{a: [F,G], 'b c' : H,kő: I, kő :J}}", "kő"),
        (f"++{DEV}={{1: x, 1: y}}", "1"),
        ("features={form: [s0], form: [b0]}", "form"),
        ("+embeddings={upos: 3},{upos: 4, upos: 5}", "upos"),
        ("table7={9: {oracle: static, oracle: static}}", "oracle"),
        ("hydra.job.env_set={A: 1,A: 2}", "A"),
        ("features=({form: [s0], form: [b0]})", "form"),
    ],
)
def test_a_name_that_is_given_twice_is_refused(word, name):
    with pytest.raises(SettingsError, match=f"=.*: the name {name} is given twice; give it once"):
        for_hydra([word], path_settings(), sweep=None)


@pytest.mark.parametrize(
    "word",
    [
        *(
            f"{TRAIN}={{a: [F,F], b: F}}",
            f'{TRAIN}={{a: "x, a: y"}}',
            "embeddings={a: 1},{a: 2}",
            "x={a: {b: 1}, c: {b: 2}}",
        ),
        *("treebank.name='{a: 1, a: 2}'", f"{RUN}={{a: 1, a: 2}}", "device=${f:{x},{x}}"),
    ],
)
def test_other_names_are_taken(word):
    for_hydra([word], path_settings(), sweep=None)
