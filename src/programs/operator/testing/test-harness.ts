// Runs a whole operator against an in-memory API in virtual time, for tests.
import { crdOf, kinds, labels, type NodeTwin } from "../../../core/api/index.ts";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/index.ts";
import { parseConfig } from "../../../platform/config/index.ts";
import { FaultyApi } from "../../../platform/embedded/testing/index.ts";
import {
  type ApiRequest,
  type ApiResponse,
  isApiError,
  KubeClient,
  type KubeObject,
  type Resource,
  resources,
  type Transport,
} from "../../../platform/kube/index.ts";
import { createLogger } from "../../../platform/log/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { operatorConfig } from "../config.ts";
import { runOperator } from "../start.ts";

const managed = { [labels.managed]: "true" };
/** A pod whose annotation asks for performance. */
export const performancePod = { annotations: { "joulie.io/workload-class": "performance" } };

export interface RecordedWrite {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  answered?: number;
}

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** Forwards a request; with its own signal, even after the sender has aborted it. */
type Go = (signal?: AbortSignal) => Promise<ApiResponse>;

/** Whether the request sets eco caps on node n. */
export const bringsEcoCaps = ({ method, path, body }: ApiRequest): boolean =>
  method === "PATCH" && path.includes("/nodetwins/n?") && String(body).includes('"packagePowerCapPctOfMax":60');

type Labelled = KubeObject & { readonly metadata: { readonly labels?: Readonly<Record<string, string>> } };

/** An API with helpers that act as a user. */
export class OperatorTestHarness {
  readonly clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
  readonly api = new FaultyApi({ clock: this.clock, random: seededRandom(1), crds: kinds.map(crdOf) });
  readonly user = this.#client("a-person");
  readonly #operators: Operator[] = [];

  #client(fieldManager: string): KubeClient {
    return new KubeClient({
      transport: this.api.transport(),
      clock: this.clock,
      random: seededRandom(2),
      fieldManager,
      limit: { perSecond: 1e6, burst: 1e6, queue: 1e6 },
    });
  }

  /** Writes with another field manager. */
  clientOf(fieldManager: string): KubeClient {
    return this.#client(fieldManager);
  }

  /** Cores in use per node, as metrics.k8s.io reports them. Undefined if the cluster does not have that API. */
  usage: Readonly<Record<string, string>> | undefined;

  /** The response time of metrics.k8s.io. */
  usageTakes = milliseconds(0);

  /** Writes with the agent's field manager. */
  readonly agent = this.#client("joulie-agent");

  static async begin(): Promise<OperatorTestHarness> {
    const harness = new OperatorTestHarness();
    await harness.user.create(resources.namespaces, { metadata: { name: "joulie-system" } });
    return harness;
  }

  /** Intercepts the requests of operators that start later. */
  intercept(hand: (request: ApiRequest, go: Go) => Promise<ApiResponse>): void {
    const original = this.api.transport.bind(this.api);
    this.api.transport = () => {
      const inner = original();
      return {
        request: async (request) =>
          hand(request, async (signal = request.signal) => inner.request({ ...request, signal })),
        close: async () => inner.close(),
      };
    };
  }

  start(variables: Readonly<Record<string, string>> = {}): Operator {
    const operator = new Operator(this, variables, this.#operators.length);
    this.#operators.push(operator);
    return operator;
  }

  /** Advances the clock in small steps, because a chain of calls needs many microtask turns. */
  async advance(seconds: number): Promise<void> {
    const step = Math.min(seconds, 0.25);
    for (let passed = 0; passed < seconds; passed += step) await this.clock.advanceAsync(milliseconds(step * 1000));
    for (let turn = 0; turn < 20; turn++) await this.clock.advanceAsync(milliseconds(0));
  }

  /** Advances the clock until the condition holds, for work over real sockets, which takes no virtual time. */
  async until(holds: () => boolean | Promise<boolean>): Promise<void> {
    for (let turn = 0; turn < 5000; turn++) {
      if (await holds()) return;
      await this.clock.advanceAsync(milliseconds(20));
    }
    throw new Error("it never came to hold");
  }

  async createNode(
    name: string,
    own: Readonly<Record<string, string>> = {},
    rest: Readonly<Record<string, unknown>> = {},
  ) {
    const capacity = { cpu: "64", memory: "256Gi", pods: "110" };
    const node = {
      metadata: { name, labels: { ...managed, ...own } },
      status: { capacity, allocatable: capacity },
      ...rest,
    };
    await this.user.create(resources.nodes, node);
  }

  async createPod(
    name: string,
    nodeName: string | undefined,
    {
      annotations = {},
      spec = {},
    }: { annotations?: Readonly<Record<string, string>>; spec?: Readonly<Record<string, unknown>> } = {},
  ): Promise<void> {
    const containers = [{ name: "main", image: "none", resources: { requests: { cpu: "4" } } }];
    const pod = {
      metadata: { name, annotations },
      spec: { containers, ...(nodeName !== undefined && { nodeName }), ...spec },
    };
    await this.user.create(resources.pods, pod, { namespace: "default" });
  }

  async finishPod(name: string): Promise<void> {
    await this.user.mergePatch(
      resources.pods,
      { name, namespace: "default" },
      { status: { phase: "Succeeded" } },
      { subresource: "status" },
    );
  }

  /** Writes the hardware that the agent discovered on a node. */
  async discovered(name: string, status: Readonly<Record<string, unknown>>): Promise<void> {
    await this.agent.apply(resources.nodeHardwares, { name }, { spec: { nodeName: name } });
    await this.agent.apply(resources.nodeHardwares, { name }, { status }, { subresource: "status" });
  }

  /** Writes the power that the agent reports for a node. */
  async observed(name: string, power: number): Promise<void> {
    const cpu = {
      backend: "rapl",
      result: "applied",
      observedPowerWatts: power,
      updatedAt: new Date(this.clock.now()).toISOString(),
    };
    await this.agent.apply(
      resources.nodeTwins,
      { name },
      { status: { controlStatus: { cpu } } },
      { subresource: "status" },
    );
  }

  async label(name: string, own: Readonly<Record<string, string | null>>): Promise<void> {
    await this.user.mergePatch(resources.nodes, { name }, { metadata: { labels: own } });
  }

  async cordon(name: string, unschedulable = true): Promise<void> {
    await this.user.mergePatch(resources.nodes, { name }, { spec: { unschedulable } });
  }

  async pin(name: string, spec: Readonly<Record<string, unknown>>): Promise<void> {
    await this.user.create(resources.nodePowerProfiles, { metadata: { name }, spec: { nodeName: name, ...spec } });
  }

  async find<Item extends KubeObject>(resource: Resource, name: string): Promise<Item | undefined> {
    try {
      return await this.user.get<Item>(resource, { name });
    } catch (error) {
      if (isApiError(error, "notFound")) return undefined;
      throw error;
    }
  }

  async findTwin(name: string): Promise<NodeTwin | undefined> {
    return (await this.find(resources.nodeTwins, name)) as unknown as NodeTwin | undefined;
  }

  async twin(name: string): Promise<NodeTwin> {
    return (await this.user.get(resources.nodeTwins, { name })) as unknown as NodeTwin;
  }

  async labelsOf(name: string): Promise<Readonly<Record<string, string>>> {
    return (await this.user.get<Labelled>(resources.nodes, { name })).metadata.labels ?? {};
  }

  /** The published state of a node: profile, draining, class, labels and CPU cap. */
  async shown(name: string) {
    const { spec, status } = await this.twin(name);
    const own = await this.labelsOf(name);
    return {
      spec: `${spec.profile}${spec.scheduling?.draining === true ? " draining" : ""}`,
      class: status?.schedulableClass,
      labels: `${own[labels.powerProfile]} ${own[labels.draining]}`,
      cap: spec.cpu?.packagePowerCapPctOfMax,
    };
  }

  async events(): Promise<readonly { reason: string; regarding: { name: string }; note: string; type: string }[]> {
    const { items } = await this.user.listAll(resources.events);
    return items as unknown as { reason: string; regarding: { name: string }; note: string; type: string }[];
  }

  async end(): Promise<void> {
    await Promise.all(this.#operators.map(async (operator) => operator.stop()));
    await this.api.close();
  }
}

export class Operator {
  readonly writes: RecordedWrite[] = [];
  readonly logs: LogLine[] = [];
  readonly #stop = new AbortController();
  readonly #harness: OperatorTestHarness;
  readonly #done: Promise<void>;

  constructor(harness: OperatorTestHarness, variables: Readonly<Record<string, string>>, index: number) {
    this.#harness = harness;
    // No extender runs here, so a twin that is seldom refreshed has no effect.
    const quiet = { TWIN_STALENESS_THRESHOLD: "24h" };
    const env = { METRICS_ADDR: "127.0.0.1:0", POD_NAME: `operator-${index}`, ...quiet, ...variables };
    const machine = { isTerminal: false, exists: () => false };
    const parsed = parseConfig(operatorConfig, { env, flags: {}, machine, known: [] });
    if (!parsed.ok) throw new Error(parsed.error.problems.map(({ message }) => message).join("; "));
    const log = createLogger({
      level: "info",
      program: "operator",
      destination: { write: (line) => this.logs.push(JSON.parse(line) as LogLine) },
    });
    const { clock } = harness;
    const world = { transport: this.#spied(), clock, ioClock: clock, random: seededRandom(10 + index), log };
    this.#done = runOperator(parsed.value.values, world, this.#stop.signal);
  }

  /** Writes to Nodes and Joulie's kinds since the last call. */
  written(): RecordedWrite[] {
    return this.writes.splice(0).filter(({ path }) => !/leases|events/.test(path));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    const end = { reached: false };
    void this.#done.finally(() => (end.reached = true));
    while (!end.reached) await this.#harness.clock.advanceAsync(milliseconds(100));
    await this.#done;
  }

  async page(path: string): Promise<{ status: number; text: string }> {
    const url = this.logs.find(({ url: at }) => at !== undefined)?.["url"];
    const answer = await fetch(`${String(url)}${path}`);
    return { status: answer.status, text: await answer.text() };
  }

  /** The series of a metric that contain all the words, as `name{labels} value`. */
  async series(...words: readonly string[]): Promise<string[]> {
    const { text } = await this.page("/metrics");
    return text.split("\n").filter((line) => !line.startsWith("#") && words.every((word) => line.includes(word)));
  }

  #spied(): Transport {
    const transport = this.#harness.api.transport();
    return {
      request: async (request: ApiRequest) => {
        const { usage, usageTakes, clock } = this.#harness;
        if (usage !== undefined && request.path.startsWith("/apis/metrics.k8s.io/")) {
          if (usageTakes > 0) await clock.sleep(usageTakes, request.signal);
          const timestamp = new Date(clock.now()).toISOString();
          const items = Object.entries(usage).map(([name, cpu]) => ({ metadata: { name }, timestamp, usage: { cpu } }));
          return { status: 200, headers: {}, body: bytes(JSON.stringify({ items })) };
        }
        if (request.method === "GET") return transport.request(request);
        const write: RecordedWrite = {
          at: clock.now(),
          method: request.method,
          path: request.path.replace(/\?.*/, ""),
          body: JSON.parse(request.body ?? "{}") as RecordedWrite["body"],
        };
        this.writes.push(write);
        const answer = await transport.request(request);
        write.answered = answer.status;
        return answer;
      },
      close: async () => transport.close(),
    };
  }
}

async function* bytes(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(text);
}
