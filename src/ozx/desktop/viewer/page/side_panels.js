// The panels of planes, of label images and of metadata.

import { fillTerms, make } from "./elements.js";
import { Player } from "./player.js";
import { fourDigits, shortUnit } from "./scale_bar.js";

/** The sliders for z, t and other dimensions of which one plane is shown. */
export class PlanePanel {
  constructor(section, viewer) {
    Object.assign(this, { section, viewer });
    this.rows = [];
    this.player = new Player(viewer, () => this.update());
  }

  build() {
    const { viewer, player } = this;
    player.stop();
    const sliders = viewer.image.told.sliders;
    this.rows = sliders.map((slider, number) => {
      const value = make("span", { className: "value" });
      const range = make("input", { type: "range", min: 0, max: slider.length - 1, step: 1, "aria-label": slider.name,
        oninput: () => viewer.showPlane(number, range.valueAsNumber) });
      const play = make("button", { type: "button", className: "play", onclick: () => player.toggle(number) });
      const element = make("div", { className: "plane" },
        make("div", { className: "row" }, play, make("span", { className: "name" }, slider.name), value), range);
      return { element, range, value, play, slider };
    });
    this.heading = make("h2", {}, "Planes");
    this.section.replaceChildren(this.heading, ...this.rows.map(({ element }) => element));
    this.update();
  }

  update() {
    if (this.heading) this.heading.hidden = this.rows.every(({ slider }) => slider.length < 2);
    this.rows.forEach(({ element, range, value, play, slider }, number) => {
      const plane = this.viewer.planes[number];
      element.hidden = slider.length < 2;
      range.max = slider.length - 1; // a file that is being written grows
      range.value = plane;
      const place = slider.scale && slider.unit ? plane * slider.scale + (slider.origin ?? 0) : null;
      const told = place === null ? "" : ` · ${fourDigits(place)} ${shortUnit(slider.unit)}`;
      const isPlaying = this.player.slider === number;
      const rate = isPlaying && this.player.rate ? ` · ${Math.round(this.player.rate)} per s` : "";
      value.textContent = `${plane + 1} / ${slider.length}${rate || told}`;
      play.classList.toggle("playing", isPlaying);
      play.setAttribute("aria-label", `${isPlaying ? "stop" : "play"} ${slider.name}`);
    });
  }

  stop() {
    this.player.stop();
  }

  /** Play along time, or along the first slider if there is no time axis; stop if it already plays. */
  togglePlay() {
    const { player } = this;
    const long = this.rows.flatMap(({ slider }, number) => (slider.length > 1 ? [number] : []));
    const time = long.find((number) => ["t", "time"].includes(this.rows[number].slider.name));
    if (player.slider !== null) player.stop();
    else if (long.length) player.toggle(time ?? long[0]);
  }
}

/** The choice of label images over the picture, as areas or outlines, and their opacity. */
export class LabelPanel {
  constructor(section, viewer) {
    Object.assign(this, { section, viewer });
    this.rows = [];
  }

  build() {
    const { viewer } = this;
    this.rows = viewer.labels.map((label) => {
      const change = (values) => {
        Object.assign(label, values);
        viewer.changed();
      };
      const shown = make("input", { type: "checkbox", onchange: () => change({ visible: shown.checked }) });
      const opacity = make("input", { type: "range", min: 0, max: 1, step: 0.01, "aria-label": `opacity of ${label.name}`,
        oninput: () => change({ opacity: opacity.valueAsNumber }) });
      const name = make("label", { className: "name", title: label.name }, shown, ` ${label.name || "labels"}`);
      const outlined = make("input", { type: "checkbox", onchange: () => {
        label.layer.outlines = outlined.checked;
        viewer.changed();
      } });
      const outlines = make("label", { title: "draw the edges only" }, outlined, " outlines");
      const element = make("div", { className: "label" }, make("div", { className: "row" }, name, outlines), opacity);
      const update = () => {
        outlined.checked = label.layer.outlines;
        shown.checked = label.visible;
        opacity.value = label.opacity;
      };
      return { element, update };
    });
    this.section.replaceChildren(
      ...(this.rows.length ? [make("h2", {}, "Labels")] : []), ...this.rows.map(({ element }) => element));
    this.update();
  }

  update() {
    for (const row of this.rows) row.update();
  }
}

/** The metadata of the file and of the picture. */
export function showMetadata(list, file, viewer) {
  const { told } = viewer.image;
  const { pixel } = told;
  const size = [pixel.x, pixel.y].map((number) => (number === null ? "?" : fourDigits(number)));
  const shape = (numbers) => numbers.join(" × ");
  fillTerms(list, [
    ["File", file.path],
    ...(told.name ? [["Name", told.name]] : []),
    ["OME-Zarr", file.version ?? "no version"],
    ["Image", told.path || "the root"],
    ["Axes", told.axes.map(({ name, length, unit }) => `${name ?? "?"} ${length}${unit ? ` (${unit})` : ""}`).join(", ")],
    ["Pixel", `${size.join(" × ")} ${shortUnit(pixel.unit) || "(no unit)"}`],
    ["Type", told.dtype],
    ...told.storage.map(({ path, shape: lengths, chunks, shards }) => [
      `Level ${path}`,
      `${shape(lengths)}, chunks ${shape(chunks)}${shards ? `, shards ${shape(shards)}` : ""}`,
    ]),
    ["Drawn by", viewer.renderer.name],
    ...[...file.notes, ...told.notes].map((note) => ["Note", note]),
  ]);
}
