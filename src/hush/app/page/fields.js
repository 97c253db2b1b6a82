// Fields for numbers, with a slider where one helps: both say the same, and tell what they say while they move.

import { el, fresh, plain } from "./dom.js";

export function numberField(label, { value, low, high, step = "any", log = false, whole = false, help, change, slider = true }) {
  const input = el("input", { type: "text", inputmode: "decimal", value: plain(value, 12), id: fresh("number"), autocomplete: "off", spellcheck: "false" });
  const field = el("div", { class: "field" }, el("label", { for: input.id, text: label }));
  const row = el("div", { class: "slide" });
  const toPlace = (number) => (log ? Math.log(Math.max(number, low)) : number);
  const fromPlace = (place) => {
    const number = log ? Math.exp(place) : place;
    return whole ? Math.round(number) : Number(number.toPrecision(3));
  };
  let range;
  const said = (number) => {
    const wrong = !Number.isFinite(number);
    input.setAttribute("aria-invalid", String(wrong));
    if (!wrong) change(number);
  };
  if (slider) {
    range = el("input", { type: "range", min: toPlace(low), max: toPlace(high), step: log ? (toPlace(high) - toPlace(low)) / 400 : step, value: toPlace(value), "aria-label": `${label}, slider` });
    range.setAttribute("aria-valuetext", plain(value, 6));
    range.addEventListener("input", () => {
      const number = fromPlace(Number(range.value));
      input.value = plain(number, 12);
      range.setAttribute("aria-valuetext", plain(number, 6));
      said(number);
    });
    row.append(range);
  }
  input.addEventListener("input", () => {
    const number = input.value.trim() === "" ? NaN : Number(input.value);
    if (range && Number.isFinite(number)) {
      range.value = toPlace(number);
      range.setAttribute("aria-valuetext", plain(number, 6));
    }
    said(number);
  });
  row.append(input);
  field.append(row);
  if (help) {
    const hint = el("p", { class: "help", id: fresh("help"), text: help });
    input.setAttribute("aria-describedby", hint.id);
    field.append(hint);
  }
  return {
    node: field,
    set(number) {
      input.value = plain(number, 12);
      if (range) range.value = toPlace(number);
      input.setAttribute("aria-invalid", "false");
    },
  };
}

// One choice of a few, as radio buttons that look like one bar.
export function segments(legend, pairs, chosen, change) {
  const name = fresh("segment");
  return el("fieldset", { class: "segments" }, el("legend", { class: "unseen", text: legend }),
    pairs.map(([value, text]) => {
      const input = el("input", { type: "radio", name, value, id: fresh("choice"), checked: value === chosen, onchange: () => change(value) });
      return [input, el("label", { for: input.id, text })];
    }));
}

export function problem(error) {
  const limit = ["limit", "busy", "offline"].includes(error.kind);
  const lead = { NotCovered: "No theorem covers this. ", limit: "Too much for one question. " }[error.kind] ?? "";
  return el("p", { class: limit ? "problem limit" : "problem", text: lead + error.message });
}
