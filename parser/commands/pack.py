"""Packs a model into one file to hand out: optimal-step pack RUN -o hu-szeged-2.2.zip [--name hu]
[--dev FILE].

The file holds what is in the model's folder: weights, vocabularies, tokenizer and segmenter, and
the card, which names what it was trained on, with sums and licences; no checkpoints. The network's
weights are rounded to 11, 13 or 16 bits: the fewest with which at most 1 in 100 lines of the dev
part (that of the run, or --dev FILE) are parsed differently. Else they have 32.

index.json beside it lists the packs of the folder by name;
optimal-step get NAME --from FOLDER_OR_URL reads it.
"""

from __future__ import annotations

import argparse
import io
import shutil
import sys
import zipfile
from collections.abc import Sequence
from operator import ne
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from safetensors.numpy import load_file, save

from oracles.errors import OptimalStepError
from parser.commands.arguments import Arguments
from parser.commands.command_line import check_output
from parser.conllu.files import open_input
from parser.data.parts import PARTS
from parser.decoding.files.file_parsing import parse_file
from parser.decoding.files.missing_columns import tags_read
from parser.decoding.parse_options import OnError, ParseOptions, predicted_tags
from parser.decoding.predictor import Predictor
from parser.inference.weights import rounded
from parser.kernels import load_kernels_directly
from parser.model.loading import load
from parser.model.model import FrozenModel
from parser.model.packs import find_named
from parser.model_folder import (
    CARD,
    INDEX,
    MODEL,
    TENSORS,
    VOCABULARIES,
    errors_named,
    has_tokenizer,
    plain_name,
    read_json,
)
from parser.storage import locked, replacing, sha256_of, write_json

# Bits that are tried for the fraction of a 16-bit number, which has 10. The others are zero and
# compress well: with 5 a pack is a third smaller. On dev of English-EWT, LAS is then 0.02 lower,
# and 0.28 % of the words have another head or relation.
_FRACTIONS = (5, 7, 10)
# Share of the lines of dev that may differ.
_MAY_DIFFER = 0.01

# The date of all files in a pack, so that a model always gives the same bytes:
# the earliest that zip can hold.
_DATE = (1980, 1, 1, 0, 0, 0)


def main() -> None:
    """Pack the model that the command line names."""
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN", help="a run's folder, or a model's")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.zip")
    parser.add_argument(
        "--name",
        help="the name to fetch it by (default: the beginning of the file's name, up to a hyphen)",
    )
    parser.add_argument(
        "--dev",
        type=Path,
        metavar="FILE",
        help="CoNLL-U to test rounding on (default: the run's dev part)",
    )
    args = parser.parse_args()
    name = plain_name(args.name or args.output.stem.partition("-")[0])
    model = find_named(args.run)
    if not (model / CARD).is_file():
        raise OptimalStepError(
            f"{model / CARD}: there is no card to say what the model was trained on; "
            "train it with this version"
        )
    parts = [name for kind in PARTS for name in kind.packed(model)]
    dev, index = args.dev or _dev_of(model), args.output.parent / INDEX
    check_output(args.output, dev)
    if args.output.is_dir():
        raise OptimalStepError(f"{args.output}: this is a folder; name the file of the pack in it")
    if args.output.suffix != ".zip":
        raise OptimalStepError(
            f"{args.output}: the name of a pack ends in .zip; give -o {args.output}.zip"
        )
    _listed(index, name, args.output.name)
    load_kernels_directly()
    weights, said = None, "32 bits"
    if dev is None:
        said += "; give --dev FILE to try 16"
    elif isinstance(load(model), FrozenModel):  # a linear model has no such weights
        weights, said = _fewest_bits(model, dev)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    with replacing(args.output) as temporary:
        _write(model, temporary, weights, parts)
    entry = {
        "file": args.output.name,
        "sha256": sha256_of(args.output),
        "bytes": args.output.stat().st_size,
    }
    with locked(index.with_name(".lock"), wait=True):  # other packs may have joined
        write_json(
            index, dict(sorted((_listed(index, name, args.output.name) | {name: entry}).items()))
        )
    print(
        f"{args.output}: {entry['bytes'] / 1e6:.1f} MB, weights in {said}; listed as {name} in "
        f"{index}",
        file=sys.stderr,
    )
    if not has_tokenizer(model) and not tags_read(read_json(model, VOCABULARIES)["attributes"]):
        told = (
            "it holds no tokenizer, so it parses CoNLL-U but no raw text; "
            "train the model with tokenizer=characters for that"
        )
        print(f"{args.output}: {told}", file=sys.stderr)


def _listed(index: Path, name: str, file: str) -> dict[str, Any]:
    """Return the entries of an index that stay when a file is listed under a name.

    Raises:
        OptimalStepError: the name belongs to another pack, or the file to another name;
            or the index is damaged.
    """
    listed = read_json(index.parent, index.name) if index.exists() else {}
    with errors_named(index):
        packs = {other: index.parent / entry["file"] for other, entry in listed.items()}
    for other, pack in packs.items():
        if (other == name) != (pack.name == file) and pack.exists():
            raise OptimalStepError(
                f"{index} lists {pack.name} as {other}; give another --name, another -o, "
                f"or remove {pack}"
            )
    return {other: entry for other, entry in listed.items() if packs[other].name != file}


def _dev_of(model: Path) -> Path | None:
    """Return the dev part of the run that the model's folder is in,
    if it is one file that is still there.
    """
    noted = model.parent / ".hydra" / "config.yaml"
    if model.name != MODEL or not noted.is_file():
        return None
    from omegaconf import OmegaConf

    try:
        path: Any = OmegaConf.load(noted).treebank.get("dev")
    except Exception as error:
        # a file that people may have edited: YAML and OmegaConf raise errors of many classes
        said = " ".join(str(error).split())
        raise OptimalStepError(
            f"{noted}: this file cannot be read ({said}); correct it, or give --dev FILE"
        ) from error
    return Path(path) if isinstance(path, str) and Path(path).is_file() else None


def _fewest_bits(model: Path, dev: Path) -> tuple[bytes | None, str]:
    """Return the weights' file with the fewest bits that dev allows, None to keep the model's;
    and a message about it.
    """
    before, tensors = _parsed(model, dev).splitlines(), load_file(model / TENSORS)
    with TemporaryDirectory() as folder:
        shutil.copytree(model, folder, dirs_exist_ok=True)
        for fraction in _FRACTIONS:
            weights = save({name: rounded(tensor, fraction) for name, tensor in tensors.items()})
            (Path(folder) / TENSORS).write_bytes(weights)
            after = _parsed(Path(folder), dev).splitlines()
            differing = sum(map(ne, before, after)) / max(len(before), 1)
            if differing <= _MAY_DIFFER:
                return (
                    weights,
                    f"{fraction + 6} bits, by which {100 * differing:.2f} % of dev's lines differ",
                )
    return None, f"32 bits; with 16, {100 * differing:.2f} % of dev's lines would differ"


def _parsed(folder: Path, file: Path) -> bytes:
    model, written = load(folder), io.BytesIO()
    # Leave out the sentences that training left out.
    options = ParseOptions(
        on_error=OnError.SKIP, allow_missing_columns=True, tags=predicted_tags(model)
    )
    with open_input(file) as stream:
        parse_file(Predictor(model, options), stream, written, str(file))
    return written.getvalue()


def _write(model: Path, target: Path, weights: bytes | None, parts: Sequence[str]) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_LZMA) as pack:
        for part in sorted(
            path for path in model.iterdir() if path.is_file() and not path.name.startswith(".")
        ):
            content = weights if weights and part.name == TENSORS else part.read_bytes()
            pack.writestr(zipfile.ZipInfo(part.name, _DATE), content, zipfile.ZIP_LZMA)
        for name in parts:
            pack.writestr(
                zipfile.ZipInfo(name, _DATE), (model / name).read_bytes(), zipfile.ZIP_LZMA
            )
