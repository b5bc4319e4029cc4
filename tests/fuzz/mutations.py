"""Changes at random: of bytes as they may stand in CoNLL-U, of JSON, and of safetensors files. All
follow from a generator.
"""

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

# What means something in CoNLL-U, and what a reader may stumble over.
_PIECES = [
    *[
        b"\t",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b" ",
        b"#",
        b"_",
        b"-",
        b".",
        b"0",
        b"1",
        b"2",
        b"01",
        b"1-2",
        b"2-1",
        b"1.1",
    ],
    *[
        b"0.1",
        b"\xef\xbb\xbf",
        b"\0",
        b"\xff",
        b"\xc3",
        b"\xe2\x80\xa8",
        b"\x85",
        b"\x0b",
        b"\x1c",
        b"# sent_id = x\n",
    ],
    *[
        b" #\n",
        b"  ",
        b"9" * 5000,
        b"1-" + b"9" * 20,
        b"\t" * 9,
        b"root",
        b"|",
        b"=",
        b"a" * 300,
        b"A=b|C=d",
    ],
    *["\u0661".encode(), b"-1", b"1e1"],
]

# What stands in no file of ours, or in another place.
VALUES: list[Any] = [
    *[
        0,
        1,
        -1,
        2,
        3,
        5,
        2**31,
        2**63,
        10**6,
        10**30,
        0.5,
        1.0,
        -0.1,
        1e308,
        float("inf"),
        float("nan"),
        True,
        False,
        None,
    ],
    *[
        "",
        "x",
        "root",
        "s0:form",
        "b9.l1:deprel",
        "a\tb",
        "\ud800",
        "\0",
        "x" * 1000,
        [],
        {},
        [[]],
        [1],
        ["root"],
        {"size": 1},
    ],
]


def mutate_bytes(content: bytes, rng: Random, pieces: Sequence[bytes] = _PIECES) -> bytes:
    """Return the content with a few changes, each of a short stretch, or of the order of lines;
    ``pieces`` are what is put in.
    """
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        begin = rng.randint(0, len(content))
        end = min(len(content), begin + rng.choice([0, 1, 1, 2, 5, 50]))
        kind = rng.randrange(6)
        if kind == 0:
            content = content[:begin] + rng.choice(pieces) + content[end:]
        elif kind == 1:
            content = content[:begin] + content[end:]
        elif kind == 2:
            content = content[:end] + content[begin:end] * rng.randint(1, 3) + content[end:]
        elif kind == 3 and begin < len(content):
            content = (
                content[:begin]
                + bytes([content[begin] ^ 1 << rng.randrange(8)])
                + content[begin + 1 :]
            )
        elif kind == 4:
            lines = content.splitlines(keepends=True)
            first = rng.randint(0, len(lines))
            content = b"".join([*rng.sample(lines[:first], first), *lines[first:]])
        else:
            content = _mutate_column(content, rng, pieces)
    return content


def _mutate_column(content: bytes, rng: Random, pieces: Sequence[bytes]) -> bytes:
    lines = content.split(b"\n")
    number = rng.randrange(len(lines))
    columns = lines[number].split(b"\t")
    columns[rng.randrange(len(columns))] = rng.choice([*pieces, *columns])
    lines[number] = b"\t".join(columns)
    return b"\n".join(lines)


def mutate_model(folder: Path, rng: Random) -> None:
    """Change a part of a model's folder, or two."""
    for _ in range(rng.choice([1, 1, 2])):
        path = rng.choice(sorted(folder.iterdir()))
        if rng.random() < 0.1:
            path.write_bytes(mutate_bytes(path.read_bytes(), rng))
        elif path.suffix == ".json":
            _mutate_json(path, rng)
        else:
            mutate_tensors(path, rng)


def _mutate_json(path: Path, rng: Random) -> None:
    try:
        value = json.loads(path.read_bytes())
    except ValueError:
        return
    for _ in range(rng.choice([1, 1, 2, 4])):
        value = changed_value(value, rng)
    path.write_text(json.dumps(value))


def changed_value(value: Any, rng: Random) -> Any:
    """Return the value with a change somewhere in it."""
    if not isinstance(value, (dict, list)) or not value or rng.random() < 0.05:
        return copy.deepcopy(rng.choice(VALUES))
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = rng.choice(keys)
    kind = rng.randrange(8)
    if kind == 0:
        del value[key]
    elif kind == 1:
        value[key] = copy.deepcopy(value[rng.choice(keys)])
    elif kind == 2 and isinstance(value, list):
        value.append(copy.deepcopy(rng.choice([*value, *VALUES])))
    elif kind == 2 and isinstance(value, dict):
        value[rng.choice(["encoder", "form", "deprel", "token", "degree", "x"])] = copy.deepcopy(
            rng.choice(VALUES)
        )
    else:
        value[key] = changed_value(value[key], rng)
    return value


def mutate_tensors(path: Path, rng: Random) -> None:
    """Change one of the tensors of a safetensors file; its metadata are lost."""
    try:
        tensors = load_file(path)
    except SafetensorError:
        return
    if not tensors:
        return
    name = rng.choice(sorted(tensors))
    tensor = tensors[name]
    kind = rng.randrange(6)
    if kind == 0:
        del tensors[name]
    elif kind == 1:
        tensors[rng.choice([*tensors, "x"])] = tensor.clone()
    elif kind == 2:
        tensors[name] = torch.zeros(
            rng.choice(
                [tensor.shape[::-1], (*tensor.shape, 1), (tensor.numel(),), (0,), tensor.shape[:-1]]
            )
        )
    elif kind == 3:
        tensors[name] = tensor.to(
            rng.choice([torch.float64, torch.float16, torch.int64, torch.bool])
        )
    else:
        changed = tensor.flatten().clone()
        changed[rng.randrange(max(1, len(changed))) :][:1] = rng.choice(
            [float("nan"), float("inf"), 1e38, -1e38, 0.0]
        )
        tensors[name] = changed.reshape(tensor.shape)
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)
