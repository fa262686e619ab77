import { describe, expect, it } from "vitest";
import type { Pod } from "../api/index.ts";
import { instant } from "../units/index.ts";
import { demandViewOf, queuedPools } from "./demand-view.ts";
import { PodShapes } from "./pod-shapes.ts";
import { type PodSummary, podSummaryOf } from "./pod-summary.ts";

const START = Date.UTC(2030, 0, 1);
const at = (seconds: number): string => new Date(START + seconds * 1000).toISOString();
const shapes = new PodShapes();

interface Options {
  readonly gpu?: boolean;
  /** Seconds after its creation at which the pod was bound; absent while it is pending. */
  readonly boundAfter?: number;
  readonly gated?: boolean;
}

const pod = (created: number, { gpu = false, boundAfter, gated = false }: Options = {}) => {
  const object: Pod = {
    metadata: { name: "p", creationTimestamp: at(created) },
    spec: {
      ...(boundAfter !== undefined && { nodeName: "n" }),
      ...(gated && { schedulingGates: [{ name: "quota" }] }),
      containers: [{ resources: { requests: { cpu: "1" }, limits: gpu ? { "nvidia.com/gpu": "1" } : {} } }],
    },
    status: {
      phase: boundAfter === undefined ? "Pending" : "Running",
      ...(boundAfter !== undefined && {
        conditions: [{ type: "PodScheduled", status: "True", lastTransitionTime: at(created + boundAfter) }],
      }),
    },
  };
  return podSummaryOf(object, undefined, shapes);
};
const queued = (seconds: number, ...pods: ReturnType<typeof pod>[]) =>
  queuedPools(demandViewOf(pods).waits, instant(START + seconds * 1000));

describe("queued pools", () => {
  it("X-112 a pool is queued once one of its pods has waited for 30 s", () => {
    expect(queued(29, pod(0))).toEqual({ cpu: false, gpu: false });
    expect(queued(30, pod(0))).toEqual({ cpu: true, gpu: false });
    expect(queued(30, pod(0, { gpu: true }))).toEqual({ cpu: false, gpu: true });
    expect(queued(40, pod(0, { gpu: true }), pod(5))).toEqual({ cpu: true, gpu: true });
  });

  it("X-112 stays queued for ten minutes after the last waiting pod was bound, so that caps do not flap", () => {
    const bound = pod(0, { boundAfter: 45 });
    expect(queued(46, bound).cpu).toBe(true);
    expect(queued(644, bound).cpu).toBe(true);
    expect(queued(645, bound).cpu).toBe(false);
  });

  it("X-112 pods that were bound at once, and pods with scheduling gates, form no queue", () => {
    expect(queued(100, pod(0, { boundAfter: 2 }))).toEqual({ cpu: false, gpu: false });
    expect(queued(100, pod(0, { gated: true }))).toEqual({ cpu: false, gpu: false });
  });

  it("answers with the same object for the same queues, so that plans can compare it", () => {
    expect(queued(100, pod(0))).toBe(queued(90, pod(1)));
  });
});

type Needs = "performance" | "eco" | "annotation" | "nothing";

let serial = 0;
function podNeeding(needs: Needs, nodeName?: string, phase = "Running", label?: string): PodSummary {
  const selected = needs === "performance" || needs === "eco";
  const asked = {
    metadata: {
      name: `p${serial++}`,
      ...(needs === "annotation" && { annotations: { "joulie.io/workload-class": "performance" } }),
    },
    spec: {
      ...(selected && { nodeSelector: { "joulie.io/power-profile": needs } }),
      ...(nodeName !== undefined && { nodeName }),
    },
    status: { phase },
  };
  return podSummaryOf(asked, label);
}

describe("demand view", () => {
  it("OPR-10 counts active pods as performance-constrained, eco-constrained or unconstrained", () => {
    const view = demandViewOf([
      podNeeding("performance", "n1"),
      podNeeding("performance"),
      podNeeding("performance", "n1", "Succeeded"),
      podNeeding("eco", "n2"),
      podNeeding("eco", "n2", "Failed"),
      podNeeding("nothing", "n2"),
      podNeeding("nothing", "n1"),
      podNeeding("annotation", "n1"),
    ]);
    expect(view.constraints).toEqual({ "performance-only": 2, "eco-only": 1, general: 3 });
  });

  it("POL-18 counts P over the whole cluster, including pending pods", () => {
    const pods = [
      podNeeding("performance", "n1"),
      podNeeding("annotation", "n2"),
      podNeeding("annotation", undefined, "Pending"),
      podNeeding("performance", undefined, "Pending"),
      podNeeding("nothing", undefined, "Pending"),
      podNeeding("annotation", "n1", "Succeeded"),
    ];
    expect(demandViewOf(pods).performancePods).toBe(4);
  });

  it("POL-25 counts performance-sensitive pods per node, including bound pods that do not run yet", () => {
    const { performancePodsByNode } = demandViewOf([
      podNeeding("performance", "n1"),
      podNeeding("annotation", "n1", "Pending"),
      podNeeding("annotation", "n1", "Failed"),
      podNeeding("nothing", "n1"),
      podNeeding("annotation", "n2"),
      podNeeding("eco", "n3"),
      podNeeding("annotation", undefined, "Pending"),
    ]);
    expect([...performancePodsByNode]).toEqual([
      ["n1", 2],
      ["n2", 1],
    ]);
  });

  it("OPR-10 uses the configured profile label", () => {
    const view = demandViewOf([podNeeding("performance", "n1", "Running", "example.com/power")]);
    expect(view.constraints).toEqual({ "performance-only": 0, "eco-only": 0, general: 1 });
    expect(view.performancePods).toBe(0);
  });

  it("OPR-10 is all zero in an empty cluster", () => {
    expect(demandViewOf([])).toEqual({
      constraints: { "performance-only": 0, "eco-only": 0, general: 0 },
      performancePods: 0,
      performancePodsByNode: new Map(),
      waits: { cpu: {}, gpu: {} },
    });
  });
});
