// The panel of the channels: whether each is shown, its colour, its contrast window, its histogram and gamma.

import { showNumber, sliderReach } from "./contrast.js";
import { make } from "./elements.js";
import { Histogram } from "./histogram.js";

// The largest number of channels to list; a longer list is useless.
const MOST_CHANNELS = 64;

export class ChannelPanel {
  /** @param onKeep  called when a person wants to keep the colours in the file */
  constructor(section, viewer, onKeep) {
    Object.assign(this, { section, viewer, onKeep });
    this.rows = [];
  }

  build() {
    const { viewer } = this;
    const channels = viewer.isLabel ? [] : viewer.channels.slice(0, MOST_CHANNELS);
    this.rows = channels.map((channel) => this.#row(channel));
    const rest = viewer.channels.length - channels.length;
    this.section.replaceChildren(
      ...(channels.length ? [make("h2", {}, "Channels")] : []),
      ...this.rows.map(({ element }) => element),
      ...(rest && channels.length ? [make("p", { className: "value" }, `and ${rest} more`)] : []),
      ...(viewer.image.told.can_keep && channels.length
        ? [make("button", { type: "button", id: "keep", onclick: this.onKeep }, "Keep these colours in the file…")] : []),
    );
    this.update();
  }

  /** Update the controls from the channels. */
  update() {
    for (const row of this.rows) row.update();
  }

  /** Update the histograms that are open, after the view has changed. */
  updateHistograms() {
    for (const { histogram } of this.rows) histogram.update();
  }

  #row(channel) {
    const { viewer } = this;
    const change = (values) => {
      Object.assign(channel, values);
      this.update();
      viewer.changed();
    };
    const shown = make("input", { type: "checkbox", onchange: () => change({ active: shown.checked }) });
    const color = make("input", {
      type: "color",
      "aria-label": `colour of ${channel.label}`,
      oninput: () => change({ color: color.value.slice(1).toUpperCase() }),
    });
    const auto = make("button", { type: "button", title: "contrast from the visible pixels", onclick: async () => {
      await viewer.adjust([channel]);
      this.update();
    } }, "Auto");
    // The range of the sliders must not change while the user drags a handle.
    let frozen = null;
    const hold = (isHeld) => {
      frozen = isHeld ? sliderReach(channel.window, channel.reach) : null;
      if (!isHeld) update();
    };
    const reach = () => frozen ?? sliderReach(channel.window, channel.reach);
    const set = (end, value) => {
      const window = { ...channel.window, [end]: value };
      if (window.start < window.end) change({ window });
      else update();
    };
    const limits = ["start", "end"].map((end) => limitRow(channel, end, { reach, hold, set }));
    const histogram = new Histogram(viewer, channel, reach, (end, value) => set(end, exact(value, channel)));
    histogram.element.addEventListener("pointerdown", () => hold(true));
    for (const name of ["pointerup", "pointercancel"]) histogram.element.addEventListener(name, () => hold(false));
    const gamma = gammaRow(channel, change);
    const curve = make("details", { className: "curve", ontoggle: () => histogram.update() },
      make("summary", {}, "Histogram"), histogram.element, gamma.element);
    const name = make("label", { className: "name", title: channel.label }, shown, ` ${channel.label}`);
    const element = make("div", { className: "channel" },
      make("div", { className: "row" }, name, color, auto),
      ...limits.map((limit) => limit.element), curve);
    const update = () => {
      element.classList.toggle("off", !channel.active);
      shown.checked = channel.active;
      color.value = `#${channel.color.toLowerCase()}`;
      for (const part of [...limits, gamma, histogram]) part.update();
    };
    return { element, update, histogram };
  }
}

/** A slider and a number for one end of the window. */
function limitRow(channel, end, { reach, hold, set }) {
  const what = end === "start" ? "black" : "full";
  const range = make("input", { type: "range", step: "any", "aria-label": `${what} of ${channel.label}`,
    oninput: () => set(end, exact(range.valueAsNumber, channel)),
    onpointerdown: () => hold(true), onpointerup: () => hold(false) });
  const number = make("input", { type: "number", step: "any", "aria-label": `value that is ${what} in ${channel.label}`,
    onchange: () => Number.isFinite(number.valueAsNumber) && set(end, number.valueAsNumber) });
  const update = () => {
    if (!channel.window) return;
    const { min, max } = reach();
    Object.assign(range, { min, max, value: channel.window[end] });
    number.value = showNumber(channel.window[end], channel.window.end - channel.window.start);
  };
  return { element: make("div", { className: "row" }, range, number), update };
}

/** A slider and a number for gamma: the exponent of a pixel's position in the window (from 0 to 1). */
function gammaRow(channel, change) {
  const range = make("input", { type: "range", min: -2, max: 2, step: 0.05, "aria-label": `gamma of ${channel.label}`,
    oninput: () => change({ gamma: Number((2 ** range.valueAsNumber).toFixed(3)) }) });
  const number = make("input", { type: "number", min: 0.05, max: 20, step: 0.05,
    "aria-label": `number of gamma of ${channel.label}`,
    onchange: () => number.valueAsNumber > 0 && change({ gamma: number.valueAsNumber }) });
  const symbol = make("button", { type: "button", className: "gamma", title: "gamma; click for 1",
    onclick: () => change({ gamma: 1 }) }, "γ");
  const update = () => {
    range.value = Math.log2(channel.gamma);
    number.value = String(Number(channel.gamma.toFixed(3)));
  };
  return { element: make("div", { className: "row" }, symbol, range, number), update };
}

/** Return a rounded value if the pixels are integers and the window spans many of them. */
function exact(value, channel) {
  const isWhole = channel.reach && channel.window.end - channel.window.start > 8;
  return isWhole && Number.isInteger(channel.reach[1]) ? Math.round(value) : value;
}
