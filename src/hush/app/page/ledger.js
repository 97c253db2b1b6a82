// The budget book: budgets as bars, spending over time, entries, what a release would cost; entered by hand if allowed.

import { answer } from "./ask.js";
import { show } from "./chart.js";
import { button, el, labelled, options, table, tell } from "./dom.js";
import { problem } from "./fields.js";
import { currentRun } from "./state.js";

export const title = "Ledger";
export const book = { given: false, write: false };
export const hidden = () => !book.given;

export function view(main) {
  const place = el("div", { class: "stack" }, el("p", { class: "help", "aria-busy": "true", text: "Reading the book…" }));
  main.append(el("header", { class: "lead" }, el("h1", { text: "What was spent, and what is left" }),
    el("p", { text: book.write ? "This page may enter releases into the book." : "Read only: start with --write to enter releases." })), place);
  const load = () => answer("book", "book", {}, (found) => place.replaceChildren(...parts(found, load)), (error) => place.replaceChildren(problem(error), button("Try again", load)));
  load();
}

function parts(found, load) {
  const picture = el("div", { class: "place", id: "spending" });
  if (found.entries.some((entry) => entry.kind !== "budget")) show(picture, inSteps(found.chart), { height: 260 });
  const rows = found.entries.map((entry) => [String(entry.number), entry.time.slice(0, 16).replace("T", " "), entry.kind, entry.budget, entry.what || entry.kind, entry.mechanism, entry.purpose]);
  return [
    el("section", { class: "card" }, el("h2", { text: "Budgets" }), el("ul", { class: "budgets" }, found.budgets.map(budget))),
    costPart(found.budgets, load),
    el("section", { class: "card" }, el("h2", { text: "Spending over time" }), picture),
    el("section", { class: "card" }, el("h2", { text: "Entries, the newest first" }), table(["number", "time (UTC)", "kind", "budget", "what", "mechanism", "purpose"], rows, "Entries of the book")),
    el("section", { class: "card" }, el("h2", { text: "The promise in words" }), found.statement.split("\n\n").map((text) => el("p", { text })), el("p", { class: "help code", text: `anchor ${found.anchor}` })),
  ];
}

// What is spent stays spent until the next charge: steps up to the newest one, in a unit of time that suits their span.
function inSteps(chart) {
  const last = Math.max(...chart.points.map((point) => point.x));
  const [unit, many] = last >= 2 ? ["days", 1] : last >= 1 / 12 ? ["hours", 24] : ["minutes", 1440];
  const end = Math.max(last * many, 1);
  const points = chart.lines.flatMap(({ label }) => {
    const own = chart.points.filter((point) => point.label === label).map((point) => ({ ...point, x: point.x * many }));
    return [...own, { label, x: end, y: own.at(-1).y }];
  });
  return { ...chart, steps: true, points, x: { ...chart.x, title: `${unit} since the first charge`, domain: [0, end] } };
}

function budget(one) {
  const name = one.within ? `${one.name} (a part of ${one.within})` : one.name;
  const meter = el("meter", { min: 0, max: 1, high: 0.8, optimum: 0, "aria-label": `${name}: ${one.spent} spent` });
  meter.setAttribute("value", Math.min(one.share, 1));
  return el("li", {},
    el("p", { class: "row between" }, el("strong", { text: name }), el("span", { text: one.exceeded ? `EXCEEDED: ${one.spent}` : `${one.spent} spent` })), meter,
    el("p", { class: "help", text: `${one.promise} when all is spent; ${one.compared}; ${one.charges} ${one.charges === 1 ? "charge" : "charges"}` }));
}

function costPart(budgets, load) {
  const text = el("input", { type: "text", class: "code", value: currentRun()?.expression || "laplace 10", spellcheck: "false" });
  const dataset = options(el("select", {}), budgets.map((one) => [one.name, one.name]), budgets[0]?.name);
  const purpose = el("input", { type: "text", maxlength: 200 });
  const said = el("div", { role: "status" });
  const wrong = (error) => said.replaceChildren(problem(error));
  const ask = () => answer("price", "price", { expression: text.value, dataset: dataset.value }, (found) => {
    const lines = found.budgets.map((line) => el("li", { text: `${line.budget}: costs ${line.cost} of the budget, ${line.spent} is spent: ${line.fits ? "fits" : "does not fit"}` }));
    said.replaceChildren(el("p", { class: found.fits ? "found" : "problem", text: found.fits ? "It fits. Nothing was spent by asking." : "It does not fit. Nothing was spent by asking." }), el("ul", {}, lines));
  }, wrong);
  const enter = () => {
    if (!window.confirm(`Enter this release into the book for ${dataset.value}? It cannot be taken back.`)) return;
    answer("record", "record", { expression: text.value, dataset: dataset.value, purpose: purpose.value }, (found) => {
      tell(`Entered as number ${found.entry}`);
      load();
    }, (error) => {
      wrong(error);
      if (error.kind === "limit") said.append(el("p", { class: "notice", text: "It may have been entered all the same: look at the entries before you try again." }));
    });
  };
  return el("section", { class: "card" }, el("h2", { text: "What would it cost?" }),
    el("div", { class: "grid wide" }, labelled("A release, as an expression", text), labelled("From the budget", dataset), book.write ? labelled("Purpose, written into the book", purpose) : null),
    el("p", { class: "row" }, button("Ask for the price", ask), book.write ? button("Enter it into the book", enter, "quiet") : null), said);
}
