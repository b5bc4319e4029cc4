"""A pretrained encoder as input of the parser's encoder: its layers mixed by learned weights (Peters et al. 2018, Section 3.2).

The vector of a word in a layer is the mean over its pieces, normalized to mean 0 and variance 1, so that layers of any scale
can be mixed and kept in 16 bits. The root has the vector of the special token at the start of a sentence. A sentence that is
longer than the encoder's window is read in windows that overlap by half; the vector of a word is from the window in which the
word is further from the ends.

On a CPU each sentence is read by itself and by one thread, unless gradients are needed: the last digits of torch's results
depend on the batch and on the number of threads, and a parse should not.
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

from oracles.errors import OptimalStepError
from parser import batch_sizes
from parser.data.parts.pretrained import CONFIG, PretrainedError, PretrainedTokenizer, files_of, package, sums_of
from parser.data.parts.subwords import TOKENIZER
from parser.data.sentences import Sentences
from parser.data.vocabulary import N_RESERVED
from parser.model_folder import fetched_models
from parser.network_spec import PretrainedSpec
from parser.storage import from_json, remove_old_temporaries, replacing

TRANSFORMER = "tokens.pretrained.transformer."
"""The prefix of the encoder's weights in a classifier that trains them."""

# How many pieces are read at a time by encoders with relative positions only.
_USUAL_WINDOW = 512
# Cache version: increase it when vectors change.
_VECTORS = 1


class _Window(NamedTuple):
    """Words of a sentence that are read together.

    Attributes:
        first, last: the first word, and the end.
        kept, end: the first word whose vector is from this window, and the end.
    """

    first: int
    last: int
    kept: int
    end: int


def windows(sizes: np.ndarray, room: int) -> list[_Window]:
    """Return windows over the words of a sentence.

    Args:
        sizes: int[words], how many pieces each has, at most ``room``.
        room: how many pieces a window has.
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
    borders = [0, *((after[0] + span[1]) // 2 for span, after in pairwise(spans)), n]
    return [_Window(*span, *kept) for span, kept in zip(spans, pairwise(borders), strict=True)]


class PretrainedEncoder:
    """Reads sentences with a pretrained encoder; threads may share it unless it is being trained.

    Args:
        pieces: how forms are segmented, and where the encoder is.
        layers: how many of its last layers are read.

    Attributes:
        transformer: the encoder, a module of transformers.
        known: cached vectors by key() of a sentence, float16[tokens, layers, width].

    Raises:
        PretrainedError: the encoder cannot be loaded, or does not fit.
    """

    def __init__(self, pieces: PretrainedTokenizer, layers: int) -> None:
        self.pieces, self.layers = pieces, layers
        self.known: dict[bytes, np.ndarray] = {}
        self.transformer, room = _load(pieces)
        self._room = room - len(pieces.before) - len(pieces.after)
        config = self.transformer.config
        if self._room < pieces.rows:
            raise PretrainedError(f"{pieces.folder}: it reads only {room} pieces at a time; take another pretrained encoder")
        if len(pieces) - N_RESERVED > self.transformer.get_input_embeddings().weight.shape[0]:
            raise PretrainedError(
                f"{pieces.folder}: {TOKENIZER} has more pieces than the encoder has vectors; are both from the same model?"
            )
        if (most := 1 + config.num_hidden_layers) < layers:
            raise PretrainedError(
                f"{pieces.folder}: it has {most} layers, including the embeddings, and the model reads {layers}"
            )

    @property
    def width(self) -> int:
        """The length of the vectors."""
        return int(self.transformer.config.hidden_size)

    def vectors(self, pieces: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return float16[tokens, layers, width], cached or computed now.

        Args:
            pieces: int32[longest, tokens], see PretrainedTokenizer.encode().
            offsets: int64[sentences + 1], where sentences begin among the tokens.
        """
        vectors = np.empty((pieces.shape[1], self.layers, self.width), np.float16)
        new = []
        for number, (start, end) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
            cached_vectors = self.known.get(key(pieces[:, start:end])) if self.known else None
            if cached_vectors is None:
                new.append(number)
            else:
                vectors[start:end] = cached_vectors
        for some in self._batches(new):
            places = np.concatenate([np.arange(offsets[number], offsets[number + 1]) for number in some])
            lengths = np.diff(offsets)[some]
            with torch.no_grad(), one_thread(self._device):
                vectors[places] = self.compute(torch.from_numpy(pieces[:, places]), lengths).to(torch.float16).numpy(force=True)
        return vectors

    def _batches(self, numbers: list[int]) -> list[list[int]]:
        size = 1 if self._device.type == "cpu" else batch_sizes.WINDOWS_PER_BATCH
        return [numbers[first : first + size] for first in range(0, len(numbers), size)]

    @property
    def _device(self) -> torch.device:
        return cast(torch.device, self.transformer.device)

    def compute(self, pieces: Tensor, lengths: np.ndarray) -> Tensor:
        """Return float32[tokens, layers, width], on the device of the encoder.

        Args:
            pieces: int32[longest, tokens], on the CPU.
            lengths: int[sentences], how many tokens each has, including the root.
        """
        columns = pieces.t().numpy()
        is_piece = columns >= N_RESERVED
        numbers, sizes = columns[is_piece] - N_RESERVED, is_piece.sum(axis=1)
        before, after = self.pieces.before, self.pieces.after
        window_pieces: list[list[int]] = []
        # For each window: the places whose vectors count, and their tokens.
        taken: list[np.ndarray] = []
        tokens: list[np.ndarray] = []
        ends = np.cumsum(sizes)
        for root, length in zip(np.cumsum(lengths) - lengths, lengths, strict=True):
            word_sizes = sizes[root + 1 : root + length]
            bounds = ends[root] + np.concatenate([[0], np.cumsum(word_sizes)])
            for number, window in enumerate(windows(word_sizes, self._room)):
                begin, end = int(bounds[window.first]), int(bounds[window.last])
                kept, kept_end = int(bounds[window.kept]), int(bounds[window.end])
                places = len(before) + np.arange(kept - begin, kept_end - begin)
                words = np.repeat(np.arange(window.kept, window.end), word_sizes[window.kept : window.end])
                if number == 0 and before:
                    places, words = np.concatenate([[0], places]), np.concatenate([[-1], words])
                window_pieces.append([*before, *numbers[begin:end].tolist(), *after])
                taken.append(places)
                tokens.append(root + 1 + words)
        hidden = self._hidden(window_pieces)
        longest = hidden.shape[1]
        flat = torch.from_numpy(np.concatenate([row * longest + places for row, places in enumerate(taken)])).to(hidden.device)
        index = np.concatenate(tokens)
        counts = np.maximum(np.bincount(index, minlength=len(columns)), 1)
        sums = hidden.new_zeros(len(columns), *hidden.shape[2:])
        sums = sums.index_add(0, torch.from_numpy(index).to(hidden.device), hidden.flatten(0, 1)[flat])
        means = sums / torch.from_numpy(counts).to(hidden.device, torch.float32)[:, None, None]
        return nn.functional.layer_norm(means, means.shape[-1:])

    def _hidden(self, window_pieces: Sequence[list[int]]) -> Tensor:
        """Return float32[windows, longest, layers, width], the outputs of the layers for some windows."""
        longest = max(1, *map(len, window_pieces)) if window_pieces else 1
        ids = torch.zeros(len(window_pieces), longest, dtype=torch.int64)
        mask = torch.zeros(len(window_pieces), longest, dtype=torch.int64)
        for row, window in enumerate(window_pieces):
            ids[row, : len(window)] = torch.tensor(window, dtype=torch.int64)
            mask[row, : len(window)] = 1
        parts = (array.to(self._device).split(batch_sizes.WINDOWS_PER_BATCH) for array in (ids, mask))
        hidden_states = []
        for some_ids, some_mask in zip(*parts, strict=True):
            outputs = self.transformer(input_ids=some_ids, attention_mask=some_mask, output_hidden_states=True)
            hidden_states.append(torch.stack(outputs.hidden_states[-self.layers :], dim=2).float())
        return torch.cat(hidden_states)

    def save(self, folder: Path) -> dict[str, str]:
        """Write the encoder with its current weights; return the checksums of its files."""
        folder.mkdir()
        for name in (CONFIG, TOKENIZER):
            (folder / name).write_bytes((self.pieces.folder / name).read_bytes())
        within = "encoder." if self.transformer.config.is_encoder_decoder else ""
        tensors = {f"{within}{name}": tensor.detach().cpu().clone() for name, tensor in self.transformer.state_dict().items()}
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return sums_of(folder)


class PretrainedInput(nn.Module):
    """The parser's input from a pretrained encoder: a mixture of its layers, projected to a smaller space.

    Args:
        spec: the sizes of the mixture.

    Attributes:
        transformer: the pretrained encoder's module, if it is trained; else None.
    """

    def __init__(self, spec: PretrainedSpec, encoder: PretrainedEncoder) -> None:
        super().__init__()
        self.spec, self.encoder = spec, encoder
        self.mix = nn.Parameter(torch.zeros(spec.layers))
        self.scale = nn.Parameter(torch.ones(1))
        self.projection = nn.Linear(spec.width, spec.size)
        self.transformer = encoder.transformer if spec.tuned else None

    def _apply(self, function: Callable[[Tensor], Tensor], recurse: bool = True) -> PretrainedInput:
        """Apply ``to(device)`` also to a pretrained encoder that is not trained, and so not part of this module."""
        if self.transformer is None:
            self.encoder.transformer._apply(function, recurse)
        return super()._apply(function, recurse)

    def forward(self, pieces: Tensor, lengths: np.ndarray, dropping: bool = False) -> Tensor:
        """Return float32[tokens, size] for int32[tokens, longest]; see PretrainedEncoder.compute()."""
        if self.transformer is not None and torch.is_grad_enabled():
            self.transformer.train(dropping)
            layer_vectors = self.encoder.compute(pieces.t(), lengths)
            self.transformer.eval()
        else:
            offsets = np.concatenate([[0], np.cumsum(lengths)])
            by_layer = self.encoder.vectors(pieces.t().numpy(), offsets)
            layer_vectors = torch.from_numpy(by_layer).to(self.mix.device, torch.float32)
        mixed = (layer_vectors * torch.softmax(self.mix, 0)[:, None]).sum(dim=1) * self.scale
        return cast(Tensor, self.projection(mixed))


def vector_cache() -> Path:
    """Return the folder with vectors of training sentences, shared by all runs of the user; its files can always be deleted."""
    return fetched_models("the cache of vectors, without pretrained.cache=FOLDER,").with_name("optimal-step-pretrained")


def key(pieces: np.ndarray) -> bytes:
    """Return the key of a sentence (int32[longest, tokens]) in ``PretrainedEncoder.known``."""
    return hashlib.sha256(np.ascontiguousarray(pieces).tobytes()).digest()


def cache_vectors(encoder: PretrainedEncoder, parts: Sequence[Sentences], folder: Path) -> None:
    """Add the vectors of the sentences to ``encoder.known``; compute those that no file of the folder has.

    The name of a file is a hash of the encoder, the layers, the sentences, and all else that vectors depend on.

    Args:
        parts: sentences with the values of the pieces only; each part has its own file.
        folder: the folder of the files, created if needed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    remove_old_temporaries(folder)
    for part in parts:
        pieces, spans = part.values, list(zip(part.offsets[:-1], part.offsets[1:], strict=True))
        keys = [key(pieces[:, start:end]) for start, end in spans]
        versions = [_VECTORS, torch.__version__, package().__version__]
        how = [encoder.pieces.sums, encoder.layers, *versions, str(encoder.transformer.device)]
        named = hashlib.sha256(json.dumps(how, sort_keys=True).encode() + b"".join(keys)).hexdigest()
        path = folder / f"{named}.npy"
        shape = (int(part.offsets[-1]), encoder.layers, encoder.width)
        cached_vectors = _read(path, shape)
        if cached_vectors is None:
            with replacing(path) as temporary, temporary.open("wb") as file:
                header = {"descr": "<f2", "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(file, header)
                with tqdm(desc="pretrained vectors", total=shape[0], unit="word", leave=False, disable=None) as bar:
                    for first, last in part.spans(batch_sizes.TOKENS_PER_PRETRAINED_READ):
                        some = part.span(first, last)
                        vectors = encoder.vectors(some.values, some.offsets)
                        file.write(vectors.astype("<f2").tobytes())
                        bar.update(len(vectors))
            cached_vectors = _read(path, shape)
            assert cached_vectors is not None, "it has just been written"
        encoder.known |= {
            sentence_key: cached_vectors[start:end] for sentence_key, (start, end) in zip(keys, spans, strict=True)
        }


def _read(path: Path, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the vectors in a file; None if the file is missing or has another format."""
    if not math.prod(shape):
        return np.empty(shape, np.float16)
    try:
        vectors = np.asarray(np.lib.format.open_memmap(path, mode="r"))
    except (OSError, ValueError):
        return None
    return vectors if vectors.dtype == np.float16 and vectors.shape == shape else None


def _load(pieces: PretrainedTokenizer) -> tuple[Any, int]:
    """Return the module of transformers, and how many pieces it reads at a time."""
    transformers, folder = package(), pieces.folder
    _check_config(folder)
    said, shown = transformers.logging, transformers.logging.is_progress_bar_enabled()
    verbosity = said.get_verbosity()
    with torch.random.fork_rng(devices=[]):  # transformers draws missing weights
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
                ignore_mismatched_sizes=True,  # reported in info
            )
        except Exception as error:  # any model of transformers may raise any error
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
        raise PretrainedError(f"{folder}: {wrong[0]} in the weights; is {CONFIG} from another model?")
    if getattr(model, "pooler", None) is not None:
        model.pooler = None  # unused: it makes a vector of the whole sentence
    if config.is_encoder_decoder:
        model = model.get_encoder()
    room = getattr(config, "max_position_embeddings", None) or 0
    room = room if room > 0 else _USUAL_WINDOW  # XLNet says -1
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            room -= module.padding_idx + 1  # RoBERTa counts from there
    return model.eval(), room


def _check_config(folder: Path) -> None:
    """Refuse sizes that do not fit the weights: a model of such sizes may not fit into memory."""
    try:
        config = from_json((folder / CONFIG).read_bytes())
        tensors = numbers = 0
        for name in files_of(folder):
            if name.endswith(".safetensors"):
                with safe_open(folder / name, framework="np") as file:
                    for tensor_name in file.keys():  # noqa: SIM118 - it is not a mapping
                        tensors += 1
                        numbers += math.prod(file.get_slice(tensor_name).get_shape())
        for field, value in config.items():
            if isinstance(value, int) and value > (tensors if field.endswith("layers") else numbers):
                raise OptimalStepError(f"{CONFIG}: {field}={value:,} is more than the weights have")
        if "quantization_config" in config:
            raise OptimalStepError(f"{CONFIG}: its weights are quantized; choose an encoder without quantization")
    except (OSError, ValueError, AttributeError, SafetensorError) as error:
        raise PretrainedError(f"{folder}: this pretrained encoder cannot be read ({error})") from error


_computing = Lock()
_threads: list[int] = []  # one entry for each caller inside one_thread(): torch's number of threads before the first entered


@contextmanager
def one_thread(device: torch.device) -> Iterator[None]:
    """Let torch compute on a CPU with one thread; the last caller to leave restores the number of threads."""
    if device.type != "cpu":
        yield
        return
    with _computing:
        _threads.append(_threads[0] if _threads else torch.get_num_threads())
        torch.set_num_threads(1)
        torch.get_num_threads()  # at its first question, a new thread takes over the number that others have set: ask now
    try:
        yield
    finally:
        with _computing:
            torch.set_num_threads(_threads.pop())
