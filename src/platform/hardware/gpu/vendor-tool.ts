import { spawn } from "node:child_process";
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { errorCode } from "../host/host-error.ts";

export interface VendorToolOptions {
  /** Names on the PATH or full paths, of which the first that is there is run. */
  readonly files: readonly string[];
  /** What to install where none of them is there. */
  readonly install: string;
  readonly clock: Clock;
  /** Wakes boards, where their driver lets them sleep: seconds each. */
  readonly timeLimit?: Milliseconds;
  /** For a program of ours; a vendor's gets no more than it needs. */
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
  /** It ran and gave no answer, or could not be run: why. */
  | { readonly failed: string; readonly absent?: never }
  | { readonly absent: string; readonly failed?: never };

/** More than any tool says about sixteen boards. */
const MOST_BYTES = 1024 * 1024;
const TIME_LIMIT = milliseconds(30_000);
/** What `env` and shells answer where a script's interpreter is missing. */
const NO_INTERPRETER = 127;

/**
 * A vendor's program, run without a shell: arguments go to it as they are. One run at a time; a run that does not end in its
 * time is killed, and where even that does not end it no other is started.
 */
export class VendorTool {
  readonly #options: VendorToolOptions;
  #turn: Promise<unknown> = Promise.resolve();
  #running: { readonly pid: number | undefined } | undefined;

  constructor(options: VendorToolOptions) {
    this.#options = options;
  }

  async run(args: readonly string[], signal?: AbortSignal): Promise<VendorToolResult> {
    const answer = this.#turn.then(async () => this.#firstThere(args, signal));
    this.#turn = answer;
    return answer;
  }

  async #firstThere(args: readonly string[], signal: AbortSignal | undefined): Promise<VendorToolResult> {
    const { files, install } = this.#options;
    for (const file of files) {
      const answer = await this.#once(file, args, signal);
      if (answer.absent === undefined) return answer;
    }
    return { absent: `${files[0]} is not installed: ${install}` };
  }

  async #once(file: string, args: readonly string[], signal: AbortSignal | undefined): Promise<VendorToolResult> {
    if (signal?.aborted === true) return { failed: `${file} was not run: it is no longer waited for` };
    if (this.#running !== undefined) {
      return { failed: `${file} was not run: process ${this.#running.pid} of it was killed and has not ended` };
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
      // A process that waits for a hung driver cannot be killed: it must not keep this one from ending.
      child.unref();
      child.stdout.destroy();
      child.stderr.destroy();
      ended.resolve({ failed: `${file} ${why}` });
    };
    for (const stream of ["stdout", "stderr"] as const) {
      child[stream].setEncoding("utf8");
      child[stream].on("data", (chunk: string) => {
        bytes += chunk.length;
        if (bytes > MOST_BYTES) giveUp(`said more than ${MOST_BYTES} bytes`);
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
      else if (status === null) ended.resolve({ failed: `${file} was ended by ${killedBy}` });
      else ended.resolve({ status, ...out });
    });
    const timer = clock.after(timeLimit, () => giveUp(`gave no answer within ${timeLimit} ms`));
    const abort = (): void => giveUp("is no longer waited for");
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await ended.promise;
    } finally {
      timer.cancel();
      signal?.removeEventListener("abort", abort);
    }
  }
}

/** Enough to find the program and its libraries, in the language its answers are read in; nothing of ours that is secret. */
function toolEnvironment(): NodeJS.ProcessEnv {
  const { PATH, LD_LIBRARY_PATH } = process.env;
  return { PATH, LC_ALL: "C", ...(LD_LIBRARY_PATH === undefined ? {} : { LD_LIBRARY_PATH }) };
}

/** What a tool says for a message: its last line that is no ornament. */
export function lastOutputLine({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }): string {
  const lines = `${stdout}\n${stderr}`.split("\n").map((line) => line.trim());
  return (lines.findLast((line) => /[a-z]/i.test(line) && !/^all done/i.test(line)) ?? "it says nothing").slice(0, 300);
}
