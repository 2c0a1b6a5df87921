// zarrita: one array at a URL. The values go to a file, their type and shape to the output.
import { writeFileSync } from "node:fs";
import * as zarr from "zarrita";

const [, , url, values] = process.argv;
const array = await zarr.open(new zarr.FetchStore(url), { kind: "array" });
const { data, shape } = await zarr.get(array);
writeFileSync(values, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
console.log(JSON.stringify({ dtype: array.dtype, shape }));
