// Simulated machines with agents on a real control plane, and the programs that let them sleep.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { annotations, apiVersion, type NodeTwin, type PowerEndpoint } from "../../src/core/api/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { journalFiles } from "../../src/platform/journal/index.ts";
import { KubeClient, type Transport } from "../../src/platform/kube/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { agentConfig } from "../../src/programs/agent/config.ts";
import { agentPermissions } from "../../src/programs/agent/permissions.ts";
import { runAgent } from "../../src/programs/agent/start.ts";
import { fleetConfig } from "../../src/programs/fleet/config.ts";
import type { PowerAction } from "../../src/programs/fleet/machines/datacenter.ts";
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
import { LateReports } from "./late-reports.ts";
import { judgeBindings } from "./sleep-history.ts";
import {
  agentVariables,
  configured,
  fleetFlags,
  operatorVariables,
  powerTimes,
  powerVariables,
} from "./sleep-settings.ts";
import { Witness } from "./witness.ts";

export const NODES = 50;
/** By default half of a zone may sleep. */
export const HALF = NODES / 2;
const NAMESPACE = "joulie-system";
const twins = `/apis/${apiVersion}/nodetwins`;
const endpoints = `/apis/${apiVersion}/powerendpoints`;
type ProgramName = "fleet" | "agent" | "operator" | "power";

export interface Program {
  stop(): Promise<void>;
}

export class SleepScene {
  readonly plane: ControlPlane;
  readonly witness: Witness;
  /** Machines that lost their power while work ran on them. */
  readonly losses: string[] = [];
  /** How often a machine was asked to shut down, or lost its power. */
  cuts = 0;
  /** Called when a machine was switched. */
  onPress: (node: string, action: PowerAction) => void = () => undefined;
  /** Machines whose operating system does not react to a shutdown. */
  readonly deaf = new Set<string>();
  #identities: Readonly<Record<ProgramName, ClusterIdentity>> | undefined;
  #fleet: { readonly running: RunningFleet; stop(): Promise<void> } | undefined;
  readonly #programs = new Set<Program>();
  #power: Program | undefined;
  #agent: Program | undefined;
  #reports: LateReports | undefined;
  readonly #folder = mkdtempSync(join(tmpdir(), "joulie-sleep-"));

  private constructor(plane: ControlPlane) {
    this.plane = plane;
    this.witness = new Witness(plane.admin);
  }

  /** Starts the fleet, its agent and the power program, which proves the wake of every node. */
  static async open(
    plane: ControlPlane,
    { nodes = NODES, flags = {} }: { readonly nodes?: number; readonly flags?: Readonly<Record<string, string>> } = {},
  ): Promise<SleepScene> {
    const scene = new SleepScene(plane);
    await plane.kubectl(["create", "namespace", NAMESPACE]);
    await scene.witness.start();
    scene.#identities = {
      fleet: await plane.identity(fleetPermissions("default", { sleep: true }), { name: "joulie-fleet" }),
      operator: await plane.identity(operatorPermissions(NAMESPACE, { sleep: true }), { name: "joulie-operator" }),
      power: await plane.identity(powerPermissions(NAMESPACE), { name: "joulie-power" }),
      agent: await plane.identity(agentPermissions("pool", NAMESPACE), { name: "joulie-agent-pool" }),
    };
    await scene.#startFleet({ ...flags, NODES: String(nodes) });
    scene.#power = scene.startPower();
    await eventually(async () => (await scene.proven()) === nodes);
    scene.#startAgent();
    return scene;
  }

  async close(): Promise<void> {
    for (const program of this.#programs) await program.stop();
    await this.witness.stop();
    await this.#fleet?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
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

  /** Nodes whose agent does not report until they are removed from this set. */
  get lateAgents(): Set<string> {
    if (this.#reports === undefined) throw new Error("the agent does not run");
    return this.#reports.late;
  }

  identity(program: ProgramName): ClusterIdentity {
    if (this.#identities === undefined) throw new Error("no identity yet");
    return this.#identities[program];
  }

  async #startFleet(flags: Readonly<Record<string, string>>): Promise<void> {
    const config = configured(fleetConfig, { ...fleetFlags, ...flags }, "flags");
    const transport = transportOf(this.identity("fleet"));
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
      if (action !== "shutdown" || !this.deaf.has(machine.spec.name)) press(machine, action);
      this.onPress(machine.spec.name, action);
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

  /** Replaces the agent, as a rollout does. */
  async restartAgent(variables: Readonly<Record<string, string>>): Promise<void> {
    await this.#agent?.stop();
    this.#startAgent(variables);
  }

  #startAgent(variables: Readonly<Record<string, string>> = {}): void {
    const config = configured(agentConfig, { ...agentVariables(this.fleet.url, this.#folder), ...variables }, "env");
    const openHost = async () => Promise.reject(new Error("a pool agent has no host"));
    const files = journalFiles(config.STATE_DIR);
    this.#reports = new LateReports(transportOf(this.identity("agent")));
    this.#agent = this.#start("agent", this.#reports, async (world, signal) =>
      runAgent(config, { ...world, openHost, journalFiles: files }, signal),
    );
  }

  startOperator(variables: Readonly<Record<string, string>> = {}): Program {
    const config = configured(operatorConfig, { ...operatorVariables, ...variables }, "env");
    const transport = transportOf(this.identity("operator"));
    return this.#start("operator", transport, async (world, signal) => runOperator(config, world, signal));
  }

  startPower(variables: Readonly<Record<string, string>> = {}, times: Partial<typeof powerTimes> = {}): Program {
    const config = configured(powerConfig, { ...powerVariables, ...variables }, "env");
    const transport = transportOf(this.identity("power"));
    return this.#start("power", transport, async (world, signal) =>
      runPower(config, { ...world, times: { ...powerTimes, ...times } }, signal),
    );
  }

  #start(
    name: ProgramName,
    transport: Transport,
    run: (world: ReturnType<typeof worldOf> & { readonly transport: Transport }, signal: AbortSignal) => Promise<void>,
  ): Program {
    const ending = new AbortController();
    const done = run({ ...worldOf(name), transport }, ending.signal);
    done.catch(() => undefined);
    const program: Program = {
      stop: async () => {
        this.#programs.delete(program);
        ending.abort();
        await done.catch(() => undefined);
        await transport.close();
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
    await eventually(async () => {
      if (this.off().length !== off) return false;
      return (await this.endpoints()).every(({ status }) => status?.operation === undefined);
    });
  }

  async createPods(prefix: string, count: number, cpu: number, more: object = {}): Promise<void> {
    const containers = [{ name: "main", image: "none", resources: { requests: { cpu: String(cpu) } } }];
    const create = async (index: number) =>
      this.plane.api.create("/api/v1/namespaces/default/pods", {
        metadata: { name: `${prefix}-${index}`, labels: { "joulie.io/simulated": "true" } },
        spec: { containers, restartPolicy: "Never", terminationGracePeriodSeconds: 1, ...more },
      });
    for (let first = 0; first < count; first += 20)
      await Promise.all(Array.from({ length: Math.min(20, count - first) }, async (_, index) => create(first + index)));
  }

  async pods(): Promise<readonly LivePod[]> {
    return (await this.plane.api.get<{ readonly items: readonly LivePod[] }>("/api/v1/namespaces/default/pods")).items;
  }

  async deletePods(): Promise<void> {
    await this.plane.kubectl(["delete", "pods", "--all", "--wait=false"]);
    await eventually(async () => (await this.pods()).length === 0);
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

  /** Pods that met a node that was off or was being switched off, and machines that lost their power with work on them. */
  async violations(): Promise<readonly string[]> {
    return [...this.losses, ...judgeBindings(await this.witness.history()).violations];
  }

  /** Pods that tolerate the taint and were bound to such a node. */
  async tolerated(): Promise<readonly string[]> {
    return judgeBindings(await this.witness.history()).tolerated;
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
  ioClock: systemClock,
  random: systemRandom,
  log: createLogger({ level: "fatal", program }),
});

const transportOf = ({ server, token, ca }: ClusterIdentity): Transport => reach(server, token, ca);
