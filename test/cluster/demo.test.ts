// The demo as a process, as a user starts it, on the embedded cluster and on a real one.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventually, eventuallyPasses } from "../../src/platform/clock/testing/index.ts";
import type { DemoSummary } from "../../src/programs/demo/summary.ts";
import { buildControlPlane } from "../controlplane/build.ts";
import { runKubectl } from "../controlplane/kubectl.ts";

const joulie = join(import.meta.dirname, "../../bin/joulie.mjs");
/** Makes every command to a machine of the demo take 1.5 s. */
const slowControl = join(import.meta.dirname, "slow-control.mjs");
/** Many times the duration of each test on an idle machine. */
const PATIENCE_MS = 300_000;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running demo; tests can wait for its output. */
class Demo {
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  #stderr = "";

  constructor(args: readonly string[] = [], preloaded?: string) {
    const child = spawn(process.execPath, [joulie, "demo", "--json", ...args], {
      env: { ...process.env, NO_COLOR: "1", ...(preloaded && { NODE_OPTIONS: `--import ${preloaded}` }) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    let stdout = "";
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (this.#stderr += chunk.toString()));
    this.ended = new Promise((resolve) => {
      child.on("close", (code) => resolve({ code, stdout, stderr: this.#stderr }));
    });
  }

  /** Waits for matching output; rejects with the last lines if the demo exits before, or does not say it in time. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    const output = eventually(() => pattern.exec(this.#stderr), { boundMs: PATIENCE_MS }).catch(
      (error: Error): never => {
        throw new Error(`it did not say ${pattern}: ${error.message}\n${this.#stderr.slice(-1500)}`);
      },
    );
    const over = this.ended.then(({ stderr }): never => {
      throw new Error(`it never said ${pattern}: ${stderr}`);
    });
    return Promise.race([output, over]);
  }

  interrupt(signal: "SIGINT" | "SIGHUP" = "SIGINT"): void {
    this.#child.kill(signal);
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.ended;
  }
}

/** The summary: the only line on standard output. */
function summaryOf({ stdout }: Ended): DemoSummary {
  const lines = stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0] ?? "") as DemoSummary;
}
const failed = ({ checks }: DemoSummary) => checks.filter(({ ok }) => !ok);

const commandsFor =
  (kubeconfig: string) =>
  async (...args: readonly string[]): Promise<string> => {
    const env = { ...process.env, KUBECONFIG: kubeconfig };
    return (await promisify(execFile)(process.execPath, [joulie, ...args], { env })).stdout;
  };

/** What commands write and show is in the time of the demo, which is minutes ahead of this machine's. */
async function oneClock(kubeconfig: string): Promise<void> {
  const command = commandsFor(kubeconfig);
  const twoHours = 7_200_000;
  await eventuallyPasses(async () => {
    const [, until = ""] =
      /until (\S+) by/.exec(await command("pin", "sim-001", "--profile", "eco", "--for", "2h")) ?? [];
    expect(Date.parse(until)).toBeGreaterThan(systemClock.now() + twoHours + 120_000);
  });
  await eventuallyPasses(async () => {
    const node = await command("node", "sim-001");
    expect(node).toMatch(/^\d+[sm] ago +\S+: .*pinned to eco/m);
    expect(node).not.toMatch(/^\d+[hd] ago|^-\d/m);
  });
  expect(await command("doctor")).toContain("a demo with a time of its own");
}

/** The commands of the console find the demo's namespace and the pages of its programs. */
async function commandsWork(kubeconfig: string): Promise<void> {
  const command = commandsFor(kubeconfig);
  expect(await command("status", "-o", "name")).not.toContain("not-installed");
  expect(await command("status")).toMatch(/^OPERATOR {2}\S+ leads, renewed \d+s ago$/m);
  expect(await command("plan", "-o", "jsonpath={.source}")).toMatch(/^The operator's own plan \(operator at http:/);
  // The dashboard counts from its second sample on.
  await eventuallyPasses(async () => {
    const { source, totals } = JSON.parse(await command("savings", "--since", "1h", "-o", "json")) as {
      source: string;
      totals: { used: number };
    };
    expect(source).toMatch(/^the account of the dashboard at http:/);
    expect(totals.used).toBeGreaterThan(0);
    expect(await command("node", "sim-000")).toMatch(/^power {7}[▁▂▃▄▅▆▇█ ]+ \d.* W in \d+/m);
  });
}

describe("the demo", () => {
  let demo: Demo | undefined;
  afterEach(async () => demo?.kill());

  it(
    "SCH-58 X-22 drains nodes and runs no performance pod under eco caps, with all programs over HTTP",
    async () => {
      const binary = await buildControlPlane();
      if (!binary.available) throw new Error(binary.reason);
      demo = new Demo(["--policy", "queue_aware_v1"]);
      const [, kubeconfig = ""] = await demo.says(/KUBECONFIG=(\S+) kubectl get nodetwins/);
      await demo.says(/drains \d+ deferred, [1-9]\d* completed/);
      const folder = join(kubeconfig, "..");
      const { stdout: table } = await runKubectl(binary.path, { folder, kubeconfig }, ["get", "nodetwins"]);
      expect(table.trimEnd().split("\n")).toHaveLength(41);
      expect(table).toMatch(/^NAME +CLASS +POWER +CAP +COOLING +PSU +AGE$/m);
      expect(table).toMatch(/^sim-000 +(performance|eco|draining) +\d/m);
      expect(table).not.toMatch(/\d\.\d\d/);
      demo.interrupt();
      const ended = await demo.ended;
      const summary = summaryOf(ended);
      expect(failed(summary)).toEqual([]);
      expect(summary.drains.deferred).toBeGreaterThanOrEqual(summary.drains.completed);
      expect(summary.drains.completed).toBeGreaterThan(0);
      expect(summary.energy.account?.usedKwh).toBeGreaterThan(0);
      expect(ended.code).toBe(0);
      expect(ended.stderr).toContain("ok     every node has a fresh twin");
    },
    PATIENCE_MS,
  );

  it(
    "X-163 switches empty nodes off by default: their wakes are proven beforehand",
    async () => {
      demo = new Demo();
      await demo.says(/ sleeps [1-9]\d*, wakes \d+ \| pods [1-9]/);
      demo.interrupt();
      const summary = summaryOf(await demo.ended);
      expect(failed(summary)).toEqual([]);
      expect(summary.preset).toBe("energy-sleep");
      expect(summary.sleep?.sleeps).toBeGreaterThan(0);
      expect(summary.energy.simulated.alwaysOnJoules).toBeGreaterThan(0);
    },
    PATIENCE_MS,
  );

  it(
    "X-120 runs no performance pod under eco caps with agents that are 1.5 s late",
    async () => {
      demo = new Demo(["--policy", "fit_aware_v1"], slowControl);
      await demo.says(/, ([6-9]\d|\d{3,}) finished/);
      demo.interrupt();
      const summary = summaryOf(await demo.ended);
      expect(failed(summary)).toEqual([]);
      const check = summary.checks.find(({ name }) => name === "no performance pod ran under eco caps");
      // With a note it would not have seen any.
      expect(check).toEqual({ name: check?.name, ok: true, figures: expect.objectContaining({ pods: 0 }) });
    },
    PATIENCE_MS,
  );

  it(
    "CLI-12 CLI-19 X-161 the commands find its programs and count in its time; joulie stop restores limits, and resume lets it plan again",
    async () => {
      demo = new Demo(["--nodes", "3", "--policy", "static_partition"]);
      const [, kubeconfig = ""] = await demo.says(/KUBECONFIG=(\S+) kubectl get nodetwins/);
      const command = commandsFor(kubeconfig);
      const reports = async () => command("node", "sim-000", "-o", "jsonpath={.receipts[*].message}");
      await demo.says(/pods [1-9]\d* running/);
      await commandsWork(kubeconfig);
      await oneClock(kubeconfig);
      expect(await command("stop")).toContain("namespace/joulie-demo stopped");
      expect(await command("status", "-o", "jsonpath={.installation.stopped}")).toBe("true");
      await eventuallyPasses(async () => expect(await reports()).toContain("stopped by the annotation"));
      expect(await command("resume")).toContain("namespace/joulie-demo resumed");
      await eventuallyPasses(async () => expect(await reports()).not.toContain("stopped by the annotation"));
    },
    PATIENCE_MS,
  );

  it(
    "lowers a speed that this machine cannot keep up with before every twin is fresh, and then runs pods",
    async () => {
      demo = new Demo(["--nodes", "100", "--speed", "600"]);
      const slower = await demo.says(/this machine cannot keep up with speed 600: the oldest twin/);
      const running = await demo.says(/pods ([1-9]\d*) running/);
      // Pods run once every twin was fresh.
      expect(slower.index).toBeLessThan(running.index);
    },
    PATIENCE_MS,
  );

  it(
    "exits after its duration, with an exit code that reports the result of its checks",
    async () => {
      demo = new Demo(["--duration", "4s", "--nodes", "3"]);
      const ended = await demo.ended;
      const summary = summaryOf(ended);
      expect(summary.seconds).toBeGreaterThanOrEqual(4);
      expect(summary.nodes).toBe(3);
      expect(ended.code).toBe(summary.ok ? 0 : 1);
    },
    PATIENCE_MS,
  );

  it(
    "is not ok if it ends by itself before it has seen a fresh twin, a performance pod and a cap",
    async () => {
      demo = new Demo(["--duration", "100ms", "--nodes", "20"]);
      const ended = await demo.ended;
      expect(failed(summaryOf(ended)).map(({ name }) => name)).toEqual([
        "every node has a fresh twin",
        "no performance pod ran under eco caps",
        "caps in force are the published ones",
      ]);
      expect(ended.code).toBe(1);
    },
    PATIENCE_MS,
  );

  it.each([
    ["Ctrl-C", "SIGINT"],
    ["a closed terminal", "SIGHUP"],
  ] as const)(
    "exits at once on %s during the start, without an error",
    async (_, signal) => {
      demo = new Demo(["--nodes", "200"]);
      await demo.says(/look inside/);
      demo.interrupt(signal);
      const ended = await demo.ended;
      expect(ended.code).toBe(0);
      expect(failed(summaryOf(ended))).toEqual([]);
    },
    PATIENCE_MS,
  );

  it.each([
    ["its output is not read", undefined],
    ["Ctrl-C ends its reader as well", "SIGINT"],
  ] as const)(
    "shuts down cleanly when %s, and leaves nothing behind",
    async (_, signal) => {
      const child = spawn(process.execPath, [joulie, "demo", "--nodes", "3"], { stdio: ["ignore", "pipe", "inherit"] });
      const code = new Promise((resolve) => void child.on("close", resolve));
      let output = "";
      for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
        output += chunk.toString();
        // Leaving the loop closes the pipe, like `| head`.
        if (output.includes("KUBECONFIG=")) break;
      }
      if (signal !== undefined) child.kill(signal);
      const [, kubeconfig = ""] = /KUBECONFIG=(\S+)/.exec(output) ?? [];
      expect(kubeconfig).not.toBe("");
      expect(await code).toBe(0);
      expect(existsSync(join(kubeconfig, ".."))).toBe(false);
    },
    PATIENCE_MS,
  );
});
