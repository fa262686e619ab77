import type { Watts } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { HostFileError } from "../host/host-error.ts";
import { errno, type FakeHost } from "./fake-host.ts";

// What the kernel does with what is written to its files, as its drivers do it.

/** Unsigned decimal integers, with or without a line end, are all that the kernel takes. */
function parsed(text: string): number {
  if (!/^\d+\n?$/.test(text)) throw errno("EINVAL");
  return Number(text);
}

interface RaplKernel {
  /** By the BIOS: limits answer ENODATA, `enabled` ENOSYS, and both read as ever. */
  readonly locked?: boolean;
}

/** The bits of a zone's register that no file shows. */
interface HiddenBits {
  clamp: boolean;
  /** The short-term limit's own enable bit. */
  shortTerm: boolean;
}

/**
 * intel_rapl: limits go into 15 bits of 1/8 W, whatever does not fit. Writing `enabled` also sets or clears the clamp and the
 * short-term limit (set_floor_freq_default). Returns those bits by the zone's folder; firmware has set both.
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

/** hsmp: limits are whole milliwatts, and the firmware may settle elsewhere. */
export function emulateHsmp(host: FakeHost, settle: (milliwatts: number) => number = (asked) => asked): void {
  for (const path of host.find(/hwmon\d+\/power1_cap$/)) {
    host.on(path, { write: (text) => String(settle(Math.floor(parsed(text) / 1000)) * 1000) });
  }
}

/** What the kernel refuses when a file is opened, whatever would be written: `access` finds it. */
const REFUSED_AT_OPEN: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS"]);

/** Every write to files that match fails so: EACCES for all but root, EROFS where sysfs is mounted read-only. Returns how to end it. */
export function refuseWrites(host: FakeHost, pattern: RegExp, code: string): () => void {
  const ends = host.find(pattern).map((path) => {
    const refuse = (): never => {
      // The host's files name the mount.
      throw code === "EROFS" ? new HostFileError(code, `${host.root}/${path}`, "write", host.root) : errno(code);
    };
    return host.on(path, { write: refuse, ...(REFUSED_AT_OPEN.has(code) && { access: refuse }) });
  });
  return () => {
    for (const end of ends) end();
  };
}

/** Taken, and forgotten at once: a rival, or firmware that knows better. */
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

/** Energy counters that go on with the clock and start over at the end of their range. */
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
  /** How long a policy still reads its old maximum, in milliseconds. */
  readonly lag?: number;
  /** What another part of the kernel asks for at the same time: the lowest request counts. */
  readonly rivalMax?: number;
}

/** cpufreq's core: requests are kept, the lowest counts, and a maximum below the minimum pulls that down with it. */
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
