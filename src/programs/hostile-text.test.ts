// Texts that others choose (names of nodes and pods, messages, models, paths, environment) on their way to a terminal.
import { createHash } from "node:crypto";
import { Ansis } from "ansis";
import { describe, expect, it } from "vitest";
import { joules, percent, seconds } from "../core/units/index.ts";
import { systemClock } from "../platform/clock/index.ts";
import { VirtualClock } from "../platform/clock/testing/index.ts";
import { type ConfigSchema, parseConfig, type RawValues } from "../platform/config/index.ts";
import { restoreConfig } from "./agent/config.ts";
import type { HostMachine } from "./agent/host/host.ts";
import { probeText } from "./agent/probe/probe-text.ts";
import { restoreAll } from "./agent/restore/restore.ts";
import { run } from "./cli/index.ts";
import { initialTop, type TopFrame, topFrame } from "./console/top/top-view.ts";
import { demoConfig } from "./demo/config.ts";
import type { DemoCluster } from "./demo/demo-cluster.ts";
import { summaryText } from "./demo/summary.ts";
import { explanationOf, pagesOf, welcomeText } from "./demo/welcome-text.ts";
import { programs } from "./index.ts";
import { simulateConfig } from "./simulate/config.ts";
import { simulate } from "./simulate/simulate.ts";

/** Clears the screen, rings, sets a title, turns the direction of what follows, and begins a line that looks like ours. */
const HOSTILE = "\u001b[2J\u0007\u009b31m\u0085\u202e\u2066\u200f\u061c\u2028\u2029\u007f\r\nforged: all is well";

const emptyTop: TopFrame = {
  nodes: [],
  history: new Map(),
  state: initialTop(),
  screen: { columns: 300, colour: false },
  rows: 40,
  error: undefined,
  notListed: [],
  pending: [],
  age: 0,
};

/** What a terminal obeys, but for the ends of our own lines. */
const OBEYED = /[^\P{Cc}\n]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

/** What is wrong with a text that should show the hostile one harmlessly. */
const harmIn = (text: string): readonly string[] => [
  ...(text.includes("forged: all is well") ? [] : ["it is not shown"]),
  ...(OBEYED.test(text) ? ["a terminal obeys it"] : []),
  ...(/^forged/m.test(text) ? ["it looks like a line of ours"] : []),
];

const machine = { isTerminal: false, exists: () => false };
function configured<Config extends ConfigSchema>(config: Config, flags: RawValues) {
  const parsed = parseConfig(config, { env: {}, flags, machine });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
  return parsed.value.values;
}

async function joulie(args: readonly string[], env: RawValues = {}): Promise<string> {
  let text = "";
  const write = (more: string) => (text += more);
  await run(args, programs, { env, machine, out: write, err: write });
  return text;
}

describe("what others have written is shown to a person and not obeyed", () => {
  it.each([
    ["a command that is none", [`x${HOSTILE}`], {}],
    ["a flag that is none", ["operator", `--x${HOSTILE}`], {}],
    ["an argument too many", ["operator", HOSTILE], {}],
    ["a bad flag", ["operator", "--static-hp-frac", HOSTILE], {}],
    ["a bad variable", ["operator"], { POLICY_TYPE: HOSTILE }],
    ["a bad part of a list", ["operator"], { GPU_PRODUCT_LABEL_KEYS: `a/b,${HOSTILE}` }],
    ["a bad endpoint in a list", ["agent"], { TELEMETRY_ALLOWED_ENDPOINTS: `https://a,${HOSTILE}` }],
    [
      "a rule between variables",
      ["agent", "--print-config"],
      { TELEMETRY_CPU_SOURCE: "http", [`TELEMETRY_CPU_HTTP_ENDPOINTS${HOSTILE}`]: "x" },
    ],
    ["a value in effect", ["agent", "--print-config"], { NVML_LIBRARY: HOSTILE }],
    ["a path in effect", ["agent", "--print-config"], { STATE_DIR: HOSTILE }],
  ] as const)("on the command line: %s", async (_, args, env) => {
    const text = await joulie(args, env);
    expect(text).not.toMatch(OBEYED);
    expect(text).not.toMatch(/^forged/m);
    expect(text).not.toBe("");
  });

  it("in the line that the demo adds to joulie top", () => {
    const lines = topFrame({ ...emptyTop, added: HOSTILE });
    for (const line of lines) expect(line).not.toContain("\n");
    expect(harmIn(lines.join("\n"))).toEqual([]);
    expect(lines.filter((line) => line.includes("forged"))).toHaveLength(1);
  });

  it("in the demo's introduction and summary", () => {
    const plane = { server: HOSTILE, kubeconfig: HOSTILE } as unknown as DemoCluster;
    const ports = { operator: 1, agent: 2, extender: 3, extenderMetrics: 4, power: 5 };
    const pages = { ports, simulator: { url: HOSTILE, metricsUrl: HOSTILE }, dashboard: HOSTILE };
    const listed = pagesOf(plane, pages, HOSTILE);
    expect(harmIn(welcomeText(configured(demoConfig, {}), listed))).toEqual([]);
    const explained = topFrame({ ...emptyTop, state: initialTop({ help: true }), help: explanationOf(listed) });
    for (const line of explained) expect(line).not.toContain("\n");
    expect(harmIn(explained.join("\n"))).toEqual([]);
    const summary = {
      ok: false,
      nodes: 1,
      preset: HOSTILE,
      policy: HOSTILE,
      seed: 1,
      seconds: 1,
      simulatedSeconds: seconds(1),
      speed: { asked: 1, last: 1 },
      classes: {},
      drains: { deferred: 0, completed: 0, takenBack: 0 },
      pods: { waiting: 0, running: 0, performance: 0, finished: 0 },
      power: { watts: 1, cappedWatts: 1, uncappedWatts: 1 },
      energy: { account: undefined, simulated: { wallJoules: joules(1), alwaysOnJoules: joules(1) }, pue: undefined },
      ready: { twins: undefined, jobs: undefined },
      cores: undefined,
      memory: { rssBytes: 1, peakRssBytes: 1 },
      eventLoop: { medianMs: 0, worstMs: 0 },
      notices: [HOSTILE],
      checks: [{ name: HOSTILE, ok: false, note: HOSTILE, figures: { examples: [HOSTILE] } }],
    };
    expect(harmIn(summaryText(summary))).toEqual([]);
  });

  it("in a probe: models, boards, what drivers say", () => {
    const board = {
      id: HOSTILE,
      model: HOSTILE,
      wouldSet: HOSTILE,
      problem: HOSTILE,
      warnings: [HOSTILE],
      min: undefined,
      max: undefined,
      limit: undefined,
      watts: undefined,
    };
    const probe = {
      cpu: {
        model: HOSTILE,
        vendor: HOSTILE,
        driver: HOSTILE,
        catalogue: HOSTILE,
        sockets: undefined,
        cores: undefined,
      },
      memoryBytes: undefined,
      backends: [
        { name: HOSTILE, kind: "gpu" as const, boards: [board] },
        { name: "x", kind: "cpu" as const, absent: HOSTILE, boards: [] },
      ],
      throttle: { name: HOSTILE, absent: HOSTILE, policies: 0, lowestKHz: 1_500_000 },
      energy: { zones: [{ zone: HOSTILE, watts: undefined }], missing: HOSTILE },
      warnings: [`own ${HOSTILE}.`],
    };
    expect(harmIn(probeText(probe, { CPU_PCT: percent(60), GPU_PCT: percent(60) }, new Ansis(0)))).toEqual([]);
  });

  it("in a restore: nodes and boards of the journal, messages of hardware", async () => {
    const entry = { node: HOSTILE, backend: "gone", board: HOSTILE, original: "1", at: "2030-01-01T00:00:00Z" };
    const body = { about: "", version: 1, generation: 1, entries: [entry] };
    const checksum = createHash("sha256").update(JSON.stringify(body)).digest("hex");
    const files = {
      directory: HOSTILE,
      read: async (name: string) => (name === "originals.json" ? JSON.stringify({ ...body, checksum }) : undefined),
      write: async () => undefined,
      rename: async () => undefined,
      settle: async () => undefined,
    };
    let text = "";
    const host = { cpuCaps: [], gpu: { name: HOSTILE }, throttle: { name: "t" } } as unknown as HostMachine;
    const config = configured(restoreConfig, { STATE_DIR: HOSTILE });
    await restoreAll(config, { files, clock: systemClock, host, out: (more) => (text += more) });
    expect(harmIn(text)).toEqual([]);
    expect(text).toContain("not restored");
  });

  it("in a simulation: the name of a trace, and what is wrong with it", async () => {
    let text = "";
    const write = (more: string) => (text += more);
    const config = configured(simulateConfig, { TRACE: `/nowhere/${HOSTILE}` });
    await simulate(config, { clock: new VirtualClock(), out: write, err: write });
    expect(harmIn(text)).toEqual([]);
  });
});
