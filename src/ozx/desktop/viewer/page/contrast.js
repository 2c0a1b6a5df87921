// Contrast windows: how far they can be moved, and how they are written.

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
