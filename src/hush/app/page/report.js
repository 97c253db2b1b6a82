// A report of one page: statement, picture and checklist in one file that needs nothing else, and prints well.

import { slot, STALE } from "./ask.js";
import { svgOf } from "./chart.js";
import { plain } from "./dom.js";
import { state } from "./state.js";

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

export async function report(run, found, checked) {
  const [style, picture] = await Promise.all([fetch("/report.css").then((reply) => reply.text()), rocPicture(run)]);
  const page = document.implementation.createHTMLDocument(`Privacy report: ${run.name}`);
  const add = (parent, name, text, attributes = {}) => {
    const made = page.createElement(name);
    if (text) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent.append(made);
    return made;
  };
  page.documentElement.lang = "en";
  page.head.prepend(Object.assign(page.createElement("meta"), { httpEquiv: "Content-Security-Policy", content: POLICY }));
  add(page.head, "meta", "", { charset: "utf-8" });
  add(page.head, "meta", "", { name: "viewport", content: "width=device-width, initial-scale=1" });
  const main = add(page.body, "main");
  add(main, "h1", `Privacy report: ${run.name}`);
  add(main, "p", `${new Date().toISOString().slice(0, 10)}, made with hush; every number is rounded to the safe side`, { class: "when" });
  const answer = found.answer;
  add(main, "p", `ε ${answer.wide ? "≤" : "="} ${answer.shown} at δ = ${plain(state.delta)}`, { class: "epsilon" });
  add(main, "p", `certified: ${answer.from} to ${answer.to}; ${answer.compared}`);
  add(main, "h2", "The guarantee in words");
  add(main, "p", found.statement);
  if (picture) {
    add(main, "h2", "What the best attacker finds");
    add(main, "img", "", { src: `data:image/svg+xml;base64,${encoded(picture)}`, alt: "The largest true positive rate of any attacker against the false positive rate" });
  }
  add(main, "h2", "What it assumes");
  const list = add(main, "ul", "", { class: "checklist" });
  for (const [text, done] of checked) add(list, "li", `${done ? "☑ checked" : "☐ not checked"}: ${text}`);
  add(main, "h2", "To repeat it");
  add(main, "pre", found.command);
  add(main, "pre", found.python);
  // the style is put in as text: this page allows no inline style, not even in a document that is only written down
  return `<!doctype html>\n${page.documentElement.outerHTML}`.replace("</head>", () => `<style>${style}</style></head>`);
}

async function rocPicture(run) {
  try {
    const found = await slot("report").ask("roc", { runs: [{ name: run.name, expression: run.expression }] });
    return found === STALE ? null : await svgOf(found.chart);
  } catch {
    return null; // a mechanism without a curve has a report all the same
  }
}

function encoded(text) {
  return btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(""));
}
