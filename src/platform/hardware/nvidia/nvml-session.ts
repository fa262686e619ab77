import { isMainThread } from "node:worker_threads";
import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { HungCallGuard } from "../host/hung-call-guard.ts";
import {
  isStaleSession,
  type NvmlArguments,
  type NvmlFunction,
  type NvmlName,
  type NvmlResults,
  nvmlFunctions,
} from "./nvml-functions.ts";
import { loadNvml, type NvmlLibrary, nvmlFiles } from "./nvml-library.ts";

/** A call normally takes microseconds; one that wakes a board takes seconds. */
const CALL_TIMEOUT = milliseconds(5_000);
const WAKE_TIMEOUT = milliseconds(30_000);

/** The lane of calls that do not belong to a single board. */
const DRIVER = "driver";

/** Calls NVML in a lane, usually a board's: a hung call blocks only its own lane. */
export interface NvmlCaller {
  <Name extends NvmlName>(lane: string, name: Name, ...args: NvmlArguments<Name>): Promise<NvmlResults<Name>>;
}

/** Loads and initialises NVML on first use, and again after the driver was reloaded. */
export class NvmlSession {
  readonly #file: string;
  readonly #guard: HungCallGuard;
  #library: Promise<NvmlLibrary> | undefined;
  #ready: Promise<void> | undefined;
  #atExit: ((code: number) => void) | undefined;

  constructor(file: string, clock: Clock) {
    this.#file = file;
    this.#guard = new HungCallGuard(clock);
  }

  /** Runs `work` with NVML ready, after a reload of the driver once more with `again` set: old handles are invalid. */
  async with<Result>(
    signal: AbortSignal | undefined,
    work: (call: NvmlCaller, again: boolean) => Promise<Result>,
  ): Promise<Result> {
    const call: NvmlCaller = async (lane, name, ...args) => this.#call(signal, lane, name, ...args);
    await this.#initialised(call);
    const ready = this.#ready;
    try {
      return await work(call, false);
    } catch (error) {
      if (!isStaleSession(error)) throw error;
      // A concurrent caller may already have initialised NVML again: do not shut that session down.
      if (this.#ready === ready) await this.#end(call);
      await this.#initialised(call);
      return work(call, true);
    }
  }

  async close(): Promise<void> {
    if (!this.#guard.stuck) await this.#end(async (lane, name, ...args) => this.#call(undefined, lane, name, ...args));
    const atExit = this.#atExit;
    if (atExit === undefined) return;
    // Register again as the last exit handler, because it ends the process at once.
    process.off("exit", atExit);
    if (this.#guard.busy) process.once("exit", atExit);
  }

  async #initialised(call: NvmlCaller): Promise<void> {
    this.#ready ??= call(DRIVER, "init").then(() => {});
    try {
      await this.#ready;
    } catch (error) {
      this.#ready = undefined;
      throw error;
    }
  }

  async #end(call: NvmlCaller): Promise<void> {
    if (this.#ready === undefined) return;
    this.#ready = undefined;
    // Shutdown only frees driver resources; a driver that is gone holds none.
    await call(DRIVER, "shutdown").catch(() => {});
  }

  async #call<Name extends NvmlName>(
    signal: AbortSignal | undefined,
    lane: string,
    name: Name,
    ...args: NvmlArguments<Name>
  ): Promise<NvmlResults<Name>> {
    const library = await this.#loaded();
    const { symbol, wakes }: NvmlFunction = nvmlFunctions[name];
    return this.#guard.run({
      lane,
      what: symbol,
      limit: wakes === true ? WAKE_TIMEOUT : CALL_TIMEOUT,
      signal,
      work: async () => library.call(name, ...args),
    });
  }

  async #loaded(): Promise<NvmlLibrary> {
    this.#library ??= loadNvml(nvmlFiles(this.#file));
    try {
      const library = await this.#library;
      if (this.#atExit === undefined && isMainThread) {
        // Node waits for its threads on exit, and a hung one never returns.
        this.#atExit = (code) => {
          if (this.#guard.busy) library.exit(code);
        };
        process.once("exit", this.#atExit);
      }
      return library;
    } catch (error) {
      this.#library = undefined;
      throw error;
    }
  }
}
