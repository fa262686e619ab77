import { writeFile } from "node:fs/promises";
import process from "node:process";
import { fail, ok } from "../../core/units/index.ts";
import { systemClock } from "../../platform/clock/index.ts";
import type { SimulateConfig } from "./config.ts";
import { type SimulateEnvironment, simulate } from "./simulate.ts";

/** The terminal and the files of this process. */
export const processEnvironment: SimulateEnvironment = {
  clock: systemClock,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  writeFile: async (path, text) => {
    try {
      await writeFile(path, text);
      return ok(undefined);
    } catch (error) {
      return fail(error instanceof Error ? error.message : String(error));
    }
  },
  progress: { isTerminal: process.stderr.isTTY, write: (text) => process.stderr.write(text) },
};

/** Runs `joulie simulate` on the process's terminal. */
export const start = async (config: SimulateConfig): Promise<number> => simulate(config, processEnvironment);
