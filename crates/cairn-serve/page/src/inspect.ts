// The panel that answers about one task or worker: state, why it does not run, attempts, log, retry. Draws nothing else.

import type { Api } from "./api";
import { type Attempt, WORDS, type Why } from "./contract";
import { Rows, el, say } from "./dom";
import { clock, span } from "./format";
import { cause } from "./lists";
import { type Model, find } from "./model";
import { Refused } from "./stream";

export class Inspect {
  readonly element: HTMLElement;
  private readonly input = el("input", { type: "search", id: "find", autocomplete: "off", spellcheck: "false", placeholder: "name of a task or worker" });
  private readonly found = el("ul", { class: "found" });
  private readonly head = el("h3", { tabindex: "-1" });
  private readonly answer = el("p", { class: "answer", "aria-live": "polite" });
  private readonly reasons = el("ul", { class: "reasons" });
  private readonly command = el("p", { class: "command" });
  private readonly attempts: Rows<Attempt>;
  private readonly attemptsBox: HTMLElement;
  private readonly log = el("pre", { tabindex: "0", role: "region", "aria-label": "The end of what it printed" });
  private readonly logHead = el("h4", {}, "The end of what it printed");
  private readonly result = el("p", { "aria-live": "polite" });
  private readonly steer: HTMLElement;
  private readonly admin = el("input", { type: "password", id: "admin", autocomplete: "off" });
  private readonly panel: HTMLElement;
  private name = "";
  private isWorker = false;

  constructor(
    private readonly model: () => Model,
    private readonly api: Api,
  ) {
    this.attempts = new Rows("Attempts", [
      { head: "Attempt", number: true, cell: (a) => String(a.attempt) },
      { head: "Worker", cell: (a) => a.worker },
      { head: "Began", cell: (a) => clock(a.begin) },
      { head: "Took", number: true, cell: (a) => span((a.end ?? Date.now() / 1000) - a.begin) },
      { head: "Outcome", cell: (a) => (a.cause ? `${a.outcome}: ${cause(a)}` : a.outcome) },
    ]);
    this.attemptsBox = el("div", { class: "scroll" }, this.attempts.table);
    const button = (text: string, what: "retry" | "cancel") => {
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
      this.result,
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
      this.steer,
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

  private list(): void {
    const { names, last } = this.model();
    const workers = last?.workers?.map((w) => w.name) ?? [];
    const hits = [...find(workers, this.input.value, 3), ...find(names ?? [], this.input.value, 8)];
    this.found.replaceChildren(
      ...hits.map((name) => {
        const button = el("button", { type: "button" }, name);
        button.addEventListener("click", () => void this.open(name));
        return el("li", {}, button);
      }),
    );
  }

  /** Finds the tasks of a box by its label: people go on from there. */
  look(label: string): void {
    this.input.value = label.replace(/ × .*$/s, "").replace(/\n.*$/s, "");
    this.list();
    this.input.focus();
  }

  async open(name: string): Promise<void> {
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
  async refresh(): Promise<void> {
    const name = this.name;
    if (name === "" || this.panel.hidden) return;
    try {
      const why = await this.api.why(name);
      if (this.name !== name) return;
      this.isWorker = why.worker !== undefined;
      this.showWhy(why);
      await this.details(name);
    } catch (error) {
      say(this.answer, error instanceof Refused ? `${error.message}. ${error.cure}` : "the server does not answer");
      this.reasons.replaceChildren();
      for (const part of [this.attemptsBox, this.log, this.logHead, this.steer, this.command]) part.hidden = true;
    }
  }

  private showWhy(why: Why): void {
    say(this.head, `${why.worker ?? why.task ?? this.name}: ${WORDS[why.state as keyof typeof WORDS] ?? why.state}`);
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
        const parts = links.flatMap((l, i) => (i === 0 ? [": ", l] : [", ", l]));
        return el("li", {}, reason.text, ...parts);
      }),
    );
  }

  private async details(name: string): Promise<void> {
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
    this.attempts.show(attempts, JSON.stringify(attempts) + (attempts.some((a) => a.end === null) ? Math.round(Date.now() / 1000) : ""));
    this.log.hidden = this.logHead.hidden = attempts.length === 0;
    say(this.log, log === "" ? "(nothing)" : log);
    const buttons = this.steer.querySelectorAll("button");
    const over = task.state === "failed" || task.state === "cancelled";
    if (buttons[0]) buttons[0].hidden = !over;
    if (buttons[1]) buttons[1].hidden = over || task.state === "executed" || task.state === "aborted";
    this.steer.hidden = [...buttons].every((b) => b.hidden);
  }

  /** Steers that task, whatever is looked at meanwhile; the answer is told where it still belongs. */
  private async change(what: "retry" | "cancel", name: string): Promise<void> {
    const token = this.admin.value.trim() || this.api.token;
    try {
      const refused = await this.api.steer(what, name, token);
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
  async retry(name: string): Promise<void> {
    await this.open(name);
    await this.change("retry", name);
  }
}
