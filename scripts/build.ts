// npm run build: one file, dist/joulie.mjs, that needs Node 24 and nothing else; koffi beside it lets it use NVML.
import { join } from "node:path";
import { bundle } from "./bundle.ts";

const outfile = join(import.meta.dirname, "../dist/joulie.mjs");
const bytes = await bundle(outfile);
console.log(`dist/joulie.mjs: ${(bytes / 1024).toFixed(0)} KiB`);
