"""The page where a person types or pastes a sentence and sees what the parser makes of it. It can do without its script.

With the script, a head can be given by dragging: it is kept, and the rest is parsed again (decoding/given_arcs.py). The field
``heads`` of the form has what is given, SENTENCE.WORD=HEAD with spaces between.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from io import BytesIO

import oracles
from parser import transitions
from parser.conllu.checks import DEPREL, FORM, UPOS
from parser.conllu.stream import RawSentence, read_raw_sentences
from parser.decoding.files.file_parsing import RawColumns
from parser.decoding.files.missing_columns import read_columns
from parser.drawing.drawn_tree import LONGEST, DrawnTree
from parser.drawing.html import SCRIPT, drawing, page, table, text
from parser.model.model import Model
from parser.reports.trace import Candidate, Trace, candidates, drawn, model_trace, steps_as_html
from parser.serving.service import Request, RequestError, Service, TimedRequest, with_all_steps

# What is shown of a long document, and the longest sentence that is traced.
SENTENCES, WORDS = 10, 80

# Arcs of a word that are shown besides the one that it got, if they are at least so probable.
_OTHERS, _FEW = 3, 0.0001

# What the button for an example parses. (Nivre 2009, Figure 1)
_EXAMPLE = "A/DET hearing/NOUN is/AUX scheduled/VERB on/ADP the/DET issue/NOUN today/NOUN"

# Heads that are given: words are dragged to their heads, or above the drawing for the root. Another text has other words.
_DRAGGING = """
const heads = document.querySelector("input[name=heads]");
if (heads) {
  const given = () => heads.value.split(" ").filter(Boolean);
  document.getElementById("data").addEventListener("input", () => { heads.value = ""; });
  document.querySelector("[data-dragging]").hidden = !document.querySelector(".sentence > .tree");
  for (const svg of document.querySelectorAll(".sentence > .tree svg")) {
    const sentence = svg.closest(".sentence").dataset.number;
    const words = [...svg.querySelectorAll('text[font-size="15"]')];
    const x = word => +words[word - 1].getAttribute("x"), y = +words[0].getAttribute("y") - 17;
    const at = event => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const near = point => {
      const away = words.map((_, i) => Math.abs(x(i + 1) - point.x));
      return 1 + away.indexOf(Math.min(...away));
    };
    const target = point => point.y < 20 ? 0 : point.y > y - 15 ? near(point) : null;
    let child = null, line = null;
    svg.classList.add("draggable");
    svg.onpointerdown = event => {
      const arc = event.target.closest("g[data-child]"), point = at(event);
      child = arc ? +arc.dataset.child : point.y > y - 5 ? near(point) : null;
      if (child === null) return;
      event.preventDefault();
      svg.setPointerCapture(event.pointerId);
      line = svg.appendChild(document.createElementNS(svg.namespaceURI, "path"));
      line.setAttribute("class", "dragged");
    };
    svg.onpointermove = event => {
      if (child === null) return;
      const point = at(event), head = target(point), end = head ? [x(head), y] : [point.x, point.y];
      line.setAttribute("d", `M${x(child)},${y} L${end}`);
    };
    svg.onpointerup = event => {
      if (child === null) return;
      const word = child, head = target(at(event));
      line.remove();
      child = null;
      if (head === null || head === word) return;
      const isRoot = one => one.startsWith(`${sentence}.`) && one.endsWith("=0");
      const others = given().filter(one => !one.startsWith(`${sentence}.${word}=`) && !(head === 0 && isRoot(one)));
      heads.value = [...others, `${sentence}.${word}=${head}`].join(" ");
      heads.form.submit();
    };
    svg.onpointercancel = () => { if (line) line.remove(); child = null; };
    for (const one of given().filter(one => one.startsWith(`${sentence}.`))) {
      const arc = svg.querySelector(`g[data-child="${one.slice(sentence.length + 1).split("=")[0]}"]`);
      if (arc) arc.classList.add("given");
    }
  }
}
"""
_SCRIPT = SCRIPT + _DRAGGING
_HOW_TO_DRAG = (
    "If a head is wrong, drag the word or its arc to the word that should be its head, or above the drawing to make it the "
    "root. Heads that you give are kept, and the rest is parsed again."
)
_DRAGGING_STYLE = (
    "<style>.draggable g[data-child], .draggable text { cursor: grab; touch-action: none; user-select: none; } "
    ".draggable .given path { stroke-width: 3; } .dragged { stroke: #0072b2; stroke-width: 2; stroke-dasharray: 4 3; }</style>"
)
_GIVEN = re.compile(r"([0-9]{1,6})\.([0-9]{1,6})=([0-9]{1,6})")

# The answer may load nothing from anywhere and run no script but this one, whatever stands in it.
_HASH = b64encode(sha256(_SCRIPT.encode()).digest()).decode()
HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; script-src 'sha256-{_HASH}'; style-src 'unsafe-inline'; "
    "form-action 'self'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def page_request(service: Service, fields: Mapping[str, str]) -> Request:
    """What is to be done with what was typed: CoNLL-U if its lines are, text if there is a tokenizer, else words."""
    data = fields.get("data", "").replace("\r\n", "\n")
    is_conllu = any(line.count("\t") == 9 for line in data.split("\n"))
    request = Request(
        data=f"{data}\n" if is_conllu and not data.endswith("\n") else data,
        tokenizer=not is_conllu and service.tokenizer is not None,
        input="conllu" if is_conllu else "horizontal",
        allow_missing_columns="allow_missing_columns" in fields,
        way_to_allow="the box below the text",
        heads=given_heads(fields),
    )
    return with_all_steps(request, service)


def given_heads(fields: Mapping[str, str]) -> tuple[tuple[int, int, int], ...]:
    """What the field ``heads`` says: (sentence, word, head).

    Raises:
        RequestError: it says something else.
    """
    if "forget" in fields:
        return ()
    found = []
    for one in fields.get("heads", "").split():
        if (match := _GIVEN.fullmatch(one)) is None:
            raise RequestError(f"heads={one[:60]} is not SENTENCE.WORD=HEAD; leave it out")
        sentence, word, head = map(int, match.groups())
        found.append((sentence, word, head))
    return tuple(found)


def example(service: Service) -> dict[str, str]:
    """The fields of a form with an example: CoNLL-U with tags for a model that reads them, else words."""
    words = [word.split("/") for word in _EXAMPLE.split()]
    if not service.needs_tags:
        return {"data": " ".join(form for form, _ in words)}
    lines = ("\t".join([str(number), form, "_", tag, *"_" * 6]) + "\n" for number, (form, tag) in enumerate(words, 1))
    more = read_columns(service.model.vocabularies.by_attribute) - {FORM, UPOS}
    return {"data": "".join(lines)} | ({"allow_missing_columns": ""} if more else {})


def form_page(service: Service, fields: Mapping[str, str], parts: Iterable[str] = ()) -> str:
    """The page with the form, as it was filled in, and parts of HTML below it."""
    how = (
        "some text" if service.tokenizer is not None else "one sentence per line, its words and punctuation separated by spaces"
    )
    note = f"Type {how}, or paste CoNLL-U."
    checkbox = ""
    if service.needs_tags:
        note += " This parser reads tags, so give it CoNLL-U with the tags that it learned from."
        checked = " checked" if "allow_missing_columns" in fields else ""
        checkbox = (
            f' <label><input type="checkbox" name="allow_missing_columns"{checked}> parse without tags anyway, '
            "far less accurately</label>"
        )
    given = note_on_dragging = ""
    if service.keeps_heads:
        note_on_dragging = f'\n<p class="note" hidden data-dragging>{_HOW_TO_DRAG}</p>'
        kept = "" if "forget" in fields else fields.get("heads", "")
        given = f'<input type="hidden" name="heads" value="{text(kept)}">'
        if kept:
            n = len(kept.split())
            given += f' <button name="forget">Let go of {n} given head{"s" * (n != 1)}</button>'
    form = (
        f'<form method="post" accept-charset="utf-8"><p class="note"><label for="data">{text(note)}</label></p>\n'
        '<textarea id="data" name="data" rows="6" dir="auto" style="width: 100%; box-sizing: border-box; font: inherit" '
        f"autofocus>\n{_as_typed(fields.get('data', ''))}</textarea>\n"
        f'<p><button>Parse</button> <button name="example">An example</button>{given}{checkbox}</p></form>{note_on_dragging}'
    )
    return page(service.name, [_DRAGGING_STYLE, form, *parts], _SCRIPT)


def warm_up(service: Service) -> None:
    """Compiles what a first answer would have to wait for, or loads it where it has been compiled before."""
    request = page_request(service, {"data": "a b c", "allow_missing_columns": ""})
    [answer] = service.answers([TimedRequest(request)])
    if isinstance(answer, str):  # text may have no words for a tokenizer
        result_parts(service, answer)


def error_part(error: Exception) -> str:
    """An error as a part of the page."""
    return f'<p class="wrong" role="alert">{text(str(error))}</p>'


def without_last_head(fields: Mapping[str, str]) -> dict[str, str]:
    """The fields before the last head was given; with it, there is no tree to go on from."""
    return {name: " ".join(value.split()[:-1]) if name == "heads" else value for name, value in fields.items()}


def result_parts(service: Service, conllu: str, heads: Iterable[tuple[int, int, int]] = ()) -> list[str]:
    """The trees of a parsed document, with the candidates of the words and the steps of the computations.

    ``heads``: those that were given; see Request.
    """
    sentences = [sentence for sentence in read_raw_sentences(BytesIO(conllu.encode()), "data") if len(sentence)]
    if not sentences:
        return ['<p class="note">There are no words here.</p>']
    parts = []
    given = {sentence for sentence, _, _ in heads}
    for sentence in sentences[:SENTENCES]:
        parts.append(_sentence(service, sentence, f"Sentence {sentence.number}", sentence.number in given))
    if len(sentences) > SENTENCES:
        parts.append(f'<p class="note">Of {len(sentences):,} sentences, the first {SENTENCES} are shown.</p>')
    return parts


def _sentence(service: Service, sentence: RawSentence, title: str, has_given: bool) -> str:
    forms = sentence.column(FORM)
    heads = sentence.heads(several_roots=True)
    tree = DrawnTree(forms, sentence.column(UPOS), heads, sentence.column(DEPREL))
    shown, copy_drawing = f'<p class="note">Sentences of up to {LONGEST} words are drawn.</p>', ""
    if len(tree) <= LONGEST:
        shown, copy_drawing = drawing(tree), ' <button hidden data-copy="svg">copy SVG</button>'
    copying = (
        f'<p><button hidden data-copy="pre">copy CoNLL-U</button>{copy_drawing}</p>\n'
        f"<details><summary>CoNLL-U</summary>\n<pre>{_as_typed(''.join(sentence.lines).strip())}\n\n</pre></details>"
    )
    note = ['<p class="note">Some of its heads were given: no computation is shown.</p>']
    computation = note if has_given else _computation(service, sentence, tree)
    parts = [f"<h2>{text(title)}</h2>", shown, copying, *computation]
    return "\n".join([f'<div class="sentence" data-number="{sentence.number}">', *parts, "</div>"])


def _computation(service: Service, sentence: RawSentence, tree: DrawnTree) -> list[str]:
    """The candidates of the words, and the steps; or why there are none."""
    model = service.model
    if not isinstance(model, Model):
        return ['<p class="note">A linear model has no probabilities to show.</p>']
    if len(tree) > WORDS:
        return [f'<p class="note">Steps are shown for sentences of up to {WORDS} words.</p>']
    oracle = oracles.create(transitions.system_class(model.system.name).oracles[0], None, **model.system.options)
    trace = model_trace(model, RawColumns(sentence), len(tree), oracle)
    parts = []
    if trace.heads != tree.heads:
        parts.append(
            '<p class="note">The parser is not greedy. What follows are the steps of a greedy one, which finds another '
            "tree.</p>"
        )
    steps = steps_as_html(trace, drawn(trace, tree.forms, tree.tags, None))
    return [
        *parts,
        _candidates(trace, tree.forms),
        f"<details><summary>The computation in {len(trace.steps)} steps</summary>\n{steps}\n</details>",
    ]


def _candidates(trace: Trace, forms: Sequence[str]) -> str:
    found = candidates(trace)
    calibrated = any(taken.calibrated is not None for taken, *_ in found)
    rows = []
    for number, (form, (taken, *others)) in enumerate(zip(forms, found, strict=True), 1):
        right = taken.calibrated if taken.calibrated is not None else taken.probability
        shown = "; ".join(
            f"{_node(forms, one)} ({one.relation}) {one.probability:.4f} at step {one.step}"
            for one in others[:_OTHERS]
            if one.probability >= _FEW
        )
        rows.append((str(number), form, _node(forms, taken), taken.relation, f"{right:.4f}", str(taken.step), shown))
    head = ["", "word", "head", "relation", "probability", "step", "other arcs considered"]
    first = (
        "Probability: that head and relation are right, calibrated on the dev part."
        if calibrated
        else "Probability: of the step that made the arc, among the transitions allowed there; this model's are not calibrated."
    )
    others_note = "Those of other arcs are of the steps that could have made them, not calibrated: they do not add up to 1."
    return f'{table(head, rows)}\n<p class="note">{first} {others_note}</p>'


def _node(forms: Sequence[str], candidate: Candidate) -> str:
    return f"{forms[candidate.head - 1]}_{candidate.head}" if candidate.head else "ROOT"


def _as_typed(data: str) -> str:
    """Text as it was typed, line ends and tabs included."""
    return "\n".join("\t".join(map(text, line.split("\t"))) for line in data.replace("\r\n", "\n").split("\n"))
