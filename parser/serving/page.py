"""The web page: it parses text that is typed or pasted, and draws the trees. It also works without its script.

With the script, users correct a head by dragging, and a relation by choosing another. Corrections are kept, and the rest is
parsed again (decoding/given_arcs.py). The form's field ``heads`` holds them, separated by spaces: SENTENCE.WORD=HEAD or
SENTENCE.WORD=HEAD:RELATION.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from io import BytesIO

import oracles
from parser import transitions
from parser.conllu.checks import DEPREL, EMPTY, FORM, UPOS, counted
from parser.conllu.stream import RawSentence, read_raw_sentences
from parser.decoding.files.file_parsing import RawColumns
from parser.drawing import LONGEST, DrawnTree
from parser.drawing.html import SCRIPT, drawing, page, table, text
from parser.model.model import Model
from parser.reports.trace import Candidate, Trace, candidates, drawn, model_trace, steps_as_html
from parser.serving.service import Request, RequestError, Service, write_words

# Sentences of a document that are shown, and words of the longest sentence whose steps are shown.
SENTENCES, WORDS = 10, 80

# Other arcs shown for a word, their lowest probability, and the probability below which they are folded away.
_OTHERS, _FEW, _FOLDED = 3, 0.0001, 0.01

# Corrections: a word is dragged to its head, or above the drawing to make it the root; a click on a relation lists all
# relations. The trees shown are corrected, whatever has been typed since. Only corrected sentences are replaced, so that the
# page stays.
_CORRECTING = r"""
const form = document.querySelector("form"), typed = form.elements.data, relations = document.getElementById("relations");
const edited = () => typed.value !== typed.defaultValue;
typed.oninput = () => document.querySelectorAll("[name=download], [name=forget]").forEach(one => { one.disabled = edited(); });
const given = () => form.elements.heads.value.split(" ").filter(Boolean);
let waiting = false;
const correct = async (corrections, number) => {
  const fields = new URLSearchParams(new FormData(form)), find = n => document.querySelector(`.sentence[data-number="${n}"]`);
  const changed = new Set([...given(), ...corrections].map(one => one.split(".")[0]));
  fields.set("data", typed.defaultValue);
  fields.set("heads", corrections.join(" "));
  document.querySelectorAll(".sentence > [role=alert]").forEach(one => one.remove());
  waiting = true;
  let page = null, wrong = "The server does not answer; try again.";
  try {
    const answer = await fetch(form.action, {method: "POST", body: fields});
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
    wrong = answer.ok ? "" : (page.querySelector("[role=alert]") || page.body).textContent;
  } catch {}
  waiting = false;
  if (wrong) {
    const told = Object.assign(document.createElement("p"), {className: "wrong", role: "alert", textContent: wrong});
    find(number).querySelector(".tree, .note").after(told);
    return;
  }
  document.body.style.minHeight = `${document.body.offsetHeight}px`;
  document.getElementById("given").replaceWith(page.getElementById("given"));
  for (const made of page.querySelectorAll(".sentence")) {
    if (!changed.has(made.dataset.number)) continue;
    const old = find(made.dataset.number), left = old.querySelector(".tree").scrollLeft;
    made.querySelector("details").open = old.querySelector("details").open;
    old.replaceWith(made);
    made.querySelector(".tree").scrollLeft = left;
    begin(made);
    correctable(made);
  }
  typed.oninput();
};
const correctable = part => {
  for (const svg of part.querySelectorAll(".sentence > .tree svg")) {
    const sentence = svg.closest(".sentence"), number = sentence.dataset.number;
    const words = [...svg.querySelectorAll('text[font-size="15"]')];
    const x = word => +words[word - 1].getAttribute("x"), y = +words[0].getAttribute("y") - 17;
    const at = event => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const near = point => {
      const away = words.map((_, i) => Math.abs(x(i + 1) - point.x));
      return 1 + away.indexOf(Math.min(...away));
    };
    const target = point => point.y < 20 ? 0 : point.y > y - 15 ? near(point) : null;
    const give = (word, arc) => {
      const isRoot = one => one.startsWith(`${number}.`) && /=0(:|$)/.test(one);
      const others = given().filter(one => !one.startsWith(`${number}.${word}=`) && !(arc === 0 && isRoot(one)));
      correct([...others, `${number}.${word}=${arc}`], number);
    };
    const choose = (word, relation, event) => {
      relations.value = relation;
      if (relations.value !== relation) return;
      relations.hidden = false;
      relations.style.left = `${Math.min(event.pageX, document.body.clientWidth - relations.offsetWidth)}px`;
      relations.style.top = `${event.pageY}px`;
      relations.onblur = () => { relations.hidden = true; };
      relations.onchange = () => {
        relations.blur();
        give(word, `${sentence.dataset.heads.split(" ")[word - 1]}:${relations.value}`);
      };
      relations.focus();
      if (relations.showPicker) relations.showPicker();
    };
    let child = null, line = null, start = null;
    svg.classList.add("draggable");
    svg.onpointerdown = event => {
      const arc = event.target.closest("g[data-child]"), point = at(event);
      child = waiting ? null : arc ? +arc.dataset.child : point.y > y - 5 ? near(point) : null;
      if (child === null) return;
      event.preventDefault();
      svg.setPointerCapture(event.pointerId);
      start = event;
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
      const word = child, head = target(at(event)), relation = start.target.closest("g[data-child] text");
      line.remove();
      child = null;
      const isClick = Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) < 5;
      if (isClick && relation) choose(word, relation.textContent, event);
      if (isClick || head === null || head === word) return;
      give(word, head);
    };
    svg.onpointercancel = () => { if (line) line.remove(); child = null; };
    for (const [, one, relation] of given().map(one => one.match(/^(\d+\.\d+)=\d+(:.*)?$/))) {
      const arc = one.startsWith(`${number}.`) && svg.querySelector(`g[data-child="${one.split(".")[1]}"]`);
      if (arc) arc.classList.add("given", ...(relation ? ["named"] : []));
    }
  }
};
if (form.elements.heads) {
  form.onsubmit = event => {
    if (event.submitter && event.submitter.name === "forget") {
      event.preventDefault();
      if (!waiting) correct([], given()[0].split(".")[0]);
    } else if (edited()) form.elements.heads.value = "";
  };
  document.querySelector("[data-dragging]").hidden = !document.querySelector(".sentence > .tree");
  correctable(document);
}
"""
# A sentence that replaces another gets the same handlers as the page.
_SCRIPT = f"const begin = document => {{{SCRIPT}}};\nbegin(document);\n{_CORRECTING}"
_HOW_TO_CORRECT = (
    "If a head is wrong, drag the word or its arc to the word that should be its head, or above the drawing to make it the "
    "root. If a relation is wrong, click it and choose another. Your corrections are kept, and the rest is parsed again."
)
_STYLE = (
    "<style>.draggable g[data-child], .draggable text { cursor: grab; touch-action: none; user-select: none; } "
    ".draggable g[data-child] text { cursor: pointer; } .draggable .given path { stroke-width: 3; } "
    ".draggable .named text { font-weight: bold; } .dragged { stroke: #0072b2; stroke-width: 2; stroke-dasharray: 4 3; } "
    "body { overflow-anchor: none; } #relations { position: absolute; font: inherit; }</style>"
)
_GIVEN = re.compile(r"([0-9]{1,6})\.([0-9]{1,6})=([0-9]{1,6})(?::(\S+))?")

# Whatever the answer contains, the browser loads nothing and runs no script but this one.
_HASH = b64encode(sha256(_SCRIPT.encode()).digest()).decode()
HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; script-src 'sha256-{_HASH}'; style-src 'unsafe-inline'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def page_request(service: Service, fields: Mapping[str, str]) -> Request:
    """Return the request for typed data: CoNLL-U if a line has ten columns, text if there is a tokenizer, else words."""
    data = fields.get("data", "").replace("\r\n", "\n")
    is_conllu = any(line.count("\t") == 9 for line in data.split("\n"))
    return Request(
        data=f"{data}\n" if is_conllu and not data.endswith("\n") else data,
        tokenizer=not is_conllu and service.tokenizer is not None,
        tagger="tagger" in service.steps,
        parser=True,
        input="conllu" if is_conllu else "horizontal",
        allow_missing_columns="allow_missing_columns" in fields,
        way_to_allow="the box below the text",
        heads=given_heads(fields),
    )


def given_heads(fields: Mapping[str, str]) -> tuple[tuple[int, int, int, str], ...]:
    """Return the heads in the field ``heads``; see Request.

    Raises:
        RequestError: the field cannot be read.
    """
    if "forget" in fields:
        return ()
    found = []
    for one in fields.get("heads", "").split():
        if (match := _GIVEN.fullmatch(one)) is None:
            raise RequestError(f"heads={one[:60]} is not SENTENCE.WORD=HEAD or SENTENCE.WORD=HEAD:RELATION; leave it out")
        sentence, word, head, relation = match.groups(EMPTY)
        found.append((int(sentence), int(word), int(head), relation))
    return tuple(found)


def example(service: Service) -> dict[str, str]:
    """Return the fields of a form with the model's example, as the model reads it: CoNLL-U with tags, text or words."""
    own = service.example or ""
    if service.needs_tags:
        return {"data": own}
    if service.tokenizer is not None and (found := re.search("^# text = (.+)$", own, re.MULTILINE)):
        return {"data": found[1]}
    return {"data": write_words(read_raw_sentences(BytesIO(own.encode()), "the example"), "horizontal").strip()}


def form_page(service: Service, fields: Mapping[str, str], parts: Iterable[str] = ()) -> str:
    """Return the page: the form as it was filled in, and parts of HTML below it."""
    how = (
        "some text" if service.tokenizer is not None else "one sentence per line, its words and punctuation separated by spaces"
    )
    note = f"Type {how}, or paste CoNLL-U."
    checkbox = ""
    if service.needs_tags:
        note += " This parser reads tags: paste CoNLL-U with tags like those of its treebank."
        checked = " checked" if "allow_missing_columns" in fields else ""
        checkbox = (
            f' <label><input type="checkbox" name="allow_missing_columns"{checked}> parse without tags anyway, '
            "far less accurately</label>"
        )
    shows = "" if service.example is None else ' <button name="example">An example</button>'
    given = note_on_dragging = ""
    if service.keeps_heads:
        options = "".join(f"<option>{text(relation)}</option>" for relation in service.relations)
        note_on_dragging = (
            f'\n<p class="note" hidden data-dragging>{_HOW_TO_CORRECT}</p>'
            f'<select id="relations" aria-label="relation" hidden>{options}</select>'
        )
        kept = "" if "forget" in fields else fields.get("heads", "")
        n = len(kept.split())
        undo = f' <button name="forget">Undo {counted(n, "correction")}</button>' if n else ""
        given = f' <span id="given"><input type="hidden" name="heads" value="{text(kept)}">{undo}</span>'
    form = (
        '<form id="form" method="post" action="?" accept-charset="utf-8">'
        f'<p class="note"><label for="data">{text(note)}</label></p>\n'
        '<textarea id="data" name="data" rows="6" dir="auto" style="width: 100%; box-sizing: border-box; font: inherit" '
        f"autofocus>\n{_as_typed(fields.get('data', ''))}</textarea>\n"
        f"<p><button>Parse</button>{shows}{given}{checkbox}</p></form>{note_on_dragging}"
    )
    return page(service.name, [_STYLE, form, *parts], _SCRIPT)


def warm_up(service: Service) -> None:
    """Compiles the kernels that a first answer needs, or loads them if they are compiled."""
    request = page_request(service, {"data": "a b c", "allow_missing_columns": ""})
    corrected = replace(request, heads=((1, 1, 0, EMPTY),)) if service.keeps_heads else request
    answer, _ = service.answers([request, corrected])
    if isinstance(answer, str):  # text may have no words for a tokenizer
        result_parts(service, answer)


def error_part(error: Exception) -> str:
    """Return an error as a part of the page."""
    return f'<p class="wrong" role="alert">{text(str(error))}</p>'


def result_parts(service: Service, conllu: str, heads: Iterable[tuple[int, int, int, str]] = ()) -> list[str]:
    """Return the trees of a parsed document, with the candidate arcs of each word and the steps of the computations.

    ``heads``: the given heads; see Request.
    """
    sentences = [sentence for sentence in read_raw_sentences(BytesIO(conllu.encode()), "data") if len(sentence)]
    if not sentences:
        return ['<p class="note">There are no words here.</p>']
    parts = ['<p><button form="form" name="download">Download CoNLL-U</button></p>']
    given = {sentence for sentence, *_ in heads}
    for sentence in sentences[:SENTENCES]:
        parts.append(_sentence(service, sentence, f"Sentence {sentence.number}", sentence.number in given))
    if len(sentences) > SENTENCES:
        parts.append(f'<p class="note">The first {SENTENCES} of {len(sentences):,} sentences are shown.</p>')
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
    note = ['<p class="note">Corrected sentences have no step-by-step view.</p>']
    computation = note if has_given else _computation(service, sentence, tree)
    parts = [f"<h2>{text(title)}</h2>", shown, copying, *computation]
    listed = " ".join(map(str, heads))
    return "\n".join([f'<div class="sentence" data-number="{sentence.number}" data-heads="{listed}">', *parts, "</div>"])


def _computation(service: Service, sentence: RawSentence, tree: DrawnTree) -> list[str]:
    """Return the candidate arcs of each word, and the steps; or a note that says why there are none."""
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
            '<p class="note">This parser searches with a beam. The steps below are those of a greedy parser, which finds '
            "another tree.</p>"
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
    rows, folded = [], []
    for number, (form, (taken, *others)) in enumerate(zip(forms, found, strict=True), 1):
        right = taken.calibrated if taken.calibrated is not None else taken.probability
        likely = [one for one in others[:_OTHERS] if one.probability >= _FOLDED]
        word = str(number), form
        rows.append((*word, _node(forms, taken), taken.relation, f"{right:.4f}", str(taken.step), _listed(forms, likely)))
        if unlikely := [one for one in others[len(likely) : _OTHERS] if one.probability >= _FEW]:
            folded.append((*word, _listed(forms, unlikely)))
    head = ["", "word", "head", "relation", "probability", "step", "other arcs considered"]
    first = (
        "Probability: of head and relation being right, calibrated on the dev part."
        if calibrated
        else "Probability: of the step that made the arc, among the transitions allowed there (this model is not calibrated)."
    )
    others_note = "For other arcs: of the steps that could have made them, not calibrated; they do not add up to 1."
    shown = f'{table(head, rows)}\n<p class="note">{first} {others_note}</p>'
    if folded:
        shown += f"\n<details><summary>Other arcs below 1%</summary>\n{table([*head[:2], head[-1]], folded)}\n</details>"
    return shown


def _listed(forms: Sequence[str], arcs: Iterable[Candidate]) -> str:
    return "; ".join(f"{_node(forms, one)} ({one.relation}) {one.probability:.4f} at step {one.step}" for one in arcs)


def _node(forms: Sequence[str], candidate: Candidate) -> str:
    return f"{forms[candidate.head - 1]}_{candidate.head}" if candidate.head else "ROOT"


def _as_typed(data: str) -> str:
    """Return text for HTML with its line ends and tabs."""
    return "\n".join("\t".join(map(text, line.split("\t"))) for line in data.replace("\r\n", "\n").split("\n"))
