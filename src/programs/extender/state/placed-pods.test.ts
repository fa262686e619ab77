import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../platform/kube/index.ts";
import { podKey, watchedPod } from "./placed-pods.ts";

const started = "2026-03-01T12:00:00Z";
const podOf = (metadata: object = {}, spec: object = {}, status: object = {}): KubeObject =>
  ({
    metadata: { name: "p", namespace: "team", uid: "u-1", ...metadata },
    spec: {
      nodeName: "n",
      containers: [
        { name: "main", image: "none", resources: { requests: { cpu: "1500m" }, limits: { "nvidia.com/gpu": "2" } } },
      ],
      ...spec,
    },
    status: { phase: "Running", startTime: started, ...status },
  }) as unknown as KubeObject;

describe("watchedPod", () => {
  it("keeps what the load of a node depends on, and nothing else", () => {
    expect(watchedPod(podOf({ annotations: { "joulie.io/expected-duration": "2h", other: "x" } }))).toEqual({
      key: "u-1",
      node: "n",
      pod: {
        demand: { cpuCores: 1.5, gpus: new Map([["nvidia.com/gpu", 2]]) },
        duration: 7200,
        startedAt: Date.parse(started),
        background: false,
      },
    });
  });

  it.each([
    ["Succeeded", podOf({}, {}, { phase: "Succeeded" })],
    ["Failed", podOf({}, {}, { phase: "Failed" })],
    ["without a node", podOf({}, { nodeName: undefined })],
    ["with an empty node name", podOf({}, { nodeName: "" })],
    ["with a node name of another type", podOf({}, { nodeName: 7 })],
    ["without a spec", { metadata: { name: "p" } }],
  ])("skips a pod that is %s", (_, pod) => {
    expect(watchedPod(pod)).toBeUndefined();
  });

  it.each(["DaemonSet", "Node"])("marks a pod of a %s as running as long as its node", (kind) => {
    expect(watchedPod(podOf({ ownerReferences: [{ kind, name: "x" }] }))?.pod.background).toBe(true);
  });

  it.each([[[{ kind: "ReplicaSet" }]], [[]], [null], ["DaemonSet"], [[null]]])(
    "takes owners %j for a workload's",
    (owners) => {
      expect(watchedPod(podOf({ ownerReferences: owners }))?.pod.background).toBe(false);
    },
  );

  it("uses the creation time before the kubelet has reported a start", () => {
    const created = "2026-03-01T11:59:00Z";
    const pod = watchedPod(podOf({ creationTimestamp: created }, {}, { startTime: undefined }));
    expect(pod?.pod.startedAt).toBe(Date.parse(created));
    expect(watchedPod(podOf({}, {}, { startTime: "yesterday" }))?.pod.startedAt).toBeUndefined();
  });

  it("bounds the kinds of GPUs of a hostile pod", () => {
    const limits = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`nvidia.com/mig-1g.${index + 1}gb`, "1"]),
    );
    const pod = watchedPod(podOf({}, { containers: [{ name: "main", resources: { limits } }] }));
    expect(pod?.pod.demand.gpus.size).toBe(16);
  });

  it("survives fields of any type", () => {
    const odd = podOf({ annotations: { "joulie.io/expected-duration": 5 } }, { containers: "none" }, { startTime: {} });
    expect(watchedPod(odd)?.pod).toEqual({
      demand: { cpuCores: 0, gpus: new Map() },
      duration: undefined,
      startedAt: undefined,
      background: false,
    });
  });
});

it("podKey is the uid, else namespace and name", () => {
  expect(podKey({ uid: "u", namespace: "a", name: "b" })).toBe("u");
  expect(podKey({ namespace: "a", name: "b" })).toBe("a/b");
  expect(podKey({ uid: "", namespace: "a", name: "b" })).toBe("a/b");
});
