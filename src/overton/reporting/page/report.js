// ----------------------------------------------------------------------------- boxes that scroll, also by keyboard

function makeScrollable() {
  for (const box of document.querySelectorAll(".table-box, .chart")) {
    const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    if (scrolls) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

// ---------------------------------------------------------------------------------------------- tables that sort

function sortKey(row, column) {
  const cell = row.cells[column];
  return cell.dataset.sort === undefined ? null : Number(cell.dataset.sort);
}

function compare(a, b, column, direction) {
  const [x, y] = [sortKey(a, column), sortKey(b, column)];
  if (x !== null && y !== null) return direction * (x - y);
  if (x !== null || y !== null) return x === null ? 1 : -1; // what has no number stands last, either way
  return direction * a.cells[column].textContent.localeCompare(b.cells[column].textContent);
}

function sortBy(table, heading) {
  const column = heading.cellIndex;
  const first = heading.classList.contains("number") ? "descending" : "ascending";
  const second = first === "ascending" ? "descending" : "ascending";
  const order = heading.getAttribute("aria-sort") === first ? second : first;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", order);
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => compare(a, b, column, order === "ascending" ? 1 : -1));
  table.tBodies[0].append(...rows);
}

function makeSortable(table) {
  if (table.tBodies[0].rows.length < 2) return;
  for (const heading of table.tHead.rows[0].cells) {
    const button = element("button", { type: "button" }, ...heading.childNodes);
    button.addEventListener("click", () => sortBy(table, heading));
    heading.append(button);
  }
}

// -------------------------------------------------------------------------------------- what a mark of a chart says

function showTips(tip) {
  const place = (event) => {
    const mark = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
    tip.hidden = mark === null;
    if (mark === null) return;
    tip.textContent = mark.dataset.tip;
    const left = Math.min(event.clientX + 12, document.documentElement.clientWidth - tip.offsetWidth - 8);
    const below = event.clientY + 16;
    const above = event.clientY - tip.offsetHeight - 8;
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = (below + tip.offsetHeight > window.innerHeight ? above : below) + "px";
  };
  document.addEventListener("pointermove", place);
  document.addEventListener("scroll", () => (tip.hidden = true), { passive: true, capture: true });
  document.addEventListener("keydown", (event) => (tip.hidden = tip.hidden || event.key === "Escape"));
}

// ------------------------------------------------------------------------------------- what stands beside an exhibit

// What a spreadsheet would take for a formula begins with an apostrophe, also where it parts cells at other signs.
const quoted = (text) => '"' + text.replace(/(^|[;,\t\r\n])(\s*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g, "$1$2'").replaceAll('"', '""') + '"';

function words(cell) {
  return (cell.querySelector("button span, bdi, span") ?? cell).textContent.trim();
}

// A row of titles, then the rows as they stand: numbers as they are, with their limits and counts in columns of their own.
function commaSeparated(table) {
  const headings = [...table.tHead.rows[0].cells];
  const rows = [...table.tBodies[0].rows];
  const has = headings.map((_, c) => ({
    limits: rows.some((row) => row.cells[c].dataset.low !== undefined),
    count: headings[c].querySelector("small") !== null || rows.some((row) => row.cells[c].querySelector(".count")),
  }));
  const counted = (element) => (element ? element.textContent.replace(/[^0-9]/g, "") : "");
  const head = headings.flatMap((heading, c) => {
    const title = words(heading);
    return [title, ...(has[c].limits ? [title + ", low", title + ", high"] : []), ...(has[c].count ? [title + ", n"] : [])].map(quoted);
  });
  const line = (row) =>
    headings.flatMap((heading, c) => {
      const { sort, low, high } = row.cells[c].dataset;
      const limits = has[c].limits ? [low ?? "", high ?? ""] : [];
      const n = has[c].count ? [counted(row.cells[c].querySelector(".count") ?? heading.querySelector("small"))] : [];
      return [sort ?? quoted(words(row.cells[c])), ...limits, ...n];
    });
  return [head, ...rows.map(line)].map((cells) => cells.join(",") + "\r\n").join("");
}

const fileName = (title) => title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "table";

function tool(label, title, act) {
  const button = element("button", { type: "button", textContent: label });
  button.setAttribute("aria-label", `${label}: ${title}`);
  button.addEventListener("click", () => act(button));
  return button;
}

function addTools(table) {
  const title = table.caption.firstChild.textContent.trim();
  const tools = element("p", { className: "tools" });
  tools.append(tool("CSV", title, () => save(fileName(title) + ".csv", "text/csv", commaSeparated(table))));
  const details = table.tHead.rows[0].querySelectorAll(".detail").length;
  if (details) {
    const all = `All ${table.tHead.rows[0].cells.length} columns`;
    table.classList.add("few");
    tools.append(" ", tool(all, title, (button) => {
      button.textContent = table.classList.toggle("few") ? all : "Fewer columns";
      makeScrollable();
    }));
  }
  table.parentElement.after(tools);
}

// A chart as a file of its own: the page's variables become the colours that they stand for now.
function drawing(svg) {
  const style = getComputedStyle(document.documentElement);
  const copy = svg.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.style.background = style.getPropertyValue("--page");
  copy.style.fontFamily = "Arial, Helvetica, sans-serif";
  const text = new XMLSerializer().serializeToString(copy);
  return text.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
}

function addDrawing(figure) {
  const title = figure.querySelector("figcaption strong").textContent;
  const svg = figure.querySelector("svg");
  const tools = element("p", { className: "tools" });
  tools.append(tool("SVG", title, () => save(fileName(title) + ".svg", "image/svg+xml", drawing(svg))));
  figure.querySelector(".chart").after(tools);
}

// --------------------------------------------------------------------------------------------- what folds, and when

function fold() {
  const wide = window.matchMedia("(min-width: 60.01rem)");
  const contents = document.querySelector("details.contents");
  const set = () => (contents.open = wide.matches);
  wide.addEventListener("change", set);
  set();
  contents.addEventListener("click", (event) => {
    if (event.target.closest("a") && !wide.matches) contents.open = false;
  });
  window.addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details.limits, details.how, details.evidence, details.apart")) one.open = true;
  });
}

// ------------------------------------------------------------------------------------------------------- downloads

function offer(label, name, type, text) {
  const button = element("button", { type: "button", textContent: label });
  button.addEventListener("click", async () => save(name, type, await text()));
  document.querySelector(".downloads").append(button, " ");
}

// ---------------------------------------------------------------------------------------------------------- trials

async function content(name) {
  const held = document.getElementById(name);
  if (held.type === "application/json") return held.textContent;
  const bytes = Uint8Array.from(atob(held.textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

async function unpacked() {
  const lines = (await content("pack")).split("\n").filter((line) => line);
  const trials = { ...JSON.parse(lines[0]), prompts: [], prompt: [], answers: [], cut: new Map() };
  trials.codes = trials.facets.map(() => []);
  for (const line of lines.slice(1)) add(trials, JSON.parse(line));
  return trials;
}

function add(trials, chunk) {
  for (const [row, characters] of Object.entries(chunk.cut)) trials.cut.set(trials.answers.length + Number(row), characters);
  for (const part of ["prompts", "prompt", "answers"]) for (const value of chunk[part]) trials[part].push(value);
  chunk.codes.forEach((codes, facet) => codes.forEach((code) => trials.codes[facet].push(code)));
}

const PAGE = 20;
const ROUND_BREAK = "\u001e";
const TURN_BREAK = "\u001f";

class Browser {
  constructor(trials, section) {
    this.trials = trials;
    this.form = section.querySelector(".chooser");
    this.status = section.querySelector(".status");
    this.list = section.querySelector(".trials");
    this.pager = section.querySelector(".pager");
    this.first = 0;
    this.build();
    this.choose();
  }

  build() {
    this.query = element("input", { type: "search", name: "query", autocomplete: "off", spellcheck: false });
    this.where = element("select", { name: "where" }, ...["answers", "prompts", "both"].map((v) => new Option(v, v)));
    this.selects = this.trials.facets.map((facet, index) => (facet.choose ? this.select(facet, index) : null));
    const fields = [
      element("label", { className: "wide" }, "Search", this.query),
      element("label", {}, "in", this.where),
      ...this.trials.facets.flatMap((f, i) => (f.choose ? [element("label", {}, visible(f.title), this.selects[i])] : [])),
      element("button", { type: "reset", textContent: "Clear" }),
    ];
    this.form.append(...fields);
    this.form.hidden = this.pager.hidden = false;
    let waiting;
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.choose(), 120);
    });
    this.form.addEventListener("reset", () => setTimeout(() => this.choose()));
    this.previous = element("button", { type: "button", textContent: "Previous" });
    this.next = element("button", { type: "button", textContent: "Next" });
    this.previous.addEventListener("click", () => this.turn(-PAGE));
    this.next.addEventListener("click", () => this.turn(PAGE));
    this.pager.append(this.previous, " ", this.next);
  }

  select(facet, index) {
    const held = new Set(this.trials.codes[index]);
    const options = facet.labels.flatMap((label, code) => (held.has(code) ? [new Option(visible(label), code)] : []));
    return element("select", { name: "facet-" + index }, new Option("all", ""), ...options);
  }

  choose() {
    const wanted = this.selects.map((select) => (select && select.value !== "" ? Number(select.value) : null));
    const matches = this.matcher(this.query.value.trim().toLowerCase(), this.where.value);
    this.chosen = [];
    for (let row = 0; row < this.trials.answers.length; row++) {
      if (wanted.every((code, facet) => code === null || this.trials.codes[facet][row] === code) && matches(row)) {
        this.chosen.push(row);
      }
    }
    this.first = 0;
    this.show();
  }

  matcher(query, where) {
    if (!query) return () => true;
    const { answers, prompts, prompt, texts } = this.trials;
    const inAnswer = (row) => answers[row].toLowerCase().includes(query);
    if (where === "answers") return inAnswer;
    const holding = new Set(texts.flatMap((text, index) => (text.toLowerCase().includes(query) ? [index] : [])));
    const promptHolds = prompts.map((parts) => parts.some((part) => holding.has(part)));
    return (row) => promptHolds[prompt[row]] || (where === "both" && inAnswer(row));
  }

  turn(by) {
    this.first = Math.max(0, Math.min(this.first + by, PAGE * Math.floor((this.chosen.length - 1) / PAGE)));
    this.show();
    this.status.scrollIntoView({ block: "nearest" });
  }

  show() {
    const total = this.chosen.length;
    const last = Math.min(this.first + PAGE, total);
    this.status.textContent = total ? `${count(this.first + 1)} to ${count(last)} of ${count(total)} trials` : "No trial matches.";
    this.previous.disabled = this.first === 0;
    this.next.disabled = last >= total;
    this.list.replaceChildren(...this.chosen.slice(this.first, last).map((row) => this.trial(row)));
  }

  trial(row) {
    const { facets, codes, answers, cut, prompt } = this.trials;
    const tags = facets.flatMap((facet, i) => {
      const label = facet.labels[codes[i][row]];
      if (!label) return [];
      return [element("span", { className: "tag" }, element("small", {}, visible(facet.title)), " ", element("bdi", {}, visible(label)))];
    });
    const more = cut.get(row);
    const parts = [element("p", { className: "tags" }, ...tags), this.answer(answers[row])];
    if (more) parts.push(element("p", { className: "method", textContent: `${count(more)} more characters are not in this file.` }));
    if (prompt[row] >= 0) parts.push(this.prompt(row));
    return element("li", {}, ...parts);
  }

  answer(text) {
    const [outcome, ...rounds] = text.split(ROUND_BREAK);
    return rounds.length ? this.conversation(outcome, rounds) : this.passage("answer", text);
  }

  // Rounds side by side; a turn's first line says who speaks and the verdict, with an arrow where it changed.
  conversation(outcome, rounds) {
    const turns = rounds.map((round) => round.split(TURN_BREAK));
    const heads = turns.map((_, i) => element("th", { scope: "col", textContent: `${this.trials.round} ${i + 1}` }));
    const most = Math.max(...turns.map((said) => said.length));
    const rows = Array.from({ length: most }, (_, i) => element("tr", {}, ...turns.map((said) => this.spoken(said[i]))));
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
    const box = element("div", { className: "table-box rounds", tabIndex: 0, role: "region" }, table);
    box.setAttribute("aria-label", `${this.trials.round}s side by side`);
    return element("div", {}, this.passage("answer", outcome), box);
  }

  spoken(text) {
    if (text === undefined) return element("td");
    const [head, ...rest] = text.split("\n\n");
    const changed = head.includes(" \u2192 ");
    const said = this.passage("answer", head);
    said.classList.add(changed ? "changed" : "kept");
    return element("td", {}, said, ...(rest.length ? [this.passage("answer", rest.join("\n\n"))] : []));
  }

  prompt(row) {
    const details = element("details", {}, element("summary", { textContent: "Prompt" }));
    details.addEventListener(
      "toggle",
      () => {
        const { texts, prompts, prompt } = this.trials;
        details.append(this.passage("prompt", prompts[prompt[row]].map((part) => texts[part]).join("")));
      },
      { once: true },
    );
    return details;
  }

  passage(kind, text) {
    const shown = visible(text);
    const made = element("div", { className: "passage " + kind, dir: "auto" });
    const query = this.query.value.trim().toLowerCase();
    const inside = this.where.value === "both" || this.where.value === kind + "s";
    if (!text) made.append(element("em", { textContent: "(empty)" }));
    else made.append(...(query && inside ? marked(shown, query) : [shown]));
    return made;
  }
}

function marked(text, query) {
  const lower = text.toLowerCase();
  if (lower.length !== text.length) return [text];
  const parts = [];
  let from = 0;
  for (let at = lower.indexOf(query); at >= 0; at = lower.indexOf(query, from)) {
    parts.push(text.slice(from, at), element("mark", { textContent: text.slice(at, at + query.length) }));
    from = at + query.length;
  }
  return [...parts, text.slice(from)];
}

function lines(trials) {
  const row = (_, i) => {
    const labels = trials.facets.map((facet, f) => [facet.title, facet.labels[trials.codes[f][i]] ?? null]);
    const prompt = (trials.prompts[trials.prompt[i]] ?? []).map((part) => trials.texts[part]).join("");
    return JSON.stringify({ ...Object.fromEntries(labels), prompt, answer: trials.answers[i], characters_cut: trials.cut.get(i) ?? 0 });
  };
  return trials.answers.map(row).join("\n") + "\n";
}

async function browse(section) {
  const status = section.querySelector(".status");
  if (typeof DecompressionStream === "undefined") {
    status.textContent = "This browser is too old to unpack the trials.";
    return;
  }
  status.textContent = "Unpacking the trials…";
  const trials = await unpacked();
  new Browser(trials, section);
  offer("Trials as JSON lines", "trials.jsonl", "application/jsonl", () => lines(trials));
}

document.querySelectorAll("main table").forEach(makeSortable);
document.querySelectorAll("main table").forEach(addTools);
document.querySelectorAll("figure").forEach(addDrawing);
fold();
makeScrollable();
window.addEventListener("resize", makeScrollable);
document.addEventListener("toggle", makeScrollable, true);
showTips(document.getElementById("tip"));
for (const name of ["measures", "charts"]) {
  const label = name === "measures" ? "Measures as JSON" : "Charts as Vega-Lite";
  offer(label, name + ".json", "application/json", () => content(name));
}
const trials = document.getElementById("trials");
if (trials) setTimeout(() => browse(trials));
