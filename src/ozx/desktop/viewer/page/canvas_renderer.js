// Draws layers of tiles with the processor: the same picture as renderer.js, for browsers without WebGL 2 or graphics card.

export class CanvasRenderer {
  /** @param context  the 2-D context of the canvas to draw on; without it the picture is only in `image` */
  constructor(context = null) {
    this.context = context;
    this.name = "2-D canvas (no WebGL 2 with a graphics card)";
    this.image = null;
  }

  tileTexture(samples, _type, columns, rows) {
    return { samples, columns, rows };
  }

  tableTexture({ table, width, rows }) {
    return { texture: new Uint32Array(table.buffer), width, rows };
  }

  freeTexture() {}

  /** Begin a picture of so many device pixels. */
  begin(width, height) {
    if (this.image?.width !== width || this.image.height !== height) {
      this.image = new ImageData(width, height);
      this.light = new Uint8ClampedArray(width * height);
      this.paint = new Uint32Array(width * height);
    }
    new Uint32Array(this.image.data.buffer).fill(0xff000000); // opaque black
  }

  /** Add a channel: `tiles` are `{texture, rect}` in device pixels, lower resolutions first. */
  addChannel(tiles, _type, { color, ...curve }) {
    const { light, image: { data, width, height } } = this;
    light.fill(0);
    for (const { texture, rect } of tiles) stretch(light, width, height, lightOf(texture, curve), texture, rect);
    const [red, green, blue] = color;
    for (let pixel = 0, part = 0; pixel < light.length; pixel++, part += 4) {
      const share = light[pixel];
      if (share === 0) continue;
      data[part] += share * red;
      data[part + 1] += share * green;
      data[part + 2] += share * blue;
    }
  }

  /** Lay a label image over the picture. */
  addLabels(tiles, table, opacity) {
    const { paint, image: { data, width, height } } = this;
    paint.fill(0);
    for (const { texture, rect } of tiles) stretch(paint, width, height, paintOf(texture, table), texture, rect);
    const colors = new Uint8Array(paint.buffer);
    for (let part = 0; part < colors.length; part += 4) {
      const share = (colors[part + 3] / 255) * opacity;
      if (share === 0) continue;
      for (let number = part; number < part + 3; number++) data[number] += share * (colors[number] - data[number]);
    }
  }

  /** Show the picture. */
  end() {
    this.context?.putImageData(this.image, 0, 0);
  }
}

/** Fill the pixels of a rectangle from an array of columns × rows; each takes the nearest element. */
function stretch(target, width, height, source, { columns, rows }, rect) {
  const first = (start) => Math.max(0, Math.ceil(start - 0.5));
  const last = (end, most) => Math.min(most, Math.ceil(end - 0.5));
  const place = (pixel, start, length, count) =>
    Math.min(count - 1, Math.max(0, Math.floor(((pixel + 0.5 - start) / length) * count)));
  const [left, right] = [first(rect.x), last(rect.x + rect.width, width)];
  if (left >= right) return;
  const across = Int32Array.from({ length: right - left }, (_, x) => place(left + x, rect.x, rect.width, columns));
  for (let y = first(rect.y), bottom = last(rect.y + rect.height, height); y < bottom; y++) {
    const row = place(y, rect.y, rect.height, rows) * columns;
    for (let x = 0, at = y * width + left; x < across.length; x++, at++) target[at] = source[row + across[x]];
  }
}

/** The brightness of each sample of a tile, 0 to 255; kept until the contrast changes. */
function lightOf(texture, { start, end, gamma }) {
  const key = `${start} ${end} ${gamma}`;
  if (texture.key === key) return texture.light;
  const { samples } = texture;
  const light = texture.light ?? new Uint8ClampedArray(samples.length); // rounds and clamps; what is no number is 0
  const scale = 1 / (end - start || 1);
  if (gamma === 1) {
    for (let number = 0; number < light.length; number++) light[number] = (samples[number] - start) * scale * 255;
  } else {
    for (let number = 0; number < light.length; number++) {
      light[number] = Math.max(0, (samples[number] - start) * scale) ** gamma * 255;
    }
  }
  Object.assign(texture, { key, light });
  return light;
}

/** The colour of each label of a tile; made only once, because the table of an image never changes. */
function paintOf(texture, table) {
  if (texture.paint) return texture.paint;
  const { samples } = texture;
  const given = table?.texture ?? [];
  const other = table ? () => 0xff808080 : madeColor;
  texture.paint = Uint32Array.from(samples, (value) => given[value] || (value && other(value)));
  return texture.paint;
}

/** The colour of a label in an image whose labels have no colours, as in shaders.js. */
function madeColor(value) {
  const turn = (Math.imul(value & 0xffffff, 2654435769) >>> 8) / 2 ** 24;
  const [red, green, blue] = [0, 1, 2].map((third) =>
    Math.round(155 + 100 * Math.cos(2 * Math.PI * (turn + third / 3))));
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}
