// Loaded into every process that a test starts while `npm run mutation -- wiring` runs (NODE_OPTIONS=--import): what it loads
// of the product has the mutant in it, without a file being changed.
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

/** The mutant of this moment; empty while there is none. */
const text = readFileSync(process.env["JOULIE_MUTANT"] ?? "/dev/null", "utf8");
if (text !== "") {
  const { file, start, end, replacement } = JSON.parse(text) as {
    file: string;
    start: number;
    end: number;
    replacement: string;
  };
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context);
      if (!url.startsWith("file:") || fileURLToPath(url) !== file || !(loaded.source instanceof Uint8Array))
        return loaded;
      const source = Buffer.from(loaded.source).toString();
      return { ...loaded, source: source.slice(0, start) + replacement + source.slice(end) };
    },
  });
}
