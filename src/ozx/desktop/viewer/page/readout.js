// Position and value of the pixel under the pointer. Values come from the server, because the graphics card lacks some of
// them.

import { askValues } from "./api.js";
import { fourDigits, shortUnit } from "./scale_bar.js";

const PAUSE = 40;
const MOST_CHANNELS = 12;

export class Readout {
  constructor(output, viewer) {
    Object.assign(this, { output, viewer });
    this.abort = new AbortController();
    this.place = null;
  }

  /** Show position and value at a point of the image; nothing for null or a point outside. */
  show(point, extra = "") {
    const { viewer, output } = this;
    const { width, height } = viewer.size;
    const [x, y] = point ? [Math.floor(point.x), Math.floor(point.y)] : [-1, -1];
    const isInside = x >= 0 && y >= 0 && x < width && y < height;
    const place = isInside ? [viewer.image.name, x, y, ...viewer.planes].join() : null;
    if (!isInside) output.textContent = extra;
    if (place === this.place) return;
    this.place = place;
    this.abort.abort();
    clearTimeout(this.timer);
    if (!isInside) return;
    const told = `${extra ? `${extra}   ` : ""}${this.#position(x, y)}`;
    output.textContent = told;
    this.abort = new AbortController();
    this.timer = setTimeout(() => this.#fill(x, y, told, this.abort.signal), PAUSE);
  }

  #position(x, y) {
    const { pixel } = this.viewer.image.told;
    const pixels = `x ${x}  y ${y}`;
    if (!pixel.x || !pixel.unit) return pixels;
    const [top, left] = pixel.origin;
    const places = [x * pixel.x + left, y * (pixel.y ?? 1) + top].map(fourDigits);
    return `${pixels}   ${places.join(", ")} ${shortUnit(pixel.unit)}`;
  }

  async #fill(x, y, told, signal) {
    const { viewer } = this;
    const { image, planes } = viewer;
    const channels = viewer.isLabel ? [] : viewer.channels.flatMap(({ active }, number) => (active ? [number] : []));
    try {
      const shown = channels.slice(0, MOST_CHANNELS);
      const asked = [shown.length ? askValues(image.source, x, y, shown, planes, signal) : { values: [] }];
      const labels = viewer.labels.filter(({ visible }) => visible);
      for (const { layer } of labels) {
        const [across, down] = [layer.told.width / viewer.size.width, layer.told.height / viewer.size.height];
        const own = layer.planesLike(image.told.sliders, planes);
        asked.push(askValues(layer.source, Math.floor(x * across), Math.floor(y * down), [0], own, signal));
      }
      const [values, ...found] = await Promise.all(asked);
      // Whole numbers are exact; those that JavaScript does not have come as text.
      const show = (value) => (Number.isFinite(value) && !Number.isInteger(value) ? fourDigits(value) : value);
      const parts = values.values.map((value, number) => `${viewer.channels[shown[number]].label} ${show(value)}`);
      found.forEach(({ values: [value], properties }, number) => {
        const known = Object.entries(properties?.[0] ?? {}).map(([name, text]) => `${name} ${text}`);
        parts.push(`${labels[number].name} ${value}${known.length ? ` (${known.join(", ")})` : ""}`);
      });
      this.output.textContent = [told, ...parts].join("   ");
    } catch (error) {
      if (!signal.aborted) this.output.textContent = `${told}   ${error.message}`;
    }
  }
}
