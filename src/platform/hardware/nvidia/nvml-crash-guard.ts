import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { elapsed, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { nvmlFiles } from "./nvml-library.ts";

/** A single unfinished start may have another cause. After the second, NVML is tested in another process first. */
const UNFINISHED_STARTS_TO_SUSPECT = 2;
/** NVML may take this long to wake every board. */
const TEST_TIMEOUT = milliseconds(60_000);
const RETEST_INTERVAL = milliseconds(600_000);

export interface NvmlCrashGuardOptions {
  /** The file that records a started attempt. */
  readonly file: string;
  /** Identifies the boot and the driver version: records of others are ignored. */
  readonly key: string;
  readonly library: string;
  readonly clock: Clock;
  /** Whether the file may be written. It is always read. */
  readonly mayWrite: boolean;
}

/**
 * Protects the agent from crash loops: a broken board can make NVML crash the whole process (SIGSEGV). Each attempt is recorded in a
 * file before NVML starts. A record found at the next start means an unfinished attempt: NVML crashed, or the user stopped a slow
 * start. After two of them a subprocess tests NVML first. Only if that fails, too, NVML is disabled, and tested again later.
 */
export class NvmlCrashGuard {
  readonly #options: NvmlCrashGuardOptions;
  #testing: Promise<string | undefined> | undefined;
  /** The process of a test that was given up, until it has ended. */
  #left: ChildProcess | undefined;
  #unfinished: number;
  #isRecording: boolean;
  #disabled: { readonly reason: string; readonly at: MonotonicInstant } | undefined;

  constructor(options: NvmlCrashGuardOptions) {
    this.#options = options;
    this.#unfinished = unfinishedIn(options.file, options.key);
    this.#isRecording = options.mayWrite;
  }

  /** Why NVML must not be used now; undefined if it may be used. */
  async whyDisabled(signal?: AbortSignal): Promise<string | undefined> {
    const { clock } = this.#options;
    if (this.#unfinished < UNFINISHED_STARTS_TO_SUSPECT) return undefined;
    const before = this.#disabled;
    if (before !== undefined && elapsed(before.at, clock.monotonic()) < RETEST_INTERVAL) return before.reason;
    this.#testing ??= this.#testInSubprocess(signal);
    const failure = await this.#testing;
    this.#testing = undefined;
    if (failure === undefined) {
      this.#unfinished = UNFINISHED_STARTS_TO_SUSPECT - 1;
      this.#disabled = undefined;
      return undefined;
    }
    if (signal?.aborted === true) return "NVML is not used: its test was cancelled";
    const reason = `NVML is not used: starting it did not finish ${this.#unfinished} times, and a test in a subprocess failed (${failure}); a broken board can cause this; NVML is tested again every 10 minutes`;
    this.#disabled = { reason, at: clock.monotonic() };
    return reason;
  }

  /**
   * Returns why NVML fails the test; undefined if it passes. A test that ends with an error passes: NVML did not crash it. A process
   * that waits for a hung driver cannot be killed: it is left alone, and no second one is started beside it.
   */
  async #testInSubprocess(signal: AbortSignal | undefined): Promise<string | undefined> {
    const { clock, library } = this.#options;
    if (signal?.aborted === true) return "it was cancelled";
    if (this.#left !== undefined) return `its process ${this.#left.pid} was killed but has not ended`;
    const args = ["--input-type=module", "--eval", TEST, import.meta.resolve("koffi"), ...nvmlFiles(library)];
    const child = spawn(process.execPath, args, { cwd: "/", stdio: "ignore" });
    const tested = Promise.withResolvers<string | undefined>();
    child.once("error", (error) => tested.resolve(`it cannot be run: ${error.message}`));
    child.once("exit", (_, killedBy) => {
      this.#left = undefined;
      tested.resolve(killedBy === null ? undefined : `killed by ${killedBy}`);
    });
    const giveUp = (why: string) => {
      this.#left = child;
      child.kill("SIGKILL");
      child.unref();
      tested.resolve(why);
    };
    const timer = clock.after(TEST_TIMEOUT, () => giveUp(`it did not finish within ${TEST_TIMEOUT} ms`));
    const abort = () => giveUp("it was cancelled");
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await tested.promise;
    } finally {
      timer.cancel();
      signal?.removeEventListener("abort", abort);
    }
  }

  begin(): void {
    if (!this.#isRecording) return;
    const { file, key } = this.#options;
    try {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify({ unfinished: this.#unfinished + 1, key }));
    } catch {
      // Without a writable folder there is no record, and NVML is tried at every start.
      this.#isRecording = false;
    }
  }

  /** The attempt finished, successful or not: remove the record and stop recording. */
  end(): void {
    if (!this.#isRecording) return;
    this.#isRecording = false;
    rmSync(this.#options.file, { force: true });
  }
}

/** Starts NVML and reads name and power of each board: with a broken board, one of these calls crashes. */
const TEST = `
  const [koffiAt, ...files] = process.argv.slice(1);
  const { default: koffi } = await import(koffiAt);
  let [library, failure] = [];
  for (const file of files) {
    try { library ??= koffi.load(file); } catch (error) { failure = error; }
  }
  if (library === undefined) throw failure;
  const out = (type) => koffi.out(koffi.pointer(type));
  const call = (symbol, types, ...args) => library.func(symbol, "int", types)(...args);
  const count = [0];
  if (call("nvmlInit_v2", []) === 0 && call("nvmlDeviceGetCount_v2", [out("uint32_t")], count) === 0) {
    for (let index = 0; index < count[0]; index++) {
      const [handle, name, power] = [[null], ["\\0".repeat(96)], [0]];
      if (call("nvmlDeviceGetHandleByIndex_v2", ["uint32_t", out("void *")], index, handle) !== 0) continue;
      call("nvmlDeviceGetName", ["void *", out("char"), "uint32_t"], handle[0], name, 96);
      call("nvmlDeviceGetPowerUsage", ["void *", out("uint32_t")], handle[0], power);
    }
  }
  process.exit(0);`;

function unfinishedIn(file: string, key: string): number {
  try {
    const record: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (typeof record !== "object" || record === null || !("unfinished" in record) || !("key" in record)) return 0;
    return record.key === key && Number.isSafeInteger(record.unfinished) ? Math.max(0, Number(record.unfinished)) : 0;
  } catch {
    return 0;
  }
}
