import type { Node, NodeHardwareStatus } from "../../../core/api/index.ts";
import type {
  CapBoard,
  EnergyMeter,
  PolicyFrequency,
  PowerCapBackend,
  ThrottleBackend,
} from "../../../platform/hardware/index.ts";

export interface Host {
  readonly boot: string | undefined;
  readonly cpuCaps: readonly PowerCapBackend[];
  readonly throttle: ThrottleBackend;
  readonly energy: EnergyMeter;
  /** All GPUs. The backend's name depends on the driver and may change; its boards do not. */
  readonly gpu: PowerCapBackend;
}

export interface DiscoverOptions {
  readonly mayWrite?: boolean;
  /** False skips the GPUs, whose driver may take half a minute to answer. */
  readonly gpus?: boolean;
}

export interface HostMachine extends Host {
  /** The node's labels are hints. With `mayWrite` it proves control by writing limits back unchanged. */
  discover(node: Node | undefined, signal: AbortSignal, options?: DiscoverOptions): Promise<NodeHardwareStatus>;
  /** Reads off the event loop: one file may take 20 ms. Ask for `current` only while a throttle is in use. */
  frequencies(withCurrent: boolean): Promise<readonly PolicyFrequency[]>;
  close(): Promise<void>;
}

export interface BackendSelection {
  readonly backend?: PowerCapBackend;
  readonly boards: readonly CapBoard[];
  /** Why other backends have no boards. */
  readonly absent: readonly string[];
}

/** Selects the first backend with a usable board, else the first with any board. */
export async function selectBackend(
  backends: readonly PowerCapBackend[],
  signal: AbortSignal,
): Promise<BackendSelection> {
  const absent: string[] = [];
  let unusable: BackendSelection | undefined;
  for (const backend of backends) {
    const view = await backend.discover(signal);
    if (view.boards === undefined) {
      absent.push(view.absent);
      continue;
    }
    const found = { backend, boards: view.boards, absent };
    if (view.boards.some(({ locked, lost }) => locked === undefined && lost === undefined)) return found;
    unusable ??= found;
  }
  return unusable ?? { boards: [], absent };
}

export const handlesOf = ({ backend, boards }: BackendSelection): { backend: PowerCapBackend; board: CapBoard }[] =>
  backend === undefined ? [] : boards.map((board) => ({ backend, board }));
