// yauzl: trusts the central directory, reads each entry as a stream, checks sizes and no CRC.
import { buffer } from "node:stream/consumers";
import yauzl from "yauzl";
import { report } from "./report.mjs";

const archive = await yauzl.openPromise(process.argv[2]);
for await (const entry of archive.eachEntry()) {
  report(entry.fileName, await buffer(await archive.openReadStreamPromise(entry)));
}
