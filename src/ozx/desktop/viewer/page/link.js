// The view as the fragment of the address: what is shown, where, and in which colours.

import { MOST_ZOOM } from "./geometry.js";

const COLOR = /^[0-9A-F]{6}$/;
const PAUSE = 250;

/** The fragment, without its `#`. Numbers of planes, channels and labels begin with 1, as on the page. */
export function describeView(viewer) {
  const { view, image, planes, channels, labels } = viewer;
  const place = [view.x, view.y, view.zoom].map((number) => Number(number.toPrecision(7)));
  const terms = [
    ...(image.source.path && !image.source.plate ? [["image", image.source.path]] : []),
    ["at", place.join()],
    ...image.told.sliders.map(({ name }, number) => [`plane.${name}`, planes[number] + 1]),
    ...channels.flatMap(({ active, color, window, gamma }, number) =>
      (window && (active || isChanged(channels[number], image.told.channels[number]))
        ? [[`channel.${number + 1}`, [Number(active), color, window.start, window.end, gamma].join()]] : [])),
    ...labels.map(({ visible, opacity, layer }, number) =>
      [`labels.${number + 1}`, [Number(visible), opacity, ...(layer.outlines ? ["outlines"] : [])].join()]),
  ];
  return new URLSearchParams(terms).toString().replaceAll("%2C", ",").replaceAll("%2F", "/");
}

/** Whether a hidden channel differs from its settings in the file; only then, the address contains the hidden channel. */
function isChanged({ color, gamma }, told) {
  return told.active || color !== told.color || gamma !== 1;
}

/** What a fragment says; null if it says nothing. */
export function parseView(fragment) {
  const terms = new URLSearchParams(fragment.replace(/^#/, ""));
  return terms.size ? terms : null;
}

/** Apply the settings of a fragment; missing and invalid settings stay as they are. */
export function restoreView(viewer, terms) {
  const { sliders, width, height } = viewer.image.told;
  viewer.planes = sliders.map(({ name, length }, number) => {
    const plane = Number(terms.get(`plane.${name}`)) - 1;
    return Number.isInteger(plane) && plane >= 0 && plane < length ? plane : viewer.planes[number];
  });
  viewer.channels.forEach((channel, number) => {
    const [active, color, ...rest] = (terms.get(`channel.${number + 1}`) ?? "").split(",");
    const [start, end, gamma] = rest.map(Number);
    const isRight = COLOR.test(color) && start < end && gamma > 0 && rest.every((text) => text.trim());
    if (isRight) Object.assign(channel, { active: active === "1", color, window: { start, end }, gamma });
  });
  viewer.labels.forEach((label, number) => {
    const [visible, opacity, outlines] = (terms.get(`labels.${number + 1}`) ?? "").split(",");
    if (Number(opacity) >= 0 && Number(opacity) <= 1) {
      Object.assign(label, { visible: visible === "1", opacity: Number(opacity) });
      label.layer.outlines = outlines === "outlines";
    }
  });
  const [x, y, zoom] = (terms.get("at") ?? "").split(",").map(Number);
  const isInside = x >= 0 && y >= 0 && x <= width && y <= height;
  if (isInside && zoom > 0 && zoom <= MOST_ZOOM) viewer.moveTo({ x, y, zoom });
  else viewer.changed();
}

/** Update the fragment of the address when the view changes; `onMove` gets a fragment that the user has written. */
export function followAddress(viewer, onMove) {
  let timer = null;
  window.addEventListener("hashchange", () => {
    const terms = parseView(window.location.hash);
    if (terms && viewer.image) onMove(terms);
  });
  return () => {
    clearTimeout(timer);
    timer = setTimeout(() => window.history.replaceState(null, "", `#${describeView(viewer)}`), PAUSE);
  };
}
