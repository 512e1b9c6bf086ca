// The curve of eligible tasks beside the plan's profile and the certified bound, drawn. Knows no network.

import { at, marks, scale, timeMarks } from "./axis";
import { Picture, el, theme } from "./dom";
import { count, counted, tick } from "./format";
import type { Model } from "./model";

type Pair = readonly [number, number];

/** Lines over one axis, by their name in the theme. */
export interface Lines {
  most: [number, number];
  bound: Pair[] | null;
  plan: Pair[];
  actual: Pair[];
  running: Pair[];
}

/** What is drawn: over the number of executed tasks, or over time. */
export function lines(model: Model, overTime: boolean): Lines {
  const curve = model.curve;
  const began = model.last?.began ?? curve[0]?.[1] ?? 0;
  const place = (s: readonly [number, number, number, number]) => (overTime ? s[1] - began : s[0]);
  const actual = curve.map((s) => [place(s), s[2]] as Pair);
  const running = curve.map((s) => [place(s), s[3]] as Pair);
  const profile = model.plan?.profile ?? [];
  const bound = model.plan?.bound ?? null;
  if (!overTime) {
    const far = model.scene?.tasks ?? curve.at(-1)?.[0] ?? 1;
    const plan = profile;
    return { most: [Math.max(1, far), top([plan, bound ?? [], actual])], bound, plan, actual, running };
  }
  const along = (of: readonly Pair[]) => curve.map((s) => [s[1] - began, at(of, s[0])] as Pair);
  const plan = profile.length > 0 ? along(profile) : [];
  const over = bound ? along(bound) : null;
  const now = model.last && !model.last.finished ? model.last.now - began : (actual.at(-1)?.[0] ?? 1);
  return { most: [Math.max(1e-3, now), top([plan, over ?? [], actual])], bound: over, plan, actual, running };
}

function top(all: (readonly Pair[])[]): number {
  let most = 1;
  for (const line of all) for (const [, value] of line) if (value > most) most = value;
  return most;
}

export class Curve {
  readonly element: HTMLElement;
  private readonly picture: Picture;
  private readonly summary = el("p", { class: "muted" });
  private overTime = false;

  constructor(private readonly model: () => Model) {
    this.picture = new Picture("Eligible tasks", () => 260, (c, w, h) => this.draw(c, w, h));
    const choice = (label: string, overTime: boolean) => {
      const input = el("input", { type: "radio", name: "axis" });
      input.checked = overTime === this.overTime;
      input.addEventListener("change", () => {
        this.overTime = overTime;
        this.picture.due();
      });
      return el("label", {}, input, label);
    };
    const key = (name: string, text: string) => el("span", { class: `key ${name}` }, text);
    this.element = el(
      "section",
      { "aria-labelledby": "eligible" },
      el("h2", { id: "eligible" }, "Eligible tasks"),
      el(
        "div",
        { class: "tools" },
        el("fieldset", {}, el("legend", { class: "hidden" }, "Horizontal axis"), choice("over executed tasks", false), choice("over time", true)),
        el("p", { class: "keys" }, key("actual", "this run"), key("running", "running"), key("plan", "plan"), key("bound", "certified bound")),
      ),
      this.picture.canvas,
      this.summary,
    );
  }

  show(): void {
    const text = words(this.model());
    if (this.summary.textContent !== text) {
      this.summary.textContent = text;
      this.picture.canvas.setAttribute("aria-label", `Eligible tasks. ${text}`);
    }
    this.picture.due();
  }

  private draw(context: CanvasRenderingContext2D, width: number, height: number): void {
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
    const line = (pairs: readonly Pair[], colour: string, thick: number, dash: number[] = []) => {
      if (pairs.length === 0) return;
      context.strokeStyle = colour;
      context.lineWidth = thick;
      context.setLineDash(dash);
      context.lineJoin = "round";
      context.beginPath();
      pairs.forEach(([px, py], i) => (i === 0 ? context.moveTo(x(px), y(py)) : context.lineTo(x(px), y(py))));
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
}

/** What the curve says, in a sentence. */
export function words(model: Model): string {
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
