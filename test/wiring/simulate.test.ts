import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/platform/clock/index.ts";
import type { RawValues } from "../../src/platform/config/index.ts";
import { simulateConfig } from "../../src/programs/simulate/config.ts";
import { simulate } from "../../src/programs/simulate/simulate.ts";
import { configured, describeVariables, type VariableTable } from "./variable-table.ts";

/** Placeholder in the table's values; the observation replaces it with its own folder. */
const FOLDER = "/folder.test";
const JOBS = `submitSec,cores,gpus,performance,cpuUtil,gpuUtil,durationSec
0,4,0,1,0.5,0,600
60,8,0,0,0.5,0,600
`;

/** The printed results of a small cluster, without values that differ between runs. */
async function printed(variables: RawValues): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), "joulie-wiring-"));
  try {
    await writeFile(join(folder, "jobs.csv"), JOBS);
    const texts = { NODES: "5", HOURS: "0.5", JSON: "true", ...variables };
    const own = Object.entries(texts).map(([name, text]) => [name, text.replace(FOLDER, folder)]);
    let out = "";
    const config = configured(simulateConfig, Object.fromEntries(own) as RawValues);
    await simulate(config, {
      clock: systemClock,
      out: (text) => void (out += text),
      err: (text) => void (out += text),
    });
    if (!out.startsWith("{")) return { table: out.split(/[ ,\n]/, 1)[0] };
    const { runs, ...rest } = JSON.parse(out) as Record<string, unknown>;
    const list = (runs as Record<string, unknown>[] | undefined) ?? [rest];
    return {
      ...Object.fromEntries(Object.entries(rest).filter(([name]) => name !== "seconds")),
      runs: list.map(({ arm, policy, seed }) => `${String(arm)} ${String(policy)} ${String(seed)}`).join(", "),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const run = {
  observe: printed,
  byDefault: {
    cluster: "exp04",
    nodes: 5,
    hours: 0.5,
    load: 0.6,
    jobs: 6,
    runs: "joulie queue_aware_v1 1",
  },
};
/** The settings of sleep need an arm in which nodes sleep. */
const sleeping = {
  ...run,
  beside: { ARM: "least+sleep" },
  byDefault: { ...run.byDefault, runs: "least none 1" },
};
const table: VariableTable = {
  ARM: { ...run, value: "least", changed: { runs: "least none 1" } },
  COMPARE: { ...run, value: "least,most", changed: { sameWork: true, runs: "least none 1, most none 1" } },
  TRACE: { ...run, value: `${FOLDER}/jobs.csv`, changed: { trace: "jobs.csv", jobs: 2 } },
  CLUSTER: { ...run, value: "mixed", changed: { cluster: "mixed", jobs: 11 } },
  NODES: { ...run, value: "10", beside: { NODES: "5" }, changed: { nodes: 10, jobs: 14 } },
  LOAD: { ...run, value: "0.2", changed: { load: 0.2, jobs: 2 } },
  HOURS: { ...run, value: "1", beside: { HOURS: "0.5" }, changed: { hours: 1, jobs: 14 } },
  WALL_POWER: { ...run, value: "true", changed: { wallPower: "on" } },
  BIND_BOARDS: { ...run, value: "true", changed: { bindBoards: "on" } },
  PERFORMANCE_SHARE: { ...run, value: "0.25", changed: { performanceShare: 0.25 } },
  ECO_MAX_SLOWDOWN_PCT: { ...run, value: "20", changed: { ecoMaxSlowdown: 20 } },
  ECO_CLOCK_SHARE: { ...run, value: "0.7", changed: { ecoClockShare: 0.7 } },
  BOOT_CPU: { ...sleeping, value: "20m", changed: { bootCpuSec: 1200 } },
  BOOT_GPU: { ...sleeping, value: "30m", changed: { bootGpuSec: 1800 } },
  BOOT_FAILURES: { ...sleeping, value: "0.5", changed: { bootFailures: 0.5 } },
  SLEEP_AFTER: { ...sleeping, value: "1m", changed: { sleepAfterSec: 60 } },
  SLEEP_RESERVE_QUANTILE: { ...sleeping, value: "0.5", changed: { sleepReserveQuantile: 0.5 } },
  SLEEP_ZONE_SHARE: { ...sleeping, value: "0.8", changed: { sleepZoneShare: 0.8 } },
  SEED: { ...run, value: "7", changed: { jobs: 8, runs: "joulie queue_aware_v1 7" } },
  SEEDS: { ...run, value: "2", changed: { runs: "joulie queue_aware_v1 1, joulie queue_aware_v1 2" } },
  JSON: { ...run, value: "true", beside: { JSON: "false" }, byDefault: { table: "cluster" }, changed: run.byDefault },
};

describeVariables("simulation", simulateConfig, table);
