"""Gives the folder of a model a tokenizer, so that it parses text: optimal-step train_tokenizer RUN
--train FILE [--dev FILE].

It takes seconds (docs/text.md); the parser stays as it is. A segmenter is trained as well, which
takes a minute or two, and is kept if its sentences on --dev are better. The folder's previous
tokenizer and segmenter are removed. Training with tokenizer=characters, the default of recipe=text
and recipe=fast, does the same.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from oracles.errors import OptimalStepError, did_you_mean
from parser.commands.arguments import Arguments
from parser.data.attributes import TREEBANK
from parser.decoding.files.missing_columns import tags_read
from parser.model_folder import (
    TOKENIZER,
    UDPIPE_TOKENIZER,
    VOCABULARIES,
    find_model,
    read_json,
    treebank_text_folder,
)
from parser.settings.groups import SegmenterName


def main() -> None:
    """Train the tokenizer of the run that the command line names."""
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN", help="a run's folder, or a model's")
    parser.add_argument(
        "--train",
        type=Path,
        nargs="+",
        required=True,
        metavar="FILE",
        help="CoNLL-U to learn from",
    )
    parser.add_argument(
        "--dev",
        type=Path,
        metavar="FILE",
        help="CoNLL-U to choose on (default: nothing is chosen)",
    )
    parser.add_argument(
        "--segmenter",
        type=SegmenterName,
        choices=[*SegmenterName],
        default=SegmenterName.auto,
        help="like the setting segmenter= (default: auto, which needs --dev)",
    )
    parser.add_argument(
        "--language",
        metavar="CODE",
        help="the language whose known abbreviations are used (default: as the files are named)",
    )
    parser.add_argument(
        "--treebank",
        metavar="NAME",
        help="in a model of several treebanks, the one whose text it splits (default: those that "
        "have no tokenizer of their own)",
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="the seed of the training (default: 1)"
    )
    args = parser.parse_args()
    if not args.run.is_dir():
        raise OptimalStepError(
            f"{args.run}: there is no folder of this name; a shipped or fetched model is not "
            "changed, so copy its folder first"
        )
    if args.seed < 0:
        raise OptimalStepError(f"--seed {args.seed} is negative; give 0 or more")
    folder = find_model(args.run)
    attributes = read_json(folder, VOCABULARIES)["attributes"]
    target = folder
    if args.treebank is not None:
        if args.treebank not in (known := attributes.get(TREEBANK, [])):
            fix = f"it knows {', '.join(known)}" if known else "leave --treebank out"
            raise OptimalStepError(
                f"{args.run}: the model was not trained on a treebank {args.treebank!r}"
                f"{did_you_mean(args.treebank, known)}; {fix}"
            )
        target = treebank_text_folder(folder, args.treebank)
    logging.basicConfig(level=logging.INFO, format="%(message)s")

    import torch

    from parser.data.treebank import language_of
    from parser.training.text import write_splitting

    torch.set_num_threads(1)
    language = args.language or language_of([*map(str, args.train)])
    write_splitting(
        args.train, args.dev, target, args.seed, segmenter=args.segmenter, language=language
    )
    (folder / UDPIPE_TOKENIZER).unlink(missing_ok=True)
    print(f"{target / TOKENIZER}: written")
    if tags := tags_read(attributes):
        print(
            f"this model reads {tags}, which text does not have; it parses text with "
            "--allow-missing-columns only, and worse"
        )
