// ------------------------------------------------------------------------------------------------ charts as bitmaps

// A drawing is painted from its own elements: using it as an image would need a policy that allows images.
const FINE = 3; // bitmap pixels per screen pixel

function bitmap(svg) {
  const { width, height } = svg.getBoundingClientRect();
  const canvas = element("canvas", { width: Math.ceil(FINE * width), height: Math.ceil(FINE * height) });
  const context = canvas.getContext("2d");
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--page");
  context.fillRect(0, 0, canvas.width, canvas.height);
  for (const mark of svg.querySelectorAll("path, rect, line, circle, text")) {
    if (!mark.closest("defs, clipPath") && mark.checkVisibility()) paint(context, svg, mark);
  }
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function paint(context, svg, mark) {
  const style = getComputedStyle(mark);
  let opacity = 1;
  context.save();
  for (let one = mark; one !== svg; one = one.parentElement) {
    opacity *= Number(getComputedStyle(one).opacity);
    clip(context, svg, one);
  }
  place(context, mark);
  if (mark.tagName === "text") write(context, mark, style, opacity);
  else trace(context, svg, mark, style, opacity);
  context.restore();
}

function place(context, one) {
  const { a, b, c, d, e, f } = one.getCTM();
  context.setTransform(FINE * a, FINE * b, FINE * c, FINE * d, FINE * e, FINE * f);
}

function clip(context, svg, one) {
  const within = /^url\(#([\w-]+)\)$/.exec(one.getAttribute("clip-path") ?? "");
  const shape = within && svg.querySelector(`#${CSS.escape(within[1])}`)?.firstElementChild;
  if (!shape) return;
  place(context, one);
  context.clip(outline(shape));
}

function outline(mark) {
  const number = (name) => Number(mark.getAttribute(name) ?? 0);
  if (mark.tagName === "path") return new Path2D(mark.getAttribute("d") ?? "");
  const made = new Path2D();
  if (mark.tagName === "rect") made.rect(number("x"), number("y"), number("width"), number("height"));
  if (mark.tagName === "circle") made.arc(number("cx"), number("cy"), number("r"), 0, 2 * Math.PI);
  if (mark.tagName === "line") {
    made.moveTo(number("x1"), number("y1"));
    made.lineTo(number("x2"), number("y2"));
  }
  return made;
}

function trace(context, svg, mark, style, opacity) {
  const shape = outline(mark);
  if (style.fill !== "none") {
    context.globalAlpha = opacity * Number(style.fillOpacity);
    context.fillStyle = shaded(context, svg, mark, style.fill);
    context.fill(shape);
  }
  if (style.stroke !== "none") {
    context.globalAlpha = opacity * Number(style.strokeOpacity);
    context.strokeStyle = style.stroke;
    context.lineWidth = parseFloat(style.strokeWidth);
    context.lineCap = style.strokeLinecap;
    context.lineJoin = style.strokeLinejoin;
    context.setLineDash(style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(",").map(parseFloat));
    context.stroke(shape);
  }
}

// A colour unchanged; a gradient from end to end of what it fills.
function shaded(context, svg, mark, fill) {
  const named = /^url\("?#([\w-]+)"?\)/.exec(fill);
  if (!named) return fill;
  const { x, y, width, height } = mark.getBBox();
  const gradient = svg.querySelector(`#${CSS.escape(named[1])}`);
  const at = (name) => Number(gradient.getAttribute(name) ?? 0);
  const made = context.createLinearGradient(x + width * at("x1"), y + height * at("y1"), x + width * at("x2"), y + height * at("y2"));
  for (const stop of gradient.querySelectorAll("stop")) made.addColorStop(Number(stop.getAttribute("offset")), stop.getAttribute("stop-color"));
  return made;
}

function write(context, mark, style, opacity) {
  context.globalAlpha = opacity * Number(style.fillOpacity);
  context.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  context.fillStyle = style.fill;
  for (const line of mark.querySelector("tspan") ? mark.querySelectorAll("tspan") : [mark]) {
    if (!line.getNumberOfChars()) continue;
    const { x, y } = line.getStartPositionOfChar(0);
    context.fillText(line.textContent, x, y);
  }
}

