// Scales and their round marks, and fewer points where there are too many. Knows no drawing.

/** From values to places. */
export function scale(from: [number, number], to: [number, number]): (value: number) => number {
  const width = from[1] - from[0];
  const factor = width === 0 ? 0 : (to[1] - to[0]) / width;
  return (value) => to[0] + (value - from[0]) * factor;
}

/** Round numbers from 0 to `most`, no more than `wanted` and the zero. */
export function marks(most: number, wanted: number, whole = true): number[] {
  if (!(most > 0) || wanted < 1) return [0];
  const rough = most / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.9999) ?? 10 * power;
  const size = whole ? Math.max(1, Math.round(step)) : step;
  const all = [];
  for (let i = 0; i * size <= most * 1.0001; i++) all.push(Number((i * size).toPrecision(12)));
  return all;
}

/** Round times from 0 to `most` seconds. */
export function timeMarks(most: number, wanted: number): number[] {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];
  const step = steps.find((s) => most / s <= wanted);
  if (most < wanted || step === undefined) return marks(most, wanted, false);
  const all = [];
  for (let at = 0; at <= most * 1.0001; at += step) all.push(at);
  return all;
}

/** Every other point, the last one always: for when there are more than can be seen. */
export function halved<T>(points: T[]): T[] {
  const kept = points.filter((_, i) => i % 2 === 0);
  const last = points.at(-1);
  if (last !== undefined && points.length % 2 === 0) kept.push(last);
  return kept;
}

/** The value of a step function, given by sorted pairs, at a place; before the first pair its value. */
export function at(pairs: readonly (readonly [number, number])[], place: number): number {
  let [low, high] = [0, pairs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((pairs[middle] as [number, number])[0] <= place) low = middle + 1;
    else high = middle;
  }
  return pairs[Math.max(0, low - 1)]?.[1] ?? 0;
}
