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
  if (x !== null || y !== null) return x === null ? 1 : -1; // cells without a number come last, either way
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

// What a spreadsheet would take for a formula gets an apostrophe in front, whatever separator it splits cells at.
const quoted = (text) => '"' + text.replace(/(^|[;,\t\r\n])(\s*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g, "$1$2'").replaceAll('"', '""') + '"';

function words(cell) {
  return (cell.querySelector("button span, bdi, span") ?? cell).textContent.trim();
}

// A row of titles, then the rows as shown: numbers unformatted, with their limits and counts in separate columns.
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
      button.setAttribute("aria-label", `${button.textContent}: ${title}`);
      makeScrollable();
    }));
  }
  table.parentElement.after(tools);
}

// A chart as a standalone file: the page's variables become the colours that they stand for now.
function drawing(svg) {
  const style = getComputedStyle(document.documentElement);
  const copy = svg.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.style.background = style.getPropertyValue("--page");
  copy.style.fontFamily = "Arial, Helvetica, sans-serif";
  const text = new XMLSerializer().serializeToString(copy);
  return text.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
}

// A chart's data as drawn, in its own units; fields that only place marks are left out.
const OF_DRAWING = new Set(["tip", "slot", "order", "dark", "framed", "letter", "text"]);

function dataOf(specification) {
  const rows = (specification.data?.values ?? []).filter((row) => typeof row === "object" && row !== null);
  const names = [...new Set(rows.flatMap(Object.keys))].filter((name) => !OF_DRAWING.has(name) && rows.some((row) => row[name] !== ""));
  const cell = (value) => (typeof value === "number" ? String(value) : quoted(String(value ?? "").replaceAll("\n", " ").trim()));
  return [names.map(quoted), ...rows.map((row) => names.map((name) => cell(row[name])))].map((cells) => cells.join(",") + "\r\n").join("");
}

function addDrawing(figure) {
  const title = figure.querySelector("figcaption strong").textContent;
  const name = figure.id.slice("figure-".length);
  const shown = () => [...figure.querySelectorAll(".chart svg")].find((svg) => svg.checkVisibility());
  const tools = element("p", { className: "tools" });
  tools.append(
    tool("CSV", title, async () => save(name + ".csv", "text/csv", dataOf(JSON.parse(await content("charts"))[name]))),
    " ",
    tool("PNG", title, async () => save(name + ".png", "image/png", await bitmap(shown()))),
    " ",
    tool("SVG", title, () => save(name + ".svg", "image/svg+xml", drawing(shown()))),
  );
  figure.querySelector(".chart").after(tools);
}

// --------------------------------------------------------------------------------------------- what folds, and when

function fold() {
  const wide = window.matchMedia("(min-width: 64.01rem)");
  const contents = document.querySelector("details.contents");
  const set = () => (contents.open = wide.matches);
  wide.addEventListener("change", set);
  set();
  contents.addEventListener("click", (event) => {
    if (event.target.closest("a") && !wide.matches) contents.open = false;
  });
  window.addEventListener("beforeprint", () => {
    const folded = "details.chapter, details.limits, details.how, details.evidence, details.apart";
    for (const details of document.querySelectorAll(folded)) details.open = true;
  });
}

// Opens everything that folds the element which the address names, and the chapter itself if it is one.
function reveal() {
  const target = document.getElementById(location.hash.slice(1));
  if (target === null) return;
  for (let box = target.closest("details"); box !== null; box = box.parentElement.closest("details")) box.open = true;
  target.scrollIntoView();
}

// ------------------------------------------------------------------------------------------------------- downloads

function offer(label, name, type, text) {
  const button = element("button", { type: "button", textContent: label });
  button.addEventListener("click", async () => save(name, type, await text()));
  document.querySelector(".downloads").append(button, " ");
}

async function content(name) {
  const holder = document.getElementById(name);
  if (holder.type === "application/json") return holder.textContent;
  const bytes = Uint8Array.from(atob(holder.textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

document.querySelectorAll("main table").forEach(makeSortable);
document.querySelectorAll("main table").forEach(addTools);
document.querySelectorAll("figure").forEach(addDrawing);
fold();
reveal();
window.addEventListener("hashchange", reveal);
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
