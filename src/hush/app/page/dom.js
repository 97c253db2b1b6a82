// Small helpers for elements. Text is always set as text: nothing that a person or a file says becomes HTML.

let serial = 0;

export const fresh = (stem) => `${stem}-${++serial}`;

export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "text") made.textContent = value;
    else if (key === "value") made.value = value;
    else if (key === "checked" || key === "disabled" || key === "open") made[key] = Boolean(value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

// A label above its field, and a line of help below it.
export function labelled(label, input, help) {
  input.id ||= fresh("field");
  const parts = [el("label", { for: input.id, text: label }), input];
  if (help) {
    const hint = el("p", { class: "help", id: fresh("help"), text: help });
    input.setAttribute("aria-describedby", hint.id);
    parts.push(hint);
  }
  return el("div", { class: "field" }, parts);
}

export const button = (text, onclick, kind = "") => el("button", { type: "button", class: kind, text, onclick });

export function options(select, pairs, chosen) {
  select.replaceChildren(...pairs.map(([value, text]) => el("option", { value, text })));
  select.value = chosen;
  return select;
}

export function table(head, rows, caption) {
  const numeric = head.map((_, place) => rows.length > 0 && rows.every((row) => /^[-+\d.,e%]+$|^-?$|^inf$/.test(String(row[place]))));
  const side = (place) => (numeric[place] ? "number" : undefined);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {},
      el("caption", { class: "unseen", text: caption }),
      el("thead", {}, el("tr", {}, head.map((text, place) => el("th", { scope: "col", class: side(place), text })))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, place) => (
        el("td", { class: side(place), "data-label": head[place] }, el("span", { text: String(cell) })))))))));
}

// Said to screen readers, once things have come to rest.
let telling;
export function tell(text) {
  clearTimeout(telling);
  telling = setTimeout(() => { document.getElementById("said").textContent = text; }, 400);
}

export function download(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// A button that copies a text, and says so.
export function copier(label, text) {
  const made = button(label, async () => {
    try {
      await navigator.clipboard.writeText(text());
      made.textContent = "Copied";
    } catch {
      made.textContent = "Press Ctrl-C in the box";
    }
    tell(`${label}: ${made.textContent}`);
    setTimeout(() => { made.textContent = label; }, 1600);
  }, "quiet");
  return made;
}

// A few digits of a bound: never below it, or never above it.
export const above = (value, digits) => safe(value, digits, 1);
export const below = (value, digits) => safe(value, digits, -1);

function safe(value, digits, side) {
  const number = Number(value);
  if (!Number.isFinite(number) || number === 0) return String(value);
  const near = Number(number.toPrecision(digits));
  if ((near - number) * side >= 0) return plain(near, digits);
  const last = 10 ** (Math.floor(Math.log10(Math.abs(number))) - digits + 1);
  return plain(near + side * last, digits);
}

export const plain = (value, digits = 6) => {
  const number = Number(value);
  if (!Number.isFinite(number)) return String(value);
  const text = String(Number(number.toPrecision(digits)));
  return number !== 0 && Math.abs(number) < 1e-3 && !text.includes("e") ? Number(text).toExponential().replace("e-0", "e-") : text;
};
