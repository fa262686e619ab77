// Test harness: a whole fleet on an in-memory API and virtual time, with real HTTP pages.
import { crdOf, kinds } from "../../../core/api/index.ts";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/index.ts";
import { eventually } from "../../../platform/clock/testing/index.ts";
import { parseConfig } from "../../../platform/config/index.ts";
import { FaultyApi } from "../../../platform/embedded/testing/index.ts";
import { KubeClient, type KubeObject, resources } from "../../../platform/kube/index.ts";
import { createLogger } from "../../../platform/log/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { type FleetConfig, fleetConfig } from "../config.ts";
import { type RunningFleet, runFleet } from "../start.ts";

export type LivePod = KubeObject & {
  readonly spec: { readonly nodeName?: string; readonly [field: string]: unknown };
  readonly status?: { readonly phase?: string; readonly startTime?: string; readonly [field: string]: unknown };
};
export type LiveNode = KubeObject & {
  readonly spec?: { readonly taints?: readonly unknown[] };
  readonly status?: { readonly allocatable?: Readonly<Record<string, string>>; readonly [field: string]: unknown };
};

export class FleetTestHarness {
  /** Simulated time. */
  readonly clock: VirtualClock;
  /** Stands in for real time in calls, leases and the API. It advances equally fast but starts years earlier. */
  readonly ioClock: VirtualClock;
  readonly api: FaultyApi;
  readonly hand: KubeClient;
  readonly #seed: number;
  #stop = new AbortController();
  #running: Promise<void> | undefined;
  #simulator: RunningFleet | undefined;
  log = "";

  /** Creates a separate cluster or shares that of another harness. */
  constructor(beside?: FleetTestHarness) {
    this.#seed = beside === undefined ? 3 : 4;
    this.clock = beside?.clock ?? new VirtualClock(instant(Date.UTC(2030, 0, 1, 10)));
    this.ioClock = beside?.ioClock ?? new VirtualClock(instant(Date.UTC(2026, 5, 1)));
    this.api = beside?.api ?? new FaultyApi({ clock: this.ioClock, random: seededRandom(1), crds: kinds.map(crdOf) });
    this.hand =
      beside?.hand ??
      new KubeClient({
        transport: this.api.transport(),
        clock: this.ioClock,
        random: seededRandom(2),
        fieldManager: "a-person",
        limit: { perSecond: 1e6, burst: 1e6, queue: 1e6 },
      });
  }

  /** Starts the fleet and waits for its nodes. */
  static async begin(
    flags: Readonly<Record<string, string>> = {},
    before?: (harness: FleetTestHarness) => Promise<void>,
  ): Promise<FleetTestHarness> {
    const harness = new FleetTestHarness();
    await before?.(harness);
    await harness.start(flags);
    return harness;
  }

  get simulator(): RunningFleet {
    if (this.#simulator === undefined) throw new Error("the fleet does not serve yet");
    return this.#simulator;
  }

  get running(): Promise<void> {
    return this.#running ?? Promise.resolve();
  }

  /** Starts the fleet and waits for its HTTP server. */
  async serve(flags: Readonly<Record<string, string>>): Promise<void> {
    this.#stop = new AbortController();
    const serving = Promise.withResolvers<RunningFleet>();
    const config = configOf({
      SIMULATOR_ADDR: "127.0.0.1:0",
      METRICS_ADDR: "127.0.0.1:0",
      WORKLOAD: "none",
      NODES: "20",
      POD_START: "0",
      ...flags,
    });
    const log = createLogger({
      level: "debug",
      program: "simulator",
      destination: {
        write: (line) => {
          this.log += line;
        },
      },
    });
    const { api, clock, ioClock } = this;
    const world = { transport: api.transport(), clock, ioClock, random: seededRandom(this.#seed), log };
    this.#running = runFleet(config, { ...world, onServing: serving.resolve }, this.#stop.signal);
    this.#simulator = await Promise.race([
      serving.promise,
      this.#running.then((): never => {
        throw new Error("the fleet has stopped");
      }),
    ]);
  }

  /** Starts the fleet and waits until its nodes are registered or have failed. */
  async start(flags: Readonly<Record<string, string>>): Promise<void> {
    await this.serve(flags);
    let there = false;
    void this.simulator.registered.then(
      () => {
        there = true;
      },
      () => {
        there = true;
      },
    );
    await this.until(() => there);
  }

  /** Shuts down; rejects with the fleet's error. */
  async end(): Promise<void> {
    this.#stop.abort(new Error("the test is over"));
    let over = false;
    const running = this.running.finally(() => {
      over = true;
    });
    running.catch(() => undefined);
    await this.until(() => over);
    await running;
  }

  async pass(seconds: number): Promise<void> {
    const step = Math.min(seconds, 1);
    for (let passed = 0; passed < seconds; passed += step) await this.#advance(step * 1000);
    for (let turn = 0; turn < 20; turn++) await this.#advance(0);
  }

  async until(holds: () => boolean | Promise<boolean>): Promise<void> {
    const between = async (): Promise<void> => {
      for (let turn = 0; turn < 10; turn++) await this.#advance(10);
    };
    await eventually(holds, { between });
  }

  async #advance(length: number): Promise<void> {
    await this.ioClock.advanceAsync(milliseconds(length));
    await this.clock.advanceAsync(milliseconds(length));
  }

  async nodes(): Promise<readonly LiveNode[]> {
    return (await this.hand.listAll<LiveNode>(resources.nodes)).items;
  }

  async pods(): Promise<readonly LivePod[]> {
    return (await this.hand.listAll<LivePod>(resources.pods)).items;
  }

  async pod(name: string): Promise<LivePod | undefined> {
    return (await this.pods()).find(({ metadata }) => metadata.name === name);
  }

  async createPod(
    name: string,
    nodeName: string | undefined,
    {
      annotations = {},
      spec = {},
      cpu = "32",
      finalizers = [],
    }: { annotations?: Record<string, string>; spec?: object; cpu?: string; finalizers?: readonly string[] } = {},
  ): Promise<void> {
    const containers = [{ name: "main", image: "none", resources: { requests: { cpu } } }];
    await this.hand.create(
      resources.pods,
      {
        metadata: { name, annotations, finalizers },
        spec: { containers, restartPolicy: "Never", ...(nodeName !== undefined && { nodeName }), ...spec },
      },
      { namespace: "default" },
    );
  }
}

function configOf(flags: Readonly<Record<string, string>>): FleetConfig {
  const parsed = parseConfig(fleetConfig, { flags, env: {}, machine: { isTerminal: false, exists: () => false } });
  if (!parsed.ok) throw new Error(parsed.error.problems.map(({ message }) => message).join("; "));
  return parsed.value.values;
}
