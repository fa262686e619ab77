// npm run build: dist/joulie.mjs, its parts and dist/dashboard, which need only Node 24.
import { join } from "node:path";
import { bundle } from "./bundle.ts";
import { buildWeb } from "./web.ts";

const outfile = join(import.meta.dirname, "../dist/joulie.mjs");
const bytes = await bundle(outfile);
await buildWeb();
console.log(`dist/joulie.mjs and its parts: ${(bytes / 1024).toFixed(0)} KiB`);
