import type { Node, NodeHardwareStatus } from "../../../core/api/index.ts";
import type { CapBoard, EnergyMeter, PowerCapBackend, ThrottleBackend } from "../../../platform/hardware/index.ts";

/** A cpufreq policy's frequencies in kHz, by its first CPU. */
export interface Frequency {
  readonly cpu: string;
  readonly current?: number | undefined;
  readonly maximum?: number | undefined;
}

/** The machine this agent runs on: what limits it and what reads it. */
export interface Host {
  /** Which boot of the machine this is, where that is known. */
  readonly boot: string | undefined;
  /** What limits CPU packages, best first. */
  readonly cpuCaps: readonly PowerCapBackend[];
  readonly throttle: ThrottleBackend;
  readonly energy: EnergyMeter;
  /** Every GPU, whatever drives it: its name may change with that, its boards do not. */
  readonly gpu: PowerCapBackend;
}

export interface DiscoverOptions {
  /** Whether limits may be written back as they are, to prove that they can be set; no by default. */
  readonly mayWrite?: boolean;
  /** False leaves out the GPUs, whose driver may take half a minute to answer. */
  readonly gpus?: boolean;
}

/** The same with what it is made of. */
export interface HostMachine extends Host {
  /**
   * What the machine is made of and what works on it; the node's labels are hints. Where it may write, it proves control by
   * writing limits back as they are.
   */
  discover(node: Node | undefined, signal: AbortSignal, options?: DiscoverOptions): Promise<NodeHardwareStatus>;
  /** Off the event loop: one may take 20 ms. `current` is worth that only while a throttle is in use. */
  frequencies(withCurrent: boolean): Promise<readonly Frequency[]>;
  close(): Promise<void>;
}

/** What a look found, in the order of the backends. */
export interface BackendSelection {
  /** The backend that has the boards; absent where none has. */
  readonly backend?: PowerCapBackend | undefined;
  readonly boards: readonly CapBoard[];
  /** Why the others have none. */
  readonly absent: readonly string[];
}

/** The first backend that has a board it can do something with; failing that, the first that has any. */
export async function selectBackend(
  backends: readonly PowerCapBackend[],
  signal: AbortSignal,
): Promise<BackendSelection> {
  const absent: string[] = [];
  let second: BackendSelection | undefined;
  for (const backend of backends) {
    const view = await backend.discover(signal);
    if (view.boards === undefined) {
      absent.push(view.absent);
      continue;
    }
    const found = { backend, boards: view.boards, absent };
    if (view.boards.some(({ locked, lost }) => locked === undefined && lost === undefined)) return found;
    second ??= found;
  }
  return second ?? { boards: [], absent };
}

export const handlesOf = ({ backend, boards }: BackendSelection): { backend: PowerCapBackend; board: CapBoard }[] =>
  backend === undefined ? [] : boards.map((board) => ({ backend, board }));
