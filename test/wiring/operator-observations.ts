// What an operator does, as the table of its variables looks at it: each starts a whole operator on an API in memory.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { labels } from "../../src/core/api/index.ts";
import { milliseconds } from "../../src/core/units/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import type { RawValues } from "../../src/platform/config/index.ts";
import { resources } from "../../src/platform/kube/index.ts";
import { type Operator, performancePod, Trial } from "../../src/programs/operator/trial.ts";

type Variables = Record<string, string>;
interface Scene {
  readonly trial: Trial;
  readonly operator: Operator;
}

const H100 = {
  "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
  "site.example/gpu": "NVIDIA-L40S",
  "joulie.io/hw.gpu-count": "8",
};

/** In the table's values; the observations put a folder with `catalogue.yaml` in its place. */
export const FOLDER = "/folder.test";
const CATALOGUE =
  "gpus: [{ key: nvidia-h100-sxm, vendor: nvidia, aliases: [NVIDIA-H100-80GB-HBM3], maxWatts: 500, perf: 400 }]";

/** `before` fills the cluster, then the operator starts, plans and writes. */
async function onCluster<Seen>(
  variables: RawValues,
  before: (trial: Trial) => Promise<void>,
  look: (scene: Scene) => Promise<Seen>,
): Promise<Seen> {
  const trial = await Trial.begin();
  const folder = await mkdtemp(join(tmpdir(), "joulie-wiring-"));
  try {
    await writeFile(join(folder, "catalogue.yaml"), CATALOGUE);
    await before(trial);
    const own = Object.entries(variables).map(([name, text = ""]) => [name, text.replace(FOLDER, folder)]);
    const operator = trial.start(Object.fromEntries(own) as Variables);
    // Files take real time.
    for (let turn = 0; turn < 100 && !operator.logs.some(({ url }) => url !== undefined); turn++)
      await systemClock.sleep(milliseconds(5));
    await trial.pass(3);
    return await look({ trial, operator });
  } finally {
    await trial.end();
    await rm(folder, { recursive: true, force: true });
  }
}

const nodesOf = async (trial: Trial, names: string, own: Variables = {}): Promise<void> => {
  for (const name of names) await trial.createNode(name, own);
};

const performancePods = async (trial: Trial, count: number): Promise<void> => {
  for (let index = 0; index < count; index++) await trial.createPod(`wanting-${index}`, undefined, performancePod);
};

/** The profiles of ten alike nodes while 12 performance pods wait, as `performance` and `eco` nodes. */
export const classes = async (variables: RawValues): Promise<string> =>
  onCluster(
    variables,
    async (trial) => {
      await nodesOf(trial, "abcdefghij");
      await performancePods(trial, 12);
    },
    async ({ trial }) => {
      const profiles = await Promise.all(
        Array.from("abcdefghij", async (name) => (await trial.twin(name)).spec.profile),
      );
      const performance = profiles.filter((profile) => profile === "performance").length;
      return `${performance} performance, ${profiles.length - performance} eco`;
    },
  );

/** Which of these nodes is managed: one plain, one of team blue, one with another label of reservation. */
export const managed = async (variables: RawValues): Promise<string> =>
  onCluster(
    variables,
    async (trial) => {
      await trial.createNode("plain");
      await trial.createNode("blue", { team: "blue" });
      await trial.createNode("mine", { "site.example/mine": "true" });
      await trial.createNode("reserved", { [labels.reserved]: "true" });
    },
    async ({ trial }) => {
      const twins = await trial.hand.listAll(resources.nodeTwins);
      return twins.items
        .map(({ metadata }) => metadata.name)
        .toSorted()
        .join(" ");
    },
  );

/** The labels of a node that drains: it is eco, and a performance pod still runs on it. */
export const drainingLabels = async (variables: RawValues): Promise<unknown> =>
  onCluster(
    { STATIC_HP_FRAC: "0", ...variables },
    async (trial) => {
      await trial.createNode("a");
      await trial.createPod("busy", "a", performancePod);
    },
    async ({ trial }) => {
      const { [labels.managed]: _, ...own } = await trial.labelsOf("a");
      return own;
    },
  );

/** The CPU cap of a node that drains. */
export const drainingCap = async (variables: RawValues): Promise<unknown> =>
  onCluster(
    { STATIC_HP_FRAC: "0", ...variables },
    async (trial) => {
      await trial.createNode("a");
      await trial.createPod("busy", "a", performancePod);
    },
    async ({ trial }) => (await trial.twin("a")).spec.cpu?.packagePowerCapPctOfMax,
  );

/** The caps of a performance and an eco node, both with two CPUs of 360 W and eight H100. */
export const caps = async (variables: RawValues): Promise<unknown> =>
  onCluster(
    variables,
    async (trial) => {
      await nodesOf(trial, "pe", H100);
      for (const name of "pe") await trial.pin(name, { profile: name === "p" ? "performance" : "eco" });
    },
    async ({ trial }) => {
      const told = async (name: string) => {
        const { cpu, gpu } = (await trial.twin(name)).spec;
        const { packagePowerCapPctOfMax: cpuPct, packagePowerCapWatts: cpuWatts } = cpu ?? {};
        const { capPctOfMax: gpuPct, capWattsPerGpu: gpuWatts } = gpu?.powerCap ?? {};
        const either = (pct: number | undefined, watts: number | undefined) =>
          [pct === undefined ? "" : `${pct} %`, watts === undefined ? "" : `${watts} W`].filter(Boolean).join(" ");
        return [
          ...(cpu === undefined ? [] : [`CPU ${either(cpuPct, cpuWatts)}`]),
          ...(gpu === undefined ? [] : [`GPU ${either(gpuPct, gpuWatts)}`]),
        ].join(", ");
      };
      return { performance: await told("p"), eco: await told("e") };
    },
  );

/** How often an unchanged twin is written in ten minutes. */
export const refreshes = async (variables: RawValues): Promise<number> =>
  onCluster(
    variables,
    async (trial) => nodesOf(trial, "a"),
    async ({ trial, operator }) => {
      operator.written();
      await trial.pass(600);
      return operator.written().filter(({ path }) => path.endsWith("/nodetwins/a/status")).length;
    },
  );

/** The NodePowerProfiles that are there. */
export const mirrored = async (variables: RawValues): Promise<readonly string[]> =>
  onCluster(
    variables,
    async (trial) => nodesOf(trial, "ab"),
    async ({ trial }) =>
      (await trial.hand.listAll(resources.nodePowerProfiles)).items.map(({ metadata }) => metadata.name),
  );

/** The Lease it leads by, and in whose name. */
export const lease = async (variables: RawValues): Promise<string> =>
  onCluster(
    variables,
    async (trial) => void (await trial.hand.create(resources.namespaces, { metadata: { name: "power" } })),
    async ({ trial }) => {
      const [found] = (await trial.hand.listAll(resources.leases)).items as unknown as {
        metadata: { namespace: string; name: string };
        spec: { holderIdentity: string };
      }[];
      return `${found?.metadata.namespace}/${found?.metadata.name} ${found?.spec.holderIdentity.replace(/_.*/, "")}`;
    },
  );

/** How /debug/plan answers a request from elsewhere. */
export const debugPage = async (variables: RawValues): Promise<number> =>
  onCluster(
    variables,
    async () => undefined,
    async ({ operator }) => {
      const url = operator.logs.find(({ url: at }) => at !== undefined)?.["url"];
      return (await fetch(`${String(url)}/debug/plan`, { headers: { "x-forwarded-for": "192.0.2.1" } })).status;
    },
  );

/** Whether it starts at all. */
export const starts = async (variables: RawValues): Promise<boolean> =>
  onCluster(
    variables,
    async () => undefined,
    async () => true,
  ).catch(() => false);

/** What becomes of a promoted node two minutes after nothing asks for it any more. */
export const promoted = async (variables: RawValues): Promise<string> =>
  onCluster(
    { POLICY_TYPE: "queue_aware_v1", QUEUE_HP_BASE_FRAC: "0.5", QUEUE_PERF_PER_HP_NODE: "1", ...variables },
    async (trial) => nodesOf(trial, "ab"),
    async ({ trial }) => {
      await performancePods(trial, 2);
      await trial.pass(65);
      const before = (await trial.twin("b")).spec.profile;
      for (const name of ["wanting-0", "wanting-1"])
        await trial.hand.delete(resources.pods, { name, namespace: "default" });
      await trial.pass(125);
      return `${before}, then ${(await trial.twin("b")).spec.profile}`;
    },
  );

/** Who its events say they come from. */
export const eventInstance = async (variables: RawValues): Promise<unknown> =>
  onCluster(
    variables,
    async (trial) => nodesOf(trial, "ab"),
    async ({ trial }) => {
      await trial.pass(10);
      const events = (await trial.hand.listAll(resources.events)).items as unknown as { reportingInstance: string }[];
      return events[0]?.reportingInstance;
    },
  );

/** Whether metrics are served at the address asked for. */
export const served = async (variables: RawValues): Promise<boolean> =>
  onCluster(
    variables,
    async () => undefined,
    async ({ operator }) => operator.logs.some(({ url }) => url === `http://${FREE}`),
  );
/** A loopback address that nothing else uses; the same one for the value in the table and for the look. */
export const FREE = "127.0.0.79:28081";

/** Tells of each time it is listed. */
const counted = <Value extends object>(value: Value, onList: () => void): Value =>
  new Proxy(value, {
    ownKeys: (target) => {
      onList();
      return Reflect.ownKeys(target);
    },
  });

/** How often metrics.k8s.io is asked in two minutes. */
export const usageAsked = async (variables: RawValues): Promise<number> => {
  let asked = 0;
  return onCluster(
    variables,
    async (trial) => {
      await nodesOf(trial, "a");
      trial.usage = counted({ a: "1" }, () => asked++);
    },
    async ({ trial }) => {
      asked = 0;
      await trial.pass(120);
      return asked;
    },
  );
};

/** Which of two nodes rule_swap_v1 has eco, every ten seconds of two minutes. */
export const swaps = async (variables: RawValues): Promise<string> =>
  onCluster(
    variables,
    async (trial) => nodesOf(trial, "ab"),
    async ({ trial }) => {
      let seen = "";
      for (let round = 0; round < 12; round++) {
        await trial.pass(10);
        seen += (await trial.twin("a")).spec.profile === "eco" ? "a" : "b";
      }
      return seen;
    },
  );
