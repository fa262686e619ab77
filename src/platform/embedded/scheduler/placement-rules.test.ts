import { describe, expect, it } from "vitest";
import { admitsNode, type Taint, type Toleration, untolerated } from "./placement-rules.ts";

const taint: Taint = { key: "k", value: "v", effect: "NoSchedule" };

describe("untolerated", () => {
  const cases: [says: string, toleration: Toleration, tolerated: boolean][] = [
    ["the same key, value and effect", { key: "k", value: "v", effect: "NoSchedule" }, true],
    ["no effect means every effect", { key: "k", value: "v" }, true],
    ["another value", { key: "k", value: "w" }, false],
    ["no value is the empty one", { key: "k" }, false],
    ["the key exists", { key: "k", operator: "Exists" }, true],
    ["any key exists", { operator: "Exists" }, true],
    ["no key without Exists", { value: "v" }, false],
    ["another key", { key: "other", operator: "Exists" }, false],
    ["another effect", { key: "k", operator: "Exists", effect: "NoExecute" }, false],
    ["an unknown operator", { key: "k", operator: "Like", value: "v" }, false],
  ];
  it.each(cases)("%s", (_says, toleration, tolerated) => {
    expect(untolerated([taint], [toleration]) === undefined).toBe(tolerated);
  });

  it("ignores PreferNoSchedule taints and respects NoExecute", () => {
    expect(untolerated([{ key: "k", effect: "PreferNoSchedule" }], [])).toBeUndefined();
    expect(untolerated([{ key: "k", effect: "NoExecute" }], [])?.key).toBe("k");
    expect(untolerated([], [])).toBeUndefined();
  });
});

describe("admitsNode", () => {
  const labels = { zone: "a", cores: "64", name: "x" };
  const affinity = (...nodeSelectorTerms: object[]) => ({
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
  });
  const expression = (key: string, operator: string, ...values: string[]) => ({
    matchExpressions: [{ key, operator, ...(values.length === 0 ? {} : { values }) }],
  });
  const cases: [says: string, spec: object, admitted: boolean][] = [
    ["nothing asked", {}, true],
    ["nodeSelector met", { nodeSelector: { zone: "a" } }, true],
    ["nodeSelector not met", { nodeSelector: { zone: "b" } }, false],
    ["nodeSelector on a missing label", { nodeSelector: { constructor: "x" } }, false],
    ["In", affinity(expression("zone", "In", "b", "a")), true],
    ["In, missing", affinity(expression("rack", "In", "a")), false],
    ["NotIn", affinity(expression("zone", "NotIn", "a")), false],
    ["NotIn, missing", affinity(expression("rack", "NotIn", "a")), true],
    ["Exists", affinity(expression("zone", "Exists")), true],
    ["DoesNotExist", affinity(expression("zone", "DoesNotExist")), false],
    ["Gt", affinity(expression("cores", "Gt", "32")), true],
    ["Gt, equal", affinity(expression("cores", "Gt", "64")), false],
    ["Lt", affinity(expression("cores", "Lt", "65")), true],
    ["Gt on text", affinity(expression("zone", "Gt", "1")), false],
    ["Lt on a missing label", affinity(expression("rack", "Lt", "1")), false],
    ["an unknown operator", affinity(expression("zone", "Like", "a")), false],
    ["one of several terms", affinity(expression("zone", "In", "b"), expression("zone", "In", "a")), true],
    ["no terms", affinity(), false],
    ["an empty term", affinity({}), false],
    ["a field", affinity({ matchFields: [{ key: "metadata.name", operator: "In", values: ["node"] }] }), true],
    [
      "another node's field",
      affinity({ matchFields: [{ key: "metadata.name", operator: "In", values: ["other"] }] }),
      false,
    ],
    ["an unknown field", affinity({ matchFields: [{ key: "spec.x", operator: "Exists" }] }), false],
    ["selector and affinity both", { nodeSelector: { zone: "b" }, ...affinity(expression("zone", "In", "a")) }, false],
  ];
  it.each(cases)("%s", (_says, spec, admitted) => {
    expect(admitsNode(spec, labels, "node")).toBe(admitted);
  });
});
