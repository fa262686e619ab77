import { describe, expect, it } from "vitest";
import type { NodeSelectorRequirement, NodeTaint, PodSpec, Toleration } from "../api/index.ts";
import { admitsNode, namedNodesOf, nodeConstraintOf } from "./node-constraint.ts";

const constraint = (spec: PodSpec) => nodeConstraintOf({ metadata: { name: "p" }, spec });
const admits = (spec: PodSpec, labels: Record<string, string>, taints: readonly NodeTaint[] = []) =>
  admitsNode(constraint(spec), { name: "n1", labels, taints });
const required = (
  ...terms: { matchExpressions?: NodeSelectorRequirement[]; matchFields?: NodeSelectorRequirement[] }[]
) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
});
const expression = (key: string, operator: string, ...values: string[]): NodeSelectorRequirement => ({
  key,
  operator,
  ...(values.length > 0 && { values }),
});

describe("node selector and affinity", () => {
  it("POL-29 every entry of the selector must match", () => {
    const spec = { nodeSelector: { zone: "a", disk: "ssd" } };
    expect(admits(spec, { zone: "a", disk: "ssd" })).toBe(true);
    expect(admits(spec, { zone: "a" })).toBe(false);
    expect(admits(spec, { zone: "b", disk: "ssd" })).toBe(false);
    expect(admits({}, {})).toBe(true);
  });

  it.each([
    ["In", ["a", "b"], "a", true],
    ["In", ["b"], "a", false],
    ["In", ["b"], undefined, false],
    ["NotIn", ["b"], "a", true],
    ["NotIn", ["a"], "a", false],
    ["NotIn", ["a"], undefined, true],
    ["Exists", [], "a", true],
    ["Exists", [], undefined, false],
    ["DoesNotExist", [], "a", false],
    ["DoesNotExist", [], undefined, true],
    ["Gt", ["4"], "5", true],
    ["Gt", ["4"], "4", false],
    ["Lt", ["4"], "3", true],
    ["Lt", ["4"], "none", false],
    ["Gt", ["4"], undefined, false],
  ] as const)("POL-29 affinity %s %j against %s is %s", (operator, values, value, expected) => {
    const spec = required({ matchExpressions: [expression("key", operator, ...values)] });
    expect(admits(spec, value === undefined ? {} : { key: value })).toBe(expected);
  });

  it("POL-29 terms are ORed, expressions ANDed; no term and invalid terms match nothing", () => {
    const spec = required(
      { matchExpressions: [expression("zone", "In", "a"), expression("disk", "Exists")] },
      { matchFields: [expression("metadata.name", "In", "n1")] },
    );
    expect(admits(spec, {})).toBe(true);
    expect(admitsNode(constraint(spec), { name: "n2", labels: { zone: "a" } })).toBe(false);
    expect(admitsNode(constraint(spec), { name: "n2", labels: { zone: "a", disk: "x" } })).toBe(true);
    expect(admits(required(), {})).toBe(false);
    expect(admits(required({}), {})).toBe(false);
    expect(admits(required({ matchExpressions: [expression("zone", "Like", "a")] }), { zone: "a" })).toBe(false);
  });

  it("names the nodes of a DaemonSet's pod, and none if another term is open", () => {
    const named = { matchFields: [expression("metadata.name", "In", "n7")] };
    expect(namedNodesOf(constraint(required(named)))).toEqual(["n7"]);
    const open = { matchExpressions: [expression("zone", "Exists")] };
    expect(namedNodesOf(constraint(required(named, open)))).toBeUndefined();
    expect(namedNodesOf(constraint({}))).toBeUndefined();
  });
});

describe("taints", () => {
  const taint: NodeTaint = { key: "nvidia.com/gpu", value: "present", effect: "NoSchedule" };
  it.each<[Toleration, boolean]>([
    [{ operator: "Exists" }, true],
    [{ key: "nvidia.com/gpu", operator: "Exists" }, true],
    [{ key: "nvidia.com/gpu", operator: "Exists", effect: "NoExecute" }, false],
    [{ key: "nvidia.com/gpu", value: "present" }, true],
    [{ key: "nvidia.com/gpu", operator: "Equal", value: "other" }, false],
    [{ key: "amd.com/gpu", operator: "Exists" }, false],
    [{ value: "present" }, false],
  ])("POL-29 toleration %j of a NoSchedule taint: %s", (toleration, expected) => {
    expect(admits({ tolerations: [toleration] }, {}, [taint])).toBe(expected);
  });

  it("POL-29 an untolerated taint rejects the node; PreferNoSchedule does not", () => {
    expect(admits({}, {}, [taint])).toBe(false);
    expect(admits({}, {}, [{ ...taint, effect: "PreferNoSchedule" }])).toBe(true);
    const two = [taint, { key: "dedicated", effect: "NoExecute" }];
    expect(admits({ tolerations: [{ key: "nvidia.com/gpu", operator: "Exists" }] }, {}, two)).toBe(false);
  });
});
