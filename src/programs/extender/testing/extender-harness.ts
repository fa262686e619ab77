// A whole extender on an API in memory, asked over real HTTP, for tests. Twins age and watches wait on virtual time.
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { crdOf, kinds } from "../../../core/api/index.ts";
import { instant, type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import { type Clock, systemClock, VirtualClock } from "../../../platform/clock/index.ts";
import { parseConfig } from "../../../platform/config/index.ts";
import { EmbeddedApi } from "../../../platform/embedded/index.ts";
import { KubeClient, resources, type Transport } from "../../../platform/kube/index.ts";
import { createLogger } from "../../../platform/log/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { extenderConfig } from "../config.ts";
import type { SchedulerServerLimits } from "../server/server.ts";
import { runExtender } from "../start.ts";

export interface ExtenderLogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface ExtenderAnswer<Body> {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  readonly body: Body;
}

export interface FilterResult {
  readonly Nodes: { readonly items: readonly unknown[] } | null;
  readonly NodeNames: readonly string[] | null;
  readonly FailedNodes: Readonly<Record<string, string>>;
  readonly FailedAndUnresolvableNodes: Readonly<Record<string, string>>;
  readonly Error: string;
}
export type HostScores = readonly { readonly Host: string; readonly Score: number }[];

type Fields = Readonly<Record<string, unknown>>;

/** Measured at 300 of 600 W, cool, flat: a node whose score is easy to work out. */
export const calmTwinStatus: Fields = {
  schedulableClass: "performance",
  predictedPowerHeadroomScore: 40,
  predictedCoolingStressScore: 20,
  powerMeasurement: { measuredNodePowerW: 300, nodeCappedPowerW: 600, nodeTdpW: 800, powerTrendWPerMin: 0 },
};

/** An API with a person's hand on it, and extenders that watch it. */
export class ExtenderHarness {
  readonly clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
  readonly api = new EmbeddedApi({ clock: this.clock, random: seededRandom(1), crds: kinds.map(crdOf) });
  readonly client = new KubeClient({
    transport: this.api.transport(),
    clock: this.clock,
    random: seededRandom(2),
    fieldManager: "a-person",
    limit: { perSecond: 1e6, burst: 1e6, queue: 1e6 },
  });
  readonly #extenders: RunningExtender[] = [];

  async createNode(name: string, labels: Readonly<Record<string, string>> = {}, capacity: Fields = { cpu: "64" }) {
    await this.client.create(resources.nodes, {
      metadata: { name, labels },
      status: { capacity, allocatable: capacity },
    });
  }

  /** `lastUpdated` is now unless the status says otherwise. */
  async twin(name: string, status: Fields): Promise<void> {
    const lastUpdated = new Date(this.clock.now()).toISOString();
    await this.client.apply(resources.nodeTwins, { name }, { spec: { nodeName: name, profile: "performance" } });
    await this.client.apply(
      resources.nodeTwins,
      { name },
      { status: { lastUpdated, ...status } },
      { subresource: "status" },
    );
  }

  async hardware(name: string, status: Fields): Promise<void> {
    await this.client.apply(resources.nodeHardwares, { name }, { spec: { nodeName: name } });
    await this.client.apply(resources.nodeHardwares, { name }, { status }, { subresource: "status" });
  }

  /** Waits for the extender's server, and with `synced` until it knows the cluster. */
  async start(
    variables: Readonly<Record<string, string>> = {},
    options: RunningExtenderOptions = {},
  ): Promise<RunningExtender> {
    const extender = new RunningExtender(this, variables, options);
    this.#extenders.push(extender);
    await this.until(() => extender.url !== undefined || extender.ended);
    if (options.synced !== false) await this.until(async () => (await extender.get("/readyz")).status === 200);
    return extender;
  }

  /** For what goes over real sockets, which take no virtual time: moves on until it holds. */
  async until(holds: () => boolean | Promise<boolean>): Promise<void> {
    for (let turn = 0; turn < 5000; turn++) {
      if (await holds()) return;
      await this.clock.advanceAsync(milliseconds(1));
      // Files and sockets need real time, more of it on a busy machine.
      if (turn >= 100) await systemClock.sleep(milliseconds(1));
    }
    throw new Error("it never came to hold");
  }

  /** Lets time pass in steps, since promises of several calls in a row need many turns. */
  async advance(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed++) await this.clock.advanceAsync(milliseconds(1000));
    for (let turn = 0; turn < 20; turn++) await this.clock.advanceAsync(milliseconds(0));
  }

  async end(): Promise<void> {
    await Promise.all(this.#extenders.map(async (extender) => extender.stop()));
    await this.api.close();
  }
}

export interface RunningExtenderOptions {
  readonly synced?: boolean;
  readonly limits?: Partial<SchedulerServerLimits>;
  readonly shutdownDelay?: Milliseconds;
  readonly transport?: Transport;
  /** Real time where a test is about waiting for clients. */
  readonly ioClock?: Clock;
}

export class RunningExtender {
  readonly logs: ExtenderLogLine[] = [];
  readonly done: Promise<void>;
  ended = false;
  readonly #stop = new AbortController();
  readonly #trial: ExtenderHarness;

  constructor(trial: ExtenderHarness, variables: Readonly<Record<string, string>>, options: RunningExtenderOptions) {
    this.#trial = trial;
    const env = { METRICS_ADDR: "127.0.0.1:0", EXTENDER_ADDR: "127.0.0.1:0", ...variables };
    const machine = { isTerminal: false, exists: () => false };
    const parsed = parseConfig(extenderConfig, { env, flags: {}, machine, known: [] });
    if (!parsed.ok) throw new Error(parsed.error.problems.map(({ message }) => message).join("; "));
    const destination = { write: (line: string) => this.logs.push(JSON.parse(line) as ExtenderLogLine) };
    const { clock } = trial;
    const world = {
      transport: options.transport ?? trial.api.transport(),
      clock,
      ioClock: options.ioClock ?? clock,
      random: seededRandom(3),
      log: createLogger({ level: "info", program: "extender", destination }),
      ...(options.limits && { limits: options.limits }),
      ...(options.shutdownDelay && { shutdownDelay: options.shutdownDelay }),
    };
    this.done = runExtender(parsed.value.values, world, this.#stop.signal).finally(() => (this.ended = true));
    // Who awaits it hears of it; until then it is no unhandled rejection.
    this.done.catch(() => undefined);
  }

  get url(): string | undefined {
    return this.logs.find(({ url }) => url !== undefined)?.["url"] as string | undefined;
  }

  get metricsUrl(): string {
    return String(this.logs.find(({ metrics }) => metrics !== undefined)?.["metrics"]);
  }

  async post<Body>(path: string, body: unknown): Promise<ExtenderAnswer<Body>> {
    return this.ask<Body>("POST", path, typeof body === "string" ? body : JSON.stringify(body));
  }

  async get<Body>(path: string): Promise<ExtenderAnswer<Body>> {
    return this.ask<Body>("GET", path);
  }

  async ask<Body>(method: string, path: string, body?: string): Promise<ExtenderAnswer<Body>> {
    const { hostname, port } = new URL(String(this.url));
    const asked = request({ host: hostname, port, path, method, agent: false });
    asked.end(body);
    return answerTo<Body>(asked);
  }

  async filter(pod: unknown, names: readonly string[]): Promise<FilterResult> {
    return (await this.post<FilterResult>("/filter", { Pod: pod, Nodes: null, NodeNames: names })).body;
  }

  async filterNodes(pod: unknown, items: readonly unknown[]): Promise<FilterResult> {
    const asked = { Pod: pod, Nodes: { metadata: {}, items }, NodeNames: null };
    return (await this.post<FilterResult>("/filter", asked)).body;
  }

  /** Scores by node. */
  async scores(pod: unknown, names: readonly string[]): Promise<Record<string, number>> {
    const asked = { Pod: pod, Nodes: null, NodeNames: names };
    const { body } = await this.post<HostScores>("/prioritize", asked);
    return Object.fromEntries(body.map(({ Host, Score }) => [Host, Score]));
  }

  /** Series of /metrics in which all of the words are. */
  async series(...words: readonly string[]): Promise<string[]> {
    const text = await (await fetch(`${this.metricsUrl}/metrics`)).text();
    return text.split("\n").filter((line) => !line.startsWith("#") && words.every((word) => line.includes(word)));
  }

  /** As SIGTERM does. */
  terminate(): void {
    this.#stop.abort();
  }

  async stop(): Promise<void> {
    this.terminate();
    while (!this.ended) await this.#trial.clock.advanceAsync(milliseconds(100));
    await this.done.catch(() => undefined);
  }
}

export async function answerTo<Body>(asked: ClientRequest): Promise<ExtenderAnswer<Body>> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  asked.once("response", resolve).once("error", reject);
  const response = await promise;
  let text = "";
  for await (const piece of response.setEncoding("utf8") as AsyncIterable<string>) text += piece;
  const isJson = response.headers["content-type"]?.startsWith("application/json") === true;
  const body = (isJson ? JSON.parse(text) : undefined) as Body;
  return { status: response.statusCode ?? 0, headers: response.headers, text, body };
}

/** A pod of a class that asks for CPUs and perhaps for GPUs. */
export const pod = (
  workloadClass: string | undefined,
  { cpu, gpu, name = "p" }: { readonly cpu?: string; readonly gpu?: string; readonly name?: string } = {},
) => ({
  metadata: {
    name,
    namespace: "default",
    ...(workloadClass !== undefined && { annotations: { "joulie.io/workload-class": workloadClass } }),
  },
  spec: {
    containers: [
      {
        name: "main",
        resources: {
          ...(cpu !== undefined && { requests: { cpu } }),
          ...(gpu !== undefined && { limits: { "nvidia.com/gpu": gpu } }),
        },
      },
    ],
  },
});
