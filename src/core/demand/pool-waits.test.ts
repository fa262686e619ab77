import { describe, expect, it } from "vitest";
import type { Pod } from "../api/index.ts";
import { instant } from "../units/index.ts";
import { demandViewOf } from "./demand-view.ts";
import { PodShapes } from "./pod-shapes.ts";
import { podSummaryOf } from "./pod-summary.ts";
import { queuedPools } from "./pool-waits.ts";

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
