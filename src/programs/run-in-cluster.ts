import process from "node:process";
import { JoulieError } from "../core/api/index.ts";
import type { RandomSource } from "../core/units/index.ts";
import { type Clock, systemClock } from "../platform/clock/index.ts";
import { type EveryProgram, loggerOf } from "../platform/config/index.ts";
import { HttpTransport, loadIdentity, type Transport } from "../platform/kube/index.ts";
import type { Logger } from "../platform/log/index.ts";
import { systemRandom } from "../platform/random/index.ts";
import { untilStopped } from "../platform/serve/index.ts";

/** What a program works with; the demo and tests give each program another world. */
export interface ProgramWorld {
  readonly transport: Transport;
  /** For decisions and ticks; may be virtual or scaled. */
  readonly clock: Clock;
  /** Real time: for calls, leases, timeouts and clients. */
  readonly ioClock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
}

interface ClusterWorld extends ProgramWorld {
  readonly server: string;
}

/** Connects to the cluster and runs a program until a signal stops it. Returns the exit code. */
export async function runInCluster(
  program: string,
  config: EveryProgram,
  run: (world: ClusterWorld, signal: AbortSignal) => Promise<void>,
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
