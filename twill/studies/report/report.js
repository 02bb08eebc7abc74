"use strict";
// Timelines: the bars are there without this; it zooms and moves them.
for (const figure of document.querySelectorAll(".timeline")) {
  const svg = figure.querySelector("svg");
  const all = Number(figure.dataset.cycles);
  const left = Number(svg.dataset.left);
  const height = svg.viewBox.baseVal.height;
  const bars = [...svg.querySelectorAll(".bar")].map((bar) => ({
    begin: Number(bar.dataset.b), end: Number(bar.dataset.e), label: bar.dataset.l,
    bar, rect: bar.querySelector("rect"), text: bar.querySelector("text"),
  }));
  const lanes = svg.querySelectorAll(".lane");
  const ticks = svg.querySelector(".ticks");
  const least = Math.min(all, 32);
  let from = 0, to = all;

  function step(length) {
    const raw = length / 8, power = 10 ** Math.floor(Math.log10(raw));
    return Math.max(1, [1, 2, 5, 10].find((n) => n * power >= raw) * power);
  }

  function draw() {
    const width = Math.max(figure.clientWidth, 320);
    const inner = width - left, scale = inner / (to - from);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.style.height = `${height}px`;
    for (const lane of lanes) lane.setAttribute("width", inner);
    for (const { begin, end, label, bar, rect, text } of bars) {
      const a = Math.max(begin, from), b = Math.min(end, to);
      bar.style.display = b > a ? "" : "none";
      if (b <= a) continue;
      const x = left + (a - from) * scale, wide = (b - a) * scale;
      rect.setAttribute("x", x);
      rect.setAttribute("width", Math.max(wide, 0.3));
      text.setAttribute("x", x + 3);
      text.textContent = label.length * 6.2 <= wide ? label : "";
    }
    ticks.replaceChildren();
    const by = step((to - from) * Math.min(1, 700 / inner) || 1);
    const every = Math.max(by, Math.ceil(60 / scale / by) * by);
    for (let cycle = Math.ceil(from / every) * every; cycle <= to; cycle += every) {
      const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
      const x = left + (cycle - from) * scale;
      text.setAttribute("x", Math.min(x, width - 18));
      text.setAttribute("y", height - 8);
      text.textContent = String(Math.round(cycle));
      ticks.append(text);
    }
  }

  function show(a, length) {
    const wide = Math.min(all, Math.max(least, length));
    from = Math.min(Math.max(0, a), all - wide);
    to = from + wide;
    draw();
  }

  function zoom(factor, at = (from + to) / 2) {
    const length = Math.min(all, Math.max(least, (to - from) * factor));
    show(at - ((at - from) / (to - from)) * length, length);
  }

  const deeds = {
    in: () => zoom(0.5), out: () => zoom(2), all: () => show(0, all),
    left: () => show(from - (to - from) / 4, to - from),
    right: () => show(from + (to - from) / 4, to - from),
  };
  const keys = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all" };
  for (const button of figure.querySelectorAll("button")) {
    button.addEventListener("click", () => deeds[button.dataset.do]());
  }
  figure.addEventListener("keydown", (event) => {
    const deed = keys[event.key];
    if (!deed || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    deeds[deed]();
  });
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    const share = (event.clientX - box.left - left) / (box.width - left);
    zoom(event.deltaY < 0 ? 0.8 : 1.25, from + Math.min(1, Math.max(0, share)) * (to - from));
  }, { passive: false });
  let grabbed = null;
  svg.addEventListener("pointerdown", (event) => {
    grabbed = { x: event.clientX, from };
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!grabbed) return;
    const scale = (svg.getBoundingClientRect().width - left) / (to - from);
    show(grabbed.from - (event.clientX - grabbed.x) / scale, to - from);
  });
  svg.addEventListener("pointerup", () => { grabbed = null; });
  svg.addEventListener("pointercancel", () => { grabbed = null; });
  window.addEventListener("resize", draw);
  window.addEventListener("beforeprint", () => show(0, all));
  draw();
}
