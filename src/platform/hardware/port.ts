import type { CapDevice, EnergyCounter, EnergyCounterSample, WriteOutcome } from "../../core/control/index.ts";
import type { Milliseconds, Percent, Watts } from "../../core/units/index.ts";

/** Which of a node's caps a backend enforces. */
export type DeviceKind = "cpu" | "gpu";

/**
 * What limits power where: RAPL, HSMP, NVML, amdgpu and their tools, or a service over HTTP. Each has boards: CPU packages, GPUs,
 * or one that stands for all of a node. One board that is lost never hides the others.
 */
export interface PowerCapBackend {
  /** As status and metrics tell it: rapl, hsmp, nvml, nvidia-smi, amdgpu, rocm-smi, http. */
  readonly name: string;
  readonly kind: DeviceKind;
  /** Looks at what is there now: drivers load late, boards fall off the bus. Never rejects, and never writes. */
  discover(signal?: AbortSignal): Promise<BackendView>;
  /**
   * Proves that its boards can be capped by writing each limit back as it is, which changes nothing: firmware locks show in no
   * other way. The next `look` says which are locked. Never rejects.
   */
  proveWritable?(signal?: AbortSignal): Promise<void>;
  /** What the board says its limit is. */
  limit(id: string, signal?: AbortSignal): Promise<LimitReading>;
  /** Writes a limit and reads it back: `applied` = the board now says so. */
  cap(id: string, limit: Watts, signal?: AbortSignal): Promise<WriteOutcome>;
  /** What `restore` needs to put the board back as it is now; to be kept safe before the first `cap`. */
  original(id: string, signal?: AbortSignal): Promise<OriginalReading>;
  restore(id: string, original: string, signal?: AbortSignal): Promise<WriteOutcome>;
  /** Power drawn now by each board that can tell, for backends that read power and not energy. */
  power?(signal?: AbortSignal): Promise<readonly BoardPower[]>;
  close?(): Promise<void>;
}

export type BackendView =
  | { readonly boards: readonly CapBoard[]; readonly absent?: never }
  /** Why it cannot act here and what to install or switch on: the node's result is `blocked` with this. */
  | { readonly boards?: never; readonly absent: string };

export interface CapBoard {
  /** Stable over reboots and renumbering: `package-0`, a GPU's UUID or unique id. */
  readonly id: string;
  readonly model?: string | undefined;
  /** The range it accepts. The original limit is not in it: that is the journal's to know. */
  readonly device: CapDevice;
  /** Why it does not answer. */
  readonly lost?: string | undefined;
  /** Why it can be read and not capped: a BIOS lock, a virtual function. */
  readonly locked?: string | undefined;
  /** The time the board itself averages power over: a cap has to hold only after that. */
  readonly averagingWindow?: Milliseconds | undefined;
  /** What a person should know: a range that makes no sense, a slice mode. */
  readonly warnings?: readonly string[] | undefined;
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
  /** Why there is no figure; a missing one is never 0 W. */
  readonly missing?: string | undefined;
}

/** Energy counters of the host's packages: power is the difference of two looks. */
export interface EnergyMeter {
  readonly name: string;
  /** Never rejects; an empty list = nothing to read here, and `missing` says why. */
  sample(): { readonly zones: readonly EnergyZoneSample[]; readonly missing?: string | undefined };
}

export interface EnergyZoneSample {
  /** `package-0`. Each physical counter appears once, by its real path. */
  readonly zone: string;
  /** The board it is of, as a backend calls it, where that is not the zone: dies with counters of their own are one board. */
  readonly board?: string | undefined;
  readonly counter: EnergyCounter;
  readonly sample: EnergyCounterSample;
}

/** What slows CPUs where their power cannot be limited: cpufreq, or a service over HTTP. */
export interface ThrottleBackend {
  /** dvfs on the host, http elsewhere. */
  readonly name: string;
  /** Why there is nothing to throttle; absent = there is. Never rejects. */
  discover(signal?: AbortSignal): Promise<{ readonly absent?: string | undefined }>;
  throttle(throttlePct: Percent, signal?: AbortSignal): Promise<WriteOutcome>;
  /** What somebody else has made faster again since it was throttled here, in words. */
  raisedByOthers?(): string | undefined;
  /** A lesser throttle that only lets go: what somebody else has made faster stays so. */
  relax?(throttlePct: Percent, signal?: AbortSignal): Promise<WriteOutcome>;
  /** Tells it the originals that an earlier run kept: what is throttled now must not be taken for what it was. */
  adoptOriginals?(original: string): void;
  /** What `restore` needs; one text for the whole node. */
  original(signal?: AbortSignal): Promise<OriginalReading>;
  restore(original: string, signal?: AbortSignal): Promise<WriteOutcome>;
}

/**
 * The host's files below one root, such as sysfs. Paths are relative to it; one that leaves it through a link or `..` is refused.
 * The only way to the host's files: what it does can be listed, counted and cut short by a test.
 */
export interface HostFiles {
  readonly root: string;
  /** Text without its last line end. Rejections carry the errno as `code`; an empty file is an empty text. */
  read(path: string): string;
  /** Off the event loop, for files that take milliseconds each (scaling_cur_freq). */
  readLater(path: string): Promise<string>;
  write(path: string, text: string): void;
  /** Throws what a write would be refused with (EROFS, EACCES), as far as that shows without writing or opening anything. */
  checkWritable(path: string): void;
  /** Names in a directory; none where there is no such directory. */
  list(path: string): readonly string[];
  exists(path: string): boolean;
  /** Where a path leads once its links are followed, relative to the root. */
  real(path: string): string;
  close(): void;
}
