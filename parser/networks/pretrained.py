"""A pretrained encoder as input of the parser's encoder: its layers mixed by learned weights
(Peters et al. 2018, Section 3.2).

The vector of a word in a layer is the mean over its pieces, normalized to mean 0 and variance 1, so
that layers of any scale can be mixed and kept in 16 bits. The root has the vector of the special
token at the start of a sentence. A sentence that is longer than the encoder's window is read in
windows that overlap by half; the vector of a word is from the window in which the word is further
from the ends.

On a CPU, encoders of the shape of BERT are read without torch (inference/transformer.py), unless
gradients are needed. Of all others, each sentence is read by itself and by one thread: the last
digits of torch's results depend on the batch and on the number of threads, and a parse should not.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Lock
from typing import Any, cast

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from torch import Tensor, nn
from tqdm import tqdm

from oracles.errors import OptimalStepError
from parser import batch_sizes
from parser.data.parts.pretrained import (
    CONFIG,
    PretrainedError,
    PretrainedTokenizer,
    files_of,
    package,
    sums_of,
)
from parser.data.parts.subwords import TOKENIZER, WEIGHTS
from parser.data.sentences import Sentences
from parser.inference.parts import encoder_config, frozen_transformer
from parser.inference.transformer import (
    SCALES,
    EncoderConfig,
    FrozenTransformer,
    float_weights,
    rounded_weights,
)
from parser.inference.weights import SentenceReader
from parser.inference.windows import PieceWindows
from parser.kernels.llvm import instructions
from parser.model_folder import fetched_models
from parser.network_spec import PretrainedSpec
from parser.storage import from_json, remove_old_temporaries, replacing, write_json

TRANSFORMER = "tokens.pretrained.transformer."
"""The prefix of the encoder's weights in a classifier that trains them."""

# How many pieces are read at a time by encoders with relative positions only.
_USUAL_WINDOW = 512
# The settings of transformers that change with the layers and pieces that are kept.
_N_LAYERS, _N_PIECES = "num_hidden_layers", "vocab_size"
# How many pieces cost as much time as one more group of windows, in training on a CPU.
_GROUP_COST = 50
# Cache version: increase it when vectors change.
_VECTORS = 1


class PretrainedEncoder:
    """Reads sentences with a pretrained encoder; threads may share it unless it is being trained.

    Args:
        pieces: how forms are segmented, and where the encoder is.
        spec: how its vectors are read.

    Attributes:
        transformer: the encoder, a module of transformers.
        known: cached vectors by key() of a sentence, float16[tokens, layers, width].

    Raises:
        PretrainedError: the encoder cannot be loaded, or does not fit.
    """

    def __init__(self, pieces: PretrainedTokenizer, spec: PretrainedSpec) -> None:
        self.pieces, self.spec, self.layers = pieces, spec, spec.layers
        self.known: dict[bytes, np.ndarray] = {}
        self.transformer, room = _load(pieces)
        if spec.kept:
            _keep_layers(self.transformer, spec.kept, pieces.folder)
        if pieces.kept is not None:
            _keep_vectors(self.transformer, pieces.kept)
        self._room = room - len(pieces.before) - len(pieces.after)
        self._config = encoder_config(pieces, spec)
        # versions of the weights, and a reader with these
        self._current: tuple[list[int], FrozenTransformer] | None = None
        pieces.check_encoder(self.transformer.get_input_embeddings().weight.shape[0], room)
        if (most := 1 + self.transformer.config.num_hidden_layers) < spec.layers:
            raise PretrainedError(
                f"{pieces.folder}: it has {most} layers, including the embeddings, "
                f"and the model reads {spec.layers}"
            )

    def frozen(self, int8: bool) -> SentenceReader:
        """Return a reader with the present weights,
        without torch where there is one for this kind of encoder.

        The reader of a tuned encoder has its weights as a model's folder holds them, in 8 bits. The
        encoder itself, which has cached vectors, reads for one that is not tuned.

        Args:
            int8: whether it multiplies in 8 bits.
        """
        if self._config is None or self._device.type != "cpu" or not (self.spec.tuned or int8):
            return self
        return self._without_torch(int8, self._config)

    def _without_torch(self, int8: bool, config: EncoderConfig) -> FrozenTransformer:
        versions = [weights._version for weights in self.transformer.parameters()]
        if not int8 and self._current is not None and self._current[0] == versions:
            return self._current[1]
        reader = frozen_transformer(self.pieces, config, self._weights(), self.spec, int8)
        if not int8:
            self._current = versions, reader
        return reader

    def _weights(self) -> dict[str, np.ndarray]:
        return {
            name: tensor.numpy(force=True) for name, tensor in self.transformer.state_dict().items()
        }

    def tensors(self) -> dict[str, np.ndarray]:
        """Return the weights as a model's folder holds them:
        in 8 bits if the encoder can be read without torch.
        """
        return self._weights() if self._config is None else rounded_weights(self._weights())

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
        for number, (start, end) in enumerate(
            zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        ):
            cached_vectors = self.known.get(key(pieces[:, start:end])) if self.known else None
            if cached_vectors is None:
                new.append(number)
            else:
                vectors[start:end] = cached_vectors
        for some in self._batches(new):
            places = np.concatenate(
                [np.arange(offsets[number], offsets[number + 1]) for number in some]
            )
            lengths = np.diff(offsets)[some]
            if self._config is not None and self._device.type == "cpu":
                reader, ends = (
                    self._without_torch(False, self._config),
                    np.concatenate([[0], np.cumsum(lengths)]),
                )
                vectors[places] = reader.vectors(pieces[:, places], ends)
                continue
            with torch.no_grad(), one_thread(self._device):
                vectors[places] = (
                    self.compute(torch.from_numpy(pieces[:, places]), lengths)
                    .to(torch.float16)
                    .numpy(force=True)
                )
        return vectors

    def _batches(self, numbers: list[int]) -> list[list[int]]:
        size = (
            1
            if self._device.type == "cpu" and self._config is None
            else batch_sizes.WINDOWS_PER_BATCH
        )
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
        if torch.is_grad_enabled():
            # An update may follow, and torch's fused optimizers count no versions of weights.
            self._current = None
        over = PieceWindows.over(
            pieces.numpy(), lengths, self._room, self.pieces.before, self.pieces.after
        )
        hidden = self._hidden(over.pieces)
        index = torch.from_numpy(over.tokens).to(hidden.device)
        counts = torch.from_numpy(
            np.maximum(np.bincount(over.tokens, minlength=over.n_tokens), 1)
        ).to(hidden.device)
        sums = hidden.new_zeros(over.n_tokens, *hidden.shape[1:])
        sums = sums.index_add(0, index, hidden[torch.from_numpy(over.places).to(hidden.device)])
        means = sums / counts.to(torch.float32)[:, None, None]
        return nn.functional.layer_norm(means, means.shape[-1:])

    def _hidden(self, window_pieces: Sequence[np.ndarray]) -> Tensor:
        """Return float32[pieces, layers, width],
        the outputs of the layers for the pieces of some windows side by side.
        """
        # torch.autocast is refused, even if not enabled, on a kind of device that has none.
        precision = (
            torch.autocast(self._device.type, torch.bfloat16)
            if torch.is_grad_enabled() and computes_in_bfloat16(self._device)
            else nullcontext()
        )
        by_window = [torch.empty(0)] * len(window_pieces)
        with precision:
            for group in groups_of_like_length([*map(len, window_pieces)]):
                lengths = torch.tensor([len(window_pieces[window]) for window in group])
                ids = torch.zeros(len(group), int(lengths.max()), dtype=torch.int64)
                for row, window in enumerate(group):
                    ids[row, : lengths[row]] = torch.from_numpy(window_pieces[window])
                mask = (torch.arange(ids.shape[1]) < lengths[:, None]).long()
                outputs = self.transformer(
                    input_ids=ids.to(self._device),
                    attention_mask=mask.to(self._device),
                    output_hidden_states=self.layers > 1,
                )
                layers = (
                    outputs.hidden_states[-self.layers :]
                    if self.layers > 1
                    else [outputs.last_hidden_state]
                )
                hidden = torch.stack(layers, dim=2).float()
                for window, length, output in zip(group, lengths.tolist(), hidden, strict=True):
                    by_window[window] = output[:length]
        if not by_window:
            return torch.zeros(0, self.layers, self.width, device=self._device)
        return torch.cat(by_window)

    def save(self, folder: Path) -> dict[str, str]:
        """Write the encoder with its current weights; return the checksums of its files."""
        folder.mkdir()
        config, sizes = (
            from_json((self.pieces.folder / CONFIG).read_bytes()),
            self.transformer.config,
        )
        config |= {name: getattr(sizes, name) for name in (_N_LAYERS, _N_PIECES) if name in config}
        write_json(folder / CONFIG, config)
        (folder / TOKENIZER).write_text(
            json.dumps(self.pieces.whole, ensure_ascii=False), encoding="utf-8", newline="\n"
        )
        within = "encoder." if self.transformer.config.is_encoder_decoder else ""
        tensors = {
            f"{within}{name}": np.ascontiguousarray(tensor)
            for name, tensor in self.tensors().items()
        }
        save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
        return sums_of(folder)


class PretrainedInput(nn.Module):
    """The parser's input from a pretrained encoder: a mixture of its layers,
    projected to a smaller space.

    Args:
        spec: the sizes of the mixture.

    Attributes:
        transformer: the pretrained encoder's module, if it is trained; otherwise None.
    """

    def __init__(self, spec: PretrainedSpec, encoder: PretrainedEncoder) -> None:
        super().__init__()
        self.spec, self.encoder = spec, encoder
        self.mix = nn.Parameter(torch.zeros(spec.layers))
        self.scale = nn.Parameter(torch.ones(1))
        self.projection = nn.Linear(spec.width, spec.size)
        self.transformer = encoder.transformer if spec.tuned else None
        if self.transformer is not None:
            # Most pieces are rare: their vectors would hardly change, but steps over all of them
            # would take most of the time.
            self.transformer.get_input_embeddings().weight.requires_grad_(False)

    def _apply(self, function: Callable[[Tensor], Tensor], recurse: bool = True) -> PretrainedInput:
        """Apply ``to(device)`` also to a pretrained encoder that is not trained,
        and so not part of this module.
        """
        if self.transformer is None:
            self.encoder.transformer._apply(function, recurse)
        return super()._apply(function, recurse)

    def forward(self, pieces: Tensor, lengths: np.ndarray, dropping: bool = False) -> Tensor:
        """Return float32[tokens, size] for int32[tokens, longest]; see
        PretrainedEncoder.compute().
        """
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


def groups_of_like_length(lengths: Sequence[int]) -> list[list[int]]:
    """Return the numbers of windows in groups that are read together, each padded to its longest
    window. Padding costs time, and so does each group: the sum is the lowest possible.

    Args:
        lengths: the lengths of the windows, in pieces.
    """
    order = sorted(range(len(lengths)), key=lambda window: -lengths[window])
    # of the longest windows, how many pieces they cost, and where their last group begins
    costs, begins = [0], [0]
    for end in range(1, len(order) + 1):
        first = max(0, end - batch_sizes.WINDOWS_PER_BATCH)
        cost, begin = min(
            (costs[begin] + _GROUP_COST + (end - begin) * lengths[order[begin]], begin)
            for begin in range(first, end)
        )
        costs.append(cost)
        begins.append(begin)
    groups = []
    end = len(order)
    while end:
        groups.append(order[begins[end] : end])
        end = begins[end]
    return groups[::-1]


def computes_in_bfloat16(device: torch.device) -> bool:
    """Return whether a device multiplies faster in bfloat16 than in single precision; then training
    computes an encoder's gradients with it.
    """
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # Without AMX, Intel's processors multiply in bfloat16 at half the speed of single precision
    # (experiments/tuned.md). Those of AMD, which alone have SSE4a, are built to be faster in it.
    fast = {"amx-bf16"}, {"avx512bf16", "sse4a"}
    return device.type == "cpu" and any(some <= instructions() for some in fast)


def vector_cache() -> Path:
    """Return the folder with vectors of training sentences, shared by all runs of the user; its
    files can always be deleted.
    """
    return fetched_models("the cache of vectors, without pretrained.cache=FOLDER,").with_name(
        "optimal-step-pretrained"
    )


def key(pieces: np.ndarray) -> bytes:
    """Return the key of a sentence (int32[longest, tokens]) in ``PretrainedEncoder.known``."""
    return hashlib.sha256(np.ascontiguousarray(pieces).tobytes()).digest()


def cache_vectors(encoder: PretrainedEncoder, parts: Sequence[Sentences], folder: Path) -> None:
    """Add the vectors of the sentences to ``encoder.known``;
    compute those that no file of the folder has.

    The name of a file is a hash of the encoder, the layers, the sentences, and everything else that
    vectors depend on.

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
        named = hashlib.sha256(
            json.dumps(how, sort_keys=True).encode() + b"".join(keys)
        ).hexdigest()
        path = folder / f"{named}.npy"
        shape = (int(part.offsets[-1]), encoder.layers, encoder.width)
        cached_vectors = _read(path, shape)
        if cached_vectors is None:
            with replacing(path) as temporary, temporary.open("wb") as file:
                header = {"descr": "<f2", "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(file, header)
                with tqdm(
                    desc="pretrained vectors",
                    total=shape[0],
                    unit="word",
                    leave=False,
                    disable=None,
                ) as bar:
                    for first, last in part.spans(batch_sizes.TOKENS_PER_PRETRAINED_READ):
                        some = part.span(first, last)
                        vectors = encoder.vectors(some.values, some.offsets)
                        file.write(vectors.astype("<f2").tobytes())
                        bar.update(len(vectors))
            cached_vectors = _read(path, shape)
            assert cached_vectors is not None, "it has just been written"
        encoder.known |= {
            sentence_key: cached_vectors[start:end]
            for sentence_key, (start, end) in zip(keys, spans, strict=True)
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
    rounded = pieces.weights() if _is_rounded(folder) else None
    state = (
        None
        if rounded is None
        else {name: torch.from_numpy(array) for name, array in float_weights(rounded).items()}
    )
    said, shown = transformers.logging, transformers.logging.is_progress_bar_enabled()
    verbosity = said.get_verbosity()
    with torch.random.fork_rng(devices=[]):  # transformers draws missing weights
        try:
            said.set_verbosity_error()
            said.disable_progress_bar()
            kind: Any = transformers.AutoModel
            source: Path | None = folder
            options: dict[str, Any] = {}
            if state is not None:
                config = transformers.AutoConfig.from_pretrained(
                    folder, trust_remote_code=False, local_files_only=True
                )
                kind, source = type(transformers.AutoModel.from_config(config)), None
                options = {"config": config, "state_dict": state}
            model, info = kind.from_pretrained(
                source,
                dtype=torch.float32,
                use_safetensors=True,
                trust_remote_code=False,
                local_files_only=True,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # reported in info
                **options,
            )
        except Exception as error:  # any model of transformers may raise any error
            raise PretrainedError(
                f"{folder}: transformers cannot load this encoder ({error})"
            ) from error
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
        raise PretrainedError(
            f"{folder}: {wrong[0]} in the weights; is {CONFIG} from another model?"
        )
    if getattr(model, "pooler", None) is not None:
        model.pooler = None  # unused: it makes a vector of the whole sentence
    if config.is_encoder_decoder:
        model = model.get_encoder()
    room = getattr(config, "max_position_embeddings", None) or 0
    room = room if room > 0 else _USUAL_WINDOW  # XLNet says -1
    for name, module in model.named_modules():
        if (
            name.endswith("position_embeddings")
            and getattr(module, "padding_idx", None) is not None
        ):
            room -= module.padding_idx + 1  # RoBERTa counts from there
    return model.eval(), room


def _keep_layers(transformer: Any, kept: int, folder: Path) -> None:
    """Remove all layers but the first ones.

    Raises:
        PretrainedError: the encoder has several lists of layers, or none.
    """
    config, n_layers = transformer.config, transformer.config.num_hidden_layers
    lists = [
        name
        for name, module in transformer.named_modules()
        if isinstance(module, nn.ModuleList) and len(module) == n_layers
    ]
    if len(lists) != 1 or _N_LAYERS not in config.to_dict():
        raise PretrainedError(
            f"{folder}: this kind of encoder cannot be cut after some layers; "
            f"leave out pretrained.layers={kept}"
        )
    within, _, name = lists[0].rpartition(".")
    module = transformer.get_submodule(within)
    setattr(module, name, getattr(module, name)[:kept])
    config.num_hidden_layers = kept


def _keep_vectors(transformer: Any, pieces: np.ndarray) -> None:
    """Remove the vectors of all other pieces."""
    embeddings = transformer.get_input_embeddings()
    embeddings.weight = nn.Parameter(embeddings.weight.detach()[torch.from_numpy(pieces)].clone())
    embeddings.num_embeddings = transformer.config.vocab_size = len(pieces)
    embeddings.padding_idx = None  # pieces have other numbers now; windows are masked


def _is_rounded(folder: Path) -> bool:
    """Return whether the folder holds a tuned encoder of ours, with its matrices in 8 bits."""
    if not (folder / WEIGHTS).is_file():
        return False
    with safe_open(folder / WEIGHTS, framework="np") as file:
        return any(name.endswith(SCALES) for name in file.keys())  # noqa: SIM118 - it is not a mapping


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
            if isinstance(value, int) and value > (
                tensors if field.endswith("layers") else numbers
            ):
                raise OptimalStepError(f"{CONFIG}: {field}={value:,} is more than the weights have")
        if "quantization_config" in config:
            raise OptimalStepError(
                f"{CONFIG}: its weights are quantized; choose an encoder without quantization"
            )
    except (OSError, ValueError, AttributeError, SafetensorError) as error:
        raise PretrainedError(
            f"{folder}: this pretrained encoder cannot be read ({error})"
        ) from error


_computing = Lock()
# one entry for each caller inside one_thread(): torch's number of threads before the first entered
_threads: list[int] = []


@contextmanager
def one_thread(device: torch.device) -> Iterator[None]:
    """Let torch compute on a CPU with one thread;
    the last caller to leave restores the number of threads.
    """
    if device.type != "cpu":
        yield
        return
    with _computing:
        _threads.append(_threads[0] if _threads else torch.get_num_threads())
        torch.set_num_threads(1)
        # at its first question, a new thread takes over the number that others have set: ask now
        torch.get_num_threads()
    try:
        yield
    finally:
        with _computing:
            torch.set_num_threads(_threads.pop())
