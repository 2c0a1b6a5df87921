// A page of Viv: the first field of each well of the plate at ?source=URL, one screen pixel for a pixel, channel 0.
import { Deck, OrthographicView } from "@deck.gl/core";
import { Matrix4 } from "@math.gl/core";
import { ImageLayer } from "@vivjs/layers";
import { loadOmeZarr } from "@vivjs/loaders";

const GAP = 8;
const source = new URLSearchParams(location.search).get("source");

async function metadata(path) {
  const v2 = await fetch(`${source}${path}/.zattrs`);
  return v2.ok ? v2.json() : (await (await fetch(`${source}${path}/zarr.json`)).json()).attributes.ome;
}

const { plate } = await metadata("");
const layers = await Promise.all(plate.wells.map(async ({ path, rowIndex, columnIndex }) => {
  const { well } = await metadata(`/${path}`);
  const { data } = await loadOmeZarr(`${source}/${path}/${well.images[0].path}`, { type: "multiscales" });
  const [height, width] = data[0].shape.slice(-2);
  const selection = Object.fromEntries(data[0].labels.slice(0, -2).map((axis) => [axis, 0]));
  return new ImageLayer({
    id: path,
    loader: data[0],
    selections: [selection],
    contrastLimits: [[0, 255]],
    channelsVisible: [true],
    colors: [[255, 255, 255]],
    modelMatrix: new Matrix4().translate([columnIndex * (width + GAP), rowIndex * (height + GAP), 0]),
  });
}));
new Deck({
  parent: document.body,
  width: 400,
  height: 400,
  views: new OrthographicView({ id: "plate", flipY: true }),
  initialViewState: { plate: { target: [200, 200, 0], zoom: 0 } },
  layers,
});
