// How far the run is: counts, progress, rate, time left, and how fresh that is. Knows no network.

import { STATES, type Storage, WORDS } from "./contract";
import { el, say } from "./dom";
import { bytes, count, counted, percent, rate, span } from "./format";
import type { Model } from "./model";

/** What is on the disk, against the cap. */
export function storageWords(room: Storage): string {
  const most = room.peak === undefined || room.peak === null ? "" : `; at most ${bytes(room.peak)} so far`;
  return `Storage: ${bytes(room.used)} in use and ${bytes(room.reserved)} kept for running tasks, of ${bytes(room.cap)} that are never passed${most}.`;
}

export type Link = "live" | "late" | "away" | "ended" | "report";

const ORDER = [3, 2, 1, 4, 5, 6, 0];

export class Overview {
  readonly element: HTMLElement;
  private readonly title = el("h1", {}, "Cairn");
  private readonly badge = el("span", { class: "badge", role: "status" });
  private readonly bar = el("div", { class: "progress", role: "progressbar", "aria-label": "Executed tasks", "aria-valuemin": "0" });
  private readonly facts = el("p", { class: "facts" });
  private readonly counts = el("ul", { class: "counts", "aria-label": "Tasks by state" });
  private readonly room = el("div", { class: "stack room", role: "meter", "aria-label": "Storage", "aria-valuemin": "0" }, el("div", { class: "used" }), el("div", { class: "reserved" }), el("div", { class: "free" }));
  private readonly roomWords = el("p", {});
  private readonly storage = el("div", { class: "storage" }, this.room, this.roomWords);
  private readonly loud = el("p", { class: "hidden", "aria-live": "polite", "aria-atomic": "true" });
  private spoken = { at: 0, failed: 0, finished: false };

  constructor(private readonly model: () => Model) {
    for (const state of ORDER) this.bar.append(el("div", { class: STATES[state] ?? "" }));
    for (const state of ORDER) this.counts.append(el("li", { class: `key ${STATES[state] ?? ""}` }));
    this.storage.hidden = true;
    this.element = el(
      "header",
      {},
      el("div", { class: "top" }, this.title, this.badge),
      this.bar,
      this.facts,
      this.counts,
      this.storage,
      this.loud,
    );
  }

  show(): void {
    const { scene, last } = this.model();
    if (scene) {
      say(this.title, scene.title);
      document.title = scene.title;
    }
    if (!last) return;
    const of = (i: number) => last.counts[i] ?? 0;
    const all = scene?.tasks ?? last.counts.reduce<number>((sum, n) => sum + (n ?? 0), 0);
    ORDER.forEach((state, i) => {
      const part = this.bar.children[i] as HTMLElement;
      part.style.flexGrow = String(all > 0 ? of(state) / all : 0);
      part.hidden = of(state) === 0;
      say(this.counts.children[i] as Element, `${count(of(state))} ${WORDS[STATES[state] ?? "waiting"]}`);
      (this.counts.children[i] as HTMLElement).hidden = of(state) === 0 && state > 3;
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
    if (last.halted !== undefined) facts.push(`halted by a task, exit ${last.halted}`);
    say(this.facts, facts.join(" · "));
    document.title = `${percent(of(3), all)} ${scene?.title ?? "Cairn"}${of(4) > 0 ? ` (${count(of(4))} failed)` : ""}`;
    this.storage.hidden = !last.storage;
    if (last.storage) this.stored(last.storage);
    this.speak(of(3), all, of(4), last.finished);
  }

  private stored(room: Storage): void {
    const cap = Math.max(1, room.cap);
    [room.used, room.reserved, Math.max(0, cap - room.used - room.reserved)].forEach((bytes, i) => {
      const part = this.room.children[i] as HTMLElement;
      part.style.flexGrow = String(bytes / cap);
      part.hidden = bytes === 0;
    });
    const text = storageWords(room);
    say(this.roomWords, text);
    this.room.setAttribute("aria-valuemax", String(room.cap));
    this.room.setAttribute("aria-valuenow", String(room.used + room.reserved));
    this.room.setAttribute("aria-valuetext", text);
  }

  /** Read out seldom, and at once when something fails or all is over. */
  private speak(executed: number, all: number, failed: number, finished: boolean): void {
    const news = failed > this.spoken.failed || finished !== this.spoken.finished;
    if (!news && performance.now() - this.spoken.at < 30_000) return;
    this.spoken = { at: performance.now(), failed, finished };
    const fails = failed > 0 ? `, ${counted(failed, "task")} failed` : "";
    say(this.loud, `${finished ? "The run is over: " : ""}${count(executed)} of ${counted(all, "task")} executed${fails}.`);
  }

  fresh(link: Link, age: number): void {
    const words: Record<Link, string> = {
      live: "live",
      late: `no news for ${span(age)}`,
      away: "the server is away: trying again",
      ended: "the run is over",
      report: "saved report",
    };
    say(this.badge, words[link]);
    this.badge.className = `badge ${link}`;
  }
}
