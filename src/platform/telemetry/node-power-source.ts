import type { PowerReading } from "../../core/twin/index.ts";
import type { DropReason } from "./dropped-samples.ts";
import type { TelemetryError } from "./errors.ts";

export interface NodeReadings {
  /** By node; one that is missing here is unmeasured. */
  readonly readings: ReadonlyMap<string, PowerReading>;
  readonly dropped: ReadonlyMap<DropReason, number>;
  /** Why the source as a whole gave nothing. */
  readonly problem?: TelemetryError;
}

/** Where the power of nodes is read. It rejects only with the signal's reason: a source that fails has no readings. */
export interface NodePowerSource {
  read(nodes: readonly string[], signal?: AbortSignal): Promise<NodeReadings>;
  close(): Promise<void>;
}
