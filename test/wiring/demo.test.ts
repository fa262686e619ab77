import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flagOf, type RawValues } from "../../src/platform/config/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { freePorts } from "../../src/platform/serve/listen.ts";
import { demoConfig } from "../../src/programs/demo/config.ts";
import { runDemo } from "../../src/programs/demo/run.ts";
import {
  agentSettings,
  extenderSettings,
  extenderWeight,
  fleetSettings,
  operatorSettings,
  schedulerSettings,
} from "../../src/programs/demo/settings.ts";
import type { DemoSummary } from "../../src/programs/demo/summary.ts";
import { runJoulie } from "./started-program.ts";
import { configured, describeVariables, type VariableTable } from "./variable-table.ts";

const SHOWN_DURATION = / of \d+:\d\d/;

/** Runs the demo as a process with three nodes for one second; returns its messages and its summary. */
async function played({ LOG_LEVEL, ...variables }: RawValues): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), "joulie-wiring-"));
  try {
    const flags = { NODES: "3", DURATION: "1s", JSON: "true", ...variables };
    const args = Object.entries(flags).map(([flag, text]) => `${flagOf(flag)}=${text}`);
    const { stdout, stderr } = await runJoulie(["demo", ...args], { TMPDIR: folder, LOG_LEVEL });
    const json = stdout.startsWith("{") ? (JSON.parse(stdout) as DemoSummary) : undefined;
    const people = flags.JSON === "true" ? stderr : stdout;
    return {
      json: json !== undefined,
      summary:
        json && `${json.nodes} nodes, ${json.preset}, ${json.policy}, seed ${json.seed}, speed ${json.speed.asked}`,
      starting: /^starting .*(?= …)/m.exec(people)?.[0],
      introduced: people.match(/^\d+ simulated nodes|\([\w-]+\)(?=, scheduler)|up to \d+ times/gm)?.join(" "),
      logFile: people.includes("log of programs"),
      lines: stderr.includes('"level":"info"'),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The duration that the live view shows. */
async function shown(variables: RawValues): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), "joulie-wiring-"));
  const stop = new AbortController();
  let drawn = "";
  const terminal = {
    size: () => ({ columns: 120, rows: 50 }),
    onKey: () => () => undefined,
    write: (text: string) => {
      drawn += text;
      if (/demo [\d:]+ at .*\| \d+:\d\d/.test(drawn)) stop.abort();
    },
  };
  const log = () => createLogger({ level: "silent", program: "demo" });
  const screen = { columns: 120, colour: false };
  const world = { folder, log, logFile: undefined, say: () => undefined, terminal, screen };
  try {
    await runDemo(configured(demoConfig, { NODES: "2", ...variables }), world, stop.signal);
    return SHOWN_DURATION.exec(drawn)?.[0];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const [dashboardPort = 0] = await freePorts(1);

/** Whether the dashboard is served on that port. */
async function servesOnPort(variables: RawValues): Promise<unknown> {
  const flags = Object.entries({ NODES: "2", DURATION: "1s", ...variables });
  const { stdout } = await runJoulie(["demo", ...flags.map(([flag, text]) => `${flagOf(flag)}=${text}`)]);
  return new RegExp(`dashboard +http://127\\.0\\.0\\.1:${dashboardPort}\\b`).test(stdout);
}

/** The settings that the demo passes to its programs. */
async function reported(variables: RawValues): Promise<unknown> {
  const config = configured(demoConfig, variables);
  const ports = { operator: 1, agent: 2, extender: 3, extenderMetrics: 4, power: 5 };
  const { NODES, SEED } = fleetSettings(config);
  const operator = operatorSettings(config, ports, "http://simulator");
  const extender = extenderSettings(config, ports);
  const agent = agentSettings(config, ports, "http://simulator", "/folder");
  return {
    nodes: NODES,
    seed: SEED,
    policy: operator.POLICY_TYPE,
    scoring: extender.SCORING,
    sleep: [operator.SLEEP_MODE, extender.SLEEP_MODE],
    spread: schedulerSettings(config).scoringStrategy === undefined && extenderWeight(config) === 1,
    observes: agent.SIMULATE_ONLY,
    agentInterval: agent.RECONCILE_INTERVAL,
  };
}

const play = {
  observe: played,
  byDefault: {
    json: true,
    summary: "3 nodes, energy-sleep, fit_aware_v1, seed 1, speed 60",
    starting: "starting 3 simulated nodes in an embedded cluster",
    introduced: "3 simulated nodes (energy-sleep) up to 60 times",
    logFile: true,
    lines: false,
  },
};
const programs = {
  observe: reported,
  byDefault: {
    nodes: 40,
    seed: 1,
    policy: "fit_aware_v1",
    scoring: "energy",
    sleep: ["on", "on"],
    observes: false,
    spread: false,
    agentInterval: 60_000,
  },
};
const table: VariableTable = {
  DASHBOARD_PORT: { value: String(dashboardPort), observe: servesOnPort, byDefault: false, changed: true },
  NODES: [
    {
      ...play,
      value: "48",
      beside: { NODES: "3" },
      changed: {
        summary: "48 nodes, energy-sleep, fit_aware_v1, seed 1, speed 60",
        starting: "starting 48 simulated nodes in an embedded cluster",
        introduced: "48 simulated nodes (energy-sleep) up to 60 times",
      },
    },
    { ...programs, value: "48", changed: { nodes: 48 } },
  ],
  PRESET: [
    {
      ...play,
      value: "observe",
      changed: {
        summary: "3 nodes, observe, fit_aware_v1, seed 1, speed 60",
        introduced: "3 simulated nodes (observe) up to 60 times",
      },
    },
    {
      ...programs,
      value: "observe",
      changed: { policy: "fit_aware_v1", scoring: "headroom", sleep: ["off", "off"], observes: true, spread: true },
    },
    { ...programs, value: "energy", changed: { scoring: "energy", sleep: ["off", "off"], observes: false } },
  ],
  POLICY: [
    {
      ...play,
      value: "static_partition",
      changed: {
        summary: "3 nodes, partition, static_partition, seed 1, speed 60",
        introduced: "3 simulated nodes (static_partition) up to 60 times",
      },
    },
    {
      ...programs,
      value: "static_partition",
      changed: { policy: "static_partition", scoring: "headroom", sleep: ["off", "off"], spread: true },
    },
  ],
  SPEED: [
    {
      ...play,
      value: "30",
      changed: {
        summary: "3 nodes, energy-sleep, fit_aware_v1, seed 1, speed 30",
        introduced: "3 simulated nodes (energy-sleep) up to 30 times",
      },
    },
    { ...programs, value: "30", changed: { agentInterval: 30_000 } },
  ],
  DURATION: {
    value: "120m",
    observe: shown,
    byDefault: undefined,
    changed: " of 120:00",
  },
  JSON: {
    ...play,
    value: "true",
    beside: { JSON: "false" },
    byDefault: { json: false },
    changed: { json: true, starting: "starting 3 simulated nodes in an embedded cluster" },
  },
  SEED: [
    { ...play, value: "7", changed: { summary: "3 nodes, energy-sleep, fit_aware_v1, seed 7, speed 60" } },
    { ...programs, value: "7", changed: { seed: 7 } },
  ],
  LOG_LEVEL: { ...play, value: "error", changed: { logFile: false, lines: false } },
};

describeVariables("demo", demoConfig, table);
