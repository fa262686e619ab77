import type { CapDevice, EnergyCounter, EnergyCounterSample, WriteOutcome } from "../../core/control/index.ts";
import type { Milliseconds, Percent, Watts } from "../../core/units/index.ts";

export type DeviceKind = "cpu" | "gpu";

/**
 * Sets power limits through one interface: RAPL, HSMP, NVML, amdgpu or an HTTP control service. Each backend has
 * boards: CPU packages, GPUs, or one board for the whole node. A lost board never hides the others.
 */
export interface PowerCapBackend {
  /** The name in status and metrics: rapl, hsmp, nvml, amdgpu, intel-gpu, http. */
  readonly name: string;
  readonly kind: DeviceKind;
  /** Lists the boards present now: drivers load late, and boards fall off the bus. Never rejects, and never writes. */
  discover(signal?: AbortSignal): Promise<BackendView>;
  /**
   * Tests whether boards accept writes by writing each current limit back unchanged: a firmware lock shows in no other way. The next
   * `discover` reports the locked boards. Never rejects.
   */
  proveWritable?(signal?: AbortSignal): Promise<void>;
  limit(id: string, signal?: AbortSignal): Promise<LimitReading>;
  /** Writes a limit and reads it back: `applied` = the board reports the new limit. */
  cap(id: string, limit: Watts, signal?: AbortSignal): Promise<WriteOutcome>;
  /** Reads the state that `restore` needs. The caller stores it durably before the first `cap`. */
  original(id: string, signal?: AbortSignal): Promise<OriginalReading>;
  restore(id: string, original: string, signal?: AbortSignal): Promise<WriteOutcome>;
  /** Power draw per board, for backends that measure power instead of energy. */
  power?(signal?: AbortSignal): Promise<readonly BoardPower[]>;
  close?(): Promise<void>;
}

export type BackendView =
  | { readonly boards: readonly CapBoard[]; readonly absent?: never }
  /** Why this backend cannot work on this node, and what to install or enable. The node's result becomes `blocked` with this text. */
  | { readonly boards?: never; readonly absent: string };

export interface CapBoard {
  /** Stable across reboots and renumbering: `package-0`, a GPU's UUID or unique id. */
  readonly id: string;
  readonly model?: string | undefined;
  /** The accepted range. The journal, not this field, holds the original limit. */
  readonly device: CapDevice;
  /** Why the board does not respond. */
  readonly lost?: string;
  /** Why the board can be read but not capped: a BIOS lock, a virtual function. */
  readonly locked?: string | undefined;
  /** The time over which the board averages power: a new cap takes effect only after it. */
  readonly averagingWindow?: Milliseconds | undefined;
  /** Findings for the user: an invalid range, a partitioning mode. */
  readonly warnings?: readonly string[];
}

export type LimitReading =
  | { readonly limit: Watts; readonly unreadable?: never }
  | { readonly limit?: never; readonly unreadable: string };

export type OriginalReading =
  | { readonly original: string; readonly unreadable?: never }
  | { readonly original?: never; readonly unreadable: string };

export interface BoardPower {
  readonly id: string;
  readonly power?: Watts | undefined;
  /** Why there is no reading. A missing reading is never reported as 0 W. */
  readonly missing?: string | undefined;
}

/** Energy counters of the host's CPU packages. Power is the difference between two samples. */
export interface EnergyMeter {
  readonly name: string;
  /** Never throws. An empty list means that there is nothing to read, and `missing` says why. */
  sample(): { readonly zones: readonly EnergyZoneSample[]; readonly missing?: string | undefined };
}

export interface EnergyZoneSample {
  /** `package-0`. Each physical counter appears once, by its real path. */
  readonly zone: string;
  /** The id of the board that the zone belongs to, if it differs: dies with their own counters share one board. */
  readonly board?: string;
  readonly counter: EnergyCounter;
  readonly sample: EnergyCounterSample;
}

/** Throttles CPUs that have no power limit: through cpufreq, or through an HTTP control service. */
export interface ThrottleBackend {
  /** `dvfs` for cpufreq, `http` for a control service. */
  readonly name: string;
  /** `absent` says why there is nothing to throttle. Never rejects. */
  discover(signal?: AbortSignal): Promise<{ readonly absent?: string | undefined }>;
  throttle(throttlePct: Percent, signal?: AbortSignal): Promise<WriteOutcome>;
  /** Describes the policies whose limit another program raised after this backend throttled them. */
  raisedByOthers?(): string | undefined;
  /** Reduces the throttle without slowing any CPU down: a limit that another program raised stays raised. */
  relax?(throttlePct: Percent, signal?: AbortSignal): Promise<WriteOutcome>;
  /** Takes over the originals that an earlier run recorded, so that a throttled value is not mistaken for an original. */
  adoptOriginals?(original: string): void;
  /** The state that `restore` needs: one text for the whole node. */
  original(signal?: AbortSignal): Promise<OriginalReading>;
  restore(original: string, signal?: AbortSignal): Promise<WriteOutcome>;
}

/**
 * The host's files below one root, such as sysfs. Paths are relative to the root; a path that leaves it through a link or `..` is
 * refused. All access to host files goes through this interface, so tests can list, count and interrupt it.
 */
export interface HostFiles {
  readonly root: string;
  /** Returns the text without its trailing newline. Errors carry the errno as `code`. */
  read(path: string): string;
  /** Reads off the event loop, for files that take milliseconds each (scaling_cur_freq). */
  readLater(path: string): Promise<string>;
  write(path: string, text: string): void;
  /** Throws the error a write would get (EROFS, EACCES), as far as it shows without opening or writing the file. */
  checkWritable(path: string): void;
  /** Names in a directory; empty if the directory does not exist. */
  list(path: string): readonly string[];
  exists(path: string): boolean;
  /** The path with all symbolic links resolved, relative to the root. */
  real(path: string): string;
  close(): void;
}
