// SCORING=energy under a real kube-scheduler, configured as in the guide, with exactly the permissions it declares.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { apiVersion, declaredHardwareLabels, labels as labelKeys, type NodeTwin } from "../../src/core/api/index.ts";
import { hardwareView } from "../../src/core/inventory/index.ts";
import {
  defaultEnergySettings,
  defaultScoringSettings,
  EnergyKernel,
  type PlacedPod,
} from "../../src/core/scoring/index.ts";
import { instant } from "../../src/core/units/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventuallyPasses } from "../../src/platform/clock/testing/index.ts";
import { parseConfig } from "../../src/platform/config/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { seededRandom, systemRandom } from "../../src/platform/random/index.ts";
import { freePorts } from "../../src/platform/serve/listen.ts";
import { extenderConfig } from "../../src/programs/extender/config.ts";
import { energyExtenderPermissions, extenderPermissions } from "../../src/programs/extender/permissions.ts";
import { runExtender } from "../../src/programs/extender/start.ts";
import { operatorConfig } from "../../src/programs/operator/config.ts";
import { operatorPermissions } from "../../src/programs/operator/permissions.ts";
import { runOperator } from "../../src/programs/operator/start.ts";
import { reach } from "../contract/reach.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { numbered } from "../controlplane/objects.ts";
import { compareRights } from "../controlplane/rights.ts";

interface Registration {
  readonly profiles: readonly object[];
  readonly extenders: readonly [{ readonly urlPrefix: string }];
}
const guide = join(import.meta.dirname, "../../docs/guides/kube-scheduler-energy.yaml");
const registration = parse(readFileSync(guide, "utf8")) as Registration;
const twins = `/apis/${apiVersion}/nodetwins`;
const pods = "/api/v1/namespaces/default/pods";
const GPU = "nvidia.com/gpu";
const POD_COUNT = 100;

/** Models, boards and threads of the groups of a mixed fleet of 200 nodes. */
const groups = [
  { prefix: "genoa", count: 70, cpu: "AMD EPYC 9654", cpus: 384, boards: 0 },
  { prefix: "sapphire", count: 50, cpu: "Intel(R) Xeon(R) Platinum 8480+", cpus: 224, boards: 0 },
  { prefix: "milan", count: 40, cpu: "AMD EPYC 7763", cpus: 256, boards: 0 },
  {
    prefix: "hopper",
    count: 24,
    cpu: "Intel(R) Xeon(R) Platinum 8480+",
    cpus: 224,
    boards: 8,
    gpu: "NVIDIA H100 80GB HBM3",
  },
  { prefix: "ada", count: 16, cpu: "AMD EPYC 9454", cpus: 192, boards: 4, gpu: "NVIDIA L40S" },
] as const;

interface TestedNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly capacity: Readonly<Record<string, string>>;
  readonly cpus: number;
  readonly boards: number;
  readonly isEco: boolean;
}

const nodes: readonly TestedNode[] = groups.flatMap((group) =>
  numbered(group.prefix, group.count).map((name, index) => ({
    name,
    labels: {
      [labelKeys.managed]: "true",
      [declaredHardwareLabels.cpuModel]: group.cpu.replaceAll(/[^\w.-]+/g, "-").replaceAll(/^-+|-+$/g, ""),
      [declaredHardwareLabels.cpuSockets]: "2",
      ...("gpu" in group && {
        [declaredHardwareLabels.gpuModel]: group.gpu.replaceAll(" ", "-"),
        [declaredHardwareLabels.gpuCount]: String(group.boards),
      }),
    },
    capacity: { cpu: String(group.cpus), memory: "2048Gi", ...(group.boards > 0 && { [GPU]: String(group.boards) }) },
    cpus: group.cpus,
    boards: group.boards,
    isEco: index % 2 === 1,
  })),
);

/** What the test knows of the cluster: the nodes, and the pods that kube-scheduler has placed. */
class Ranking {
  readonly #kernel = new EnergyKernel(defaultScoringSettings, defaultEnergySettings);
  readonly #free = new Map(nodes.map(({ name, cpus, boards }) => [name, { cpus, boards }]));

  constructor() {
    for (const { name, labels, capacity, isEco } of nodes) {
      const node = { metadata: { name, labels }, status: { capacity, allocatable: capacity } };
      this.#kernel.upsertHardware(name, hardwareView(node, undefined));
      this.#kernel.upsertTwin(name, { schedulableClass: isEco ? "eco" : "performance" });
    }
    this.#kernel.beginBatch(instant(systemClock.now()));
  }

  /** The nodes that share the first rank. */
  first(pod: PlacedPod, isPerformance: boolean): string[] {
    const asked = { cpus: pod.demand.cpuCores, boards: pod.demand.gpus.get(GPU) ?? 0 };
    const workloadClass = isPerformance ? "performance" : "standard";
    const fitting = nodes.filter(({ name }) => {
      const free = this.#free.get(name);
      if (free === undefined || free.cpus < asked.cpus || free.boards < asked.boards) return false;
      return this.#kernel.filter(this.#kernel.slotOf(name), workloadClass) === 0;
    });
    const scores = new Int16Array(fitting.length);
    const slots = Int32Array.from(fitting, ({ name }) => this.#kernel.slotOf(name));
    const { unknown } = this.#kernel.scoreEnergy(slots, pod, workloadClass, scores);
    if (unknown > 0) throw new Error(`the hardware of ${unknown} nodes is unknown`);
    return fitting.filter((_, at) => scores[at] === defaultScoringSettings.scoreMax).map(({ name }) => name);
  }

  placed(key: string, node: string, pod: PlacedPod): void {
    this.#kernel.addPod(key, node, { ...pod, startedAt: undefined, background: false });
    const free = this.#free.get(node);
    if (free === undefined) throw new Error(`${key} is on ${node}, which is no node of this test`);
    free.cpus -= pod.demand.cpuCores;
    free.boards -= pod.demand.gpus.get(GPU) ?? 0;
  }
}

describe("SCORING=energy under a real kube-scheduler with 200 nodes", () => {
  let plane: ControlPlane;
  let url: string;
  const running: (() => Promise<void>)[] = [];
  let user: string;

  beforeAll(async () => {
    const [port = 0] = await freePorts(1);
    url = `http://127.0.0.1:${port}`;
    const registered = { ...registration.extenders[0], urlPrefix: url };
    plane = await startControlPlane({
      audit: true,
      scheduler: { profiles: registration.profiles, extenders: [registered], percentageOfNodesToScore: 100 },
    });
    const byName = new Map(nodes.map((node) => [node.name, node]));
    await plane.createNodes([...byName.keys()], (name) => {
      const { labels = {}, capacity = {} } = byName.get(name) ?? {};
      return { labels, capacity };
    });
    await Promise.all(nodes.map(publish));
    await startExtender(port);
  });
  afterAll(async () => {
    await Promise.all(running.map(async (stop) => stop()));
    await plane.stop();
  });

  /** A twin as the operator writes it. */
  async function publish({ name, isEco }: TestedNode): Promise<void> {
    const profile = isEco ? "eco" : "performance";
    await plane.api.create(twins, {
      apiVersion,
      kind: "NodeTwin",
      metadata: { name },
      spec: { nodeName: name, profile },
    });
    const status = { schedulableClass: profile, lastUpdated: new Date().toISOString() };
    await plane.api.mergePatch(`${twins}/${name}/status`, { status });
  }

  async function startExtender(port: number): Promise<void> {
    const identity = await plane.identity(energyExtenderPermissions, { name: "joulie-extender" });
    ({ user } = identity);
    const env = { METRICS_ADDR: "127.0.0.1:0", EXTENDER_ADDR: `127.0.0.1:${port}`, SCORING: "energy" };
    const parsed = parseConfig(extenderConfig, { env, flags: {}, machine: { isTerminal: false, exists: () => false } });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
    const transport = reach(identity.server, identity.token, identity.ca);
    const log = createLogger({ level: "fatal", program: "extender" });
    const world = { transport, clock: systemClock, ioClock: systemClock, random: systemRandom, log };
    const ending = new AbortController();
    const done = runExtender(parsed.value.values, world, ending.signal);
    await eventuallyPasses(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200));
    running.push(async () => {
      ending.abort();
      await done;
      await transport.close();
    });
  }

  /** As docs/guides/energy.md sets it, with short times. */
  async function startOperator(): Promise<void> {
    const env = {
      METRICS_ADDR: "127.0.0.1:0",
      RECONCILE_INTERVAL: "1s",
      POLICY_TYPE: "fit_aware_v1",
      ECO_MAX_SLOWDOWN_PCT: "50",
      FIT_RESERVE: "1",
      PROFILE_MIN_DWELL: "1s",
    };
    const parsed = parseConfig(operatorConfig, { env, flags: {}, machine: { isTerminal: false, exists: () => false } });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
    const identity = await plane.identity(operatorPermissions("joulie-system"), { name: "joulie-operator" });
    const transport = reach(identity.server, identity.token, identity.ca);
    const log = createLogger({ level: "fatal", program: "operator" });
    const ending = new AbortController();
    const world = { transport, clock: systemClock, ioClock: systemClock, random: systemRandom, log };
    const done = runOperator(parsed.value.values, world, ending.signal);
    running.push(async () => {
      ending.abort();
      await done;
      await transport.close();
    });
  }

  const random = seededRandom(17);
  const oneOf = <Item>(items: readonly Item[]): Item => items[Math.floor(random.next() * items.length)] as Item;

  function randomPod() {
    const boards = oneOf([0, 0, 0, 1, 2, 4]);
    const cpus = oneOf([2, 4, 8, 16, 32, 64]);
    const isPerformance = random.next() < 0.3;
    const requests = { cpu: String(cpus), ...(boards > 0 && { [GPU]: String(boards) }) };
    const annotations = { "joulie.io/workload-class": isPerformance ? "performance" : "standard" };
    const gpus = new Map(boards > 0 ? [[GPU, boards]] : []);
    return {
      isPerformance,
      options: { requests, annotations },
      pod: { demand: { cpuCores: cpus, gpus }, duration: undefined },
    };
  }

  const nodeOf = async (name: string): Promise<string> =>
    eventuallyPasses(async () => {
      const { spec } = await plane.api.get<{ spec: { nodeName?: string } }>(`${pods}/${name}`);
      if (spec.nodeName === undefined) throw new Error(`${name} is not bound`);
      return spec.nodeName;
    });

  const eco = new Set(nodes.filter(({ isEco }) => isEco).map(({ name }) => name));
  const ranking = new Ranking();
  const underEcoCaps: string[] = [];

  it(`at least 95 of ${POD_COUNT} pods land on a node that the core ranks first`, { timeout: 300_000 }, async () => {
    const elsewhere: string[] = [];
    for (const name of numbered("pod", POD_COUNT)) {
      const { isPerformance, options, pod } = randomPod();
      await plane.createPods([name], options);
      const chosen = await nodeOf(name);
      const first = ranking.first(pod, isPerformance);
      if (!first.includes(chosen)) elsewhere.push(`${name} is on ${chosen}, not on ${first.slice(0, 3).join(", ")}`);
      if (isPerformance && eco.has(chosen)) underEcoCaps.push(name);
      ranking.placed(name, chosen, pod);
    }
    // With the texts, so that a failure says which pods.
    expect(elsewhere.slice(POD_COUNT - 95)).toEqual([]);
  });

  it("pods of a burst land on the node ranked first for them, each counting those before it", {
    timeout: 120_000,
  }, async () => {
    const burst = numbered("burst", 40).map((name) => ({ name, ...randomPod() }));
    await Promise.all(burst.map(async ({ name, options }) => plane.createPods([name], options)));
    let elsewhere = 0;
    for (const { name, isPerformance } of burst) {
      const chosen = await nodeOf(name);
      if (isPerformance && eco.has(chosen)) underEcoCaps.push(name);
      const { decisions } = (await (await fetch(`${url}/debug/decisions?pod=${name}`)).json()) as {
        decisions: readonly { verb: string; scoring?: string; nodes: readonly { node: string; score: number }[] }[];
      };
      const ranked = decisions.find(({ verb }) => verb === "prioritize");
      expect(ranked?.scoring).toBe("energy");
      if (ranked?.nodes.find(({ node }) => node === chosen)?.score !== 100) elsewhere++;
    }
    expect(elsewhere).toBeLessThanOrEqual(2);
  });

  it("no performance pod runs under eco caps", () => {
    expect(underEcoCaps).toEqual([]);
  });

  interface ListedPod {
    readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
    readonly spec: { readonly nodeName?: string };
    readonly status: { readonly phase?: string };
  }
  const isActive = ({ status }: ListedPod) => status.phase !== "Succeeded";
  const isCapped = ({ spec }: NodeTwin) =>
    (spec.cpu?.packagePowerCapPctOfMax ?? 100) < 100 || (spec.gpu?.powerCap?.capPctOfMax ?? 100) < 100;

  it("POL-28 POL-33 nor while fit_aware_v1 promotes and demotes nodes", { timeout: 300_000 }, async () => {
    await startOperator();
    const performanceNodes: Set<string>[] = [];
    const capped = new Set<string>();
    /** Pods first: a pod that is bound now must not be under eco caps later either. */
    const look = async (): Promise<readonly ListedPod[]> => {
      const { items } = await plane.api.get<{ readonly items: readonly ListedPod[] }>(pods);
      const published = await plane.api.get<{ readonly items: readonly NodeTwin[] }>(twins);
      const eco = new Set(published.items.filter(isCapped).map(({ metadata }) => metadata.name));
      for (const name of eco) capped.add(name);
      performanceNodes.push(
        new Set(published.items.flatMap(({ metadata, spec }) => (spec.profile === "performance" ? metadata.name : []))),
      );
      for (const each of items.filter(isActive)) {
        const isPerformance = each.metadata.annotations?.["joulie.io/workload-class"] === "performance";
        const where = each.spec.nodeName;
        if (isPerformance && where !== undefined && eco.has(where))
          underEcoCaps.push(`${each.metadata.name} on ${where}`);
      }
      return items;
    };
    const all = async (holds: (listed: readonly ListedPod[]) => boolean) =>
      eventuallyPasses(async () => expect(holds(await look())).toBe(true));

    await all(() => capped.size > 0);
    for (const wave of [1, 2, 3]) {
      const created = numbered(`wave-${wave}`, 30).map((name) => ({ name, ...randomPod() }));
      await Promise.all(created.map(async ({ name, options }) => plane.createPods([name], options)));
      const names = new Set(created.map(({ name }) => name));
      await all((listed) =>
        listed.every(({ metadata, spec }) => !names.has(metadata.name) || spec.nodeName !== undefined),
      );
      const ended = (await look()).filter(isActive).filter((_, index) => index % 2 === 0);
      for (const { metadata } of ended)
        await plane.api.mergePatch(`${pods}/${metadata.name}/status`, { status: { phase: "Succeeded" } });
      await look();
    }
    const [before = new Set<string>()] = performanceNodes;
    await all(() => (performanceNodes.at(-1)?.size ?? before.size) < before.size);
    expect(underEcoCaps).toEqual([]);
    // Nodes moved both ways, otherwise this would prove nothing.
    const promoted = performanceNodes.some((names, at) =>
      [...names].some((name) => at > 0 && performanceNodes[at - 1]?.has(name) === false),
    );
    expect(promoted).toBe(true);
  });

  it("the extender needed every verb that the role has beyond the default one, and no other", () => {
    const own = plane.audited().filter((request) => request.user === user);
    expect(compareRights(energyExtenderPermissions, own).missing).toEqual([]);
    const granted: readonly object[] = extenderPermissions;
    const beyond = energyExtenderPermissions.filter((rule) => !granted.includes(rule));
    expect(compareRights(beyond, own).unused).toEqual([]);
  });
});
