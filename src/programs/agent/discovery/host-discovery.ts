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

/** A working driver answers sooner; one that must wake its boards, or hangs, may take half a minute. */
const GPU_TIMEOUT = milliseconds(1000);

const HARDWARE: ErrorCode = "JOULIE_E_HARDWARE";

interface FoundHardware {
  readonly status: NodeHardwareStatus;
  readonly at: MonotonicInstant;
  /** Which backends worked in the last tick; a change triggers a new discovery. */
  readonly works: string;
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
  let seen: { readonly of: unknown; readonly node: ProjectedNode | undefined; readonly view: HardwareView } | undefined;
  const gpusAnswer = gpuAnswers(machine, clock, signal);
  const rediscover = async (
    node: ProjectedNode | undefined,
    works: string,
    mayWrite: boolean,
  ): Promise<FoundHardware> => {
    if (await gpusAnswer())
      return { status: await machine.discover(node, signal, { mayWrite }), at: clock.monotonic(), works, mayWrite };
    // CPU caps do not wait for the GPU driver.
    if (found !== undefined && found.mayWrite === mayWrite) return found;
    const status = await machine.discover(node, signal, { gpus: false, mayWrite });
    return { status, at: clock.monotonic(), works, mayWrite, withoutGpus: true };
  };
  return async ({ synced, node }, { route }, last) => {
    // Do not write limits back if nothing may be changed, or if a profile that is not read yet may forbid it.
    const mayWrite = !simulateOnly && synced && node !== undefined && route.cpuControl.type === "host";
    const works = `${worksOf(last)} ${mayWrite}`;
    const old = found === undefined || found.withoutGpus || elapsed(found.at, clock.monotonic()) >= REDISCOVER_INTERVAL;
    if (old || (found?.works !== works && last !== undefined)) {
      try {
        found = await rediscover(node, works, mayWrite);
      } catch (err) {
        if (signal.aborted) throw err;
        log.error({ code: HARDWARE, err }, "hardware discovery failed; retrying later");
        found = { status: found?.status ?? {}, at: clock.monotonic(), works, mayWrite };
      }
    }
    const status = found?.status;
    if (seen?.of !== status || seen?.node !== node || seen === undefined)
      seen = { of: status, node, view: hardwareView(node ?? { metadata: { name } }, status, { catalogue }) };
    return { view: seen.view, publish: found?.withoutGpus === true ? undefined : status };
  };
}

/** Whether the GPU driver has answered, within a timeout. Only one call runs at a time, and only its first caller waits. */
function gpuAnswers({ gpu }: HostMachine, clock: Clock, signal: AbortSignal): () => Promise<boolean> {
  let state: "idle" | "looking" | "answered" = "idle";
  return async () => {
    if (state === "looking") return false;
    if (state === "idle") {
      state = "looking";
      const discovery = gpu.discover(signal).finally(() => {
        state = "answered";
      });
      if (!(await endsWithin(clock, GPU_TIMEOUT, discovery))) return false;
    }
    state = "idle";
    return true;
  };
}

const worksOf = (tick: NodeTick | undefined): string =>
  `${tick?.cpu?.backend} ${tick?.gpu?.backend} ${tick?.power.zones.length}`;
