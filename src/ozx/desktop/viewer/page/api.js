// Requests to the server. Every address is relative to the page's, which contains the token.

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
  constructor(message, hint) {
    super(message);
    this.hint = hint;
  }
}

async function ask(name, query, signal) {
  const address = `api/${name}?${new URLSearchParams(query)}`;
  const answer = await fetch(address, { signal });
  if (!answer.ok) {
    const told = await answer.json().catch(() => ({}));
    throw new Refused(told.error?.message ?? `the server answered ${answer.status}`, told.error?.hint);
  }
  return answer;
}

function place(source) {
  return source.plate ? { path: source.path, plate: 1 } : { path: source.path };
}

export async function askFile() {
  return (await ask("file", {})).json();
}

/** The description of a picture; `source` is `{path, plate}`: an image's path, or a part of all fields of the plate. */
export async function askPicture(source) {
  return (await ask("picture", place(source))).json();
}

/** How often a file that is being written has grown, and its state. */
export async function askGrowth() {
  return (await ask("growth", {})).json();
}

/** The samples of one tile, as an array of type `samples`. The server is little-endian, as is every browser's machine. */
export async function askTile(source, tile, samples, signal) {
  const { level, row, column, channel, planes } = tile;
  const answer = await ask("tile", { ...place(source), level, row, column, channel, planes: planes.join(",") }, signal);
  return new ARRAYS[samples](await answer.arrayBuffer());
}

/** The contrast window of one channel that nearly all pixels of a part of the picture lie in. */
export async function askContrast(source, channel, planes, { top, left, bottom, right }) {
  const query = { ...place(source), channel, planes: planes.join(","), part: [top, left, bottom, right].join(",") };
  return (await ask("contrast", query)).json();
}

/** The values of one pixel in several channels, exactly as they are stored. */
export async function askValues(source, x, y, channels, planes, signal) {
  const query = { ...place(source), x, y, channels: channels.join(","), planes: planes.join(",") };
  return (await ask("values", query, signal)).json();
}

/** Hold a connection open, which ends with the page; report when the server ends it. */
export function stayAlive(onChange) {
  let connection = null;
  const connect = () => {
    connection = new EventSource("api/alive");
    connection.onopen = () => onChange(true);
    connection.onerror = () => onChange(false);
  };
  connect();
  // A browser may keep a left page and its connections, to go back to it.
  window.addEventListener("pagehide", () => connection.close());
  window.addEventListener("pageshow", (event) => event.persisted && connect());
}
