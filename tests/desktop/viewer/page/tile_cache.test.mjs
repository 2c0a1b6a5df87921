import assert from "node:assert/strict";
import { test } from "node:test";
import { TileCache } from "../../../../src/ozx/desktop/viewer/page/tile_cache.js";

const turn = () => new Promise((resolve) => setImmediate(resolve));
const tile = (key, bytes = 10) => ({ key, bytes });

function makeCache(options = {}) {
  const asked = [];
  const freed = [];
  const cache = new TileCache({
    load: ({ key, bytes }, signal) =>
      new Promise((resolve, reject) => asked.push({ key, signal, resolve: () => resolve({ key, bytes }), reject })),
    free: ({ key }) => freed.push(key),
    onChange: () => {},
    capacity: 30,
    ...options,
  });
  return { cache, asked, freed };
}

test("tiles are asked for in their order, a few at once", async () => {
  const { cache, asked } = makeCache({ atOnce: 2 });
  cache.want([tile("a"), tile("b"), tile("c")]);
  assert.deepEqual(asked.map(({ key }) => key), ["a", "b"]);
  asked[0].resolve();
  await turn();
  assert.deepEqual(asked.map(({ key }) => key), ["a", "b", "c"]);
  assert.equal(cache.get("a").key, "a");
  assert.equal(cache.get("b"), undefined);
  assert.equal(cache.isSettled, false);
});

test("what is out of view is cancelled, and not kept when it comes all the same", async () => {
  const { cache, asked, freed } = makeCache();
  cache.want([tile("a")]);
  cache.want([tile("b")]);
  assert.equal(asked[0].signal.aborted, true);
  asked[0].resolve();
  asked[1].resolve();
  await turn();
  assert.deepEqual(freed, ["a"]);
  assert.equal(cache.isSettled, true);
  assert.equal(cache.get("a"), undefined);
});

test("memory is bounded; what was not used longest goes", async () => {
  const { cache, asked, freed } = makeCache();
  for (const key of ["a", "b", "c", "d"]) {
    cache.want([tile(key)]);
    asked.at(-1).resolve();
    await turn();
    cache.get("a");
  }
  assert.deepEqual(freed, ["b"]);
  assert.equal(cache.bytes, 30);
});

test("what is in view is bounded, too", () => {
  const { cache, asked } = makeCache();
  cache.want(["a", "b", "c", "d", "e"].map((key) => tile(key)));
  assert.deepEqual(asked.map(({ key }) => key), ["a", "b", "c"]);
});

test("a tile that fails is not asked for again", async () => {
  const { cache, asked } = makeCache();
  cache.want([tile("a")]);
  asked[0].reject(new Error("damaged"));
  await turn();
  cache.want([tile("a")]);
  assert.equal(asked.length, 1);
  assert.equal(cache.failed.get("a").message, "damaged");
  assert.equal(cache.isSettled, true);
});

test("clearing gives everything back", async () => {
  const { cache, asked, freed } = makeCache();
  cache.want([tile("a")]);
  asked[0].resolve();
  await turn();
  cache.clear();
  assert.deepEqual([freed, cache.bytes], [["a"], 0]);
});

test("what is wanted soon comes after what is wanted now, and stays as long", async () => {
  const { cache, asked, freed } = makeCache({ atOnce: 1 });
  cache.want([tile("a")], [tile("b"), tile("c"), tile("d")]);
  for (let number = 0; number < 3; number++) {
    asked[number].resolve();
    await turn();
    assert.equal(cache.isSettled, true);
  }
  assert.deepEqual(asked.map(({ key }) => key), ["a", "b", "c"]); // there is no room for more
  cache.want([tile("b")], [tile("c"), tile("d")]);
  asked[3].resolve();
  await turn();
  assert.deepEqual(freed, ["a"]);
});
