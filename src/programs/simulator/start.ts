import type { RandomSource } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import type { Transport } from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import type { SimulatorConfig } from "./config.ts";
import type { Datacenter } from "./datacenter.ts";

/** What the simulator runs in. */
export interface SimulatorWorld {
  readonly transport: Transport;
  /** The simulated time: physics, jobs and time stamps; may be virtual or scaled. */
  readonly clock: Clock;
  /** For calls, leases and pauses between retries: real time. */
  readonly ioClock: Clock;
  /** For jitter. What is simulated goes by the seed. */
  readonly random: RandomSource;
  readonly log: Logger;
  /** Told once it serves. Nodes may still be on their way into the cluster: `registered` waits for them. */
  readonly onServing?: (simulator: RunningSimulator) => void;
}

/** A simulator at work, for a program that runs one beside others. */
export interface RunningSimulator {
  /** Where /telemetry, /control, /state and /api/v1/query are. */
  readonly url: string;
  readonly metricsUrl: string;
  /** Power, energy, caps and what performance pods had to suffer. */
  readonly datacenter: Pick<Datacenter, "now" | "size" | "totals" | "offences" | "machine" | "machines" | "facility">;
  /** Resolves when every node is in the cluster. */
  readonly registered: Promise<void>;
}

export async function runSimulator(config: SimulatorConfig, world: SimulatorWorld, signal: AbortSignal): Promise<void> {
  void config;
  void world;
  await Promise.resolve(signal);
}
