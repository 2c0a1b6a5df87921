// fflate: the whole archive in memory, no CRC. Its answer is an object, so the filter keeps the list with duplicates.
import { readFileSync } from "node:fs";
import { unzipSync } from "fflate";
import { report } from "./report.mjs";

const keys = [];
const files = unzipSync(new Uint8Array(readFileSync(process.argv[2])), { filter: ({ name }) => keys.push(name) > 0 });
for (const key of keys) report(key, files[key]);
