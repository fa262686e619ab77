// Observations for the table of the operator's variables. Each starts a complete operator on an in-memory API.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { labels } from "../../src/core/api/index.ts";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import type { RawValues } from "../../src/platform/config/index.ts";
import { resources } from "../../src/platform/kube/index.ts";
import {
  type Operator,
  OperatorTestHarness,
  performancePod,
} from "../../src/programs/operator/testing/test-harness.ts";

type Variables = Record<string, string>;
interface Scene {
  readonly harness: OperatorTestHarness;
  readonly operator: Operator;
}

const H100 = {
  "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
  "site.example/gpu": "NVIDIA-L40S",
  "joulie.io/hw.gpu-count": "8",
};

/** Placeholder in the table's values; the observations replace it with a folder that has `catalogue.yaml`. */
export const FOLDER = "/folder.test";
const CATALOGUE =
  "gpus: [{ key: nvidia-h100-sxm, vendor: nvidia, aliases: [NVIDIA-H100-80GB-HBM3], maxWatts: 500, perf: 400 }]";

/** Calls `before` to fill the cluster, then starts the operator and lets it plan and write. */
async function onCluster<Seen>(
  variables: RawValues,
  before: (harness: OperatorTestHarness) => Promise<void>,
  look: (scene: Scene) => Promise<Seen>,
): Promise<Seen> {
  const harness = await OperatorTestHarness.begin();
  const folder = await mkdtemp(join(tmpdir(), "joulie-wiring-"));
  try {
    await writeFile(join(folder, "catalogue.yaml"), CATALOGUE);
    await before(harness);
    const own = Object.entries(variables).map(([name, text = ""]) => [name, text.replace(FOLDER, folder)]);
    const operator = harness.start(Object.fromEntries(own) as Variables);
    // Reading files takes real time.
    await eventually(() => operator.logs.some(({ url }) => url !== undefined));
    await harness.advance(3);
    return await look({ harness, operator });
  } finally {
    await harness.end();
    await rm(folder, { recursive: true, force: true });
  }
}

const nodesOf = async (harness: OperatorTestHarness, names: string, own: Variables = {}): Promise<void> => {
  for (const name of names) await harness.createNode(name, own);
};

const performancePods = async (harness: OperatorTestHarness, count: number): Promise<void> => {
  for (let index = 0; index < count; index++) await harness.createPod(`wanting-${index}`, undefined, performancePod);
};

/** The `performance` and `eco` nodes among ten identical ones while 12 performance pods are pending. */
export const classes = async (variables: RawValues): Promise<string> =>
  onCluster(
    variables,
    async (harness) => {
      await nodesOf(harness, "abcdefghij");
      await performancePods(harness, 12);
    },
    async ({ harness }) => {
      const profiles = await Promise.all(
        Array.from("abcdefghij", async (name) => (await harness.twin(name)).spec.profile),
      );
      const performance = profiles.filter((profile) => profile === "performance").length;
      return `${performance} performance, ${profiles.length - performance} eco`;
    },
  );

/** The managed nodes among three: one without extra labels, one of team blue, one with a custom reservation label. */
export const managed = async (variables: RawValues): Promise<string> =>
  onCluster(
    variables,
    async (harness) => {
      await harness.createNode("plain");
      await harness.createNode("blue", { team: "blue" });
      await harness.createNode("mine", { "site.example/mine": "true" });
      await harness.createNode("reserved", { [labels.reserved]: "true" });
    },
    async ({ harness }) => {
      const twins = await harness.user.listAll(resources.nodeTwins);
      return twins.items
        .map(({ metadata }) => metadata.name)
        .toSorted()
        .join(" ");
    },
  );

/** The labels of a draining node: planned as eco while a performance pod still runs on it. */
export const drainingLabels = async (variables: RawValues): Promise<unknown> =>
  onCluster(
    { STATIC_HP_FRAC: "0", ...variables },
    async (harness) => {
      await harness.createNode("a");
      await harness.createPod("busy", "a", performancePod);
    },
    async ({ harness }) => {
      const { [labels.managed]: _, ...own } = await harness.labelsOf("a");
      return own;
    },
  );

/** The CPU cap of a draining node. */
export const drainingCap = async (variables: RawValues): Promise<unknown> =>
  onCluster(
    { STATIC_HP_FRAC: "0", ...variables },
    async (harness) => {
      await harness.createNode("a");
      await harness.createPod("busy", "a", performancePod);
    },
    async ({ harness }) => (await harness.twin("a")).spec.cpu?.packagePowerCapPctOfMax,
  );

/** The caps of a performance and an eco node, both with two CPUs of 360 W and eight H100. */
export const caps = async (variables: RawValues): Promise<unknown> =>
  onCluster(
    variables,
    async (harness) => {
      await nodesOf(harness, "pe", H100);
      for (const name of "pe") await harness.pin(name, { profile: name === "p" ? "performance" : "eco" });
    },
    async ({ harness }) => {
      const reported = async (name: string) => {
        const { cpu, gpu } = (await harness.twin(name)).spec;
        const { packagePowerCapPctOfMax: cpuPct, packagePowerCapWatts: cpuWatts } = cpu ?? {};
        const { capPctOfMax: gpuPct, capWattsPerGpu: gpuWatts } = gpu?.powerCap ?? {};
        const either = (pct: number | undefined, watts: number | undefined) =>
          [pct === undefined ? "" : `${pct} %`, watts === undefined ? "" : `${watts} W`].filter(Boolean).join(" ");
        return [
          ...(cpu === undefined ? [] : [`CPU ${either(cpuPct, cpuWatts)}`]),
          ...(gpu === undefined ? [] : [`GPU ${either(gpuPct, gpuWatts)}`]),
        ].join(", ");
      };
      return { performance: await reported("p"), eco: await reported("e") };
    },
  );

/** The CPU cap of an eco node, and that cap while a pod has been waiting for a node for more than half a minute. */
export const queuedCap = async (variables: RawValues): Promise<string> =>
  onCluster(
    variables,
    async (harness) => {
      await harness.createNode("e", { "joulie.io/hw.cpu-model": "Intel-Xeon-Platinum-8480" });
      await harness.pin("e", { profile: "eco" });
    },
    async ({ harness }) => {
      const cap = async () => (await harness.twin("e")).spec.cpu?.packagePowerCapPctOfMax;
      const before = await cap();
      await harness.createPod("waiting", undefined);
      await harness.advance(125);
      return `${before}, then ${await cap()}`;
    },
  );

/** Number of writes of an unchanged twin in ten minutes. */
export const refreshes = async (variables: RawValues): Promise<number> =>
  onCluster(
    variables,
    async (harness) => nodesOf(harness, "a"),
    async ({ harness, operator }) => {
      operator.written();
      await harness.advance(600);
      return operator.written().filter(({ path }) => path.endsWith("/nodetwins/a/status")).length;
    },
  );

/** The existing NodePowerProfiles. */
export const mirrored = async (variables: RawValues): Promise<readonly string[]> =>
  onCluster(
    variables,
    async (harness) => nodesOf(harness, "ab"),
    async ({ harness }) =>
      (await harness.user.listAll(resources.nodePowerProfiles)).items.map(({ metadata }) => metadata.name),
  );

/** The leader-election Lease and its holder. */
export const lease = async (variables: RawValues): Promise<string> =>
  onCluster(
    variables,
    async (harness) => void (await harness.user.create(resources.namespaces, { metadata: { name: "power" } })),
    async ({ harness }) => {
      const [found] = (await harness.user.listAll(resources.leases)).items as unknown as {
        metadata: { namespace: string; name: string };
        spec: { holderIdentity: string };
      }[];
      return `${found?.metadata.namespace}/${found?.metadata.name} ${found?.spec.holderIdentity.replace(/_.*/, "")}`;
    },
  );

/** The response of /debug/plan to a remote client. */
export const debugPage = async (variables: RawValues): Promise<number> =>
  onCluster(
    variables,
    async () => undefined,
    async ({ operator }) => {
      const url = operator.logs.find(({ url: at }) => at !== undefined)?.["url"];
      return (await fetch(`${String(url)}/debug/plan`, { headers: { "x-forwarded-for": "192.0.2.1" } })).status;
    },
  );

/** Whether the operator starts. */
export const starts = async (variables: RawValues): Promise<boolean> =>
  onCluster(
    variables,
    async () => undefined,
    async () => true,
  ).catch(() => false);

/** The profile of a promoted node two minutes after the demand for it has ended. */
export const promoted = async (variables: RawValues): Promise<string> =>
  onCluster(
    { POLICY_TYPE: "queue_aware_v1", QUEUE_HP_BASE_FRAC: "0.5", QUEUE_PERF_PER_HP_NODE: "1", ...variables },
    async (harness) => nodesOf(harness, "ab"),
    async ({ harness }) => {
      await performancePods(harness, 2);
      await harness.advance(65);
      const before = (await harness.twin("b")).spec.profile;
      for (const name of ["wanting-0", "wanting-1"])
        await harness.user.delete(resources.pods, { name, namespace: "default" });
      await harness.advance(125);
      return `${before}, then ${(await harness.twin("b")).spec.profile}`;
    },
  );

/** The reporting component of the operator's Events. */
export const eventInstance = async (variables: RawValues): Promise<unknown> =>
  onCluster(
    variables,
    async (harness) => nodesOf(harness, "ab"),
    async ({ harness }) => {
      await harness.advance(10);
      const events = (await harness.user.listAll(resources.events)).items as unknown as { reportingInstance: string }[];
      return events[0]?.reportingInstance;
    },
  );

/** Whether the operator serves metrics on the configured address. */
export const served = async (variables: RawValues): Promise<boolean> =>
  onCluster(
    variables,
    async () => undefined,
    async ({ operator }) => operator.logs.some(({ url }) => url === `http://${FREE}`),
  );
/** An unused loopback address, shared by the table's value and the observation. */
export const FREE = "127.0.0.79:28081";

/** Reports each list call. */
const counted = <Value extends object>(value: Value, onList: () => void): Value =>
  new Proxy(value, {
    ownKeys: (target) => {
      onList();
      return Reflect.ownKeys(target);
    },
  });

/** Number of requests to metrics.k8s.io in two minutes. */
export const usageAsked = async (variables: RawValues): Promise<number> => {
  let asked = 0;
  return onCluster(
    variables,
    async (harness) => {
      await nodesOf(harness, "a");
      harness.usage = counted({ a: "1" }, () => asked++);
    },
    async ({ harness }) => {
      asked = 0;
      await harness.advance(120);
      return asked;
    },
  );
};

/** The node that rule_swap_v1 sets to eco out of two, sampled every ten seconds for two minutes. */
export const swaps = async (variables: RawValues): Promise<string> =>
  onCluster(
    variables,
    async (harness) => nodesOf(harness, "ab"),
    async ({ harness }) => {
      let seen = "";
      for (let round = 0; round < 12; round++) {
        await harness.advance(10);
        seen += (await harness.twin("a")).spec.profile === "eco" ? "a" : "b";
      }
      return seen;
    },
  );

const mayAllSleep = async (harness: OperatorTestHarness): Promise<void> => {
  await nodesOf(harness, "abcd", { [labels.maySleep]: "true" });
  const power = harness.clientOf("joulie-power");
  for (const name of "abcd") {
    const spec = { nodeName: name, webhook: { url: "https://power.test" } };
    await harness.user.create(resources.powerEndpoints, { metadata: { name }, spec });
    await power.apply(resources.powerEndpoints, { name }, { status: { wakeProven: true } }, { subresource: "status" });
  }
};

const sleepersOf = async ({ harness }: Scene): Promise<string> => {
  await harness.advance(15 * 60);
  const twins = await Promise.all(Array.from("abcd", async (name) => harness.twin(name)));
  const off = twins.filter(({ spec }) => spec.power?.state === "off").length;
  const recommended = (await harness.events()).filter(({ reason }) => reason === "SleepRecommended").length;
  return `${off} off, ${recommended} recommended`;
};

/** What becomes of four empty nodes that may sleep. */
export const sleeping = async (variables: RawValues): Promise<string> => onCluster(variables, mayAllSleep, sleepersOf);

/** The same after a burst of pods that needed all four nodes. */
export const keptForArrivals = async (variables: RawValues): Promise<string> =>
  onCluster(
    variables,
    async (harness) => {
      await mayAllSleep(harness);
      const containers = [{ name: "main", image: "none", resources: { requests: { cpu: "60" } } }];
      for (const name of ["w", "x", "y", "z"]) {
        await harness.createPod(name, undefined, { spec: { containers } });
        await harness.finishPod(name);
      }
    },
    sleepersOf,
  );
