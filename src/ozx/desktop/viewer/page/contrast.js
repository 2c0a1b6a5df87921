// Contrast windows: which value is black, which one is full colour.

const MOST_SAMPLES = 1 << 16;
const DARK = 0.002;
const BRIGHT = 0.998;

/** The window that shows nearly all samples; a flat picture gets one around its value. */
export function automaticWindow(arrays) {
  const total = arrays.reduce((sum, array) => sum + array.length, 0);
  const step = Math.max(1, Math.floor(total / MOST_SAMPLES));
  const found = [];
  for (const array of arrays) {
    for (let index = 0; index < array.length; index += step) {
      if (Number.isFinite(array[index])) found.push(array[index]);
    }
  }
  if (!found.length) return { start: 0, end: 1 };
  found.sort((one, other) => one - other);
  const at = (share) => found[Math.round(share * (found.length - 1))];
  const [start, end] = [at(DARK), at(BRIGHT)];
  return start < end ? { start, end } : { start, end: start + Math.max(1, Math.abs(start) * 1e-3) };
}

/** How far sliders reach: the whole window and something more, within what pixels can be. */
export function sliderReach(window, reach) {
  const span = window.end - window.start;
  const [least, most] = reach ?? [-Infinity, Infinity];
  return { min: Math.max(least, window.start - span), max: Math.min(most, window.end + span) };
}

/** A number for people: as many digits as its window makes sense of. */
export function showNumber(value, span = Math.abs(value)) {
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  const digits = Math.max(0, Math.min(12, 3 - Math.floor(Math.log10(span || 1))));
  return Math.abs(value) >= 1e9 || (value !== 0 && Math.abs(value) < 1e-4) ? value.toExponential(3) : value.toFixed(digits);
}
