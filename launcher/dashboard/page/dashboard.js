// The page: which view is shown, what the server says, and how it is put together. The server's part is docs/dashboard.md; drawing.js
// draws. A view is made of sections. One whose data is the same stays as it is, so that focus, scrolling and tips survive.

import { TimeRange, clock, curve, duration, element, forgetChosen, hideTip, kPhases, legend, number, phaseBar, strips } from "./drawing.js";

const kRefreshMs = 1000; // at most so often
const kPollMs = 15000; // without being told
const kAskMs = 20000; // of one question
const kFollowMs = 5000; // until a stream that was refused is asked for again
const kMomentsAtFirst = 12;

const main = document.getElementById("main");
const live = document.getElementById("live");
let shown = new Map(); // key of a section -> [its data as text, its element]
let clockOffset = 0; // of the server's clock
let allMoments = false;

function now() {
  return Date.now() + clockOffset;
}

function chosenJob() {
  const match = /^#\/job\/(.+)$/.exec(location.hash);
  try {
    return match ? decodeURIComponent(match[1]) : null;
  } catch {
    return null;
  }
}

// --- sections ------------------------------------------------------------------------------------

/** `parts`: [key, data, make]; `make(data)` gives an element, or null for none. */
function show(parts) {
  const focused = document.activeElement?.id;
  const next = new Map();
  for (const [key, data, make] of parts) {
    const text = JSON.stringify(data);
    const old = shown.get(key);
    next.set(key, old && old[0] === text ? old : [text, make(data)]);
  }
  const elements = [...next.values()].map((entry) => entry[1]).filter(Boolean);
  const same = elements.length === main.children.length && elements.every((one, i) => one === main.children[i]);
  if (!same) {
    main.replaceChildren(...elements);
    hideTip();
    if (focused && focused !== document.activeElement?.id) document.getElementById(focused)?.focus({ preventScroll: true });
  }
  shown = next;
}

function section(title, ...children) {
  return element("section", { "aria-label": title }, element("h2", {}, title), ...children);
}

// --- words ---------------------------------------------------------------------------------------

/** Class and word of a job's state. */
function stateOf(job) {
  const silent = now() - job.heard_ms;
  if (job.state === "running" && silent > job.silent_after_ms) return ["silent", `silent for ${duration(Math.floor(silent / 60e3) * 60).replace(" 0 s", "")}`];
  return [["running", "succeeded", "failed"].includes(job.state) ? job.state : "stopped", job.state];
}

function stateBadge(job) {
  const [kind, word] = stateOf(job);
  return element("span", { class: `state ${kind}` }, word);
}

/** Rounded, so that a section does not change each second. */
function ago(ms) {
  const seconds = Math.max(0, (now() - ms) / 1000);
  return seconds < 10 ? "just now" : seconds < 60 ? `${Math.floor(seconds / 10) * 10} s ago` : `${duration(Math.floor(seconds / 60) * 60).replace(" 0 s", "")} ago`;
}

function steps(progress) {
  if (progress?.step === undefined) return progress?.epoch === undefined ? "–" : `epoch ${number(progress.epoch)}`;
  return progress.total === undefined ? `step ${progress.step.toLocaleString("en")}`
    : `${progress.step.toLocaleString("en")} of ${progress.total.toLocaleString("en")}`;
}

function percentOf(job) {
  const percent = job.progress?.percent;
  return percent === undefined ? null : Math.min(100, Math.max(0, percent));
}

function progressBar(job) {
  const percent = percentOf(job);
  if (percent === null) return null;
  const fill = element("div");
  fill.style.width = `${percent}%`;
  return element("div", { class: `bar ${stateOf(job)[0]}`, role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100,
    "aria-valuenow": Math.round(percent), "aria-label": "progress" }, fill);
}

function timeLeft(job) {
  return stateOf(job)[0] === "running" && job.progress?.eta_s !== undefined ? duration(job.progress.eta_s) : "–";
}

function restartChips(causes) {
  const list = Object.entries(causes).sort();
  return list.length ? list.map(([cause, count]) => element("span", { class: "chip" }, `${count} ${cause || "unknown"}`)) : ["–"];
}

// --- the list of jobs ----------------------------------------------------------------------------

function jobRow(job) {
  const cell = (label, ...content) => element("span", { "data-label": label }, ...content);
  return element("a", { class: "job", href: `#/job/${encodeURIComponent(job.job)}`, id: `job-${job.job}` },
    element("span", { class: "name", title: job.job }, job.job),
    stateBadge(job),
    element("span", { class: "progress" }, progressBar(job), element("span", { class: "small muted" }, steps(job.progress))),
    cell("time left", timeLeft(job)),
    cell("nodes", job.nodes === undefined ? "–" : String(job.nodes)),
    cell("restarts", ...restartChips(job.restarts)),
    element("span", { class: "small muted", "data-label": "heard" }, ago(job.heard_ms)));
}

async function listJobs() {
  const answer = await ask("/api/jobs");
  if (chosenJob() !== null) return;
  document.title = "Muster";
  document.getElementById("crumb").textContent = "";
  if (!answer.jobs.length) return show([["none", location.host, emptyList]]);
  const head = ["Job", "State", "Progress", "Time left", "Nodes", "Restarts", "Last event"];
  // What changes by itself with time is part of the data.
  const data = answer.jobs.map((job) => [job, stateOf(job), ago(job.heard_ms)]);
  show([["title", 0, () => element("div", { class: "top" }, element("h1", {}, "Jobs"))],
    ["jobs", data, () => element("section", { class: "jobs", "aria-label": "jobs" },
      element("div", { class: "head", "aria-hidden": "true" }, ...head.map((word) => element("span", {}, word))),
      ...answer.jobs.map(jobRow))]]);
}

function emptyList(host) {
  return section("No job has reported yet",
    element("p", {}, "Let a job report here:"),
    element("pre", {}, `muster run --run-dir DIR --report webhook=http://${host}/webhook ...`));
}

// --- a job ---------------------------------------------------------------------------------------

/** Of [name, …]: what is trained for, then the others by name. */
function lossFirst([a], [b]) {
  const place = (name) => (name === "step" ? 0 : name === "loss" ? 1 : name.includes("loss") ? 2 : 3);
  return place(a) - place(b) || (a < b ? -1 : 1);
}

function facts(job) {
  const end = job.state === "running" ? now() : job.last_ms;
  const progress = job.progress ?? {};
  const percent = percentOf(job);
  const rows = [
    ["Progress", percent === null ? steps(progress) : `${percent.toFixed(percent < 10 ? 1 : 0)} %`,
      percent === null ? "" : steps(progress)],
    ...(job.state === "running" ? [["Time left", timeLeft(job), progress.rate === undefined ? "" : `${number(progress.rate)} steps/s`]] : []),
    ["Round", job.round ?? "–", job.nodes === undefined ? "" : `${job.nodes} nodes, ${job.workers ?? "?"} workers`],
    ["Restarts", Object.values(job.restarts).reduce((sum, count) => sum + count, 0),
      Object.entries(job.restarts).map(([cause, count]) => `${count} ${cause || "unknown"}`).join(", ")],
    [job.state === "running" ? "Runs for" : "Ran for", duration((end - job.began_ms) / 1000), `since ${clock(job.began_ms, now() - job.began_ms > 43200e3)}`],
  ];
  for (const [name, value] of Object.entries(progress.metrics ?? {}).sort(lossFirst).slice(0, 2)) rows.push([name, number(value), ""]);
  const list = element("dl", { class: "facts" });
  for (const [name, value, more] of rows)
    list.append(element("div", {}, element("dt", {}, name), element("dd", {}, String(value), more ? element("small", {}, more) : null)));
  return element("section", { "aria-label": "numbers" }, progressBar(job), list);
}

function failureOf(failure) {
  if (!failure) return null;
  const rank = failure.rank === undefined ? "A process" : `Rank ${failure.rank}`;
  const made = section("Last failure",
    element("div", { class: "wrap" }, element("strong", {}, `${rank} on ${failure.node || "?"}: `), failure.message || failure.reason),
    element("div", { class: "small muted wrap" }, clock(failure.time_ms, true), failure.message ? ` · ${failure.reason}` : "",
      failure.logs ? ` · logs: ${failure.logs}` : ""));
  made.classList.add("failure");
  if (failure.last_lines.length) made.append(element("pre", { tabindex: "0", "aria-label": "its last lines" }, failure.last_lines.join("\n")));
  return made;
}

function nodesOf({ rows, range, more }) {
  if (!rows.length) return null;
  const keys = [["attempts", "running, by attempt"], ["joining", "joining"], ["stopping", "stopping"], ["lost", "lost"], ["unfit", "unfit"],
    ["failure", "a worker failed"]];
  const has = (name) => name === "attempts" || (name === "failure" ? rows.some((row) => row.failures.length)
    : rows.some((row) => row.spans.some((span) => span.state === name)));
  return section("Nodes", strips(rows, new TimeRange(...range)), legend(keys.filter(([name]) => has(name))),
    more ? element("div", { class: "small muted" }, `${more} more nodes, to which nothing happened, are left out`) : "");
}

function restartsOf(list) {
  if (!list.length) return null;
  const longest = Math.max(...list.map((restart) => restart.total_s ?? 0));
  const drawn = element("ol", { class: "restarts" });
  for (const restart of list.slice(-50).reverse()) {
    drawn.append(element("li", {},
      element("span", { class: "small muted" }, clock(restart.time_ms)),
      element("span", {}, element("span", { class: "chip" }, restart.cause || "unknown")),
      element("span", { class: "small wrap why" }, restart.reason),
      phaseBar(restart, longest),
      element("span", { class: "right" }, restart.total_s === undefined ? "not yet" : duration(restart.total_s))));
  }
  const phases = kPhases.filter((name) => list.some((restart) => restart.phases.some((phase) => phase.name === name)));
  return section("Restarts", drawn, phases.length ? legend(phases.map((name) => [name, name.replace("_", " ")])) : null);
}

function curvesOf({ curves, range, cuts }) {
  const drawn = curves.filter((one) => one.points.length > 1).sort((a, b) => lossFirst([a.name], [b.name]));
  if (!drawn.length) return null;
  return section("Progress", element("div", { class: "curves" },
    ...drawn.map((one) => curve(one.name, one.points, new TimeRange(...range), cuts))));
}

function momentsOf({ moments, all }) {
  if (!moments.length) return null;
  const list = element("ol", { class: "moments" });
  for (const moment of (all ? moments : moments.slice(-kMomentsAtFirst)).toReversed()) {
    list.append(element("li", {},
      element("span", { class: "small muted" }, clock(moment.time_ms)),
      element("span", { class: "small node", title: moment.node }, moment.node),
      element("span", { class: `small what ${moment.level}` }, moment.event),
      element("span", { class: "small wrap said" }, moment.text)));
  }
  const made = section("What happened", list);
  if (!all && moments.length > kMomentsAtFirst) {
    const more = element("button", { type: "button", id: "more" }, `Show all ${moments.length}`);
    more.addEventListener("click", () => {
      allMoments = true;
      refresh();
    });
    made.append(more);
  }
  return made;
}

async function showJob(name) {
  const path = `/api/jobs/${encodeURIComponent(name)}`;
  const [{ job }, { curves }] = await Promise.all([ask(path), ask(`${path}/progress`)]);
  if (chosenJob() !== name) return;
  document.title = `${job.job} · Muster`;
  document.getElementById("crumb").textContent = `/ ${job.job}`;
  const [, word] = stateOf(job);
  const running = job.state === "running" && word === "running";
  // To the next five seconds, so that the drawing of a job in which nothing happens stays the same for so long.
  const end = running ? Math.ceil(now() / 5000) * 5000 : job.last_ms;
  const range = [job.began_ms, end];
  // What ended the job comes first; what it survived can wait.
  const failure = ["failure", job.failure, failureOf];
  const runs = job.earlier_runs ? `, run ${job.earlier_runs + 1}` : "";
  show([
    ["top", [job.job, word, job.reason, job.command, runs], () => element("div", { class: "top" },
      element("div", {}, element("h1", {}, job.job), element("div", { class: "mono muted wrap" }, job.command + runs)),
      element("div", { class: "wrap" }, stateBadge(job), element("span", { class: "small muted" }, job.reason ? ` ${job.reason}` : "")))],
    ["facts", [job.progress, job.round, job.nodes, job.restarts, word, Math.floor(end / 5000)], () => facts(job)],
    ...(job.state === "failed" ? [failure] : []),
    ["nodes", { rows: job.rows, range, more: job.rows_left_out }, nodesOf],
    ["restarts", job.restart_list, restartsOf],
    ...(job.state === "failed" ? [] : [failure]),
    ["curves", { curves, range, cuts: job.restart_list.map((restart) => restart.time_ms) }, curvesOf],
    ["moments", { moments: job.moments, all: allMoments }, momentsOf],
  ]);
}

// --- the server ----------------------------------------------------------------------------------

async function ask(path) {
  const answer = await fetch(path, { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(kAskMs) });
  if (!answer.ok) throw new Error((await answer.text()).trim() || `status ${answer.status}`);
  const said = await answer.json();
  if (said.now_ms) clockOffset = said.now_ms - Date.now();
  return said;
}

let running = false;
let again = false;
let lastRefresh = 0;
let timer = null;

async function refresh() {
  if (running) {
    again = true;
    return;
  }
  running = true;
  clearTimeout(timer);
  timer = null;
  lastRefresh = Date.now();
  try {
    const name = chosenJob();
    await (name === null ? listJobs() : showJob(name));
  } catch (error) {
    // Without a connection what was seen last stays: the header says that it is old.
    const away = error instanceof TypeError || error.name === "TimeoutError";
    if (!away || shown.size === 0) show([["error", String(error.message), (text) => section("This cannot be shown", element("p", { class: "wrap" }, text))]]);
  }
  running = false;
  if (again) {
    again = false;
    refresh();
  }
}

function refreshSoon() {
  if (timer === null) timer = setTimeout(refresh, Math.max(0, lastRefresh + kRefreshMs - Date.now()));
}

function follow() {
  const stream = new EventSource("/api/stream");
  const say = (kind, word) => {
    live.className = kind;
    live.textContent = word;
  };
  stream.addEventListener("open", () => {
    say("on", "live");
    refreshSoon();
  });
  stream.addEventListener("error", () => {
    say("off", "reconnecting");
    // The browser tries again by itself only what broke off, and not what was refused.
    if (stream.readyState === EventSource.CLOSED) setTimeout(follow, kFollowMs);
  });
  stream.addEventListener("changed", (event) => {
    const name = chosenJob();
    if (name === null || JSON.parse(event.data).jobs.includes(name)) refreshSoon();
  });
}

window.addEventListener("hashchange", () => {
  shown = new Map();
  allMoments = false;
  forgetChosen();
  window.scrollTo(0, 0);
  refresh();
});
setInterval(refreshSoon, kPollMs);
refresh();
follow();
