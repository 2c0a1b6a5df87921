// unzipit: random access as web viewers use it, no CRC. unzipRaw gives every entry, duplicates included.
import { readFileSync } from "node:fs";
import { unzipRaw } from "unzipit";
import { report } from "./report.mjs";

const { entries } = await unzipRaw(new Uint8Array(readFileSync(process.argv[2])));
for (const entry of entries) report(entry.name, new Uint8Array(await entry.arrayBuffer()));
