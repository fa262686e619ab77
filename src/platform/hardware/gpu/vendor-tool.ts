import { spawn } from "node:child_process";
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { errorCode } from "../host/host-error.ts";

export interface VendorToolOptions {
  /** Names on the PATH or full paths. The first that exists is run. */
  readonly files: readonly string[];
  /** What to install if none of them exists. */
  readonly install: string;
  readonly clock: Clock;
  /** Generous, because a tool may wake sleeping boards, which takes seconds each. */
  readonly timeLimit?: Milliseconds;
  /** For Joulie's own subprocess. A vendor's tool gets a minimal environment. */
  readonly environment?: NodeJS.ProcessEnv;
}

export type VendorToolResult =
  | {
      readonly status: number;
      readonly stdout: string;
      readonly stderr: string;
      readonly failed?: never;
      readonly absent?: never;
    }
  /** The tool could not be run, or ended without a result. */
  | { readonly failed: string; readonly absent?: never }
  | { readonly absent: string; readonly failed?: never };

/** More than any tool prints about sixteen boards. */
const MAX_BYTES = 1024 * 1024;
const TIME_LIMIT = milliseconds(30_000);
/** The exit status of `env` and shells if a script's interpreter is missing. */
const NO_INTERPRETER = 127;

/**
 * Runs a vendor's command-line tool without a shell. Runs are serialized. A run that exceeds its time limit is killed; while the
 * killed process has not ended, no other run is started.
 */
export class VendorTool {
  readonly #options: VendorToolOptions;
  #previousRun: Promise<unknown> = Promise.resolve();
  #running: { readonly pid: number | undefined } | undefined;

  constructor(options: VendorToolOptions) {
    this.#options = options;
  }

  async run(args: readonly string[], signal?: AbortSignal): Promise<VendorToolResult> {
    const answer = this.#previousRun.then(async () => this.#runFirstInstalled(args, signal));
    this.#previousRun = answer;
    return answer;
  }

  async #runFirstInstalled(args: readonly string[], signal: AbortSignal | undefined): Promise<VendorToolResult> {
    const { files, install } = this.#options;
    for (const file of files) {
      const answer = await this.#runFile(file, args, signal);
      if (answer.absent === undefined) return answer;
    }
    return { absent: `${files[0]} is not installed: ${install}` };
  }

  async #runFile(file: string, args: readonly string[], signal: AbortSignal | undefined): Promise<VendorToolResult> {
    if (signal?.aborted === true) return { failed: `${file} was not run: the caller cancelled it` };
    if (this.#running !== undefined) {
      return { failed: `${file} was not run: its process ${this.#running.pid} was killed but has not ended` };
    }
    const { clock, timeLimit = TIME_LIMIT, environment = toolEnvironment() } = this.#options;
    const child = spawn(file, args, { cwd: "/", env: environment, stdio: ["ignore", "pipe", "pipe"] });
    const running = { pid: child.pid };
    this.#running = running;
    const ended = Promise.withResolvers<VendorToolResult>();
    const out = { stdout: "", stderr: "" };
    let bytes = 0;
    const giveUp = (why: string): void => {
      child.kill("SIGKILL");
      // A process that waits for a hung driver cannot be killed. It must not keep the agent from exiting.
      child.unref();
      child.stdout.destroy();
      child.stderr.destroy();
      ended.resolve({ failed: `${file} ${why}` });
    };
    for (const stream of ["stdout", "stderr"] as const) {
      child[stream].setEncoding("utf8");
      child[stream].on("data", (chunk: string) => {
        bytes += chunk.length;
        if (bytes > MAX_BYTES) giveUp(`printed more than ${MAX_BYTES} bytes`);
        else out[stream] += chunk;
      });
    }
    child.once("error", (error) => {
      this.#running = undefined;
      const absent = errorCode(error) === "ENOENT";
      ended.resolve(absent ? { absent: file } : { failed: `${file} cannot be run: ${error.message}` });
    });
    child.once("exit", () => {
      if (this.#running === running) this.#running = undefined;
    });
    child.once("close", (status, killedBy) => {
      if (status === NO_INTERPRETER) ended.resolve({ absent: file });
      else if (status === null) ended.resolve({ failed: `${file} was killed by ${killedBy}` });
      else ended.resolve({ status, ...out });
    });
    const timer = clock.after(timeLimit, () => giveUp(`did not finish within ${timeLimit} ms`));
    const abort = (): void => giveUp("was cancelled by the caller");
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await ended.promise;
    } finally {
      timer.cancel();
      signal?.removeEventListener("abort", abort);
    }
  }
}

/** Only what the tool needs to find its libraries and to print English: no secrets of the agent. */
function toolEnvironment(): NodeJS.ProcessEnv {
  const { PATH, LD_LIBRARY_PATH } = process.env;
  return { PATH, LC_ALL: "C", ...(LD_LIBRARY_PATH === undefined ? {} : { LD_LIBRARY_PATH }) };
}

/** The last line of a tool's output that has text, for a message. */
export function lastOutputLine({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }): string {
  const lines = `${stdout}\n${stderr}`.split("\n").map((line) => line.trim());
  return (lines.findLast((line) => /[a-z]/i.test(line) && !/^all done/i.test(line)) ?? "it printed nothing").slice(
    0,
    300,
  );
}
