import type { Node, NodeTwin, NodeTwinStatus, Pod } from "../../api/index.ts";
import { type Instant, instant, isoTime, milliseconds, type Watts } from "../../units/index.ts";
import type { ClusterObjectsWithPods, Installation } from "../cluster-objects.ts";

export const REPORT_TIME: Instant = instant(Date.UTC(2030, 0, 1, 12));

export const nodeObject = (name: string, more: Partial<Node> & { labels?: Record<string, string> } = {}): Node => ({
  metadata: { name, uid: `uid-${name}`, labels: { "joulie.io/managed": "true", ...more.labels } },
  status: { allocatable: { cpu: "64", memory: "256Gi", pods: "110" }, ...more.status },
  ...(more.spec && { spec: more.spec }),
});

/** A healthy twin; `status` replaces parts of it. */
export const twinObject = (
  name: string,
  status: NodeTwinStatus = {},
  spec: Partial<NodeTwin["spec"]> = {},
): NodeTwin => ({
  metadata: { name },
  spec: { nodeName: name, profile: "performance", ...spec },
  status: {
    schedulableClass: "performance",
    predictedPowerHeadroomScore: 50 as never,
    predictedCoolingStressScore: 20 as never,
    powerMeasurement: {
      source: "agent",
      measuredNodePowerW: 200 as Watts,
      nodeCappedPowerW: 400 as Watts,
      nodeTdpW: 500 as Watts,
    },
    controlStatus: { cpu: { result: "applied", backend: "rapl", updatedAt: isoTime(REPORT_TIME) } },
    lastUpdated: isoTime(REPORT_TIME),
    ...status,
  },
});

export const podObject = (
  name: string,
  { node, workloadClass, cpu = "1", createdAgo = 0, ...more }: PodOptions = {},
): Pod => ({
  metadata: {
    name,
    namespace: "default",
    uid: `uid-${name}`,
    creationTimestamp: new Date(REPORT_TIME - createdAgo).toISOString(),
    ...(workloadClass !== undefined && { annotations: { "joulie.io/workload-class": workloadClass } }),
  },
  spec: {
    ...(node !== undefined && { nodeName: node }),
    containers: [{ resources: { requests: { cpu, memory: "1Gi" } } }],
    ...more.spec,
  },
  ...(more.phase !== undefined && { status: { phase: more.phase } }),
});

interface PodOptions {
  readonly node?: string;
  readonly workloadClass?: string;
  readonly cpu?: string;
  readonly createdAgo?: number;
  readonly phase?: string;
  readonly spec?: Partial<Pod["spec"]>;
}

export const installation = (more: Partial<Installation> = {}): Installation => ({
  namespace: "joulie-system",
  stopped: false,
  missingKinds: [],
  programs: [
    { program: "operator", kind: "Deployment", name: "joulie-operator", desired: 2, ready: 2, version: "0.1.0" },
    { program: "agent", kind: "DaemonSet", name: "joulie-agent", desired: 3, ready: 3, version: "0.1.0" },
  ],
  operatorLease: { holder: "joulie-operator-1", age: milliseconds(0) },
  unreadable: [],
  ...more,
});

export const clusterOf = (
  nodes: readonly Node[],
  twins: readonly NodeTwin[],
  more: Partial<ClusterObjectsWithPods> = {},
): ClusterObjectsWithPods => ({
  now: REPORT_TIME,
  nodes,
  twins: new Map(twins.map((twin) => [twin.metadata.name, twin])),
  hardware: new Map(),
  profiles: new Map(),
  endpoints: new Map(),
  pods: [],
  ...more,
});
