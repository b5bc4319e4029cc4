"""Serves a model over HTTP: optimal-step serve MODEL_DIR [--port 8001].

The interface is that of UDPipe's REST service, so its clients work: /models lists the models, /process parses the parameter
data (GET, or POST with a form). At / is a page for typing a sentence and seeing its tree. Only programs on this machine can
reach it, unless --host says otherwise. Needs the extra serve: pip install '.[serve]' in a checkout.
"""

from __future__ import annotations

import argparse
import logging
import re
import socket
import sys
from pathlib import Path

from parser.commands.command_line import positive
from parser.commands.parsing_options import add_lexicon_option, add_search_options, note_slow_int8
from parser.data.lemmas import LemmaLexicon
from parser.kernels import load_kernels_directly
from parser.model.loading import load_for_parsing
from parser.model_folder import TOKENIZER, named_folder
from parser.text.tokenizer import TextSplitter, model_tokenizer

_DATE = re.compile(r"\d{4}-\d\d-\d\d_")
_OF_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")


class ServeError(ValueError):
    """A model cannot be served; the message says the fix."""


def main(arguments: list[str] | None = None) -> None:
    """Serves until it is told to stop."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, metavar="MODEL_DIR", help="a run's folder, or a model's")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s, this machine only)")
    parser.add_argument("--port", type=int, default=8001, help="default: %(default)s; 0: any free port")
    parser.add_argument("--name", help="the name of the model in requests (default: that of its folder)")
    parser.add_argument(
        "--tokenizer", type=Path, metavar="FILE", help="a model file of UDPipe 1 (default: the model's own tokenizer)"
    )
    add_search_options(parser)
    add_lexicon_option(parser)
    parser.add_argument("--allow-missing-columns", action="store_true", help="parse without the tags that the model reads")
    parser.add_argument("--max-bytes", type=positive, default=1_000_000, help="per request (default: %(default)s)")
    parser.add_argument("--max-seconds", type=positive, default=30, help="per request (default: %(default)s)")
    parser.add_argument("--max-requests", type=positive, default=200, help="number at a time (default: %(default)s)")
    given = parser.parse_args(arguments)
    try:
        import uvicorn
        from uvicorn.protocols.http.auto import AutoHTTPProtocol

        from parser.serving.app import create_app
    except ImportError as error:
        add = "pip install fastapi python-multipart uvicorn, or pip install '.[serve]' in a checkout"
        raise ServeError(f"{error.name} is not installed; {add}") from error
    from parser.serving.limits import LOG, Limits, closing
    from parser.serving.page import warm_up
    from parser.serving.service import Service

    load_kernels_directly()
    if given.int8:
        note_slow_int8()
    model, beam = load_for_parsing(
        given.model, given.beam, given.merge, int8=given.int8, rerank=given.rerank, treebank=given.treebank
    )
    lexicon = None if given.lexicon is None else LemmaLexicon.read(given.lexicon)
    name = given.name or name_of(given.model)
    service = Service(model, name, _tokenizer(given), beam, given.allow_missing_columns, lexicon)
    warm_up(service)
    limits = Limits(given.max_bytes, given.max_seconds, given.max_requests)
    app, protocol = create_app(service, limits), closing(AutoHTTPProtocol, limits)
    family = socket.AF_INET6 if ":" in given.host else socket.AF_INET
    try:
        listening = socket.create_server((given.host, given.port), family=family)
    except (OSError, OverflowError) as error:
        raise ServeError(f"{given.host}, port {given.port}: {error}; give another --port or --host") from error
    with listening:
        if given.host not in _OF_THIS_MACHINE:
            print("warning: anyone who can reach this machine can use the parser", file=sys.stderr)
        host = f"[{given.host}]" if ":" in given.host else given.host
        print(f"{service.name} at http://{host}:{listening.getsockname()[1]}/ (Ctrl-C ends it)", file=sys.stderr, flush=True)
        logging.basicConfig(format="%(asctime)s %(message)s")  # on standard error
        LOG.setLevel(logging.INFO)
        config = uvicorn.Config(
            app, http=protocol, log_level="warning", access_log=False, server_header=False, ws="none", lifespan="on"
        )
        uvicorn.Server(config).run(sockets=[listening])


def name_of(folder: Path) -> str:
    """The name of a model: that of its folder, or of the run's, or the one above where that is a date."""
    absolute = folder.resolve()
    run = absolute.parent if absolute.name == "model" else absolute
    return run.parent.name if _DATE.match(run.name) else run.name


def _tokenizer(given: argparse.Namespace) -> TextSplitter | None:
    folder = named_folder(given.model)
    places = (folder / TOKENIZER, folder / "model" / TOKENIZER)
    if given.tokenizer is None and not any(place.is_file() for place in places):
        return None
    return model_tokenizer(given.model, given.tokenizer)
