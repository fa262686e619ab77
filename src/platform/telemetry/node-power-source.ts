import type { MeterReading } from "../../core/twin/index.ts";
import type { DropReason } from "./dropped-samples.ts";
import type { TelemetryError } from "./errors.ts";

export interface NodeReadings {
  /** By node. A missing node is unmeasured. */
  readonly readings: ReadonlyMap<string, MeterReading>;
  readonly dropped: ReadonlyMap<DropReason, number>;
  /** Why the whole source returned no data. */
  readonly problem?: TelemetryError;
}

/** Reads the power of nodes. Rejects only with the signal's reason: a failing source returns no readings. */
export interface NodePowerSource {
  read(nodes: readonly string[], signal?: AbortSignal): Promise<NodeReadings>;
  close(): Promise<void>;
}
