// What a saved report tells of failed tasks, since there is no server to ask. Knows no network.

import type { Failure } from "./contract";
import { el } from "./dom";
import { cause } from "./lists";

/** Logs of failures, each to be opened. */
export function logs(failures: readonly Failure[]): HTMLElement | null {
  const kept = failures.filter((f) => f.log !== undefined && f.log !== "");
  if (kept.length === 0) return null;
  const each = kept.map((f) => el("details", {}, el("summary", {}, `${f.task}: ${cause(f)}`), el("pre", { tabindex: "0" }, f.log ?? "")));
  return el("section", { "aria-labelledby": "logs" }, el("h2", { id: "logs" }, "What failed tasks printed"), ...each);
}
