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
  for (const svg of document.querySelectorAll(".frame svg")) {
    const items = [];
    for (const title of svg.querySelectorAll("title")) {
      const item = title.parentNode;
      item.dataset.tip = title.textContent;
      title.remove();
      items.push(item);
    }
    if (!items.length) continue;
    let at = -1;
    svg.setAttribute("tabindex", "0");
    svg.setAttribute("aria-roledescription", "figure; arrow keys read its parts");
    svg.addEventListener("pointermove", (event) => {
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
      items[at].scrollIntoView({ block: "nearest", inline: "nearest" });
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
