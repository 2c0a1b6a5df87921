// The viewer: its state, and its drawing on the screen.

import { askContrast, askPicture, askTile } from "./api.js";
import { labelTable, parseColor } from "./colors.js";
import { fitView, shownPart, zoomAt } from "./geometry.js";
import { Layer } from "./layer.js";
import { createRenderer } from "./renderer.js";
import { setState } from "./state.js";
import { TileCache } from "./tile_cache.js";

const CAPACITY = 256 * 2 ** 20;
const ANY_WINDOW = { start: 0, end: 1 };

export class Viewer {
  /** @param onEvent  told `"opened"`, `"adjusted"`, `"changed"`, `"drawn"`, and `"failed"` or `"damaged"` with the error */
  constructor(canvas, tile, onEvent) {
    Object.assign(this, { canvas, tile, onEvent });
    this.image = null;
    this.labels = [];
    this.channels = [];
    this.planes = [];
    this.shownPlanes = [];
    this.ahead = []; // planes to be shown soon
    this.capacity = CAPACITY;
    this.screen = { width: canvas.width, height: canvas.height };
    this.opening = 0; // counts what was asked for
    this.opened = 0; // which of these is shown
    this.frame = null;
    this.#startRenderer();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.#startRenderer(true);
      for (const label of this.labels) label.table = tableFor(this.renderer, label.layer);
      this.changed();
    });
  }

  get aspect() {
    const { x, y } = this.image.told.pixel;
    return x && y ? Math.abs(y / x) : 1;
  }

  get size() {
    return { width: this.image.told.width, height: this.image.told.height };
  }

  /** The values that determine the visible tiles. */
  get shot() {
    return { view: this.view, screen: this.screen, aspect: this.aspect };
  }

  /**
   * Show a picture, `{path, plate}`, and its label images.
   *
   * @param isAlike  whether the picture is like the one before, as fields of a plate are: then settings are kept
   */
  async open(source, isAlike = false) {
    const number = ++this.opening;
    setState("busy");
    const told = await askPicture(source);
    const join = (part) => [source.path, part].filter(Boolean).join("/");
    const parts = await Promise.allSettled(told.labels.map((part) => askPicture({ ...source, path: join(part) })));
    if (number !== this.opening) return; // something else was asked for meanwhile
    this.opened = number;
    this.#release();
    const [channels, labels] = isAlike ? [this.channels, this.labels] : [[], []];
    this.image = new Layer(source, told, this.tile);
    this.isLabel = told.kind === "labels";
    this.planes = told.sliders.map(({ start }) => start);
    this.shownPlanes = this.planes;
    this.ahead = [];
    this.channels = told.channels.map((channel, index) => makeChannel(channel, channels[index]));
    this.labels = this.isLabel ? [this.#label(this.image, told.name ?? told.path, 1)] : [];
    parts.forEach((part, index) => {
      if (part.status === "rejected") {
        this.onEvent("failed", part.reason);
        return;
      }
      const name = told.labels[index].replace(/^labels\//, "");
      const layer = new Layer({ ...source, path: join(told.labels[index]) }, part.value, this.tile, told);
      const { visible, opacity, layer: before } = labels.find((label) => label.name === name) ?? {};
      layer.outlines = before?.outlines ?? false;
      this.labels.push(this.#label(layer, name, opacity ?? 0.5, visible));
    });
    this.fit();
    this.onEvent("opened");
  }

  /** Show the whole image. */
  fit() {
    this.moveTo(fitView(this.size, this.screen, this.aspect));
  }

  /** Zoom by a factor; the middle of the screen stays. */
  zoomBy(factor) {
    const middle = { x: this.screen.width / 2, y: this.screen.height / 2 };
    this.moveTo(zoomAt(this.view, this.screen, this.aspect, middle, factor, this.size));
  }

  moveTo(view) {
    this.view = view;
    this.changed();
  }

  resize(width, height) {
    const isWhole = this.view && this.view.zoom === fitView(this.size, this.screen, this.aspect).zoom;
    this.screen = { width, height };
    Object.assign(this.canvas, { width, height });
    if (isWhole) this.view = fitView(this.size, this.screen, this.aspect);
    if (this.image) this.changed();
  }

  showPlane(slider, plane) {
    const { length } = this.image.told.sliders[slider];
    this.planes = this.planes.with(slider, Math.min(Math.max(plane, 0), length - 1));
    this.changed();
  }

  /** Set the contrast windows of channels from their pixels in view. */
  async adjust(channels) {
    const { image, planes, shot } = this;
    const part = shownPart(shot.view, shot.screen, shot.aspect, this.size);
    await Promise.all(channels.map(async (channel) => {
      try {
        channel.window = await askContrast(image.source, this.channels.indexOf(channel), planes, part);
      } catch (error) {
        channel.window ??= ANY_WINDOW;
        this.onEvent("failed", error);
      }
    }));
    if (this.image !== image) return;
    this.onEvent("adjusted");
    this.changed();
  }

  /** Schedule a redraw after a visible change. */
  changed() {
    setState("busy");
    this.onEvent("changed");
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  /** Draw at once. */
  draw() {
    const { shot, image } = this;
    if (!image) return;
    const unknown = this.isLabel ? [] : this.channels.filter((channel) => channel.active && !channel.window);
    const asked = unknown.filter((channel) => !channel.isAsked);
    for (const channel of asked) channel.isAsked = true;
    if (asked.length) this.adjust(asked);
    const parts = this.parts(this.planes);
    const isLoaded = this.#want(parts);
    // While a plane loads, the plane before it stays on the screen: black frames between them would flicker.
    const isThere = ({ layer, channel, planes }) => layer.drawn(shot, channel, planes, this.cache).length > 0;
    if (isLoaded || this.cache.isSettled || parts.every(isThere)) this.shownPlanes = this.planes;
    this.renderer.begin(this.screen.width, this.screen.height);
    for (const { layer, channel, planes, draw } of this.parts(this.shownPlanes)) {
      draw(layer.drawn(shot, channel, planes, this.cache));
    }
    this.renderer.end();
    if (this.opened === this.opening && !unknown.length && this.cache.isSettled) setState("settled");
    this.onEvent("drawn");
  }

  /** Request the tiles in view, then those of the planes to be shown soon; return whether all tiles in view are loaded. */
  #want(parts) {
    const isLoaded = this.isLoaded(this.planes);
    const rough = ({ layer, channel, planes }) => layer.wanted(this.shot, channel, planes);
    const soon = this.ahead.flatMap((planes) => this.#sharp(planes));
    this.cache.want(isLoaded ? this.#sharp(this.planes) : parts.flatMap(rough), soon);
    return isLoaded;
  }

  /** Whether all tiles in view of these planes are loaded in the best level. */
  isLoaded(planes) {
    return this.#sharp(planes).every((tile) => this.cache.isDone(tile));
  }

  /** The memory that the tiles in view of one plane need. */
  get bytesOfPlane() {
    return this.#sharp(this.planes).reduce((sum, { bytes }) => sum + bytes, 0);
  }

  #sharp(planes) {
    return this.parts(planes).flatMap((part) => part.layer.sharp(this.shot, part.channel, part.planes));
  }

  /** The layers to draw: channels, then label images. */
  parts(planes, renderer = this.renderer) {
    const { image } = this;
    const channels = this.isLabel ? [] : this.channels.map((channel, number) => ({ channel, number }));
    const shown = channels.filter(({ channel }) => channel.active && channel.window);
    return [
      ...shown.map(({ channel, number }) => ({
        layer: image,
        channel: number,
        planes,
        draw: (tiles) =>
          renderer.addChannel(tiles, image.told.samples, {
            color: parseColor(channel.color), ...channel.window, gamma: channel.gamma }),
      })),
      ...this.labels.filter(({ visible }) => visible).map(({ layer, table, opacity }) => ({
        layer,
        channel: 0,
        planes: layer.planesLike(image.told.sliders, planes),
        draw: (tiles) => renderer.addLabels(tiles, renderer === this.renderer ? table : tableFor(renderer, layer), opacity),
      })),
    ];
  }

  #startRenderer(isRestored = false) {
    this.renderer = createRenderer(this.canvas, isRestored);
    this.cache = new TileCache({
      capacity: CAPACITY,
      load: async (tile, signal) => {
        const { source, told } = tile.layer;
        const samples = await askTile(source, tile, told.samples, signal);
        const { columns, rows } = tile.rect;
        return { texture: this.renderer.tileTexture(samples, told.samples, columns, rows), bytes: samples.byteLength };
      },
      free: ({ texture }) => this.renderer.freeTexture(texture),
      onChange: (error, tile) => {
        if (error) this.onEvent(error.isDamage ? "damaged" : "failed", error, tile);
        if (error || !this.cache.ahead.some(({ key }) => key === tile.key)) this.changed();
      },
    });
  }

  #release() {
    for (const { table } of this.labels) if (table) this.renderer.freeTexture(table.texture);
    this.cache.failed.clear();
  }

  #label(layer, name, opacity, visible = true) {
    return { layer, name, opacity, visible, table: tableFor(this.renderer, layer) };
  }
}

/** The colours of a label image for a renderer; null without any. */
function tableFor(renderer, layer) {
  const table = labelTable(layer.told.colors);
  return table && renderer.tableTexture(table);
}

function makeChannel(told, before) {
  const { active, color, window, gamma = 1 } = before?.label === told.label ? before : told;
  return { label: told.label, reach: told.reach, active, color, window: window && { ...window }, gamma };
}
