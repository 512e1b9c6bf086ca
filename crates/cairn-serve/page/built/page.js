"use strict";
(() => {
  // src/stream.ts
  var Parser = class {
    rest = "";
    event = "";
    data = [];
    feed(piece) {
      const found = [];
      this.rest += piece;
      for (; ; ) {
        const end = this.rest.search(/\r\n|\n|\r(?=[^\n])/);
        if (end < 0) return found;
        const line = this.rest.slice(0, end);
        this.rest = this.rest.slice(end + (this.rest.startsWith("\r\n", end) ? 2 : 1));
        if (line === "") {
          if (this.data.length > 0) found.push({ event: this.event || "message", data: this.data.join("\n") });
          this.event = "";
          this.data = [];
        } else if (!line.startsWith(":")) {
          const colon = line.indexOf(":");
          const field = colon < 0 ? line : line.slice(0, colon);
          const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
          if (field === "event") this.event = value;
          if (field === "data") this.data.push(value);
        }
      }
    }
  };
  var Refused = class extends Error {
    constructor(status, error, cure) {
      super(error);
      this.status = status;
      this.cure = cure;
    }
    status;
    cure;
  };
  async function refusal(response) {
    try {
      const { error, cure } = await response.json();
      return new Refused(response.status, error, cure);
    } catch {
      return new Refused(response.status, `the server answered ${response.status}`, "");
    }
  }
  async function read(url, token2, each, signal) {
    const response = await fetch(url, { headers: { Authorization: `Bearer ${token2}` }, signal, cache: "no-store" });
    if (!response.ok || !response.body) throw await refusal(response);
    const parser = new Parser();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (; ; ) {
      const { done, value } = await reader.read();
      if (done) return;
      for (const message of parser.feed(value)) each(message);
    }
  }

  // src/api.ts
  var Api = class {
    constructor(token2) {
      this.token = token2;
    }
    token;
    async ask(path, options = {}, token2 = this.token) {
      const json = options.body === void 0 ? {} : { "Content-Type": "application/json" };
      const headers = { Authorization: `Bearer ${token2}`, ...json };
      const response = await fetch(path, { ...options, headers, cache: "no-store" });
      if (!response.ok) throw await refusal(response);
      return response;
    }
    async names() {
      return await (await this.ask("/api/v1/names")).json();
    }
    async task(name) {
      return await (await this.ask(`/api/v1/tasks/${encodeURIComponent(name)}`)).json();
    }
    async attempts(name) {
      return await (await this.ask(`/api/v1/tasks/${encodeURIComponent(name)}/attempts`)).json();
    }
    /** The end of what its latest attempt printed. */
    async log(name) {
      return (await this.ask(`/api/v1/tasks/${encodeURIComponent(name)}/log?tail=8000`)).text();
    }
    async why(name) {
      return await (await this.ask(`/api/v1/why/${encodeURIComponent(name)}`)).json();
    }
    /** Asks for something that needs the admin's token. */
    async steer(what, task, token2) {
      const body = JSON.stringify({ tasks: [task] });
      const answer = await this.ask(`/api/v1/${what}`, { method: "POST", body }, token2);
      const { refused } = await answer.json();
      return refused[0]?.why ?? "";
    }
    async report() {
      return (await this.ask("/api/v1/report")).blob();
    }
  };

  // src/axis.ts
  function scale(from, to) {
    const width = from[1] - from[0];
    const factor = width === 0 ? 0 : (to[1] - to[0]) / width;
    return (value) => to[0] + (value - from[0]) * factor;
  }
  function marks(most, wanted, whole = true) {
    if (!(most > 0) || wanted < 1) return [0];
    const rough = most / wanted;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.9999) ?? 10 * power;
    const size = whole ? Math.max(1, Math.round(step)) : step;
    const all = [];
    for (let i = 0; i * size <= most * 1.0001; i++) all.push(Number((i * size).toPrecision(12)));
    return all;
  }
  function timeMarks(most, wanted) {
    const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];
    const step = steps.find((s) => most / s <= wanted);
    if (most < wanted || step === void 0) return marks(most, wanted, false);
    const all = [];
    for (let at2 = 0; at2 <= most * 1.0001; at2 += step) all.push(at2);
    return all;
  }
  function halved(points) {
    const kept = points.filter((_, i) => i % 2 === 0);
    const last = points.at(-1);
    if (last !== void 0 && points.length % 2 === 0) kept.push(last);
    return kept;
  }
  function at(pairs, place) {
    let [low, high] = [0, pairs.length];
    while (low < high) {
      const middle = low + high >> 1;
      if (pairs[middle][0] <= place) low = middle + 1;
      else high = middle;
    }
    return pairs[Math.max(0, low - 1)]?.[1] ?? 0;
  }

  // src/dom.ts
  function el(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    for (const child of children) if (child) made.append(child);
    return made;
  }
  function say(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }
  var Rows = class {
    constructor(caption, columns) {
      this.columns = columns;
      const head = el("tr", {}, ...columns.map((c) => el("th", { scope: "col", ...c.number ? { class: "number" } : {} }, c.head)));
      this.table = el("table", {}, el("caption", {}, caption), el("thead", {}, head), this.body);
    }
    columns;
    table;
    body = el("tbody");
    written = "";
    /** `key` says whether anything has changed. A row that has the focus keeps it. */
    show(rows, key) {
      if (key === this.written) return;
      this.written = key;
      const focused = document.activeElement;
      const held = focused && this.body.contains(focused) ? focused.getAttribute("data-key") : null;
      const made = rows.map(
        (row) => el(
          "tr",
          {},
          ...this.columns.map((c, i) => {
            const cls = c.number ? { class: "number" } : {};
            const child = c.cell(row);
            return i === 0 ? el("th", { scope: "row", ...cls }, child) : el("td", cls, child);
          })
        )
      );
      this.body.replaceChildren(...made);
      if (held !== null) {
        const again = [...this.body.querySelectorAll("[data-key]")].find((e) => e.dataset["key"] === held);
        again?.focus({ preventScroll: true });
      }
    }
  };
  function theme() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    return { ink: of("ink"), muted: of("muted"), grid: of("grid"), paper: of("paper"), of };
  }
  var Picture = class {
    constructor(label, height, draw) {
      this.height = height;
      this.draw = draw;
      this.canvas.setAttribute("aria-label", label);
      new ResizeObserver(() => this.due()).observe(this.canvas);
      new IntersectionObserver((entries) => {
        this.isSeen = entries.at(-1)?.isIntersecting ?? true;
        if (this.isStale) this.due();
      }).observe(this.canvas);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.due());
    }
    height;
    draw;
    canvas = el("canvas", { role: "img", tabindex: "0" });
    isSeen = true;
    /** What is drawn is not what is so. */
    isStale = false;
    /** It is drawn with the next frame. */
    isAsked = false;
    due() {
      this.isStale = true;
      if (!this.isSeen || this.isAsked) return;
      this.isAsked = true;
      requestAnimationFrame(() => {
        this.isAsked = false;
        this.isStale = false;
        this.now();
      });
    }
    now() {
      const [width, height] = [this.canvas.clientWidth, this.height()];
      if (width === 0) return;
      const sharp = window.devicePixelRatio || 1;
      this.canvas.style.height = `${height}px`;
      const [w, h] = [Math.round(width * sharp), Math.round(height * sharp)];
      if (this.canvas.width !== w || this.canvas.height !== h) [this.canvas.width, this.canvas.height] = [w, h];
      const context = this.canvas.getContext("2d");
      if (!context) return;
      context.setTransform(sharp, 0, 0, sharp, 0, 0);
      context.clearRect(0, 0, width, height);
      context.font = "12px system-ui, sans-serif";
      this.draw(context, width, height);
    }
  };

  // src/format.ts
  function count(n) {
    return Math.round(n).toLocaleString("en-US");
  }
  function counted(n, one, many = `${one}s`) {
    return `${count(n)} ${n === 1 ? one : many}`;
  }
  function span(seconds) {
    if (!Number.isFinite(seconds)) return "–";
    const s = Math.max(0, seconds);
    if (s < 0.0995) return `${Math.round(s * 1e3)} ms`;
    if (s < 9.95) return `${s.toFixed(1)} s`;
    if (s < 99.5) return `${Math.round(s)} s`;
    if (s < 5970) return `${Math.floor(s / 60)} min ${s < 570 ? `${Math.round(s % 60)} s` : ""}`.trim();
    if (s < 172800) return `${Math.floor(s / 3600)} h ${Math.round(s % 3600 / 60)} min`;
    return `${(s / 86400).toFixed(1)} days`;
  }
  function tick(seconds) {
    if (seconds === 0) return "0";
    if (seconds < 1) return `${Number((seconds * 1e3).toPrecision(3))} ms`;
    if (seconds < 120) return `${Number(seconds.toFixed(1))} s`;
    if (seconds < 7200) return `${Number((seconds / 60).toFixed(1))} min`;
    return `${Number((seconds / 3600).toFixed(1))} h`;
  }
  function bytes(n) {
    const units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let [value, unit] = [n, 0];
    while (value >= 999.5 && unit < units.length - 1) [value, unit] = [value / 1e3, unit + 1];
    return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toPrecision(2)} ${units[unit]}`;
  }
  function percent(part, whole) {
    if (whole <= 0) return "0 %";
    const share = 100 * part / whole;
    if (share < 100 && share > 99) return `${(Math.floor(share * 10) / 10).toFixed(1)} %`;
    return share > 0 && share < 1 ? `${share.toFixed(1)} %` : `${Math.floor(share)} %`;
  }
  function rate(perSecond) {
    if (perSecond >= 99.5) return `${count(perSecond)} tasks/s`;
    if (perSecond >= 1) return `${perSecond.toPrecision(2)} tasks/s`;
    if (perSecond * 60 >= 1) return `${(perSecond * 60).toPrecision(2)} tasks/min`;
    return `${(perSecond * 3600).toPrecision(2)} tasks/h`;
  }
  function clock(seconds) {
    return new Date(seconds * 1e3).toLocaleTimeString();
  }
  function speed(factor) {
    return factor == null || !Number.isFinite(factor) ? "–" : `${factor >= 9.95 ? Math.round(factor) : factor.toFixed(1)}×`;
  }
  function trust(volunteer, known) {
    if (volunteer == null) return "trusted";
    const parts = known ? [`${count(known.valid)} confirmed`] : [];
    if (known && known.invalid > 0) parts.push(`${count(known.invalid)} contradicted`);
    if (known && known.errors > 0) parts.push(`${count(known.errors)} failed`);
    if (known && known.late > 0) parts.push(`${count(known.late)} late`);
    return [`volunteer ${volunteer}`, parts.join(", ")].filter((part) => part !== "").join(": ");
  }

  // src/curve.ts
  function lines(model, overTime) {
    const curve = model.curve;
    const began = model.last?.began ?? curve[0]?.[1] ?? 0;
    const place = (s) => overTime ? s[1] - began : s[0];
    const actual = curve.map((s) => [place(s), s[2]]);
    const running = curve.map((s) => [place(s), s[3]]);
    const profile = model.plan?.profile ?? [];
    const bound = model.plan?.bound ?? null;
    if (!overTime) {
      const far = model.scene?.tasks ?? curve.at(-1)?.[0] ?? 1;
      const plan2 = profile;
      return { most: [Math.max(1, far), top([plan2, bound ?? [], actual])], bound, plan: plan2, actual, running };
    }
    const along = (of) => curve.map((s) => [s[1] - began, at(of, s[0])]);
    const plan = profile.length > 0 ? along(profile) : [];
    const over = bound ? along(bound) : null;
    const now = model.last && !model.last.finished ? model.last.now - began : actual.at(-1)?.[0] ?? 1;
    return { most: [Math.max(1e-3, now), top([plan, over ?? [], actual])], bound: over, plan, actual, running };
  }
  function top(all) {
    let most = 1;
    for (const line of all) for (const [, value] of line) if (value > most) most = value;
    return most;
  }
  var Curve = class {
    constructor(model) {
      this.model = model;
      this.picture = new Picture("Eligible tasks", () => 260, (c, w, h) => this.draw(c, w, h));
      const choice = (label, overTime) => {
        const input = el("input", { type: "radio", name: "axis" });
        input.checked = overTime === this.overTime;
        input.addEventListener("change", () => {
          this.overTime = overTime;
          this.picture.due();
        });
        return el("label", {}, input, label);
      };
      const key = (name, text) => el("span", { class: `key ${name}` }, text);
      this.element = el(
        "section",
        { "aria-labelledby": "eligible" },
        el("h2", { id: "eligible" }, "Eligible tasks"),
        el(
          "div",
          { class: "tools" },
          el("fieldset", {}, el("legend", { class: "hidden" }, "Horizontal axis"), choice("over executed tasks", false), choice("over time", true)),
          el("p", { class: "keys" }, key("actual", "this run"), key("running", "running"), key("plan", "plan"), key("bound", "certified bound"))
        ),
        this.picture.canvas,
        this.summary
      );
    }
    model;
    element;
    picture;
    summary = el("p", { class: "muted" });
    overTime = false;
    show() {
      const text = words(this.model());
      if (this.summary.textContent !== text) {
        this.summary.textContent = text;
        this.picture.canvas.setAttribute("aria-label", `Eligible tasks. ${text}`);
      }
      this.picture.due();
    }
    draw(context, width, height) {
      const colours = theme();
      const shown = lines(this.model(), this.overTime);
      const [left, right, foot, head] = [Math.max(40, count(shown.most[1]).length * 7 + 16), 12, 36, 10];
      const x = scale([0, shown.most[0]], [left, width - right]);
      const y = scale([0, shown.most[1] * 1.04], [height - foot, head]);
      context.lineWidth = 1;
      context.strokeStyle = colours.grid;
      context.fillStyle = colours.muted;
      context.textAlign = "right";
      context.textBaseline = "middle";
      for (const mark of marks(shown.most[1], 5)) {
        const place = Math.round(y(mark)) + 0.5;
        context.beginPath();
        context.moveTo(left, place);
        context.lineTo(width - right, place);
        context.stroke();
        context.fillText(count(mark), left - 6, place);
      }
      context.textBaseline = "top";
      const wanted = Math.max(2, Math.min(8, Math.floor(width / 110)));
      const across = this.overTime ? timeMarks(shown.most[0], wanted) : marks(shown.most[0], wanted);
      across.forEach((mark, i) => {
        context.textAlign = i > 0 && x(mark) > width - 40 ? "right" : "center";
        context.fillText(this.overTime ? tick(mark) : count(mark), Math.min(x(mark), width - right), height - foot + 5);
      });
      context.textAlign = "left";
      context.fillText(this.overTime ? "time since the run began" : "executed tasks", left, height - 14);
      const line = (pairs, colour, thick, dash = []) => {
        if (pairs.length === 0) return;
        context.strokeStyle = colour;
        context.lineWidth = thick;
        context.setLineDash(dash);
        context.lineJoin = "round";
        context.beginPath();
        pairs.forEach(([px, py], i) => i === 0 ? context.moveTo(x(px), y(py)) : context.lineTo(x(px), y(py)));
        context.stroke();
        context.setLineDash([]);
      };
      if (shown.running.length > 1) {
        context.fillStyle = colours.of("leased-pale");
        context.beginPath();
        context.moveTo(x(shown.running[0]?.[0] ?? 0), y(0));
        for (const [px, py] of shown.running) context.lineTo(x(px), y(py));
        context.lineTo(x(shown.running.at(-1)?.[0] ?? 0), y(0));
        context.fill();
      }
      if (shown.bound) line(shown.bound, colours.of("bound"), 3.5);
      line(shown.plan, colours.of("plan"), 1.5, [5, 4]);
      line(shown.actual, colours.of("actual"), 2);
      const last = shown.actual.at(-1);
      if (last) {
        context.fillStyle = colours.of("actual");
        context.beginPath();
        context.arc(x(last[0]), y(last[1]), 3.5, 0, 7);
        context.fill();
      }
    }
  };
  function words(model) {
    const [last, plan] = [model.curve.at(-1), model.plan];
    if (!last) return "Nothing has happened yet.";
    const [executed, , eligible] = last;
    let text = `After ${counted(executed, "executed task")}, ${count(eligible)} ${eligible === 1 ? "is" : "are"} eligible or running`;
    if (plan && plan.profile.length > 0) text += `; the plan has ${count(at(plan.profile, executed))} there`;
    if (plan?.bound) text += `, and no order can have more than ${count(at(plan.bound, executed))}`;
    text += ".";
    if (plan && !plan.bound) text += " The bound is still being looked for.";
    if (plan?.verdict === "optimal") text += " An order that is best at every step exists: proved.";
    if (plan?.verdict === "none-exists") text += " No order is best at every step: proved.";
    return text;
  }

  // src/contract.ts
  var STATES = ["waiting", "eligible", "leased", "executed", "failed", "aborted", "cancelled"];
  var WORDS = {
    waiting: "waiting",
    eligible: "eligible",
    leased: "running",
    executed: "executed",
    failed: "failed",
    aborted: "aborted",
    cancelled: "cancelled"
  };
  var OUTCOMES = ["executed", "failed", "lost", "given back"];

  // src/lanes.ts
  function lanes(spans, running, from) {
    const by = /* @__PURE__ */ new Map();
    const of = (worker) => {
      const found = by.get(worker);
      if (found) return found;
      const made = [];
      by.set(worker, made);
      return made;
    };
    for (const [worker, task, begin, end, outcome] of spans) if (end >= from) of(worker).push({ task, begin, end, outcome });
    for (const [worker, task, begin] of running) of(worker).push({ task, begin, end: null, outcome: -1 });
    return [...by.entries()].sort((a, b) => a[0] - b[0]).map(([worker, attempts]) => {
      attempts.sort((a, b) => a.begin - b.begin);
      const free = [];
      const bars = attempts.map((attempt) => {
        let row = free.findIndex((until) => until <= attempt.begin + 1e-4);
        if (row < 0) row = free.length;
        free[row] = attempt.end ?? Infinity;
        return { row, ...attempt };
      });
      return { worker, rows: Math.max(1, free.length), bars };
    });
  }

  // src/model.ts
  var MOST_SAMPLES = 4e3;
  var MOST_SPANS = 2e4;
  function empty() {
    return { scene: null, plan: null, last: null, curve: [], spans: [], dropped: 0, boxes: [], names: null };
  }
  function take(model, update) {
    model.curve = [];
    model.spans = [];
    model.dropped = 0;
    model.boxes = [];
    model.last = null;
    add(model, update);
  }
  function add(model, update) {
    for (const sample of update.curve) model.curve.push(sample);
    while (model.curve.length > MOST_SAMPLES) model.curve = halved(model.curve);
    for (const span2 of update.spans) model.spans.push(span2);
    const over = model.spans.length - MOST_SPANS;
    if (over > 0) {
      model.spans.splice(0, over);
      model.dropped += over;
    }
    for (const [box, ...counts] of update.boxes) if (box !== void 0) model.boxes[box] = counts;
    model.last = { ...model.last, ...update };
  }
  function ofReport(saved) {
    const model = empty();
    model.scene = saved.scene;
    model.plan = saved.plan;
    model.names = saved.names;
    take(model, saved.update);
    return model;
  }
  function nameOf(model, task) {
    return model.names?.[task] ?? `task ${task}`;
  }
  function find(names, text, most) {
    const wanted = text.trim().toLowerCase();
    if (wanted === "") return [];
    const [same, begin, other] = [[], [], []];
    for (const name of names) {
      const low = name.toLowerCase();
      if (low === wanted) same?.push(name);
      else if (low.startsWith(wanted)) begin?.push(name);
      else if ((other?.length ?? 0) < most && low.includes(wanted)) other?.push(name);
      if ((begin?.length ?? 0) >= most) break;
    }
    return [...same ?? [], ...begin ?? [], ...other ?? []].slice(0, most);
  }

  // src/gantt.ts
  var MOST_LANES = 40;
  var WINDOWS = [
    ["last minute", 60],
    ["last 10 minutes", 600],
    ["whole run", Infinity]
  ];
  var IDLE = [
    ["busy", "at work"],
    ["nothing_eligible", "nothing eligible"],
    ["resources", "nothing fits"],
    ["server", "server and network"],
    ["paused", "paused"]
  ];
  var Gantt = class {
    constructor(model, open) {
      this.model = model;
      this.open = open;
      this.picture = new Picture("Worker lanes", () => Math.max(48, this.rows * this.rowHeight() + this.lanes.length * 4 + 26), (c, w) => this.draw(c, w));
      const select = el("select", { id: "window" }, ...WINDOWS.map(([text, seconds]) => el("option", { value: String(seconds) }, text)));
      select.value = "Infinity";
      select.addEventListener("change", () => {
        this.window = Number(select.value);
        this.show();
      });
      const canvas = this.picture.canvas;
      canvas.addEventListener("pointermove", (e) => this.point(e));
      canvas.addEventListener("click", (e) => {
        const found = this.under(e.offsetX, e.offsetY);
        if (found) this.open(found.task);
      });
      this.element = el(
        "section",
        { "aria-labelledby": "lanes" },
        el("h2", { id: "lanes" }, "Workers at work"),
        el("p", { class: "muted" }, "Where the processors' time went:"),
        this.bar,
        this.legend,
        el("div", { class: "tools" }, el("label", { for: "window" }, "Lanes of the"), select),
        canvas,
        this.summary,
        this.tip
      );
    }
    model;
    open;
    element;
    picture;
    summary = el("p", { class: "muted" });
    bar = el("div", { class: "stack", "aria-hidden": "true" });
    legend = el("ul", { class: "legend" });
    tip = el("p", { class: "tip", "aria-live": "polite" });
    window = Infinity;
    lanes = [];
    rows = 0;
    begin = 0;
    end = 1;
    show() {
      const model = this.model();
      const last = model.last;
      if (!last) return;
      this.idle(last.idle);
      this.end = last.finished ? Math.max(last.began ?? 0, ...model.spans.slice(-200).map((s) => s[3])) : last.now;
      const first = Math.min(model.spans[0]?.[2] ?? this.end, last.running[0]?.[2] ?? this.end, last.began ?? this.end);
      this.begin = Math.max(model.dropped > 0 ? model.spans[0]?.[2] ?? first : first, this.end - this.window);
      const all = lanes(model.spans, last.running, this.begin);
      this.lanes = all.slice(0, MOST_LANES);
      this.rows = this.lanes.reduce((sum, lane) => sum + lane.rows, 0);
      const more = all.length - this.lanes.length;
      const text = `${counted(all.length, "worker")} in ${span(this.end - this.begin)}.` + (more > 0 ? ` The first ${MOST_LANES} are drawn.` : "") + (model.dropped > 0 ? ` Only the latest ${count(model.spans.length)} attempts are drawn.` : "");
      if (this.summary.textContent !== text) {
        this.summary.textContent = text;
        this.picture.canvas.setAttribute("aria-label", `Worker lanes. ${text} The tables below have the same in words.`);
      }
      this.picture.due();
    }
    idle(idle) {
      const all = IDLE.reduce((sum, [field]) => sum + idle[field], 0);
      const shown = IDLE.filter(([field]) => field === "busy" || idle[field] > 1e-3 * all || idle[field] > 0.05);
      const key = shown.map(([field]) => field).join();
      if (this.bar.dataset["key"] !== key) {
        this.bar.dataset["key"] = key;
        this.bar.replaceChildren(...shown.map(([field]) => el("div", { class: `idle-${field}` })));
        this.legend.replaceChildren(...shown.map(([field]) => el("li", { class: `key idle-${field}` })));
      }
      shown.forEach(([field, word], i) => {
        const part = this.bar.children[i];
        part.style.flexGrow = String(all > 0 ? idle[field] / all : 0);
        say(this.legend.children[i], `${word} ${percent(idle[field], all)} (${span(idle[field])})`);
      });
    }
    rowHeight() {
      return this.rows > 60 ? 6 : this.rows > 24 ? 10 : 14;
    }
    left() {
      return 96;
    }
    draw(context, width) {
      const colours = theme();
      const model = this.model();
      const names = new Map(model.last?.workers?.map((w) => [w.worker, w]) ?? []);
      const [left, high] = [this.left(), this.rowHeight()];
      const x = scale([this.begin, this.end], [left, width - 8]);
      const fills = [colours.of("executed"), colours.of("failed"), colours.of("aborted"), colours.of("cancelled")];
      const open = colours.of("leased");
      let y = 4;
      context.textBaseline = "middle";
      for (const lane of this.lanes) {
        const tall = lane.rows * high;
        context.fillStyle = colours.of("panel");
        context.fillRect(left, y, width - 8 - left, tall);
        const who = names.get(lane.worker);
        context.fillStyle = who?.state === "lost" ? colours.of("failed-ink") : who && who.state !== "here" ? colours.muted : colours.ink;
        context.textAlign = "right";
        const name = `${who?.name ?? `worker ${lane.worker}`}${who?.state === "lost" ? " (lost)" : ""}`;
        if (high >= 10 || lane.rows > 1) context.fillText(short(context, name, left - 14), left - 8, y + tall / 2);
        let [colour, row, until] = ["", -1, -1];
        for (const bar of lane.bars) {
          const from = Math.max(left, x(bar.begin));
          const to = Math.max(from + 0.8, x(bar.end ?? this.end) - 0.6);
          const fill = bar.end === null ? open : fills[bar.outcome] ?? open;
          if (to < left || fill === colour && row === bar.row && to <= until) continue;
          if (fill !== colour) context.fillStyle = fill;
          context.fillRect(from, y + bar.row * high + 1, to - from, high - 2);
          [colour, row, until] = [fill, bar.row, Math.ceil(to)];
        }
        y += tall + 4;
      }
      context.fillStyle = colours.muted;
      context.textBaseline = "top";
      const origin = this.window === Infinity && model.dropped === 0 ? this.begin : this.end;
      for (const mark of timeMarks(this.end - this.begin, Math.max(2, Math.floor(width / 130)))) {
        const place = origin === this.begin ? x(this.begin + mark) : x(this.end - mark);
        context.textAlign = place > width - 40 ? "right" : "center";
        context.fillText(origin === this.begin ? tick(mark) : mark === 0 ? "now" : `−${tick(mark)}`, Math.min(place, width - 8), y + 4);
      }
    }
    under(px, py) {
      const width = this.picture.canvas.clientWidth;
      const [left, high] = [this.left(), this.rowHeight()];
      const time = scale([left, width - 8], [this.begin, this.end])(px);
      const slack = (this.end - this.begin) / Math.max(1, width - left);
      let y = 4;
      for (const lane of this.lanes) {
        const tall = lane.rows * high;
        if (py >= y && py < y + tall) {
          const row = Math.floor((py - y) / high);
          const bar = lane.bars.findLast((b) => b.row === row && b.begin <= time + slack && (b.end ?? Infinity) >= time - slack);
          if (!bar) return null;
          const how = bar.end === null ? "running" : OUTCOMES[bar.outcome] ?? "";
          return { task: bar.task, text: `${nameOf(this.model(), bar.task)}: ${how}, ${span((bar.end ?? this.end) - bar.begin)}` };
        }
        y += tall + 4;
      }
      return null;
    }
    point(event) {
      say(this.tip, this.under(event.offsetX, event.offsetY)?.text ?? "");
    }
  };
  function short(context, text, room) {
    if (context.measureText(text).width <= room) return text;
    let cut = text;
    while (cut.length > 1 && context.measureText(`${cut}…`).width > room) cut = cut.slice(0, -1);
    return `${cut}…`;
  }

  // src/lists.ts
  function link(key, text, open) {
    const button = el("button", { type: "button", class: "link", "data-key": key }, text);
    button.addEventListener("click", open);
    return button;
  }
  function cause(failure) {
    switch (failure.cause) {
      case "exit":
        return `exit code ${failure.exit ?? "?"}`;
      case "signal":
        return `signal ${failure.exit ?? "?"}`;
      case "memory":
        return "it wanted more memory than it may take";
      case "time":
        return "it took longer than its limit";
      case "output":
        return "a declared file was not made";
      case "start":
        return "it could not be started";
      case "lost":
        return "its worker was lost";
      default:
        return failure.cause ?? "";
    }
  }
  function section(id, head, ...children) {
    return el("section", { "aria-labelledby": id }, el("h2", { id }, head), ...children);
  }
  var Failures = class {
    constructor(model, open, retry) {
      this.model = model;
      const columns = [
        { head: "Task", cell: (f) => link(`${f.task}#${f.attempt}`, f.task, () => open(f.task)) },
        { head: "What happened", cell: (f) => cause(f) },
        { head: "Attempt", number: true, cell: (f) => count(f.attempt) },
        { head: "Worker", cell: (f) => f.worker },
        { head: "When", cell: (f) => clock(f.at) },
        { head: "Now", cell: (f) => f.for_good ? "given up" : "is tried again" }
      ];
      if (retry) {
        const button = (f) => {
          if (!f.for_good) return null;
          const made = el("button", { type: "button", "data-key": `retry ${f.task}`, "aria-label": `Retry ${f.task}` }, "Retry");
          made.addEventListener("click", () => retry(f.task));
          return made;
        };
        columns.push({ head: "Steer", cell: button });
      }
      this.rows = new Rows("Failed attempts, those that were given up first", columns);
      this.element = section("failures", "Failures", el("div", { class: "scroll" }, this.rows.table), this.more);
      this.element.classList.add("failures");
      this.element.hidden = true;
    }
    model;
    element;
    rows;
    more = el("p", { class: "muted" });
    show() {
      const last = this.model().last;
      const failures = last?.failures ?? [];
      this.element.hidden = failures.length === 0;
      const shown = failures.slice(0, 50);
      this.rows.show(shown, JSON.stringify(shown.map((f) => [f.id, f.attempt, f.for_good])));
      const rest = (last?.failures_in_all ?? failures.length) - shown.length;
      say(this.more, rest > 0 ? `and ${counted(rest, "earlier failure")}: cairn export tells of all` : "");
    }
  };
  var Workers = class {
    constructor(model, open) {
      this.model = model;
      const idle = (w) => w.nothing_eligible + w.resources + w.server + w.paused;
      const why = (w) => {
        const parts = [
          [w.nothing_eligible, "nothing eligible"],
          [w.resources, "nothing fits"],
          [w.server, "server"],
          [w.paused, "paused"]
        ];
        const most = parts.sort((a, b) => b[0] - a[0])[0];
        return most && most[0] > 0.05 ? `mostly ${most[1]}` : "";
      };
      this.rows = new Rows("Workers: who is here, and who was", [
        { head: "Worker", cell: (w) => link(`worker ${w.name}`, w.name, () => open(w.name)) },
        { head: "State", cell: (w) => el("span", { class: `state ${w.state}` }, w.state) },
        { head: "Last seen", number: true, cell: (w) => this.seen(w) },
        { head: "Running", number: true, cell: (w) => `${count(w.leased)} of ${count(w.cpus)}` },
        { head: "Executed", number: true, cell: (w) => count(w.executed) },
        { head: "Failed", number: true, cell: (w) => count(w.failed) },
        { head: "Losses", number: true, cell: (w) => count(w.lost) },
        { head: "Speed", number: true, cell: (w) => speed(w.speed) },
        { head: "Turnaround", number: true, cell: (w) => w.turnaround == null ? "–" : span(w.turnaround) },
        { head: "Reliability", number: true, cell: (w) => w.reliability == null ? "–" : percent(w.reliability, 1) },
        { head: "Trust", cell: (w) => trust(w.volunteer, w.trust) },
        { head: "At work", number: true, cell: (w) => percent(w.busy, w.busy + idle(w)) },
        { head: "Idle", cell: (w) => `${span(idle(w))} ${why(w)}` }
      ]);
      this.element = section("workers", "Workers", el("div", { class: "scroll" }, this.rows.table), this.more);
    }
    model;
    element;
    rows;
    more = el("p", { class: "muted" });
    seen(w) {
      const now = this.model().last?.now ?? 0;
      if (w.last_seen === null || w.last_seen === 0) return "–";
      const age = now - w.last_seen;
      return age < 1.5 ? "now" : `${span(Math.round(age))} ago`;
    }
    show() {
      const last = this.model().last;
      const workers = last?.workers ?? [];
      this.element.hidden = workers.length === 0;
      const shown = workers.slice(0, 100);
      const learnt = (w) => [speed(w.speed), w.turnaround && span(w.turnaround), w.reliability && percent(w.reliability, 1), w.trust];
      const key = shown.map((w) => [w.worker, w.state, this.seen(w), w.leased, w.executed, w.failed, w.lost, Math.round(w.busy), learnt(w)]);
      this.rows.show(shown, JSON.stringify(key));
      const rest = (last?.workers_in_all ?? workers.length) - shown.length;
      say(this.more, rest > 0 ? `and ${counted(rest, "more worker", "more workers")}` : "");
    }
  };
  var Slowest = class {
    constructor(model, open) {
      this.model = model;
      this.slow = new Rows("Slowest tasks", [
        { head: "Task", cell: (s) => link(`slow ${s.task}`, s.task, () => open(s.task)) },
        { head: "Took", number: true, cell: (s) => span(s.seconds) },
        { head: "", cell: (s) => s.running ? "still running" : "" }
      ]);
      this.path = new Rows("The path that decided the time", [
        { head: "Task", cell: (s) => link(`path ${s.task}`, s.task, () => open(s.task)) },
        { head: "Eligible before", number: true, cell: (s) => span(s.waited) },
        { head: "Took", number: true, cell: (s) => span(s.seconds) }
      ]);
      this.pathBox.append(this.path.table, this.sum);
      this.slowBox.append(this.slow.table);
      this.element = section("slow", "What takes the time", el("div", { class: "pair" }, this.pathBox, this.slowBox));
    }
    model;
    element;
    slow;
    path;
    sum = el("p", { class: "muted" });
    pathBox = el("div", { class: "scroll" });
    slowBox = el("div", { class: "scroll" });
    show() {
      const last = this.model().last;
      const [slow, path] = [last?.slowest ?? [], last?.path ?? []];
      this.element.hidden = slow.length === 0 && path.length === 0;
      this.slowBox.hidden = slow.length === 0;
      this.pathBox.hidden = path.length === 0;
      this.slow.show(slow, JSON.stringify(slow));
      const shown = path.length > 40 ? path.slice(-40) : path;
      this.path.show(shown, JSON.stringify(shown));
      const waited = path.reduce((sum, s) => sum + s.waited, 0);
      const took = path.reduce((sum, s) => sum + s.seconds, 0);
      const cut = path.length > shown.length ? `The last ${shown.length} of ${counted(path.length, "task")}. ` : "";
      say(this.sum, `${cut}Each began after the one above it: ${span(took)} of work and ${span(waited)} of waiting to be begun.`);
    }
  };

  // src/inspect.ts
  var Inspect = class {
    constructor(model, api) {
      this.model = model;
      this.api = api;
      this.attempts = new Rows("Attempts", [
        { head: "Attempt", number: true, cell: (a) => String(a.attempt) },
        { head: "Worker", cell: (a) => a.worker },
        { head: "Began", cell: (a) => clock(a.begin) },
        { head: "Took", number: true, cell: (a) => span((a.end ?? Date.now() / 1e3) - a.begin) },
        { head: "Outcome", cell: (a) => a.cause ? `${a.outcome}: ${cause(a)}` : a.outcome }
      ]);
      this.attemptsBox = el("div", { class: "scroll" }, this.attempts.table);
      const button = (text, what) => {
        const made = el("button", { type: "button" }, text);
        made.addEventListener("click", () => void this.change(what, this.name));
        return made;
      };
      this.steer = el(
        "div",
        { class: "tools steer" },
        el("label", { for: "admin" }, "Admin token, if yours is not"),
        this.admin,
        button("Retry", "retry"),
        button("Cancel", "cancel"),
        this.result
      );
      const close = el("button", { type: "button" }, "Close");
      close.addEventListener("click", () => {
        this.name = "";
        this.panel.hidden = true;
        this.input.focus();
      });
      this.panel = el(
        "div",
        { class: "panel" },
        el("div", { class: "top" }, this.head, close),
        this.answer,
        this.reasons,
        this.command,
        this.attemptsBox,
        this.logHead,
        this.log,
        this.steer
      );
      this.panel.hidden = true;
      this.input.addEventListener("input", () => this.list());
      const form = el("form", { class: "tools", role: "search" }, el("label", { for: "find" }, "Why is this not running?"), this.input, el("button", {}, "Ask"));
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        const name = this.input.value.trim();
        if (name !== "") void this.open(name);
      });
      this.element = el("section", { "aria-labelledby": "ask" }, el("h2", { id: "ask" }, "Ask about a task or a worker"), form, this.found, this.panel);
    }
    model;
    api;
    element;
    input = el("input", { type: "search", id: "find", autocomplete: "off", spellcheck: "false", placeholder: "name of a task or worker" });
    found = el("ul", { class: "found" });
    head = el("h3", { tabindex: "-1" });
    answer = el("p", { class: "answer", "aria-live": "polite" });
    reasons = el("ul", { class: "reasons" });
    command = el("p", { class: "command" });
    attempts;
    attemptsBox;
    log = el("pre", { tabindex: "0", role: "region", "aria-label": "The end of what it printed" });
    logHead = el("h4", {}, "The end of what it printed");
    result = el("p", { "aria-live": "polite" });
    steer;
    admin = el("input", { type: "password", id: "admin", autocomplete: "off" });
    panel;
    name = "";
    isWorker = false;
    list() {
      const { names, last } = this.model();
      const workers = last?.workers?.map((w) => w.name) ?? [];
      const hits = [...find(workers, this.input.value, 3), ...find(names ?? [], this.input.value, 8)];
      this.found.replaceChildren(
        ...hits.map((name) => {
          const button = el("button", { type: "button" }, name);
          button.addEventListener("click", () => void this.open(name));
          return el("li", {}, button);
        })
      );
    }
    /** Finds the tasks of a box by its label: people go on from there. */
    look(label) {
      this.input.value = label.replace(/ × .*$/s, "").replace(/\n.*$/s, "");
      this.list();
      this.input.focus();
    }
    async open(name) {
      this.name = name;
      this.found.replaceChildren();
      this.input.value = name;
      this.panel.hidden = false;
      say(this.head, name);
      say(this.answer, "…");
      say(this.result, "");
      await this.refresh();
      this.head.focus();
      this.panel.scrollIntoView({ block: "nearest" });
    }
    /** Asks again; what is shown may have changed. */
    async refresh() {
      const name = this.name;
      if (name === "" || this.panel.hidden) return;
      try {
        const why = await this.api.why(name);
        if (this.name !== name) return;
        this.isWorker = why.worker !== void 0;
        this.showWhy(why);
        await this.details(name);
      } catch (error) {
        say(this.answer, error instanceof Refused ? `${error.message}. ${error.cure}` : "the server does not answer");
        this.reasons.replaceChildren();
        for (const part of [this.attemptsBox, this.log, this.logHead, this.steer, this.command]) part.hidden = true;
      }
    }
    showWhy(why) {
      say(this.head, `${why.worker ?? why.task ?? this.name}: ${WORDS[why.state] ?? why.state}`);
      say(this.answer, why.answer);
      const key = JSON.stringify(why.reasons);
      if (this.reasons.dataset["key"] === key) return;
      this.reasons.dataset["key"] = key;
      this.reasons.replaceChildren(
        ...why.reasons.map((reason) => {
          const links = (reason.tasks ?? []).map((task) => {
            const button = el("button", { type: "button", class: "link" }, task);
            button.addEventListener("click", () => void this.open(task));
            return button;
          });
          const parts = links.flatMap((l, i) => i === 0 ? [": ", l] : [", ", l]);
          return el("li", {}, reason.text, ...parts);
        })
      );
    }
    async details(name) {
      for (const part of [this.attemptsBox, this.steer, this.command]) part.hidden = this.isWorker;
      if (this.isWorker) {
        this.log.hidden = this.logHead.hidden = true;
        return;
      }
      const [task, attempts] = await Promise.all([this.api.task(name), this.api.attempts(name)]);
      const log = attempts.length > 0 ? await this.api.log(name).catch(() => "") : "";
      if (this.name !== name) return;
      say(this.command, task.run ? `Runs: ${task.run}` : "");
      this.attemptsBox.hidden = attempts.length === 0;
      this.attempts.show(attempts, JSON.stringify(attempts) + (attempts.some((a) => a.end === null) ? Math.round(Date.now() / 1e3) : ""));
      this.log.hidden = this.logHead.hidden = attempts.length === 0;
      say(this.log, log === "" ? "(nothing)" : log);
      const buttons = this.steer.querySelectorAll("button");
      const over = task.state === "failed" || task.state === "cancelled";
      if (buttons[0]) buttons[0].hidden = !over;
      if (buttons[1]) buttons[1].hidden = over || task.state === "executed" || task.state === "aborted";
      this.steer.hidden = [...buttons].every((b) => b.hidden);
    }
    /** Steers that task, whatever is looked at meanwhile; the answer is told where it still belongs. */
    async change(what, name) {
      const token2 = this.admin.value.trim() || this.api.token;
      try {
        const refused = await this.api.steer(what, name, token2);
        if (this.name !== name) return;
        say(this.result, refused === "" ? "Done." : `Not done: ${refused}.`);
        await this.refresh();
      } catch (error) {
        if (this.name !== name) return;
        const isScope = error instanceof Refused && (error.status === 403 || error.status === 401);
        say(this.result, isScope ? "That needs the admin's token: the file 'admin' in the tokens folder." : error instanceof Refused ? `${error.message}. ${error.cure}` : "the server does not answer");
        if (isScope) this.admin.focus();
      }
    }
    /** From the list of failures. */
    async retry(name) {
      await this.open(name);
      await this.change("retry", name);
    }
  };

  // src/map.ts
  var SVG = "http://www.w3.org/2000/svg";
  var ORDER = [3, 2, 1, 4, 5, 6, 0];
  var MapView = class {
    constructor(model, open) {
      this.model = model;
      this.open = open;
      const state = (i) => ({ head: WORDS[STATES[i] ?? "waiting"], number: true, cell: (r) => count(r.counts[i] ?? 0) });
      const box = (r) => {
        const button = el("button", { type: "button", class: "link", "data-key": `box ${r.box}` }, r.label);
        button.addEventListener("click", () => this.choose(r.box));
        return button;
      };
      this.rows = new Rows("The boxes of the dag, with tasks by state", [{ head: "Box", cell: box }, ...[3, 2, 1, 0, 4, 5, 6].map(state)]);
      this.details = el("details", {}, el("summary", {}, "The same as a table"), el("div", { class: "scroll" }, this.rows.table));
      this.details.addEventListener("toggle", () => this.table());
      const keys = STATES.map((s) => el("span", { class: `key ${s}` }, WORDS[s]));
      const zoom = el("button", { type: "button", "aria-pressed": "false" }, "Full size");
      zoom.addEventListener("click", () => zoom.setAttribute("aria-pressed", String(this.frame.classList.toggle("full"))));
      this.element = el(
        "section",
        { "aria-labelledby": "dag" },
        el("h2", { id: "dag" }, "The dag"),
        el("div", { class: "tools" }, zoom, el("p", { class: "keys" }, ...keys)),
        this.frame,
        this.details
      );
      this.element.hidden = true;
    }
    model;
    open;
    element;
    frame = el("div", { class: "frame", tabindex: "0", role: "group", "aria-label": "The dag: scroll with the arrow keys" });
    rows;
    details;
    boxes = [];
    labels = [];
    drawn = null;
    show(changed) {
      const map = this.model().scene?.map ?? null;
      let all = changed;
      if (map !== this.drawn) {
        this.draw(map);
        all = this.boxes.keys();
      }
      for (const i of all) this.colour(i);
      this.table();
    }
    draw(map) {
      this.drawn = map;
      this.boxes = [];
      this.labels = [];
      this.element.hidden = map === null;
      if (!map) return this.frame.replaceChildren();
      const parsed = new DOMParser().parseFromString(map.svg, "image/svg+xml").documentElement;
      const svg = document.importNode(parsed, true);
      svg.removeAttribute("tabindex");
      this.frame.replaceChildren(svg);
      for (const part of [...svg.children]) if (!part.matches(".arcs, .heads, .node")) part.remove();
      for (const node of svg.querySelectorAll("[data-n]")) {
        const i = Number(node.getAttribute("data-n"));
        const outer = [...node.querySelectorAll("rect")].filter((r) => r.getAttribute("rx"));
        const area = (r) => Number(r.getAttribute("width")) * Number(r.getAttribute("height"));
        const rect = outer.reduceRight((best, r) => best && area(best) >= area(r) ? best : r, void 0);
        if (!rect) continue;
        const of = (name) => Number(rect.getAttribute(name));
        const place = { x: of("x"), y: of("y"), width: of("width"), height: of("height") };
        for (const r of node.querySelectorAll("rect")) if (!outer.includes(r)) r.remove();
        for (const r of outer) {
          r.removeAttribute("fill");
          r.removeAttribute("stroke");
          r.classList.add("box");
        }
        for (const t of node.querySelectorAll("text")) t.removeAttribute("fill");
        const label = node.querySelector("title")?.textContent?.split("\n")[0] ?? "";
        this.labels[i] = label;
        const bars = ORDER.map((state) => {
          const bar = document.createElementNS(SVG, "rect");
          bar.setAttribute("class", `bar ${STATES[state] ?? ""}`);
          rect.after(bar);
          return bar;
        });
        this.boxes[i] = { bars, place, shown: "", node };
        node.addEventListener("click", () => this.choose(i));
      }
      const all = svg.getBBox();
      if (all.width > 0) {
        const [wide, high] = [all.width + 16, all.height + 16];
        svg.setAttribute("viewBox", `${all.x - 8} ${all.y - 8} ${wide} ${high}`);
        svg.setAttribute("width", String(Math.round(wide)));
        svg.setAttribute("height", String(Math.round(high)));
      }
    }
    choose(i) {
      const map = this.drawn;
      this.open(this.labels[i] ?? "", map?.sizes[i] === 1 ? map.first[i] ?? null : null);
    }
    colour(i) {
      const [box, counts, map] = [this.boxes[i], this.model().boxes[i], this.drawn];
      if (!box || !counts || !map) return;
      const key = counts.join();
      if (box.shown === key) return;
      box.shown = key;
      const { x, y, width, height } = box.place;
      const whole = map.sizes[i] ?? 1;
      const thick = height - 3;
      let [from, drawn] = [x + 1.5, 0];
      const room = width - 3;
      ORDER.forEach((state2, k) => {
        const bar = box.bars[k];
        const part = counts[state2] ?? 0;
        const wide = part === 0 ? 0 : Math.max(2.5, part / whole * room);
        const shown = Math.max(0, Math.min(wide, x + 1.5 + room - from));
        bar.setAttribute("x", from.toFixed(1));
        bar.setAttribute("y", (y + 1.5).toFixed(1));
        bar.setAttribute("width", shown.toFixed(1));
        bar.setAttribute("height", thick.toFixed(1));
        from += shown;
        drawn += part;
      });
      const state = drawn === (counts[3] ?? 0) && drawn > 0 ? "done" : (counts[4] ?? 0) > 0 ? "broken" : (counts[2] ?? 0) > 0 ? "busy" : (counts[1] ?? 0) > 0 ? "open" : "";
      box.node.setAttribute("data-state", state);
      const old = box.node.querySelector("title");
      const title = old ?? document.createElementNS(SVG, "title");
      if (!old) box.node.prepend(title);
      const words2 = STATES.map((s, k) => [counts[k] ?? 0, WORDS[s]]).filter(([n]) => n > 0);
      title.textContent = `${this.labels[i] ?? ""}
${words2.map(([n, word]) => `${count(n)} ${word}`).join(", ")}`;
    }
    table() {
      const map = this.drawn;
      if (!map || !this.details.open) return;
      const rows = this.labels.map((label, box) => ({ box, label, counts: this.model().boxes[box] ?? [] }));
      this.rows.show(rows, rows.map((r) => r.counts.join()).join(";"));
    }
  };

  // src/overview.ts
  function storageWords(room) {
    const most = room.peak === void 0 || room.peak === null ? "" : `; at most ${bytes(room.peak)} so far`;
    return `Storage: ${bytes(room.used)} in use and ${bytes(room.reserved)} kept for running tasks, of ${bytes(room.cap)} that are never passed${most}.`;
  }
  var ORDER2 = [3, 2, 1, 4, 5, 6, 0];
  var Overview = class {
    constructor(model) {
      this.model = model;
      for (const state of ORDER2) this.bar.append(el("div", { class: STATES[state] ?? "" }));
      for (const state of ORDER2) this.counts.append(el("li", { class: `key ${STATES[state] ?? ""}` }));
      this.storage.hidden = true;
      this.element = el(
        "header",
        {},
        el("div", { class: "top" }, this.title, this.badge),
        this.bar,
        this.facts,
        this.counts,
        this.storage,
        this.loud
      );
    }
    model;
    element;
    title = el("h1", {}, "Cairn");
    badge = el("span", { class: "badge", role: "status" });
    bar = el("div", { class: "progress", role: "progressbar", "aria-label": "Executed tasks", "aria-valuemin": "0" });
    facts = el("p", { class: "facts" });
    counts = el("ul", { class: "counts", "aria-label": "Tasks by state" });
    room = el("div", { class: "stack room", role: "meter", "aria-label": "Storage", "aria-valuemin": "0" }, el("div", { class: "used" }), el("div", { class: "reserved" }), el("div", { class: "free" }));
    roomWords = el("p", {});
    storage = el("div", { class: "storage" }, this.room, this.roomWords);
    loud = el("p", { class: "hidden", "aria-live": "polite", "aria-atomic": "true" });
    spoken = { at: 0, failed: 0, finished: false };
    show() {
      const { scene, last } = this.model();
      if (scene) {
        say(this.title, scene.title);
        document.title = scene.title;
      }
      if (!last) return;
      const of = (i) => last.counts[i] ?? 0;
      const all = scene?.tasks ?? last.counts.reduce((sum, n) => sum + (n ?? 0), 0);
      ORDER2.forEach((state, i) => {
        const part = this.bar.children[i];
        part.style.flexGrow = String(all > 0 ? of(state) / all : 0);
        part.hidden = of(state) === 0;
        say(this.counts.children[i], `${count(of(state))} ${WORDS[STATES[state] ?? "waiting"]}`);
        this.counts.children[i].hidden = of(state) === 0 && state > 3;
      });
      this.bar.setAttribute("aria-valuemax", String(all));
      this.bar.setAttribute("aria-valuenow", String(of(3)));
      this.bar.setAttribute("aria-valuetext", `${count(of(3))} of ${counted(all, "task")}`);
      const took = last.began === null ? null : last.now - last.began;
      const facts = [`${percent(of(3), all)} of ${counted(all, "task")}`];
      if (last.rate !== null && last.rate > 0 && !last.finished) facts.push(rate(last.rate));
      if (last.eta_seconds !== null && !last.finished) facts.push(`about ${span(last.eta_seconds)} left`);
      if (took !== null) facts.push(last.finished ? `took ${span(took)}` : `running for ${span(took)}`);
      if (last.paused) facts.push("paused");
      if (last.halted !== void 0) facts.push(`halted by a task, exit ${last.halted}`);
      say(this.facts, facts.join(" · "));
      document.title = `${percent(of(3), all)} ${scene?.title ?? "Cairn"}${of(4) > 0 ? ` (${count(of(4))} failed)` : ""}`;
      this.storage.hidden = !last.storage;
      if (last.storage) this.stored(last.storage);
      this.speak(of(3), all, of(4), last.finished);
    }
    stored(room) {
      const cap = Math.max(1, room.cap);
      [room.used, room.reserved, Math.max(0, cap - room.used - room.reserved)].forEach((bytes2, i) => {
        const part = this.room.children[i];
        part.style.flexGrow = String(bytes2 / cap);
        part.hidden = bytes2 === 0;
      });
      const text = storageWords(room);
      say(this.roomWords, text);
      this.room.setAttribute("aria-valuemax", String(room.cap));
      this.room.setAttribute("aria-valuenow", String(room.used + room.reserved));
      this.room.setAttribute("aria-valuetext", text);
    }
    /** Read out seldom, and at once when something fails or all is over. */
    speak(executed, all, failed, finished) {
      const news = failed > this.spoken.failed || finished !== this.spoken.finished;
      if (!news && performance.now() - this.spoken.at < 3e4) return;
      this.spoken = { at: performance.now(), failed, finished };
      const fails = failed > 0 ? `, ${counted(failed, "task")} failed` : "";
      say(this.loud, `${finished ? "The run is over: " : ""}${count(executed)} of ${counted(all, "task")} executed${fails}.`);
    }
    fresh(link2, age) {
      const words2 = {
        live: "live",
        late: `no news for ${span(age)}`,
        away: "the server is away: trying again",
        ended: "the run is over",
        report: "saved report"
      };
      say(this.badge, words2[link2]);
      this.badge.className = `badge ${link2}`;
    }
  };

  // src/saved.ts
  function logs(failures) {
    const kept = failures.filter((f) => f.log !== void 0 && f.log !== "");
    if (kept.length === 0) return null;
    const each = kept.map((f) => el("details", {}, el("summary", {}, `${f.task}: ${cause(f)}`), el("pre", { tabindex: "0" }, f.log ?? "")));
    return el("section", { "aria-labelledby": "logs" }, el("h2", { id: "logs" }, "What failed tasks printed"), ...each);
  }

  // src/main.ts
  var MOST_NAMES = 2e5;
  var KEPT = "cairn-token";
  var measured = { updates: 0, first: 0, took: [] };
  window.cairn = measured;
  var Page = class {
    model = empty();
    api;
    overview = new Overview(() => this.model);
    curve = new Curve(() => this.model);
    gantt;
    map;
    failures;
    workers;
    slowest;
    inspect = null;
    changed = /* @__PURE__ */ new Set();
    isDue = false;
    /** Reading updates that are not yet drawn, in milliseconds. */
    spent = 0;
    heard = performance.now();
    link = "live";
    constructor(token2) {
      this.api = token2 === null ? null : new Api(token2);
      if (this.api) this.inspect = new Inspect(() => this.model, this.api);
      const open = (name) => void this.inspect?.open(name);
      this.gantt = new Gantt(() => this.model, (task) => open(nameOf(this.model, task)));
      this.map = new MapView(
        () => this.model,
        (label, task) => task === null ? this.inspect?.look(label) : open(nameOf(this.model, task))
      );
      this.failures = new Failures(() => this.model, open, this.inspect ? (task) => void this.inspect?.retry(task) : null);
      this.workers = new Workers(() => this.model, open);
      this.slowest = new Slowest(() => this.model, open);
      const main = el(
        "main",
        { id: "main" },
        this.failures.element,
        this.curve.element,
        this.map.element,
        ...this.inspect ? [this.inspect.element] : [],
        this.gantt.element,
        this.workers.element,
        this.slowest.element
      );
      document.body.replaceChildren(el("a", { href: "#main", class: "skip" }, "Skip to the run"), this.overview.element, main, this.footer());
      setInterval(() => this.tick(), 1e3);
    }
    footer() {
      const parts = [];
      if (this.api) {
        const api = this.api;
        const note = el("span", { role: "status" });
        const save = el("button", { type: "button" }, "Save a report");
        save.addEventListener("click", () => {
          say(note, "…");
          api.report().then(
            (blob) => {
              const a = el("a", { href: URL.createObjectURL(blob), download: "cairn-report.html" });
              a.click();
              setTimeout(() => URL.revokeObjectURL(a.href), 1e4);
              say(note, "saved");
            },
            (error) => say(note, error instanceof Refused ? `${error.message}. ${error.cure}` : "the server does not answer")
          );
        });
        const forget = el("button", { type: "button" }, "Forget the token");
        forget.addEventListener("click", () => {
          sessionStorage.removeItem(KEPT);
          location.reload();
        });
        parts.push(save, forget, note);
      }
      return el("footer", { class: "tools" }, ...parts, el("span", { class: "muted" }, "Cairn"));
    }
    async follow() {
      if (!this.api) return;
      const api = this.api;
      let pause = 500;
      for (; ; ) {
        try {
          await read("/api/v1/events", api.token, (m) => {
            pause = 500;
            this.take(m.event, m.data);
          }, new AbortController().signal);
        } catch (error) {
          if (error instanceof Refused && (error.status === 401 || error.status === 403)) {
            sessionStorage.removeItem(KEPT);
            return askToken(`${error.message}. ${error.cure}.`);
          }
        }
        this.link = this.model.last?.finished ? "ended" : "away";
        this.tick();
        await new Promise((done) => setTimeout(done, pause));
        pause = Math.min(1e4, pause * 2);
      }
    }
    take(event, data) {
      const begin = performance.now();
      this.heard = begin;
      this.link = "live";
      switch (event) {
        case "scene":
          this.begin(JSON.parse(data));
          break;
        case "plan":
          this.model.plan = JSON.parse(data);
          break;
        case "full": {
          const update = JSON.parse(data);
          take(this.model, update);
          update.boxes.forEach(([box]) => box !== void 0 && this.changed.add(box));
          break;
        }
        case "delta": {
          const update = JSON.parse(data);
          add(this.model, update);
          update.boxes.forEach(([box]) => box !== void 0 && this.changed.add(box));
          break;
        }
      }
      if (this.model.last?.finished) this.link = "ended";
      this.spent += performance.now() - begin;
      this.due();
    }
    /** A stream begins: the same run as before, or another. */
    begin(scene) {
      const before = this.model.scene;
      if (before && (before.title !== scene.title || before.tasks !== scene.tasks)) this.model.names = null;
      this.model.scene = scene;
      void this.fetchNames();
    }
    async fetchNames() {
      const tasks = this.model.scene?.tasks ?? null;
      if (!this.api || this.model.names || tasks === null || tasks > MOST_NAMES) return;
      await new Promise((done) => setTimeout(done, 300));
      this.model.names = await this.api.names().catch(() => null);
    }
    due() {
      if (this.isDue) return;
      this.isDue = true;
      requestAnimationFrame(() => {
        this.isDue = false;
        const begin = performance.now();
        this.show();
        measured.updates += 1;
        measured.took.push(this.spent + performance.now() - begin);
        if (measured.took.length > 1e3) measured.took.shift();
        this.spent = 0;
        if (measured.first === 0 && this.model.last) measured.first = performance.now();
      });
    }
    show() {
      this.overview.show();
      this.failures.show();
      this.curve.show();
      this.map.show(this.changed);
      this.changed.clear();
      this.gantt.show();
      this.workers.show();
      this.slowest.show();
      this.tick();
    }
    asked = 0;
    tick() {
      const age = (performance.now() - this.heard) / 1e3;
      const link2 = this.link === "live" && age > 5 ? "late" : this.link;
      this.overview.fresh(link2, age);
      if (performance.now() - this.asked > 1900) {
        this.asked = performance.now();
        void this.inspect?.refresh();
      }
    }
    showReport(saved) {
      this.link = "report";
      this.model = ofReport(saved);
      const kept = logs(saved.update.failures ?? []);
      if (kept) this.failures.element.after(kept);
      this.model.boxes.forEach((_, i) => this.changed.add(i));
      this.show();
      measured.first = performance.now();
    }
  };
  function tokenOfAddress() {
    const found = new URLSearchParams(location.hash.slice(1)).get("token");
    if (found) {
      history.replaceState(null, "", location.pathname);
      sessionStorage.setItem(KEPT, found);
    }
    return found ?? sessionStorage.getItem(KEPT);
  }
  function askToken(why) {
    const input = el("input", { type: "password", id: "token", autocomplete: "off", required: "", spellcheck: "false" });
    const form = el(
      "form",
      { class: "ask" },
      el("h1", {}, "Cairn"),
      el("p", {}, "This server hands out the tasks of a workflow. To watch it, show a token: the content of the file ", el("code", {}, "observer"), " in the tokens folder of its state."),
      why !== "" && el("p", { role: "alert", class: "wrong" }, why),
      el("label", { for: "token" }, "Token"),
      input,
      el("button", {}, "Watch"),
      el("p", { class: "muted" }, "It stays in this tab. An address that ends in #token=… works too.")
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const token2 = input.value.trim();
      if (token2 === "") return;
      sessionStorage.setItem(KEPT, token2);
      void new Page(token2).follow();
    });
    document.body.replaceChildren(el("main", {}, form));
    input.focus();
  }
  var embedded = document.getElementById("cairn-report");
  var token = embedded ? null : tokenOfAddress();
  if (embedded) new Page(null).showReport(JSON.parse(embedded.textContent ?? ""));
  else if (token) void new Page(token).follow();
  else askToken("");
  addEventListener("hashchange", () => {
    if (new URLSearchParams(location.hash.slice(1)).has("token")) location.reload();
  });
})();
