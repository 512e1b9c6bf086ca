// The parts of the page that draw nothing, each against what is obvious.

import assert from "node:assert/strict";
import { test } from "node:test";
import { at, halved, marks, scale, timeMarks } from "../src/axis";
import type { Sample, Span, Update } from "../src/contract";
import { lines, words } from "../src/curve";
import { bytes, percent, rate, span, speed, tick, trust } from "../src/format";
import { lanes } from "../src/lanes";
import { MOST_SPANS, add, empty, find, take } from "../src/model";
import { Parser } from "../src/stream";

/** Numbers that are the same in every run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test("events come whole, however the text is cut", () => {
  const text = ": hello\n\nevent: full\ndata: {\"a\":1}\n\nevent: delta\r\ndata: one\r\ndata: two\r\n\r\ndata:bare\n\n";
  const expected = [
    { event: "full", data: '{"a":1}' },
    { event: "delta", data: "one\ntwo" },
    { event: "message", data: "bare" },
  ];
  const next = random(1);
  for (let round = 0; round < 2000; round++) {
    const parser = new Parser();
    const found = [];
    for (let from = 0; from < text.length; ) {
      const to = from + 1 + Math.floor(next() * 9);
      found.push(...parser.feed(text.slice(from, to)));
      from = to;
    }
    assert.deepEqual(found, expected);
  }
});

test("attempts that overlap never share a row, and rows are as many as run at once", () => {
  const next = random(2);
  for (let round = 0; round < 2000; round++) {
    const spans: Span[] = [];
    const many = Math.floor(next() * 12);
    for (let i = 0; i < many; i++) {
      const begin = Math.floor(next() * 20);
      spans.push([Math.floor(next() * 3), i, begin, begin + 1 + Math.floor(next() * 6), 0]);
    }
    const all = lanes(spans, [[1, 99, 15]], 0);
    assert.equal(all.reduce((sum, lane) => sum + lane.bars.length, 0), many + 1);
    for (const lane of all) {
      for (const a of lane.bars)
        for (const b of lane.bars) {
          const overlap = a.begin < (b.end ?? Infinity) && b.begin < (a.end ?? Infinity);
          if (a !== b && overlap) assert.notEqual(a.row, b.row);
        }
      const together = lane.bars.map((a) => lane.bars.filter((b) => b.begin <= a.begin && (b.end ?? Infinity) > a.begin).length);
      assert.equal(lane.rows, Math.max(1, ...together));
    }
  }
});

test("what ended before the window is not drawn", () => {
  assert.deepEqual(lanes([[0, 1, 0, 5, 0], [0, 2, 5, 9, 0]], [], 6)[0]?.bars.map((b) => b.task), [2]);
});

test("a step function is read as a loop would", () => {
  const next = random(3);
  for (let round = 0; round < 2000; round++) {
    let place = 0;
    const pairs: [number, number][] = [];
    for (let i = 0; i < 1 + next() * 8; i++) pairs.push([(place += Math.floor(next() * 4) + (i > 0 ? 1 : 0)), Math.floor(next() * 9)]);
    const where = Math.floor(next() * 30);
    let slow = pairs[0]?.[1] ?? 0;
    for (const [x, y] of pairs) if (x <= where) slow = y;
    assert.equal(at(pairs, where), slow);
  }
});

test("marks are round, grow, and are no more than wanted", () => {
  for (let most = 1; most < 100000; most = Math.ceil(most * 1.37)) {
    for (const wanted of [2, 5, 8]) {
      const all = marks(most, wanted);
      assert.ok(all.length <= wanted + 2, `${most} ${wanted}: ${all.join()}`);
      assert.ok(all.every((m) => Number.isInteger(m) && m <= most));
      const times = timeMarks(most, wanted);
      assert.ok(times.length <= wanted + 2 && times.every((m) => m <= most * 1.001), `${most} ${wanted}: ${times.join()}`);
    }
  }
  assert.deepEqual(marks(0, 5), [0]);
});

test("thinned points keep the first and the last", () => {
  for (let n = 1; n < 40; n++) {
    const all = Array.from({ length: n }, (_, i) => i);
    const kept = halved(all);
    assert.equal(kept[0], 0);
    assert.equal(kept.at(-1), n - 1);
    assert.ok(kept.length <= n / 2 + 1);
  }
});

test("a scale of no width does not divide by it", () => {
  assert.equal(scale([5, 5], [10, 20])(5), 10);
  assert.equal(scale([0, 10], [0, 100])(3), 30);
});

function update(more: Partial<Update>): Update {
  const idle = { busy: 0, nothing_eligible: 0, resources: 0, server: 0, paused: 0 };
  const base = { now: 10, seq: 1, began: 0, counts: [0, 1, 0, 0, 0, 0, 0], paused: false, finished: false, rate: null, eta_seconds: null };
  return { ...base, idle, running: [], curve: [], spans: [], boxes: [], ...more };
}

test("updates in pieces come to what one update says", () => {
  const curve: Sample[] = Array.from({ length: 9000 }, (_, i) => [i, i / 10, 9000 - i, 2]);
  const whole = empty();
  take(whole, update({ curve, boxes: [[0, 1, 2], [1, 3, 4]] }));
  const parts = empty();
  take(parts, update({ boxes: [[0, 9, 9], [1, 3, 4]], failures: [] }));
  for (let i = 0; i < 9000; i += 450) add(parts, update({ curve: curve.slice(i, i + 450), boxes: [[0, 1, 2]] }));
  assert.deepEqual(parts.boxes, whole.boxes);
  assert.deepEqual(parts.last?.failures, []);
  for (const model of [whole, parts]) {
    assert.ok(model.curve.length <= 4000);
    assert.deepEqual(model.curve[0], curve[0]);
    assert.deepEqual(model.curve.at(-1), curve.at(-1));
  }
});

test("old attempts are forgotten, and counted", () => {
  const model = empty();
  const spans = Array.from({ length: MOST_SPANS + 10 }, (_, i): Span => [0, i, i, i + 1, 0]);
  take(model, update({ spans: spans.slice(0, 100) }));
  add(model, update({ spans: spans.slice(100) }));
  assert.equal(model.spans.length, MOST_SPANS);
  assert.equal(model.dropped, 10);
  assert.equal(model.spans[0]?.[1], 10);
});

test("over time the plan and the bound are those of the tasks executed by then", () => {
  const model = empty();
  model.scene = { title: "", tasks: 2, map: null };
  model.plan = { order: 1, profile: [[0, 1], [1, 5], [2, 0]], bound: [[0, 1], [1, 6], [2, 0]], verdict: null };
  take(model, update({ began: 100, now: 130, curve: [[0, 100, 1, 0], [1, 120, 4, 2]] }));
  const over = lines(model, true);
  assert.deepEqual(over.plan, [[0, 1], [20, 5]]);
  assert.deepEqual(over.bound, [[0, 1], [20, 6]]);
  assert.deepEqual(over.actual, [[0, 1], [20, 4]]);
  assert.deepEqual(lines(model, false).most, [2, 6]);
  assert.match(words(model), /After 1 executed task, 4 are eligible or running; the plan has 5 there, and no order can have more than 6\./);
});

test("names are found: the same, then those that begin so, then others", () => {
  const names = ["xalign", "align-10", "align-1", "sort", "Align"];
  assert.deepEqual(find(names, "align", 9), ["Align", "align-10", "align-1", "xalign"]);
  assert.deepEqual(find(names, "align-1", 9), ["align-1", "align-10"]);
  assert.deepEqual(find(names, " ", 9), []);
  assert.equal(find(names, "a", 2).length, 2);
});

test("numbers are short and never say more than is so", () => {
  assert.equal(percent(99999, 100000), "99.9 %");
  assert.equal(percent(1, 100000), "0.0 %");
  assert.equal(percent(5, 5), "100 %");
  assert.deepEqual([0.05, 1.25, 75, 135, 3600, 86400 * 3].map(span), ["50 ms", "1.3 s", "75 s", "2 min 15 s", "60 min", "3.0 days"]);
  assert.deepEqual([0, 999, 1500, 5e11].map(bytes), ["0 B", "999 B", "1.5 kB", "500 GB"]);
  assert.deepEqual([120, 2.5, 0.1, 0.001].map(rate), ["120 tasks/s", "2.5 tasks/s", "6.0 tasks/min", "3.6 tasks/h"]);
});

test("of a worker it is said how fast it is, and who vouches for it", () => {
  assert.deepEqual([null, undefined, 0.25, 1, 9.96, 12.4].map(speed), ["–", "–", "0.3×", "1.0×", "10×", "12×"]);
  assert.equal(trust(null, null), "trusted");
  assert.equal(trust(3, null), "volunteer 3");
  assert.equal(trust(3, { valid: 12, invalid: 0, errors: 0, late: 0 }), "volunteer 3: 12 confirmed");
  assert.equal(trust(3, { valid: 1200, invalid: 1, errors: 2, late: 3 }), "volunteer 3: 1,200 confirmed, 1 contradicted, 2 failed, 3 late");
});

test("marks of time that differ have words that differ", () => {
  assert.deepEqual([0, 0.0005, 0.001, 0.0015, 0.25, 1, 90, 300].map(tick), ["0", "0.5 ms", "1 ms", "1.5 ms", "250 ms", "1 s", "90 s", "5 min"]);
  for (let most = 1e-6; most < 1e6; most *= 1.37) {
    const words = timeMarks(most, 8).map(tick);
    assert.equal(new Set(words).size, words.length, `${most}: ${words}`);
  }
});
