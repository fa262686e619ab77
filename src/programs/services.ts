import process from "node:process";
import { milliseconds } from "../core/units/index.ts";
import { type Clock, eventLoopDelay } from "../platform/clock/index.ts";
import { measureProcess, type ProgramMetrics } from "../platform/metrics/index.ts";
import { type Served, type ServeOptions, serve, untilAborted } from "../platform/serve/index.ts";

/** A part of a program that works until the program ends. */
export interface Service {
  /** The next service starts once this has returned. */
  start?(): unknown;
  /** Works until the signal aborts. If it fails, the program ends. */
  run?(signal: AbortSignal): Promise<void>;
  stop?(): unknown;
}

/**
 * Starts services in their order, and waits for the signal or the first failure. Stops them in the opposite order, since
 * a service uses those before it. All are stopped, also those that were not started and those after a failed one. A signal
 * that comes while they start lets all of them start: the agent restores limits only then.
 */
export async function runServices(services: readonly Service[], signal: AbortSignal): Promise<void> {
  const ending = new AbortController();
  const over = AbortSignal.any([signal, ending.signal]);
  const failures: unknown[] = [];
  const running = new Map<Service, Promise<void>>();
  const attempt = async (work: () => unknown): Promise<void> => {
    try {
      await work();
    } catch (error) {
      failures.push(error);
      ending.abort();
    }
  };
  for (const service of services) {
    await attempt(async () => service.start?.());
    if (ending.signal.aborted) break;
    if (service.run !== undefined)
      running.set(
        service,
        attempt(async () => service.run?.(over)),
      );
  }
  await untilAborted(over);
  for (const service of services.toReversed()) {
    await running.get(service);
    await attempt(async () => service.stop?.());
  }
  if (failures.length > 0) throw failures[0];
}

export function pageService(options: ServeOptions, onServing: (url: string) => void): Service {
  let served: Served | undefined;
  return {
    start: async () => {
      served = await serve(options);
      onServing(served.url);
    },
    stop: async () => served?.close(),
  };
}

const RESOLUTION = milliseconds(100);

/** Measures the process: CPU, memory, and how late its event loop is. */
export function processFigures(metrics: ProgramMetrics, clock: Clock, resolution = RESOLUTION): Service {
  const eventLoop = eventLoopDelay(resolution);
  measureProcess(metrics, { process, clock, eventLoop });
  return { stop: () => eventLoop.stop() };
}
