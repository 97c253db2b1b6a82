// The start: token, what the server can do, the state of the address, and the views.

import { Problem, STALE, giveUpAll, keepToken, slot } from "./ask.js";
import * as calculator from "./calculator.js";
import { vega } from "./chart.js";
import { copier, el, tell } from "./dom.js";
import * as explain from "./explain.js";
import { problem } from "./fields.js";
import { vocabulary } from "./language.js";
import * as ledger from "./ledger.js";
import * as pictures from "./pictures.js";
import * as planner from "./planner.js";
import { known as documents } from "./reader.js";
import { fragment, keep, permanentLink, restore, state } from "./state.js";

const VIEWS = { calculator, pictures, planner, ledger, explain };
const main = document.getElementById("main");

function navigation() {
  const links = Object.entries(VIEWS).filter(([, view]) => !view.hidden?.()).map(([name, view]) => el("a", {
    href: `#view=${name}`, text: view.title, "aria-current": name === state.view ? "page" : undefined,
    onclick: (event) => { event.preventDefault(); go(name); },
  }));
  document.getElementById("views").replaceChildren(...links);
}

function go(name) {
  state.view = name;
  keep();
  draw();
  main.focus({ preventScroll: true });
  scrollTo({ top: 0 });
}

// Views about runs need their expressions: a run that nobody has asked about yet is asked first.
async function expressions() {
  for (const run of state.runs.filter((one) => !one.expression && one.mode === "training")) {
    const found = await slot(`run-${run.id}`).ask("training", { ...run.training, delta: state.delta });
    if (found === STALE) return;
    run.expression = found.expression ?? run.expression;
  }
}

let drawing = 0;

async function draw() {
  const turn = ++drawing;
  giveUpAll();
  if (!VIEWS[state.view] || VIEWS[state.view].hidden?.()) state.view = "calculator";
  const view = VIEWS[state.view];
  navigation();
  document.title = `${view.title} · hush`;
  try {
    if (view.needsRuns) await expressions();
    if (turn !== drawing) return;
    main.replaceChildren();
    main.dataset.view = state.view;
    view.view(main, draw);
  } catch (error) {
    main.replaceChildren(problem(error));
  }
}

async function start() {
  const token = restore(location.hash);
  const held = keepToken(token);
  history.replaceState(null, "", fragment());
  try {
    if (!held) throw new Problem("token", "Open the address that hush app printed: it has the token of this start.");
    const hello = await slot("hello").ask("hello", {});
    Object.assign(vocabulary, await slot("words").ask("words", {}));
    Object.assign(ledger.book, { given: hello.ledger, write: hello.write });
    hello.documents.forEach((name) => documents.add(name));
    document.getElementById("about").append(` hush ${hello.version}.`);
  } catch (error) {
    navigation();
    main.replaceChildren(el("h1", { text: "hush" }), problem(error));
    tell(error.message);
    return;
  }
  document.getElementById("tools").replaceChildren(copier("Copy link", permanentLink));
  document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
  addEventListener("hashchange", () => { keepToken(restore(location.hash)); keep(); draw(); });
  document.addEventListener("hush-redraw", draw);
  await draw();
  document.body.dataset.ready = "yes";
  vega().catch(() => undefined); // while the person reads: pictures are then drawn at once
}

start();
