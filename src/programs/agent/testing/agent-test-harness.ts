// Test harness: a complete agent with an API server and a machine in memory, in virtual time.
import { crdOf, kinds, labels, type NodeTwin, type TelemetryProfile } from "../../../core/api/index.ts";
import type { Catalogue } from "../../../core/inventory/index.ts";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/index.ts";
import { eventually, realWork } from "../../../platform/clock/testing/index.ts";
import { parseConfig } from "../../../platform/config/index.ts";
import { FaultyApi } from "../../../platform/embedded/testing/index.ts";
import type { JournalFiles } from "../../../platform/journal/index.ts";
import {
  type ApiRequest,
  isApiError,
  KubeClient,
  type KubeObject,
  type Resource,
  resources,
  type Transport,
} from "../../../platform/kube/index.ts";
import { createLogger } from "../../../platform/log/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { agentConfig } from "../config.ts";
import { openHost } from "../host/open-host.ts";
import { runAgent } from "../start.ts";
import { FakeMachine } from "./fake-machine.ts";
import type { FixtureHost } from "./fixture-host.ts";

export interface AgentWrite {
  readonly at: number;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface AgentLogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface PublishedEvent {
  readonly reason: string;
  readonly regarding: { readonly name: string };
  readonly note: string;
  readonly type: string;
}

/** The journal's disk in memory; it outlives the agents. */
class MemoryDisk implements JournalFiles {
  readonly directory = "/var/lib/joulie";
  readonly files = new Map<string, string>();
  refusal: Error | undefined;
  beforeWrite: (what: string) => void = () => {};

  async read(name: string): Promise<string | undefined> {
    return this.files.get(name);
  }

  async write(name: string, text: string): Promise<void> {
    this.beforeWrite(`write ${name}`);
    if (this.refusal !== undefined) throw this.refusal;
    this.files.set(name, text);
  }

  async rename(from: string, to: string): Promise<void> {
    this.beforeWrite(`rename ${from} ${to}`);
    const text = this.files.get(from);
    if (text === undefined) return;
    this.files.delete(from);
    this.files.set(to, text);
  }

  async settle(): Promise<void> {
    this.beforeWrite("settle");
  }

  /** Boards in the journal. */
  get boards(): readonly string[] {
    const text = this.files.get("originals.json");
    if (text === undefined) return [];
    const { entries } = JSON.parse(text) as { entries: { board: string }[] };
    return entries.map(({ board }) => board).toSorted();
  }
}

/** An API server, a user, an operator and a machine; `start` runs an agent on them. */
export class AgentTestHarness {
  readonly clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
  readonly api = new FaultyApi({ clock: this.clock, random: seededRandom(1), crds: kinds.map(crdOf) });
  readonly user = this.client("a-user");
  readonly operator = this.client("joulie-operator");
  readonly machine = new FakeMachine(this.clock);
  readonly disk = new MemoryDisk();
  /** Files of a host. If set, the agent uses the real backends on them instead of `machine`. */
  fixture: FixtureHost | undefined;
  readonly #agents: AgentUnderTest[] = [];

  client(fieldManager: string): KubeClient {
    return new KubeClient({
      transport: this.api.transport(),
      clock: this.clock,
      random: seededRandom(2),
      fieldManager,
      limit: { perSecond: 1e6, burst: 1e6, queue: 1e6 },
    });
  }

  /** Starts an agent for node `a`, unless the variables say otherwise. */
  start(variables: Readonly<Record<string, string>> = {}): AgentUnderTest {
    const agent = new AgentUnderTest(this, variables);
    this.#agents.push(agent);
    return agent;
  }

  /** Advances virtual time in small steps, so that chains of promises can settle. */
  async advance(seconds: number): Promise<void> {
    const step = Math.min(seconds, 0.25);
    for (let passed = 0; passed < seconds; passed += step) await this.clock.advanceAsync(milliseconds(step * 1000));
    for (let turn = 0; turn < 20; turn++) await this.clock.advanceAsync(milliseconds(0));
  }

  /** One step of virtual and real time, for tests with real sockets. */
  async step(): Promise<void> {
    await this.clock.advanceAsync(milliseconds(50));
    await realWork();
  }

  async until(holds: () => boolean | Promise<boolean>): Promise<void> {
    await eventually(holds, { between: async () => this.clock.advanceAsync(milliseconds(50)) });
  }

  async advanceInSteps(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed += 0.05) await this.step();
  }

  async createNode(name: string, own: Readonly<Record<string, string | null>> = {}): Promise<void> {
    const capacity = { cpu: "128", memory: "256Gi", pods: "110" };
    const all = Object.entries({ [labels.managed]: "true", ...own }).filter(([, value]) => value !== null);
    const node = { metadata: { name, labels: Object.fromEntries(all) }, status: { capacity, allocatable: capacity } };
    await this.user.create(resources.nodes, node);
  }

  async label(name: string, own: Readonly<Record<string, string | null>>): Promise<void> {
    await this.user.mergePatch(resources.nodes, { name }, { metadata: { labels: own } });
  }

  /** Publishes a target as the operator does. */
  async target(name: string, spec: Readonly<Record<string, unknown>>): Promise<void> {
    const all = { nodeName: name, profile: "eco", policy: { name: "static_partition" }, ...spec };
    await this.operator.apply(resources.nodeTwins, { name }, { spec: all }, { force: true });
  }

  async removeTarget(name: string): Promise<void> {
    await this.user.delete(resources.nodeTwins, { name });
  }

  async pin(name: string, spec: Readonly<Record<string, unknown>>): Promise<void> {
    await this.user.create(resources.nodePowerProfiles, {
      metadata: { name },
      spec: { nodeName: name, profile: "eco", ...spec },
    });
  }

  async route(name: string, spec: Readonly<Record<string, unknown>>): Promise<void> {
    await this.user.apply(resources.telemetryProfiles, { name }, { spec }, { force: true });
  }

  async find<Item extends KubeObject>(resource: Resource, name: string): Promise<Item | undefined> {
    try {
      return await this.user.get<Item>(resource, { name });
    } catch (error) {
      if (isApiError(error, "notFound")) return undefined;
      throw error;
    }
  }

  async twin(name = "a"): Promise<NodeTwin> {
    return (await this.user.get(resources.nodeTwins, { name })) as unknown as NodeTwin;
  }

  /** `status.controlStatus` of the node's NodeTwin. */
  async controlStatus(name = "a") {
    return (await this.twin(name)).status?.controlStatus;
  }

  async profile(name: string): Promise<TelemetryProfile> {
    return (await this.user.get(resources.telemetryProfiles, { name })) as unknown as TelemetryProfile;
  }

  async events(): Promise<readonly PublishedEvent[]> {
    const { items } = await this.user.listAll(resources.events);
    return items as unknown as PublishedEvent[];
  }

  async close(): Promise<void> {
    await Promise.all(this.#agents.map(async (agent) => agent.stop()));
    await this.api.close();
  }
}

export class AgentUnderTest {
  readonly writes: AgentWrite[] = [];
  /** Paths of all GET requests. */
  readonly reads: string[] = [];
  readonly logs: AgentLogLine[] = [];
  readonly #stop = new AbortController();
  readonly #harness: AgentTestHarness;
  readonly done: Promise<void>;

  constructor(harness: AgentTestHarness, variables: Readonly<Record<string, string>>) {
    this.#harness = harness;
    const env = { METRICS_ADDR: "127.0.0.1:0", NODE_NAME: "a", ...variables };
    const machine = { isTerminal: false, exists: () => false };
    const parsed = parseConfig(agentConfig, { env, flags: {}, machine, known: [] });
    if (!parsed.ok) throw new Error(parsed.error.problems.map(({ message }) => message).join("; "));
    const log = createLogger({
      level: "info",
      program: "agent",
      destination: { write: (line) => this.logs.push(JSON.parse(line) as AgentLogLine) },
    });
    const { clock } = harness;
    const world = {
      transport: this.#recordingTransport(),
      clock,
      ioClock: clock,
      random: seededRandom(10),
      log,
      openHost: async (catalogue: Catalogue) =>
        harness.fixture === undefined
          ? harness.machine
          : openHost(parsed.value.values, harness.fixture, clock, catalogue, { hsmp: { path: "/nonexistent/hsmp" } }),
      journalFiles: harness.disk,
    };
    this.done = runAgent(parsed.value.values, world, this.#stop.signal);
    this.done.catch(() => undefined);
  }

  /** Writes since the last call, except Events. */
  takeWrites(): AgentWrite[] {
    return this.writes.splice(0).filter(({ path }) => !path.includes("/events"));
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("stopped by SIGTERM"));
    const end = { reached: false };
    void this.done.catch(() => undefined).finally(() => (end.reached = true));
    while (!end.reached) await this.#harness.step();
    await this.done;
  }

  async page(path: string): Promise<{ status: number; text: string }> {
    const url = this.logs.find(({ url: at }) => at !== undefined)?.["url"];
    const answer = await fetch(`${String(url)}${path}`);
    return { status: answer.status, text: await answer.text() };
  }

  /** Metric lines `name{labels} value` that contain all words. */
  async series(...words: readonly string[]): Promise<string[]> {
    const { text } = await this.page("/metrics");
    return text.split("\n").filter((line) => !line.startsWith("#") && words.every((word) => line.includes(word)));
  }

  #recordingTransport(): Transport {
    const transport = this.#harness.api.transport();
    return {
      request: async (request: ApiRequest) => {
        if (request.method === "GET") this.reads.push(request.path);
        else
          this.writes.push({
            at: this.#harness.clock.now(),
            path: request.path.replace(/\?.*/, ""),
            body: JSON.parse(request.body ?? "{}") as AgentWrite["body"],
          });
        return transport.request(request);
      },
      close: async () => transport.close(),
    };
  }
}
