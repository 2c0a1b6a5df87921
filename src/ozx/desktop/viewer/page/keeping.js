// Writing of colours and contrast into the file; the page asks first.

import { keepColors } from "./api.js";
import { make } from "./elements.js";

/** Ask whether to keep the colours in the file, and do so. */
export async function keepAfterAsking(viewer, name, messages) {
  if (!await confirmed(viewer, name)) return;
  messages.say(`Writing ${name} …`, "progress");
  try {
    const { source } = viewer.image;
    const { written, notes } = await keepColors(source.path, viewer.channels.map(settings));
    const done = written ? `The colours are in ${name}.` : `${name} has these colours already.`;
    messages.say([done, ...notes].join("\n"), "progress");
  } catch (error) {
    messages.complain(error);
  }
}

/** What is kept of a channel; a window that is not yet computed is left out. */
function settings({ color, active, window }) {
  return { color, active, ...(window ? { start: window.start, end: window.end } : {}) };
}

function confirmed(viewer, name) {
  const { source } = viewer.image;
  const place = source.plate ? "all images of the plate" : source.path || "the image";
  const bent = viewer.channels.some(({ gamma }) => gamma !== 1) ? " Gamma is not kept." : "";
  const button = (text, value, className = "") => make("button", { type: "submit", value, className }, text);
  const dialog = make("dialog", { className: "question" },
    make("form", { method: "dialog" },
      make("h2", {}, `Keep these colours in ${name}?`),
      make("p", {}, `This writes colour, contrast and visibility of each channel into the metadata of ${place}.`
        + ` Pixels stay unchanged.${bent} The old file stays until the new one is complete.`),
      make("div", { className: "row end" }, button("Cancel", ""), button("Keep", "keep", "main"))));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => {
    dialog.remove();
    resolve(dialog.returnValue === "keep");
  }));
}
