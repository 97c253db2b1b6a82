// The expression language on the page: text to forms and back. What is valid is for the server to say.

const BETWEEN = /;|\bthen\b/;

export const vocabulary = { atoms: [], pipes: [], schemes: [] };

const formOf = (word, place) => (place === 0 ? vocabulary.atoms : vocabulary.pipes).find((form) => form.word === word);

// Releases, each a list of { word, values }; null where a form cannot show the text.
export function parsed(text) {
  const releases = text.split(BETWEEN).map((release) => release.split("|").map((part, place) => read(part, place)));
  return releases.flat().includes(null) ? null : releases;
}

function read(part, place) {
  const words = part.trim().split(/\s+/).filter(Boolean);
  const at = words.findIndex((word) => !word.includes("="));
  const form = at < 0 ? undefined : formOf(words[at], place);
  if (!form) return null;
  const [word] = words.splice(at, 1);
  const values = {};
  for (const named of words.filter((one) => one.includes("="))) {
    const [name, value] = named.split(/=(.*)/s);
    if (!form.parameters.some((one) => one.name === name)) return null;
    values[name] = value;
  }
  const rest = words.filter((one) => !one.includes("="));
  for (const one of form.parameters) {
    if (one.name in values || one.options || rest.length === 0) continue;
    values[one.name] = one.many ? rest.splice(0).join(" ") : rest.shift();
  }
  return rest.length ? null : { word, values };
}

export function written(releases) {
  return releases.map((release) => release.map((part, place) => said(part, place)).join(" | ")).join("; ");
}

function said(part, place) {
  const plain = [], named = [];
  let skipped = false;
  for (const one of formOf(part.word, place)?.parameters ?? []) {
    const value = String(part.values[one.name] ?? "").trim();
    if (value === "") skipped ||= !one.options;
    else if (one.options || (skipped && !one.many)) named.push(`${one.name}=${value}`);
    else plain.push(value);
  }
  return [part.word, ...plain, ...named].join(" ");
}

export const starter = (word, place) => ({ word, values: Object.fromEntries(
  (formOf(word, place)?.parameters ?? []).filter((one) => one.required)
    .map((one) => [one.name, one.options ? one.options[0] : one.many ? (word === "renyi" ? "2 0.1" : "1 1e-6") : first(one.name)])) });

const first = (name) => ({ rate: "0.01", times: "10", size: "2", steps: "100", epsilon: "1", population: "1000", people: "1000",
  choices: "2", order: "2", omega: "2", bins: "100", epochs: "1", parts: "2", cap: "100", records: "100", flips: "100" }[name] ?? "1");

const same = (one, other) => one === other || Number(one) === Number(other);

// Whether two texts say the same, number by number.
export function alike(first, second) {
  const [one, other] = [parsed(first), parsed(second)];
  if (!one || !other || one.length !== other.length) return false;
  return one.every((release, place) => release.length === other[place].length && release.every((part, at) => {
    const twin = other[place][at];
    const names = new Set([...Object.keys(part.values), ...Object.keys(twin.values)]);
    return part.word === twin.word && [...names].every((name) => same(part.values[name], twin.values[name]));
  }));
}

// The fields of a training run that may have made this text; the server then says whether they did.
export function guessedTraining(text, examples) {
  const releases = parsed(text);
  if (!releases || releases.length !== 1) return null;
  const [noise, scheme, ...rest] = releases[0];
  if (noise.word !== "gaussian" || !scheme || !vocabulary.schemes.some((one) => one.word === scheme.word)) return null;
  const repeat = Number(rest.find((part) => part.word === "repeat")?.values.times ?? 1);
  if (rest.some((part) => !["repeat", "replace"].includes(part.word))) return null;
  const said = Object.fromEntries(Object.entries(scheme.values).map(([name, value]) => [name, Number(value)]));
  const rows = said.population ?? examples; // where the number of examples is part of the scheme, it is that one
  const share = said.size ? said.size / said.population : (said.rate ?? 1 / (said.steps ?? said.bins)) / (said.parts && said.rate ? said.parts : 1);
  const passes = said.epochs ?? (said.rate || said.size ? share * (said.rate ? said.parts ?? 1 : 1) : 1); // through the data, in one draw
  const found = { noise: Number(noise.values.noise_multiplier), scheme: scheme.word, examples: rows };
  found.batch_size = Math.max(1, Math.round(share * rows));
  found.epochs = repeat * (said.rate || said.size ? (passes / share) * (found.batch_size / rows) : passes);
  found.epochs = Number(found.epochs.toPrecision(12));
  return found;
}
