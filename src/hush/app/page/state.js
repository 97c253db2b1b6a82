// What the page knows: the runs, delta, the view. All of it is in the fragment of the address, so a link brings it back.

export const TRAINING = { examples: 60000, batch_size: 256, epochs: 10, noise: 1, scheme: "poisson" };
export const MOST_RUNS = 6;

export const state = { view: "calculator", delta: 1e-5, unit: "record", runs: [], current: 0 };

let last = 0;

export function newRun(given = {}) {
  const id = ++last;
  return { id, name: `Run ${id}`, training: { ...TRAINING }, mode: "training", expression: "", answer: null, ...given };
}

export const currentRun = () => state.runs[Math.min(state.current, state.runs.length - 1)];

// Runs that have an expression, as a question takes them.
export const asked = () => state.runs.filter((run) => run.expression)
  .map((run) => ({ name: run.name, expression: run.expression }));

export function fragment() {
  const said = new URLSearchParams({ view: state.view, delta: String(state.delta), unit: state.unit });
  if (state.current) said.set("current", String(state.current));
  for (const run of state.runs) {
    said.append("name", run.name);
    said.append("run", run.expression);
    said.append("form", run.mode === "training" ? JSON.stringify(Object.values(run.training)) : "");
  }
  return `#${said}`;
}

export const permanentLink = () => `${location.origin}/${fragment()}`;

export function keep() {
  history.replaceState(null, "", fragment());
}

export function restore(text) {
  const said = new URLSearchParams(text.replace(/^#/, ""));
  const token = said.get("token");
  const expressions = said.getAll("run").slice(0, MOST_RUNS);
  const [names, forms] = [said.getAll("name"), said.getAll("form")];
  const delta = Number(said.get("delta") ?? NaN);
  if (delta >= 0 && delta < 1) state.delta = delta;
  if (said.get("unit")) state.unit = said.get("unit").slice(0, 60);
  if (said.get("view")) state.view = said.get("view");
  if (expressions.length || state.runs.length === 0) {
    state.runs = [];
    expressions.forEach((expression, place) => state.runs.push(restored(expression, names[place], forms[place])));
    if (state.runs.length === 0) state.runs = [newRun()];
  }
  state.current = Math.min(Math.max(Number(said.get("current")) || 0, 0), state.runs.length - 1);
  return token;
}

function restored(expression, name, form) {
  const run = newRun({ expression: expression.slice(0, 10000) });
  if (name) run.name = uniqueName(name.slice(0, 60), run);
  run.mode = "releases";
  try {
    const values = form ? JSON.parse(form) : null;
    const names = Object.keys(TRAINING);
    if (Array.isArray(values) && values.length === names.length) {
      run.training = Object.fromEntries(names.map((key, place) => [key, key === "scheme" ? String(values[place]) : Number(values[place])]));
      run.mode = "training";
    }
  } catch { /* a link that was edited: the expression alone counts */ }
  return run;
}

// No two runs have one name: pictures tell them apart by it.
export function uniqueName(name, run) {
  const others = new Set(state.runs.filter((other) => other !== run).map((other) => other.name));
  let found = name.trim() || `Run ${run.id}`;
  for (let number = 2; others.has(found); number += 1) found = `${name.trim() || "Run"} (${number})`;
  return found;
}
