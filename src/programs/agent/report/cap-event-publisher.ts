import type { ErrorCode } from "../../../core/api/index.ts";
import type { EventNote, EventRecorder } from "../../../platform/kube/index.ts";
import type { DeviceReport } from "../devices/device-report.ts";
import type { NodeTick } from "../loop/node-control.ts";
import type { WatchedNode } from "../watch/node-facts.ts";

type Device = "cpu" | "gpu";

/** What happens to a node's caps, as events of the cluster: each once, when it begins. */
export class CapEventPublisher {
  readonly #recorder: Pick<EventRecorder, "record">;
  /** What was told last of each device. */
  readonly #told = new Map<string, Readonly<Record<Device, string>>>();

  constructor(recorder: Pick<EventRecorder, "record">) {
    this.#recorder = recorder;
  }

  publishTick(name: string, node: WatchedNode | undefined, { cpu, gpu }: NodeTick): void {
    const before = this.#told.get(name);
    const now = { cpu: stateOf(cpu), gpu: stateOf(gpu) };
    this.#told.set(name, now);
    for (const [device, report] of [
      ["cpu", cpu],
      ["gpu", gpu],
    ] as const) {
      if (report === undefined || now[device] === (before?.[device] ?? "")) continue;
      const telling = tellingOf(device, report);
      if (telling !== undefined) this.#tell(name, node, telling);
    }
  }

  publishRestored(name: string, node: WatchedNode | undefined, why: string): void {
    this.#tell(name, node, { type: "Normal", reason: "LimitsRestored", action: "Restore", note: why });
  }

  forget(name: string): void {
    this.#told.delete(name);
  }

  #tell(name: string, node: WatchedNode | undefined, telling: Omit<EventNote, "regarding">): void {
    const uid = node?.metadata.uid;
    this.#recorder.record({
      regarding: { apiVersion: "v1", kind: "Node", name, ...(uid !== undefined && { uid }) },
      ...telling,
    });
  }
}

/** What counts as the same: its words may change while it lasts. */
const stateOf = (report: DeviceReport | undefined): string => report?.alarm?.reason ?? report?.result ?? "";

function tellingOf(device: Device, { alarm, result, message }: DeviceReport): Omit<EventNote, "regarding"> | undefined {
  const action = device === "cpu" ? "CapCpu" : "CapGpu";
  if (alarm !== undefined) return { type: "Warning", reason: alarm.reason, action, note: alarm.note };
  if (result === "error")
    return { type: "Warning", reason: "ControlFailed", action, note: coded(message, "JOULIE_E_CONTROL_FAILED") };
  if (result === "blocked")
    return { type: "Warning", reason: "ControlBlocked", action, note: coded(message, "JOULIE_E_CONTROL_BLOCKED") };
  return undefined;
}

const coded = (message: string, code: ErrorCode): string => `${message} (${code})`;
