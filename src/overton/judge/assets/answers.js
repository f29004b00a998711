// What one person said so far: kept in this browser as it is given, written to a file, and loaded from one. No page here.

const task = JSON.parse(document.getElementById("task").textContent);
const places = new Set(task.units.map((unit) => unit.place));
const known = new Set([...task.labels.map((label) => label.name), task.cannotTell]);
const RECENT = 20;
const KEPT = `overton/labels/${task.task}/${task.page}`; // all local files share one storage

class Answers {
  constructor() {
    this.person = "";
    this.labels = new Map();
    this.remarks = new Map();
    this.seconds = new Map();
    this.takenBack = new Set(); // places whose label was removed, so that files saved before lose it, too
    this.past = []; // pairs of a place and the label that it had before, null if it had none
  }

  label(place, label) {
    this.past.push([place, this.labels.get(place) ?? null]);
    this.labels.set(place, label);
    this.takenBack.delete(place);
  }

  // Takes the last label back; returns its place, or null if there is no label.
  undo() {
    const last = this.past.pop();
    if (last === undefined) return null;
    const [place, before] = last;
    if (before !== null) this.labels.set(place, before);
    else {
      this.labels.delete(place);
      this.takenBack.add(place);
    }
    return place;
  }

  // Adds the answers in a file: what it lacks is kept, and where they differ the file prevails.
  takeUp(found) {
    for (const part of ["labels", "remarks", "seconds"]) this[part] = new Map([...this[part], ...found[part]]);
    for (const place of found.takenBack) this.labels.delete(place);
    this.takenBack = new Set([...this.takenBack, ...found.takenBack].filter((place) => !this.labels.has(place)));
    this.person = found.person;
    this.past = found.past;
  }

  remark(place, text) {
    if (text.trim()) this.remarks.set(place, text);
    else this.remarks.delete(place);
  }

  spend(place, seconds) {
    this.seconds.set(place, Math.round(10 * ((this.seconds.get(place) ?? 0) + seconds)) / 10);
  }

  // The median time of the last units, times the number of units left; null while too few are known.
  secondsLeft() {
    const recent = [...new Set(this.past.map(([place]) => place).reverse())].slice(0, RECENT);
    const spans = (recent.length < 3 ? [...this.labels.keys()] : recent).flatMap((place) => this.seconds.get(place) ?? []);
    if (spans.length < 3) return null;
    spans.sort((a, b) => a - b);
    const half = spans.length >> 1;
    const median = spans.length % 2 ? spans[half] : (spans[half - 1] + spans[half]) / 2;
    return median * (task.units.length - this.labels.size);
  }

  // The format that `overton judge agreement` reads.
  said() {
    return {
      task: task.task,
      page: task.page,
      person: this.person,
      labels: Object.fromEntries(this.labels),
      remarks: Object.fromEntries(this.remarks),
      seconds: Object.fromEntries(this.seconds),
      taken_back: [...this.takenBack],
      saved: Date.now() / 1000,
    };
  }
}

class Refused extends Error {}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// Entries of one of a file's objects, by place; the file is refused if it has anything that is not on this page.
function entries(held, name, accepts) {
  const found = held[name] ?? {};
  if (!isObject(found)) throw new Refused(`"${name}" in this file is not what a page saves.`);
  return Object.entries(found).map(([key, value]) => {
    const place = /^\d{1,9}$/.test(key) ? Number(key) : -1;
    if (!places.has(place) || !accepts(value)) throw new Refused(`"${name}" in this file contains what is not on this page.`);
    return [place, value];
  });
}

// The answers in a text that a page saved. Throws Refused, with a sentence, if they are not for this task and page.
function taken(text) {
  let held;
  try {
    held = JSON.parse(text);
  } catch {
    throw new Refused("This file is not one that a page saved: it is not JSON.");
  }
  if (!isObject(held) || typeof held.task !== "string" || typeof held.person !== "string")
    throw new Refused("This file is not one that a page saved.");
  if (held.task !== task.task)
    throw new Refused(`This file is for another task (${held.task.slice(0, 40)}); this page is for ${task.task}.`);
  if (held.page !== task.page)
    throw new Refused(`This file is for page ${String(held.page).slice(0, 9)} of this task; this is page ${task.page}.`);
  const answers = new Answers();
  answers.person = held.person.trim().slice(0, 80);
  answers.labels = new Map(entries(held, "labels", (label) => known.has(label)));
  answers.remarks = new Map(entries(held, "remarks", (text) => typeof text === "string" && text.length <= 5000));
  answers.seconds = new Map(entries(held, "seconds", (number) => Number.isFinite(number) && number >= 0));
  const back = held.taken_back ?? [];
  if (!Array.isArray(back) || !back.every((place) => places.has(place) && !answers.labels.has(place)))
    throw new Refused('"taken_back" in this file contains what is not on this page.');
  answers.takenBack = new Set(back);
  if (Array.isArray(held.past)) {
    const isPast = (one) => Array.isArray(one) && places.has(one[0]) && (one[1] === null || known.has(one[1]));
    answers.past = held.past.filter(isPast);
  }
  return answers;
}

// Keeps the answers in this browser; false if it stores nothing.
function keep(answers) {
  try {
    localStorage.setItem(KEPT, JSON.stringify({ ...answers.said(), past: answers.past }));
    return true;
  } catch {
    return false;
  }
}

// What this browser kept of this page, or null.
function kept() {
  let text = null;
  try {
    text = localStorage.getItem(KEPT);
  } catch {
    return null; // if the browser stores nothing, the page says so when it tries to
  }
  return text === null ? null : taken(text);
}

function forget() {
  try {
    localStorage.removeItem(KEPT);
  } catch {
    // there is nothing to forget
  }
}

// With the page's number, since two people may choose the same name.
function fileName(person) {
  const name = person.normalize("NFKC").replace(/[^\p{L}\p{M}\p{N}_-]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 60);
  return `${name || "labels"}-${task.page || "settled"}.json`;
}
