import type { ErrorCode } from "../../../core/api/index.ts";
import type { EventNote, EventRecorder } from "../../../platform/kube/index.ts";
import type { DeviceReport } from "../devices/device-report.ts";
import type { NodeTick } from "../loop/node-control.ts";
import type { ProjectedNode } from "../watch/node-facts.ts";

type Device = "cpu" | "gpu";

/** Publishes Kubernetes Events about a node's caps, one when a problem begins. */
export class CapEventPublisher {
  readonly #recorder: Pick<EventRecorder, "record">;
  readonly #states = new Map<string, Readonly<Record<Device, string>>>();

  constructor(recorder: Pick<EventRecorder, "record">) {
    this.#recorder = recorder;
  }

  publishTick(name: string, node: ProjectedNode | undefined, { cpu, gpu }: NodeTick): void {
    const before = this.#states.get(name);
    const now = { cpu: stateOf(cpu), gpu: stateOf(gpu) };
    this.#states.set(name, now);
    for (const [device, report] of [
      ["cpu", cpu],
      ["gpu", gpu],
    ] as const) {
      if (report === undefined || now[device] === (before?.[device] ?? "")) continue;
      const event = eventOf(device, report);
      if (event !== undefined) this.#publish(name, node, event);
    }
  }

  publishRestored(name: string, node: ProjectedNode | undefined, why: string): void {
    this.#publish(name, node, { type: "Normal", reason: "LimitsRestored", action: "Restore", note: why });
  }

  forget(name: string): void {
    this.#states.delete(name);
  }

  #publish(name: string, node: ProjectedNode | undefined, event: Omit<EventNote, "regarding">): void {
    const uid = node?.metadata.uid;
    this.#recorder.record({
      regarding: { apiVersion: "v1", kind: "Node", name, ...(uid !== undefined && { uid }) },
      ...event,
    });
  }
}

/** Identifies a problem; its message may change while it lasts. */
const stateOf = (report: DeviceReport | undefined): string => report?.alarm?.reason ?? report?.result ?? "";

function eventOf(device: Device, { alarm, result, message }: DeviceReport): Omit<EventNote, "regarding"> | undefined {
  const action = device === "cpu" ? "CapCpu" : "CapGpu";
  if (alarm !== undefined) return { type: "Warning", reason: alarm.reason, action, note: alarm.note };
  if (result === "error")
    return { type: "Warning", reason: "ControlFailed", action, note: coded(message, "JOULIE_E_CONTROL_FAILED") };
  if (result === "blocked")
    return { type: "Warning", reason: "ControlBlocked", action, note: coded(message, "JOULIE_E_CONTROL_BLOCKED") };
  return undefined;
}

const coded = (message: string, code: ErrorCode): string => `${message} (${code})`;
