import process from "node:process";
import { JoulieError } from "../core/api/index.ts";
import type { RandomSource } from "../core/units/index.ts";
import { type Clock, systemClock } from "../platform/clock/index.ts";
import { type EveryProgram, loggerOf } from "../platform/config/index.ts";
import { HttpTransport, loadIdentity, type Transport } from "../platform/kube/index.ts";
import type { Logger } from "../platform/log/index.ts";
import { systemRandom } from "../platform/random/index.ts";
import { untilStopped } from "../platform/serve/index.ts";

/** The environment of a program that runs against a cluster. */
export interface ClusterEnvironment {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly ioClock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  /** The address of the API server. */
  readonly server: string;
}

/** Connects to the cluster and runs a program until a signal stops it. Returns the exit code. */
export async function runInCluster(
  program: string,
  config: EveryProgram,
  run: (world: ClusterEnvironment, signal: AbortSignal) => Promise<void>,
): Promise<number> {
  const log = loggerOf(program, config);
  const clock = systemClock;
  const stop = untilStopped(process, log);
  let transport: Transport | undefined;
  try {
    const identity = await loadIdentity({
      clock,
      kubeconfig: config.KUBECONFIG,
      allowInsecureToken: config.ALLOW_INSECURE_TOKEN,
      environment: process.env,
    });
    transport = new HttpTransport({ identity });
    const { server } = identity;
    await run({ transport, clock, ioClock: clock, random: systemRandom, log, server }, stop.signal);
    return 0;
  } catch (err) {
    // The command line prints a JoulieError in one line.
    if (err instanceof JoulieError) throw err;
    log.fatal({ err }, `joulie ${program} failed`);
    return 1;
  } finally {
    stop.release();
    await transport?.close();
  }
}
