"use strict";
// Everything is there without this; it marks what is chosen everywhere, and zooms and moves bars.

// -- choosing: an element says with data-o, by number, which operations it is about ----------------

const list = document.querySelector("#operation");
let chosen = null;

function choose(number) {
  chosen = number;
  document.body.classList.toggle("chosen", number !== null);
  for (const element of document.querySelectorAll("[data-o], [data-of]")) {
    const about = (element.dataset.o ?? element.dataset.of).split(" ");
    element.classList.toggle("on", number !== null && about.includes(String(number)));
  }
  list.value = number ?? "";
  for (const box of document.querySelectorAll(".scroll")) reveal(box, box.querySelector(".on:not(.edge)"));
}

// Scroll a box, and not the page, to a mark that is out of sight in it.
function reveal(box, mark) {
  if (!mark) return;
  const [outer, inner] = [box, mark].map((element) => element.getBoundingClientRect());
  if (inner.top < outer.top || inner.bottom > outer.bottom) {
    box.scrollTop += inner.top - outer.top - outer.height / 2;
  }
  if (inner.left < outer.left || inner.right > outer.right) {
    box.scrollLeft += inner.left - outer.left - outer.width / 2;
  }
}

function step(by) {
  const count = list.options.length - 1;
  choose(by === 0 ? null : chosen === null ? (by > 0 ? 0 : count - 1) : (chosen + by + count) % count);
}

if (list) {
  list.addEventListener("change", () => choose(list.value === "" ? null : Number(list.value)));
  for (const button of document.querySelectorAll("[data-step]")) {
    button.addEventListener("click", () => step(Number(button.dataset.step)));
  }
  // Of several operations the next one with each click, then none.
  document.addEventListener("click", (event) => {
    const numbers = event.target.closest("[data-o]")?.dataset.o.split(" ").map(Number);
    if (numbers) choose(numbers[numbers.indexOf(chosen) + 1] ?? null);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") choose(null);
    const by = { n: 1, p: -1 }[event.key];
    if (by && event.target.matches("figure, .scroll")) step(by);
  });
}

// -- bars: all pictures of a section that are in one unit show the same part -----------------------

const NAMESPACE = "http://www.w3.org/2000/svg";
const LEAST = 32;  // units that are shown at least

class Bars {
  constructor(figure) {
    this.figure = figure;
    this.svg = figure.querySelector("svg");
    this.length = Number(figure.dataset.length);
    this.left = Number(this.svg.dataset.left);
    this.height = this.svg.viewBox.baseVal.height;
    this.lanes = figure.querySelectorAll(".lane");
    this.ticks = figure.querySelector(".ticks");
    this.bars = [...figure.querySelectorAll(".bar")].map((bar) => ({
      begin: Number(bar.dataset.b), end: Number(bar.dataset.e), label: bar.dataset.l,
      bar, rect: bar.querySelector("rect"), text: bar.querySelector("text"),
    }));
  }

  draw(from, to) {
    const width = Math.max(this.figure.clientWidth, 320);
    const inner = width - this.left, scale = inner / (to - from);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    for (const lane of this.lanes) lane.setAttribute("width", inner);
    for (const { begin, end, label, bar, rect, text } of this.bars) {
      const a = Math.max(begin, from), b = Math.min(end, to);
      bar.style.display = b > a ? "" : "none";
      if (b <= a) continue;
      const x = this.left + (a - from) * scale, wide = (b - a) * scale;
      rect.setAttribute("x", x);
      rect.setAttribute("width", Math.max(wide, 0.3));
      text.setAttribute("x", x + 3);
      text.textContent = label.length * 6.2 + 4 <= wide ? label : "";
    }
    this.ticks.replaceChildren();
    const every = round(60 / scale);
    for (let at = Math.ceil(from / every) * every; at <= to; at += every) {
      const text = document.createElementNS(NAMESPACE, "text");
      text.setAttribute("x", Math.min(this.left + (at - from) * scale, width - 18));
      text.setAttribute("y", this.height - 8);
      text.textContent = String(Math.round(at));
      this.ticks.append(text);
    }
  }
}

// The least 1, 2 or 5 times a power of ten that is not below a length.
function round(length) {
  const power = 10 ** Math.floor(Math.log10(length));
  return Math.max(1, [1, 2, 5, 10].find((n) => n * power >= length) * power);
}

class Axis {
  constructor(pictures) {
    this.pictures = pictures;
    this.all = Math.max(...pictures.map((picture) => picture.length));
    this.from = 0;
    this.to = this.all;
    for (const picture of pictures) this.listen(picture);
    this.draw();
  }

  draw() {
    for (const picture of this.pictures) picture.draw(this.from, this.to);
  }

  show(from, length) {
    const wide = Math.min(this.all, Math.max(Math.min(this.all, LEAST), length));
    this.from = Math.min(Math.max(0, from), this.all - wide);
    this.to = this.from + wide;
    this.draw();
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    const length = Math.min(this.all, Math.max(LEAST, (this.to - this.from) * factor));
    this.show(at - ((at - this.from) / (this.to - this.from)) * length, length);
  }

  listen({ figure, svg, left }) {
    const width = () => this.to - this.from;
    const deeds = {
      in: () => this.zoom(0.5), out: () => this.zoom(2), all: () => this.show(0, this.all),
      left: () => this.show(this.from - width() / 4, width()),
      right: () => this.show(this.from + width() / 4, width()),
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
      this.zoom(event.deltaY < 0 ? 0.8 : 1.25, this.from + Math.min(1, Math.max(0, share)) * width());
    }, { passive: false });
    // Dragging begins after some pixels, so that a click still chooses what is below it.
    let grabbed = null;
    svg.addEventListener("pointerdown", (event) => {
      grabbed = { x: event.clientX, from: this.from, moved: false };
    });
    svg.addEventListener("pointermove", (event) => {
      if (!grabbed) return;
      grabbed.moved ||= Math.abs(event.clientX - grabbed.x) > 4;
      if (!grabbed.moved) return;
      svg.setPointerCapture(event.pointerId);
      const scale = (svg.getBoundingClientRect().width - left) / width();
      this.show(grabbed.from - (event.clientX - grabbed.x) / scale, width());
    });
    for (const name of ["pointerup", "pointercancel", "pointerleave"]) {
      svg.addEventListener(name, () => { grabbed = null; });
    }
  }
}

const axes = [];
for (const section of document.querySelectorAll(".result")) {
  const pictures = [...section.querySelectorAll(".bars")].map((figure) => new Bars(figure));
  for (const unit of new Set(pictures.map((picture) => picture.figure.dataset.unit))) {
    axes.push(new Axis(pictures.filter((picture) => picture.figure.dataset.unit === unit)));
  }
}
window.addEventListener("resize", () => axes.forEach((axis) => axis.draw()));
window.addEventListener("beforeprint", () => axes.forEach((axis) => axis.show(0, axis.all)));
