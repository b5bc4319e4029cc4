"""What a request to /process asks for, in the terms of UDPipe's REST interface.

Its parameters: https://lindat.mff.cuni.cz/services/udpipe/api-reference.php. ``tokenizer``, ``tagger`` and ``parser`` ask for a
step by being there; what is not asked for is not done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PRESEGMENTED, RANGES = "presegmented", "ranges"
FORMATS = ("conllu", "horizontal", "vertical")


class RequestError(ValueError):
    """A request cannot be answered; the message is for whoever sent it."""


@dataclass(frozen=True)
class Request:
    """What is to be done with a document.

    Attributes:
        data: the document.
        model: the name of the model that is asked for; None for any.
        tokenizer: whether the document is text, to be split into sentences and words.
        presegmented: each line of the text is a sentence.
        ranges: say of each token of the text where it stands there.
        tagger: whether to write the tags that the model predicts.
        parser: whether to write trees.
        input, output: one of FORMATS; with ``tokenizer`` the input is text instead.
        allow_missing_columns: parse even if the document lacks tags that the model reads. No parameter says so, only the page.
        way_to_allow: what errors call the way to ask for that.
    """

    data: str
    model: str | None = None
    tokenizer: bool = False
    presegmented: bool = False
    ranges: bool = False
    tagger: bool = False
    parser: bool = False
    input: str = "conllu"
    output: str = "conllu"
    allow_missing_columns: bool = False
    way_to_allow: str = "the server's --allow-missing-columns"

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Request:
        """The request that parameters make; those that UDPipe does not have are ignored, as UDPipe does.

        Raises:
            RequestError: ``data`` is missing, or a parameter has a value that is not known.
        """
        if "data" not in fields:
            raise RequestError("data is missing; give the text, or the sentences, as the parameter data")
        options = {option for option in fields.get("tokenizer", "").split(";") if option}
        if unknown := sorted(options - {PRESEGMENTED, RANGES}):
            known = f"leave it empty, or say {PRESEGMENTED}, {RANGES}, or both with ; between them"
            raise RequestError(f"tokenizer={_shown(unknown[0])} is not known; {known}")
        for step in ("tagger", "parser"):
            if given := fields.get(step, ""):
                raise RequestError(f"{step}={_shown(given)} is not known; leave it empty")
        formats = {name: fields.get(name, FORMATS[0]) for name in ("input", "output")}
        if formats["output"] == "conllu=v2":  # what UDPipe calls the version of CoNLL-U
            formats["output"] = "conllu"
        for name, given in formats.items():
            if given not in FORMATS:
                raise RequestError(f"{name}={_shown(given)} is not known; known: {', '.join(FORMATS)}")
        return cls(
            data=fields["data"],
            model=fields.get("model") or None,
            tokenizer="tokenizer" in fields,
            presegmented=PRESEGMENTED in options,
            ranges=RANGES in options,
            tagger="tagger" in fields,
            parser="parser" in fields,
            input=formats["input"],
            output=formats["output"],
        )


def _shown(value: str) -> str:
    return value if len(value) <= 60 else f"{value[:60]}..."
