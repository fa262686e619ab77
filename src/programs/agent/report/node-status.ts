import type { ControlResult } from "../../../core/api/index.ts";
import { nextHeartbeat } from "../../../core/control/index.ts";
import { agentHeartbeat } from "../../../core/twin/index.ts";
import {
  type Instant,
  isNonNegative,
  type Milliseconds,
  milliseconds,
  type Percent,
  type Watts,
} from "../../../core/units/index.ts";
import type { DeviceReport } from "../devices/device-report.ts";
import type { NodeTick } from "../loop/node-control.ts";
import type { DevicePowerReading } from "../telemetry/node-power.ts";

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
  readonly at: Instant;
  /** The receipt: the generation of the newest target that was carried out. */
  readonly generation?: number | undefined;
}

/** Limits of the CRD schema. */
export const MAX_MESSAGE_LENGTH = 4096;
const MAX_BACKEND_LENGTH = 63;

/** The status after a tick; undefined while the target is unknown. */
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

/** GPUs with a power reading but no control. Their power is needed: a node without it counts as unmeasured. */
const READ_ONLY: DeviceReport = { backend: "none", result: "none", message: "no GPU cap requested" };

const deviceStatus = ({ backend, result, message }: DeviceReport, { total }: DevicePowerReading): DeviceStatus => ({
  backend: backend.slice(0, MAX_BACKEND_LENGTH),
  result,
  message: message.slice(0, MAX_MESSAGE_LENGTH),
  ...(isNonNegative(total) && { power: tenths(total) }),
});

/** No meter is more precise. */
const tenths = (power: Watts): Watts => (Math.round(power * 10) / 10) as Watts;

const MIN_CHANGE_WATTS = 5;
const MIN_CHANGE_SHARE = 0.01;

/** Whether the status differs from the published one: in receipt, result, message or cap, or in power by at least 1 % or 5 W. */
export function isStatusWorthPublishing(published: NodeStatus, next: NodeStatus): boolean {
  return (
    published.generation !== next.generation || differs(published.cpu, next.cpu) || differs(published.gpu, next.gpu)
  );
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
  return by > 0 && (by >= MIN_CHANGE_WATTS || by >= MIN_CHANGE_SHARE * from);
}

/** A tick this close before a slot, as a share of the tick interval, is the tick of the slot. */
const NEAREST = 0.5;
/** A write is not repeated for a slot this close. Above NEAREST: otherwise ticks that drift across the limit would write twice. */
const ALREADY_WRITTEN = 0.75;

/** Whether this is the tick of the node's slot, or the status would be older than `agentHeartbeat` at the next tick. */
export function isHeartbeatDue(node: string, published: NodeStatus, next: NodeStatus, interval: Milliseconds): boolean {
  if (next.at - published.at + interval > agentHeartbeat) return true;
  const period = milliseconds(Math.floor(agentHeartbeat / interval) * interval);
  return next.at + NEAREST * interval >= nextHeartbeat(node, published.at, period, ALREADY_WRITTEN * interval);
}
