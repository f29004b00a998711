
// The page: one unit at a time, labels by key or button. Texts of others become text nodes only.

const at = (id) => document.getElementById(id);
const LONG = 500; // characters from which a text is folded, all but the last of a unit
const folded = new Map(); // by heading, whether the person opened or closed it
const buttons = new Map();

let answers = new Answers();
let here = 0;
let since = null; // when the person started looking at the unit; null while it is not in view
let unsaved = false;
let keeps = true;

const unit = () => task.units[here];
const isWorking = () => !at("work").hidden;

// -------------------------------------------------------------------------------------------------- keeping and time

function store() {
  const could = keep(answers);
  if (keeps && !could) tell("This browser keeps nothing between visits. Save to a file before you close the page.");
  keeps = could;
}

function look() {
  since = isWorking() && document.visibilityState === "visible" ? performance.now() : null;
}

function lookAway() {
  if (since !== null) answers.spend(unit().place, (performance.now() - since) / 1000);
  since = null;
}

function timeLeft() {
  const seconds = answers.secondsLeft();
  if (seconds === null || answers.labels.size === task.units.length) return "";
  if (seconds < 60) return "less than a minute left";
  const minutes = Math.round(seconds / 60);
  return minutes === 1 ? "about a minute left" : `about ${minutes} minutes left`;
}

// ------------------------------------------------------------------------------------------------------------ showing

function tell(text, heard = "") {
  at("told").replaceChildren(text, element("span", { className: "heard", textContent: heard }));
}

function show(id) {
  for (const name of ["start", "work", "end"]) at(name).hidden = name !== id;
  document.body.dataset.at = id;
  at("save").hidden = id !== "work";
  progress();
}

function progress() {
  const all = task.units.length;
  at("done").value = answers.labels.size;
  at("where").textContent = `${count(answers.labels.size)} of ${count(all)} labelled`;
  at("left").textContent = timeLeft();
}

function passage(heading, text, last) {
  const said = element("div", { className: "passage", dir: "auto", textContent: visible(text) });
  if (last || text.length <= LONG)
    return element("section", {}, element("h2", { textContent: heading }), said);
  const summary = element("summary", {}, heading, " ", element("small", { textContent: `${count(text.length)} characters` }));
  const made = element("details", { open: folded.get(heading) ?? false }, summary, said);
  made.addEventListener("toggle", () => folded.set(heading, made.open));
  return made;
}

function title() {
  const name = task.row.charAt(0).toUpperCase() + task.row.slice(1);
  const told = `${name} ${count(here + 1)} of ${count(task.units.length)}`;
  return unit().group === null ? told : `${told}, ${task.group} ${unit().group} of ${task.groups}`;
}

function draw() {
  const texts = unit().texts.map(([heading, text]) => [task.texts[heading], task.texts[text]]);
  at("place").textContent = visible(title());
  at("texts").replaceChildren(...texts.map(([heading, text], i) => passage(visible(heading), text, i === texts.length - 1)));
  at("remark").value = answers.remarks.get(unit().place) ?? "";
  openRemark(answers.remarks.has(unit().place));
  mark();
}

function mark() {
  const given = answers.labels.get(unit().place);
  for (const [label, button] of buttons) button.setAttribute("aria-pressed", String(label === given));
  at("back").disabled = here === 0;
  at("on").disabled = here === task.units.length - 1 && given === undefined;
  at("undo").disabled = answers.past.length === 0;
  progress();
}

function openRemark(open) {
  at("remark-box").hidden = !open;
  at("note").setAttribute("aria-expanded", String(open));
}

function go(index) {
  lookAway();
  here = index;
  show("work");
  draw();
  at("place").focus({ preventScroll: true });
  window.scrollTo(0, 0);
  look();
}

function finish() {
  lookAway();
  show("end");
  const counts = new Map([...buttons.keys()].map((label) => [label, 0]));
  for (const label of answers.labels.values()) counts.set(label, counts.get(label) + 1);
  at("summary").replaceChildren(
    ...[...counts].map(([label, number]) =>
      element("div", {}, element("dt", { textContent: visible(label) }), element("dd", { textContent: count(number) })),
    ),
  );
  const minutes = Math.round([...answers.seconds.values()].reduce((sum, one) => sum + one, 0) / 60);
  const remarks = answers.remarks.size === 1 ? "one remark" : `${count(answers.remarks.size)} remarks`;
  at("took").textContent = `${minutes < 1 ? "Less than a minute" : minutes === 1 ? "A minute" : `${minutes} minutes`}, ${remarks}.`;
  store();
  at("end-title").focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

// ------------------------------------------------------------------------------------------------------------- acting

// The first unit from `start` on without a label, wrapping round after the last; -1 if all have one.
function unlabelled(start) {
  const order = task.units.map((_, i) => (start + i) % task.units.length);
  return order.find((i) => !answers.labels.has(task.units[i].place)) ?? -1;
}

function say(label) {
  lookAway();
  answers.label(unit().place, label);
  unsaved = true;
  store();
  const next = unlabelled(here + 1);
  if (next < 0) finish();
  else go(next);
  const left = timeLeft();
  tell(`Last label: ${visible(label)}`, `. ${count(answers.labels.size)} of ${count(task.units.length)} labelled. ${left}`);
}

function undo() {
  const place = answers.undo();
  if (place === null) return;
  unsaved = true;
  store();
  go(task.units.findIndex((one) => one.place === place));
  tell("Taken back.");
}

function step(by) {
  if (by > 0 && here === task.units.length - 1) {
    const next = unlabelled(0);
    if (next < 0) finish();
    else go(next);
  } else if (task.units[here + by]) go(here + by);
}

function noteRemark() {
  openRemark(true);
  at("remark").focus();
}

function toggleFolded() {
  const all = [...at("texts").querySelectorAll("details")];
  const open = all.some((one) => !one.open);
  for (const one of all) one.open = open;
}

function toFile() {
  lookAway();
  look();
  save(fileName(answers.person), "application/json", JSON.stringify(answers.said(), null, 1) + "\n");
  unsaved = false;
  tell(`Saved as ${fileName(answers.person)} among your downloads.`);
}

// A browser refuses to read a file that was changed or deleted after it was chosen.
async function textOf(file) {
  try {
    return await file.text();
  } catch {
    throw new Refused("This file could not be read: choose it again.");
  }
}

async function fromFile(file) {
  try {
    if (file.size > 20_000_000) throw new Refused("This file is too large to be one that a page saved.");
    answers.takeUp(taken(await textOf(file)));
    store();
    begin();
    tell(`${count(answers.labels.size)} labels were loaded from ${visible(file.name)}.`);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    tell(visible(error.message));
  }
}

// The start, with the labels so far.
function begin() {
  at("person").value = answers.person;
  at("go").textContent = answers.labels.size ? "Continue" : "Start";
  at("afresh").hidden = answers.labels.size === 0;
  show("start");
  if (answers.person) at("go").focus();
  else if (matchMedia("(pointer: fine)").matches) at("person").focus({ preventScroll: true }); // no keyboard over the text
}

function work() {
  answers.person = visible(at("person").value).trim();
  if (!answers.person) return;
  store();
  const next = unlabelled(0);
  if (next < 0) finish();
  else go(next);
}

// ------------------------------------------------------------------------------------------------------------ the keys

function keyed(event) {
  const typing = event.target instanceof Element && event.target.closest("input:not([type=checkbox]), textarea");
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s" && answers.person) {
    event.preventDefault();
    toFile();
  } else if (event.key === "Escape" && event.target === at("remark")) at("place").focus({ preventScroll: true });
  if (typing || !at("start").hidden || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const act = action(event.key);
  if (!act) return;
  event.preventDefault();
  act();
}

function action(key) {
  if (!isWorking()) return key === "u" ? undo : null; // the last label may have been a slip, too
  if (key === "ArrowLeft") return () => step(-1);
  if (key === "ArrowRight") return at("on").disabled ? null : () => step(1);
  if (!at("single").checked) return null;
  const pressed = key.length === 1 ? key.toLowerCase() : key;
  const label = task.labels.find((one) => one.key && one.key === pressed);
  if (label) return () => say(label.name);
  if (pressed === "0" || pressed === "?") return () => say(task.cannotTell);
  return { u: undo, r: noteRemark, e: toggleFolded }[pressed] ?? null;
}

function labelButton({ name, meaning, key }) {
  const made = element("button", { type: "button" });
  if (key) {
    made.append(element("kbd", { textContent: key, ariaHidden: "true" }));
    made.setAttribute("aria-keyshortcuts", key);
  }
  const told = element("span", {}, element("bdi", { className: "name", textContent: visible(name) }));
  if (meaning) told.append(" ", element("small", { className: "meaning", textContent: visible(meaning) }));
  made.append(told);
  made.addEventListener("click", () => say(name));
  buttons.set(name, made);
  return made;
}

for (const label of task.labels) at("labels").append(labelButton(label));
at("labels").append(labelButton({ name: task.cannotTell, meaning: "none of these can be said", key: "0" }));
at("answers").classList.toggle("many", task.labels.length > 6);
document.addEventListener("keydown", keyed);
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") look();
  else {
    lookAway();
    if (answers.person) store();
  }
});
window.addEventListener("beforeunload", (event) => {
  if (unsaved && !keeps) event.preventDefault();
});
window.addEventListener("storage", (event) => {
  if (event.key !== KEPT || event.newValue === null) return;
  answers = taken(event.newValue); // the other tab wrote it, and is ahead
  if (isWorking()) mark();
  tell("This page is open in another tab, too. Labels given there count here; continue in one of them.");
});
at("begin").addEventListener("submit", (event) => {
  event.preventDefault();
  work();
});
at("take-up").addEventListener("change", (event) => {
  const [file] = event.target.files;
  if (file) fromFile(file).finally(() => (event.target.value = ""));
});
at("afresh").addEventListener("click", () => {
  if (!window.confirm("Forget every label that this browser has for this page? Files that you saved remain.")) return;
  forget();
  answers = new Answers();
  unsaved = false;
  begin();
});
at("remark").addEventListener("input", () => {
  answers.remark(unit().place, at("remark").value);
  unsaved = true;
  store();
});
at("save").addEventListener("click", toFile);
at("save-last").addEventListener("click", toFile);
at("again").addEventListener("click", () => go(0));
at("undo").addEventListener("click", undo);
at("undo-last").addEventListener("click", undo);
at("note").addEventListener("click", noteRemark);
at("back").addEventListener("click", () => step(-1));
at("on").addEventListener("click", () => step(1));
try {
  answers = kept() ?? answers;
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  tell("The labels that this browser kept for this page cannot be read. Load them from a file that you saved.");
}
begin();
