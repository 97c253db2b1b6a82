// The calculator: what ran, by forms or as an expression; epsilon with its interval; which noise meets a target.

import { answer } from "./ask.js";
import { button, el, labelled, options, plain, table, tell } from "./dom.js";
import { numberField, problem, segments } from "./fields.js";
import { alike, guessedTraining, parsed, starter, vocabulary, written } from "./language.js";
import { MOST_RUNS, keep, newRun, state, uniqueName } from "./state.js";

export const title = "Calculator";

const EXAMPLES = [
  ["A training run on 60,000 pictures", "gaussian 1.0 | poisson 0.004266666666666667 | repeat 2344"],
  ["Three tables of a survey", "laplace 10; laplace 20; gaussian 8"],
  ["Reports of 10,000 phones, shuffled", "kary-response 2 | shuffled 10000"],
  ["Two stages on samples, repeated", "gaussian 2 | poisson 0.05 | repeat 100; laplace 4 | poisson 0.01 | repeat 50"],
];

export function view(main, redraw) {
  const beside = el("section", { class: "beside", "aria-label": "Side by side" });
  const compare = () => beside.replaceChildren(...(state.runs.length > 1 ? [sideBySide()] : []));
  const cards = state.runs.map((run) => card(run, redraw, compare));
  const delta = numberField("δ: the chance that the promise fails", {
    value: state.delta, low: 1e-12, high: 0.1, log: true,
    help: "Below one over the number of people; 1e-5 and 1e-6 are usual.",
    change: (value) => { state.delta = value; keep(); cards.forEach((one) => one.ask()); },
  });
  const more = button("Add a run to compare", () => {
    const from = state.runs.at(-1);
    const added = newRun({ training: { ...from.training }, mode: from.mode, expression: from.expression });
    added.name = uniqueName(added.name, added);
    state.runs.push(added);
    keep();
    redraw();
    main.querySelector("article:last-of-type input")?.focus();
  });
  more.disabled = state.runs.length >= MOST_RUNS;
  const example = options(el("select", {}), [["", "Choose an example…"], ...EXAMPLES.map(([text, said]) => [said, text])], "");
  example.addEventListener("change", () => { if (example.value) cards[0].say(example.value); });
  main.append(
    el("header", { class: "lead" },
      el("h1", { text: "What does it cost in privacy?" }),
      el("p", { text: "Say what ran. The answer is ε: the smaller, the less anybody can learn about one record." })),
    el("section", { class: "shared", "aria-label": "For all runs" }, delta.node, labelled("Start from", example), el("div", { class: "field end" }, more)),
    beside, el("div", { class: state.runs.length > 1 ? "runs many" : "runs" }, cards.map((one) => one.node)));
  compare();
  cards.forEach((one) => one.ask());
}

// All runs in a few lines: on a narrow screen the cards are far apart.
function sideBySide() {
  const rows = state.runs.map((run) => {
    const found = run.answer;
    return found ? [run.name, epsilonOf(found), found.compared, found.mechanism] : [run.name, "–", "", run.expression];
  });
  return table(["run", "ε", "neighbours", "what ran"], rows, "All runs side by side");
}

const epsilonOf = (found) => (found.upper === "inf" ? "none" : `${found.wide ? "≤ " : ""}${found.shown}`);

function card(run, redraw, compare) {
  const form = el("div", { class: "form" });
  const result = el("div", { class: "result" });
  const text = el("textarea", { rows: 2, spellcheck: "false", autocapitalize: "off", class: "code", value: run.expression });
  const heading = el("h2", {});
  const name = el("input", { type: "text", value: run.name, maxlength: 60, title: run.name, "aria-label": "Name of this run" });
  name.addEventListener("change", () => { run.name = uniqueName(name.value, run); name.value = run.name; name.title = run.name; compare(); keep(); });
  heading.append(name);
  const seek = el("div", { class: "seek" });

  function ask() {
    result.setAttribute("aria-busy", "true");
    const [question, given] = run.mode === "training"
      ? ["training", { ...run.training, delta: state.delta }] : ["epsilon", { expression: run.expression, delta: state.delta }];
    answer(`run-${run.id}`, question, given, (found) => {
      run.answer = found;
      compare();
      if (run.mode === "training") {
        run.expression = found.expression;
        if (document.activeElement !== text) text.value = found.expression;
      }
      keep();
      result.removeAttribute("aria-busy");
      result.replaceChildren(...answered(found, run));
      tell(`${run.name}: epsilon at most ${found.shown} at delta ${plain(state.delta)}`);
    }, (error) => {
      run.answer = null;
      compare();
      result.removeAttribute("aria-busy");
      result.replaceChildren(problem(error));
      tell(`${run.name}: ${error.message}`);
    });
  }

  // A text that was typed: the forms follow, and a training run is recognised where it is one.
  function say(expression) {
    run.expression = expression;
    run.mode = "releases";
    if (document.activeElement !== text) text.value = expression;
    fill();
    ask();
    const guess = guessedTraining(expression, run.training.examples);
    if (!guess) return;
    answer(`form-${run.id}`, "training", { ...guess, delta: state.delta }, (found) => {
      if (run.expression !== expression || !alike(found.expression, expression)) return;
      run.training = guess;
      run.mode = "training";
      keep();
      fill();
    }, () => undefined);
  }

  function fill() {
    const modes = segments("How to say it", [["training", "Training run"], ["releases", "List of releases"]], run.mode, (mode) => {
      run.mode = mode;
      fill();
      ask();
    });
    form.replaceChildren(modes, run.mode === "training" ? trainingForm(run, ask) : releasesForm(run, (expression) => {
      run.expression = expression;
      text.value = expression;
      ask();
    }, fill));
    seek.replaceChildren(sought(run, (expression) => {
      if (expression === null) { fill(); ask(); } else { text.value = expression; say(expression); }
    }));
  }

  text.addEventListener("input", () => say(text.value));
  fill();
  const remove = button("Remove", () => {
    state.runs = state.runs.filter((other) => other !== run);
    state.current = 0;
    keep();
    redraw();
  }, "quiet");
  const node = el("article", { class: "card", "aria-label": run.name },
    el("div", { class: "head" }, heading, state.runs.length > 1 ? remove : null),
    el("div", { class: "columns" },
      el("div", {}, form, labelled("The same as an expression", text, "For experts: edit either, the other follows.")),
      el("div", { class: "side" }, result, seek)));
  return { node, ask, say };
}

function answered(found, run) {
  if (found.upper === "inf") return nothingFinite(found);
  const parts = [
    el("p", { class: "epsilon" }, el("span", { class: "symbol", text: "ε" }), found.wide ? " ≤ " : " = ", el("output", { class: "value", text: found.shown })),
    el("p", { class: "at", text: `at δ = ${plain(state.delta)}, rounded up` }),
    el("dl", { class: "facts" }, facts(found, run)),
  ];
  if (found.wide) {
    parts.push(el("p", { class: "notice", text: found.lower > 0
      ? "The truth lies between the two ends: an attack attains the lower one, the upper one is proven."
      : "An upper bound: no attack is known that comes near it." }));
  }
  if (found.factor) {
    const rest = state.delta > 0 ? `, but for an additional probability of ${plain(state.delta)}` : "";
    parts.push(el("p", { class: "meaning", text: `One record changes the probability of any outcome by a factor of at most ${large(found.factor)}${rest}.` }));
  }
  return parts;
}

function nothingFinite(found) {
  return [
    el("p", { class: "epsilon none" }, el("output", { class: "value", text: "No finite ε" })),
    el("p", { class: "at", text: `at δ = ${plain(state.delta)}` }),
    el("p", { class: "notice", text: state.delta === 0
      ? "At δ = 0 nothing may fail, and nothing finite is proven then: Gaussian noise, for one, has no such ε. Choose a δ above 0."
      : "Nothing finite is proven at this δ. Choose a larger δ, or more noise." }),
    el("dl", { class: "facts" }, el("dt", { text: "what ran" }), el("dd", { text: found.mechanism })),
  ];
}

const large = (factor) => (Number(factor) < 1e6 ? factor : Number(factor).toExponential().replace("e+", "e"));

function facts(found, run) {
  const rows = [["certified", `${found.from} to ${found.to}`], ["neighbours", found.compared]];
  if (run.mode === "training") rows.push(["steps", `${found.steps}, with ${plain(found.batch, 5)} examples each on average`]);
  rows.push(["what ran", found.mechanism]);
  return rows.flatMap(([term, text]) => [el("dt", { text: term }), el("dd", { text })]);
}

function trainingForm(run, ask) {
  const set = (name) => (value) => { run.training[name] = value; ask(); };
  const numbers = [
    numberField("Examples", { value: run.training.examples, low: 100, high: 1e8, log: true, whole: true, change: set("examples") }),
    numberField("Batch size", { value: run.training.batch_size, low: 1, high: 65536, log: true, whole: true, help: "Expected number of examples per step.", change: set("batch_size") }),
    numberField("Epochs", { value: run.training.epochs, low: 1, high: 1000, log: true, whole: true, change: set("epochs") }),
    numberField("Noise multiplier", { value: run.training.noise, low: 0.3, high: 20, log: true, help: "Noise on the sum, over the clipping norm.", change: set("noise") }),
  ];
  const scheme = options(el("select", {}), vocabulary.schemes.map((one) => [one.word, one.title]), run.training.scheme);
  scheme.addEventListener("change", () => set("scheme")(scheme.value));
  return el("div", { class: "grid" }, numbers.map((one) => one.node),
    labelled("How batches are drawn", scheme, "Choose what your code really does: shuffling is not Poisson sampling."));
}

function releasesForm(run, change, fill) {
  const releases = parsed(run.expression);
  if (!releases) return el("p", { class: "notice", text: "The forms cannot show this expression. It counts all the same if it makes sense." });
  const changed = () => change(written(releases));
  const rebuilt = () => { changed(); fill(); };
  const items = releases.map((release, number) => el("li", { class: "release" },
    release.map((part, place) => partForm(part, place, number, changed, rebuilt, place ? () => { release.splice(place, 1); rebuilt(); } : null)),
    el("p", { class: "row" },
      button("Add a step", () => { release.push(starter("repeat", 1)); rebuilt(); }, "quiet small"),
      releases.length > 1 ? button("Remove", () => { releases.splice(number, 1); rebuilt(); }, "quiet small") : null)));
  return el("div", {}, el("ol", { class: "releases" }, items),
    button("Add a release", () => { releases.push([starter("laplace", 0)]); rebuilt(); }));
}

function partForm(part, place, number, changed, rebuilt, remove) {
  const forms = place ? vocabulary.pipes : vocabulary.atoms;
  const form = forms.find((one) => one.word === part.word);
  const label = place ? `Release ${number + 1}, then` : `Release ${number + 1}`;
  const word = options(el("select", { "aria-label": label }), forms.map((one) => [one.word, one.word.replaceAll("-", " ")]), part.word);
  word.addEventListener("change", () => { Object.assign(part, starter(word.value, place)); rebuilt(); });
  const inputs = form.parameters.map((one) => parameterField(one, part, label, changed));
  const away = remove ? button("×", remove, "quiet icon") : null;
  away?.setAttribute("aria-label", `Remove ${part.word} from release ${number + 1}`);
  return el("div", { class: place ? "part then" : "part" }, word, inputs, away);
}

function parameterField(one, part, label, changed) {
  const input = one.options ? options(el("select", {}), [["", "usual"], ...one.options.map((text) => [text, text.replaceAll("_", " ")])], part.values[one.name] ?? "")
    : el("input", { type: "text", inputmode: one.many ? undefined : "decimal", value: part.values[one.name] ?? "", spellcheck: "false", placeholder: one.required ? "" : "usual" });
  input.setAttribute("aria-label", `${label}: ${part.word} ${one.name.replaceAll("_", " ")}`);
  input.addEventListener(one.options ? "change" : "input", () => { part.values[one.name] = input.value; changed(); });
  return el("span", { class: "parameter" }, el("span", { class: "name", "aria-hidden": "true", text: one.name.replaceAll("_", " ") }), input);
}

// Which noise for this epsilon?
function sought(run, found) {
  const target = el("input", { type: "text", inputmode: "decimal", value: run.target ?? "2", autocomplete: "off" });
  target.addEventListener("input", () => { run.target = target.value; });
  const places = run.mode === "training" ? [] : seekable(run.expression);
  const which = options(el("select", {}), places.map((place, number) => [String(number), place.text]), "0");
  const said = el("div", { id: `sought-${run.id}` }, run.sought ? el("p", { class: "found", text: run.sought }) : null);
  const go = button("Find it", () => {
    said.replaceChildren(el("p", { class: "help", text: "Searching…" }));
    const wrong = (error) => said.replaceChildren(problem(error));
    if (run.mode === "training") {
      answer(`noise-${run.id}`, "training", { ...run.training, target: Number(target.value), delta: state.delta }, (plan) => {
        run.training.noise = plan.noise;
        done(`Noise multiplier ${plan.noise_shown}`, plan, () => found(null));
      }, wrong);
    } else {
      const place = places[Number(which.value)];
      answer(`noise-${run.id}`, "noise", { expression: run.expression, release: place.release, part: place.part, parameter: place.parameter, epsilon: Number(target.value), delta: state.delta }, (best) => {
        const releases = parsed(run.expression);
        releases[place.release][place.part].values[place.parameter] = String(best.value);
        done(`${place.text} ${best.value}`, best, () => found(written(releases)));
      }, wrong);
    }
  });
  const done = (value, best, after) => {
    run.sought = `${value} gives ε ≤ ${best.shown} at δ = ${plain(state.delta)}.`;
    after();
    tell(run.sought);
  };
  return el("section", { "aria-label": "Which noise for this epsilon" },
    el("h3", { text: "Which noise for this ε?" }),
    el("div", { class: "row" }, labelled("ε that is wanted", target), places.length > 1 ? labelled("Change", which) : null, el("div", { class: "field end" }, go)),
    said);
}

function seekable(expression) {
  const releases = parsed(expression) ?? [];
  return releases.flatMap((release, number) => release.flatMap((part, place) => {
    const form = (place ? vocabulary.pipes : vocabulary.atoms).find((one) => one.word === part.word);
    const first = form.parameters.find((one) => !one.options && !one.many && part.values[one.name] !== undefined);
    if (!first || !["", "poisson", "repeat"].includes(place ? part.word : "")) return [];
    const lead = releases.length > 1 ? `release ${number + 1}: ` : "";
    return [{ release: number, part: place, parameter: first.name, text: `${lead}${part.word} ${first.name.replaceAll("_", " ")}` }];
  }));
}
