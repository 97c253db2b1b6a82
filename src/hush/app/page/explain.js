// Why the number is what it is, and how to take it along: derivation, checklist, code, report.

import { answer } from "./ask.js";
import { button, copier, download, el, labelled, options, tell } from "./dom.js";
import { problem } from "./fields.js";
import { routesTable } from "./pictures.js";
import { read } from "./reader.js";
import { report } from "./report.js";
import { currentRun, keep, permanentLink, state } from "./state.js";

export const title = "Explain & export";
export const needsRuns = true;

const ticked = new Set(); // assumptions that the person has checked, by run and text

export function view(main, redraw) {
  const run = currentRun();
  const which = options(el("select", {}), state.runs.map((one, place) => [String(place), one.name]), String(state.runs.indexOf(run)));
  which.addEventListener("change", () => { state.current = Number(which.value); keep(); redraw(); });
  const unit = el("input", { type: "text", value: state.unit, maxlength: 60 });
  const place = el("div", { class: "stack" }, el("p", { class: "help", "aria-busy": "true", text: "Working…" }));
  const ask = () => answer("explain", "explain", { expression: run.expression, delta: state.delta, unit: state.unit }, (found) => {
    place.replaceChildren(...parts(run, found));
    tell(found.statement);
  }, (error) => place.replaceChildren(problem(error)));
  unit.addEventListener("input", () => { state.unit = unit.value.trim() || "record"; keep(); ask(); });
  main.append(
    el("header", { class: "lead" }, el("h1", { text: "Why it holds, and how to use it" }),
      el("p", { text: "Every step names its theorem. The guarantee is worth as much as its assumptions: tick those that you have checked." })),
    el("section", { class: "shared", "aria-label": "What is explained" }, labelled("Run", which), labelled("What one record stands for", unit, "record, person, patient, device…")), place);
  ask();
}

function parts(run, found) {
  return [
    el("section", { class: "card" }, el("h2", { text: "The guarantee in words" }), el("p", { class: "statement", id: "statement", text: found.statement }), el("p", { class: "row" }, copier("Copy the statement", () => found.statement))),
    el("div", { class: "columns even" },
      el("section", { class: "card" }, el("h2", { text: "Why it holds" }), el("ul", { class: "tree" }, branch(found.derivation))),
      el("section", { class: "card" }, el("h2", { text: "What it assumes" }), checklist(run, found.assumptions))),
    el("section", { class: "card" }, el("h2", { text: "What every route says" }), routesTable(found.routes)),
    el("section", { class: "card" }, el("h2", { text: "Take it along" }),
      code("Python", "Copy as Python", found.python, "python"), code("Command", "Copy as command", found.command, "command"), code("Permanent link", "Copy the link", permanentLink(), "link"),
      el("p", { class: "help", text: "The link holds the runs, δ and the view, and no token: it opens on any machine where hush app runs on this port." }),
      el("p", { class: "row" }, button("Save the report (HTML)", () => save(run, found), "strong"))),
  ];
}

function branch(step) {
  const more = step.page ? button(`read in docs/${step.page.page}`, () => read(step.page.page, step.page.words), "link") : null;
  return el("li", {}, el("strong", { text: step.what }), el("p", { class: "theorem", text: `by: ${step.theorem}` }), more, step.inner.length ? el("ul", {}, step.inner.map(branch)) : null);
}

const tickName = (run, text) => `${run.id}|${run.expression}|${text}`;

function checklist(run, assumptions) {
  const said = el("p", { class: "help" });
  const count = () => { said.textContent = `${assumptions.filter((text) => ticked.has(tickName(run, text))).length} of ${assumptions.length} checked`; };
  const items = assumptions.map((text) => {
    const name = tickName(run, text);
    const box = el("input", { type: "checkbox", checked: ticked.has(name), onchange: () => { if (box.checked) ticked.add(name); else ticked.delete(name); count(); } });
    return el("li", {}, el("label", {}, box, el("span", { text })));
  });
  count();
  return el("div", {}, el("ul", { class: "checklist" }, items), said);
}

function code(label, copy, text, id) {
  const box = el("pre", { class: "code", tabindex: "0", id, "aria-label": label, role: "region", text });
  return el("div", { class: "export" }, el("h3", { text: label }), box, copier(copy, () => text));
}

async function save(run, found) {
  const checked = found.assumptions.map((text) => [text, ticked.has(tickName(run, text))]);
  download("privacy-report.html", await report(run, found, checked), "text/html");
  tell("The report was saved.");
}
