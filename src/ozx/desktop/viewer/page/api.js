// Requests to the server. Every address is relative to that of the page, which contains the token.

const ARRAYS = {
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
};

/** An error of the server, with its message. */
export class Refused extends Error {
  constructor({ message, hint, kind, rule }) {
    super(message);
    this.hint = hint;
    this.isDamage = kind === "FormatError" && rule !== "zip/changed";
  }
}

const END = { message: "ozx view has ended.", hint: "This window can be closed." };

/** The answer as `form`, `"json"`, `"arrayBuffer"` or `"answer"`; `options` are those of fetch. */
async function ask(name, query, { form = "json", signal, ...options } = {}) {
  try {
    const answer = await fetch(`api/${name}?${new URLSearchParams(query)}`, { signal, ...options });
    if (answer.ok) return form === "answer" ? answer : await answer[form]();
    const { error } = await answer.json().catch(() => ({}));
    throw new Refused(error ?? { message: `the server answered ${answer.status}` });
  } catch (error) {
    if (error instanceof Refused || signal?.aborted) throw error;
    throw makeEnd(); // the server is on this computer: if it does not answer, it has ended
  }
}

/** The error that says that the server has ended. */
export function makeEnd() {
  return new Refused(END);
}

function place(source) {
  return source.plate ? { path: source.path, plate: 1 } : { path: source.path };
}

export async function askFile() {
  return ask("file", {});
}

/** The description of a picture; `source` is `{path, plate}`: an image's path; for a plate, the path below each field. */
export async function askPicture(source) {
  return ask("picture", place(source));
}

/** How often a file that is being written has grown, and its state. */
export function askGrowth() {
  return ask("growth", {});
}

/** The samples of one tile, as an array of type `samples`. Server and browsers are little-endian. */
export async function askTile(source, tile, samples, signal) {
  const { level, row, column, channel, planes } = tile;
  const query = { ...place(source), level, row, column, channel, planes: planes.join(",") };
  if (tile.outlines) query.outlines = 1;
  // The browser does not cache pixels on the disk: reading the file is faster.
  return new ARRAYS[samples](await ask("tile", query, { form: "arrayBuffer", signal, cache: "no-store" }));
}

/** A contrast window of one channel that contains nearly all pixels in a part of the picture. */
export async function askContrast(source, channel, planes, { top, left, bottom, right }) {
  const query = { ...place(source), channel, planes: planes.join(","), part: [top, left, bottom, right].join(",") };
  return ask("contrast", query);
}

/** The histogram of one channel in a part of the picture: numbers of pixels in equal bins from `low` to `high`. */
export async function askHistogram(source, channel, planes, { top, left, bottom, right }, low, high) {
  const part = [top, left, bottom, right].join(",");
  return ask("histogram", { ...place(source), channel, planes: planes.join(","), part, low, high });
}

/** The values of one pixel in several channels, exactly as they are stored. */
export async function askValues(source, x, y, channels, planes, signal) {
  const query = { ...place(source), x, y, channels: channels.join(","), planes: planes.join(",") };
  return ask("values", query, { signal });
}

/** Write colours and contrast of an image into the file; without a path, those of all images of the plate. */
export async function keepColors(path, channels) {
  return post("keep", { path, channels });
}

/** A region of an image as a file that ends in `ending`, `.ozx` or `.ome.tif`, and notes. */
export async function askCrop(path, { top, left, bottom, right }, ending) {
  const answer = await post("crop", { path, part: [top, left, bottom, right], ending }, "answer");
  return { blob: await answer.blob(), notes: JSON.parse(answer.headers.get("Ozx-Notes")) };
}

/** Start napari with a view, as `describeView` writes it; return the command line. */
export async function openInNapari(view) {
  return post("napari", { view });
}

/** The answer to a document that only this page may send. */
function post(name, document, form) {
  const headers = { "Content-Type": "application/json" };
  return ask(name, {}, { form, method: "POST", headers, body: JSON.stringify(document) });
}

/** Hold a connection open until the page is closed; report when the server ends the connection. */
export function stayAlive(onChange) {
  let connection = null;
  const connect = () => {
    connection = new EventSource("api/alive");
    connection.onopen = () => onChange(true);
    connection.onerror = () => onChange(false);
  };
  connect();
  // A browser may keep a page that the user has left, with its connections, in order to go back to the page.
  window.addEventListener("pagehide", () => connection.close());
  window.addEventListener("pageshow", (event) => event.persisted && connect());
}
