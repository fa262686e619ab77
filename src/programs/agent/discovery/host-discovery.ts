import type { ErrorCode, NodeHardwareStatus } from "../../../core/api/index.ts";
import { type Catalogue, type HardwareView, hardwareView } from "../../../core/inventory/index.ts";
import { elapsed, type MonotonicInstant, milliseconds } from "../../../core/units/index.ts";
import { type Clock, endsWithin } from "../../../platform/clock/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import type { HostMachine } from "../host/host.ts";
import type { NodeTick } from "../loop/node-control.ts";
import type { Discover } from "../loop/node-runner.ts";
import type { ProjectedNode } from "../watch/node-facts.ts";

/** The hardware does not change, but drivers may come and go. */
const REDISCOVER_INTERVAL = milliseconds(600_000);

export interface HostDiscoveryOptions {
  readonly catalogue: Catalogue;
  readonly clock: Clock;
  readonly log: Logger;
  readonly simulateOnly: boolean;
  readonly signal: AbortSignal;
}

/** A working GPU driver answers sooner. A driver that must wake its boards, or hangs, may take half a minute. */
const GPU_TIMEOUT = milliseconds(1000);

const HARDWARE: ErrorCode = "JOULIE_E_HARDWARE";

interface FoundHardware {
  readonly status: NodeHardwareStatus;
  readonly at: MonotonicInstant;
  /** What worked in the tick before, and whether discovery may write. A change triggers a new discovery. */
  readonly conditions: string;
  /** Whether discovery proved control by writing limits back. */
  readonly mayWrite: boolean;
  /** The GPU driver has not answered yet: the result is used to cap CPUs, but not published. */
  readonly withoutGpus?: boolean;
}

export function hostDiscovery(
  name: string,
  machine: HostMachine,
  { catalogue, clock, log, simulateOnly, signal }: HostDiscoveryOptions,
): Discover {
  let found: FoundHardware | undefined;
  const viewOf = cachedView(name, catalogue);
  const gpusAnswer = gpuAnswers(machine, clock, signal);
  const rediscover = async (
    node: ProjectedNode | undefined,
    conditions: string,
    mayWrite: boolean,
  ): Promise<FoundHardware> => {
    if (await gpusAnswer()) {
      const status = await machine.discover(node, signal, { mayWrite });
      return { status, at: clock.monotonic(), conditions, mayWrite };
    }
    // CPU caps do not wait for the GPU driver.
    if (found !== undefined && found.mayWrite === mayWrite) return found;
    const status = await machine.discover(node, signal, { gpus: false, mayWrite });
    return { status, at: clock.monotonic(), conditions, mayWrite, withoutGpus: true };
  };
  const isDue = (conditions: string, lastTick: NodeTick | undefined): boolean => {
    if (found === undefined || found.withoutGpus === true) return true;
    if (elapsed(found.at, clock.monotonic()) >= REDISCOVER_INTERVAL) return true;
    return lastTick !== undefined && found.conditions !== conditions;
  };
  return async ({ synced, node }, { route }, lastTick) => {
    // Do not write limits back if nothing may be changed, or if a profile that is not read yet may forbid it.
    const mayWrite = !simulateOnly && synced && node !== undefined && route.cpuControl.type === "host";
    const conditions = `${workingParts(lastTick)} ${mayWrite}`;
    if (isDue(conditions, lastTick)) {
      try {
        found = await rediscover(node, conditions, mayWrite);
      } catch (err) {
        if (signal.aborted) throw err;
        log.error({ code: HARDWARE, err }, "hardware discovery failed; retrying later");
        found = { status: found?.status ?? {}, at: clock.monotonic(), conditions, mayWrite };
      }
    }
    const status = found?.status;
    return { view: viewOf(node, status), publish: found?.withoutGpus === true ? undefined : status };
  };
}

/** Computes the hardware view again only when the node or the discovered hardware is another object. */
function cachedView(name: string, catalogue: Catalogue) {
  let cached:
    | { readonly node: ProjectedNode | undefined; readonly status: unknown; readonly view: HardwareView }
    | undefined;
  return (node: ProjectedNode | undefined, status: NodeHardwareStatus | undefined): HardwareView => {
    if (cached === undefined || cached.node !== node || cached.status !== status) {
      const view = hardwareView(node ?? { metadata: { name } }, status, { catalogue });
      cached = { node, status, view };
    }
    return cached.view;
  };
}

/**
 * Returns a function that asks whether the GPU driver answers. It waits at most `GPU_TIMEOUT`. While the driver still works on an
 * earlier question the answer is no, at once.
 */
function gpuAnswers({ gpu }: HostMachine, clock: Clock, signal: AbortSignal): () => Promise<boolean> {
  let state: "idle" | "asking" | "answered" = "idle";
  return async () => {
    if (state === "asking") return false;
    if (state === "idle") {
      state = "asking";
      const discovery = gpu.discover(signal).finally(() => {
        state = "answered";
      });
      if (!(await endsWithin(clock, GPU_TIMEOUT, discovery))) return false;
    }
    state = "idle";
    return true;
  };
}

const workingParts = (tick: NodeTick | undefined): string =>
  `${tick?.cpu?.backend} ${tick?.gpu?.backend} ${tick?.power.zones.length}`;
