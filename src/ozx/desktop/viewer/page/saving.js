// Saving: pictures of the view or of the whole plane as PNG files, and the pixels of the region in view.

import { askCrop, askTile } from "./api.js";
import { CanvasRenderer } from "./canvas_renderer.js";
import { make } from "./elements.js";
import { shownPart } from "./geometry.js";
import { drawBar } from "./overlay.js";

// Browsers draw no canvas with longer sides, and keep four bytes for each pixel.
const LONGEST = 16384;
const MOST_PIXELS = 2 ** 27;

/** Save what is on the screen, with the scale bar and the names of wells. */
export async function saveView(viewer, overlay, name) {
  viewer.draw(); // a picture by WebGL is there only until the browser shows it
  const canvas = make("canvas", viewer.screen);
  const context = canvas.getContext("2d");
  context.drawImage(viewer.canvas, 0, 0);
  context.drawImage(overlay, 0, 0);
  await download(canvas, `${planeName(viewer, name)}.png`);
}

/**
 * Save the whole plane in full resolution, with a scale bar; a plane too large for browsers in the finest level that fits.
 *
 * @param onProgress  called with the share that is done, 0 to 1
 * @returns how many pixels of the image one saved pixel covers
 */
export async function savePlane(viewer, name, onProgress) {
  const { image, tile, size } = viewer;
  const fits = ({ width, height }) => Math.max(width, height) <= LONGEST && width * height <= MOST_PIXELS;
  const level = image.levels.find(fits) ?? image.levels.at(-1);
  const [down, right] = level.factor;
  const canvas = make("canvas", { width: level.width, height: level.height });
  const context = canvas.getContext("2d");
  const renderer = new CanvasRenderer();
  const parts = viewer.parts(viewer.planes, renderer);
  for (let top = 0; top < level.height; top += tile) {
    for (let left = 0; left < level.width; left += tile) {
      onProgress((top + (left / level.width) * tile) / level.height);
      const screen = { width: Math.min(tile, level.width - left), height: Math.min(tile, level.height - top) };
      const middle = { x: (left + screen.width / 2) * right, y: (top + screen.height / 2) * down };
      const shot = { view: { ...middle, zoom: 1 / right }, screen, aspect: right / down };
      await drawParts(parts, shot, renderer);
      context.putImageData(renderer.image, left, top);
    }
  }
  const { pixel } = image.told;
  drawBar(context, pixel, 1 / right, canvas, Math.max(1, Math.min(canvas.width, canvas.height) / 800));
  await download(canvas, `${planeName(viewer, name)}-full.png`);
  return Math.max(size.width / level.width, 1);
}

/** Save the region in view with all channels, planes and labels, as a file that ends in `ending`; return notes. */
export async function saveRegion(viewer, name, ending) {
  const { shot, size, image } = viewer;
  const part = shownPart(shot.view, shot.screen, shot.aspect, size);
  const { blob, notes } = await askCrop(image.source.path, part, ending);
  save(blob, `${imageName(viewer, name)}-crop${ending}`);
  return notes;
}

async function drawParts(parts, shot, renderer) {
  renderer.begin(shot.screen.width, shot.screen.height);
  const loaded = new Map();
  const tiles = parts.flatMap(({ layer, channel, planes }) => layer.wanted(shot, channel, planes));
  await Promise.all(tiles.map(async (tile) => {
    const { source, told } = tile.layer;
    try {
      const samples = await askTile(source, tile, told.samples);
      const { columns, rows } = tile.rect;
      loaded.set(tile.key, { texture: renderer.tileTexture(samples, told.samples, columns, rows) });
    } catch (error) {
      if (!error.isDamage) throw error; // a coarser tile stands in
    }
  }));
  for (const { layer, channel, planes, draw } of parts) draw(layer.drawn(shot, channel, planes, loaded));
}

function planeName(viewer, name) {
  const { told } = viewer.image;
  const planes = told.sliders.flatMap((slider, number) =>
    (slider.length > 1 ? [`${slider.name}${viewer.planes[number] + 1}`] : []));
  return [imageName(viewer, name), ...planes].join("-");
}

function imageName({ image: { source } }, name) {
  return [name.replace(/\.(ome\.)?(ozx|zarr|zip)$/i, ""), ...source.path.split("/")].filter(Boolean).join("-");
}

async function download(canvas, name) {
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  if (!blob) throw new Error(`the browser cannot make a picture of ${canvas.width} × ${canvas.height} pixels`);
  save(blob, name);
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = make("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
