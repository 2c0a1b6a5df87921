import assert from "node:assert/strict";
import { test } from "node:test";
import {
  chooseLevel, fitView, moveBy, shownPart, tileRect, toImage, toScreen, visiblePart, visibleTiles, zoomAt,
} from "../../../../src/ozx/desktop/viewer/page/geometry.js";

const screen = { width: 400, height: 200 };
const size = { width: 1000, height: 1000 };
const levels = [1, 2, 4].map((factor) => ({ width: 1000 / factor, height: 1000 / factor, factor: [factor, factor] }));

test("the whole image fits on the screen", () => {
  assert.deepEqual(fitView(size, screen, 1), { x: 500, y: 500, zoom: 0.2 });
  assert.equal(fitView(size, screen, 2).zoom, 0.1); // pixels twice as high as wide
});

test("a small image is not blown up without end", () => {
  assert.equal(fitView({ width: 1, height: 1 }, screen, 1).zoom, 64);
});

test("screen and image coordinates are each other's inverse", () => {
  const view = { x: 300, y: 200, zoom: 0.7 };
  const point = toImage(view, screen, 1.5, { x: 31, y: 77 });
  const back = toScreen(view, screen, 1.5, point);
  assert.ok(Math.abs(back.x - 31) < 1e-9 && Math.abs(back.y - 77) < 1e-9);
});

test("what is under the pointer stays there when zooming", () => {
  const view = { x: 300, y: 200, zoom: 0.7 };
  const pointer = { x: 390, y: 10 };
  const before = toImage(view, screen, 1, pointer);
  const after = toImage(zoomAt(view, screen, 1, pointer, 3, size), screen, 1, pointer);
  assert.ok(Math.abs(before.x - after.x) < 1e-9 && Math.abs(before.y - after.y) < 1e-9);
});

test("zooming has ends", () => {
  const view = fitView(size, screen, 1);
  assert.equal(zoomAt(view, screen, 1, { x: 0, y: 0 }, 1e-9, size).zoom, view.zoom / 4);
  assert.equal(zoomAt(view, screen, 1, { x: 0, y: 0 }, 1e9, size).zoom, 64);
});

test("the image cannot be moved out of sight", () => {
  const view = moveBy(fitView(size, screen, 1), 1, -1e6, 1e6, size);
  assert.deepEqual([view.x, view.y], [1000, 0]);
});

test("the pixels on the screen, or all where there are none", () => {
  assert.deepEqual(shownPart({ x: 100, y: 990, zoom: 1 }, screen, 1, size), { top: 890, left: 0, bottom: 1000, right: 300 });
  assert.deepEqual(shownPart({ x: -500, y: 0, zoom: 1 }, screen, 1, size), { top: 0, left: 0, bottom: 1000, right: 1000 });
});

test("the level whose pixels are those of the screen", () => {
  assert.equal(chooseLevel(levels, 1, 1), 0);
  assert.equal(chooseLevel(levels, 0.5, 1), 1);
  assert.equal(chooseLevel(levels, 0.26, 1), 1);
  assert.equal(chooseLevel(levels, 0.1, 1), 2);
  assert.equal(chooseLevel(levels, 8, 1), 0);
});

test("only tiles in view, those in the middle first", () => {
  const part = visiblePart({ x: 500, y: 500, zoom: 1 }, screen, 1);
  const tiles = visibleTiles(levels[0], 256, part);
  assert.deepEqual(tiles.map(({ row, column }) => `${row} ${column}`).sort(), ["1 1", "1 2", "2 1", "2 2"]);
  assert.ok(tiles.every(({ distance }, index) => !index || tiles[index - 1].distance <= distance));
});

test("beside the image there are no tiles", () => {
  assert.deepEqual(visibleTiles(levels[0], 256, { left: -900, right: -10, top: 0, bottom: 100 }), []);
  assert.deepEqual(visibleTiles(levels[0], 256, { left: 1000.5, right: 2000, top: 0, bottom: 100 }), []);
});

test("tiles at the edge are smaller", () => {
  assert.deepEqual(tileRect(levels[1], 256, 1, 1), { x: 512, y: 512, width: 488, height: 488, columns: 244, rows: 244 });
});
