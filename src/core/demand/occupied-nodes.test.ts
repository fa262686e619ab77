import { describe, expect, it } from "vitest";
import type { Pod } from "../api/index.ts";
import { isControlPlanePod, occupiedNodes, podPromiseOf, selectedNodeOf } from "./occupied-nodes.ts";

const pod = (spec: Pod["spec"], status: Pod["status"] = {}): Pod => ({
  metadata: { namespace: "shop", name: "db-0" },
  spec,
  status,
});
const claims: Readonly<Record<string, string>> = { "shop/data": "n2", "shop/db-0-scratch": "n3" };
const nodesOf = (one: Pod) => [
  ...occupiedNodes({ node: one.spec.nodeName, promise: podPromiseOf(one) }, (claim) => claims[claim]),
];
const data = { name: "data", persistentVolumeClaim: { claimName: "data" } };

describe("X-131 the nodes that a pod occupies", () => {
  it.each<[string, Pod, readonly string[]]>([
    [
      "the one that it is bound to, and no other",
      pod({ nodeName: "n1", volumes: [data] }, { nominatedNodeName: "n4" }),
      ["n1"],
    ],
    ["the one that it is nominated to", pod({}, { nominatedNodeName: "n1" }), ["n1"]],
    ["the one that its claim has selected", pod({ volumes: [data] }), ["n2"]],
    [
      "the one that the claim of its ephemeral volume has selected",
      pod({ volumes: [{ name: "scratch", ephemeral: {} }] }),
      ["n3"],
    ],
    ["both, if nomination and claim differ", pod({ volumes: [data] }, { nominatedNodeName: "n1" }), ["n1", "n2"]],
    [
      "none while a scheduling gate keeps it from being scheduled",
      pod({ schedulingGates: [{ name: "quota" }], volumes: [data] }, { nominatedNodeName: "n1" }),
      [],
    ],
    ["none without nomination and claims", pod({ volumes: [{ name: "config" }] }), []],
    [
      "none while its claim has selected none",
      pod({ volumes: [{ name: "x", persistentVolumeClaim: { claimName: "x" } }] }),
      [],
    ],
  ])("are %s", (_, one, expected) => {
    expect(nodesOf(one)).toEqual(expected);
  });

  it("come from the annotation of a claim, which stays when the volume exists", () => {
    const annotations = { "volume.kubernetes.io/selected-node": "n2" };
    expect(selectedNodeOf({ metadata: { annotations } })).toEqual({ node: "n2", hasVolume: false });
    expect(selectedNodeOf({ metadata: { annotations }, status: { phase: "Bound" } })).toEqual({
      node: "n2",
      hasVolume: true,
    });
    expect(selectedNodeOf({ metadata: {} })).toBeUndefined();
  });
});

describe("X-132 static pods of the control plane", () => {
  const mirror = { "kubernetes.io/config.mirror": "x" };
  const labelled = (
    labels: Readonly<Record<string, string>>,
    annotations: Readonly<Record<string, string>> = mirror,
  ): Pod => ({
    metadata: { name: "p", labels, annotations },
    spec: {},
  });

  it.each<[string, Pod, boolean]>([
    ["etcd of kubeadm", labelled({ component: "etcd", tier: "control-plane" }), true],
    ["kube-apiserver of kOps", labelled({ "k8s-app": "kube-apiserver" }), true],
    ["another program of tier control-plane", labelled({ component: "kube-vip", tier: "control-plane" }), true],
    [
      "kube-proxy of RKE2, which runs on every node",
      labelled({ component: "kube-proxy", tier: "control-plane" }),
      false,
    ],
    ["another static pod", labelled({ app: "node-exporter" }), false],
    ["a pod that is not static", labelled({ component: "etcd" }, {}), false],
  ])("%s", (_, one, expected) => {
    expect(isControlPlanePod(one)).toBe(expected);
  });
});
