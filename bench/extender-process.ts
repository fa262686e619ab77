// Extender processes of the benches.
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bundle } from "../scripts/bundle.ts";
import { freePorts } from "../src/platform/serve/listen.ts";
import { startOptions } from "../src/programs/start-options.ts";

type Variables = Readonly<Record<string, string>>;

const PATIENCE_MS = 60_000;
const SCRAPE_MS = 3000;

const { node: nodeOptions, environment } = startOptions.extender;

export class ExtenderProcess {
  readonly port: number;
  readonly metricsPort: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number, metricsPort: number) {
    this.#child = child;
    this.port = port;
    this.metricsPort = metricsPort;
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN;
  }

  /** Our extender from the bundle, as in the image; resolves when it has synced. */
  static async ours(kubeconfig: string, variables: Variables = {}): Promise<ExtenderProcess> {
    const main = join(import.meta.dirname, "../dist/joulie.mjs");
    await bundle(main);
    return ExtenderProcess.bundled(main, kubeconfig, variables);
  }

  /** The extender of a bundle, also of another version. */
  static async bundled(main: string, kubeconfig: string, variables: Variables = {}): Promise<ExtenderProcess> {
    const [port = 0, metrics = 0] = await freePorts(2);
    const child = run([...nodeOptions, main, "extender"], {
      ...environment,
      KUBECONFIG: kubeconfig,
      EXTENDER_ADDR: `127.0.0.1:${port}`,
      METRICS_ADDR: `127.0.0.1:${metrics}`,
      LOG_LEVEL: "warn",
      // Twins are written once and must not become stale during a bench.
      TWIN_STALENESS_THRESHOLD: "2h",
      ...variables,
    });
    const extender = new ExtenderProcess(child, port, metrics);
    await extender.#until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok);
    return extender;
  }

  /** Runs a file of this folder that listens on PORT. */
  static async other(file: string, args: readonly string[] = []): Promise<ExtenderProcess> {
    const [port = 0] = await freePorts(1);
    const extender = new ExtenderProcess(
      run([join(import.meta.dirname, file), ...args], { PORT: String(port) }),
      port,
      0,
    );
    await extender.#until(async () => {
      await fetch(`http://127.0.0.1:${port}/healthz`, { method: "HEAD", signal: AbortSignal.timeout(1000) });
      return true;
    });
    return extender;
  }

  /** Waits until a series of /metrics has this value. Scrapes rarely: each one takes memory of the extender. */
  async measures(series: string, value: number): Promise<void> {
    await this.#until(async () => {
      await sleep(SCRAPE_MS);
      const text = await (await fetch(`http://127.0.0.1:${this.metricsPort}/metrics`)).text();
      return text.includes(`\n${series} ${value}\n`);
    });
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill();
    await ended;
  }

  async #until(holds: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!(await holds().catch(() => false))) {
      if (this.#child.exitCode !== null) throw new Error(`the extender ended with ${this.#child.exitCode}`);
      if (performance.now() > deadline) throw new Error("the extender does not answer");
      await sleep(50);
    }
  }
}

const run = (args: readonly string[], variables: Readonly<Record<string, string>>): ChildProcess =>
  spawn(process.execPath, args, { stdio: ["ignore", 2, "inherit"], env: { PATH: process.env["PATH"], ...variables } });
