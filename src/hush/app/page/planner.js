// The planner: should I sample, which mechanism, which batch size; before any data is seen.

import { answer } from "./ask.js";
import { clear, show } from "./chart.js";
import { el, labelled, options, table, tell } from "./dom.js";
import { numberField, problem, segments } from "./fields.js";

export const title = "Planner";

const release = { statistic: "mean", population: 10000, low: 0, high: 2000, epsilon: 0.5, delta: 1e-6, queries: 1, relation: "replace", model: "lognormal 5 0.5" };
const train = { examples: 60000, batch_sizes: [64, 256, 1024, 4096, 16384], epochs: [1, 10, 100], epsilon: 2, delta: 1e-5 };
let which = "mean";

export function view(main, redraw) {
  const chosen = segments("What to plan", [["mean", "A mean"], ["median", "A median"], ["training", "A training run"]], which, (value) => { which = value; redraw(); });
  main.append(
    el("header", { class: "lead" }, el("h1", { text: "Plan before you look at data" }),
      el("p", { text: "A sample hides each record better, so it may add less noise; but it has an error of its own. Which is smaller?" })),
    chosen, which === "training" ? trainingPart() : releasePart());
}

const into = (given, name, ask) => (value) => { given[name] = value; ask(); };

function releasePart() {
  release.statistic = which;
  const place = el("div", { class: "place", id: "plan" });
  const said = el("div", { class: "answer" }, el("p", { class: "help", "aria-busy": "true", text: "Working…" }));
  const ask = () => answer("plan", "plan", { ...release, model: release.model || null }, (found) => {
    said.replaceChildren(el("p", { class: "advice", text: found.answer }), el("ul", { class: "hints" }, found.hints.map((text) => el("li", { text }))));
    tell(found.answer);
    show(place, { ...found.chart, subtitle: found.chart.subtitle.split("\n")[0] });
    numbers.replaceChildren(details("All rates and mechanisms", found.table));
  }, (error) => failed(error, said, place, numbers));
  const numbers = el("div", {});
  const model = el("input", { type: "text", value: release.model, spellcheck: "false" });
  model.addEventListener("change", () => { release.model = model.value.trim(); ask(); });
  const relation = options(el("select", {}), [["replace", "replace one record (fixed size)"], ["add_remove", "add or remove one record (Poisson)"]], release.relation);
  relation.addEventListener("change", () => { release.relation = relation.value; ask(); });
  const fields = [
    numberField("Records", { value: release.population, low: 100, high: 1e7, log: true, whole: true, change: into(release, "population", ask) }),
    numberField("ε of the release", { value: release.epsilon, low: 0.01, high: 10, log: true, change: into(release, "epsilon", ask) }),
    numberField("δ of the release", { value: release.delta, slider: false, change: into(release, "delta", ask) }),
    numberField("Smallest value (public)", { value: release.low, slider: false, change: into(release, "low", ask) }),
    numberField("Largest value (public)", { value: release.high, slider: false, change: into(release, "high", ask) }),
    numberField("Releases that share the budget", { value: release.queries, slider: false, whole: true, change: into(release, "queries", ask) }),
  ];
  ask();
  return el("section", { class: "card" }, el("h2", { text: `Should I sample for a ${which}?` }),
    el("div", { class: "columns" },
      el("div", { class: "grid" }, fields.map((one) => one.node), labelled("Neighbours", relation),
        labelled("Public model of the values", model, "normal MEAN SD, lognormal MU SIGMA, uniform LOW HIGH, exponential MEAN, beta A B; empty: the worst case.")),
      el("div", {}, said, place)), numbers);
}

function trainingPart() {
  const place = el("div", { class: "place", id: "plan" });
  const said = el("div", { class: "answer" }, el("p", { class: "help", "aria-busy": "true", text: "Working…" }));
  const numbers = el("div", {});
  const ask = () => answer("plan", "plan_training", train, (found) => {
    said.replaceChildren(el("ul", { class: "hints" }, found.hints.map((text) => el("li", { text }))));
    tell(found.hints[0]);
    show(place, found.chart);
    numbers.replaceChildren(details("All batch sizes and epochs", found.table));
  }, (error) => failed(error, said, place, numbers));
  const listed = (label, name, help) => {
    const input = el("input", { type: "text", value: train[name].join(" "), spellcheck: "false" });
    input.addEventListener("change", () => { train[name] = input.value.split(/[\s,]+/).filter(Boolean).map(Number); ask(); });
    return labelled(label, input, help);
  };
  const fields = [
    numberField("Examples", { value: train.examples, low: 100, high: 1e8, log: true, whole: true, change: into(train, "examples", ask) }),
    numberField("ε of the training", { value: train.epsilon, low: 0.1, high: 20, log: true, change: into(train, "epsilon", ask) }),
    numberField("δ of the training", { value: train.delta, slider: false, change: into(train, "delta", ask) }),
  ];
  ask();
  return el("section", { class: "card" }, el("h2", { text: "Batch size against noise" }),
    el("div", { class: "columns" },
      el("div", { class: "grid" }, fields.map((one) => one.node), listed("Batch sizes", "batch_sizes", "Numbers with spaces between them."), listed("Epochs", "epochs", "Numbers with spaces between them.")),
      el("div", {}, said, place)), numbers);
}

// What stood there is the answer to another question: it goes.
function failed(error, said, ...stale) {
  said.replaceChildren(problem(error));
  stale.forEach(clear);
}

function details(text, [head, ...rows]) {
  return el("details", { class: "numbers" }, el("summary", { text }), table(head, rows, text));
}

