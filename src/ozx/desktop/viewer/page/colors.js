// Colours: of channels from metadata, of labels as a table for the graphics card.

/** "FFB000" as red, green and blue from 0 to 1. */
export function parseColor(text) {
  const number = Number.parseInt(text, 16);
  return [(number >> 16) / 255, ((number >> 8) & 255) / 255, (number & 255) / 255];
}

/** The colours of label values as rows of a texture; null without any colour. Four zeros: this value has no colour. */
export function labelTable(colors, width = 1024, mostRows = 1024) {
  const values = Object.keys(colors).map(Number).filter((value) => value >= 0 && value < width * mostRows);
  if (!values.length) return null;
  const rows = Math.floor(Math.max(...boundsOf(values)) / width) + 1;
  const table = new Uint8Array(rows * width * 4);
  for (const value of values) {
    const [red, green, blue, alpha] = colors[value];
    // Transparent black is a colour, too.
    table.set([red || (alpha ? 0 : 1), green, blue, alpha], value * 4);
  }
  return { table, width, rows };
}

function boundsOf(values) {
  return values.reduce(([least, most], value) => [Math.min(least, value), Math.max(most, value)], [Infinity, -Infinity]);
}
