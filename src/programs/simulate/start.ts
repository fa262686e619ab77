import process from "node:process";
import { systemClock } from "../../platform/clock/index.ts";
import type { SimulateConfig } from "./config.ts";
import { simulate } from "./simulate.ts";

/** Runs `joulie simulate` on the process's terminal. */
export const start = async (config: SimulateConfig): Promise<number> =>
  simulate(config, {
    clock: systemClock,
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    progress: process.stderr.isTTY ? (text) => process.stderr.write(text) : undefined,
  });
