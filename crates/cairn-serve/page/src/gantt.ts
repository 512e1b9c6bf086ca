// Worker lanes over time, and why processors were idle, drawn. Knows no network.

import { scale, timeMarks } from "./axis";
import { OUTCOMES, type Idle } from "./contract";
import { Picture, el, say, theme } from "./dom";
import { count, counted, percent, span, tick } from "./format";
import { type Lane, lanes } from "./lanes";
import { type Model, nameOf } from "./model";

/** More lanes than these are not drawn. */
const MOST_LANES = 40;
const WINDOWS: [string, number][] = [
  ["last minute", 60],
  ["last 10 minutes", 600],
  ["whole run", Infinity],
];

export const IDLE: [keyof Idle, string][] = [
  ["busy", "at work"],
  ["nothing_eligible", "nothing eligible"],
  ["resources", "nothing fits"],
  ["server", "server and network"],
  ["paused", "paused"],
];

export class Gantt {
  readonly element: HTMLElement;
  private readonly picture: Picture;
  private readonly summary = el("p", { class: "muted" });
  private readonly bar = el("div", { class: "stack", "aria-hidden": "true" });
  private readonly legend = el("ul", { class: "legend" });
  private readonly tip = el("p", { class: "tip", "aria-live": "polite" });
  private window = Infinity;
  private lanes: Lane[] = [];
  private rows = 0;
  private begin = 0;
  private end = 1;

  constructor(
    private readonly model: () => Model,
    private readonly open: (task: number) => void,
  ) {
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
      this.tip,
    );
  }

  show(): void {
    const model = this.model();
    const last = model.last;
    if (!last) return;
    this.idle(last.idle);
    this.end = last.finished ? Math.max(last.began ?? 0, ...model.spans.slice(-200).map((s) => s[3])) : last.now;
    const first = Math.min(model.spans[0]?.[2] ?? this.end, last.running[0]?.[2] ?? this.end, last.began ?? this.end);
    this.begin = Math.max(model.dropped > 0 ? (model.spans[0]?.[2] ?? first) : first, this.end - this.window);
    const all = lanes(model.spans, last.running, this.begin);
    this.lanes = all.slice(0, MOST_LANES);
    this.rows = this.lanes.reduce((sum, lane) => sum + lane.rows, 0);
    const more = all.length - this.lanes.length;
    const text =
      `${counted(all.length, "worker")} in ${span(this.end - this.begin)}.` +
      (more > 0 ? ` The first ${MOST_LANES} are drawn.` : "") +
      (model.dropped > 0 ? ` Only the latest ${count(model.spans.length)} attempts are drawn.` : "");
    if (this.summary.textContent !== text) {
      this.summary.textContent = text;
      this.picture.canvas.setAttribute("aria-label", `Worker lanes. ${text} The tables below have the same in words.`);
    }
    this.picture.due();
  }

  private idle(idle: Idle): void {
    const all = IDLE.reduce((sum, [field]) => sum + idle[field], 0);
    const shown = IDLE.filter(([field]) => field === "busy" || idle[field] > 0.001 * all || idle[field] > 0.05);
    const key = shown.map(([field]) => field).join();
    if (this.bar.dataset["key"] !== key) {
      this.bar.dataset["key"] = key;
      this.bar.replaceChildren(...shown.map(([field]) => el("div", { class: `idle-${field}` })));
      this.legend.replaceChildren(...shown.map(([field]) => el("li", { class: `key idle-${field}` })));
    }
    shown.forEach(([field, word], i) => {
      const part = this.bar.children[i] as HTMLElement;
      part.style.flexGrow = String(all > 0 ? idle[field] / all : 0);
      say(this.legend.children[i] as Element, `${word} ${percent(idle[field], all)} (${span(idle[field])})`);
    });
  }

  private rowHeight(): number {
    return this.rows > 60 ? 6 : this.rows > 24 ? 10 : 14;
  }

  private left(): number {
    return 96;
  }

  private draw(context: CanvasRenderingContext2D, width: number): void {
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
      // Bars narrower than a pixel are drawn once a pixel.
      let [colour, row, until] = ["", -1, -1];
      for (const bar of lane.bars) {
        const from = Math.max(left, x(bar.begin));
        const to = Math.max(from + 0.8, x(bar.end ?? this.end) - 0.6);
        const fill = bar.end === null ? open : (fills[bar.outcome] ?? open);
        if (to < left || (fill === colour && row === bar.row && to <= until)) continue;
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

  private under(px: number, py: number): { task: number; text: string } | null {
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
        const how = bar.end === null ? "running" : (OUTCOMES[bar.outcome] ?? "");
        return { task: bar.task, text: `${nameOf(this.model(), bar.task)}: ${how}, ${span((bar.end ?? this.end) - bar.begin)}` };
      }
      y += tall + 4;
    }
    return null;
  }

  private point(event: PointerEvent): void {
    say(this.tip, this.under(event.offsetX, event.offsetY)?.text ?? "");
  }
}

function short(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  let cut = text;
  while (cut.length > 1 && context.measureText(`${cut}…`).width > room) cut = cut.slice(0, -1);
  return `${cut}…`;
}
