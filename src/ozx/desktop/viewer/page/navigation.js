// Choice of a picture in the file: an image of a series, or a plate, its wells and their fields.

import { make } from "./elements.js";
import { wellName } from "./overlay.js";

export class Navigation {
  /** @param open  shows a picture, `{path, plate}`; its second argument tells whether the picture is like the one before */
  constructor(element, file, open) {
    Object.assign(this, { element, file, open });
    this.plate = file.plate;
    this.well = null;
  }

  /** Whether the picture is that of a whole plate. */
  get isOverview() {
    return this.plate !== null && this.well === null;
  }

  /** Show the image at a path; without a path, show the plate or the first image. */
  start(path = null) {
    const well = this.plate?.wells.find(({ fields }) => fields.includes(path));
    if (well) this.showWell(well, well.fields.indexOf(path));
    else if (this.plate) this.showPlate();
    else this.#showImage(Math.max(0, this.file.images.findIndex((image) => image.path === path)));
  }

  showPlate() {
    this.well = null;
    this.element.replaceChildren(
      make("span", { className: "value" }, `${this.plate.wells.length} wells; click one to open it`));
    this.open({ path: "", plate: true }, true);
  }

  /** Show a field of a well, by its number. */
  showWell(well, number = 0) {
    this.well = well;
    const { plate } = this;
    const place = plate.wells.indexOf(well);
    const step = (by) => this.showWell(plate.wells[(place + by + plate.wells.length) % plate.wells.length]);
    const fields = make("select", { "aria-label": "field", onchange: () => this.showWell(well, fields.selectedIndex) },
      ...well.fields.map((_, field) => make("option", { selected: field === number }, `Field ${field + 1}`)));
    this.element.replaceChildren(
      make("button", { type: "button", onclick: () => this.showPlate() }, "Plate"),
      make("button", { type: "button", "aria-label": "previous well", onclick: () => step(-1) }, "‹"),
      make("strong", {}, wellName(plate, well)),
      make("button", { type: "button", "aria-label": "next well", onclick: () => step(1) }, "›"),
      fields,
    );
    this.open({ path: well.fields[number] }, true);
  }

  #showImage(number) {
    const { images } = this.file;
    const choice = make("select", { "aria-label": "image", onchange: () => this.open({ path: choice.value }) },
      ...images.map(({ path, name }) => make("option", { value: path }, name)));
    choice.selectedIndex = number;
    this.element.replaceChildren(...(images.length > 1 ? [choice] : []));
    this.open({ path: images[number].path });
  }
}
