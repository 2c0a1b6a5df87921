import assert from "node:assert/strict";
import { test } from "node:test";
import { labelTable, parseColor } from "../../../../src/ozx/desktop/viewer/page/colors.js";
import { showNumber, sliderReach } from "../../../../src/ozx/desktop/viewer/page/contrast.js";
import { Layer } from "../../../../src/ozx/desktop/viewer/page/layer.js";
import { fourDigits, roundLength, scaleBar, shortUnit } from "../../../../src/ozx/desktop/viewer/page/scale_bar.js";

test("colours are red, green and blue", () => {
  assert.deepEqual(parseColor("FF8000"), [1, 128 / 255, 0]);
});

test("labels without colours need no table", () => {
  assert.equal(labelTable({}), null);
  assert.equal(labelTable({ 99999999: [1, 2, 3, 4] }), null);
});

test("colours of labels stand at their values", () => {
  const { table, width, rows } = labelTable({ 3: [1, 2, 3, 255], 1025: [9, 8, 7, 128], 4: [0, 0, 0, 0] });
  assert.deepEqual([width, rows], [1024, 2]);
  assert.deepEqual([...table.slice(12, 16)], [1, 2, 3, 255]);
  assert.deepEqual([...table.slice(4100, 4104)], [9, 8, 7, 128]);
  assert.deepEqual([...table.slice(16, 20)], [1, 0, 0, 0]); // transparent is a colour; four zeros are none
});

test("sliders reach beyond the window, not beyond the type", () => {
  assert.deepEqual(sliderReach({ start: 100, end: 200 }, [0, 65535]), { min: 0, max: 300 });
  assert.deepEqual(sliderReach({ start: -1, end: 1 }, null), { min: -3, max: 3 });
});

test("numbers have the digits that matter", () => {
  assert.equal(showNumber(1234), "1234");
  assert.equal(showNumber(0.123456, 0.5), "0.1235");
  assert.equal(showNumber(1e-7), "1.000e-7");
});

test("round lengths", () => {
  assert.deepEqual([0.9, 1, 3, 7, 19, 100].map(roundLength), [0.5, 1, 2, 5, 10, 100]);
});

test("the scale bar is round, fits, and says its unit", () => {
  assert.deepEqual(scaleBar(0.5, "micrometer", 2, 200), { length: 200, text: "50 µm" });
  assert.equal(scaleBar(0.325, "nanometer", 1, 100).text, "20 nm");
  assert.equal(scaleBar(2.5, "micrometer", 0.1, 100).text, "2 mm");
  assert.equal(scaleBar(null, null, 2, 100).text, "50 px");
  assert.equal(scaleBar(2, "parsec", 1, 100).text, "200 parsec");
  assert.equal(scaleBar(2, null, 2, 100).text, "50 px");
  assert.equal(scaleBar(-0.5, "micrometer", 2, 200).text, "50 µm");
  assert.equal(shortUnit("second"), "s");
});

test("lengths have at most four significant digits", () => {
  assert.deepEqual([0.325000001, 1234.56, 12345.6, 83.2, 0, 1e-7].map(fourDigits),
    ["0.325", "1235", "12350", "83.2", "0", "1e-7"]);
});

const told = {
  width: 1024, height: 1024, samples: "uint16",
  sliders: [{ name: "t", length: 4 }, { name: "z", length: 10 }],
  levels: [{ width: 1024, height: 1024, factor: [1, 1] }, { width: 256, height: 256, factor: [4, 4] }],
};

test("a layer wants a rough tile first, then the sharp ones", () => {
  const shot = { view: { x: 512, y: 512, zoom: 1 }, screen: { width: 1024, height: 1024 }, aspect: 1 };
  const wanted = new Layer({ path: "" }, told, 512).wanted(shot, 0, [0, 0]);
  assert.deepEqual(wanted.map(({ level }) => level), [1, 0, 0, 0, 0]);
  assert.equal(wanted[0].bytes, 256 * 256 * 2);
  assert.equal(new Set(wanted.map(({ key }) => key)).size, 5);
});

test("what is missing is drawn from a lower resolution, below what is there", () => {
  const shot = { view: { x: 512, y: 512, zoom: 1 }, screen: { width: 1024, height: 1024 }, aspect: 1 };
  const layer = new Layer({ path: "" }, told, 512);
  const [rough, first, ...rest] = layer.wanted(shot, 0, [0, 0]);
  const there = new Map([[rough.key, { texture: "rough" }], [first.key, { texture: "sharp" }]]);
  assert.deepEqual(layer.drawn(shot, 0, [0, 0], there).map(({ texture }) => texture), ["rough", "sharp"]);
  for (const { key } of rest) there.set(key, { texture: "sharp" });
  assert.deepEqual(layer.drawn(shot, 0, [0, 0], there).map(({ texture }) => texture), Array(4).fill("sharp"));
});

test("outlines of labels are other tiles than their areas", () => {
  const shot = { view: { x: 512, y: 512, zoom: 1 }, screen: { width: 1024, height: 1024 }, aspect: 1 };
  const layer = new Layer({ path: "l" }, told, 512);
  const areas = layer.wanted(shot, 0, [0, 0]);
  layer.outlines = true;
  const outlines = layer.wanted(shot, 0, [0, 0]);
  assert.equal(new Set([...areas, ...outlines].map(({ key }) => key)).size, areas.length + outlines.length);
  assert.ok(outlines.every((tile) => tile.outlines));
});

test("labels follow the planes of their image, as far as they have them", () => {
  const labels = new Layer({ path: "l" }, { ...told, sliders: [{ name: "z", length: 5 }] }, 512);
  assert.deepEqual(labels.planesLike(told.sliders, [3, 9]), [4]);
  const more = new Layer({ path: "l" }, { ...told, sliders: [{ name: "q", length: 5 }] }, 512);
  assert.deepEqual(more.planesLike(told.sliders, [3, 9]), [0]);
});

test("labels of half the size cover the same area", () => {
  const half = { ...told, width: 512, height: 512, levels: [{ width: 512, height: 512, factor: [1, 1] }] };
  assert.deepEqual(new Layer({ path: "l" }, half, 512, told).levels[0].factor, [2, 2]);
});
