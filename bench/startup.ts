import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "../scripts/bundle.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";

const folder = mkdtempSync(join(tmpdir(), "joulie-bench-startup-"));
const outfile = join(folder, "joulie.mjs");
const source = join(import.meta.dirname, "../src/main.ts");
let bundled: Promise<number> | undefined;

export const scenario: Scenario = {
  about:
    "From start to the end of --version, and of the help of a command: the bundle and the sources, against a Node that does nothing",
  repeats: 10,
  measure: async () => {
    bundled ??= bundle(outfile);
    await bundled;
    return {
      ...run("node alone", ["-e", "0"]),
      ...run("bundle", [outfile, "--version"]),
      ...run("bundle, status --help", [outfile, "status", "--help"]),
      ...run("sources", [source, "--version"]),
    };
  },
  goals: [
    {
      says: "bundle / node alone",
      of: ({ bundle: ours = Number.NaN, "node alone": node = Number.NaN }) => ours / node,
      atMost: 4,
    },
    { says: "bundle, ms on a quiet machine", of: ({ bundle: ours = Number.NaN }) => ours, atMost: 150 },
    // Other work on the machine delays the end, but adds little processor time.
    { says: "bundle, ms of processor", of: ({ "bundle, processor": ours = Number.NaN }) => ours, atMost: 100 },
  ],
  close: () => rmSync(folder, { recursive: true, force: true }),
};

/** The time until it ended, and the processor time of the process and the kernel for it. */
function run(name: string, args: string[]): Record<string, BenchFigure> {
  const before = childrenProcessorMs();
  const start = performance.now();
  const { status } = spawnSync(process.execPath, args, { stdio: "ignore" });
  const took = performance.now() - start;
  if (status !== 0) throw new Error(`node ${args.join(" ")} ended with ${status}`);
  return {
    [name]: { unit: "ms", value: took },
    [`${name}, processor`]: { unit: "ms", value: childrenProcessorMs() - before },
  };
}

/** Linux counts the ended children of a process in its stat file, in hundredths of a second. */
function childrenProcessorMs(): number {
  const fields = readFileSync("/proc/self/stat", "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return 10 * (Number(fields[13]) + Number(fields[14]));
}
