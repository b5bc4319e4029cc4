"""The script and the style of the page. Without the script, the page parses and draws, and undoes
corrections, but makes none.

A word or its arc is dragged to its head, or above the drawing to make the word the root. A click on
a relation, or on the UPOS below a word, lists all values. Corrections apply to the trees shown,
whatever has been typed since. Only corrected sentences are replaced, so that the page stays. The
form's fields ``heads``, ``own_heads`` and ``upos`` hold the corrections (page.py).
"""

from parser.drawing.html import SCRIPT as _STEPS

_CORRECTING = r"""
const form = document.querySelector("form"), typed = form.elements.data;
const parse = form.querySelector("button");
const relations = document.getElementById("relations"), tags = document.getElementById("tags");
const edited = () => typed.value !== typed.defaultValue;
typed.oninput = () => {
  const changing = document.querySelectorAll("[name=download], [name=forget], [name=undo]");
  changing.forEach(one => { one.disabled = edited(); });
};
typed.onkeydown = event => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  form.requestSubmit(parse);
};
document.querySelector("[data-typing]").hidden = false;
const fields = ["heads", "own_heads", "upos"];
const given = field => form.elements[field].value.split(" ").filter(Boolean);
const folds = part => [...part.querySelectorAll(":scope > details")];
const about = fold => fold.querySelector("summary").textContent.split(" ")[0];
let waiting = false;
const correct = async (changes, number) => {
  if (waiting) return;
  const sent = new URLSearchParams(new FormData(form));
  const find = n => document.querySelector(`.sentence[data-number="${n}"]`);
  const changed = new Set([number, ...fields.flatMap(given).map(one => one.split(".")[0])]);
  sent.set("data", typed.defaultValue);
  for (const [field, value] of Object.entries(changes)) sent.set(field, value);
  document.querySelectorAll(".sentence > [role=alert]").forEach(one => one.remove());
  waiting = true;
  let page = null, wrong = "The server does not answer; try again.";
  try {
    const answer = await fetch(form.action, {method: "POST", body: sent});
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
    wrong = answer.ok ? "" : (page.querySelector("[role=alert]") || page.body).textContent;
  } catch {}
  waiting = false;
  if (wrong) {
    const told = document.createElement("p");
    Object.assign(told, {className: "wrong", role: "alert", textContent: wrong});
    find(number).querySelector(".tree, .note").after(told);
    return;
  }
  document.body.style.minHeight = `${document.body.offsetHeight}px`;
  document.getElementById("given").replaceWith(page.getElementById("given"));
  for (const made of page.querySelectorAll(".sentence")) {
    if (!changed.has(made.dataset.number)) continue;
    const old = find(made.dataset.number), left = old.querySelector(".tree").scrollLeft;
    const open = folds(old).filter(one => one.open).map(about);
    folds(made).forEach(one => { one.open = open.includes(about(one)); });
    old.replaceWith(made);
    made.querySelector(".tree").scrollLeft = left;
    begin(made);
    correctable(made);
  }
  typed.oninput();
};
const choose = (list, value, event, chosen) => {
  list.value = value;
  list.hidden = false;
  list.style.left = `${Math.min(event.pageX, document.body.clientWidth - list.offsetWidth)}px`;
  list.style.top = `${event.pageY}px`;
  list.onblur = () => { list.hidden = true; };
  list.onchange = () => {
    list.blur();
    chosen(list.value);
  };
  list.focus();
  if (list.showPicker) list.showPicker();
};
const correctable = part => {
  for (const svg of part.querySelectorAll(".sentence > .tree svg")) {
    const sentence = svg.closest(".sentence"), number = sentence.dataset.number;
    const words = [...svg.querySelectorAll('text[font-size="15"]')];
    const upos = [...svg.querySelectorAll(':scope > text[font-size="11"]:not([stroke])')];
    const x = word => +words[word - 1].getAttribute("x"), y = +words[0].getAttribute("y") - 17;
    const at = event =>
      new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const near = point => {
      const away = words.map((_, i) => Math.abs(x(i + 1) - point.x));
      return 1 + away.indexOf(Math.min(...away));
    };
    const target = point => point.y < 20 ? 0 : point.y > y - 15 ? near(point) : null;
    const others = (field, word) => given(field).filter(
      one => one !== `${number}.${word}` && !one.startsWith(`${number}.${word}=`));
    const arc = word => given("heads").find(one => one.startsWith(`${number}.${word}=`)) || "";
    const isOwn = word => given("own_heads").includes(`${number}.${word}`);
    const attach = (word, head) => {
      const isRoot = one => one.startsWith(`${number}.`) && /=0(:|$)/.test(one);
      const [, relation] = arc(word).split(":");
      const made = `${number}.${word}=${head}${head && relation ? `:${relation}` : ""}`;
      const heads = others("heads", word).filter(one => !(head === 0 && isRoot(one)));
      const own_heads = others("own_heads", word).join(" ");
      correct({heads: [...heads, made].join(" "), own_heads}, number);
    };
    const name = (word, relation) => {
      const head = sentence.dataset.heads.split(" ")[word - 1], own = others("own_heads", word);
      const heads = [...others("heads", word), `${number}.${word}=${head}:${relation}`];
      if (!arc(word) || isOwn(word)) own.push(`${number}.${word}`);
      correct({heads: heads.join(" "), own_heads: own.join(" ")}, number);
    };
    const tag = (word, value) =>
      correct({upos: [...others("upos", word), `${number}.${word}=${value}`].join(" ")}, number);
    let child = null, line = null, start = null;
    const end = () => {
      if (line) line.remove();
      words.forEach(word => word.classList.remove("target"));
      child = null;
    };
    svg.classList.add("draggable");
    svg.onpointerdown = event => {
      const from = event.target.closest("g[data-child]"), point = at(event);
      child = waiting ? null : from ? +from.dataset.child : point.y > y - 5 ? near(point) : null;
      if (child === null) return;
      event.preventDefault();
      svg.setPointerCapture(event.pointerId);
      start = event;
      line = svg.appendChild(document.createElementNS(svg.namespaceURI, "path"));
      line.setAttribute("class", "dragged");
    };
    svg.onpointermove = event => {
      if (child === null) return;
      const point = at(event), head = target(point), from = x(child);
      const top = Math.min(y, point.y) - Math.abs(from - point.x) / 4;
      const curve = `${from},${top} ${point.x},${top} ${point.x},${point.y}`;
      line.setAttribute("d", `M${from},${y} C${curve}`);
      words.forEach((word, i) => word.classList.toggle("target", i + 1 === head && head !== child));
    };
    svg.onpointerup = event => {
      if (child === null) return;
      const word = child, head = target(at(event));
      const relation = start.target.closest("g[data-child] text");
      const chosen = relation && relation.textContent;
      const isTag = at(start).y > y + 22 && !relation;
      end();
      if (Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) >= 5) {
        if (head !== null && head !== word) attach(word, head);
      } else if (relation && [...relations.options].some(one => one.value === chosen)) {
        choose(relations, chosen, event, value => name(word, value));
      } else if (isTag) {
        choose(tags, upos[word - 1].textContent, event, value => tag(word, value));
      }
    };
    svg.onpointercancel = end;
    upos.forEach((one, i) => {
      one.classList.add("tag");
      const isCorrected = given("upos").some(item => item.startsWith(`${number}.${i + 1}=`));
      if (isCorrected) one.classList.add("corrected");
    });
    const heads = given("heads").map(one => one.match(/^(\d+)\.(\d+)=\d+(:.*)?$/));
    for (const [, of_sentence, word, relation] of heads) {
      const drawn = of_sentence === number && svg.querySelector(`g[data-child="${word}"]`);
      if (!drawn) continue;
      drawn.classList.add("given");
      if (relation) drawn.classList.add("named");
      if (isOwn(word)) drawn.classList.add("own");
    }
  }
};
if (form.elements.heads) {
  form.onsubmit = event => {
    const by = event.submitter || parse, first = fields.flatMap(given)[0] || "1";
    if (by.name === "forget" || by.name === "undo") {
      event.preventDefault();
      correct({[by.name]: by.value}, (by.value || first).split(".")[0]);
    } else if (edited()) fields.forEach(field => { form.elements[field].value = ""; });
  };
  document.querySelector("[data-dragging]").hidden = !document.querySelector(".sentence > .tree");
  correctable(document);
}
"""
# A sentence that replaces another gets the same handlers as the page.
SCRIPT = f"const begin = document => {{{_STEPS}}};\nbegin(document);\n{_CORRECTING}"

STYLE = """<style>
.draggable g[data-child], .draggable text { cursor: grab; touch-action: none; user-select: none; }
.draggable g[data-child] text, .draggable .tag { cursor: pointer; }
.draggable .given:not(.own) path { stroke-width: 3; }
.draggable .named text, .draggable .corrected { font-weight: bold; }
.draggable .corrected { fill: #111; text-decoration: underline; }
.draggable .target { fill: #0072b2; font-weight: bold; }
.dragged { fill: none; stroke: #0072b2; stroke-width: 2; stroke-dasharray: 4 3; }
.dragged { pointer-events: none; }
.corrections { padding-left: 1.2em; } .corrections button { font-size: .85em; }
body { overflow-anchor: none; } #relations, #tags { position: absolute; font: inherit; }
</style>"""
