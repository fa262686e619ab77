import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flagOf, type Texts } from "../../src/platform/config/index.ts";
import { demoConfig } from "../../src/programs/demo/config.ts";
import type { Plane } from "../../src/programs/demo/plane.ts";
import { agentSettings, operatorSettings, simulatorSettings } from "../../src/programs/demo/settings.ts";
import type { Summary } from "../../src/programs/demo/summary.ts";
import { runJoulie } from "./started-program.ts";
import { configured, describeVariables, type VariableTable } from "./variable-table.ts";

/** A demo of three nodes and one second, as a process: what it says to people, and its summary. */
async function played({ LOG_LEVEL, ...variables }: Texts): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), "joulie-wiring-"));
  try {
    const flags = { NODES: "3", DURATION: "1s", JSON: "true", ...variables };
    const args = Object.entries(flags).map(([name, text]) => `${flagOf(name)}=${text}`);
    const { stdout, stderr } = await runJoulie(["demo", ...args], { TMPDIR: folder, LOG_LEVEL });
    const json = stdout.startsWith("{") ? (JSON.parse(stdout) as Summary) : undefined;
    const said = stdout + stderr;
    return {
      json: json !== undefined,
      summary: json && `${json.nodes} nodes, ${json.policy}, seed ${json.seed}, speed ${json.speed.asked}`,
      duration: json && Math.floor(json.seconds / 5) * 5,
      starting: /^starting .*/.exec(said)?.[0],
      introduced:
        /^\d+ simulated nodes|\(\w+\), scheduler|at \d+ times/gm.exec(said) && said.match(INTRODUCED)?.join(" "),
      counted: / of \d\d:\d\d/.exec(said)?.[0] ?? / of [\d:]+/.exec(said)?.[0],
      debug: stderr.includes('"level":"debug"'),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
const INTRODUCED = /^\d+ simulated nodes|\(\w+\)(?=, scheduler)|at \d+ times|in real time/gm;

/** What the demo tells its programs. */
async function told(variables: Texts): Promise<unknown> {
  const config = configured(demoConfig, variables);
  const plane = { embedded: true, workload: { namespace: "default", scheduler: "s" } } as Plane;
  const ports = { operator: 1, agent: 2, extender: 3, extenderMetrics: 4 };
  const { NODES, SEED } = simulatorSettings(config, plane);
  return {
    nodes: NODES,
    seed: SEED,
    policy: operatorSettings(config, ports, "http://simulator").POLICY_TYPE,
    agentInterval: agentSettings(config, ports, "http://simulator", "/folder").RECONCILE_INTERVAL,
  };
}

const X = "?";
const play = { observe: played, byDefault: X, changed: X + "1" };
const programs = { observe: told, byDefault: { nodes: 40, seed: 1, policy: "queue_aware_v1", agentInterval: 60_000 } };
const table: VariableTable = {
  NODES: [
    { ...play, value: "48", beside: { NODES: "3" } },
    { ...programs, value: "48", changed: { nodes: 48 } },
  ],
  POLICY: [
    { ...play, value: "static_partition" },
    { ...programs, value: "static_partition", changed: { policy: "static_partition" } },
  ],
  SPEED: [
    { ...play, value: "30" },
    { ...programs, value: "30", changed: { agentInterval: 30_000 } },
  ],
  DURATION: { ...play, value: "12s", beside: { DURATION: "1s" } },
  JSON: { ...play, value: "true", beside: { JSON: "false" } },
  SEED: [
    { ...play, value: "7" },
    { ...programs, value: "7", changed: { seed: 7 } },
  ],
  KUBECONFIG: { ...play, value: "/nonexistent/kubeconfig" },
  LOG_LEVEL: { ...play, value: "debug" },
};

describeVariables("demo", demoConfig, table);
