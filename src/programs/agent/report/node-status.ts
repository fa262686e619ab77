import type { ControlResult } from "../../../core/api/index.ts";
import { agentHeartbeat } from "../../../core/twin/index.ts";
import { type Instant, isNonNegative, type Milliseconds, type Percent, type Watts } from "../../../core/units/index.ts";
import type { DeviceReport } from "../devices/device-report.ts";
import type { NodeTick } from "../loop/node-control.ts";
import type { PowerReading } from "../telemetry/node-power.ts";

/** What is told of one device. */
export interface DeviceStatus {
  readonly backend: string;
  readonly result: ControlResult;
  readonly message: string;
  readonly power?: Watts | undefined;
  readonly cap?: Watts | undefined;
  readonly throttlePct?: Percent | undefined;
}

export interface NodeStatus {
  readonly cpu: DeviceStatus;
  readonly gpu?: DeviceStatus | undefined;
  /** When its readings were made. */
  readonly at: Instant;
}

/** The schema's limits. */
export const MAX_MESSAGE_LENGTH = 4096;
const LONGEST_BACKEND = 63;

/** What a tick has to tell; undefined while nothing is known of the target. */
export function statusOf({ cpu, gpu, power }: NodeTick, at: Instant): NodeStatus | undefined {
  if (cpu === undefined) return undefined;
  const { cap, throttlePct } = cpu;
  const onlyReadings = power.gpu.total === undefined ? undefined : READ_ONLY;
  const gpuReport = gpu ?? onlyReadings;
  return {
    cpu: { ...deviceStatus(cpu, power.cpu), cap, ...(cpu.mode === "dvfs" && { throttlePct }) },
    ...(gpuReport !== undefined && { gpu: deviceStatus(gpuReport, power.gpu) }),
    at,
  };
}

/** GPUs whose power is known though nothing acts on them: a node with half its power is unmeasured. */
const READ_ONLY: DeviceReport = { backend: "none", result: "none", message: "no GPU cap requested" };

const deviceStatus = ({ backend, result, message }: DeviceReport, { total }: PowerReading): DeviceStatus => ({
  backend: backend.slice(0, LONGEST_BACKEND),
  result,
  message: message.slice(0, MAX_MESSAGE_LENGTH),
  ...(isNonNegative(total) && { power: tenths(total) }),
});

/** Finer than any meter is. */
const tenths = (power: Watts): Watts => (Math.round(power * 10) / 10) as Watts;

const WATTS_THAT_MATTER = 5;
const SHARE_THAT_MATTERS = 0.01;

/** Whether the new status says something else than what was published: a result, a word, or power that moved by 1 % or 5 W. */
export function isWorthPublishing(published: NodeStatus, next: NodeStatus): boolean {
  return differs(published.cpu, next.cpu) || differs(published.gpu, next.gpu);
}

function differs(a: DeviceStatus | undefined, b: DeviceStatus | undefined): boolean {
  if (a === undefined || b === undefined) return a !== b;
  return (
    a.backend !== b.backend ||
    a.result !== b.result ||
    a.message !== b.message ||
    a.cap !== b.cap ||
    a.throttlePct !== b.throttlePct ||
    moved(a.power, b.power)
  );
}

function moved(from: Watts | undefined, to: Watts | undefined): boolean {
  if (from === undefined || to === undefined) return from !== to;
  const by = Math.abs(to - from);
  return by > 0 && (by >= WATTS_THAT_MATTER || by >= SHARE_THAT_MATTERS * from);
}

/** Whether to tell it now though nothing moved, since by the next tick the last time would be too long ago for the operator. */
export const isHeartbeatDue = (published: NodeStatus, next: NodeStatus, interval: Milliseconds): boolean =>
  next.at - published.at + interval > agentHeartbeat;
