// Charts: the numbers come from the server, Vega draws them in the colours of the page. One drawing for the screen, and
// one, always light and with title and legend inside, for a file.

import { above, below, button, download, el, plain, table } from "./dom.js";

const LIGHT = {
  ink: "#1c2126", soft: "#4d565e", grid: "#e3e6e8", paper: "#ffffff", under: "#b8b8b8",
  lines: ["#0b5f8a", "#c24e00", "#007a5a", "#a8417e", "#6b6f00", "#5a4fb0", "#3d4348"],
};
const DARK = {
  ink: "#e8ebed", soft: "#aeb7be", grid: "#333b42", paper: "#1b2126", under: "#666f76",
  lines: ["#6cbcea", "#f2994a", "#3fc79a", "#e58abf", "#d3cf5a", "#aca3f5", "#c3cad0"],
};
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif";
// More lines than colours: the next round of them is broken otherwise, so that no two lines look the same.
const ROUNDS = ["solid", "mixed"];
const DASHES = { solid: [1, 0], mixed: [9, 3, 2, 3], heavy: [1, 0], dashed: [7, 4], dotted: [2, 3] };
const LABEL = "datum.value >= 0.001 && datum.value < 10000 ? format(datum.value, '~r') : replace(format(datum.value, '~e'), '+', '')";
const NARROW = 480;
const MARKED = 20; // points of a line: with more of them it needs no marks where it was measured

const scheme = matchMedia("(prefers-color-scheme: dark)");
const colours = () => (scheme.matches ? DARK : LIGHT);

let library;
export function vega() {
  library ??= new Promise((done, failed) => {
    const script = el("script", { src: "/vega.js", onload: done, onerror: () => failed(new Error("Pictures cannot be drawn.")) });
    document.head.append(script);
  });
  return library;
}

// Points whose line is drawn with a band, from what is attained to what is proven.
function bands(chart) {
  const wide = new Set(chart.lines.filter((line) => line.band).map((line) => line.label));
  return new Set(chart.points.filter((point) => point.other !== undefined && wide.has(point.label)));
}

function ends(chart, axis) {
  if (chart[axis].domain) return chart[axis].domain;
  const banded = bands(chart);
  const values = chart.points.flatMap((point) => (axis === "y" && banded.has(point) ? [point.y, point.other] : [point[axis]]));
  return [Math.min(...values), Math.max(...values)];
}

// Round numbers on a logarithmic axis: powers of ten, with 2 and 5 between them where few fit.
export function logTicks(low, high, most = 8) {
  const decades = Math.log10(high / low) || 1;
  const digits = decades < 0.7 ? [1, 2, 3, 4, 5, 6, 7, 8, 9] : decades < 3.1 * (most / 8) ? [1, 2, 5] : [1];
  const stride = Math.max(1, Math.ceil(decades / most));
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    if (power % stride === 0) found.push(...digits.map((digit) => Number(`${digit}e${power}`)));
  }
  return found.filter((tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9));
}

function channel(chart, name, narrow, room) {
  const most = narrow ? 4 : 8;
  const axis = { ...chart[name], title: wrapped(chart[name].title, Math.floor(room / 7)) };
  if (!axis.log) {
    const scale = axis.domain ? { domain: axis.domain, nice: false } : { zero: false, nice: name === "y" };
    return { field: name, type: "quantitative", scale, axis: { title: axis.title, tickCount: most, format: ".4~g" } };
  }
  const [low, high] = ends(chart, name);
  const ticks = { values: logTicks(low, high, most), labelExpr: LABEL, title: axis.title };
  return { field: name, type: "quantitative", scale: { type: "log", domain: [low, high], nice: false }, axis: ticks };
}

const colourOf = (line, place, palette) => (line.stroke === "dotted" ? palette.soft : palette.lines[place % palette.lines.length]);

const strokeOf = (line, place, palette) => (line.stroke === "solid" ? ROUNDS[Math.floor(place / palette.lines.length) % ROUNDS.length] : line.stroke);

function named(chart, palette, inside) {
  const labels = chart.lines.map((line) => line.label);
  const colour = chart.lines.map((line, place) => colourOf(line, place, palette));
  const shared = (range) => ({ field: "label", type: "nominal", scale: { type: "ordinal", domain: labels, range }, legend: inside ? {} : null, sort: null });
  return {
    color: shared(colour),
    strokeDash: shared(chart.lines.map((line, place) => DASHES[strokeOf(line, place, palette)] ?? DASHES.solid)),
  };
}

function specification(chart, palette, width, height, inside = false) {
  const [x, y] = [channel(chart, "x", width < NARROW, width - 80), channel(chart, "y", height < 220, height - 60)];
  const styles = named(chart, palette, inside && chart.lines.length > 1);
  const dots = new Set(chart.lines.filter((line) => line.stroke === "dots").map((line) => line.label));
  const lined = chart.points.filter((point) => !dots.has(point.label));
  const layer = [];
  const banded = bands(chart);
  if (banded.size) {
    layer.push({
      data: { values: [...banded] },
      mark: { type: "area", opacity: 0.22, line: false, clip: true },
      encoding: { x, y, y2: { field: "other" }, color: styles.color },
    });
  }
  layer.push(...lineLayers(chart, lined, { x, y, ...styles }));
  const few = lined.length <= MARKED * chart.lines.length;
  if (dots.size || few) {
    const shown = few ? chart.points : chart.points.filter((point) => dots.has(point.label));
    layer.push({ data: { values: shown }, mark: { type: "point", filled: true, size: 46, opacity: 1 }, encoding: { x, y, color: styles.color } });
  }
  return { width, height, autosize: { type: "fit", contains: "padding" }, layer, config: configuration(palette) };
}

// Lines that the others are compared with, where a chart has some, are wide and lie below those that may coincide.
function lineLayers(chart, lined, encoding) {
  const wide = new Set(chart.lines.filter((line) => line.stroke === "heavy").map((line) => line.label));
  const [below, above] = [lined.filter((point) => wide.has(point.label)), lined.filter((point) => !wide.has(point.label))];
  return [[below, 5], [above, wide.size ? 1.8 : 2.4]].filter(([points]) => points.length).map(([values, strokeWidth]) => (
    { data: { values }, mark: { type: "line", clip: true, strokeWidth, strokeJoin: "round", interpolate: chart.steps ? "step-after" : "linear" }, encoding }));
}

function configuration(palette) {
  return {
    font: FONT, background: "transparent", padding: { left: 2, right: 10, top: 6, bottom: 2 },
    view: { stroke: palette.grid },
    axis: {
      labelFontSize: 12.5, titleFontSize: 13, titleFontWeight: "normal", titlePadding: 8, labelColor: palette.soft, titleColor: palette.ink,
      gridColor: palette.grid, domainColor: palette.grid, tickColor: palette.grid, labelOverlap: "greedy",
    },
    title: { fontSize: 17, subtitleFontSize: 12.5, color: palette.ink, subtitleColor: palette.soft, anchor: "start", frame: "group", offset: 10, subtitleLineHeight: 17 },
    legend: { orient: "bottom", direction: "horizontal", columns: 2, labelFontSize: 12.5, labelLimit: 0, labelColor: palette.ink, symbolType: "stroke", symbolSize: 500, title: null },
  };
}

const PLAIN = { ast: true, actions: false, defaultStyle: false, renderer: "svg", tooltip: false, hover: false };

function wrapped(text, width) {
  return text.split("\n").flatMap((part) => part.match(new RegExp(`.{1,${width}}(?:\\s|$)|\\S+`, "g")) ?? []).map((line) => line.trim());
}

async function forFile(chart) {
  await vega();
  const made = specification(chart, LIGHT, 720, 470, true);
  made.config.background = "white";
  made.config.padding = 16;
  made.title = { text: chart.title, subtitle: wrapped(chart.subtitle, 100) };
  return window.vegaEmbed(document.createElement("div"), made, PLAIN);
}

export async function svgOf(chart) {
  const found = await forFile(chart);
  const text = await found.view.toSVG();
  found.finalize();
  return text;
}

async function pngOf(chart) {
  const found = await forFile(chart);
  const canvas = await found.view.toCanvas(2);
  found.finalize();
  return new Promise((done) => { canvas.toBlob(done, "image/png"); });
}

const filed = (chart, ending) => `${chart.title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 50)}.${ending}`;

// The legend is HTML: it wraps, and its text can be read aloud and made larger.
function legend(chart) {
  const palette = colours();
  const items = chart.lines.map((line, place) => {
    const colour = colourOf(line, place, palette);
    const dash = DASHES[strokeOf(line, place, palette)] ?? DASHES.solid;
    const sample = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    sample.setAttribute("viewBox", "0 0 30 8");
    sample.setAttribute("aria-hidden", "true");
    const mark = document.createElementNS("http://www.w3.org/2000/svg", line.stroke === "dots" ? "circle" : "line");
    const place0 = line.stroke === "dots" ? { cx: 15, cy: 4, r: 3.5, fill: colour } : {
      x1: 0, x2: 30, y1: 4, y2: 4, stroke: colour, "stroke-width": line.stroke === "heavy" ? 5 : 2.4, "stroke-dasharray": dash[1] ? dash.join(" ") : "none",
    };
    for (const [key, value] of Object.entries(place0)) mark.setAttribute(key, value);
    sample.append(mark);
    return el("li", {}, sample, el("span", { text: line.label }));
  });
  return el("ul", { class: "legend" }, items);
}

function numbers(chart) {
  const step = Math.max(1, Math.ceil(chart.points.length / 240));
  const proven = new Set(chart.lines.filter((line) => line.stroke === "dots").map((line) => line.label)); // from below
  const rows = chart.points.filter((_, place) => place % step === 0)
    .map((point) => [point.label, plain(point.x, 5), (proven.has(point.label) ? below : above)(point.y, 6), point.other === undefined ? "" : below(point.other, 6)]);
  const details = el("details", { class: "numbers" }, el("summary", { text: "The numbers of this picture" }));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(table(["line", chart.x.title, chart.y.title, "other end"], rows, `Numbers: ${chart.title}`));
  });
  return details;
}

// A figure that draws itself anew when the width or the colours change; its place is cleared first.
const drawn = new WeakMap();

export function clear(place) {
  drawn.get(place)?.();
  drawn.delete(place);
  place.replaceChildren();
}

export async function show(place, chart, { summary = "", height } = {}) {
  drawn.get(place)?.();
  const canvas = el("div", { class: "canvas", role: "img", "aria-label": summary || `${chart.title}. ${chart.subtitle}` });
  const caption = el("figcaption", {}, el("strong", { text: chart.title }), el("span", { text: chart.subtitle }));
  const files = el("p", { class: "files" },
    button("Save SVG", async () => download(filed(chart, "svg"), await svgOf(chart), "image/svg+xml"), "quiet"),
    button("Save PNG", async () => download(filed(chart, "png"), await pngOf(chart), "image/png"), "quiet"));
  const key = el("div", {});
  const figure = el("figure", { class: "chart" }, caption, canvas, key, files, numbers(chart));
  place.replaceChildren(figure);
  let width = 0, view = null, ended = false;
  const redraw = async (forced) => {
    const now = Math.floor(canvas.clientWidth);
    if (ended || now === 0 || (!forced && now === width)) return;
    width = now;
    key.replaceChildren(...(chart.lines.length > 1 ? [legend(chart)] : []));
    const tall = height ?? (now < NARROW ? 260 : Math.min(400, Math.round(now * 0.55)));
    const made = await window.vegaEmbed(canvas, specification(chart, colours(), now, tall), PLAIN);
    view?.finalize();
    view = made;
    figure.dataset.drawn = "yes";
  };
  try {
    await vega();
  } catch (error) {
    canvas.replaceChildren(el("p", { class: "problem", text: error.message }));
    return;
  }
  const watch = new ResizeObserver(() => redraw(false));
  const turned = () => redraw(true);
  watch.observe(canvas);
  scheme.addEventListener("change", turned);
  drawn.set(place, () => { ended = true; watch.disconnect(); scheme.removeEventListener("change", turned); view?.finalize(); });
  await redraw(true);
}
