"""The parser of command lines: its errors name the option, or the choice,
that was probably meant.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from oracles.errors import did_you_mean, nearest, question

# For each option or group of options, what other toolkits call it. A command that has the option
# suggests it.
_ELSEWHERE = {
    "--output": (
        "--out --outfile --out-file --output-file --output-dir --output-path --save --save-to "
        "--destination"
    ),
    "--format": "--output-format --out-format --fmt --output-type",
    "--threads": (
        "-j -t --jobs --n-jobs --num-threads --workers --num-workers --n-process --cores --cpus "
        "--nproc"
    ),
    "--workers": (
        "-j --jobs --n-jobs --threads --n-threads --num-workers --n-process --processes --cores "
        "--cpus --nproc"
    ),
    "--beam": "-b --beam-size --beam-width",
    "--k-best": "-k --n-best --nbest --top-k --num-best",
    "--text": "--raw --raw-text --plain-text --tokenize",
    "--tokens": "--pretokenized --tokenize-pretokenized --tokenized",
    "--sentences": "--presegmented --ssplit --no-ssplit --tokenize-no-ssplit --sentence-per-line",
    "--tags": (
        "--tag --tagger --pos --postag --upos --lemma --lemmas --lemmatize --lemmatizer "
        "--morphology"
    ),
    "--device": "--gpu --use-gpu --gpu-id --cuda --no-cuda --cpu --use-cpu --no-gpu",
    "--int8": "--quantize --quantized",
    "--float32": "--fp32 --single-precision",
    "--probabilities": "--scores --confidence --probs",
    "--ranges": "--offsets --char-offsets",
    "--lexicon": "--dictionary --dict",
    "--on-error": "--ignore-errors --skip-errors --skip-invalid --errors --skip",
    "--host": "--address --bind",
    "--port": "-p",
    "--from": "--url --repository --repo",
    "--lang": "--language",
    "--json": "--as-json",
    "--color": "--colour",
    "--folder": "--dir --target --destination --output --output-dir --model-dir --save-dir",
    "--sizes": "--lengths",
    "--random-trees": "--random",
    "--max-requests": "--max-connections --limit-concurrency",
    "--root-path": "--prefix",
    "--by": "--group-by --groupby --per",
    "--confusion": "--confusion-matrix --matrix",
    "--model": "--model-path --model-dir --load",
}

# For arguments without a dash, the options that other toolkits have instead.
_PLACES = {
    "input file files pattern": (
        "--input --input-file --input-path --infile --in --file --files --text-file --source --data"
    ),
    "model": "--model --model-path --model-dir --model-file --model-name --load --checkpoint",
    "gold": "--gold --gold-file --reference --ref",
    "system": "--system --system-file --pred --prediction --predictions --predicted",
}

# Ordinary words, and options of other toolkits: these are not typos of the similar options here.
_ORDINARY = """--all --accuracy --batch --batch-size --bs --buckets --build --cache --columns
--config --conf --conllu --counts --csv --data --debug --dev --dir --download --encoding --epochs
--exclude-punct --export --feats --features --file --force --gold --half --html --ignore-punct
--input --las --learning-rate --length --list --log --lr --max-length --max-len --mode --no-lemmas
--no-progress --no-punct --overwrite --parse --parser --partial --path --pdf --pipeline --png
--port --print --processor --processors --progress --proj --punct --quiet --reverse --root --run
--schedule --seed --server --silent --sort --split --start --stats --step --steps --svg --target
--task --template --test --time --timeout --token --train --tree --trees --tsv --url --validate
--verbose --vertical --horizontal --vocab --weights --width"""
_CHOICE = re.compile(r"invalid choice: (.+?) \(choose from (.*)\)", re.DOTALL)


def _letters(option: str) -> str:
    return "".join(filter(str.isalnum, option.casefold()))


# Words that are meant as they are written: an option that resembles one is suggested only if it is
# nearly the same (_SURE).
_MEANT = {
    _letters(word)
    for words in (*_ELSEWHERE, *_ELSEWHERE.values(), _ORDINARY)
    for word in words.split()
}
_SURE = 0.9


class Arguments(argparse.ArgumentParser):
    """A parser that, after its error about an unknown option or choice,
    asks whether a similar one was meant.
    """

    _words: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Remember the words for error()."""
        self._words = sys.argv[1:] if args is None else [*args]
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Print usage and message, with the name that was meant, and exit with status 2.

        Argparse may complain about another option than the misspelt one: about a required option,
        which then seems to be missing.
        """
        hints = self._meant_options()
        if (match := _CHOICE.search(message)) is not None:
            message += did_you_mean(
                match[1].strip("'\""), [choice.strip("'\" ") for choice in match[2].split(",")]
            )
        if len(hints) == 1 and next(iter(hints)) in message:
            super().error(message + hints.popitem()[1])
        super().error("; ".join([message, *(f"{name}{hint}" for name, hint in hints.items())]))

    def _meant_options(self) -> dict[str, str]:
        """Return the hints for the options on the command line that this command does not have."""
        actions = [*self._all_actions()]
        options = [option for action in actions for option in action.option_strings]
        long_options = [option for option in options if option.startswith("--")]
        words = {
            word: option
            for option, others in _ELSEWHERE.items()
            if option in long_options
            for word in others.split()
        }
        named = {
            action.dest: str(action.metavar or action.dest)
            for action in actions
            if not action.option_strings
        }
        for dests, others in _PLACES.items():
            for dest in set(dests.split()) & named.keys():
                named |= {
                    _letters(word): named[dest]
                    for word in others.split()
                    if _letters(word) not in named
                }
        hints = {}
        for word in self._words[: [*self._words, "--"].index("--")]:
            name = word.partition("=")[0]
            # argparse takes the first letters of an option
            is_known = any(option.startswith(name) for option in options)
            # -ofile
            if (
                is_known
                or not name.startswith("-")
                or (name[:2] in options and f"-{name}" not in long_options)
            ):
                continue
            letters = _letters(name)
            places = [
                shown
                for dest, shown in named.items()
                if letters in (_letters(dest), _letters(dest).rstrip("s"))
            ]
            exact = [
                *dict.fromkeys(
                    option for other, option in words.items() if _letters(other) == letters
                )
            ]
            if exact and len(name) > 2:
                hints[name] = question(exact)
            elif places:
                hints[name] = f" ({places[0]} is given without {name})"
            elif len(name) > 2:
                near = (
                    nearest(name, long_options, least=_SURE)
                    if letters in _MEANT
                    else nearest(name, long_options, words)
                )
                hints[name] = question(near)
            else:
                hints[name] = question([words[name]] if name in words else [])
        return {name: hint for name, hint in hints.items() if hint}

    def _all_actions(self) -> Iterator[argparse.Action]:
        """Yield the arguments of this parser and of its subcommands;
        argparse has no public list of them.
        """
        for action in self._actions:
            yield action
            if isinstance(action.choices, dict):
                for parser in action.choices.values():
                    if isinstance(parser, Arguments):
                        yield from parser._all_actions()
