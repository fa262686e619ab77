import type { ErrorCode, NodeHardwareStatus } from "../../../core/api/index.ts";
import { type Catalogue, type HardwareView, hardwareView } from "../../../core/inventory/index.ts";
import { elapsed, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import { type Clock, endsWithin } from "../../../platform/clock/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import type { HostMachine } from "../host/host.ts";
import type { NodeTick } from "../loop/node-control.ts";
import type { Discover } from "../loop/node-runner.ts";
import type { WatchedNode } from "../watch/node-facts.ts";

/** Identity does not change; what works may, as drivers come and go. */
const LOOK_AGAIN = milliseconds(600_000);

export interface HostDiscoveryOptions {
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  readonly log: Logger;
  readonly simulateOnly: boolean;
  readonly signal: AbortSignal;
}

/** A driver that works answers sooner; one that must wake its boards, or hangs, may take half a minute. */
const GPU_PATIENCE = milliseconds(1000);

const HARDWARE: ErrorCode = "JOULIE_E_HARDWARE";

/** What was last found. */
interface FoundHardware {
  readonly status: NodeHardwareStatus;
  readonly at: MonotonicInstant;
  readonly works: string;
  /** Whether control was proven by writing limits back. */
  readonly mayWrite: boolean;
  /** Whether the GPUs have not answered yet: enough to cap CPUs by, and not to be published. */
  readonly withoutGpus?: boolean;
}

/** What this machine is made of: looked at when it starts, now and then, and when something works that did not before. */
export function hostDiscovery(
  name: string,
  machine: HostMachine,
  { catalogue, clock, log, simulateOnly, signal }: HostDiscoveryOptions,
): Discover {
  let found: FoundHardware | undefined;
  let seen: { readonly of: unknown; readonly node: WatchedNode | undefined; readonly view: HardwareView } | undefined;
  const gpusAnswer = gpuAnswers(machine, clock, signal);
  const look = async (node: WatchedNode | undefined, works: string, mayWrite: boolean): Promise<FoundHardware> => {
    if (await gpusAnswer())
      return { status: await machine.discover(node, signal, { mayWrite }), at: clock.monotonic(), works, mayWrite };
    // The CPUs' cap does not wait for the GPUs.
    if (found !== undefined && found.mayWrite === mayWrite) return found;
    const status = await machine.discover(node, signal, { gpus: false, mayWrite });
    return { status, at: clock.monotonic(), works, mayWrite, withoutGpus: true };
  };
  return async ({ synced: known, node }, { route }, last) => {
    // No limit is written, not even back to what it is, where nothing may be touched or a profile not read yet may forbid it.
    const mayWrite = !simulateOnly && known && node !== undefined && route.cpuControl.type === "host";
    const works = `${worksOf(last)} ${mayWrite}`;
    const old = found === undefined || found.withoutGpus || elapsed(found.at, clock.monotonic()) >= LOOK_AGAIN;
    if (old || (found?.works !== works && last !== undefined)) {
      try {
        found = await look(node, works, mayWrite);
      } catch (err) {
        if (signal.aborted) throw err;
        log.error({ code: HARDWARE, err }, "the hardware could not be looked at; it is tried again");
        found = { status: found?.status ?? {}, at: clock.monotonic(), works, mayWrite };
      }
    }
    const status = found?.status;
    if (seen?.of !== status || seen?.node !== node || seen === undefined)
      seen = { of: status, node, view: hardwareView(node ?? { metadata: { name } }, status, { catalogue }) };
    return { view: seen.view, publish: found?.withoutGpus === true ? undefined : status };
  };
}

/** Tells whether the GPUs' driver has answered, after a moment at most. One look at a time, which is waited for only once. */
function gpuAnswers({ gpu }: HostMachine, clock: Clock, signal: AbortSignal): () => Promise<boolean> {
  let state: "idle" | "looking" | "answered" = "idle";
  return async () => {
    if (state === "looking") return false;
    if (state === "idle") {
      state = "looking";
      const look = gpu.discover(signal).finally(() => {
        state = "answered";
      });
      if (!(await endsWithin(clock, GPU_PATIENCE, look))) return false;
    }
    state = "idle";
    return true;
  };
}

const worksOf = (tick: NodeTick | undefined): string =>
  `${tick?.cpu?.backend} ${tick?.gpu?.backend} ${tick?.power.zones.length}`;
