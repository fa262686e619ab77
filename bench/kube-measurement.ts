/** Request to a child of bench/kube.ts, as JSON in its first argument. */
export interface MeasurementRequest {
  readonly port: number;
  readonly what: "nodes" | "events" | "patches" | "memory";
  readonly events: number;
  readonly patches: number;
  readonly concurrency: number;
}

interface Measured {
  readonly value: number;
  /** CPU microseconds per event: stable on a busy machine. */
  readonly cpu?: number;
  readonly close?: () => Promise<unknown>;
}

/** Runs in the child: measures, reports the value and the connections used, and exits. */
export async function measurement(measure: (asked: MeasurementRequest) => Promise<Measured>): Promise<void> {
  const asked = JSON.parse(process.argv[2] ?? "{}") as MeasurementRequest;
  const before = await connections(asked.port);
  const { value, cpu = 0, close } = await measure(asked);
  // The two requests for the count use at most one connection each.
  const opened = (await connections(asked.port)) - before - 1;
  process.stdout.write(`${JSON.stringify({ value, cpu, connections: opened })}\n`);
  await close?.();
  process.exit(0);
}

/** Counts events; resolves after the last one with the rate and the CPU time per event. */
export function eventMeter(events: number) {
  const { promise, resolve } = Promise.withResolvers<{ value: number; cpu: number }>();
  let seen = 0;
  let start = 0;
  let before = process.cpuUsage();
  const saw = (count: number) => {
    if (seen === 0) {
      start = performance.now();
      before = process.cpuUsage();
    }
    seen += count;
    if (seen < events) return;
    const { user, system } = process.cpuUsage(before);
    resolve({ value: (events * 1000) / (performance.now() - start), cpu: (user + system) / events });
  };
  return { saw, all: promise };
}

async function connections(port: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/connections`, { headers: { connection: "close" } });
  return ((await response.json()) as { connections: number }).connections;
}

/** Resident memory in MiB after garbage collection. */
export async function settledMemory(): Promise<number> {
  let least = Infinity;
  for (let round = 0; round < 8; round++) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 150));
    least = Math.min(least, process.memoryUsage.rss());
  }
  return least / 2 ** 20;
}
