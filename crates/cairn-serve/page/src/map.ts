// The dag, its boxes coloured by the states of their tasks. The layout is the server's; knows no network.

import { type DagMap, STATES, WORDS } from "./contract";
import { type Column, Rows, el } from "./dom";
import { count } from "./format";
import type { Model } from "./model";

const SVG = "http://www.w3.org/2000/svg";
/** From the left of a bar: what is over first. */
const ORDER = [3, 2, 1, 4, 5, 6, 0];

interface Box {
  bars: SVGRectElement[];
  place: { x: number; y: number; width: number; height: number };
  shown: string;
  node: SVGGElement;
}

interface Row {
  box: number;
  label: string;
  counts: number[];
}

export class MapView {
  readonly element: HTMLElement;
  private readonly frame = el("div", { class: "frame", tabindex: "0", role: "group", "aria-label": "The dag: scroll with the arrow keys" });
  private readonly rows: Rows<Row>;
  private readonly details: HTMLDetailsElement;
  private boxes: Box[] = [];
  private labels: string[] = [];
  private drawn: DagMap | null = null;

  constructor(
    private readonly model: () => Model,
    /** A box by its label, and its task, where it has only one. */
    private readonly open: (label: string, task: number | null) => void,
  ) {
    const state = (i: number): Column<Row> => ({ head: WORDS[STATES[i] ?? "waiting"], number: true, cell: (r) => count(r.counts[i] ?? 0) });
    const box = (r: Row) => {
      const button = el("button", { type: "button", class: "link", "data-key": `box ${r.box}` }, r.label);
      button.addEventListener("click", () => this.choose(r.box));
      return button;
    };
    this.rows = new Rows("The boxes of the dag, with tasks by state", [{ head: "Box", cell: box }, ...[3, 2, 1, 0, 4, 5, 6].map(state)]);
    this.details = el("details", {}, el("summary", {}, "The same as a table"), el("div", { class: "scroll" }, this.rows.table));
    this.details.addEventListener("toggle", () => this.table());
    const keys = STATES.map((s) => el("span", { class: `key ${s}` }, WORDS[s]));
    const zoom = el("button", { type: "button", "aria-pressed": "false" }, "Full size");
    zoom.addEventListener("click", () => zoom.setAttribute("aria-pressed", String(this.frame.classList.toggle("full"))));
    this.element = el(
      "section",
      { "aria-labelledby": "dag" },
      el("h2", { id: "dag" }, "The dag"),
      el("div", { class: "tools" }, zoom, el("p", { class: "keys" }, ...keys)),
      this.frame,
      this.details,
    );
    this.element.hidden = true;
  }

  show(changed: Iterable<number>): void {
    const map = this.model().scene?.map ?? null;
    let all = changed;
    if (map !== this.drawn) {
      this.draw(map);
      all = this.boxes.keys();
    }
    for (const i of all) this.colour(i);
    this.table();
  }

  private draw(map: DagMap | null): void {
    this.drawn = map;
    this.boxes = [];
    this.labels = [];
    this.element.hidden = map === null;
    if (!map) return this.frame.replaceChildren();
    const parsed = new DOMParser().parseFromString(map.svg, "image/svg+xml").documentElement;
    const svg = document.importNode(parsed, true);
    svg.removeAttribute("tabindex");
    this.frame.replaceChildren(svg);
    // Titles and colours of kinds belong to `show`: here only boxes and arcs are kept, and colours are states.
    for (const part of [...svg.children]) if (!part.matches(".arcs, .heads, .node")) part.remove();
    for (const node of svg.querySelectorAll<SVGGElement>("[data-n]")) {
      const i = Number(node.getAttribute("data-n"));
      const outer = [...node.querySelectorAll("rect")].filter((r) => r.getAttribute("rx"));
      // The box itself: the largest, and of a stack the upper one.
      const area = (r: Element) => Number(r.getAttribute("width")) * Number(r.getAttribute("height"));
      const rect = outer.reduceRight<SVGRectElement | undefined>((best, r) => (best && area(best) >= area(r) ? best : r), undefined);
      if (!rect) continue;
      const of = (name: string) => Number(rect.getAttribute(name));
      const place = { x: of("x"), y: of("y"), width: of("width"), height: of("height") };
      for (const r of node.querySelectorAll("rect")) if (!outer.includes(r)) r.remove();
      for (const r of outer) {
        r.removeAttribute("fill");
        r.removeAttribute("stroke");
        r.classList.add("box");
      }
      for (const t of node.querySelectorAll("text")) t.removeAttribute("fill");
      const label = node.querySelector("title")?.textContent?.split("\n")[0] ?? "";
      this.labels[i] = label;
      const bars = ORDER.map((state) => {
        const bar = document.createElementNS(SVG, "rect");
        bar.setAttribute("class", `bar ${STATES[state] ?? ""}`);
        rect.after(bar);
        return bar;
      });
      this.boxes[i] = { bars, place, shown: "", node };
      node.addEventListener("click", () => this.choose(i));
    }
    const all = (svg as Element as SVGSVGElement).getBBox();
    if (all.width > 0) {
      const [wide, high] = [all.width + 16, all.height + 16];
      svg.setAttribute("viewBox", `${all.x - 8} ${all.y - 8} ${wide} ${high}`);
      svg.setAttribute("width", String(Math.round(wide)));
      svg.setAttribute("height", String(Math.round(high)));
    }
  }

  private choose(i: number): void {
    const map = this.drawn;
    this.open(this.labels[i] ?? "", map?.sizes[i] === 1 ? (map.first[i] ?? null) : null);
  }

  private colour(i: number): void {
    const [box, counts, map] = [this.boxes[i], this.model().boxes[i], this.drawn];
    if (!box || !counts || !map) return;
    const key = counts.join();
    if (box.shown === key) return;
    box.shown = key;
    const { x, y, width, height } = box.place;
    const whole = map.sizes[i] ?? 1;
    // A single task is all of one colour; of many, the box fills up.
    const thick = height - 3;
    let [from, drawn] = [x + 1.5, 0];
    const room = width - 3;
    ORDER.forEach((state, k) => {
      const bar = box.bars[k] as SVGRectElement;
      const part = counts[state] ?? 0;
      // One task among thousands is seen all the same.
      const wide = part === 0 ? 0 : Math.max(2.5, (part / whole) * room);
      const shown = Math.max(0, Math.min(wide, x + 1.5 + room - from));
      bar.setAttribute("x", from.toFixed(1));
      bar.setAttribute("y", (y + 1.5).toFixed(1));
      bar.setAttribute("width", shown.toFixed(1));
      bar.setAttribute("height", thick.toFixed(1));
      from += shown;
      drawn += part;
    });
    const state = drawn === (counts[3] ?? 0) && drawn > 0 ? "done" : (counts[4] ?? 0) > 0 ? "broken" : (counts[2] ?? 0) > 0 ? "busy" : (counts[1] ?? 0) > 0 ? "open" : "";
    box.node.setAttribute("data-state", state);
    const old = box.node.querySelector("title");
    const title = old ?? document.createElementNS(SVG, "title");
    if (!old) box.node.prepend(title);
    const words = STATES.map((s, k) => [counts[k] ?? 0, WORDS[s]] as const).filter(([n]) => n > 0);
    title.textContent = `${this.labels[i] ?? ""}\n${words.map(([n, word]) => `${count(n)} ${word}`).join(", ")}`;
  }

  private table(): void {
    const map = this.drawn;
    if (!map || !this.details.open) return;
    const rows = this.labels.map((label, box) => ({ box, label, counts: this.model().boxes[box] ?? [] }));
    this.rows.show(rows, rows.map((r) => r.counts.join()).join(";"));
  }
}
