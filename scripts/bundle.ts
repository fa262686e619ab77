import { rmSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { build } from "esbuild";

/** Where the parts lie beside the file that loads them. */
const PARTS = "parts";

/**
 * Bundles the whole program with its packages and returns the bytes of all files. It is one file to start and a folder of parts
 * that it loads as they are needed: one file for all would have every agent hold the operator's and the simulator's code.
 */
export async function bundle(outfile: string, entry = join(import.meta.dirname, "../src/main.ts")): Promise<number> {
  const outdir = dirname(outfile);
  // Parts have names by their content: those of an earlier build would stay for ever.
  rmSync(join(outdir, PARTS), { recursive: true, force: true });
  const extension = extname(outfile);
  const { metafile } = await build({
    entryPoints: [{ in: entry, out: basename(outfile, extension) }],
    outdir,
    outExtension: { ".js": extension },
    splitting: true,
    chunkNames: `${PARTS}/[name]-[hash]`,
    metafile: true,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    // Names stay, so that a stack trace says something. Short ones that keep the long ones beside them (`keepNames`) would have every
    // function told its name whenever it is made: also in each tick and each request.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "linked",
    // Native code does not fit into a bundle: koffi is installed beside it, and where it is not NVML alone is missing.
    external: ["koffi"],
    // undici's own word for "bundled": it then leaves out the second of its HTTP parsers, which is an experiment.
    define: { esbuildDetection: "1" },
    logLevel: "warning",
    // Some packages are CommonJS and ask for `require`, which an ES module does not have.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
  });
  return Object.values(metafile.outputs).reduce((sum, { bytes }) => sum + bytes, 0);
}
