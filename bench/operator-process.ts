// Processes of bench/operator.ts as the kernel sees them: CPU time and memory.
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { freePorts } from "../src/platform/serve/listen.ts";
import { startOptions } from "../src/programs/start-options.ts";

/** Linux counts CPU time in hundredths of a second. */
const TICKS_PER_SECOND = 100;
const main = join(import.meta.dirname, "../src/main.ts");

/** CPU seconds of a process, user and system. */
export function processorSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The process name before it is in parentheses and may contain anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Resident memory in MiB, current or peak. */
export function memoryOf(pid: number, which: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${which}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? Number.NaN) / 1024;
}

/** Values from the operator's metrics. */
export interface OperatorMessage {
  readonly passes: number;
  /** Writes so far, by kind. */
  readonly writes: Readonly<Record<string, number>>;
}

/** The operator, run from source in a separate process. */
export class OperatorProcess {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.#url = url;
    this.pid = child.pid ?? Number.NaN;
  }

  static async start(variables: Readonly<Record<string, string>>): Promise<OperatorProcess> {
    const [port = 0] = await freePorts(1);
    const own = { METRICS_ADDR: `127.0.0.1:${port}`, POD_NAME: "bench", LOG_LEVEL: "warn", ...variables };
    const child = spawn(process.execPath, [...startOptions.operator.node, main, "operator"], {
      stdio: ["ignore", 2, "inherit"],
      env: { PATH: process.env["PATH"], ...own },
    });
    return new OperatorProcess(child, `http://127.0.0.1:${port}`);
  }

  /** Undefined until it serves metrics. */
  async told(): Promise<OperatorMessage | undefined> {
    if (this.#child.exitCode !== null) throw new Error(`the operator ended with ${this.#child.exitCode}`);
    const text = await fetch(`${this.#url}/metrics`).then(
      async (answer) => answer.text(),
      () => undefined,
    );
    if (text === undefined) return undefined;
    const lines = text.matchAll(/^joulie_operator_writes_total\{kind="(\w+)"\} (\d+)$/gm);
    return {
      passes: Number(/^joulie_operator_pass_duration_seconds_count (\d+)$/m.exec(text)?.[1] ?? 0),
      writes: Object.fromEntries(Array.from(lines, ([, kind = "", count]) => [kind, Number(count)])),
    };
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill();
    await ended;
  }
}
