// The agent process of bench/agent.ts, run from the bundle as in the image.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bundle } from "../scripts/bundle.ts";
import { freePorts } from "../src/platform/serve/listen.ts";
import { type StartOptions, startOptions } from "../src/programs/start-options.ts";

const PATIENCE_MS = 120_000;

/** Builds the bundle into a folder with its dependencies. */
export async function bundled(): Promise<{ readonly program: string; readonly remove: () => void }> {
  const folder = mkdtempSync(join(tmpdir(), "joulie-agent-bundle-"));
  mkdirSync(join(folder, "dist"));
  symlinkSync(join(import.meta.dirname, "../node_modules"), join(folder, "node_modules"));
  const program = join(folder, "dist/joulie.mjs");
  await bundle(program);
  return { program, remove: () => rmSync(folder, { recursive: true }) };
}

/** Number of ticks so far and their total seconds. */
export interface Ticks {
  readonly count: number;
  readonly seconds: number;
}

export class AgentProcess {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.#url = url;
    this.pid = child.pid ?? Number.NaN;
  }

  /** Resolves when the agent has synced with the cluster. */
  static async start(
    program: string,
    variables: Readonly<Record<string, string>>,
    options: StartOptions = startOptions.agent,
  ): Promise<AgentProcess> {
    const [port = 0] = await freePorts(1);
    const own = { ...options.environment, METRICS_ADDR: `127.0.0.1:${port}`, LOG_LEVEL: "fatal", ...variables };
    const child = spawn(process.execPath, [...options.node, program, "agent"], {
      stdio: ["ignore", 2, "inherit"],
      env: { PATH: process.env["PATH"], ...own },
    });
    const agent = new AgentProcess(child, `http://127.0.0.1:${port}`);
    try {
      await agent.until(async () => (await fetch(`${agent.#url}/readyz`)).ok, "ready");
    } catch (error) {
      child.kill("SIGKILL");
      throw error;
    }
    return agent;
  }

  async ticks(): Promise<Ticks> {
    const text = await (await fetch(`${this.#url}/metrics`)).text();
    const of = (name: string) =>
      Number(new RegExp(`^joulie_agent_tick_duration_seconds_${name} (\\S+)$`, "m").exec(text)?.[1] ?? 0);
    return { count: of("count"), seconds: of("sum") };
  }

  async until(holds: () => Promise<boolean>, what: string): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!(await holds().catch(() => false))) {
      if (this.#child.exitCode !== null) throw new Error(`the agent ended with ${this.#child.exitCode}`);
      if (performance.now() > deadline) throw new Error(`the agent is not ${what} after ${PATIENCE_MS / 1000} s`);
      await sleep(50);
    }
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill();
    await ended;
  }
}
