// The lifecycle of a cap on a machine of files, with the agent's real control, host and journal. Tests kill it anywhere.
import { join } from "node:path";
import type { PowerTarget } from "../../src/core/api/index.ts";
import { builtinCatalogue, hardwareView } from "../../src/core/inventory/index.ts";
import { milliseconds, watts } from "../../src/core/units/index.ts";
import { parseConfig } from "../../src/platform/config/index.ts";
import { hastyClock } from "../../src/platform/hardware/testing/index.ts";
import { Journal, journalFiles } from "../../src/platform/journal/index.ts";
import { HttpClient } from "../../src/platform/telemetry/index.ts";
import { agentConfig } from "../../src/programs/agent/config.ts";
import { hostRoots, openHost } from "../../src/programs/agent/host/open-host.ts";
import { NodeControl, type NodeTick } from "../../src/programs/agent/loop/node-control.ts";
import type { Route } from "../../src/programs/agent/routing/routing.ts";
import { agentSettingsOf } from "../../src/programs/agent/settings.ts";
import { PrometheusClients } from "../../src/programs/agent/telemetry/node-power.ts";
import { addEnergy } from "./machine-files.ts";

export const shape = { cpus: 4, packages: 2, gpus: 2 };

/** A target that the agent enforces for some ticks. */
export interface Phase {
  readonly name: string;
  /** Undefined if there is no target. */
  readonly target?: Pick<PowerTarget, "cpu" | "gpu">;
  readonly mode: "auto" | "dvfs";
  /** Power of each package, and the number of ticks. */
  readonly power?: number;
  readonly ticks?: number;
}

const cpuWatts = (limit: number) => ({ packagePowerCapWatts: watts(limit) });
const gpuWatts = (limit: number) => ({ powerCap: { capWattsPerGpu: watts(limit) } });

/** Enough ticks for the throttle to reach its end value. */
const TICKS = 4;
const INTERVAL = 20;

export const phases: readonly Phase[] = [
  { name: "capped", mode: "auto", target: { cpu: cpuWatts(240), gpu: gpuWatts(500) } },
  { name: "throttled", mode: "dvfs", target: { cpu: cpuWatts(200), gpu: gpuWatts(450) }, power: 400, ticks: TICKS },
  { name: "let go", mode: "dvfs", target: { cpu: cpuWatts(200) }, power: 20, ticks: TICKS },
  { name: "capped again", mode: "auto", target: { cpu: cpuWatts(220), gpu: gpuWatts(600) } },
];
export const noTarget: Phase = { name: "nothing asked", mode: "auto" };

export interface RunningAgent {
  readonly journal: Journal;
  /** Problems that the journal reported when it was opened. */
  readonly problems: readonly string[];
  /** Runs the ticks of a phase, then flushes the journal. */
  enforce(phase: Phase): Promise<NodeTick | undefined>;
  close(): Promise<void>;
}

/** Starts the agent's control of the machine in a folder, as a new process does. */
export async function startAgent(
  folder: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<RunningAgent> {
  const env = {
    NODE_NAME: "a",
    // The DVFS controller acts at every tick.
    DVFS_STEP_PCT: "50",
    DVFS_TRIP_COUNT: "1",
    DVFS_EMA_ALPHA: "1",
    HOST_SYS_ROOT: join(folder, "sys"),
    HOST_PROC_ROOT: join(folder, "proc"),
    STATE_DIR: join(folder, "state"),
    ...variables,
  };
  const machine = { isTerminal: false, exists: () => false };
  const parsed = parseConfig(agentConfig, { env, flags: {}, machine, known: [] });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
  const config = parsed.value.values;
  const settings = agentSettingsOf(config);
  const clock = hastyClock();
  const problems: string[] = [];
  const journal = await Journal.open({
    files: journalFiles(config.STATE_DIR),
    clock,
    onProblem: (problem) => problems.push(problem),
  });
  const host = openHost(config, hostRoots(config), clock, builtinCatalogue);
  const http = new HttpClient({ clock, timeout: milliseconds(1000) });
  const prometheus = new PrometheusClients({ clock });
  const control = new NodeControl({ node: "a", host, journal, http, prometheus, clock, settings });
  const { signal } = new AbortController();
  const view = hardwareView({ metadata: { name: "a" } }, await host.discover(undefined, signal));
  return {
    journal,
    problems,
    enforce: async ({ target, mode, power = 0, ticks = 2 }) => {
      const route: Route = {
        cpuSource: { type: "host" },
        gpuSource: { type: "host" },
        cpuControl: { type: "host", mode },
        gpuControl: { type: "host", mode: "auto" },
      };
      const intent =
        target === undefined
          ? ({ kind: "release", why: "no target is published", managed: true } as const)
          : ({ kind: "enforce", target: { nodeName: "a", profile: "eco", ...target }, from: "NodeTwin" } as const);
      let last: NodeTick | undefined;
      for (let tick = 0; tick < ticks; tick++) {
        addEnergy(folder, shape, power, INTERVAL);
        // The journal flushes its notes between two ticks.
        await clock.sleep(milliseconds(INTERVAL * 1000));
        await journal.flush();
        last = await control.tick({ intent, route, view }, signal);
      }
      await journal.flush();
      return last;
    },
    close: async () => {
      await journal.flush();
      await Promise.all([host.close(), http.close(), prometheus.close()]);
    },
  };
}
