// The row of tools: zoom, the link to the view, what can be saved of it, and the way to napari.

import { openInNapari } from "./api.js";
import { make } from "./elements.js";
import { describeView } from "./link.js";
import { savePlane, saveRegion, saveView } from "./saving.js";

const TOLD = 1500;

export class Tools {
  constructor(element, viewer, { overlay, file, messages }) {
    Object.assign(this, { viewer, overlay, name: file.name, messages });
    const button = (text, title, onclick) => make("button", { type: "button", title, onclick }, text);
    const zoomTo = (zoom) => viewer.zoomBy(zoom / viewer.view.zoom);
    this.percent = button("", "one pixel of the image for each pixel of the screen", () => zoomTo(1));
    this.percent.id = "zoom";
    this.link = button("Link", "copy the address of this view; it works while ozx view runs", () => this.#copyLink());
    const region = (text, ending) => button(text, "the pixels in view, with all channels, planes and labels",
      () => this.#save(() => this.#saveRegion(ending)));
    this.regions = file.live ? [] : [region("Region as .ozx", ".ozx"), region("Region as OME-TIFF", ".ome.tif")];
    this.menu = make("details", { className: "menu" },
      make("summary", { title: "save a picture with scale bar, or the pixels in view" }, "Save"),
      make("div", {},
        button("This view", "as PNG, in the size of the screen", () => this.#save(() => this.#saveView())),
        button("Whole plane", "as PNG, in full resolution", () => this.#save(() => this.#savePlane())),
        ...this.regions));
    const napari = button("Open in napari", "at this place, with these channels and this zoom", () => this.#openInNapari());
    document.addEventListener("pointerdown", ({ target }) => {
      if (!this.menu.contains(target)) this.menu.open = false;
    });
    element.replaceChildren(
      make("div", { className: "group" },
        button("−", "zoom out", () => viewer.zoomBy(1 / 1.5)), this.percent,
        button("+", "zoom in", () => viewer.zoomBy(1.5)), button("Fit", "whole image", () => viewer.fit())),
      make("div", { className: "group" }, this.link, ...(file.live ? [] : [napari]), this.menu),
    );
  }

  update() {
    this.percent.textContent = showPercent(this.viewer.view.zoom);
    for (const button of this.regions) button.hidden = Boolean(this.viewer.image.source.plate);
  }

  async #copyLink() {
    const address = `${window.location.href.split("#")[0]}#${describeView(this.viewer)}`;
    try {
      await window.navigator.clipboard.writeText(address);
      this.link.textContent = "Copied";
      setTimeout(() => (this.link.textContent = "Link"), TOLD);
    } catch { // a browser may ask for permission, and get none
      this.messages.say(address, "progress");
    }
  }

  async #save(work) {
    this.menu.open = false;
    if (!this.viewer.image || this.isSaving) return;
    this.isSaving = true;
    try {
      await work();
    } catch (error) {
      this.messages.complain(error);
    }
    this.isSaving = false;
  }

  #saveView() {
    return saveView(this.viewer, this.overlay, this.name);
  }

  async #saveRegion(ending) {
    this.messages.say("Saving the region …", "progress");
    const notes = await saveRegion(this.viewer, this.name, ending);
    this.messages.say(notes.join("\n"), "progress");
  }

  async #openInNapari() {
    try {
      const { command } = await openInNapari(describeView(this.viewer));
      const text = "napari starts; this takes some seconds. If no window opens, this command tells why:";
      this.messages.say(`${text}\n${command}`, "progress");
    } catch (error) {
      this.messages.complain(error);
    }
  }

  async #savePlane() {
    const { messages } = this;
    const factor = await savePlane(this.viewer, this.name, (share) =>
      messages.say(`Saving the whole plane: ${Math.floor(100 * share)} %`, "progress"));
    messages.say(factor === 1 ? null : `The plane is larger than a browser can draw: each saved pixel is ${
      Number(factor.toPrecision(3))} pixels of the image wide.\n\`ozx export\` writes all pixels.`, "progress");
  }
}

/** A zoom in percent, with the digits that matter: device pixels of the screen per pixel of the image. */
export function showPercent(zoom) {
  const percent = zoom * 100;
  return `${percent >= 10 ? Math.round(percent) : Number(percent.toPrecision(2))} %`;
}
