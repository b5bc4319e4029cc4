"""Packs a model into one file to distribute: optimal-step pack RUN -o hu-szeged-2.2.zip [--name hu]
[--dev FILE].

The file holds what is in the model's folder: weights, vocabularies, tokenizer and segmenter, and
the card, which names what it was trained on, with sums and licences; no checkpoints. The network's
weights are rounded to 11, 13 or 16 bits: the fewest with which at most 1 in 100 lines of the dev
part (that of the run, or --dev FILE) is parsed differently. Otherwise they have 32.

index.json beside it lists the packs of the folder by name;
optimal-step get NAME --from FOLDER_OR_URL reads it.
"""

from __future__ import annotations

import argparse
import io
import shutil
import sys
import zipfile
from collections.abc import Collection, Mapping, Sequence
from operator import ne
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from safetensors.numpy import load_file, save

from oracles.errors import OptimalStepError, did_you_mean
from parser.commands.arguments import Arguments
from parser.commands.command_line import check_output
from parser.conllu.files import open_input
from parser.data.attributes import TREEBANK
from parser.data.parts import PARTS
from parser.decoding.files.file_parsing import parse_file
from parser.decoding.files.missing_columns import tags_read
from parser.decoding.parse_options import OnError, ParseOptions, predicted_tags
from parser.decoding.predictor import Predictor
from parser.inference.weights import rounded
from parser.kernels import load_kernels_directly
from parser.model.loading import for_treebank, load
from parser.model.model import FrozenModel
from parser.model.packs import AS_TREEBANK, find_named
from parser.model_folder import (
    CARD,
    INDEX,
    MODEL,
    TENSORS,
    TEXT,
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
        action="append",
        metavar="NAME",
        help="the name to fetch it by (default: the beginning of the file's name, up to a hyphen); "
        "for a model of several treebanks, --name NAME=TREEBANK for each: by that name, input is "
        "parsed as of this treebank",
    )
    parser.add_argument(
        "--dev",
        action="append",
        metavar="FILE",
        help="CoNLL-U to test rounding on (default: the run's dev part); for a model of several "
        "treebanks, --dev TREEBANK=FILE for each",
    )
    args = parser.parse_args()
    model = find_named(args.run)
    names = _names(args.name or [args.output.stem.partition("-")[0]], model)
    if not (model / CARD).is_file():
        raise OptimalStepError(
            f"{model / CARD}: there is no card to say what the model was trained on; "
            "train it with this version"
        )
    parts = [name for kind in PARTS for name in kind.packed(model)]
    parts += [file.relative_to(model).as_posix() for file in sorted((model / TEXT).glob("*/*"))]
    dev = _named_dev(args.dev, model) if args.dev else _dev_of(model)
    index = args.output.parent / INDEX
    check_output(args.output, *(file for file, _ in dev))
    if args.output.is_dir():
        raise OptimalStepError(f"{args.output}: this is a folder; name the file of the pack in it")
    if args.output.suffix != ".zip":
        raise OptimalStepError(
            f"{args.output}: the name of a pack ends in .zip; give -o {args.output}.zip"
        )
    _listed(index, names, args.output.name)
    load_kernels_directly()
    weights, said = None, "32 bits"
    if not dev:
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
    with locked(index.with_name(".lock"), wait=True):  # other processes may have added packs
        listed = _listed(index, names, args.output.name)
        for name, treebank in names.items():
            listed[name] = entry | ({} if treebank is None else {AS_TREEBANK: treebank})
        write_json(index, dict(sorted(listed.items())))
    print(
        f"{args.output}: {entry['bytes'] / 1e6:.1f} MB, weights in {said}; listed as "
        f"{', '.join(names)} in {index}",
        file=sys.stderr,
    )
    if not has_tokenizer(model) and not tags_read(read_json(model, VOCABULARIES)["attributes"]):
        told = (
            "it holds no tokenizer, so it parses CoNLL-U but no raw text; "
            "train the model with tokenizer=characters for that"
        )
        print(f"{args.output}: {told}", file=sys.stderr)


def _names(given: Sequence[str], model: Path) -> dict[str, str | None]:
    """Return the names of a pack, and the treebank that each stands for, if any.

    Raises:
        OptimalStepError: a name is not a plain name, or the model does not know the treebank.
    """
    names: dict[str, str | None] = {}
    known = _treebanks(model)
    for one in given:
        name, has_treebank, treebank = one.partition("=")
        if has_treebank and treebank not in known:
            raise OptimalStepError(
                f"--name {one}: the model was not trained on a treebank {treebank!r}"
                f"{did_you_mean(treebank, known)}; it knows {', '.join(known) or 'none by name'}"
            )
        names[plain_name(name)] = treebank if has_treebank else None
    return names


def _treebanks(model: Path) -> list[str]:
    """Return the names of the treebanks of a model that tells them apart."""
    return [*read_json(model, VOCABULARIES).get("attributes", {}).get(TREEBANK, [])]


def _listed(index: Path, names: Collection[str], file: str) -> dict[str, Any]:
    """Return the entries of an index that stay when a file is listed under its names.

    Raises:
        OptimalStepError: a name belongs to another pack, or the file to another name;
            or the index is damaged.
    """
    listed = read_json(index.parent, index.name) if index.exists() else {}
    with errors_named(index):
        packs = {other: index.parent / entry["file"] for other, entry in listed.items()}
    for other, pack in packs.items():
        if (other in names) != (pack.name == file) and pack.exists():
            raise OptimalStepError(
                f"{index} lists {pack.name} as {other}; give another --name, another -o, "
                f"or remove {pack}"
            )
    return {other: entry for other, entry in listed.items() if packs[other].name != file}


# Files of a dev part, and the treebank that each belongs to if the model knows several.
_Dev = Sequence[tuple[Path, str | None]]


def _named_dev(given: Sequence[str], model: Path) -> _Dev:
    """Return the files that ``--dev`` names."""
    known = _treebanks(model)
    named = [one.partition("=") for one in given]
    return [
        (Path(file), treebank) if is_named and treebank in known else (Path(one), None)
        for one, (treebank, is_named, file) in zip(given, named, strict=True)
    ]


def _dev_of(model: Path) -> _Dev:
    """Return the dev part of the run that the model's folder is in, if it is still there: one file,
    or one for each of several treebanks.
    """
    noted = model.parent / ".hydra" / "config.yaml"
    if model.name != MODEL or not noted.is_file():
        return []
    from omegaconf import OmegaConf

    try:
        path: Any = OmegaConf.load(noted).treebank.get("dev")
    except Exception as error:
        # a file that people may have edited: YAML and OmegaConf raise errors of many classes
        said = " ".join(str(error).split())
        raise OptimalStepError(
            f"{noted}: this file cannot be read ({said}); correct it, or give --dev FILE"
        ) from error
    known = _treebanks(model)
    named = path.items() if isinstance(path, Mapping) else [(None, path)]
    return [
        (Path(file), treebank if treebank in known else None)
        for treebank, file in named
        if isinstance(file, str) and Path(file).is_file()
    ]


def _fewest_bits(model: Path, dev: _Dev) -> tuple[bytes | None, str]:
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


def _parsed(folder: Path, dev: _Dev) -> bytes:
    model, written = load(folder), io.BytesIO()
    # Leave out the sentences that training left out.
    options = ParseOptions(
        on_error=OnError.SKIP, allow_missing_columns=True, tags=predicted_tags(model)
    )
    for file, treebank in dev:
        parses_as = model if treebank is None else for_treebank(model, treebank)
        with open_input(file) as stream:
            parse_file(Predictor(parses_as, options), stream, written, str(file))
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
