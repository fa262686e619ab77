// `joulie power` with the times of tests: an entry of its own, because no site needs to set them.
import process from "node:process";
import { powerConfig } from "../../src/programs/power/config.ts";
import { runPower } from "../../src/programs/power/start.ts";
import { runInCluster } from "../../src/programs/run-in-cluster.ts";
import { configured, powerTimes } from "./sleep-settings.ts";

const variables = Object.entries(process.env).map(([name, text = ""]) => [name, text] as const);
const config = configured(powerConfig, Object.fromEntries(variables), "env");
process.exitCode = await runInCluster("power", config, async (world, signal) =>
  runPower(config, { ...world, times: powerTimes }, signal),
);
