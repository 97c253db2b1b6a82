// Pictures that persuade: the attacker's ROC, how sure it becomes, every sampling scheme over the epochs, Rényi, what if.

import { STALE, answer, slot } from "./ask.js";
import { show } from "./chart.js";
import { button, el, labelled, plain, table, tell } from "./dom.js";
import { numberField, problem, segments } from "./fields.js";
import { asked, currentRun, state } from "./state.js";

export const title = "Pictures";
export const needsRuns = true;

const audit = { file: null, found: null };
let axes = "log";
const belief = { prior: 0.5, rate: 0.01 };

export function view(main) {
  const parts = [rocPart(), posteriorPart(), schemesPart(), renyiPart(), whatIfPart()];
  main.append(
    el("header", { class: "lead" }, el("h1", { text: "What an attacker could do" }),
      el("p", { text: `For ${state.runs.map((run) => run.name).join(", ")} at δ = ${plain(state.delta)}; change them in the calculator.` })),
    ...parts);
}

function section(heading, text, ...children) {
  return el("section", { class: "card picture" }, el("h2", { text: heading }), el("p", { class: "explain", text }), ...children);
}

const waiting = () => el("p", { class: "help", "aria-busy": "true", text: "Working…" });

// -- the ROC -----------------------------------------------------------------------------------------------------

function rocPart() {
  const place = el("div", { class: "place", id: "roc" }, waiting());
  const read = el("div", {});
  const proven = el("div", { id: "audit" });
  let found = null;
  const draw = () => {
    if (!found) return;
    show(place, withAudit(onAxes(found.chart)), { summary: spoken(found) });
    read.replaceChildren(readOff(found));
  };
  const ask = () => answer("roc", "roc", { runs: asked() }, (answered) => { found = answered; draw(); tell(spoken(found)); }, (error) => place.replaceChildren(problem(error)));
  ask();
  const axis = segments("Axes", [["log", "few false alarms"], ["linear", "whole picture"]], axes, (chosen) => { axes = chosen; draw(); });
  tellAudit(proven);
  return section("The best attacker there can be",
    "Somebody sees all that is released, knows everything else, and must say whether one record is in the data. No test finds more than this curve at its rate of false alarms.",
    axis, place, read, dropPart(() => { tellAudit(proven); draw(); }), proven);
}

function onAxes(chart) {
  if (axes === "log") return { ...chart, points: chart.points.filter((point) => point.x >= 1e-5 && point.y > 0) };
  const plainAxis = (axis) => ({ ...axis, log: false, domain: [0, 1] });
  return { ...chart, x: plainAxis(chart.x), y: plainAxis(chart.y) };
}

function withAudit(chart) {
  if (!audit.found) return chart;
  const labels = [...new Set(audit.found.points.map((point) => point.label))];
  const lines = labels.map((label) => ({ label, stroke: label.startsWith("proven") ? "dots" : "dashed", band: false }));
  const seen = audit.found.points.filter((point) => axes === "linear" || point.x >= 1e-5);
  return { ...chart, lines: [...chart.lines, ...lines], points: [...chart.points, ...seen] };
}

const spoken = (found) => found.read.map((run) => `${run.name}: ${run.rates.map((rate) => `finds at most ${rate.found} at ${100 * rate.at}% false alarms`).join(", ")}`).join(". ");

function readOff(found) {
  const head = ["run", ...found.read[0].rates.map((rate) => `found at ${100 * rate.at}% false alarms`), "advantage"];
  return table(head, found.read.map((run) => [run.name, ...run.rates.map((rate) => `≤ ${rate.found}`), `≤ ${run.advantage}`]), "What the best attacker finds");
}

function dropPart(done) {
  const input = el("input", { type: "file", accept: ".csv,.npz,.parquet" });
  const said = el("div", { role: "status" });
  const take = async (file) => {
    if (!file) return;
    said.replaceChildren(waiting());
    try {
      if (file.size > 10_000_000) throw new Error("The file has more than 10 MB.");
      const found = await slot("scores").upload(file, { expression: currentRun().expression, delta: String(state.delta) });
      if (found === STALE) return;
      audit.file = file.name;
      audit.found = found;
      said.replaceChildren();
      done();
    } catch (error) {
      said.replaceChildren(problem(error));
    }
  };
  input.addEventListener("change", () => take(input.files[0]));
  const zone = el("div", { class: "drop" }, labelled("Drop in the scores of an audit", input, "CSV, npz or parquet with columns score and member, 10 MB at most. One row per canary, each put in by a fair coin."), said);
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => { event.preventDefault(); zone.classList.remove("over"); take(event.dataTransfer.files[0]); });
  return zone;
}

function tellAudit(place) {
  if (!audit.found) return;
  const { found } = audit;
  const verdict = found.audit ? `${found.audit.verdict}: ${found.audit.quantity} is at least ${found.audit.shown} with confidence ${found.audit.confidence}.` : found.reason;
  place.replaceChildren(
    el("p", { class: found.audit && !found.audit.survives ? "problem" : "notice", text: `${audit.file}: ${verdict}` }),
    el("pre", { class: "code", tabindex: "0", text: [found.verdict, found.text].filter(Boolean).join("\n\n") }),
    button("Leave the audit out", () => { audit.found = null; place.replaceChildren(); document.dispatchEvent(new Event("hush-redraw")); }, "quiet"));
  tell(verdict);
}

// -- the posterior -----------------------------------------------------------------------------------------------

function posteriorPart() {
  const place = el("div", { class: "place", id: "posterior" }, waiting());
  const read = el("p", { class: "read" });
  const ask = () => answer("posterior", "posterior", { runs: asked(), prior: belief.prior, false_positive_rate: belief.rate }, (found) => {
    show(place, found.chart, { height: 280 });
    const said = found.read.map((run) => `${run.name}: from ${plain(100 * belief.prior, 3)}% to at most ${run.after}`).join("; ");
    read.textContent = `${said}.`;
    tell(said);
  }, (error) => place.replaceChildren(problem(error)));
  const fields = [
    numberField("Sure before (prior)", { value: belief.prior, low: 0.01, high: 0.99, step: 0.01, change: (value) => { belief.prior = value; ask(); } }),
    numberField("False alarms of the test", { value: belief.rate, low: 1e-4, high: 0.5, log: true, change: (value) => { belief.rate = value; ask(); } }),
  ];
  ask();
  return section("How sure does it become?", "An attacker believes something, sees the release, and its test raises an alarm. This is the most that it can then believe.",
    el("div", { class: "grid" }, fields.map((field) => field.node)), read, place);
}

// -- every scheme ------------------------------------------------------------------------------------------------

const COMPARED = ["Poisson", "shuffled batches"];

function schemesPart() {
  const training = state.runs.find((one) => one.mode === "training");
  const run = training ?? currentRun();
  const { examples, batch_size: batch, noise, epochs } = run.training;
  const steps = Math.max(1, Math.floor(examples / batch));
  const own = Math.max(1, Math.round(epochs));
  const rounds = [...new Set([1, 3, 10, 30, 100, own])].sort((a, b) => a - b);
  const place = el("div", { class: "place", id: "schemes" }, waiting());
  const mistake = el("p", { class: "mistake" });
  const rows = new Map();
  let failed = null;
  const draw = () => {
    const points = [...rows].sort(([a], [b]) => a - b).flatMap(([x, listed]) => listed.filter((row) => Number.isFinite(row.upper) && row.upper > 0 && row.name !== "no sampling")
      .map((row) => ({ label: row.name, x, y: row.upper, ...(row.lower > 0 ? { other: row.lower } : {}) })));
    const labels = [...new Set(points.map((point) => point.label))];
    const chart = {
      title: `ε against epochs for every way to draw batches`,
      subtitle: `noise multiplier ${plain(noise, 4)}, ${steps} steps per epoch, δ = ${plain(state.delta)}. Marks are proven from above, and lines join them; the band of shuffled batches reaches down to what an attack attains. Even dashes: for a record that is replaced.`,
      x: { title: "epochs", log: true, domain: null }, y: { title: "ε, nats", log: true, domain: null },
      lines: labels.map((label) => ({ label, stroke: COMPARED.includes(label) ? "heavy" : label.includes("replace") ? "dashed" : "solid", band: COMPARED.includes(label) })), points,
    };
    show(place, chart, { summary: mistake.textContent });
  };
  const ask = async (count) => {
    try {
      const found = await slot(`schemes-${count}`).ask("schemes", { noise, steps, epochs: count, delta: state.delta });
      if (found === STALE) return;
      rows.set(count, found.rows);
      if (count === own) mistake.textContent = found.mistake;
    } catch (error) { failed = error; }
  };
  Promise.all(rounds.map(ask)).then(() => {
    if (rows.size) draw();
    else if (failed) place.replaceChildren(problem(failed));
  });
  return section("The same training, drawn in every way",
    `${training ? `This is for ${run.name}.` : "No run here is a training: this is an example."} The common mistake is to shuffle the data and to report the ε of Poisson sampling. The two wide lines show how far apart they are.`, mistake, place);
}

// -- Rényi and routes --------------------------------------------------------------------------------------------

function renyiPart() {
  const place = el("div", { class: "place", id: "renyi" }, waiting());
  const routes = el("div", {});
  answer("renyi", "renyi", { runs: asked(), delta: state.delta }, (found) => {
    show(place, found.chart, { height: 280 });
    routes.replaceChildren(el("h3", { text: `Every route to ε for ${asked()[0].name}` }), routesTable(found.routes));
  }, (error) => place.replaceChildren(problem(error)));
  return section("Rényi curve and routes", "Accountants disagree because they take different routes. A route gives an interval, an upper bound, or an approximation that is neither.", place, routes);
}

export const routesTable = (routes) => table(["direction", "route", "ε", "why it says so"], routes.map((row) => [row.direction, row.route, row.answer, row.why]), "What every route says");

// -- what if -----------------------------------------------------------------------------------------------------

function whatIfPart() {
  const run = currentRun();
  const place = el("div", { id: "what-if" }, waiting());
  const given = run.mode === "training" ? { ...run.training, delta: state.delta } : { expression: run.expression, delta: state.delta };
  answer("what-if", "what_if", given, (found) => {
    const known = found.rows.filter((row) => Number.isFinite(row.upper));
    const most = Math.max(...known.map((row) => row.upper), 1e-9);
    place.replaceChildren(el("ul", { class: "bars" }, found.rows.map((row) => bar(row, most))));
  }, (error) => place.replaceChildren(problem(error)));
  return section(`What if? ${run.name}`, "One thing changed at a time, all else the same.", place);
}

function bar(row, most) {
  const share = Number.isFinite(row.upper) ? row.upper / most : 1;
  const track = el("progress", { max: 1, value: share, "aria-hidden": "true" });
  track.setAttribute("value", share);
  const said = row.reason ?? (row.upper === "inf" ? "no finite ε" : `ε ${row.wide ? "≤" : "="} ${row.shown}`);
  return el("li", { class: row.change === "as it is" ? "own" : undefined }, el("span", { class: "what", text: row.change }), track, el("span", { class: "number", text: said }));
}

