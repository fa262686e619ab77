import { loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { apiVersion, labels } from "../src/core/api/index.ts";
import { operatorPermissions } from "../src/programs/operator/permissions.ts";
import { type ControlPlane, startControlPlane } from "../test/controlplane/harness.ts";
import { numbered } from "../test/controlplane/objects.ts";
import { memoryOf, OperatorProcess, processorSeconds, type Told } from "./operator-process.ts";
import type { Figure, Scenario } from "./scenario.ts";

const NODES = 5000;
const PODS = 20_000;
/** One node in a hundred. */
const CHANGED = NODES / 100;
const INTERVAL_MS = 5000;
const PASSES = 6;
const PATIENCE_MS = 600_000;
const twins = `/apis/${apiVersion}/nodetwins`;
const density = "joulie.io/hw.cpu-cores";

let plane: ControlPlane | undefined;
let operator: OperatorProcess | undefined;

/** What a stretch of time took. */
interface Spent {
  readonly seconds: number;
  readonly passes: number;
  readonly writes: number;
  readonly heartbeats: number;
  readonly reads: number;
  readonly ours: number;
  readonly apiserver: number;
}

export const scenario: Scenario = {
  about: `The operator, in a process of its own from source, on a real control plane with ${NODES} nodes and ${PODS} pods; once, because it takes minutes`,
  repeats: 1,
  measure: async () => {
    plane = await startControlPlane({ audit: true });
    const [loadBefore = Number.NaN] = loadavg();
    const nodes = numbered("node", NODES);
    await plane.createNodes(nodes, (_, index) => ({
      labels: { [labels.managed]: "true", [labels.rack]: `rack-${index % 100}` },
      capacity: { cpu: "64", memory: "256Gi" },
    }));
    await plane.createPods(numbered("pod", PODS), (_, index) => ({
      ...(index % 10 === 0 && { annotations: { "joulie.io/workload-class": "performance" } }),
      requests: { cpu: "4", memory: "8Gi" },
      spec: { nodeName: nodes[(index * 7) % NODES] },
    }));
    const figures: Record<string, Figure> = {};
    const identity = await plane.identity(operatorPermissions("joulie-system"), { name: "joulie-operator" });
    const own = await runCold(figures, plane, identity.kubeconfig);
    operator = own;

    const control = plane;
    const steady = async (name: string, change: (round: number) => Promise<void>) => {
      const spent = await spend(own, control, identity.user, change);
      per(figures, name, spent);
      return spent;
    };
    await steady("nothing changed", async () => undefined);
    figures["memory, steady"] = { unit: "MiB", value: memoryOf(own.pid, "VmRSS") };
    await steady("1 % with another power", async (round) =>
      control.createPods(numbered(`more-${round}`, CHANGED), (_, index) => ({
        requests: { cpu: "20" },
        spec: { nodeName: nodes[(round * CHANGED + index) % NODES] },
      })),
    );
    // As many go up as come down for them.
    await steady("1 % with another profile", async (round) => {
      const rising = nodes.slice(NODES - (round + 1) * (CHANGED / 2), NODES - round * (CHANGED / 2));
      await Promise.all(
        rising.map(async (node) =>
          control.api.mergePatch(`/api/v1/nodes/${node}`, { metadata: { labels: { [density]: "192" } } }),
        ),
      );
    });
    figures["memory, highest"] = { unit: "MiB", value: memoryOf(own.pid, "VmHWM") };
    figures["load average before"] = { unit: "", value: loadBefore };
    figures["load average after"] = { unit: "", value: loadavg()[0] ?? Number.NaN };
    return figures;
  },
  goals: [
    { says: "cold start, s", of: of("cold start to all twins published"), atMost: 60 },
    { says: "API reads per steady pass", of: of("nothing changed: API reads per pass"), atMost: 0 },
    { says: "writes per steady pass", of: of("nothing changed: writes per pass"), atMost: 0 },
    {
      says: "writes per node with another power",
      of: (figures) => of("1 % with another power: writes per pass")(figures) / CHANGED,
      atMost: 1.5,
    },
    {
      says: "writes per node with another profile",
      of: (figures) => of("1 % with another profile: writes per interval")(figures) / CHANGED,
      atMost: 6,
    },
    { says: "processor seconds per steady pass", of: of("nothing changed: processor per pass"), atMost: 0.3 },
    { says: "memory, MiB", of: of("memory, steady"), atMost: 286 },
  ],
  close: async () => {
    await operator?.stop();
    await plane?.stop();
  },
};

function of(figure: string) {
  return (figures: Readonly<Record<string, number>>): number => figures[figure] ?? Number.NaN;
}

/** From nothing to every node shown, and on to the last eco cap. */
async function runCold(figures: Record<string, Figure>, control: ControlPlane, kubeconfig: string) {
  const begun = performance.now();
  const apiserver = control.apiserver.pid ?? Number.NaN;
  const before = processorSeconds(apiserver);
  const own = await OperatorProcess.start({
    KUBECONFIG: kubeconfig,
    RECONCILE_INTERVAL: `${INTERVAL_MS / 1000}s`,
    // None falls due while this runs: heartbeats are counted apart, and here they are none.
    TWIN_HEARTBEAT: "1h",
  });
  try {
    const since = () => (performance.now() - begun) / 1000;
    await until(own, ({ writes }) => (writes["status"] ?? 0) >= NODES && (writes["labels"] ?? 0) >= NODES);
    figures["cold start to all twins published"] = { unit: "s", value: since() };
    figures["cold start: processor"] = { unit: "s", value: processorSeconds(own.pid) };
    figures["cold start: processor of the API server"] = { unit: "s", value: processorSeconds(apiserver) - before };
    let last = "";
    let quietSince = 0;
    await until(own, ({ writes, passes }) => {
      const now = JSON.stringify(writes);
      if (now !== last) [last, quietSince] = [now, passes];
      return passes - quietSince >= 2;
    });
    const { items } = await control.api.get<{ items: { status?: { schedulableClass?: string } }[] }>(twins);
    const shown = items.filter(({ status }) => status?.schedulableClass !== undefined).length;
    if (shown !== NODES) throw new Error(`${shown} of ${NODES} twins are published`);
    figures["cold start: writes"] = { unit: "", value: sum((await told(own)).writes) };
    return own;
  } catch (error) {
    await own.stop();
    throw error;
  }
}

/** Some intervals, with a change in each. */
async function spend(
  own: OperatorProcess,
  control: ControlPlane,
  user: string,
  change: (round: number) => Promise<void>,
): Promise<Spent> {
  const server = control.apiserver.pid ?? Number.NaN;
  const readsSoFar = () =>
    control
      .audited()
      .filter((one) => one.user === user && one.group !== "metrics.k8s.io" && /^(get|list)$/.test(one.verb)).length;
  const reads = readsSoFar();
  const before = await told(own);
  const begun = performance.now();
  const [ours, theirs] = [processorSeconds(own.pid), processorSeconds(server)];
  for (let round = 0; round < PASSES; round++) {
    await change(round);
    const next = begun + (round + 1) * INTERVAL_MS;
    await sleep(Math.max(0, next - performance.now()));
  }
  const spent = {
    seconds: (performance.now() - begun) / 1000,
    ours: processorSeconds(own.pid) - ours,
    apiserver: processorSeconds(server) - theirs,
  };
  const after = await told(own);
  const heartbeats = (after.writes["heartbeat"] ?? 0) - (before.writes["heartbeat"] ?? 0);
  return {
    ...spent,
    passes: after.passes - before.passes,
    heartbeats,
    writes: sum(after.writes) - sum(before.writes) - heartbeats,
    reads: readsSoFar() - reads,
  };
}

function per(figures: Record<string, Figure>, name: string, spent: Spent): void {
  const { passes, seconds } = spent;
  const intervals = (seconds * 1000) / INTERVAL_MS;
  figures[`${name}: passes`] = { unit: "", value: passes };
  figures[`${name}: writes per pass`] = { unit: "", value: spent.writes / passes };
  figures[`${name}: writes per interval`] = { unit: "", value: spent.writes / intervals };
  figures[`${name}: heartbeats per pass`] = { unit: "", value: spent.heartbeats / passes };
  figures[`${name}: API reads per pass`] = { unit: "", value: spent.reads / passes };
  figures[`${name}: processor per pass`] = { unit: "s", value: spent.ours / passes };
  figures[`${name}: processor of the API server per pass`] = { unit: "s", value: spent.apiserver / passes };
}

async function until(own: OperatorProcess, reached: (told: Told) => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const now = await own.told();
    if (now !== undefined && reached(now)) return;
    if (performance.now() > deadline) throw new Error(`not reached in ${PATIENCE_MS / 1000} s: ${JSON.stringify(now)}`);
    await sleep(500);
  }
}

async function told(own: OperatorProcess): Promise<Told> {
  const now = await own.told();
  if (now === undefined) throw new Error("the operator does not serve");
  return now;
}

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((total, count) => total + count, 0);
