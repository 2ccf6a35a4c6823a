// What the page draws: elements, nodes through time, phases of restarts, curves. Nothing here asks the server. What comes from a
// job becomes text (text nodes, attributes), never markup.

/** An element. `properties`: class, or attributes; children: elements and texts. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** The same of SVG. */
export function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// --- words for numbers ---------------------------------------------------------------------------

/** "2 h 5 min", "4.2 s". */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 0.0995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds < 600 ? `${minutes} min ${Math.floor(seconds % 60)} s` : `${minutes} min`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / 1440)} d ${Math.floor(minutes / 60) % 24} h`;
}

/** 0.0312, 1,204, 3.1e-4: four digits that count. */
export function number(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e9)) return value.toExponential(2);
  return value.toLocaleString("en", size >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 4 });
}

export function clock(ms, withDate = false) {
  const time = new Date(ms);
  const text = time.toLocaleTimeString("en-GB");
  return withDate ? `${time.toLocaleDateString("en-CA")} ${text}` : text;
}

// --- the tip -------------------------------------------------------------------------------------

const tip = document.getElementById("tip");

function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const left = Math.min(Math.max(8, x - tip.offsetWidth / 2), document.documentElement.clientWidth - tip.offsetWidth - 8);
  const above = y - tip.offsetHeight - 12;
  tip.style.left = `${left}px`;
  tip.style.top = `${above < 8 ? y + 18 : above}px`;
}

export function hideTip() {
  tip.hidden = true;
}
document.addEventListener("keydown", (event) => event.key === "Escape" && hideTip());

// --- time ----------------------------------------------------------------------------------------

/** What is drawn beside each other has the same one. */
export class TimeRange {
  constructor(from, to) {
    this.from = from;
    this.to = Math.max(to, from + 1000);
  }
  /** 0 to 1. */
  place(ms) {
    return Math.min(1, Math.max(0, (ms - this.from) / (this.to - this.from)));
  }
  at(place) {
    return this.from + place * (this.to - this.from);
  }
  axis(ticks = 5) {
    const axis = element("div", { class: "axis", "aria-hidden": "true" });
    const long = this.to - this.from > 86400e3;
    for (let i = 0; i < ticks; ++i) {
      const mark = element("span", {}, clock(this.at(i / (ticks - 1)), long));
      mark.style.left = `${(100 * i) / (ticks - 1)}%`;
      axis.append(mark);
    }
    return axis;
  }
}

// --- nodes through time --------------------------------------------------------------------------

function spanClass(span) {
  return span.state === "running" ? `attempt-${(span.attempt ?? 0) % 4}` : span.state;
}

function spanText(node, span, range) {
  const round = span.round === undefined ? "" : ` round ${span.round}`;
  const attempt = span.attempt === undefined ? "" : `, attempt ${span.attempt}`;
  const to = span.to_ms ?? range.to;
  return `${node}: ${span.state}${round}${attempt}\n${clock(span.from_ms)} to ${clock(to)}, ${duration((to - span.from_ms) / 1000)}`
    + (span.text ? `\n${span.text}` : "");
}

function strip(row, range) {
  const box = (name, from, to) => {
    const drawn = element("div", { class: name });
    drawn.style.left = `${100 * from}%`;
    drawn.style.width = `${100 * (to - from)}%`;
    return drawn;
  };
  const boxes = row.spans.map((span) => box(spanClass(span), range.place(span.from_ms), range.place(span.to_ms ?? range.to)));
  const marks = row.failures.map((ms) => box("mark", range.place(ms), range.place(ms)));
  const label = row.spans.map((span) => spanText(row.name, span, range)).slice(-6).join("; ");
  const drawn = element("div", { class: "strip", tabindex: "0", role: "img", "aria-label": label || row.name, id: `strip-${row.name}` },
    ...boxes, ...marks);
  tellSpans(drawn, row, range, boxes);
  return drawn;
}

// The span of each node that the arrow keys have come to, by its begin: rows are drawn anew as time goes on.
const chosenSpans = new Map();

export function forgetChosen() {
  chosenSpans.clear();
}

// The pointer, or the arrow keys, go from span to span.
function tellSpans(holder, row, range, boxes) {
  const before = row.spans.findIndex((span) => span.from_ms === chosenSpans.get(row.name));
  let chosen = before < 0 ? row.spans.length - 1 : before;
  const choose = (index, x, y) => {
    boxes.forEach((box, i) => box.classList.toggle("at", i === index));
    if (index < 0) return hideTip();
    chosen = index;
    const bounds = holder.getBoundingClientRect();
    const middle = (range.place(row.spans[index].from_ms) + range.place(row.spans[index].to_ms ?? range.to)) / 2;
    showTip(spanText(row.name, row.spans[index], range), x ?? bounds.left + middle * bounds.width, y ?? bounds.top);
  };
  holder.addEventListener("pointermove", (event) => {
    const bounds = holder.getBoundingClientRect();
    const ms = range.at((event.clientX - bounds.left) / bounds.width);
    choose(row.spans.findLastIndex((span) => span.from_ms <= ms && ms <= (span.to_ms ?? range.to)), event.clientX, bounds.top);
  });
  holder.addEventListener("pointerleave", () => choose(-1));
  holder.addEventListener("blur", () => choose(-1));
  holder.addEventListener("focus", () => holder.matches(":focus-visible") && choose(chosen));
  holder.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || row.spans.length === 0) return;
    event.preventDefault();
    choose(Math.min(row.spans.length - 1, Math.max(0, chosen + step)));
    chosenSpans.set(row.name, row.spans[chosen].from_ms);
  });
}

/** All nodes of a job, a row each, above one axis. */
export function strips(rows, range) {
  const drawn = element("div", { class: rows.length > 24 ? "strips many" : "strips" });
  for (const row of rows) drawn.append(element("span", { class: "label", title: row.name }, row.name), strip(row, range));
  drawn.append(element("span", { class: "corner" }), range.axis());
  return drawn;
}

export function legend(keys) {
  const drawn = element("div", { class: "legend" });
  for (const [name, words] of keys) drawn.append(element("span", {}, element("span", { class: `key ${name}` }), words));
  return drawn;
}

// --- restarts ------------------------------------------------------------------------------------

export const kPhases = ["detect", "decide", "stop", "rendezvous", "check", "spawn", "first_progress"];

/** Where the time of a restart went; the longest one of `longest` seconds has the whole width. */
export function phaseBar(restart, longest) {
  const known = restart.phases.filter((phase) => kPhases.includes(phase.name));
  const shown = known.length ? known : [{ name: "unknown", s: restart.total_s ?? 0 }];
  const text = known.map((phase) => `${phase.name.replace("_", " ")} ${duration(phase.s)}`).join("\n");
  const bar = element("div", { class: "phases", role: "img", tabindex: "0", "aria-label": text || "its phases are not known" });
  for (const phase of shown) {
    const part = element("div", { class: phase.name });
    part.style.width = `${longest > 0 ? (100 * phase.s) / longest : 0}%`;
    bar.append(part);
  }
  const tell = () => {
    const bounds = bar.getBoundingClientRect();
    showTip(text || "its phases are not known", bounds.left + bounds.width / 2, bounds.top);
  };
  bar.addEventListener("pointerenter", tell);
  bar.addEventListener("focus", tell);
  bar.addEventListener("pointerleave", hideTip);
  bar.addEventListener("blur", hideTip);
  return bar;
}

// --- curves --------------------------------------------------------------------------------------

const kWidth = 1000; // of a plot's own coordinates; it is stretched

/** One curve over time. `cuts`: times of restarts. */
export function curve(name, points, range, cuts) {
  const values = points.map((point) => point[1]).filter(Number.isFinite);
  const least = Math.min(...values);
  const most = Math.max(...values);
  const height = (value) => 97 - 94 * (most > least ? (value - least) / (most - least) : 0.5);
  const drawn = shape("svg", { viewBox: `0 0 ${kWidth} 100`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${name}: from ${number(points[0][1])} to ${number(points.at(-1)[1])}` });
  for (const y of [3, 50]) drawn.append(shape("line", { class: "grid", x1: 0, x2: kWidth, y1: y, y2: y }));
  for (const ms of cuts) {
    const x = range.place(ms) * kWidth;
    drawn.append(shape("line", { class: "cut", x1: x, x2: x, y1: 0, y2: 100 }));
  }
  const places = points.filter((point) => Number.isFinite(point[1]))
    .map((point) => `${(range.place(point[0]) * kWidth).toFixed(1)},${height(point[1]).toFixed(1)}`);
  drawn.append(shape("polyline", { points: places.join(" ") }));
  const cross = element("div", { class: "cross", hidden: "" });
  const plot = element("div", { class: "plot" }, drawn, element("span", { class: "bound upper" }, number(most)),
    element("span", { class: "bound lower" }, number(least)), cross);
  tellPoints(plot, cross, name, points, range);
  const last = points.at(-1)[1];
  return element("div", { class: "curve" },
    element("div", { class: "title" }, element("span", { title: name }, name), element("span", { class: "muted" }, number(last))),
    plot, range.axis(3));
}

function tellPoints(plot, cross, name, points, range) {
  plot.addEventListener("pointermove", (event) => {
    const bounds = plot.getBoundingClientRect();
    const ms = range.at((event.clientX - bounds.left) / bounds.width);
    const nearest = points.reduce((best, point) => (Math.abs(point[0] - ms) < Math.abs(best[0] - ms) ? point : best));
    cross.hidden = false;
    cross.style.left = `${100 * range.place(nearest[0])}%`;
    showTip(`${name} ${number(nearest[1])}\n${clock(nearest[0])}`, bounds.left + range.place(nearest[0]) * bounds.width, bounds.top);
  });
  plot.addEventListener("pointerleave", () => {
    cross.hidden = true;
    hideTip();
  });
}
