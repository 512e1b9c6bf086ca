// In which row of its worker's lane each attempt lies. Knows no drawing.

import type { Running, Span } from "./contract";

export interface Bar {
  row: number;
  task: number;
  begin: number;
  /** None while it runs. */
  end: number | null;
  outcome: number;
}

export interface Lane {
  worker: number;
  rows: number;
  bars: Bar[];
}

/**
 * One lane a worker, by number; attempts that overlap lie in rows of their own, each in the first that is free.
 * Only what ends after `from` is there.
 */
export function lanes(spans: readonly Span[], running: readonly Running[], from: number): Lane[] {
  const by = new Map<number, { task: number; begin: number; end: number | null; outcome: number }[]>();
  const of = (worker: number) => {
    const found = by.get(worker);
    if (found) return found;
    const made: { task: number; begin: number; end: number | null; outcome: number }[] = [];
    by.set(worker, made);
    return made;
  };
  for (const [worker, task, begin, end, outcome] of spans) if (end >= from) of(worker).push({ task, begin, end, outcome });
  for (const [worker, task, begin] of running) of(worker).push({ task, begin, end: null, outcome: -1 });
  return [...by.entries()]
    .sort((a, b) => a[0] - b[0])
    .map(([worker, attempts]) => {
      attempts.sort((a, b) => a.begin - b.begin);
      const free: number[] = [];
      const bars = attempts.map((attempt) => {
        // A little overlap is rounding.
        let row = free.findIndex((until) => until <= attempt.begin + 1e-4);
        if (row < 0) row = free.length;
        free[row] = attempt.end ?? Infinity;
        return { row, ...attempt };
      });
      return { worker, rows: Math.max(1, free.length), bars };
    });
}
