import { describe, expect, it } from "vitest";
import { localVolumeOf } from "./local-volume.ts";

const volume = (spec: unknown) => localVolumeOf({ metadata: { name: "v" }, spec } as never);
const bound = (key: string, values: unknown, operator = "In") => ({
  nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }] } },
});

describe("SLP-40 localVolumeOf", () => {
  it.each([
    "kubernetes.io/hostname",
    "topology.topolvm.io/node",
    "openebs.io/nodename",
    "topology.cstor.openebs.io/nodeName",
  ])("reads names and labels of nodes from %s", (key) => {
    expect(volume({ local: {}, ...bound(key, ["a", "b"]) })).toEqual({ nodes: ["a", `${key}=a`, "b", `${key}=b`] });
    expect(volume({ csi: {}, ...bound(key, ["a"]) })).toEqual({ nodes: ["a", `${key}=a`] });
  });

  it("reads nodes by name, and every term", () => {
    const term = (value: string) => ({ matchFields: [{ key: "metadata.name", operator: "In", values: [value] }] });
    const nodeAffinity = { required: { nodeSelectorTerms: [term("a"), term("b")] } };
    expect(volume({ nodeAffinity })).toEqual({ nodes: ["a", "b"] });
  });

  it("ignores volumes of zones and of the network, and other operators", () => {
    expect(volume(bound("topology.kubernetes.io/zone", ["z"]))).toBeUndefined();
    expect(volume(bound("kubernetes.io/hostname", ["a"], "NotIn"))).toBeUndefined();
    expect(volume({ nfs: {} })).toBeUndefined();
    expect(volume({ hostPath: {} })).toBeUndefined();
  });

  it.each([
    undefined,
    { nodeAffinity: { required: { nodeSelectorTerms: "x" } } },
    bound("kubernetes.io/hostname", "a"),
  ])("reads %j without an error", (spec) => {
    expect(volume(spec)).toBeUndefined();
  });
});
