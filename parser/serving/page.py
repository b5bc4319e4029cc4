"""The web page: it parses text that is typed or pasted, and draws the trees.
It also works without its script.

With the script (script.py), users correct a head by dragging, and a relation or a UPOS by choosing
another. Corrections are kept, and the rest is parsed again (corrections.py). Three fields of the
form hold them, each with items separated by spaces:

    heads      SENTENCE.WORD=HEAD or SENTENCE.WORD=HEAD:RELATION
    own_heads  SENTENCE.WORD: the head in ``heads`` is the parser's own;
               only its relation was corrected
    upos       SENTENCE.WORD=UPOS

The field ``undo`` undoes one of them (SENTENCE.WORD.head, .deprel or .upos),
the field ``forget`` all.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from io import BytesIO

import oracles
from parser import transitions
from parser.conllu.checks import DEPREL, EMPTY, FORM, UPOS, counted
from parser.conllu.stream import RawSentence, read_raw_sentences
from parser.decoding.files.file_parsing import RawColumns
from parser.decoding.parse_options import SentenceEnds
from parser.drawing import LONGEST, DrawnTree
from parser.drawing.html import drawing, page, table, text
from parser.kernels.interpreted import compile_from_now_on
from parser.model.model import NetworkModel
from parser.reports.trace import Candidate, Trace, candidates, drawn, model_trace, steps_as_html
from parser.serving.corrections import COMMENT, Correction
from parser.serving.script import SCRIPT, STYLE
from parser.serving.service import Request, RequestError, Service, write_words

# Sentences of a document that are shown, and words of the longest sentence whose steps are shown.
SENTENCES, WORDS = 10, 80

_PARTS = {"head": "head", "deprel": "relation", "upos": "UPOS"}

# Other arcs shown for a word, their lowest probability,
# and the probability below which they are folded away.
_OTHERS, _FEW, _FOLDED = 3, 0.0001, 0.01

_HOW_TO_CORRECT = (
    "If a head is wrong, drag the word or its arc to the word that should be its head, or above "
    "the drawing to make it the root. If a relation or a UPOS is wrong, click it and choose "
    "another one. Your corrections are kept, and the rest is parsed again."
)
_WORD = r"([0-9]{1,6})\.([0-9]{1,6})"
_HEAD = re.compile(rf"{_WORD}=([0-9]{{1,6}})(?::(\S+))?")
_OWN = re.compile(_WORD)
_TAG = re.compile(rf"{_WORD}=(\S+)")
_UNDO = re.compile(rf"{_WORD}\.(head|deprel|upos)")

# Whatever the answer contains, the browser loads nothing and runs no script but this one.
_HASH = b64encode(sha256(SCRIPT.encode()).digest()).decode()
HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src 'sha256-{_HASH}'; style-src 'unsafe-inline'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}

# Where the sentences of a text end, in the form.
_SENTENCE_ENDS = {
    SentenceEnds.MODEL: "where the model finds an end",
    SentenceEnds.LINE: "at line ends",
    SentenceEnds.PARAGRAPH: "at line ends, and where the model finds an end",
}


def page_request(service: Service, fields: Mapping[str, str]) -> Request:
    """Return the request for typed data: CoNLL-U if a line has ten columns, text if there is a
    tokenizer, otherwise words.

    Raises:
        RequestError: a field with corrections cannot be read.
    """
    data = fields.get("data", "").replace("\r\n", "\n")
    is_conllu = any(line.count("\t") == 9 for line in data.split("\n"))
    if is_conllu:  # the trees are made again, so comments about earlier corrections would be wrong
        data = re.sub(f"^# {COMMENT} = .*\n", "", data, flags=re.MULTILINE)
    return Request(
        data=f"{data}\n" if is_conllu and not data.endswith("\n") else data,
        tokenizer=not is_conllu and service.tokenizer is not None,
        sentences=_sentences_of(fields),
        tagger="tagger" in service.steps,
        fill=True,
        parser=True,
        input="conllu" if is_conllu else "horizontal",
        allow_missing_columns="allow_missing_columns" in fields,
        way_to_allow="the box below the text",
        corrections=tuple(corrections_in(fields)),
    )


def _sentences_of(fields: Mapping[str, str]) -> SentenceEnds:
    """Return where the sentences of a text end, as the form says.

    Raises:
        RequestError: the form names an unknown way.
    """
    given = fields.get("sentences", SentenceEnds.MODEL)
    if given not in list(SentenceEnds):
        raise RequestError(f"sentences={given[:60]} is not known; known: {', '.join(SentenceEnds)}")
    return SentenceEnds(given)


def corrections_in(fields: Mapping[str, str]) -> list[Correction]:
    """Return the corrections in the fields of the form,
    without those that the fields ``undo`` and ``forget`` undo.

    Raises:
        RequestError: a field cannot be read.
    """
    if "forget" in fields:
        return []
    found: dict[tuple[int, int], Correction] = {}

    def items(
        field: str, pattern: re.Pattern[str], form: str
    ) -> Iterator[tuple[Correction, tuple[str, ...]]]:
        for item in fields.get(field, "").split():
            if (match := pattern.fullmatch(item)) is None:
                raise RequestError(f"{field}={item[:60]} is not {form}; leave it out")
            sentence, word, *rest = match.groups(EMPTY)
            yield found.get(place := (int(sentence), int(word)), Correction(*place)), tuple(rest)

    for one, (head, relation) in items(
        "heads", _HEAD, "SENTENCE.WORD=HEAD or SENTENCE.WORD=HEAD:RELATION"
    ):
        found[one.sentence, one.word] = replace(one, head=int(head), relation=relation)
    for one, _ in items("own_heads", _OWN, "SENTENCE.WORD"):
        found[one.sentence, one.word] = replace(one, own_head=one.relation != EMPTY)
    for one, (upos,) in items("upos", _TAG, "SENTENCE.WORD=UPOS"):
        found[one.sentence, one.word] = replace(one, upos=upos)
    for one, (part,) in items("undo", _UNDO, "SENTENCE.WORD.head, .deprel or .upos"):
        found[one.sentence, one.word] = one.without(part)
    return [one for one in found.values() if one.parts]


def _fields_of(corrections: Iterable[Correction]) -> dict[str, str]:
    """Return the fields of the form that hold corrections."""
    found: dict[str, list[str]] = {"heads": [], "own_heads": [], "upos": []}
    for one in corrections:
        word = f"{one.sentence}.{one.word}"
        if one.head is not None:
            found["heads"].append(
                f"{word}={one.head}{'' if one.relation == EMPTY else f':{one.relation}'}"
            )
        if one.own_head:
            found["own_heads"].append(word)
        if one.upos != EMPTY:
            found["upos"].append(f"{word}={one.upos}")
    return {field: " ".join(items) for field, items in found.items()}


def example(service: Service) -> dict[str, str]:
    """Return the fields of a form with the model's example, as the model reads it:
    CoNLL-U with tags, text or words.
    """
    own = service.example or ""
    if service.needs_tags:
        return {"data": own}
    if service.tokenizer is not None and (found := re.search("^# text = (.+)$", own, re.MULTILINE)):
        return {"data": found[1]}
    return {
        "data": (
            write_words(
                read_raw_sentences(BytesIO(own.encode()), "the example"), "horizontal"
            ).strip()
        )
    }


def form_page(service: Service, fields: Mapping[str, str], parts: Iterable[str] = ()) -> str:
    """Return the page: the form as it was filled in, and parts of HTML below it."""
    how = (
        "some text"
        if service.tokenizer is not None
        else "one sentence per line, its words and punctuation separated by spaces"
    )
    note = f"Type {how}, or paste CoNLL-U."
    checkbox = ""
    if service.needs_tags:
        note += " This parser reads tags: paste CoNLL-U with tags like those of its treebank."
        checked = " checked" if "allow_missing_columns" in fields else ""
        checkbox = (
            f' <label><input type="checkbox" name="allow_missing_columns"{checked}> parse without'
            " tags anyway, far less accurately</label>"
        )
    ends = ""
    if service.tokenizer is not None:
        for value, meaning in _SENTENCE_ENDS.items():
            selected = " selected" * (fields.get("sentences") == value)
            ends += f'<option value="{value}"{selected}>{meaning}</option>'
        ends = f' <label>A text\'s sentences end <select name="sentences">{ends}</select></label>'
    shows = "" if service.example is None else ' <button name="example">An example</button>'
    given = note_on_dragging = ""
    if service.keeps_heads:
        note_on_dragging = f'\n<p class="note" hidden data-dragging>{_HOW_TO_CORRECT}</p>'
        for name, called, values in (
            ("relations", "relation", service.relations),
            ("tags", "UPOS", service.upos),
        ):
            options = "".join(f"<option>{text(value)}</option>" for value in values)
            note_on_dragging += (
                f'<select id="{name}" aria-label="{called}" hidden>{options}</select>'
            )
        try:
            kept = corrections_in(fields)
        except RequestError:  # the page says so
            kept = []
        hidden = "".join(
            f'<input type="hidden" name="{n}" value="{text(v)}">'
            for n, v in _fields_of(kept).items()
        )
        n = sum(len(one.parts) for one in kept)
        undo = f' <button name="forget">Undo {counted(n, "correction")}</button>' if n else ""
        given = f' <span id="given">{hidden}{undo}</span>'
    form = (
        '<form id="form" method="post" action="?" accept-charset="utf-8">'
        f'<p class="note"><label for="data">{text(note)}</label><span hidden data-typing>'
        " Ctrl+Enter parses.</span></p>\n"
        '<textarea id="data" name="data" rows="6" dir="auto" style="width: 100%; box-sizing:'
        ' border-box; font: inherit" '
        f"autofocus>\n{_as_typed(fields.get('data', ''))}</textarea>\n"
        f"<p><button>Parse</button>{shows}{given}{ends}{checkbox}</p></form>{note_on_dragging}"
    )
    return page(f"optimal-step: {service.name}", [STYLE, form, *parts], SCRIPT)


def warm_up(service: Service) -> None:
    """Compile the kernels that a first answer needs, or load them if they are compiled."""
    compile_from_now_on()
    request = page_request(service, {"data": "a b c", "allow_missing_columns": ""})
    corrected = (
        replace(request, corrections=(Correction(1, 1, 0),)) if service.keeps_heads else request
    )
    answer, _ = service.answers([request, corrected])
    if isinstance(answer, str):  # text may have no words for a tokenizer
        result_parts(service, answer)


def error_part(error: Exception) -> str:
    """Return an error as a part of the page."""
    return f'<p class="wrong" role="alert">{text(str(error))}</p>'


def result_parts(
    service: Service, conllu: str, corrections: Iterable[Correction] = ()
) -> list[str]:
    """Return the trees of a parsed document, with the candidate arcs of each word and the steps of
    the computations.

    Args:
        service: the model at work.
        conllu: the document.
        corrections: what a person corrected in it.
    """
    sentences = [
        sentence
        for sentence in read_raw_sentences(BytesIO(conllu.encode()), "data")
        if len(sentence)
    ]
    if not sentences:
        return ['<p class="note">There are no words here.</p>']
    parts = ['<p><button form="form" name="download">Download CoNLL-U</button></p>']
    by_sentence: defaultdict[int, list[Correction]] = defaultdict(list)
    for one in corrections:
        by_sentence[one.sentence].append(one)
    parts += [
        _sentence(service, sentence, by_sentence[sentence.number])
        for sentence in sentences[:SENTENCES]
    ]
    if len(sentences) > SENTENCES:
        parts.append(
            f'<p class="note">The first {SENTENCES} of {len(sentences):,} sentences are shown.</p>'
        )
    return parts


def _sentence(service: Service, sentence: RawSentence, corrections: Sequence[Correction]) -> str:
    forms = sentence.column(FORM)
    heads = sentence.heads(several_roots=True)
    tree = DrawnTree(forms, sentence.column(UPOS), heads, sentence.column(DEPREL))
    shown, copy_drawing = f'<p class="note">Sentences of up to {LONGEST} words are drawn.</p>', ""
    if len(tree) <= LONGEST:
        shown, copy_drawing = drawing(tree), ' <button hidden data-copy="svg">copy SVG</button>'
    lines = _as_typed("".join(sentence.lines).strip())
    copying = (
        f'<p><button hidden data-copy="pre">copy CoNLL-U</button>{copy_drawing}</p>\n'
        f"<details><summary>CoNLL-U</summary>\n<pre>{lines}\n\n</pre></details>"
    )
    note = ['<p class="note">Corrected sentences have no step-by-step view.</p>']
    computation = note if corrections else _computation(service, sentence, tree)
    parts = [
        f"<h2>Sentence {sentence.number}</h2>",
        shown,
        *_listed_corrections(tree, corrections),
        copying,
        *computation,
    ]
    listed = " ".join(map(str, heads))
    return "\n".join(
        [
            f'<div class="sentence" data-number="{sentence.number}" data-heads="{listed}">',
            *parts,
            "</div>",
        ]
    )


def _listed_corrections(tree: DrawnTree, corrections: Iterable[Correction]) -> list[str]:
    """Return a list of the corrected words, with a button for each part that undoes it."""
    rows = []
    for one in sorted(corrections, key=lambda one: one.word):
        values = {
            "head": _word(tree.forms, one.head or 0),
            "deprel": one.relation,
            "upos": one.upos,
        }
        undone = []
        for part in one.parts:
            both = part == "head" and "deprel" in one.parts
            value = f"{one.sentence}.{one.word}.{part}"
            button = (
                '<button form="form" name="undo"'
                f' value="{value}">undo{" both" if both else ""}</button>'
            )
            undone.append(f"{_PARTS[part]} <b>{text(values[part])}</b> {button}")
        rows.append(f"<li>{text(_word(tree.forms, one.word))}: {', '.join(undone)}</li>")
    return (
        ['<p class="note">Corrected by you:</p>\n<ul class="corrections">', *rows, "</ul>"]
        if rows
        else []
    )


def _computation(service: Service, sentence: RawSentence, tree: DrawnTree) -> list[str]:
    """Return the candidate arcs of each word, and the steps;
    or a note that says why there are none.
    """
    model = service.model
    if not isinstance(model, NetworkModel):
        return ['<p class="note">A linear model has no probabilities to show.</p>']
    if len(tree) > WORDS:
        return [f'<p class="note">Steps are shown for sentences of up to {WORDS} words.</p>']
    oracle = oracles.create(
        transitions.system_class(model.system.name).oracles[0], None, **model.system.options
    )
    trace = model_trace(model, RawColumns(sentence), len(tree), oracle)
    parts = []
    if trace.heads != tree.heads:
        parts.append(
            '<p class="note">This parser searches with a beam. The steps below are those of a'
            " greedy parser, which finds another tree.</p>"
        )
    steps = steps_as_html(trace, drawn(trace, tree.forms, tree.tags, None))
    probabilities = f"<summary>Probabilities</summary>\n{_candidates(trace, tree.forms)}"
    return [
        *parts,
        f'<details class="probabilities">{probabilities}</details>',
        (
            f"<details><summary>The computation in {len(trace.steps)} "
            f"steps</summary>\n{steps}\n</details>"
        ),
    ]


def _candidates(trace: Trace, forms: Sequence[str]) -> str:
    found = candidates(trace)
    calibrated = any(taken.calibrated is not None for taken, *_ in found)
    rows, folded = [], []
    for number, (form, (taken, *others)) in enumerate(zip(forms, found, strict=True), 1):
        right = taken.calibrated if taken.calibrated is not None else taken.probability
        likely = [one for one in others[:_OTHERS] if one.probability >= _FOLDED]
        word = str(number), form
        rows.append(
            (
                *word,
                _word(forms, taken.head),
                taken.relation,
                f"{right:.4f}",
                str(taken.step),
                _listed(forms, likely),
            )
        )
        if unlikely := [one for one in others[len(likely) : _OTHERS] if one.probability >= _FEW]:
            folded.append((*word, _listed(forms, unlikely)))
    head = ["", "word", "head", "relation", "probability", "step", "other arcs considered"]
    first = (
        "Probability: of head and relation being right, calibrated on the dev part."
        if calibrated
        else (
            "Probability: of the step that made the arc, "
            "among the transitions allowed there (this model is not calibrated)."
        )
    )
    others_note = (
        "For other arcs: of the steps that could have made them, not calibrated; "
        "they do not add up to 1."
    )
    shown = f'{table(head, rows)}\n<p class="note">{first} {others_note}</p>'
    if folded:
        shown += (
            "\n<details><summary>Other arcs below "
            f"1%</summary>\n{table([*head[:2], head[-1]], folded)}\n</details>"
        )
    return shown


def _listed(forms: Sequence[str], arcs: Iterable[Candidate]) -> str:
    return "; ".join(
        f"{_word(forms, one.head)} ({one.relation}) {one.probability:.4f} at step {one.step}"
        for one in arcs
    )


def _word(forms: Sequence[str], number: int) -> str:
    return f"{forms[number - 1]}_{number}" if number else "ROOT"


def _as_typed(data: str) -> str:
    """Return text for HTML with its line ends and tabs."""
    return "\n".join(
        "\t".join(map(text, line.split("\t"))) for line in data.replace("\r\n", "\n").split("\n")
    )
