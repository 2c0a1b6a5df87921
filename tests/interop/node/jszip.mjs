// JSZip, asked to check CRCs (it does not by default). Of duplicate keys it keeps the last and tells nobody.
import { readFileSync } from "node:fs";
import JSZip from "jszip";
import { report } from "./report.mjs";

const archive = await JSZip.loadAsync(readFileSync(process.argv[2]), { checkCRC32: true });
for (const file of Object.values(archive.files)) report(file.name, await file.async("uint8array"));
