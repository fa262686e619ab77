import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "../scripts/bundle.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";

const folder = mkdtempSync(join(tmpdir(), "joulie-bench-startup-"));
const outfile = join(folder, "joulie.mjs");
const source = join(import.meta.dirname, "../src/main.ts");
let bundled: Promise<number> | undefined;

export const scenario: Scenario = {
  about: "From start to the end of --version: the bundle and the sources, against a Node that does nothing",
  repeats: 10,
  measure: async () => {
    bundled ??= bundle(outfile);
    await bundled;
    return {
      "node alone": run(["-e", "0"]),
      bundle: run([outfile, "--version"]),
      sources: run([source, "--version"]),
    };
  },
  goals: [
    {
      says: "bundle / node alone",
      of: ({ bundle: ours = Number.NaN, "node alone": node = Number.NaN }) => ours / node,
      atMost: 4,
    },
    { says: "bundle, ms on a quiet machine", of: ({ bundle: ours = Number.NaN }) => ours, atMost: 150 },
  ],
  close: () => rmSync(folder, { recursive: true, force: true }),
};

function run(args: string[]): BenchFigure {
  const start = performance.now();
  const { status } = spawnSync(process.execPath, args, { stdio: "ignore" });
  if (status !== 0) throw new Error(`node ${args.join(" ")} ended with ${status}`);
  return { unit: "ms", value: performance.now() - start };
}
