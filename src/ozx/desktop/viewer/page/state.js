// The state of the page, for scripts outside it: whether everything in view is drawn.

/** @param state  `"busy"`, `"settled"` or `"failed"` */
export function setState(state) {
  document.documentElement.dataset.state = state;
}
