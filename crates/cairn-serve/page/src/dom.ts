// Elements without markup in strings: text from tasks is always text. Knows no run.

type Child = Node | string | null | undefined | false;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  for (const child of children) if (child) made.append(child);
  return made;
}

/** Writes a text only where it differs: what does not change is not read out again. */
export function say(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export interface Column<T> {
  head: string;
  number?: boolean;
  cell: (row: T) => Child;
}

/** A table whose body is written anew when its rows change. */
export class Rows<T> {
  readonly table: HTMLTableElement;
  private readonly body = el("tbody");
  private written = "";

  constructor(
    caption: string,
    private readonly columns: Column<T>[],
  ) {
    const head = el("tr", {}, ...columns.map((c) => el("th", { scope: "col", ...(c.number ? { class: "number" } : {}) }, c.head)));
    this.table = el("table", {}, el("caption", {}, caption), el("thead", {}, head), this.body);
  }

  /** `key` says whether anything has changed. A row that has the focus keeps it. */
  show(rows: readonly T[], key: string): void {
    if (key === this.written) return;
    this.written = key;
    const focused = document.activeElement;
    const held = focused && this.body.contains(focused) ? focused.getAttribute("data-key") : null;
    const made = rows.map((row) =>
      el(
        "tr",
        {},
        ...this.columns.map((c, i) => {
          const cls: Record<string, string> = c.number ? { class: "number" } : {};
          const child = c.cell(row);
          return i === 0 ? el("th", { scope: "row", ...cls }, child) : el("td", cls, child);
        }),
      ),
    );
    this.body.replaceChildren(...made);
    if (held !== null) {
      const again = [...this.body.querySelectorAll<HTMLElement>("[data-key]")].find((e) => e.dataset["key"] === held);
      again?.focus({ preventScroll: true });
    }
  }
}

export interface Theme {
  ink: string;
  muted: string;
  grid: string;
  paper: string;
  of: (name: string) => string;
}

export function theme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return { ink: of("ink"), muted: of("muted"), grid: of("grid"), paper: of("paper"), of };
}

/** A canvas as sharp as the screen; drawn when it is seen, at most once a frame. */
export class Picture {
  readonly canvas = el("canvas", { role: "img", tabindex: "0" });
  private isSeen = true;
  /** What is drawn is not what is so. */
  private isStale = false;
  /** It is drawn with the next frame. */
  private isAsked = false;

  constructor(
    label: string,
    private readonly height: () => number,
    private readonly draw: (context: CanvasRenderingContext2D, width: number, height: number) => void,
  ) {
    this.canvas.setAttribute("aria-label", label);
    new ResizeObserver(() => this.due()).observe(this.canvas);
    new IntersectionObserver((entries) => {
      this.isSeen = entries.at(-1)?.isIntersecting ?? true;
      if (this.isStale) this.due();
    }).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.due());
  }

  due(): void {
    this.isStale = true;
    if (!this.isSeen || this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame(() => {
      this.isAsked = false;
      this.isStale = false;
      this.now();
    });
  }

  now(): void {
    const [width, height] = [this.canvas.clientWidth, this.height()];
    if (width === 0) return;
    const sharp = window.devicePixelRatio || 1;
    this.canvas.style.height = `${height}px`;
    const [w, h] = [Math.round(width * sharp), Math.round(height * sharp)];
    if (this.canvas.width !== w || this.canvas.height !== h) [this.canvas.width, this.canvas.height] = [w, h];
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.setTransform(sharp, 0, 0, sharp, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    this.draw(context, width, height);
  }
}
