import { isMainThread } from "node:worker_threads";
import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { HungCallGuard } from "../host/hung-call-guard.ts";
import { isStaleSession } from "./nvml-codes.ts";
import {
  type NvmlArguments,
  type NvmlFunction,
  type NvmlName,
  type NvmlResults,
  nvmlFunctions,
} from "./nvml-functions.ts";
import { loadNvml, type NvmlLibrary } from "./nvml-library.ts";

/** A driver that answers does so in microseconds; one that must first wake a board takes seconds. */
const ANSWERS_WITHIN = milliseconds(5_000);
const WAKES_WITHIN = milliseconds(30_000);

/** The lane of calls that concern no single board. */
const DRIVER = "driver";

/** A call, and which board it is about: one that hangs closes that board's lane only. */
export interface NvmlCaller {
  <Name extends NvmlName>(lane: string, name: Name, ...args: NvmlArguments<Name>): Promise<NvmlResults<Name>>;
}

/** NVML loaded and initialised when first needed, and again after the driver was reloaded under it. */
export class NvmlSession {
  readonly #file: string;
  readonly #gate: HungCallGuard;
  #library: Promise<NvmlLibrary> | undefined;
  #ready: Promise<void> | undefined;
  #atExit: ((code: number) => void) | undefined;

  constructor(file: string, clock: Clock) {
    this.#file = file;
    this.#gate = new HungCallGuard(clock);
  }

  /**
   * Does some work with an initialised NVML. Where the driver turns out to have been reloaded, it is initialised anew and the
   * work is done `again`, when nothing got from it before is worth anything.
   */
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
      // Others may have found the same and be ahead: what they initialised is not to be ended again.
      if (this.#ready === ready) await this.#end(call);
      await this.#initialised(call);
      return work(call, true);
    }
  }

  /** Whether the driver keeps a call that was given up. */
  get hangs(): boolean {
    return this.#gate.stuck;
  }

  async close(): Promise<void> {
    if (!this.#gate.stuck) await this.#end(async (lane, name, ...args) => this.#call(undefined, lane, name, ...args));
    const atExit = this.#atExit;
    if (atExit === undefined) return;
    // Last of all that is to be done at the exit, for it leaves no time for more.
    process.off("exit", atExit);
    if (this.#gate.busy) process.once("exit", atExit);
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
    // It only gives back what the driver keeps for us; a driver that is gone keeps nothing.
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
    return this.#gate.run({
      lane,
      what: symbol,
      limit: wakes === true ? WAKES_WITHIN : ANSWERS_WITHIN,
      signal,
      work: async () => library.call(name, ...args),
    });
  }

  async #loaded(): Promise<NvmlLibrary> {
    this.#library ??= loadNvml(this.#file);
    try {
      const library = await this.#library;
      if (this.#atExit === undefined && isMainThread) {
        // Node waits for its threads when it ends, and one of them may never return.
        this.#atExit = (code) => {
          if (this.#gate.busy) library.exit(code);
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
