// Runs a whole extender against the embedded API, with requests over real HTTP. Twins and watches use virtual time.
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { crdOf, kinds } from "../../../core/api/index.ts";
import { instant, type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import { type Clock, VirtualClock } from "../../../platform/clock/index.ts";
import { eventually } from "../../../platform/clock/testing/index.ts";
import { parseConfig } from "../../../platform/config/index.ts";
import { FaultyApi } from "../../../platform/embedded/testing/index.ts";
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

/** Measured at 300 of 600 W, cool, without a trend: a status whose score is easy to compute. */
export const calmTwinStatus: Fields = {
  schedulableClass: "performance",
  predictedPowerHeadroomScore: 40,
  predictedCoolingStressScore: 20,
  powerMeasurement: { measuredNodePowerW: 300, nodeCappedPowerW: 600, nodeTdpW: 800, powerTrendWPerMin: 0 },
};

/** An embedded API, a client for the test, and the extenders that watch it. */
export class ExtenderHarness {
  readonly clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
  readonly api = new FaultyApi({ clock: this.clock, random: seededRandom(1), crds: kinds.map(crdOf) });
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

  /** `lastUpdated` defaults to now. */
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

  /** Resolves when the server listens and, unless `synced` is false, when the extender has read the cluster. */
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

  /** Advances virtual time, and real time for sockets, until the condition holds. */
  async until(holds: () => boolean | Promise<boolean>): Promise<void> {
    for (let step = 0; step < 100; step++) {
      if (await holds()) return;
      await this.clock.advanceAsync(milliseconds(1));
    }
    // Files and sockets need real time.
    await eventually(holds, { between: async () => this.clock.advanceAsync(milliseconds(1)) });
  }

  /** Advances time in steps, because chains of promises need many event-loop turns. */
  async advance(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed++) await this.clock.advanceAsync(milliseconds(1000));
    for (let step = 0; step < 20; step++) await this.clock.advanceAsync(milliseconds(0));
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
  /** Real time, for tests that wait for clients. */
  readonly ioClock?: Clock;
}

export class RunningExtender {
  readonly logs: ExtenderLogLine[] = [];
  readonly done: Promise<void>;
  ended = false;
  readonly #stop = new AbortController();
  readonly #harness: ExtenderHarness;

  constructor(harness: ExtenderHarness, variables: Readonly<Record<string, string>>, options: RunningExtenderOptions) {
    this.#harness = harness;
    const env = { METRICS_ADDR: "127.0.0.1:0", EXTENDER_ADDR: "127.0.0.1:0", ...variables };
    const machine = { isTerminal: false, exists: () => false };
    const parsed = parseConfig(extenderConfig, { env, flags: {}, machine, known: [] });
    if (!parsed.ok) throw new Error(parsed.error.problems.map(({ message }) => message).join("; "));
    const destination = { write: (line: string) => this.logs.push(JSON.parse(line) as ExtenderLogLine) };
    const { clock } = harness;
    const world = {
      transport: options.transport ?? harness.api.transport(),
      clock,
      ioClock: options.ioClock ?? clock,
      random: seededRandom(3),
      log: createLogger({ level: "info", program: "extender", destination }),
      ...(options.limits && { limits: options.limits }),
      ...(options.shutdownDelay && { shutdownDelay: options.shutdownDelay }),
    };
    this.done = runExtender(parsed.value.values, world, this.#stop.signal).finally(() => (this.ended = true));
    // Prevents an unhandled rejection; callers still see it by awaiting `done`.
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

  /** The series of /metrics that contain all of the words. */
  async series(...words: readonly string[]): Promise<string[]> {
    const text = await (await fetch(`${this.metricsUrl}/metrics`)).text();
    return text.split("\n").filter((line) => !line.startsWith("#") && words.every((word) => line.includes(word)));
  }

  /** Like SIGTERM. */
  terminate(): void {
    this.#stop.abort();
  }

  async stop(): Promise<void> {
    this.terminate();
    while (!this.ended) await this.#harness.clock.advanceAsync(milliseconds(100));
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

/** A pod of the given class with CPU and GPU requests. */
export const podOfClass = (
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
