// The page: takes a token, follows the events of the run, shows them. Or shows a saved report.

import { Api } from "./api";
import type { Plan, Saved, Scene, Update } from "./contract";
import { Curve } from "./curve";
import { el, say } from "./dom";
import { Gantt } from "./gantt";
import { Inspect } from "./inspect";
import { Failures, Slowest, Workers } from "./lists";
import { MapView } from "./map";
import { type Model, add, empty, nameOf, ofReport, take } from "./model";
import { Overview } from "./overview";
import { logs } from "./saved";
import { Refused, read } from "./stream";

/** More tasks have no names on the page until they are asked for. */
const MOST_NAMES = 200_000;
const KEPT = "cairn-token";

/** What tests look at: how long updates took, when the first one was drawn. */
const measured = { updates: 0, first: 0, took: [] as number[] };
declare global {
  interface Window {
    cairn: typeof measured;
  }
}
window.cairn = measured;

class Page {
  model: Model = empty();
  private readonly api: Api | null;
  private readonly overview = new Overview(() => this.model);
  private readonly curve = new Curve(() => this.model);
  private readonly gantt: Gantt;
  private readonly map: MapView;
  private readonly failures: Failures;
  private readonly workers: Workers;
  private readonly slowest: Slowest;
  private readonly inspect: Inspect | null = null;
  private changed = new Set<number>();
  private isDue = false;
  /** Reading updates that are not yet drawn, in milliseconds. */
  private spent = 0;
  private heard = performance.now();
  private link: "live" | "away" | "ended" | "report" = "live";

  constructor(token: string | null) {
    this.api = token === null ? null : new Api(token);
    if (this.api) this.inspect = new Inspect(() => this.model, this.api);
    const open = (name: string) => void this.inspect?.open(name);
    this.gantt = new Gantt(() => this.model, (task) => open(nameOf(this.model, task)));
    this.map = new MapView(() => this.model, (label, task) =>
      task === null ? this.inspect?.look(label) : open(nameOf(this.model, task)),
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
      ...(this.inspect ? [this.inspect.element] : []),
      this.gantt.element,
      this.workers.element,
      this.slowest.element,
    );
    document.body.replaceChildren(el("a", { href: "#main", class: "skip" }, "Skip to the run"), this.overview.element, main, this.footer());
    setInterval(() => this.tick(), 1000);
  }

  private footer(): HTMLElement {
    const parts: Node[] = [];
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
            setTimeout(() => URL.revokeObjectURL(a.href), 10_000);
            say(note, "saved");
          },
          (error: unknown) => say(note, error instanceof Refused ? `${error.message}. ${error.cure}` : "the server does not answer"),
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

  async follow(): Promise<void> {
    if (!this.api) return;
    const api = this.api;
    let pause = 500;
    for (;;) {
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
      pause = Math.min(10_000, pause * 2);
    }
  }

  private take(event: string, data: string): void {
    const begin = performance.now();
    this.heard = begin;
    this.link = "live";
    switch (event) {
      case "scene":
        this.begin(JSON.parse(data) as Scene);
        break;
      case "plan":
        this.model.plan = JSON.parse(data) as Plan;
        break;
      case "full": {
        const update = JSON.parse(data) as Update;
        take(this.model, update);
        update.boxes.forEach(([box]) => box !== undefined && this.changed.add(box));
        break;
      }
      case "delta": {
        const update = JSON.parse(data) as Update;
        add(this.model, update);
        update.boxes.forEach(([box]) => box !== undefined && this.changed.add(box));
        break;
      }
    }
    if (this.model.last?.finished) this.link = "ended";
    this.spent += performance.now() - begin;
    this.due();
  }

  /** A stream begins: the same run as before, or another. */
  private begin(scene: Scene): void {
    const before = this.model.scene;
    if (before && (before.title !== scene.title || before.tasks !== scene.tasks)) this.model.names = null;
    this.model.scene = scene;
    void this.fetchNames();
  }

  private async fetchNames(): Promise<void> {
    const tasks = this.model.scene?.tasks ?? null;
    if (!this.api || this.model.names || tasks === null || tasks > MOST_NAMES) return;
    // Not before the run itself is seen.
    await new Promise((done) => setTimeout(done, 300));
    this.model.names = await this.api.names().catch(() => null);
  }

  due(): void {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      const begin = performance.now();
      this.show();
      measured.updates += 1;
      measured.took.push(this.spent + performance.now() - begin);
      if (measured.took.length > 1000) measured.took.shift();
      this.spent = 0;
      if (measured.first === 0 && this.model.last) measured.first = performance.now();
    });
  }

  show(): void {
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

  private asked = 0;

  private tick(): void {
    const age = (performance.now() - this.heard) / 1000;
    const link = this.link === "live" && age > 5 ? "late" : this.link;
    this.overview.fresh(link, age);
    if (performance.now() - this.asked > 1900) {
      this.asked = performance.now();
      void this.inspect?.refresh();
    }
  }

  showReport(saved: Saved): void {
    this.link = "report";
    this.model = ofReport(saved);
    const kept = logs(saved.update.failures ?? []);
    if (kept) this.failures.element.after(kept);
    this.model.boxes.forEach((_, i) => this.changed.add(i));
    this.show();
    measured.first = performance.now();
  }
}

/** A token from the address goes out of it at once, and is never sent in one. */
function tokenOfAddress(): string | null {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (found) {
    history.replaceState(null, "", location.pathname);
    sessionStorage.setItem(KEPT, found);
  }
  return found ?? sessionStorage.getItem(KEPT);
}

function askToken(why: string): void {
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
    el("p", { class: "muted" }, "It stays in this tab. An address that ends in #token=… works too."),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const token = input.value.trim();
    if (token === "") return;
    sessionStorage.setItem(KEPT, token);
    void new Page(token).follow();
  });
  document.body.replaceChildren(el("main", {}, form));
  input.focus();
}

const embedded = document.getElementById("cairn-report");
const token = embedded ? null : tokenOfAddress();
if (embedded) new Page(null).showReport(JSON.parse(embedded.textContent ?? "") as Saved);
else if (token) void new Page(token).follow();
else askToken("");
// Another token in the address of a page that is open.
addEventListener("hashchange", () => {
  if (new URLSearchParams(location.hash.slice(1)).has("token")) location.reload();
});
