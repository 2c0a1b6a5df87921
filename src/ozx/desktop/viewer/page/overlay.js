// The overlay: the scale bar, and the names of wells.

import { toScreen } from "./geometry.js";
import { scaleBar } from "./scale_bar.js";

const MARGIN = 12;
const BAR = 4;

/** Draw the scale bar, and of a plate the lines between wells and their names. */
export function drawOverlay(canvas, viewer, plate) {
  const ratio = window.devicePixelRatio || 1;
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, canvas.width, canvas.height);
  if (plate) drawWells(context, viewer, plate, ratio);
  drawBar(context, viewer.image.told.pixel, viewer.view.zoom, viewer.screen, ratio);
}

/** The well at a point of the image, `{row, column, fields}`, or undefined. */
export function wellAt(viewer, plate, point) {
  const row = Math.floor((point.y / viewer.size.height) * plate.rows.length);
  const column = Math.floor((point.x / viewer.size.width) * plate.columns.length);
  return plate.wells.find((well) => well.row === row && well.column === column);
}

export function wellName(plate, well) {
  return `${plate.rows[well.row]}${plate.columns[well.column]}`;
}

function drawWells(context, viewer, plate, ratio) {
  const { shot, size } = viewer;
  const width = size.width / plate.columns.length;
  const height = size.height / plate.rows.length;
  const corner = (row, column) =>
    toScreen(shot.view, shot.screen, shot.aspect, { x: column * width, y: row * height });
  const there = new Set(plate.wells.map(({ row, column }) => `${row} ${column}`));
  context.strokeStyle = "rgb(120 128 144 / 70%)";
  context.lineWidth = ratio;
  const first = corner(0, 0);
  const next = corner(1, 1);
  const [cellWidth, cellHeight] = [next.x - first.x, next.y - first.y];
  const letter = Math.max(9 * ratio, Math.min(16 * ratio, cellHeight / 5));
  context.font = `600 ${letter}px system-ui, sans-serif`;
  context.textBaseline = "top";
  plate.rows.forEach((_, row) => {
    plate.columns.forEach((__, column) => {
      const { x, y } = corner(row, column);
      context.strokeRect(x + 0.5, y + 0.5, cellWidth, cellHeight);
      if (cellWidth < 3 * letter) return; // names would cover each other
      context.fillStyle = there.has(`${row} ${column}`) ? "#fff" : "rgb(255 255 255 / 35%)";
      write(context, wellName(plate, { row, column }), x + 5 * ratio, y + 4 * ratio);
    });
  });
}

/** Draw the scale bar for pixels of a size, `ratio` times as large as on a plain screen. */
export function drawBar(context, pixel, zoom, { width, height }, ratio) {
  const { length, text } = scaleBar(pixel.x, pixel.unit, zoom, Math.min(width / 4, 200 * ratio));
  const [right, bottom] = [width - MARGIN * ratio, height - MARGIN * ratio];
  context.fillStyle = "rgb(0 0 0 / 60%)";
  context.fillRect(right - length - ratio, bottom - BAR * ratio - ratio, length + 2 * ratio, BAR * ratio + 2 * ratio);
  context.fillStyle = "#fff";
  context.fillRect(right - length, bottom - BAR * ratio, length, BAR * ratio);
  context.font = `${13 * ratio}px system-ui, sans-serif`;
  context.textBaseline = "bottom";
  const wide = context.measureText(text).width;
  write(context, text, right - length / 2 - wide / 2, bottom - (BAR + 3) * ratio);
}

function write(context, text, x, y) {
  context.lineJoin = "round";
  const { strokeStyle, lineWidth } = context;
  context.strokeStyle = "rgb(0 0 0 / 80%)";
  context.lineWidth = letterEdge(context.font);
  context.strokeText(text, x, y);
  Object.assign(context, { strokeStyle, lineWidth });
  context.fillText(text, x, y);
}

function letterEdge(font) {
  return Math.max(3, Number(/([\d.]+)px/.exec(font)[1]) / 5);
}
