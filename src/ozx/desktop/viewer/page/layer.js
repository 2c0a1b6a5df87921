// A picture on the page: the tiles that a view needs, and the loaded tiles that it draws.

import { chooseLevel, toScreen, visiblePart, visibleTiles } from "./geometry.js";

const BYTES = { uint8: 1, int8: 1, uint16: 2, int16: 2, uint32: 4, int32: 4, float32: 4 };

export class Layer {
  /**
   * @param source  `{path, plate}`
   * @param told  the server's description of the picture
   * @param tile  width and height of a tile
   * @param like  the picture under this one, of the same area
   */
  constructor(source, told, tile, like = told) {
    Object.assign(this, { source, told, tile, outlines: false }); // of labels: only their edges
    const [down, right] = [like.height / told.height, like.width / told.width];
    this.levels = told.levels.map((level) => ({ ...level, factor: [level.factor[0] * down, level.factor[1] * right] }));
    this.name = `${source.plate ? "plate" : "image"}:${source.path}`;
  }

  /** The planes of this picture that belong to the `planes` of another, by the names of their sliders. */
  planesLike(sliders, planes) {
    return this.told.sliders.map(({ name, length }) => {
      const number = sliders.findIndex((slider) => slider.name === name);
      return number < 0 ? 0 : Math.floor((planes[number] * length) / sliders[number].length);
    });
  }

  /** The tiles of one channel in view, of the best level. */
  sharp(shot, channel, planes) {
    return this.#tiles(chooseLevel(this.levels, shot.view.zoom, shot.aspect), shot, channel, planes);
  }

  /** The tiles of one channel in view: first a few of the lowest level, which load fast, then those of the best level. */
  wanted(shot, channel, planes) {
    const best = chooseLevel(this.levels, shot.view.zoom, shot.aspect);
    const lowest = this.levels.length - 1;
    const tiles = this.sharp(shot, channel, planes);
    const rough = best < lowest ? this.#tiles(lowest, shot, channel, planes) : [];
    return rough.length < tiles.length ? [...rough, ...tiles] : tiles;
  }

  /** The loaded tiles, lower resolutions first, as `{texture, rect}` in device pixels. */
  drawn(shot, channel, planes, cache) {
    const best = chooseLevel(this.levels, shot.view.zoom, shot.aspect);
    const there = (level) => this.#tiles(level, shot, channel, planes).map((tile) => [tile, cache.get(tile.key)]);
    const sharp = there(best);
    const isWhole = sharp.every(([, found]) => found);
    const lower = isWhole ? [] : this.levels.map((_, level) => level).filter((level) => level > best).reverse();
    return [...lower.flatMap(there), ...sharp]
      .filter(([, found]) => found)
      .map(([tile, found]) => ({ texture: found.texture, rect: onScreen(shot, tile.rect) }));
  }

  #tiles(level, shot, channel, planes) {
    const part = visiblePart(shot.view, shot.screen, shot.aspect);
    const prefix = `${this.name}${this.outlines ? "~" : ""}|${planes.join(",")}|${channel}|${level}`;
    return visibleTiles(this.levels[level], this.tile, part).map(({ row, column, rect }) => ({
      key: `${prefix}|${row}|${column}`,
      bytes: rect.rows * rect.columns * BYTES[this.told.samples],
      layer: this,
      outlines: this.outlines,
      level,
      row,
      column,
      channel,
      planes,
      rect,
    }));
  }
}

function onScreen(shot, rect) {
  const { x, y } = toScreen(shot.view, shot.screen, shot.aspect, rect);
  return { x, y, width: rect.width * shot.view.zoom, height: rect.height * shot.view.zoom * shot.aspect };
}
