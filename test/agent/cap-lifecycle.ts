// A cap's whole life on a machine of files, by the agent's own control, host and journal: what a kill may interrupt anywhere.
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
import { settingsOf } from "../../src/programs/agent/settings.ts";
import { PrometheusClients } from "../../src/programs/agent/telemetry/prometheus-clients.ts";
import { consume } from "./machine-files.ts";

export const shape = { cpus: 4, packages: 2, gpus: 2 };

/** What is asked of the node for a while. */
export interface Phase {
  readonly name: string;
  /** Undefined: nothing any more. */
  readonly target?: Pick<PowerTarget, "cpu" | "gpu">;
  readonly mode: "auto" | "dvfs";
  /** Watts of each package meanwhile, and for how many ticks. */
  readonly power?: number;
  readonly ticks?: number;
}

const cpuWatts = (limit: number) => ({ packagePowerCapWatts: watts(limit) });
const gpuWatts = (limit: number) => ({ powerCap: { capWattsPerGpu: watts(limit) } });

/** Long enough for the throttle to come to the end of its way, wherever it began. */
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
  /** What the journal said when it was opened. */
  readonly problems: readonly string[];
  /** Ticks that act and look at what became of it; in the end all notes are on the disk. */
  enforce(phase: Phase): Promise<NodeTick | undefined>;
  close(): Promise<void>;
}

/** An agent's control of the machine in a folder, as a new process begins it. */
export async function startAgent(
  folder: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<RunningAgent> {
  const env = {
    NODE_NAME: "a",
    // A step at every tick.
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
  const settings = settingsOf(config);
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
        consume(folder, shape, power, INTERVAL);
        // What was noted comes to the disk between two ticks, as it does in time.
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
