import assert from "node:assert/strict";
import { test } from "node:test";
import { describeView, parseView, restoreView } from "../../../../src/ozx/desktop/viewer/page/link.js";

const channel = (values = {}) => ({ active: true, color: "FF0000", window: { start: 1, end: 9.5 }, gamma: 1, ...values });

function makeViewer() {
  return {
    view: { x: 10.5, y: 20, zoom: 1 / 3 },
    image: {
      source: { path: "A/1/0" },
      told: {
        width: 100, height: 50, sliders: [{ name: "t", length: 4 }, { name: "z", length: 10 }],
        channels: [channel(), channel({ active: false }), channel()],
      },
    },
    planes: [0, 9],
    channels: [channel(), channel({ active: false }), channel({ window: null })],
    labels: [{ visible: true, opacity: 0.5, layer: { outlines: false } }],
    moveTo(view) { this.view = view; },
    changed() {},
  };
}

test("a view as a fragment", () => {
  assert.equal(describeView(makeViewer()),
    "image=A/1/0&at=10.5,20,0.3333333&plane.t=1&plane.z=10&channel.1=1,FF0000,1,9.5,1&labels.1=1,0.5");
});

test("outlines of labels are in the fragment, and come back", () => {
  const [viewer, other] = [makeViewer(), makeViewer()];
  viewer.labels[0].layer.outlines = true;
  assert.match(describeView(viewer), /labels\.1=1,0\.5,outlines$/);
  restoreView(other, parseView(`#${describeView(viewer)}`));
  assert.equal(other.labels[0].layer.outlines, true);
  restoreView(other, parseView(`#${describeView(makeViewer())}`));
  assert.equal(other.labels[0].layer.outlines, false);
});

test("a hidden channel is told of if a person has changed it", () => {
  const viewer = makeViewer();
  viewer.channels[1].gamma = 2;
  assert.match(describeView(viewer), /channel\.2=0,FF0000,1,9\.5,2/);
});

test("a fragment restores its view", () => {
  const other = makeViewer();
  Object.assign(other, { view: null, planes: [3, 3] });
  other.channels[0] = channel({ active: false, color: "00FF00", window: null, gamma: 3 });
  restoreView(other, parseView(`#${describeView(makeViewer())}`));
  assert.deepEqual(other.planes, [0, 9]);
  assert.deepEqual(other.channels[0], channel());
  assert.equal(other.view.x, 10.5);
});

test("what is wrong or missing stays", () => {
  const viewer = makeViewer();
  restoreView(viewer, parseView("#at=-1,5,1&plane.t=99&plane.z=x&channel.1=1,red,0,1,1&channel.2=1,00FF00,,1,1&labels.1=1,9"));
  assert.deepEqual(viewer, { ...makeViewer(), moveTo: viewer.moveTo, changed: viewer.changed });
  assert.equal(parseView("#"), null);
  assert.equal(parseView(""), null);
});
