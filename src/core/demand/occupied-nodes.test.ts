import { describe, expect, it } from "vitest";
import type { Pod } from "../api/index.ts";
import { occupiedNodes, podPromiseOf, selectedNodeOf } from "./occupied-nodes.ts";

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
