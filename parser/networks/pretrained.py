"""A pretrained encoder as input of another one: its layers mixed by learned weights (Peters et al. 2018, Section 3.2).

The vector of a word in a layer is the mean of those of its pieces, without its mean over the numbers and with a variance of 1,
so that layers of any scale can be mixed and kept in 16 bits. The root has that of the special token that a sentence begins
with. A sentence that is longer than the encoder's window is read in windows that overlap by half, and the vector of a word is
from the one in which it stands further from the ends.

On a CPU each sentence is read by itself and by one thread, unless gradients are needed: what torch computes depends in its last
digits on what is computed along and on the number of threads, and a parse should not.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from tqdm import tqdm

from parser import batch_sizes
from parser.data.parts.pretrained import CONFIG, Pieces, PretrainedError, files_of, package, sums_of
from parser.data.parts.subwords import TOKENIZER
from parser.data.sentences import Sentences
from parser.data.vocabulary import N_RESERVED
from parser.model_folder import fetched_models
from parser.network_spec import PretrainedSpec
from parser.storage import remove_old_temporaries, replacing

TRANSFORMER = "tokens.pretrained.transformer."
"""What the names of the encoder's weights in a classifier begin with, where they are trained."""

# Of encoders that know places relative to one another alone, pieces that are read at a time.
_USUAL_WINDOW = 512
# Counts up when the same encoder, asked for the same layers, gives other vectors, so that none of before are read.
_VECTORS = 1


class _Window(NamedTuple):
    """Words of a sentence that are read together.

    Attributes:
        first, last: the words, up to before the last.
        kept, end: those whose vectors are from here.
    """

    first: int
    last: int
    kept: int
    end: int


def windows(sizes: np.ndarray, room: int) -> list[_Window]:
    """Windows over the words of a sentence.

    Args:
        sizes: int[words], their pieces, each at most ``room``.
        room: pieces of a window.
    """
    ends, n = np.cumsum(sizes), len(sizes)
    spans: list[tuple[int, int]] = []
    first = 0
    while True:
        before = int(ends[first] - sizes[first]) if n else 0
        last = int(np.searchsorted(ends, before + room, side="right"))
        if not spans or last > spans[-1][1]:
            spans.append((first, last))
        if last >= n:
            break
        middle = before + (int(ends[last - 1]) - before) // 2
        first = max(first + 1, int(np.searchsorted(ends, middle, side="right")))
    borders = [0, *((after[0] + one[1]) // 2 for one, after in pairwise(spans)), n]
    return [_Window(*span, *kept) for span, kept in zip(spans, pairwise(borders), strict=True)]


class PretrainedEncoder:
    """Reads sentences with a pretrained encoder; threads may do so side by side unless it is being trained.

    Args:
        pieces: how forms are segmented, and where the encoder is.
        layers: how many of its layers are asked for.

    Attributes:
        pieces, layers: as given.
        transformer: the encoder, a module of transformers.
        known: by what is read of a sentence, float16[tokens, layers, width], vectors that need not be computed; see key().

    Raises:
        PretrainedError: it cannot be loaded, or does not fit.
    """

    def __init__(self, pieces: Pieces, layers: int) -> None:
        self.pieces, self.layers = pieces, layers
        self.known: dict[bytes, np.ndarray] = {}
        self.transformer, room = _load(pieces)
        self._room = room - len(pieces.before) - len(pieces.after)
        config = self.transformer.config
        if self._room < pieces.rows:
            raise PretrainedError(f"{pieces.folder}: it reads only {room} pieces at a time; take another pretrained encoder")
        if len(pieces) - N_RESERVED > self.transformer.get_input_embeddings().weight.shape[0]:
            raise PretrainedError(
                f"{pieces.folder}: {TOKENIZER} has more pieces than there are vectors; do they belong together?"
            )
        if (most := 1 + config.num_hidden_layers) < layers:
            raise PretrainedError(
                f"{pieces.folder}: it has {most} layers, with that of the pieces, and the model reads {layers}"
            )

    @property
    def width(self) -> int:
        """Length of its vectors."""
        return int(self.transformer.config.hidden_size)

    def vectors(self, pieces: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """float16[tokens, layers, width], known or computed now.

        Args:
            pieces: int32[longest, tokens], see Pieces.encode().
            offsets: int64[sentences + 1], where sentences begin among the tokens.
        """
        found = np.empty((pieces.shape[1], self.layers, self.width), np.float16)
        new = []
        for number, (start, end) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
            known = self.known.get(key(pieces[:, start:end])) if self.known else None
            if known is None:
                new.append(number)
            else:
                found[start:end] = known
        for some in self._together(new):
            places = np.concatenate([np.arange(offsets[number], offsets[number + 1]) for number in some])
            lengths = np.diff(offsets)[some]
            with torch.no_grad(), one_thread(self._device):
                found[places] = self.compute(torch.from_numpy(pieces[:, places]), lengths).to(torch.float16).numpy(force=True)
        return found

    def _together(self, numbers: list[int]) -> list[list[int]]:
        size = 1 if self._device.type == "cpu" else batch_sizes.WINDOWS_PER_BATCH
        return [numbers[first : first + size] for first in range(0, len(numbers), size)]

    @property
    def _device(self) -> torch.device:
        return cast(torch.device, self.transformer.device)

    def compute(self, pieces: Tensor, lengths: np.ndarray) -> Tensor:
        """float32[tokens, layers, width], on the device of the encoder.

        Args:
            pieces: int32[longest, tokens].
            lengths: int[sentences], tokens of each, the root counted.
        """
        columns = pieces.t().cpu().numpy()
        is_piece = columns >= N_RESERVED
        numbers, sizes = columns[is_piece] - N_RESERVED, is_piece.sum(axis=1)
        before, after = self.pieces.before, self.pieces.after
        read: list[list[int]] = []
        # Of all that is read, which places count, and whose they are.
        taken: list[np.ndarray] = []
        tokens: list[np.ndarray] = []
        ends = np.cumsum(sizes)
        for root, length in zip(np.cumsum(lengths) - lengths, lengths, strict=True):
            of_words = sizes[root + 1 : root + length]
            bounds = ends[root] + np.concatenate([[0], np.cumsum(of_words)])
            for number, window in enumerate(windows(of_words, self._room)):
                begin, end = int(bounds[window.first]), int(bounds[window.last])
                kept, kept_end = int(bounds[window.kept]), int(bounds[window.end])
                places = len(before) + np.arange(kept - begin, kept_end - begin)
                words = np.repeat(np.arange(window.kept, window.end), of_words[window.kept : window.end])
                if number == 0 and before:
                    places, words = np.concatenate([[0], places]), np.concatenate([[-1], words])
                read.append([*before, *numbers[begin:end].tolist(), *after])
                taken.append(places)
                tokens.append(root + 1 + words)
        hidden = self._hidden(read)
        longest = hidden.shape[1]
        flat = torch.from_numpy(np.concatenate([row * longest + places for row, places in enumerate(taken)])).to(hidden.device)
        index = np.concatenate(tokens)
        counts = np.maximum(np.bincount(index, minlength=len(columns)), 1)
        sums = hidden.new_zeros(len(columns), *hidden.shape[2:])
        sums = sums.index_add(0, torch.from_numpy(index).to(hidden.device), hidden.flatten(0, 1)[flat])
        means = sums / torch.from_numpy(counts).to(hidden.device, torch.float32)[:, None, None]
        return nn.functional.layer_norm(means, means.shape[-1:])

    def _hidden(self, read: Sequence[list[int]]) -> Tensor:
        """float32[windows, longest, layers, width]: what the layers make of some windows."""
        longest = max(1, *map(len, read)) if read else 1
        ids = torch.zeros(len(read), longest, dtype=torch.int64)
        mask = torch.zeros(len(read), longest, dtype=torch.int64)
        for row, of_window in enumerate(read):
            ids[row, : len(of_window)] = torch.tensor(of_window, dtype=torch.int64)
            mask[row, : len(of_window)] = 1
        parts = (one.to(self._device).split(batch_sizes.WINDOWS_PER_BATCH) for one in (ids, mask))
        found = []
        for some, of_some in zip(*parts, strict=True):
            made = self.transformer(input_ids=some, attention_mask=of_some, output_hidden_states=True)
            found.append(torch.stack(made.hidden_states[-self.layers :], dim=2).float())
        return torch.cat(found)

    def save(self, folder: Path) -> dict[str, str]:
        """Writes the encoder, with its weights as they are now; the sums of its files."""
        folder.mkdir()
        for name in (CONFIG, TOKENIZER):
            (folder / name).write_bytes((self.pieces.folder / name).read_bytes())
        within = "encoder." if self.transformer.config.is_encoder_decoder else ""
        tensors = {f"{within}{name}": tensor.detach().cpu().clone() for name, tensor in self.transformer.state_dict().items()}
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return sums_of(folder)


class PretrainedInput(nn.Module):
    """What goes into an encoder of the vectors of a pretrained one: a mixture of its layers, in a smaller space.

    Args:
        spec: of the mixture.
        encoder: the pretrained encoder.

    Attributes:
        spec, encoder: as given.
        transformer: its module, where it is trained.
    """

    def __init__(self, spec: PretrainedSpec, encoder: PretrainedEncoder) -> None:
        super().__init__()
        self.spec, self.encoder = spec, encoder
        self.mix = nn.Parameter(torch.zeros(spec.layers))
        self.scale = nn.Parameter(torch.ones(1))
        self.projection = nn.Linear(spec.width, spec.size)
        self.transformer = encoder.transformer if spec.tuned else None

    def _apply(self, function: Callable[[Tensor], Tensor], recurse: bool = True) -> PretrainedInput:
        """What ``to(device)`` comes to: the pretrained encoder moves along, also where it is not trained, and so no part."""
        if self.transformer is None:
            self.encoder.transformer._apply(function, recurse)
        return super()._apply(function, recurse)

    def forward(self, pieces: Tensor, lengths: np.ndarray, dropping: bool = False) -> Tensor:
        """float32[tokens, size] from int32[tokens, longest]; see PretrainedEncoder.compute()."""
        if self.transformer is not None and torch.is_grad_enabled():
            self.transformer.train(dropping)
            found = self.encoder.compute(pieces.t(), lengths)
            self.transformer.eval()
        else:
            offsets = np.concatenate([[0], np.cumsum(lengths)])
            by_layer = self.encoder.vectors(pieces.t().cpu().numpy(), offsets)
            found = torch.from_numpy(by_layer).to(self.mix.device, torch.float32)
        mixed = (found * torch.softmax(self.mix, 0)[:, None]).sum(dim=1) * self.scale
        return cast(Tensor, self.projection(mixed))


def vector_cache() -> Path:
    """Return the folder of the vectors of training sentences, for all runs of the user; its files can always be deleted."""
    return fetched_models("the cache of vectors, without pretrained.cache=FOLDER,").with_name("optimal-step-pretrained")


def key(pieces: np.ndarray) -> bytes:
    """What tells sentences (int32[longest, tokens]) from one another."""
    return hashlib.sha256(np.ascontiguousarray(pieces).tobytes()).digest()


def cache_vectors(encoder: PretrainedEncoder, parts: Sequence[Sentences], folder: Path) -> None:
    """Makes the vectors of the sentences known, which are computed unless a file of the folder has them.

    A file is called by the sums of the encoder, the layers and the sentences, and by what else decides on the last digits.

    Args:
        encoder: the encoder.
        parts: sentences, of whose values only the pieces are there; each has a file of its own.
        folder: of the files; made if it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    remove_old_temporaries(folder)
    for part in parts:
        pieces, spans = part.values, list(zip(part.offsets[:-1], part.offsets[1:], strict=True))
        keys = [key(pieces[:, start:end]) for start, end in spans]
        versions = [_VECTORS, torch.__version__, package().__version__]
        how = [encoder.pieces.sums, encoder.layers, *versions, str(encoder.transformer.device)]
        named = hashlib.sha256(json.dumps(how, sort_keys=True).encode() + b"".join(keys)).hexdigest()
        path, shape = folder / f"{named}.npy", (int(part.offsets[-1]), encoder.layers, encoder.width)
        found = _read(path, shape)
        if found is None:
            with replacing(path) as temporary, temporary.open("wb") as file:
                header = {"descr": "<f2", "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(file, header)
                with tqdm(desc="pretrained vectors", total=shape[0], unit="word", leave=False, disable=None) as bar:
                    for first, last in part.spans(batch_sizes.TOKENS_PER_PRETRAINED_READ):
                        some = part.span(first, last)
                        of_some = encoder.vectors(some.values, some.offsets)
                        file.write(of_some.astype("<f2").tobytes())
                        bar.update(len(of_some))
            found = _read(path, shape)
            assert found is not None, "it has just been written"
        encoder.known |= {one: found[start:end] for one, (start, end) in zip(keys, spans, strict=True)}


def _read(path: Path, shape: tuple[int, ...]) -> np.ndarray | None:
    """What a file holds; None if it is not there, or is no such file."""
    if not math.prod(shape):
        return np.empty(shape, np.float16)
    try:
        found = np.asarray(np.lib.format.open_memmap(path, mode="r"))
    except (OSError, ValueError):
        return None
    return found if found.dtype == np.float16 and found.shape == shape else None


def _load(pieces: Pieces) -> tuple[Any, int]:
    """The module, and how many pieces it reads at a time."""
    transformers, folder = package(), pieces.folder
    _check_config(folder)
    said, shown = transformers.logging, transformers.logging.is_progress_bar_enabled()
    verbosity = said.get_verbosity()
    with torch.random.fork_rng(devices=[]):  # weights that are not there would be drawn
        try:
            said.set_verbosity_error()
            said.disable_progress_bar()
            model, info = transformers.AutoModel.from_pretrained(
                folder,
                dtype=torch.float32,
                use_safetensors=True,
                trust_remote_code=False,
                local_files_only=True,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # they are told, too
            )
        except Exception as error:  # of any model that transformers knows
            raise PretrainedError(f"{folder}: transformers cannot load this encoder ({error})") from error
        finally:
            said.set_verbosity(verbosity)
            if shown:
                said.enable_progress_bar()
    config = model.config
    unread = ("pooler", "decoder.") if config.is_encoder_decoder else ("pooler",)
    missing = [name for name in info["missing_keys"] if not any(part in name for part in unread)]
    wrong = [f"{name} is missing" for name in missing]
    wrong += [f"{name} has another size" for name, *_ in info["mismatched_keys"]]
    if wrong:
        raise PretrainedError(f"{folder}: {wrong[0]} in the weights; is {CONFIG} that of another model?")
    if getattr(model, "pooler", None) is not None:
        model.pooler = None  # of the whole sentence
    if config.is_encoder_decoder:
        model = model.get_encoder()
    room = getattr(config, "max_position_embeddings", None) or 0
    room = room if room > 0 else _USUAL_WINDOW  # XLNet says -1
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            room -= module.padding_idx + 1  # RoBERTa counts from there
    return model.eval(), room


def _check_config(folder: Path) -> None:
    """Refuses sizes that the weights cannot have: what is made of them would not fit into memory."""
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        tensors = numbers = 0
        for name in files_of(folder):
            if name.endswith(".safetensors"):
                with safe_open(folder / name, framework="np") as file:
                    for one in file.keys():  # noqa: SIM118 - it is not a mapping
                        tensors, numbers = tensors + 1, numbers + math.prod(file.get_slice(one).get_shape())
        for field, value in config.items():
            if isinstance(value, int) and value > (tensors if field.endswith("layers") else numbers):
                raise ValueError(f"{CONFIG}: {field}={value:,} is more than the weights have")
        if "quantization_config" in config:
            raise ValueError(f"{CONFIG}: its weights are quantized; take one whose are not")
    except (OSError, ValueError, AttributeError, SafetensorError) as error:
        raise PretrainedError(f"{folder}: this pretrained encoder cannot be read ({error})") from error


_computing = Lock()
_threads: list[int] = []  # for each of those who compute with one thread, how many there were before the first of them


@contextmanager
def one_thread(device: torch.device) -> Iterator[None]:
    """Lets torch compute on a CPU with one thread, and afterwards with as many as the first of those who compute so had."""
    if device.type != "cpu":
        yield
        return
    with _computing:
        _threads.append(_threads[0] if _threads else torch.get_num_threads())
        torch.set_num_threads(1)
        torch.get_num_threads()  # a new thread takes over what others have set at its first question, which would be within
    try:
        yield
    finally:
        with _computing:
            torch.set_num_threads(_threads.pop())
