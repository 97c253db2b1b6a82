// The documentation in a dialog: Markdown as it is written, made into elements, never into HTML from text.

import { button, el } from "./dom.js";

export const known = new Set(); // names of the pages that came along

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)/g;

function inline(text, from) {
  const found = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    found.push(text.slice(end, match.index));
    end = match.index + match[0].length;
    if (match[1]) found.push(el("code", { text: match[1] }));
    else if (match[2]) found.push(el("strong", {}, inline(match[2], from)));
    else found.push(link(match[3], match[4], from));
  }
  found.push(text.slice(end));
  return found.filter((part) => part !== "");
}

function link(text, target, from) {
  const path = target.split("#")[0];
  const name = new URL(path, `http://x/${from}`).pathname.slice(1);
  return known.has(name) ? button(text, () => read(name), "link") : el("span", { text });
}

const row = (line) => line.replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());

function blocks(text, from) {
  const lines = text.split("\n");
  const found = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at];
    const take = (while_) => { const start = at; while (at < lines.length && while_(lines[at])) at += 1; return lines.slice(start, at); };
    if (!line.trim()) { at += 1; continue; }
    const heading = line.match(/^(#{1,6}) (.*)/);
    if (heading) { found.push(el(`h${Math.min(heading[1].length + 1, 6)}`, {}, inline(heading[2], from))); at += 1; continue; }
    if (line.startsWith("```")) {
      at += 1;
      const code = take((one) => !one.startsWith("```"));
      at += 1;
      found.push(el("pre", { tabindex: "0" }, el("code", { text: code.join("\n") })));
    } else if (/^ {4}/.test(line)) {
      found.push(el("pre", { tabindex: "0" }, el("code", { text: take((one) => /^ {4}|^$/.test(one)).map((one) => one.slice(4)).join("\n").trimEnd() })));
    } else if (line.startsWith("|")) {
      const [head, , ...body] = take((one) => one.startsWith("|")).map(row);
      found.push(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" }, el("table", {},
        el("thead", {}, el("tr", {}, head.map((cell) => el("th", { scope: "col" }, inline(cell, from))))),
        el("tbody", {}, body.map((cells) => el("tr", {}, cells.map((cell) => el("td", {}, inline(cell, from)))))))));
    } else if (/^([-*]|\d+\.) /.test(line)) {
      const items = [];
      for (const one of take((next) => next.trim() && (/^([-*]|\d+\.) /.test(next) || /^ {2,}/.test(next)))) {
        if (/^([-*]|\d+\.) /.test(one)) items.push(one.replace(/^([-*]|\d+\.) /, ""));
        else items[items.length - 1] += ` ${one.trim()}`;
      }
      found.push(el(/^\d/.test(line) ? "ol" : "ul", {}, items.map((item) => el("li", {}, inline(item, from)))));
    } else if (line.startsWith(">")) {
      found.push(el("blockquote", {}, inline(take((one) => one.startsWith(">")).map((one) => one.replace(/^> ?/, "")).join(" "), from)));
    } else {
      found.push(el("p", {}, inline(take((one) => one.trim() && !/^(#|```|\||>|[-*] )/.test(one)).join(" ") || lines[at++], from)));
    }
  }
  return found;
}

export async function read(name, words = "") {
  const dialog = document.getElementById("reader");
  const response = await fetch(`/docs/${name}`);
  const text = response.ok ? await response.text() : "# This page is not here";
  const article = el("article", { class: "prose" }, blocks(text, name));
  const close = button("Close", () => dialog.close(), "quiet");
  dialog.replaceChildren(el("div", { class: "head" }, el("h2", { id: "reader-title", text: `docs/${name}` }), close), article);
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  const place = words && [...article.querySelectorAll("p, li, tr, pre")].find((one) => one.textContent.includes(words));
  if (place) {
    place.classList.add("cited");
    place.scrollIntoView({ block: "center" });
  }
}
