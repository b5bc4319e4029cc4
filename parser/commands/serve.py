"""Serves a model over HTTP: optimal-step serve MODEL_DIR [--port 8001].

It has the interface of UDPipe's REST service, so clients of that service work: /models lists the
models, /process parses the parameter data (GET, or POST with a form). The page at / shows the tree
of a sentence that you type. Only this machine can reach the server, unless --host says otherwise.
Needs the extra serve: pip install '.[serve]' in a checkout.
"""

from __future__ import annotations

import argparse
import logging
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ECONNREFUSED
from pathlib import Path

from oracles.errors import OptimalStepError
from parser.commands.arguments import Arguments
from parser.commands.command_line import positive
from parser.commands.parsing_options import add_options, options_of
from parser.decoding.predictor import load_model
from parser.kernels import load_kernels_directly
from parser.model.packs import find_named, named_folder
from parser.model_folder import (
    EXAMPLE,
    MODEL,
    UDPIPE_TOKENIZER,
    errors_named,
    has_tokenizer,
    text_folder,
)
from parser.text.abbreviations import read_abbreviations
from parser.text.pipeline import TextPipeline, missing_tokenizer

_DATE = re.compile(r"\d{4}-\d\d-\d\d_")
_OF_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")


def main(arguments: list[str] | None = None) -> None:
    """Serve until a signal ends the process."""
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "model", type=Path, metavar="MODEL_DIR", help="a run's folder, or a model's"
    )
    parser.add_argument(
        "--uds",
        "--unix-socket",
        type=Path,
        metavar="FILE",
        help="listen on this Unix socket instead of on a port",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on (default: %(default)s, this machine only)",
    )
    parser.add_argument(
        "--port", type=int, default=8001, help="default: %(default)s; 0: any free port"
    )
    parser.add_argument(
        "--root-path",
        type=_root_path,
        default="",
        metavar="PATH",
        help="path under which a proxy serves it, such as /parser",
    )
    parser.add_argument(
        "--name", help="the model's name in requests (default: the name of its folder)"
    )
    parser.add_argument(
        "--tokenizer",
        type=Path,
        metavar="FILE",
        help=(
            "the tokenizer of another model: the model's name or folder, or its file "
            "tokenizer.json (default: the model's own)"
        ),
    )
    parser.add_argument(
        "--abbreviations",
        type=Path,
        metavar="FILE",
        help=(
            "for text: your own abbreviations, one on each line with its period, "
            "and + behind it if a name or number follows"
        ),
    )
    add_options(parser, "serve")
    parser.add_argument(
        "--max-bytes",
        type=positive,
        default=1_000_000,
        help="largest request (default: %(default)s)",
    )
    parser.add_argument(
        "--max-seconds", type=positive, default=30, help="longest request (default: %(default)s)"
    )
    parser.add_argument(
        "--max-requests",
        type=positive,
        default=200,
        help="most requests at a time (default: %(default)s)",
    )
    args = parser.parse_args(arguments)
    if args.uds is not None and (args.host, args.port) != (
        parser.get_default("host"),
        parser.get_default("port"),
    ):
        parser.error("--uds excludes --host and --port; leave them out")
    try:
        import uvicorn
        from uvicorn.protocols.http.auto import AutoHTTPProtocol

        from parser.serving.app import LOG, Limits, closing, create_app
    except ImportError as error:
        add = (
            "pip install fastapi python-multipart uvicorn, or pip install '.[serve]' in a checkout"
        )
        raise OptimalStepError(f"{error.name} is not installed; {add}") from error
    from parser.serving.page import warm_up
    from parser.serving.service import Service

    options = options_of(args, "serve")
    load_kernels_directly()
    model, name = load_model(args.model, options), args.name or name_of(args.model)
    folder = find_named(args.model)
    place = text_folder(folder, options.treebank) / EXAMPLE  # in the language of the treebank
    place = place if place.is_file() else folder / EXAMPLE
    with errors_named(place):
        example = place.read_text(encoding="utf-8") if place.is_file() else None
    pipeline, without = _pipeline(args, options.treebank)
    service = Service(model, name, options, pipeline, example, without)
    warm_up(service)
    limits = Limits(args.max_bytes, args.max_seconds, args.max_requests)
    app, protocol = create_app(service, limits, args.root_path), closing(AutoHTTPProtocol, limits)
    opened = (
        _listening_port(args.host, args.port) if args.uds is None else _listening_file(args.uds)
    )
    with opened as (listening, address):
        if args.uds is None and args.host not in _OF_THIS_MACHINE:
            print("warning: anyone who can reach this machine can use the parser", file=sys.stderr)
        print(f"{service.name} at {address} (Ctrl-C ends it)", file=sys.stderr, flush=True)
        logging.basicConfig(format="%(asctime)s %(message)s")  # on standard error
        LOG.setLevel(logging.INFO)
        config = uvicorn.Config(
            app,
            http=protocol,
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="on",
        )
        uvicorn.Server(config).run(sockets=[listening])


def _root_path(path: str) -> str:
    """Return the path with a slash at its beginning and none at its end."""
    if not re.fullmatch(r"[/\w.~-]*", path) or "//" in path:
        raise argparse.ArgumentTypeError(
            f"{path} is not the path of an address; give only the path, such as /parser"
        )
    return f"/{path.strip('/')}".rstrip("/")


@contextmanager
def _listening_port(host: str, port: int) -> Iterator[tuple[socket.socket, str]]:
    """Yield a listening socket and its address."""
    try:
        listening = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except (OSError, OverflowError, UnicodeError) as error:
        # UnicodeError: of a name that no host can have
        raise OptimalStepError(
            f"{host}, port {port}: {error}; give another --port or --host"
        ) from error
    with listening:
        yield (
            listening,
            f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/",
        )


@contextmanager
def _listening_file(path: Path) -> Iterator[tuple[socket.socket, str]]:
    """Yield a listening Unix socket and its file;
    replace the file that an ended server has left.
    """
    if not hasattr(socket, "AF_UNIX"):
        raise OptimalStepError(
            f"--uds {path}: this system has no Unix sockets; give --port instead"
        )
    with socket.socket(socket.AF_UNIX) as client, socket.socket(socket.AF_UNIX) as listening:
        try:
            if path.is_socket():
                if client.connect_ex(str(path)) != ECONNREFUSED:
                    raise OptimalStepError(
                        f"{path}: another server listens there; end it, or give another --uds"
                    )
                path.unlink()
            listening.bind(str(path))
            # as with a port, every user of this machine may connect,
            # if the folder's permissions allow it
            path.chmod(0o666)
            listening.listen()
        except OSError as error:
            raise OptimalStepError(
                f"{path}: no socket can be made there ({error}); give another --uds"
            ) from error
        yield listening, str(path)


def name_of(folder: Path) -> str:
    """Return the name of a model: that of its run's folder,
    or of the folder above if the run's is a date.
    """
    absolute = folder.resolve()
    run = absolute.parent if absolute.name == "model" else absolute
    return run.parent.name if _DATE.match(run.name) else run.name


def _pipeline(args: argparse.Namespace, treebank: str | None) -> tuple[TextPipeline | None, str]:
    """Return the pipeline of the model's tokenizer for a treebank, or of the tokenizer named;
    without one, the reason that text is refused.
    """
    folder = named_folder(args.model)
    folders = (folder, folder / MODEL)
    if args.tokenizer is not None or any(
        has_tokenizer(candidate, treebank) for candidate in folders
    ):
        abbreviations = (
            None if args.abbreviations is None else read_abbreviations(args.abbreviations)
        )
        pipeline = TextPipeline.of_model(
            args.model, args.tokenizer, abbreviations=abbreviations, treebank=treebank
        )
        return pipeline, ""
    if args.abbreviations is not None:
        raise OptimalStepError(
            f"--abbreviations {args.abbreviations} is for text: {folder}: "
            f"{missing_tokenizer(folder)}"
        )
    if not any((candidate / UDPIPE_TOKENIZER).is_file() for candidate in folders):
        return None, "has no tokenizer"
    print(f"warning: {folder}: only words are parsed: {missing_tokenizer(folder)}", file=sys.stderr)
    return None, "has a tokenizer of UDPipe 1, which is no longer read"
