"use strict";
(() => {
  const tip = document.getElementById("tip");
  let lit = [];
  const dim = () => { lit.forEach((e) => e.classList.remove("lit")); lit = []; };
  const hide = () => { dim(); tip.hidden = true; };
  const light = (item) => {
    dim();
    lit = [item];
    const node = item.dataset.n;
    if (node !== undefined) {
      lit.push(...item.ownerSVGElement.querySelectorAll(`[data-a="${node}"],[data-b="${node}"]`));
    }
    lit.forEach((e) => e.classList.add("lit"));
  };
  const show = (item, x, y) => {
    if (lit[0] !== item) { light(item); tip.textContent = item.dataset.tip; }
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = x + 14 + box.width > innerWidth ? x - 14 - box.width : x + 14;
    const top = y + 16 + box.height > innerHeight ? y - 12 - box.height : y + 16;
    tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
  };
  // A picture that can be zoomed: what is seen of it is its viewBox.
  const zoomable = (svg) => {
    const whole = svg.viewBox.baseVal;
    const full = { x: whole.x, y: whole.y, w: whole.width, h: whole.height };
    let view = { ...full };
    const set = (next) => {
      const w = Math.min(full.w * 1.5, Math.max(60, next.w));
      const h = w * full.h / full.w;
      const inside = (at, size, low, room) => Math.min(low + room - size / 2, Math.max(low - size / 2, at));
      view = { w, h, x: inside(next.x, w, full.x, full.w), y: inside(next.y, h, full.y, full.h) };
      svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
    };
    const scale = () => { const m = svg.getScreenCTM(); return m ? m.a : 1; };
    const zoom = (factor, clientX, clientY) => {
      const m = svg.getScreenCTM();
      const box = svg.getBoundingClientRect();
      const at = new DOMPoint(clientX ?? box.left + box.width / 2, clientY ?? box.top + box.height / 2)
        .matrixTransform(m.inverse());
      const w = Math.min(full.w * 1.5, Math.max(60, view.w / factor));
      const k = w / view.w;
      set({ w, x: at.x - (at.x - view.x) * k, y: at.y - (at.y - view.y) * k });
    };
    const centre = (item) => {
      const box = item.getBBox();
      const w = Math.min(view.w, Math.max(box.width * 4, 500));
      set({ w, x: box.x + box.width / 2 - w / 2, y: box.y + box.height / 2 - w * full.h / full.w / 2 });
    };
    const reset = () => set({ ...full });
    // Where the whole picture would be too small to read, a part of it is shown first: its top, large enough.
    const open = () => {
      const [READABLE, NATURAL] = [0.8, 1];
      const box = svg.getBoundingClientRect();
      const all = Math.min(box.width / full.w, box.height / full.h);
      if (!(all > 0 && all < READABLE)) return;
      const now = Math.min(NATURAL, Math.max(READABLE, box.width / full.w));
      const [w, seen] = [full.w * all / now, { w: box.width / now, h: box.height / now }];
      // The picture hangs in the middle of its frame: what is left beside the viewBox is seen, too.
      const h = w * full.h / full.w;
      const first = [...svg.querySelectorAll("[data-n]")].map((e) => e.getBBox());
      const top = Math.min(...first.map((b) => b.y));
      const row = first.filter((b) => b.y < top + 40);
      const middle = row.length ? row.reduce((sum, b) => sum + b.x + b.width / 2, 0) / row.length : full.x + full.w / 2;
      const low = full.x + Math.min(seen.w, full.w) / 2;
      const centre = Math.min(full.x + full.w - Math.min(seen.w, full.w) / 2, Math.max(low, middle));
      set({ w, x: centre - w / 2, y: full.y + seen.h / 2 - h / 2 });
    };
    svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), event.clientX, event.clientY);
    }, { passive: false });
    let from = null;
    svg.addEventListener("pointerdown", (event) => {
      if (event.button === 0) from = { x: event.clientX, y: event.clientY, view };
    });
    svg.addEventListener("pointermove", (event) => {
      if (!from) return;
      const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
      if (!svg.classList.contains("dragged") && Math.hypot(dx, dy) < 4) return;
      if (!svg.classList.contains("dragged")) { svg.classList.add("dragged"); svg.setPointerCapture(event.pointerId); }
      set({ ...from.view, x: from.view.x - dx / scale(), y: from.view.y - dy / scale() });
    });
    const drop = () => { from = null; svg.classList.remove("dragged"); };
    svg.addEventListener("pointerup", drop);
    svg.addEventListener("pointercancel", drop);
    svg.addEventListener("keydown", (event) => {
      const act = { "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: reset }[event.key];
      if (act && !event.ctrlKey && !event.metaKey) { event.preventDefault(); act(); }
    });
    return { zoom, reset, centre, open };
  };
  // The search: names stand one a line, with the number of their node in front where it changes.
  const searchable = (figure, svg, map, show) => {
    const names = [];
    let node = "0";
    for (const line of figure.querySelector("template").content.textContent.split("\n")) {
      const blank = line.indexOf(" ");
      if (blank < 0) continue;
      if (blank > 0) node = line.slice(0, blank);
      const name = line.slice(blank + 1);
      names.push({ name, low: name.toLowerCase(), node });
    }
    const ordered = figure.querySelector("template").dataset.ordered !== undefined;
    const boxes = new Map([...svg.querySelectorAll("[data-n]")].map((e) => [e.dataset.n, e]));
    const input = figure.querySelector("input");
    const said = figure.querySelector("output");
    const list = figure.querySelector(".found");
    let hits = [];
    let at = -1;
    const go = (box) => {
      map.centre(box);
      const place = box.getBoundingClientRect();
      show(box, place.left + place.width / 2, place.bottom);
    };
    const search = () => {
      const word = input.value.trim().toLowerCase();
      boxes.forEach((box) => box.classList.remove("hit"));
      list.replaceChildren();
      hits = [];
      at = -1;
      svg.classList.toggle("searching", word !== "");
      list.hidden = word === "";
      if (word === "") { said.textContent = ""; return; }
      let found = 0;
      const seen = new Set();
      for (const [number, box] of boxes) {
        if (box.dataset.tip.split("\n", 1)[0].toLowerCase().includes(word)) seen.add(number);
      }
      names.forEach((entry, i) => {
        if (!entry.low.includes(word)) return;
        found += 1;
        seen.add(entry.node);
        if (found > 30) return;
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = ordered ? `${entry.name} (number ${(i + 1).toLocaleString("en")})` : entry.name;
        button.addEventListener("click", () => go(boxes.get(entry.node)));
        const row = document.createElement("li");
        row.append(button);
        list.append(row);
      });
      for (const [number, box] of boxes) if (seen.has(number)) { box.classList.add("hit"); hits.push(box); }
      const tasks = `${found.toLocaleString("en")} ${found === 1 ? "task" : "tasks"}`;
      said.textContent = `${tasks}, ${hits.length} ${hits.length === 1 ? "box" : "boxes"}${found > 30 ? "; the first 30 are listed" : ""}`;
    };
    input.addEventListener("input", search);
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && hits.length) { event.preventDefault(); at = (at + 1) % hits.length; go(hits[at]); }
      if (event.key === "Escape") { input.value = ""; search(); hide(); }
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !(event.target instanceof HTMLInputElement)) { event.preventDefault(); input.focus(); }
    });
    const start = decodeURIComponent(location.hash.slice(1));
    if (start) { input.value = start; search(); }
  };
  for (const svg of document.querySelectorAll(".frame svg")) {
    const items = [];
    for (const title of svg.querySelectorAll("title")) {
      const item = title.parentNode;
      item.dataset.tip = title.textContent;
      title.remove();
      items.push(item);
    }
    const figure = svg.closest("figure");
    const tools = figure.querySelector(".tools");
    let map = null;
    if (tools) {
      tools.hidden = false;
      figure.classList.add("map");
      map = zoomable(svg);
      map.open();
      searchable(figure, svg, map, show);
      const acts = { in: () => map.zoom(1.4), out: () => map.zoom(1 / 1.4), fit: map.reset };
      for (const button of tools.querySelectorAll("[data-zoom]")) {
        button.addEventListener("click", acts[button.dataset.zoom]);
      }
    }
    if (!items.length) continue;
    let at = -1;
    svg.setAttribute("tabindex", "0");
    svg.setAttribute("aria-roledescription",
      "figure; arrow keys read its parts" + (map ? ", plus, minus and 0 zoom" : ""));
    svg.addEventListener("pointermove", (event) => {
      if (svg.classList.contains("dragged")) { hide(); return; }
      const item = event.target.closest("[data-tip]");
      if (item) { at = items.indexOf(item); show(item, event.clientX, event.clientY); } else { hide(); }
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const last = items.length - 1;
      const next = {
        ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1,
        PageDown: at + 10, PageUp: at - 10, Home: 0, End: last,
      }[event.key];
      if (event.key === "Escape") { hide(); return; }
      if (next === undefined) return;
      event.preventDefault();
      at = Math.min(last, Math.max(0, next));
      if (map) {
        const [box, frame] = [items[at].getBoundingClientRect(), svg.getBoundingClientRect()];
        const seen = box.left >= frame.left && box.right <= frame.right && box.top >= frame.top && box.bottom <= frame.bottom;
        if (!seen) map.centre(items[at]);
      } else {
        items[at].scrollIntoView({ block: "nearest", inline: "nearest" });
      }
      const box = items[at].getBoundingClientRect();
      show(items[at], box.left + box.width / 2, box.top + Math.min(box.height, 60) / 2);
    });
  }
  for (const button of document.querySelectorAll("button[data-fit]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const fit = button.nextElementSibling.classList.toggle("fit");
      button.setAttribute("aria-pressed", String(fit));
    });
  }
})();
