import process from "node:process";
import { systemClock } from "../../platform/clock/index.ts";
import type { SimulateConfig } from "./config.ts";
import { type SimulateEnvironment, simulate } from "./simulate.ts";

export const processEnvironment: SimulateEnvironment = {
  clock: systemClock,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  progress: (text) => process.stderr.write(text),
};

/** Runs `joulie simulate` on the process's terminal. */
export const start = async (config: SimulateConfig): Promise<number> => simulate(config, processEnvironment);
