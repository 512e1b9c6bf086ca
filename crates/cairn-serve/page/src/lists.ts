// Failures, workers, slow tasks and the path that decides: tables. Knows no network.

import type { Failure, Slow, Step, Worker } from "./contract";
import { type Column, Rows, el, say } from "./dom";
import { clock, count, counted, percent, span, speed, trust } from "./format";
import type { Model } from "./model";

function link(key: string, text: string, open: () => void): HTMLElement {
  const button = el("button", { type: "button", class: "link", "data-key": key }, text);
  button.addEventListener("click", open);
  return button;
}

export function cause(failure: { cause: string | null; exit: number | null }): string {
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

function section(id: string, head: string, ...children: Node[]): HTMLElement {
  return el("section", { "aria-labelledby": id }, el("h2", { id }, head), ...children);
}

/** What failed, newest first; the tasks that were given up before those that are tried again. */
export class Failures {
  readonly element: HTMLElement;
  private readonly rows: Rows<Failure>;
  private readonly more = el("p", { class: "muted" });

  constructor(
    private readonly model: () => Model,
    open: (task: string) => void,
    retry: ((task: string) => void) | null,
  ) {
    const columns: Column<Failure>[] = [
      { head: "Task", cell: (f) => link(`${f.task}#${f.attempt}`, f.task, () => open(f.task)) },
      { head: "What happened", cell: (f) => cause(f) },
      { head: "Attempt", number: true, cell: (f) => count(f.attempt) },
      { head: "Worker", cell: (f) => f.worker },
      { head: "When", cell: (f) => clock(f.at) },
      { head: "Now", cell: (f) => (f.for_good ? "given up" : "is tried again") },
    ];
    if (retry) {
      const button = (f: Failure) => {
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

  show(): void {
    const last = this.model().last;
    const failures = last?.failures ?? [];
    this.element.hidden = failures.length === 0;
    const shown = failures.slice(0, 50);
    this.rows.show(shown, JSON.stringify(shown.map((f) => [f.id, f.attempt, f.for_good])));
    const rest = (last?.failures_in_all ?? failures.length) - shown.length;
    say(this.more, rest > 0 ? `and ${counted(rest, "earlier failure")}: cairn export tells of all` : "");
  }
}

export class Workers {
  readonly element: HTMLElement;
  private readonly rows: Rows<Worker>;
  private readonly more = el("p", { class: "muted" });

  constructor(
    private readonly model: () => Model,
    open: (worker: string) => void,
  ) {
    const idle = (w: Worker) => w.nothing_eligible + w.resources + w.server + w.paused;
    const why = (w: Worker) => {
      const parts: [number, string][] = [
        [w.nothing_eligible, "nothing eligible"],
        [w.resources, "nothing fits"],
        [w.server, "server"],
        [w.paused, "paused"],
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
      { head: "Turnaround", number: true, cell: (w) => (w.turnaround == null ? "–" : span(w.turnaround)) },
      { head: "Reliability", number: true, cell: (w) => (w.reliability == null ? "–" : percent(w.reliability, 1)) },
      { head: "Trust", cell: (w) => trust(w.volunteer, w.trust) },
      { head: "At work", number: true, cell: (w) => percent(w.busy, w.busy + idle(w)) },
      { head: "Idle", cell: (w) => `${span(idle(w))} ${why(w)}` },
    ]);
    this.element = section("workers", "Workers", el("div", { class: "scroll" }, this.rows.table), this.more);
  }

  private seen(w: Worker): string {
    const now = this.model().last?.now ?? 0;
    if (w.last_seen === null || w.last_seen === 0) return "–";
    const age = now - w.last_seen;
    return age < 1.5 ? "now" : `${span(Math.round(age))} ago`;
  }

  show(): void {
    const last = this.model().last;
    const workers = last?.workers ?? [];
    this.element.hidden = workers.length === 0;
    const shown = workers.slice(0, 100);
    // Of times only what is shown counts as a change.
    const learnt = (w: Worker) => [speed(w.speed), w.turnaround && span(w.turnaround), w.reliability && percent(w.reliability, 1), w.trust];
    const key = shown.map((w) => [w.worker, w.state, this.seen(w), w.leased, w.executed, w.failed, w.lost, Math.round(w.busy), learnt(w)]);
    this.rows.show(shown, JSON.stringify(key));
    const rest = (last?.workers_in_all ?? workers.length) - shown.length;
    say(this.more, rest > 0 ? `and ${counted(rest, "more worker", "more workers")}` : "");
  }
}

export class Slowest {
  readonly element: HTMLElement;
  private readonly slow: Rows<Slow>;
  private readonly path: Rows<Step>;
  private readonly sum = el("p", { class: "muted" });
  private readonly pathBox = el("div", { class: "scroll" });
  private readonly slowBox = el("div", { class: "scroll" });

  constructor(
    private readonly model: () => Model,
    open: (task: string) => void,
  ) {
    this.slow = new Rows("Slowest tasks", [
      { head: "Task", cell: (s) => link(`slow ${s.task}`, s.task, () => open(s.task)) },
      { head: "Took", number: true, cell: (s) => span(s.seconds) },
      { head: "", cell: (s) => (s.running ? "still running" : "") },
    ]);
    this.path = new Rows("The path that decided the time", [
      { head: "Task", cell: (s) => link(`path ${s.task}`, s.task, () => open(s.task)) },
      { head: "Eligible before", number: true, cell: (s) => span(s.waited) },
      { head: "Took", number: true, cell: (s) => span(s.seconds) },
    ]);
    this.pathBox.append(this.path.table, this.sum);
    this.slowBox.append(this.slow.table);
    this.element = section("slow", "What takes the time", el("div", { class: "pair" }, this.pathBox, this.slowBox));
  }

  show(): void {
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
}
