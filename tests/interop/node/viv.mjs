// Viv's loader: shape, axes, type and chunks of each level of an image at a URL; level 0's planes go to a file.
import { writeFileSync } from "node:fs";
import { loadOmeZarr } from "@vivjs/loaders";

const [, , url, values] = process.argv;
const { data, metadata } = await loadOmeZarr(url, { type: "multiscales" });
const [finest] = data;
let selections = [{}];
finest.labels.slice(0, -2).forEach((axis, number) => {
  const places = [...Array(finest.shape[number]).keys()];
  selections = selections.flatMap((chosen) => places.map((place) => ({ ...chosen, [axis]: place })));
});
const planes = [];
for (const selection of selections) {
  const raster = (await finest.getRaster({ selection })).data;
  planes.push(Buffer.from(raster.buffer, raster.byteOffset, raster.byteLength));
}
writeFileSync(values, Buffer.concat(planes));
const levels = data.map(({ shape, labels, dtype, tileSize }) => ({ shape, labels, dtype, tileSize }));
console.log(JSON.stringify({ levels, scales: metadata.multiscales[0].datasets.map((one) => one.coordinateTransformations) }));
