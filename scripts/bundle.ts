import { statSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/** Bundles the whole program with its packages into one file and returns its size in bytes. */
export async function bundle(outfile: string, entry = join(import.meta.dirname, "../src/main.ts")): Promise<number> {
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    minify: true,
    // Minified, yet a stack trace names functions.
    keepNames: true,
    legalComments: "linked",
    // Native code does not fit into the file: koffi is installed beside it, and where it is not NVML alone is missing.
    external: ["koffi"],
    logLevel: "warning",
    // Some packages are CommonJS and ask for `require`, which an ES module does not have.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
  });
  return statSync(outfile).size;
}
