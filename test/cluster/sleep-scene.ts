// Fifty simulated machines on a real control plane, with an operator and a power program that can be killed.
import { vi } from "vitest";
import { annotations, apiVersion, type NodeTwin, type PowerEndpoint } from "../../src/core/api/index.ts";
import { milliseconds } from "../../src/core/units/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { type ConfigSchema, parseConfig } from "../../src/platform/config/index.ts";
import { type ApiRequest, type ApiResponse, KubeClient, type Transport } from "../../src/platform/kube/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { fleetConfig } from "../../src/programs/fleet/config.ts";
import { fleetPermissions } from "../../src/programs/fleet/permissions.ts";
import { type RunningFleet, runFleet } from "../../src/programs/fleet/start.ts";
import { operatorConfig } from "../../src/programs/operator/config.ts";
import { operatorPermissions } from "../../src/programs/operator/permissions.ts";
import { runOperator } from "../../src/programs/operator/start.ts";
import { powerConfig } from "../../src/programs/power/config.ts";
import { powerPermissions } from "../../src/programs/power/permissions.ts";
import { runPower } from "../../src/programs/power/start.ts";
import { reach } from "../contract/reach.ts";
import type { ControlPlane } from "../controlplane/harness.ts";
import type { ClusterIdentity } from "../controlplane/identities.ts";
import { fastClock } from "./fast-clock.ts";
import { Witness } from "./witness.ts";

export const NODES = 50;
/** By default half of a zone may sleep. */
export const HALF = NODES / 2;
const NAMESPACE = "joulie-system";
const twins = `/apis/${apiVersion}/nodetwins`;
const endpoints = `/apis/${apiVersion}/powerendpoints`;
export const soon = { timeout: 90_000, interval: 200 };
/** Leases expire in three seconds instead of fifteen. */
const ioClock = fastClock(5);

const fleetFlags = {
  SIMULATOR_ADDR: "127.0.0.1:0",
  METRICS_ADDR: "127.0.0.1:0",
  NODES: String(NODES),
  SLEEP: "true",
  PROVE_WAKES: "true",
  BOOT_TIME: "2s",
  SHUTDOWN_TIME: "500ms",
  FAILED_BOOTS: "0",
  POD_START: "0",
  WORKLOAD: "none",
  TAINT_NODES: "false",
};
const operatorVariables = {
  METRICS_ADDR: "127.0.0.1:0",
  RECONCILE_INTERVAL: "1s",
  SLEEP_MODE: "on",
  SLEEP_AFTER: "2s",
  SLEEP_RESERVE_QUANTILE: "0",
};
const powerVariables = {
  METRICS_ADDR: "127.0.0.1:0",
  SLEEP_SETTLE: "500ms",
  SWITCH_POLL_INTERVAL: "500ms",
  SWITCH_REFRESH_INTERVAL: "3s",
  SWITCH_TIMEOUT: "5s",
  SHUTDOWN_TIMEOUT: "10s",
  WAKE_TIMEOUT: "60s",
  AWAKE_AT_LEAST: "1s",
};

/** Ends like a killed process: nothing that it sends from then on reaches the server. */
class MortalTransport implements Transport {
  readonly #inner: Transport;
  readonly #death = new AbortController();
  #deadly: ((request: ApiRequest) => boolean) | undefined;

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    this.#death.signal.throwIfAborted();
    const response = await this.#inner.request(request);
    if (this.#deadly?.(request) === true) this.kill();
    this.#death.signal.throwIfAborted();
    return { ...response, body: this.#body(response.body) };
  }

  async *#body(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      this.#death.signal.throwIfAborted();
      yield chunk;
    }
  }

  kill(): void {
    this.#death.abort(new Error("killed"));
  }

  /** Resolves when it was killed right after the server had processed such a request. */
  async killAfter(matches: (request: ApiRequest) => boolean): Promise<void> {
    this.#deadly = matches;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#death.signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }
}

export interface Program {
  readonly user: string;
  stop(): Promise<void>;
  /** As by SIGKILL: the next one finds what this one has written so far. */
  kill(): Promise<void>;
  /** Kills it as soon as the server has processed a write with this text. */
  killAfterWrite(text: string): Promise<void>;
}

export class SleepScene {
  readonly plane: ControlPlane;
  readonly witness: Witness;
  /** Machines that lost their power while work ran on them. */
  readonly losses: string[] = [];
  /** How often a machine was asked to shut down, or lost its power. */
  cuts = 0;
  #identities: Readonly<Record<"fleet" | "operator" | "power", ClusterIdentity>> | undefined;
  #fleet: { readonly running: RunningFleet; stop(): Promise<void> } | undefined;
  readonly #programs = new Set<Program>();
  #power: Program | undefined;

  private constructor(plane: ControlPlane) {
    this.plane = plane;
    this.witness = new Witness(plane.admin);
  }

  /** Starts the fleet and the power program, which proves the wake of every node. */
  static async open(plane: ControlPlane, flags: Readonly<Record<string, string>> = {}): Promise<SleepScene> {
    const scene = new SleepScene(plane);
    await plane.kubectl(["create", "namespace", NAMESPACE]);
    await scene.witness.start();
    scene.#identities = {
      fleet: await plane.identity(fleetPermissions("default", { sleep: true }), { name: "joulie-fleet" }),
      operator: await plane.identity(operatorPermissions(NAMESPACE, { sleep: true }), { name: "joulie-operator" }),
      power: await plane.identity(powerPermissions(NAMESPACE), { name: "joulie-power" }),
    };
    await scene.#startFleet(flags);
    scene.#power = scene.startPower();
    await vi.waitUntil(async () => (await scene.proven()) === NODES, soon);
    return scene;
  }

  async close(): Promise<void> {
    for (const program of this.#programs) await program.stop();
    await this.witness.stop();
    await this.#fleet?.stop();
  }

  get fleet(): RunningFleet {
    if (this.#fleet === undefined) throw new Error("the fleet does not run");
    return this.#fleet.running;
  }

  /** The power program that proved the wakes. */
  get power(): Program {
    if (this.#power === undefined) throw new Error("the power program does not run");
    return this.#power;
  }

  get users(): Readonly<Record<"fleet" | "operator" | "power", string>> {
    const { fleet, operator, power } = this.#identities ?? {};
    return { fleet: fleet?.user ?? "", operator: operator?.user ?? "", power: power?.user ?? "" };
  }

  async #startFleet(flags: Readonly<Record<string, string>>): Promise<void> {
    const config = configured(fleetConfig, { ...fleetFlags, ...flags }, "flags");
    const transport = transportOf(this.#identities?.fleet);
    const ending = new AbortController();
    const { promise: serving, resolve: onServing } = Promise.withResolvers<RunningFleet>();
    const done = runFleet(
      config,
      { ...worldOf("simulator"), transport, ioClock: systemClock, onServing },
      ending.signal,
    );
    const running = await Promise.race([serving, done.then((): never => fleetEnded())]);
    const { datacenter } = running;
    const press = datacenter.press.bind(datacenter);
    datacenter.press = (machine, action) => {
      if (action !== "on") this.cuts++;
      if (action !== "on" && machine.physics.jobCount > 0) this.losses.push(`${machine.spec.name} ${action}`);
      press(machine, action);
    };
    await running.registered;
    this.#fleet = {
      running,
      stop: async () => {
        ending.abort();
        await done;
        await transport.close();
      },
    };
  }

  startOperator(variables: Readonly<Record<string, string>> = {}): Program {
    const config = configured(operatorConfig, { ...operatorVariables, ...variables }, "env");
    return this.#start("operator", async (world, signal) => runOperator(config, world, signal));
  }

  startPower(variables: Readonly<Record<string, string>> = {}): Program {
    const config = configured(powerConfig, { ...powerVariables, ...variables }, "env");
    return this.#start("power", async (world, signal) => runPower(config, world, signal));
  }

  #start(
    name: "operator" | "power",
    run: (world: ReturnType<typeof worldOf> & { readonly transport: Transport }, signal: AbortSignal) => Promise<void>,
  ): Program {
    const transport = new MortalTransport(transportOf(this.#identities?.[name]));
    const ending = new AbortController();
    const done = run({ ...worldOf(name), transport }, ending.signal);
    done.catch(() => undefined);
    const end = async () => {
      this.#programs.delete(program);
      ending.abort();
      await done.catch(() => undefined);
      await transport.close();
    };
    const program: Program = {
      user: this.users[name],
      stop: end,
      kill: async () => {
        transport.kill();
        await end();
      },
      killAfterWrite: async (text) => {
        await transport.killAfter(({ method, body }) => method !== "GET" && body?.includes(text) === true);
        await end();
      },
    };
    this.#programs.add(program);
    return program;
  }

  async endpoints(): Promise<readonly PowerEndpoint[]> {
    return (await this.plane.api.get<{ readonly items: readonly PowerEndpoint[] }>(endpoints)).items;
  }

  async twin(name: string): Promise<NodeTwin> {
    return this.plane.api.get<NodeTwin>(`${twins}/${name}`);
  }

  async twins(): Promise<readonly NodeTwin[]> {
    return (await this.plane.api.get<{ readonly items: readonly NodeTwin[] }>(twins)).items;
  }

  async proven(): Promise<number> {
    const all = await this.endpoints();
    const isDone = ({ metadata, status }: PowerEndpoint) =>
      status?.wakeProven === true &&
      status.operation === undefined &&
      metadata.annotations?.[annotations.testPower] === undefined;
    return all.filter(isDone).length;
  }

  /** Names of the machines without power. */
  off(): readonly string[] {
    return Array.from(this.fleet.datacenter.machines())
      .filter(({ power }) => power === "off")
      .map(({ spec }) => spec.name);
  }

  /** Waits until this many machines are off, and no sleep or wake is in progress. */
  async settles(off: number): Promise<void> {
    await vi.waitUntil(async () => {
      if (this.off().length !== off) return false;
      return (await this.endpoints()).every(({ status }) => status?.operation === undefined);
    }, soon);
  }

  async createPods(prefix: string, count: number, cpu: number): Promise<void> {
    const containers = [{ name: "main", image: "none", resources: { requests: { cpu: String(cpu) } } }];
    const create = async (index: number) =>
      this.plane.api.create("/api/v1/namespaces/default/pods", {
        metadata: { name: `${prefix}-${index}` },
        spec: { containers, restartPolicy: "Never", terminationGracePeriodSeconds: 1 },
      });
    for (let first = 0; first < count; first += 20)
      await Promise.all(Array.from({ length: Math.min(20, count - first) }, async (_, index) => create(first + index)));
  }

  async pods(): Promise<readonly LivePod[]> {
    return (await this.plane.api.get<{ readonly items: readonly LivePod[] }>("/api/v1/namespaces/default/pods")).items;
  }

  async deletePods(): Promise<void> {
    await this.plane.kubectl(["delete", "pods", "--all", "--wait=false"]);
    await vi.waitUntil(async () => (await this.pods()).length === 0, soon);
  }

  /** The largest request of whole cores of which this many pods fit on all nodes. */
  coresForAll(pods: number): number {
    const cores = Array.from(this.fleet.datacenter.machines(), ({ spec }) => spec.cores);
    const room = (cpu: number) => cores.reduce((sum, have) => sum + Math.floor(have / cpu), 0);
    let cpu = 1;
    while (room(cpu + 1) >= pods) cpu++;
    return cpu;
  }

  client(): KubeClient {
    const { server, token, ca } = this.plane.admin;
    return new KubeClient({
      transport: reach(server, token, ca),
      clock: systemClock,
      random: systemRandom,
      fieldManager: "a-user",
    });
  }

  /**
   * Pods that were bound to a node that was off, or not yet released after a wake, and machines that lost their power with work on
   * them. While a node is stopping a pod may still arrive; then the machine must keep its power.
   */
  async violations(): Promise<readonly string[]> {
    const state = new Map<string, string | undefined>();
    const tainted = new Map<string, boolean>();
    const bound = new Set<string>();
    const found = [...this.losses];
    for (const { kind, name, object } of await this.witness.history()) {
      if (kind === "twins") state.set(name, (object?.status as NodeTwin["status"] | undefined)?.power?.state);
      if (kind === "nodes")
        tainted.set(name, JSON.stringify(object?.spec?.["taints"] ?? "").includes("joulie.io/asleep"));
      if (kind !== "pods") continue;
      const node = object?.spec?.["nodeName"];
      if (typeof node !== "string" || bound.has(name)) continue;
      bound.add(name);
      const was = state.get(node) ?? "on";
      // The taint goes first, as the last step of a wake.
      const isReleased = was === "waking" && tainted.get(node) === false;
      if (was !== "on" && was !== "stopping" && !isReleased)
        found.push(`${name} was bound to ${node}, which was ${was}`);
    }
    return found;
  }
}

interface LivePod {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly phase: string };
}

const fleetEnded = (): never => {
  throw new Error("the fleet has ended");
};

const worldOf = (program: string) => ({
  clock: systemClock,
  ioClock,
  random: systemRandom,
  log: createLogger({ level: "fatal", program }),
});

const transportOf = (identity: ClusterIdentity | undefined): Transport => {
  if (identity === undefined) throw new Error("no identity yet");
  return reach(identity.server, identity.token, identity.ca);
};

function configured<Config extends ConfigSchema>(
  config: Config,
  values: Readonly<Record<string, string>>,
  from: "env" | "flags",
) {
  const texts = { env: {}, flags: {}, [from]: values };
  const parsed = parseConfig(config, { ...texts, machine: { isTerminal: false, exists: () => false } });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
  return parsed.value.values;
}

export const pause = async (seconds: number): Promise<void> => systemClock.sleep(milliseconds(seconds * 1000));
