import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { eventually, simulatedDelay } from "../../src/platform/clock/testing/index.ts";

const stopLimitMs = 5_000;

export interface ProgramSpec {
  readonly name: string;
  /** What to run instead of the program of that name in the control-plane binary. */
  readonly command?: readonly [string, ...string[]];
  readonly args: readonly string[];
  /** Resolves to true once the program is ready; may reject before. */
  readonly ready: () => Promise<boolean>;
}

/** A program of the control plane, run as a child process. */
export class ServerProcess {
  readonly name: string;
  /** Log file with all output, across restarts. */
  readonly log: string;
  readonly #binary: string;
  readonly #spec: ProgramSpec;
  #child: ChildProcess | undefined;

  constructor(binary: string, folder: string, spec: ProgramSpec) {
    this.#binary = binary;
    this.#spec = spec;
    this.name = spec.name;
    this.log = `${folder}/${spec.name}.txt`;
  }

  /** Undefined while the program is stopped. */
  get pid(): number | undefined {
    return this.#running?.pid;
  }

  get #running(): ChildProcess | undefined {
    const child = this.#child;
    return child?.exitCode === null && child.signalCode === null ? child : undefined;
  }

  /** Resolves when the program is ready; rejects with the end of its log if it exits or times out. */
  async start(): Promise<void> {
    if (this.#running !== undefined) throw new Error(`${this.name} runs already`);
    const log = openSync(this.log, "a");
    const [file, ...first] = this.#spec.command ?? [this.#binary, this.name];
    const child = spawn(file, [...first, ...this.#spec.args], {
      stdio: ["ignore", log, log],
      // Most of these programs live for a minute: collecting less garbage costs some memory and saves processor time.
      env: { GOGC: "400", ...process.env, CONTROLPLANE_PARENT: String(process.pid) },
    });
    closeSync(log);
    this.#child = child;
    let failure: Error | undefined;
    child.once("error", (error) => (failure = error));
    const serves = async () => {
      if (await this.#spec.ready().catch(() => false)) return true;
      if (failure === undefined && this.#running !== undefined) return false;
      throw new Error(`${this.name} did not start: ${failure?.message ?? this.lastWords()}`);
    };
    await eventually(serves).catch((error: Error): never => {
      throw new Error(`${this.name} does not serve: ${error.message}: ${this.lastWords()}`);
    });
  }

  /** Pauses the process (SIGSTOP): connections stay open without responses. Resolves once all threads are stopped. */
  async freeze(): Promise<void> {
    this.#signal("SIGSTOP");
    await eventually(() => isStopped(this.pid));
  }

  thaw(): void {
    this.#signal("SIGCONT");
  }

  /** Sends SIGTERM, then SIGKILL: an apiserver without its etcd ignores SIGTERM. */
  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  /** Kills the process, like a crash. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** The end of the log, or the panic that ended the process. */
  lastWords(): string {
    const lines = readFileSync(this.log, "utf8").trimEnd().split("\n");
    const panic = lines.findLastIndex((line) => line.startsWith("panic:"));
    return (panic < 0 ? lines.slice(-20) : lines.slice(panic, panic + 20)).join("\n");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#running;
    if (child === undefined) return;
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    const stopped = new AbortController();
    const limit = simulatedDelay(stopLimitMs, stopped.signal).then(
      () => child.kill("SIGKILL"),
      () => undefined,
    );
    child.kill(signal);
    // A frozen process handles the signal only after it is thawed.
    child.kill("SIGCONT");
    await ended;
    stopped.abort();
    await limit;
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#running?.kill(signal) !== true) throw new Error(`${this.name} does not run`);
  }
}

/** Whether all threads are stopped: on a busy machine this takes a while. Without /proc it cannot be checked. */
function isStopped(pid: number | undefined): boolean {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.every((thread) => /\) [Tt] /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8")));
  } catch {
    return true;
  }
}
