// Contrast windows: their limits and their text.

/** The limits of sliders: somewhat more than the window, within the range of the pixel type. */
export function sliderReach(window, reach) {
  const span = window.end - window.start;
  const [least, most] = reach ?? [-Infinity, Infinity];
  return { min: Math.max(least, window.start - span), max: Math.min(most, window.end + span) };
}

/** A number as text, with as many digits as its window needs. */
export function showNumber(value, span = Math.abs(value)) {
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  const digits = Math.max(0, Math.min(12, 3 - Math.floor(Math.log10(span || 1))));
  return Math.abs(value) >= 1e9 || (value !== 0 && Math.abs(value) < 1e-4) ? value.toExponential(3) : value.toFixed(digits);
}
