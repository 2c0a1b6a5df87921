// Lengths and their units, and the scale bar: a round length that fits, in a common unit.

const METERS = {
  angstrom: 1e-10, nanometer: 1e-9, micrometer: 1e-6, millimeter: 1e-3, centimeter: 1e-2, decimeter: 0.1, meter: 1,
  kilometer: 1e3, picometer: 1e-12, femtometer: 1e-15, inch: 0.0254, foot: 0.3048, yard: 0.9144, mile: 1609.344,
};
const SHOWN = [["km", 1e3], ["m", 1], ["mm", 1e-3], ["µm", 1e-6], ["nm", 1e-9], ["pm", 1e-12]];
const SHORT = { ...Object.fromEntries(Object.keys(METERS).map((name) => [name, name])),
  angstrom: "Å", nanometer: "nm", micrometer: "µm", millimeter: "mm", centimeter: "cm", meter: "m", kilometer: "km",
  picometer: "pm", second: "s", millisecond: "ms", microsecond: "µs", minute: "min", hour: "h", day: "d" };

/** The symbol of a unit. */
export function shortUnit(unit) {
  return unit ? SHORT[unit] ?? unit : "";
}

/** The largest of 1, 2, 5, 10, … that is at most `value`. */
export function roundLength(value) {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  return power * ([5, 2].find((digit) => digit * power <= value * (1 + 1e-9)) ?? 1);
}

/** The bar for a screen on which `most` device pixels are free: its length in device pixels, and its text. */
export function scaleBar(pixelSize, unit, zoom, most) {
  const isKnown = pixelSize && unit; // a number without a unit would say nothing
  const perPixel = (isKnown ? Math.abs(pixelSize) : 1) / zoom;
  const meters = isKnown && METERS[unit];
  if (!meters) {
    const length = roundLength(perPixel * most);
    return { length: length / perPixel, text: `${fourDigits(length)} ${isKnown ? shortUnit(unit) : "px"}` };
  }
  const length = roundLength(perPixel * most * meters);
  const [name, size] = SHOWN.find(([, least]) => length >= least * (1 - 1e-9)) ?? SHOWN.at(-1);
  return { length: length / (perPixel * meters), text: `${fourDigits(length / size)} ${name}` };
}

/** A number as text, with at most four significant digits. */
export function fourDigits(number) {
  return String(Number(number.toPrecision(4)));
}
