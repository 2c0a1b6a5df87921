// The histogram of one channel in view, with its contrast window and its gamma curve.

import { askHistogram } from "./api.js";
import { parseColor } from "./colors.js";
import { make } from "./elements.js";
import { shownPart } from "./geometry.js";

const PAUSE = 150;
const HEIGHT = 56; // in pixels of the page, as in style.css
const GRASP = 8; // how near a line has to be to be dragged

export class Histogram {
  /**
   * @param reach  gives the least and the greatest value that is drawn
   * @param onDrag  called with `"start"` or `"end"` and its new value
   */
  constructor(viewer, channel, reach, onDrag) {
    Object.assign(this, { viewer, channel, reach, onDrag });
    this.element = make("canvas", { className: "histogram", "aria-label": `histogram of ${channel.label}`, "role": "img" });
    this.counts = [];
    this.key = null;
    this.#followPointer();
  }

  /** Schedule a drawing of the histogram of the pixels in view. */
  update() {
    if (!this.element.clientWidth || !this.channel.window) return; // not open
    this.#draw();
    const { viewer } = this;
    const { view, screen, aspect } = viewer.shot;
    const part = shownPart(view, screen, aspect, viewer.size);
    const { min, max } = this.reach();
    const key = [viewer.image.name, viewer.planes, Object.values(part), min, max].join();
    if (key === this.key || this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.key = key;
      this.#ask(part, min, max);
    }, PAUSE);
  }

  async #ask(part, min, max) {
    const { viewer, channel, key } = this;
    try {
      const number = viewer.channels.indexOf(channel);
      const { counts } = await askHistogram(viewer.image.source, number, viewer.planes, part, min, max);
      Object.assign(this, { counts, min, max });
    } catch {
      this.counts = []; // the picture itself tells what is wrong
    }
    if (this.key === key) this.update();
  }

  #draw() {
    const { element, counts, channel } = this;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [element.clientWidth * ratio, HEIGHT * ratio];
    Object.assign(element, { width, height });
    const context = element.getContext("2d");
    const { min, max } = this.reach();
    const across = (value) => ((value - min) / (max - min || 1)) * width;
    const [start, end] = [across(channel.window.start), across(channel.window.end)];
    const most = Math.log1p(Math.max(1, ...counts));
    const step = (this.max - this.min) / counts.length;
    const color = parseColor(channel.color).map((part) => Math.round(255 * (0.25 + 0.75 * part)));
    counts.forEach((count, number) => {
      const [left, right] = [number, number + 1].map((side) => Math.round(across(this.min + side * step)));
      const high = (Math.log1p(count) / most) * (height - 4 * ratio);
      const isShown = right > start && left < end;
      context.fillStyle = `rgb(${color.join(" ")} / ${isShown ? 75 : 28}%)`;
      context.fillRect(left, height - high, Math.max(right - left, 1), high);
    });
    context.fillStyle = "rgb(255 255 255 / 55%)";
    const inside = (line) => Math.min(Math.max(line - ratio / 2, 0), width - ratio);
    for (const line of [start, end]) context.fillRect(inside(line), 0, ratio, height);
    context.beginPath();
    context.moveTo(0, height - ratio);
    for (let x = 0; x <= width; x += ratio) {
      const share = Math.min(Math.max((x - start) / (end - start || 1), 0), 1) ** channel.gamma;
      context.lineTo(x, height - ratio - share * (height - 2 * ratio));
    }
    context.strokeStyle = "#fff";
    context.lineWidth = 1.5 * ratio;
    context.stroke();
  }

  /** The lines of the window can be dragged. */
  #followPointer() {
    const { element } = this;
    let dragged = null;
    const value = (event) => {
      const { min, max } = this.reach();
      return min + (event.offsetX / element.clientWidth) * (max - min);
    };
    const nearest = (event) => {
      const { min, max } = this.reach();
      const away = ["start", "end"].map((side) =>
        Math.abs(this.channel.window[side] - value(event)) / (max - min) * element.clientWidth);
      const least = Math.min(...away);
      return least > GRASP ? null : ["start", "end"][away.lastIndexOf(least)];
    };
    element.addEventListener("pointerdown", (event) => {
      dragged = nearest(event);
      if (dragged) element.setPointerCapture(event.pointerId);
    });
    element.addEventListener("pointermove", (event) => {
      element.style.cursor = dragged || nearest(event) ? "ew-resize" : "";
      if (dragged) this.onDrag(dragged, value(event));
    });
    for (const name of ["pointerup", "pointercancel"]) element.addEventListener(name, () => (dragged = null));
  }
}
