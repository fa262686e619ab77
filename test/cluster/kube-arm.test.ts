// The arm `kube` of `joulie simulate` against a real kube-scheduler: the same pods on the same nodes.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type KubeResources, kubeScore } from "../../src/core/scoring/index.ts";
import { eventuallyPasses } from "../../src/platform/clock/testing/index.ts";
import { seededRandom } from "../../src/platform/random/index.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { numbered } from "../controlplane/objects.ts";

const GIB = 2 ** 30;
const POD_COUNT = 120;
const pods = "/api/v1/namespaces/default/pods";

interface TestedNode {
  readonly name: string;
  readonly allocatable: KubeResources;
  readonly gpus: number;
  readonly taken: { milliCpu: number; memory: number };
  takenGpus: number;
}

const group = (prefix: string, count: number, cores: number, gib: number, gpus: number): readonly TestedNode[] =>
  numbered(prefix, count).map((name) => ({
    name,
    allocatable: { milliCpu: cores * 1000, memory: gib * GIB },
    gpus,
    taken: { milliCpu: 0, memory: 0 },
    takenGpus: 0,
  }));

describe("the arm kube against a real kube-scheduler with its default plugins", () => {
  let plane: ControlPlane;
  // Of three shapes, so that LeastAllocated and BalancedAllocation disagree.
  const nodes = [
    ...group("lean", 20, 96, 256, 0),
    ...group("rich", 12, 64, 512, 0),
    ...group("board", 20, 128, 2048, 8),
  ];

  beforeAll(async () => {
    plane = await startControlPlane({ crds: false, scheduler: {} });
    for (const { name, allocatable, gpus } of nodes) {
      await plane.createNodes([name], {
        capacity: {
          cpu: String(allocatable.milliCpu / 1000),
          memory: `${allocatable.memory / GIB}Gi`,
          ...(gpus > 0 && { "nvidia.com/gpu": String(gpus) }),
        },
      });
    }
  });
  afterAll(async () => plane.stop());

  it(`${POD_COUNT} of ${POD_COUNT} pods land on a node that the arm ranks first`, { timeout: 300_000 }, async () => {
    const random = seededRandom(1);
    const oneOf = <T>(values: readonly T[]): T => values[Math.floor(random.next() * values.length)] as T;
    const disagreements: string[] = [];
    for (const name of numbered("pod", POD_COUNT)) {
      const gpus = oneOf([0, 0, 0, 1, 2]);
      const milliCpu = oneOf([250, 1000, 3700, 16_000, 32_000]);
      const gib = oneOf([1, 5, 30, 64]);
      const pod = { milliCpu, memory: gib * GIB };
      await plane.createPods([name], {
        requests: { cpu: `${milliCpu}m`, memory: `${gib}Gi`, ...(gpus > 0 && { "nvidia.com/gpu": String(gpus) }) },
      });
      const chosen = await eventuallyPasses(async () => {
        const { spec } = await plane.api.get<{ spec: { nodeName?: string } }>(`${pods}/${name}`);
        if (spec.nodeName === undefined) throw new Error(`${name} is not bound`);
        return spec.nodeName;
      });
      const scores = nodes
        .filter(
          ({ allocatable, taken, gpus: boards, takenGpus }) =>
            taken.milliCpu + milliCpu <= allocatable.milliCpu &&
            taken.memory + pod.memory <= allocatable.memory &&
            takenGpus + gpus <= boards,
        )
        .map((node) => ({ node, score: kubeScore(node.allocatable, node.taken, pod) }));
      const best = Math.max(...scores.map(({ score }) => score));
      const ours = scores.filter(({ score }) => score === best).map(({ node }) => node.name);
      if (!ours.includes(chosen)) disagreements.push(`${name} is on ${chosen}, not on ${ours.join(", ")}`);
      const node = nodes.find((one) => one.name === chosen);
      if (node === undefined) throw new Error(`${name} is on ${chosen}, which is no node of this test`);
      node.taken.milliCpu += milliCpu;
      node.taken.memory += pod.memory;
      node.takenGpus += gpus;
    }
    expect(disagreements).toEqual([]);
  });
});
