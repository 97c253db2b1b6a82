// Questions to the server. Each place on the page has a slot: one question is on its way, and the newest one waits.

const KEPT = "hush-token";
const PATIENCE = 400; // milliseconds that a question on its way is waited for before a newer one takes its place
const tab = crypto.randomUUID();

export const STALE = Symbol("a newer question took over");

export class Problem extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

export function keepToken(token) {
  if (token) localStorage.setItem(KEPT, token);
  return Boolean(localStorage.getItem(KEPT));
}

const headers = (type) => ({ "content-type": type, "x-hush-token": localStorage.getItem(KEPT) ?? "" });
const wait = (time) => new Promise((done) => { setTimeout(done, time); });

async function reply(path, type, body, signal) {
  let response;
  try {
    response = await fetch(path, { method: "POST", headers: headers(type), body, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("offline", "The server does not answer: was hush app ended?");
  }
  if (!response.ok) throw new Problem(`status ${response.status}`, (await response.text()).trim());
  const said = await response.json();
  if (said.error) throw new Problem(said.error.kind, said.error.message);
  return said.answer;
}

export class Slot {
  #name; #turn = 0; #flight = null;

  // Turns are counted for the server, too: a question that was overtaken on its way must not end the newer one.
  #next() { return ++this.#turn; }

  constructor(name) { this.#name = name; }

  // Nobody waits for its answer any more: the server ends the question, too.
  giveUp() {
    this.#next();
    this.#flight?.stop.abort();
  }

  ask(name, given) {
    const turn = this.#next();
    const body = JSON.stringify({ tab, slot: this.#name, turn, ask: name, with: given });
    return this.#send(turn, "/ask", "application/json", body);
  }

  upload(file, fields) {
    const turn = this.#next();
    const query = new URLSearchParams({ tab, turn, name: file.name, ...fields });
    return this.#send(turn, `/scores?${query}`, "application/octet-stream", file);
  }

  async #send(turn, path, type, body) {
    if (this.#flight) {
      await Promise.race([this.#flight.landed, wait(PATIENCE)]);
      if (turn !== this.#turn) return STALE;
      this.#flight?.stop.abort();
    }
    const stop = new AbortController();
    const flying = reply(path, type, body, stop.signal);
    const flight = { stop, landed: flying.catch(() => undefined) };
    this.#flight = flight;
    try {
      const answer = await flying;
      return turn === this.#turn ? answer : STALE;
    } catch (error) {
      if (turn !== this.#turn || error.name === "AbortError") return STALE;
      throw error;
    } finally {
      if (this.#flight === flight) this.#flight = null;
    }
  }
}

const slots = new Map();

export function slot(name) {
  if (!slots.has(name)) slots.set(name, new Slot(name));
  return slots.get(name);
}

// Another view is opened: what the last one asked must not keep the new one waiting. What is written down is not called back.
export function giveUpAll() {
  slots.forEach((one, name) => { if (name !== "record") one.giveUp(); });
}

// Ask, then show the answer or what is wrong; an answer that came too late is dropped.
export async function answer(name, question, given, show, wrong) {
  try {
    const found = await slot(name).ask(question, given);
    if (found !== STALE) show(found);
  } catch (error) {
    wrong(error);
  }
}
