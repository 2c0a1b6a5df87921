// Playback along a slider: one plane after the other, the next ones loaded ahead.

export const RATE = 25; // planes a second
// The largest number of planes to load ahead, and their share of the memory for tiles.
const MOST_AHEAD = 12;
const SHARE = 1 / 2;

export class Player {
  /** @param onChange  called when playback begins or ends */
  constructor(viewer, onChange) {
    Object.assign(this, { viewer, onChange });
    this.slider = null; // the number of the one that is played
    this.shown = []; // times of the last planes, for the rate
  }

  /** Play along a slider; stop if this slider already plays. */
  toggle(slider) {
    const isStart = this.slider !== slider;
    this.stop();
    if (isStart) this.#start(slider);
  }

  stop() {
    if (this.slider === null) return;
    this.slider = null;
    this.viewer.ahead = [];
    this.onChange();
  }

  /** Planes a second in the last moments; null if too few planes were shown. */
  get rate() {
    const { shown } = this;
    return shown.length < 5 ? null : (1000 * (shown.length - 1)) / (shown.at(-1) - shown[0]);
  }

  #start(slider) {
    this.slider = slider;
    this.shown = [];
    this.due = performance.now();
    const step = (now) => {
      if (this.slider !== slider) return;
      this.#advance(now);
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
    this.viewer.ahead = this.#following();
    this.viewer.changed();
    this.onChange();
  }

  /** Show the next plane, if it is time and its tiles are there. */
  #advance(now) {
    const { viewer } = this;
    if (now < this.due || viewer.shownPlanes !== viewer.planes) return;
    const [next] = this.#following();
    if (!viewer.isLoaded(next)) {
      this.due = now; // late planes are not made up for
      return;
    }
    this.due = Math.max(this.due + 1000 / RATE, now - 1000 / RATE);
    this.shown = [...this.shown.slice(-RATE), now];
    viewer.planes = next;
    viewer.ahead = this.#following();
    viewer.changed();
  }

  /** The planes after this one; after the last plane of the slider follows the first. */
  #following() {
    const { viewer, slider } = this;
    const { length } = viewer.image.told.sliders[slider];
    const fits = Math.floor((SHARE * viewer.capacity) / (viewer.bytesOfPlane || 1));
    const count = Math.max(1, Math.min(MOST_AHEAD, fits, length - 1));
    return Array.from({ length: count }, (_, number) =>
      viewer.planes.with(slider, (viewer.planes[slider] + 1 + number) % length));
  }
}
