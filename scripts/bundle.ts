import { rmSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { build } from "esbuild";

/** Folder of the chunks, beside the entry file. */
const PARTS = "parts";

/**
 * Bundles the program with its packages and returns the total size in bytes. The output is an entry file and a folder
 * of chunks loaded on demand: with a single file every agent would hold the code of the operator and the fleet in
 * memory.
 */
export async function bundle(outfile: string, entry = join(import.meta.dirname, "../src/main.ts")): Promise<number> {
  const outdir = dirname(outfile);
  // Chunk names contain a content hash: files of an earlier build would remain.
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
    // Keeps function names for stack traces. Minified names with `keepNames` would set the name of every function
    // each time it is created, also in each tick and request.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "linked",
    // Native code cannot be bundled: koffi is installed beside the bundle. Without it only NVML is missing.
    external: ["koffi"],
    // undici's switch for bundled code: it omits its experimental second HTTP parser.
    define: { esbuildDetection: "1" },
    logLevel: "warning",
    // Some packages are CommonJS and call `require`, which ES modules do not have.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
  });
  return Object.values(metafile.outputs).reduce((sum, { bytes }) => sum + bytes, 0);
}
