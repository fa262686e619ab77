import type { Watts } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { HostFileError } from "../host/host-error.ts";
import { errno, type FakeHost } from "./fake-host.ts";

// Simulates how kernel drivers handle writes to their files.

/** The kernel accepts only unsigned decimal integers, with or without a newline. */
function parsed(text: string): number {
  if (!/^\d+\n?$/.test(text)) throw errno("EINVAL");
  return Number(text);
}

interface RaplKernel {
  /** Locked by the BIOS: writes to limits fail with ENODATA, to `enabled` with ENOSYS; reads work. */
  readonly locked?: boolean;
}

/** Register bits of a zone that no file shows. */
interface HiddenBits {
  clamp: boolean;
  /** The short-term limit's own enable bit. */
  shortTerm: boolean;
}

/**
 * intel_rapl: limits are stored in 15 bits of 1/8 W, truncated. Writing `enabled` also sets or clears the clamp and the
 * short-term limit (set_floor_freq_default). Returns those bits by zone folder; both are set initially.
 */
export function emulateRapl(host: FakeHost, { locked = false }: RaplKernel = {}): ReadonlyMap<string, HiddenBits> {
  const bits = new Map<string, HiddenBits>();
  for (const path of host.find(/:[\da-f]+\/constraint_\d_power_limit_uw$/)) {
    host.on(path, {
      write: (text) => {
        const value = parsed(text);
        if (locked) throw errno("ENODATA");
        return String((Math.floor(value / 125_000) % 2 ** 15) * 125_000);
      },
    });
  }
  for (const path of host.find(/:[\da-f]+\/enabled$/)) {
    const hidden: HiddenBits = { clamp: true, shortTerm: true };
    bits.set(path.replace("/enabled", ""), hidden);
    host.on(path, {
      write: (text) => {
        const value = parsed(text);
        if (locked) throw errno("ENOSYS");
        hidden.clamp = hidden.shortTerm = value !== 0;
        return value === 0 ? "0" : "1";
      },
    });
  }
  return bits;
}

/** hsmp: limits are whole milliwatts, and the firmware may choose another value. */
export function emulateHsmp(host: FakeHost, settle: (milliwatts: number) => number = (asked) => asked): void {
  for (const path of host.find(/hwmon\d+\/power1_cap$/)) {
    host.on(path, { write: (text) => String(settle(Math.floor(parsed(text) / 1000)) * 1000) });
  }
}

/** Errors that occur when a file is opened for writing, so that `access` shows them. */
const REFUSED_AT_OPEN: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS"]);

/** Makes every write to matching files fail: EACCES without root, EROFS on a read-only mount. Returns a function that ends it. */
export function refuseWrites(host: FakeHost, pattern: RegExp, code: string): () => void {
  const ends = host.find(pattern).map((path) => {
    const refuse = (): never => {
      // HostDirectory names the mount in the error.
      throw code === "EROFS" ? new HostFileError(code, `${host.root}/${path}`, "write", host.root) : errno(code);
    };
    return host.on(path, { write: refuse, ...(REFUSED_AT_OPEN.has(code) && { access: refuse }) });
  });
  return () => {
    for (const end of ends) end();
  };
}

/** Accepts writes and ignores them, as if another program or the firmware reverted them. */
export function ignoreWrites(host: FakeHost, pattern: RegExp): void {
  for (const path of host.find(pattern)) host.on(path, { write: () => undefined });
}

export function refuseReads(host: FakeHost, pattern: RegExp, code: string): void {
  for (const path of host.find(pattern)) {
    host.on(path, {
      read: () => {
        throw errno(code);
      },
    });
  }
}

/** Energy counters that follow the clock and wrap at the end of their range. */
export function emulateEnergy(host: FakeHost, clock: Pick<Clock, "monotonic">, power: Watts): void {
  for (const path of host.find(/:[\da-f]+\/energy_uj$/)) {
    const start = Number(host.get(path));
    const since = clock.monotonic();
    const range = Number(host.get(path.replace("energy_uj", "max_energy_range_uj")));
    host.on(path, { read: () => String(Math.floor(start + (clock.monotonic() - since) * power * 1000) % range) });
  }
}

interface CpufreqKernel {
  readonly clock?: Pick<Clock, "monotonic">;
  /** How long a policy still reports its old maximum, in milliseconds. */
  readonly lag?: number;
  /** A limit from another part of the kernel: the lowest request wins. */
  readonly rivalMax?: number;
}

/** The cpufreq core: the lowest request wins, and a maximum below the minimum lowers the minimum. */
export function emulateCpufreq(host: FakeHost, { clock, lag = 0, rivalMax = Infinity }: CpufreqKernel = {}): void {
  const now = (): number => clock?.monotonic() ?? 0;
  for (const path of host.find(/cpufreq\/policy\d+\/scaling_max_freq$/)) {
    const folder = path.replace("/scaling_max_freq", "");
    const fixed = (name: string): number => Number(host.get(`${folder}/${name}`));
    const asked = { min: fixed("scaling_min_freq"), max: fixed("scaling_max_freq") };
    const table = host.find(new RegExp(`^${folder}/scaling_available_frequencies$`));
    const frequencies = table.flatMap((file) => host.get(file).trim().split(" ").map(Number));
    const effective = (): { min: number; max: number } => {
      const within = (value: number): number =>
        Math.min(fixed("cpuinfo_max_freq"), Math.max(fixed("cpuinfo_min_freq"), value));
      let max = within(Math.min(asked.max, rivalMax));
      const min = Math.min(within(asked.min), max);
      const inReach = frequencies.some((frequency) => min <= frequency && frequency <= max);
      if (!inReach) max = frequencies.filter((frequency) => frequency > max).toSorted((a, b) => a - b)[0] ?? max;
      return { min, max };
    };
    let before = effective();
    let settled = now();
    const awake = (): void => {
      if (host.get(`${folder}/affected_cpus`).trim() === "") throw errno("EBUSY");
    };
    const shown = (): { min: number; max: number } => (now() < settled ? before : effective());
    const ask = (which: "min" | "max", text: string): undefined => {
      awake();
      before = shown();
      asked[which] = parsed(text);
      settled = now() + lag;
      return undefined;
    };
    for (const which of ["min", "max"] as const) {
      host.on(`${folder}/scaling_${which}_freq`, {
        read: () => {
          awake();
          return String(shown()[which]);
        },
        write: (text) => ask(which, text),
      });
    }
  }
}
