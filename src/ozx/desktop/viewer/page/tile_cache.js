// Tiles on the graphics card: wanted tiles are loaded, nearest first; if memory is full, the least recently used are freed.

/**
 * @param load  `(tile, signal) => Promise<{bytes, …}>`; the result is kept
 * @param free  frees a result of `load`
 * @param onChange  called when a tile is loaded; if loading fails, called with the error and the tile
 */
export class TileCache {
  constructor({ load, free, onChange, capacity, atOnce = 4 }) {
    Object.assign(this, { load, free, onChange, capacity, atOnce });
    this.ready = new Map(); // the least recently used first
    this.loading = new Map();
    this.failed = new Map();
    this.wanted = [];
    this.ahead = [];
    this.bytes = 0;
  }

  /** Whether a tile needs no more loading: it is there, or has failed. */
  isDone({ key }) {
    return this.ready.has(key) || this.failed.has(key);
  }

  /** The tile, if loaded. */
  get(key) {
    const found = this.ready.get(key);
    if (found) {
      this.ready.delete(key);
      this.ready.set(key, found);
    }
    return found;
  }

  /**
   * Load these tiles, `{key, bytes, …}`, in order, as many as fit; after them the tiles that are wanted soon. Loading of
   * tiles that are no longer wanted is aborted.
   */
  want(all, soon = []) {
    let room = this.capacity;
    const fits = (tile) => (room -= tile.bytes) >= 0;
    const [tiles, ahead] = [all.filter(fits), soon.filter(fits)];
    const keys = new Set([...tiles, ...ahead].map((tile) => tile.key));
    for (const [key, abort] of this.loading) {
      if (!keys.has(key)) {
        this.loading.delete(key);
        abort.abort();
      }
    }
    Object.assign(this, { wanted: tiles, ahead });
    this.#next();
  }

  /** Whether all wanted tiles are loaded or have failed. */
  get isSettled() {
    return this.wanted.every((tile) => this.isDone(tile));
  }

  clear() {
    this.want([]);
    for (const tile of this.ready.values()) this.free(tile);
    this.ready.clear();
    this.failed.clear();
    this.bytes = 0;
  }

  #next() {
    for (const tile of [...this.wanted, ...this.ahead]) {
      if (this.loading.size >= this.atOnce) return;
      if (!this.isDone(tile) && !this.loading.has(tile.key)) this.#start(tile);
    }
  }

  async #start(tile) {
    const abort = new AbortController();
    let failure;
    this.loading.set(tile.key, abort);
    try {
      const loaded = await this.load(tile, abort.signal);
      if (abort.signal.aborted) {
        this.free(loaded);
        return;
      }
      this.#keep(tile.key, loaded);
    } catch (error) {
      if (abort.signal.aborted) return;
      this.failed.set(tile.key, error);
      failure = error;
    }
    this.loading.delete(tile.key);
    this.#next();
    this.onChange(failure, tile);
  }

  #keep(key, loaded) {
    this.ready.set(key, loaded);
    this.bytes += loaded.bytes;
    const needed = new Set([...this.wanted, ...this.ahead].map((tile) => tile.key));
    for (const [old, tile] of this.ready) {
      if (this.bytes <= this.capacity) return;
      if (needed.has(old)) continue; // on the screen now, or soon
      this.ready.delete(old);
      this.bytes -= tile.bytes;
      this.free(tile);
    }
  }
}
