// Tiles on the graphics card: wanted ones are loaded, nearest first; the least recently used go when memory is full.

/**
 * @param load  `(tile, signal) => Promise<{bytes, …}>`; what it gives is kept
 * @param free  gives back what `load` gave
 * @param onChange  called when a tile came, or failed: then with the error and the tile
 */
export class TileCache {
  constructor({ load, free, onChange, capacity, atOnce = 4 }) {
    Object.assign(this, { load, free, onChange, capacity, atOnce });
    this.ready = new Map(); // the least recently used first
    this.loading = new Map();
    this.failed = new Map();
    this.wanted = [];
    this.bytes = 0;
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
   * Load these tiles, `{key, bytes, …}`, first ones first, as many as fit. What was wanted before and is no more is not
   * waited for.
   */
  want(all) {
    let room = this.capacity;
    const tiles = all.filter((tile) => (room -= tile.bytes) >= 0);
    const keys = new Set(tiles.map((tile) => tile.key));
    for (const [key, abort] of this.loading) {
      if (!keys.has(key)) {
        this.loading.delete(key);
        abort.abort();
      }
    }
    this.wanted = tiles;
    this.#next();
  }

  /** Whether all wanted tiles are loaded or have failed. */
  get isSettled() {
    return this.wanted.every(({ key }) => this.ready.has(key) || this.failed.has(key));
  }

  clear() {
    this.want([]);
    for (const tile of this.ready.values()) this.free(tile);
    this.ready.clear();
    this.failed.clear();
    this.bytes = 0;
  }

  #next() {
    for (const tile of this.wanted) {
      if (this.loading.size >= this.atOnce) return;
      const isKnown = this.ready.has(tile.key) || this.loading.has(tile.key) || this.failed.has(tile.key);
      if (!isKnown) this.#start(tile);
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
    const needed = new Set(this.wanted.map((tile) => tile.key));
    for (const [old, tile] of this.ready) {
      if (this.bytes <= this.capacity) return;
      if (needed.has(old)) continue; // on the screen now
      this.ready.delete(old);
      this.bytes -= tile.bytes;
      this.free(tile);
    }
  }
}
