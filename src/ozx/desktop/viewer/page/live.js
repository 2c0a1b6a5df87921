// A file that is still being written: every second, the page asks for new frames.

import { askGrowth, askPicture } from "./api.js";

const PERIOD = 1000;
const ENDED = {
  unfinished: "The stream ended unfinished. ozx recover saves the received frames.",
  removed: "The stream was aborted, and its file was removed.",
};

/**
 * Follow a file until its stream ends.
 *
 * @param onGrown  called when the picture has new frames
 * @param onState  called with the state, and with a message if the stream did not end well
 */
export function followGrowth(viewer, { onGrown, onState }) {
  let known = 0;
  const look = async () => {
    const told = await askGrowth().catch(() => null); // the server is gone: the page says that elsewhere
    if (told && viewer.image && told.growth !== known && (await grow(viewer).catch(() => false))) {
      known = told.growth;
      onGrown();
    }
    if (told) onState(told.state, ENDED[told.state]);
    if (!told || told.state === "growing" || told.growth !== known) setTimeout(look, PERIOD);
  };
  look();
}

/** Update the lengths of the shown picture; if the last plane was shown, the new last plane is shown. */
async function grow(viewer) {
  const { image } = viewer;
  const told = await askPicture(image.source);
  if (viewer.image !== image) return false;
  viewer.planes = viewer.planes.map((plane, number) => {
    const [before, now] = [image.told.sliders[number].length, told.sliders[number].length];
    return plane === before - 1 ? now - 1 : plane;
  });
  image.told.sliders.forEach((slider, number) => Object.assign(slider, told.sliders[number]));
  Object.assign(image.told, { axes: told.axes, storage: told.storage });
  viewer.changed();
  return true;
}
