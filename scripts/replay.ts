// npm run replay -- [FLAG…]: replays the published experiment; see docs/guides/experiments.md.
import { parseArgs } from "node:util";
import { replayCommand, replayConfig } from "../bench/published/command.ts";
import { flagOf, parseConfig, type RawValues, variableNames } from "../src/platform/config/index.ts";
import { processEnvironment } from "../src/programs/simulate/start.ts";

const names = variableNames(replayConfig);
const config = parseConfig(replayConfig, {
  env: {},
  flags: readFlags(),
  machine: { isTerminal: false, exists: () => false },
});
if (!config.ok) fail(config.error.problems.map(({ message }) => message).join("; "));
process.exitCode = await replayCommand(config.value.values, processEnvironment);

function readFlags(): RawValues {
  const flags = names.map((name) => flagOf(name).replace(/^--/, ""));
  const options = Object.fromEntries(
    flags.map((flag) => [flag, { type: flag === "json" ? ("boolean" as const) : ("string" as const) }]),
  );
  try {
    const { values } = parseArgs({ options });
    return Object.fromEntries(
      Object.entries(values).map(([flag, value]) => [flag.toUpperCase().replaceAll("-", "_"), String(value)]),
    );
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

function fail(problem: string): never {
  console.error(`joulie: ${problem}; usage: npm run replay -- [--compare most,least,shipped] [--seeds 8]`);
  return process.exit(2);
}
