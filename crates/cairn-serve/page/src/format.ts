// Numbers, times and sizes as people read them. Knows no page.

export function count(n: number): string {
  return Math.round(n).toLocaleString("en-US");
}

export function counted(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** A length of time with two digits or so. */
export function span(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  const s = Math.max(0, seconds);
  if (s < 0.0995) return `${Math.round(s * 1000)} ms`;
  if (s < 9.95) return `${s.toFixed(1)} s`;
  if (s < 99.5) return `${Math.round(s)} s`;
  if (s < 5970) return `${Math.floor(s / 60)} min ${s < 570 ? `${Math.round(s % 60)} s` : ""}`.trim();
  if (s < 172800) return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`;
  return `${(s / 86400).toFixed(1)} days`;
}

/** Seconds on an axis, as short as can be. */
export function tick(seconds: number): string {
  if (seconds === 0) return "0";
  if (seconds < 1) return `${Number((seconds * 1000).toPrecision(3))} ms`;
  if (seconds < 120) return `${Number(seconds.toFixed(1))} s`;
  if (seconds < 7200) return `${Number((seconds / 60).toFixed(1))} min`;
  return `${Number((seconds / 3600).toFixed(1))} h`;
}

export function bytes(n: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let [value, unit] = [n, 0];
  while (value >= 999.5 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toPrecision(2)} ${units[unit]}`;
}

export function percent(part: number, whole: number): string {
  if (whole <= 0) return "0 %";
  const share = (100 * part) / whole;
  // All but one is not all.
  if (share < 100 && share > 99) return `${(Math.floor(share * 10) / 10).toFixed(1)} %`;
  return share > 0 && share < 1 ? `${share.toFixed(1)} %` : `${Math.floor(share)} %`;
}

export function rate(perSecond: number): string {
  if (perSecond >= 99.5) return `${count(perSecond)} tasks/s`;
  if (perSecond >= 1) return `${perSecond.toPrecision(2)} tasks/s`;
  if (perSecond * 60 >= 1) return `${(perSecond * 60).toPrecision(2)} tasks/min`;
  return `${(perSecond * 3600).toPrecision(2)} tasks/h`;
}

export function clock(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString();
}

/** How fast a worker is beside the others. */
export function speed(factor: number | null | undefined): string {
  return factor == null || !Number.isFinite(factor) ? "–" : `${factor >= 9.95 ? Math.round(factor) : factor.toFixed(1)}×`;
}

/** Who vouches for a worker; of one for whom nobody does, what came of its results. */
export function trust(volunteer: number | null | undefined, known: { valid: number; invalid: number; errors: number; late: number } | null | undefined): string {
  if (volunteer == null) return "trusted";
  const parts = known ? [`${count(known.valid)} confirmed`] : [];
  if (known && known.invalid > 0) parts.push(`${count(known.invalid)} contradicted`);
  if (known && known.errors > 0) parts.push(`${count(known.errors)} failed`);
  if (known && known.late > 0) parts.push(`${count(known.late)} late`);
  return [`volunteer ${volunteer}`, parts.join(", ")].filter((part) => part !== "").join(": ");
}
