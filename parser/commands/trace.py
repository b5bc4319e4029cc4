"""Shows a computation step by step: optimal-step trace FILE [--model MODEL_DIR] [--sentence N]
[-o OUTPUT.html].

FILE is CoNLL-U. With --model, it shows how the parser parses the sentence, with the probabilities
of its classifier; if the sentence has gold heads (HEAD), also how many gold arcs can still be made
after each transition. Without --model, it shows a gold computation. If OUTPUT ends in .html, it is
a page.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import oracles
from oracles import Trees
from oracles.errors import OptimalStepError
from parser import transitions
from parser.beam_settings import is_greedy
from parser.commands.arguments import Arguments
from parser.commands.command_line import check_output
from parser.conllu.checks import DEPREL, FORM, HEAD, UPOS
from parser.conllu.files import STANDARD_STREAM, open_output
from parser.conllu.stream import RawSentence, read_sentences, sent_id
from parser.drawing.html import SCRIPT, page
from parser.reports.trace import as_html, as_text, drawn

if TYPE_CHECKING:
    from parser.reports.trace import GoldTree


def main(arguments: list[str] | None = None) -> None:
    """Write the steps."""
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE")
    parser.add_argument(
        "--model", type=Path, metavar="MODEL_DIR", help="a run's folder, or a model's"
    )
    parser.add_argument(
        "--sentence",
        default="1",
        metavar="N",
        help="number of the sentence, from 1 (default), or its sent_id",
    )
    parser.add_argument(
        "--system",
        choices=transitions.names(),
        help="transition system, without --model (default: arc_standard)",
    )
    parser.add_argument("--degree", type=int, help="degree of --system attardi")
    parser.add_argument("--oracle", help="default: the first oracle of the system")
    parser.add_argument("--strategy", help="strategy of the oracle: which computations count")
    parser.add_argument("-o", "--output", default=STANDARD_STREAM, help="default: standard output")
    args = parser.parse_args(arguments)
    if args.degree is not None and args.model is None and args.system != "attardi":
        parser.error("--degree is only for --system attardi; leave it out, or choose that system")
    if args.model is not None and (args.system or args.degree):
        parser.error("with --model, the model sets --system and --degree; leave them out")

    # compiled loops that --help does not need
    from parser.decoding.files.file_parsing import RawColumns
    from parser.model.model import FrozenModel
    from parser.model.packs import find_named
    from parser.reports.trace import GoldTree, gold_trace, model_trace

    check_output(args.output, args.file)
    sentence = _sentence(args.file, args.sentence)
    tagged = any(head != "_" for head in sentence.column(HEAD))
    gold = (
        GoldTree(sentence.heads(several_roots=True, partial=True), sentence.column(DEPREL))
        if tagged
        else None
    )
    if args.model is not None:
        model = FrozenModel.load(find_named(args.model))
        if not is_greedy(model.beam):
            print(
                "warning: these are the steps of greedy parsing, but this model parses with a beam",
                file=sys.stderr,
            )
        oracle = _oracle(args, model.system.name, model.system.options)
        _check_projective(oracle, gold, sentence)
        trace = model_trace(model, RawColumns(sentence), len(sentence), oracle, gold)
    elif gold is not None:
        relations = sorted({*gold.deprels, "root", "dep"})
        options = {} if args.degree is None else {"degree": args.degree}
        system = transitions.create(
            args.system or "arc_standard", len(relations), relations.index("root"), **options
        )
        oracle = _oracle(args, system.name, system.options)
        _check_projective(oracle, gold, sentence)
        trace = gold_trace(gold, relations, system, oracle)
    else:
        raise OptimalStepError(
            f"{sentence.place()}: no word has a HEAD, so there is no gold computation; "
            "give --model MODEL_DIR"
        )
    forms, tags = sentence.column(FORM), sentence.column(UPOS)
    tree = drawn(trace, forms, tags, gold)
    with open_output(args.output) as target:
        if args.output.endswith(".html"):
            target.write(
                page(f"{args.file}, sentence {sentence.number}", as_html(trace, tree), SCRIPT)
            )
        else:
            target.write(as_text(trace, forms))


def _oracle(args: argparse.Namespace, system: str, options: dict[str, int]) -> oracles.Oracle:
    names = transitions.system_class(system).oracles
    if args.oracle is not None and args.oracle not in names:
        raise OptimalStepError(
            f"--oracle {args.oracle} is not for system {system}; known: {', '.join(names)}"
        )
    return oracles.create(args.oracle or names[0], args.strategy, **options)


def _check_projective(oracle: oracles.Oracle, gold: GoldTree | None, sentence: RawSentence) -> None:
    if (
        gold is None
        or not oracle.needs_projective_gold
        or Trees.from_heads([gold.heads], partial=True).projective.all()
    ):
        return
    raise OptimalStepError(
        f"{sentence.place()}: oracle {oracle.name} needs a projective tree, and this tree is not "
        "projective; give "
        f"{' or '.join(f'--oracle {name}' for name in oracle.alternatives) or 'another --system'}"
    )


def _sentence(path: str, wanted: str) -> RawSentence:
    n = 0
    for sentence in read_sentences(path):
        n += len(sentence) > 0
        if len(sentence) and wanted in (str(sentence.number), sent_id(sentence.lines)):
            return sentence
    if not n:
        raise OptimalStepError(
            f"{path}: there is no sentence in this file, so there is nothing to trace"
        )
    raise OptimalStepError(
        f"{path}: there is no sentence {wanted}; give a number from 1 to {n}, or a sent_id"
    )
