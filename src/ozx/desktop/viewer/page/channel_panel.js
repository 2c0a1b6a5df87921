// The panel of the channels: whether each is shown, its colour, its contrast window.

import { showNumber, sliderReach } from "./contrast.js";
import { make } from "./elements.js";

// The most channels to list; a longer list is useless.
const MOST_CHANNELS = 64;

export class ChannelPanel {
  constructor(section, viewer) {
    Object.assign(this, { section, viewer });
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
    );
    this.update();
  }

  /** Update the controls from the channels. */
  update() {
    for (const row of this.rows) row.update();
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
    const auto = make("button", { type: "button", title: "contrast from what is in view", onclick: async () => {
      await viewer.adjust([channel]);
      this.update();
    } }, "Auto");
    const limits = ["start", "end"].map((end) => this.#limit(channel, end, change));
    const name = make("label", { className: "name", title: channel.label }, shown, ` ${channel.label}`);
    const element = make("div", { className: "channel" },
      make("div", { className: "row" }, name, color, auto),
      ...limits.map((limit) => limit.element));
    const update = () => {
      element.classList.toggle("off", !channel.active);
      shown.checked = channel.active;
      color.value = `#${channel.color.toLowerCase()}`;
      for (const limit of limits) limit.update();
    };
    return { element, update };
  }

  #limit(channel, end, change) {
    const what = end === "start" ? "black" : "full";
    const set = (value) => {
      const window = { ...channel.window, [end]: value };
      if (window.start < window.end) change({ window });
      else update();
    };
    const range = make("input", { type: "range", step: "any", "aria-label": `${what} of ${channel.label}`,
      oninput: () => set(exact(range.valueAsNumber, channel)) });
    const number = make("input", { type: "number", step: "any", "aria-label": `value that is ${what} in ${channel.label}`,
      onchange: () => Number.isFinite(number.valueAsNumber) && set(number.valueAsNumber) });
    // The track must not move under a handle.
    let reach = null;
    range.addEventListener("pointerdown", () => (reach = sliderReach(channel.window, channel.reach)));
    range.addEventListener("pointerup", () => { reach = null; update(); });
    const update = () => {
      if (!channel.window) return;
      const { min, max } = reach ?? sliderReach(channel.window, channel.reach);
      Object.assign(range, { min, max, value: channel.window[end] });
      number.value = showNumber(channel.window[end], channel.window.end - channel.window.start);
    };
    return { element: make("div", { className: "row" }, range, number), update };
  }
}

/** Integers stay integers where the window spans many of them. */
function exact(value, channel) {
  const isWhole = channel.reach && channel.window.end - channel.window.start > 8;
  return isWhole && Number.isInteger(channel.reach[1]) ? Math.round(value) : value;
}
