// zarrita: one array, through its ZipFileStore (unzipit). The values go to a file, their type and shape to the output.
import { readFileSync, writeFileSync } from "node:fs";
import ZipFileStore from "@zarrita/storage/zip";
import * as zarr from "zarrita";

const [, , archive, node, values] = process.argv;
const root = zarr.root(ZipFileStore.fromBlob(new Blob([readFileSync(archive)])));
const array = await zarr.open(node ? root.resolve(node) : root, { kind: "array" });
const { data, shape } = await zarr.get(array);
writeFileSync(values, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
console.log(JSON.stringify({ dtype: array.dtype, shape }));
