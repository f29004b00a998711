// ---------------------------------------------------------------------------------------------------- trials, to read

async function unpacked() {
  const lines = (await content("pack")).split("\n").filter((line) => line);
  const trials = { ...JSON.parse(lines[0]), prompts: [], prompt: [], names: [], answers: [], cut: new Map() };
  trials.codes = trials.facets.map(() => []);
  for (const line of lines.slice(1)) add(trials, JSON.parse(line));
  return trials;
}

function add(trials, chunk) {
  for (const [row, characters] of Object.entries(chunk.cut)) trials.cut.set(trials.answers.length + Number(row), characters);
  for (const part of ["prompts", "prompt", "names", "answers"]) for (const value of chunk[part]) trials[part].push(value);
  chunk.codes.forEach((codes, facet) => codes.forEach((code) => trials.codes[facet].push(code)));
}

const ROUND_BREAK = "\u001e";
const TURN_BREAK = "\u001f";
const ARROW = " \u2192 ";
const ROW = 52; // height of a list row in pixels
const AT_ONCE = 2_000; // rows searched between looks at the clock
const MOST_MS = 12; // milliseconds that a search may block the page
const SHORT = 1_200; // characters of a prompt that is shown unfolded
const LINK = "#trial=";

const pause = () => new Promise((done) => setTimeout(done));

// A list of which only the visible rows are in the page.
class List {
  constructor(box, describe, chosen) {
    Object.assign(this, { box, describe, chosen, rows: [], at: 0 });
    this.space = element("div", { className: "space" });
    this.space.setAttribute("role", "presentation");
    box.append(this.space);
    box.addEventListener("scroll", () => this.draw(), { passive: true });
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("click", (event) => {
      const row = event.target.closest("[role=option]");
      if (row) this.choose(Number(row.dataset.place));
    });
    new ResizeObserver(() => this.draw()).observe(box);
  }

  show(rows, at) {
    this.rows = rows;
    this.space.style.height = rows.length * ROW + "px";
    this.at = Math.max(0, at);
    this.reveal();
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 4);
    const last = Math.min(this.rows.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + 4);
    this.space.replaceChildren(...Array.from({ length: Math.max(0, last - first) }, (_, i) => this.row(first + i)));
    const active = this.at >= first && this.at < last && this.rows.length > 0;
    if (active) this.box.setAttribute("aria-activedescendant", "trial-row-" + this.at);
    else this.box.removeAttribute("aria-activedescendant");
  }

  row(place) {
    const row = element("div", { id: "trial-row-" + place, className: "row" }, ...this.describe(this.rows[place]));
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", String(place === this.at));
    row.setAttribute("aria-setsize", this.rows.length);
    row.setAttribute("aria-posinset", place + 1);
    row.dataset.place = place;
    row.style.top = place * ROW + "px";
    return row;
  }

  reveal() {
    const top = this.at * ROW;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + ROW > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + ROW - this.box.clientHeight;
  }

  choose(place) {
    if (!this.rows.length) return;
    this.at = Math.max(0, Math.min(place, this.rows.length - 1));
    this.reveal();
    this.draw();
    this.chosen(this.rows[this.at]);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 1);
    const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.choose(Number.isFinite(by) ? this.at + by : by < 0 ? 0 : this.rows.length - 1);
  }
}

class Reader {
  constructor(trials, section) {
    this.trials = trials;
    this.section = section;
    this.form = section.querySelector(".chooser");
    this.status = section.querySelector(".status");
    this.pane = section.querySelector(".pane");
    this.places = new Map(trials.names.map((name, row) => [name, row]));
    this.current = 0;
    this.search = 0;
    const box = section.querySelector(".trials");
    this.list = new List(box, (row) => this.line(row), (row) => this.read(row, true));
    this.build();
    section.querySelector(".reading").hidden = this.form.hidden = false;
    section.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => this.follow());
    this.choose().then(() => this.follow());
  }

  // ------------------------------------------------------------------------------------------------ what is chosen

  build() {
    const { facets, beside } = this.trials;
    this.query = element("input", { type: "search", name: "query", autocomplete: "off", spellcheck: false });
    this.where = element("select", { name: "where" }, ...["answers", "prompts", "both"].map((v) => new Option(v, v)));
    this.selects = facets.map((facet, index) => (facet.choose ? this.select(facet, index) : null));
    const asked = facets.flatMap((facet, i) => (facet.read || !this.varies(i) ? [] : [i]));
    const order = asked.includes(beside) ? [beside, ...asked.filter((i) => i !== beside)] : asked;
    this.beside = element("select", { name: "beside" }, new Option("one trial", ""), ...order.map((i) => new Option("each " + visible(facets[i].title), i)));
    this.first = order.length ? String(order[0]) : "";
    const fields = [
      element("label", { className: "wide" }, "Search", this.query),
      element("label", {}, "in", this.where),
      ...facets.flatMap((facet, i) => (facet.choose ? [element("label", {}, visible(facet.title), this.selects[i])] : [])),
      ...(order.length ? [element("label", {}, "Side by side", this.beside)] : []),
      element("button", { type: "reset", textContent: "Clear" }),
    ];
    this.form.append(...fields);
    let waiting;
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("input", (event) => {
      if (event.target === this.beside) return this.read(this.current);
      clearTimeout(waiting);
      waiting = setTimeout(() => this.choose(), 120);
    });
    this.form.addEventListener("reset", () => setTimeout(() => this.choose()));
  }

  select(facet, index) {
    const used = new Set(this.trials.codes[index]);
    const options = facet.labels.flatMap((label, code) => (used.has(code) ? [new Option(visible(label), code)] : []));
    return element("select", { name: "facet-" + index }, new Option("all", ""), ...options);
  }

  varies(facet) {
    const codes = this.trials.codes[facet];
    return codes.some((code) => code !== codes[0]);
  }

  // A search runs in slices, so that the page stays responsive; a later search ends it.
  async choose(wanted = this.current) {
    const search = ++this.search;
    const codes = this.selects.map((select) => (select && select.value !== "" ? Number(select.value) : null));
    const matches = this.matcher(this.query.value.trim().toLowerCase(), this.where.value);
    const found = [];
    let started = performance.now();
    for (let row = 0; row < this.trials.answers.length; row++) {
      if (row % AT_ONCE === AT_ONCE - 1 && performance.now() - started > MOST_MS) {
        await pause();
        if (search !== this.search) return;
        started = performance.now();
      }
      if (codes.every((code, facet) => code === null || this.trials.codes[facet][row] === code) && matches(row)) found.push(row);
    }
    const at = Math.max(0, found.indexOf(wanted));
    this.list.show(found, at);
    const all = this.trials.answers.length;
    this.status.textContent = found.length === all ? `${count(all)} trials` : found.length ? `${count(found.length)} of ${count(all)} trials` : "No trials match.";
    if (found.length) this.read(found[at]);
    else this.pane.replaceChildren();
  }

  matcher(query, where) {
    if (!query) return () => true;
    const { answers, prompts, prompt, texts } = this.trials;
    const inAnswer = (row) => answers[row].toLowerCase().includes(query);
    if (where === "answers") return inAnswer;
    const matching = new Set(texts.flatMap((text, index) => (text.toLowerCase().includes(query) ? [index] : [])));
    const inPrompt = prompts.map((parts) => parts.some((part) => matching.has(part)));
    return (row) => inPrompt[prompt[row]] || (where === "both" && inAnswer(row));
  }

  // ------------------------------------------------------------------------------------------- links, and the keyboard

  // Goes to the trial that the address names, whatever the current filters.
  async follow() {
    if (!location.hash.startsWith(LINK)) return;
    let name = "";
    try {
      name = decodeURIComponent(location.hash.slice(LINK.length));
    } catch {
      return; // not one of our names
    }
    const row = this.places.get(name);
    if (row === undefined) {
      this.status.textContent = "The trial in this link is not in this file.";
      return;
    }
    if (!this.list.rows.includes(row)) {
      this.form.reset();
      await this.choose(row);
    }
    this.list.at = this.list.rows.indexOf(row);
    this.list.reveal();
    this.list.draw();
    this.read(row);
    this.section.querySelector(".reading").scrollIntoView({ block: "start" });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    if (event.key === "/") {
      event.preventDefault();
      this.query.focus();
    } else if (event.key === "b" && this.first) {
      this.beside.value = this.beside.value === "" ? this.first : "";
      this.read(this.current);
    } else if (event.key === "Enter" && event.target === this.list.box) {
      this.pane.focus();
    } else if (event.key === "Escape" && this.pane.contains(event.target)) {
      this.list.box.focus();
    }
  }

  // ---------------------------------------------------------------------------------------------------- what is read

  label(facet, row) {
    return this.trials.facets[facet].labels[this.trials.codes[facet][row]] ?? "";
  }

  // A line of the list: the trial's item, then its other facets, then what was read from its answer.
  line(row) {
    const { facets, item } = this.trials;
    const labels = (read) => facets.flatMap((facet, i) => (i !== item && facet.choose && facet.read === read && this.label(i, row) ? [visible(this.label(i, row))] : []));
    const head = item >= 0 ? visible(this.label(item, row)) : visible(this.trials.names[row]);
    const readings = labels(true).join(", ");
    return [
      element("bdi", { className: "about", textContent: head }),
      element("span", { className: "more" }, element("bdi", { textContent: labels(false).join(" \u00b7 ") }), ...(readings ? [" ", element("b", { textContent: readings })] : [])),
    ];
  }

  read(row, linked = false) {
    this.current = row;
    if (linked) history.replaceState(null, "", LINK + encodeURIComponent(this.trials.names[row]));
    const facet = this.beside.value === "" ? -1 : Number(this.beside.value);
    const rows = facet < 0 ? [row] : this.alike(row, facet);
    this.section.classList.toggle("several", rows.length > 1);
    const shown = rows.length > 1 ? this.sideBySide(rows, facet) : this.trial(row);
    this.pane.replaceChildren(this.head(row), shown);
    this.pane.scrollTop = 0;
    makeScrollable();
  }

  head(row) {
    const { item } = this.trials;
    const about = item >= 0 && this.label(item, row) ? this.label(item, row) : this.trials.names[row];
    const link = element("a", { href: LINK + encodeURIComponent(this.trials.names[row]), textContent: "Link to this trial" });
    return element("div", { className: "pane-head" }, element("h3", {}, element("bdi", { textContent: visible(about) })), element("p", { className: "name" }, element("bdi", { textContent: visible(this.trials.names[row]) }), " ", link));
  }

  // For each value of a facet, the trial that is otherwise most like this one, on the same item if possible.
  alike(row, facet) {
    const { facets, codes, item } = this.trials;
    const asked = facets.flatMap((one, i) => (i === facet || one.read ? [] : [i]));
    const best = new Map();
    for (let other = 0; other < this.trials.answers.length; other++) {
      const value = codes[facet][other];
      if (value < 0 || (item >= 0 && item !== facet && codes[item][other] !== codes[item][row])) continue;
      const same = other === row ? Infinity : asked.reduce((sum, i) => sum + (codes[i][other] === codes[i][row] ? (facets[i].choose ? facets.length : 1) : 0), 0);
      if (same > (best.get(value)?.same ?? -1)) best.set(value, { other, same });
    }
    return [...best.keys()].sort((a, b) => a - b).map((value) => best.get(value).other);
  }

  sideBySide(rows, facet) {
    const columns = rows.map((row) => {
      const head = element("h4", {}, element("bdi", { textContent: visible(this.label(facet, row)) }));
      const link = element("a", { href: LINK + encodeURIComponent(this.trials.names[row]), textContent: "link" });
      link.setAttribute("aria-label", "Link to the trial with " + visible(this.label(facet, row)));
      const column = element("div", { className: row === this.current ? "column here" : "column" }, element("div", { className: "column-head" }, head, link), this.trial(row, rows[0], facet));
      column.setAttribute("role", "listitem");
      return column;
    });
    const box = element("div", { className: "columns", tabIndex: 0 }, ...columns);
    box.setAttribute("role", "list");
    box.setAttribute("aria-label", `Trials side by side: each ${visible(this.trials.facets[facet].title)}`);
    return box;
  }

  // A trial: its facets, what was read, the prompt, the answer. Beside others, differences from the first are marked.
  trial(row, first = row, column = -1) {
    const { answers, cut, prompt } = this.trials;
    const more = cut.get(row);
    const parts = [this.tags(row, first, column), ...(prompt[row] >= 0 ? [this.prompt(row, first, column < 0)] : []), this.answer(answers[row])];
    if (more) parts.push(element("p", { className: "method", textContent: `${count(more)} more characters are not in this file.` }));
    return element("div", { className: "trial" }, ...parts);
  }

  tags(row, first, column) {
    const { facets, item, reader } = this.trials;
    const tag = (facet, i) => {
      const [was, is] = [this.label(i, first), this.label(i, row)];
      if (!is || i === item || i === column || (row !== first && !facet.read && was === is)) return [];
      const changed = facet.read && was && was !== is;
      const value = element("bdi", { className: changed ? "changed" : "", textContent: visible(changed ? was + ARROW + is : is) });
      return [element("span", { className: "tag" }, element("small", {}, visible(facet.title)), " ", value)];
    };
    const asked = facets.flatMap((facet, i) => (facet.read ? [] : tag(facet, i)));
    const read = facets.flatMap((facet, i) => (facet.read ? tag(facet, i) : []));
    const by = reader && read.length ? [element("span", { className: "tag" }, element("small", { textContent: "read by " + visible(reader) }))] : [];
    return element("div", {}, element("p", { className: "tags" }, ...asked), element("p", { className: "tags read" }, ...read, ...by));
  }

  answer(text) {
    const [outcome, ...rounds] = text.split(ROUND_BREAK);
    if (!rounds.length) return this.passage("answer", text);
    const turns = rounds.map((round) => round.split(TURN_BREAK));
    const parts = outcome ? [this.passage("answer", outcome)] : [];
    return element("div", {}, ...parts, this.trials.across ? this.across(turns) : this.down(turns));
  }

  // Rounds from top to bottom, each with its turns side by side.
  down(rounds) {
    const parts = rounds.map((turns, i) => {
      const said = turns.map((turn) => element("div", { className: "turn" }, ...this.spoken(turn)));
      return element("div", { className: "round" }, element("p", { className: "round-head", textContent: `${this.trials.round} ${i + 1}` }), element("div", { className: "turns" }, ...said));
    });
    return element("div", { className: "rounds" }, ...parts);
  }

  // Rounds side by side, with one row per turn; if rounds have no number, the first turn begins with a heading.
  across(rounds) {
    const numbered = this.trials.round !== "";
    const heads = rounds.map(([first], i) => element("th", { scope: "col" }, element("bdi", { textContent: visible(numbered ? `${this.trials.round} ${i + 1}` : first.split("\n\n")[0]) })));
    const turns = numbered ? rounds : rounds.map(([first, ...rest]) => [first.split("\n\n").slice(1).join("\n\n"), ...rest]);
    const most = Math.max(...turns.map((said) => said.length));
    const row = (i) => element("tr", {}, ...turns.map((said) => element("td", {}, ...(said[i] ? this.spoken(said[i]) : []))));
    const rows = Array.from({ length: most }, (_, i) => row(i)).filter((one) => one.textContent);
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
    const box = element("div", { className: "table-box rounds across", tabIndex: 0 }, table);
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", numbered ? `${this.trials.round}s side by side` : "Side by side");
    return box;
  }

  // A turn's first paragraph says who speaks and what was read, with an arrow if it changed.
  spoken(text) {
    const [head, ...rest] = text.split("\n\n");
    if (!rest.length && !head.includes(ARROW)) return [this.passage("answer", head)];
    const changed = head.includes(ARROW);
    const said = this.passage("answer", head);
    said.classList.add(changed ? "changed" : "kept");
    return rest.length ? [said, this.passage("answer", rest.join("\n\n"))] : [said];
  }

  // Parts that the first of the trials side by side did not see are underlined.
  prompt(row, first, alone) {
    const { texts, prompts, prompt } = this.trials;
    const parts = prompts[prompt[row]];
    const known = new Set(row === first || prompt[first] < 0 ? parts : prompts[prompt[first]]);
    const title = parts.every((part) => known.has(part)) ? "What it saw" : "What it saw; underlined: what the first did not see";
    const details = element("details", { className: "seen" }, element("summary", { textContent: title }));
    const fill = () => {
      const passage = this.passage("prompt", parts.map((part) => texts[part]).join(""));
      if (title !== "What it saw") passage.replaceChildren(...parts.map((part) => (known.has(part) ? visible(texts[part]) : element("ins", { textContent: visible(texts[part]) }))));
      details.append(passage);
    };
    details.addEventListener("toggle", fill, { once: true });
    const length = parts.reduce((sum, part) => sum + texts[part].length, 0);
    details.open = alone && length <= SHORT;
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
    return JSON.stringify({ trial: trials.names[i], ...Object.fromEntries(labels), prompt, answer: trials.answers[i], characters_cut: trials.cut.get(i) ?? 0 });
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
  new Reader(trials, section);
  offer("Trials as JSON lines", "trials.jsonl", "application/jsonl", () => lines(trials));
}

