import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { elapsed, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { VendorTool, type VendorToolResult } from "../gpu/vendor-tool.ts";

/** One end may have been anybody's; after a second one at the same place NVML is first tried in another process. */
const ENDS_TO_SUSPECT = 2;
/** As long as NVML itself may take to wake every board. */
const TEST_LIMIT = milliseconds(60_000);
const TEST_AGAIN = milliseconds(600_000);

export interface NvmlCrashGuardOptions {
  /** Where a try that has begun is written down. */
  readonly file: string;
  /** Which boot and which driver this is. */
  readonly key: string;
  readonly library: string;
  readonly clock: Clock;
  /** Whether the file may be written; it is always read. */
  readonly mayWrite: boolean;
}

/**
 * Remembers that NVML is about to be tried, for a broken board can make it end the whole program (SIGSEGV). What is found at the
 * next start is a try that was never finished: NVML's doing, or that of somebody who stopped a slow start. After two of them
 * another process starts NVML first. Only where that one crashes, too, NVML is left alone, and tested again later.
 */
export class NvmlCrashGuard {
  readonly #options: NvmlCrashGuardOptions;
  readonly #tester: VendorTool;
  #testing: Promise<VendorToolResult> | undefined;
  #unfinished: number;
  #open: boolean;
  #distrusted: { readonly why: string; readonly at: MonotonicInstant } | undefined;

  constructor(options: NvmlCrashGuardOptions) {
    this.#options = options;
    this.#unfinished = unfinishedIn(options.file, options.key);
    this.#open = options.mayWrite;
    this.#tester = new VendorTool({
      files: [process.execPath],
      install: "Node",
      clock: options.clock,
      timeLimit: TEST_LIMIT,
      environment: process.env,
    });
  }

  /** Why NVML is not to be tried now; undefined where it may be. */
  async whyDisabled(signal?: AbortSignal): Promise<string | undefined> {
    const { clock, library } = this.#options;
    if (this.#unfinished < ENDS_TO_SUSPECT) return undefined;
    const before = this.#distrusted;
    if (before !== undefined && elapsed(before.at, clock.monotonic()) < TEST_AGAIN) return before.why;
    this.#testing ??= this.#tester.run(testArguments(library), signal);
    const { failed, absent } = await this.#testing;
    this.#testing = undefined;
    if (failed === undefined && absent === undefined) {
      this.#unfinished = ENDS_TO_SUSPECT - 1;
      this.#distrusted = undefined;
      return undefined;
    }
    if (signal?.aborted === true) return "NVML is not used: its test was broken off";
    const why = `NVML is not used: it ended this program ${this.#unfinished} times as it started, and a test of it in another process failed (${failed ?? absent}), which a broken board can cause; it is tested again every 10 minutes`;
    this.#distrusted = { why, at: clock.monotonic() };
    return why;
  }

  begin(): void {
    if (!this.#open) return;
    const { file, key } = this.#options;
    try {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify({ unfinished: this.#unfinished + 1, key }));
    } catch {
      // Without a folder to write to there is no memory, and NVML is tried each time.
      this.#open = false;
    }
  }

  /** It came back, whatever it said. From now on it is trusted. */
  end(): void {
    if (!this.#open) return;
    this.#open = false;
    rmSync(this.#options.file, { force: true });
  }
}

/** Starts NVML and asks each board who it is and what it draws: where boards are broken, one of these crashes. */
const TEST = `
  const [koffiAt, file] = process.argv.slice(1);
  const { default: koffi } = await import(koffiAt);
  const library = koffi.load(file);
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

const testArguments = (library: string): readonly string[] => [
  "--input-type=module",
  "--eval",
  TEST,
  import.meta.resolve("koffi"),
  library,
];

function unfinishedIn(file: string, key: string): number {
  try {
    const kept: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (typeof kept !== "object" || kept === null || !("unfinished" in kept) || !("key" in kept)) return 0;
    return kept.key === key && Number.isSafeInteger(kept.unfinished) ? Math.max(0, Number(kept.unfinished)) : 0;
  } catch {
    return 0;
  }
}
