// What the page knows of the run: updates folded into one state. Knows no drawing and no network.

import { halved } from "./axis";
import type { Plan, Sample, Saved, Scene, Span, Update } from "./contract";

/** More points of the curve than can be seen are thinned out. */
const MOST_SAMPLES = 4000;
/** Older attempts are forgotten. */
export const MOST_SPANS = 20000;

export interface Model {
  scene: Scene | null;
  plan: Plan | null;
  /** Newest lists and numbers; none before the first update. */
  last: Update | null;
  curve: Sample[];
  spans: Span[];
  /** How many attempts were forgotten. */
  dropped: number;
  /** By box, counts by state. */
  boxes: number[][];
  /** By number of the task; none where there are too many. */
  names: string[] | null;
}

export function empty(): Model {
  return { scene: null, plan: null, last: null, curve: [], spans: [], dropped: 0, boxes: [], names: null };
}

/** The state anew. */
export function take(model: Model, update: Update): void {
  model.curve = [];
  model.spans = [];
  model.dropped = 0;
  model.boxes = [];
  model.last = null;
  add(model, update);
}

/** What has changed. Lists that are left out stay as they were. */
export function add(model: Model, update: Update): void {
  for (const sample of update.curve) model.curve.push(sample);
  while (model.curve.length > MOST_SAMPLES) model.curve = halved(model.curve);
  for (const span of update.spans) model.spans.push(span);
  const over = model.spans.length - MOST_SPANS;
  if (over > 0) {
    model.spans.splice(0, over);
    model.dropped += over;
  }
  for (const [box, ...counts] of update.boxes) if (box !== undefined) model.boxes[box] = counts;
  model.last = { ...model.last, ...update };
}

export function ofReport(saved: Saved): Model {
  const model = empty();
  model.scene = saved.scene;
  model.plan = saved.plan;
  model.names = saved.names;
  take(model, saved.update);
  return model;
}

export function nameOf(model: Model, task: number): string {
  return model.names?.[task] ?? `task ${task}`;
}

/** Tasks whose names have these letters, best first: the same name, then those that begin so, then others. */
export function find(names: readonly string[], text: string, most: number): string[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const [same, begin, other]: string[][] = [[], [], []];
  for (const name of names) {
    const low = name.toLowerCase();
    if (low === wanted) same?.push(name);
    else if (low.startsWith(wanted)) begin?.push(name);
    else if ((other?.length ?? 0) < most && low.includes(wanted)) other?.push(name);
    if ((begin?.length ?? 0) >= most) break;
  }
  return [...(same ?? []), ...(begin ?? []), ...(other ?? [])].slice(0, most);
}
