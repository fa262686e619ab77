// A program of bench/cluster.ts in a process of its own, run from the bundle as in the image.
import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { freePorts } from "../src/platform/serve/listen.ts";
import type { StartOptions } from "../src/programs/start-options.ts";
import { memoryOf, processorSeconds } from "./operator-process.ts";

const READY_LIMIT_MS = 180_000;
const STOP_LIMIT_MS = 30_000;

export interface ProgramStart {
  /** The bundle. */
  readonly main: string;
  readonly program: "operator" | "agent" | "extender";
  readonly options: StartOptions;
  readonly variables: Readonly<Record<string, string>>;
}

export class ProgramProcess {
  readonly #child: ChildProcess;
  readonly #program: string;
  readonly #url: string;
  /** For a bench that ends without stopping its programs. */
  readonly #kill = (): void => void this.#child.kill("SIGKILL");

  private constructor(child: ChildProcess, program: string, url: string) {
    this.#child = child;
    this.#program = program;
    this.#url = url;
    process.once("exit", this.#kill);
  }

  static async start({ main, program, options, variables }: ProgramStart): Promise<ProgramProcess> {
    const [port = 0] = await freePorts(1);
    const child = spawn(process.execPath, [...options.node, main, program], {
      stdio: ["ignore", 2, "inherit"],
      env: {
        PATH: process.env["PATH"],
        ...options.environment,
        METRICS_ADDR: `127.0.0.1:${port}`,
        LOG_LEVEL: "warn",
        ...variables,
      },
    });
    return new ProgramProcess(child, program, `http://127.0.0.1:${port}`);
  }

  get processorSeconds(): number {
    return processorSeconds(this.#child.pid ?? Number.NaN);
  }

  /** Resident memory in MiB. */
  get memory(): number {
    return memoryOf(this.#child.pid ?? Number.NaN, "VmRSS");
  }

  /** Resolves when the program reports ready. */
  async ready(): Promise<void> {
    const deadline = performance.now() + READY_LIMIT_MS;
    const isReady = async () => (await fetch(`${this.#url}/readyz`, { signal: AbortSignal.timeout(5000) })).ok;
    while (!(await isReady().catch(() => false))) {
      if (this.#child.exitCode !== null) throw new Error(`the ${this.#program} ended with ${this.#child.exitCode}`);
      if (performance.now() > deadline) throw new Error(`the ${this.#program} is not ready`);
      await sleep(100);
    }
  }

  async metrics(): Promise<string> {
    const answer = await fetch(`${this.#url}/metrics`, { signal: AbortSignal.timeout(30_000) });
    return answer.text();
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    const limit = setTimeout(() => this.#child.kill("SIGKILL"), STOP_LIMIT_MS);
    this.#child.kill();
    await ended;
    clearTimeout(limit);
    process.off("exit", this.#kill);
  }
}
