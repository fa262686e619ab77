import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec } from "../api/index.ts";
import { powerConstraintOf } from "./constraint.ts";

const profileKey = "joulie.io/power-profile";
const pod = (spec: PodSpec): Pod => ({ metadata: { name: "p" }, spec });
const requiring = (...nodeSelectorTerms: NodeSelectorTerm[]): Pod =>
  pod({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } });
const onProfile = (operator: string, ...values: string[]): NodeSelectorRequirement => ({
  key: profileKey,
  operator,
  values,
});
const term = (...matchExpressions: NodeSelectorRequirement[]): NodeSelectorTerm => ({ matchExpressions });
const inZone: NodeSelectorRequirement = { key: "zone", operator: "In", values: ["a"] };

describe("power constraint", () => {
  it("POL-04 is general without a constraint, or with one that allows both profiles", () => {
    expect(powerConstraintOf(pod({}))).toBe("general");
    expect(powerConstraintOf(pod({ nodeSelector: { zone: "a" } }))).toBe("general");
    expect(powerConstraintOf(requiring(term(inZone)))).toBe("general");
    expect(powerConstraintOf(requiring(term(onProfile("In", "eco", "performance"))))).toBe("general");
    expect(powerConstraintOf(requiring(term(onProfile("Exists"))))).toBe("general");
    expect(powerConstraintOf(requiring(term(onProfile("NotIn", "turbo"))))).toBe("general");
    expect(powerConstraintOf(requiring(term({ key: "gen", operator: "Gt", values: ["10"] })))).toBe("general");
    expect(powerConstraintOf(pod({ affinity: {} }))).toBe("general");
  });

  it("POL-02 is performance-only if required constraints exclude eco", () => {
    expect(powerConstraintOf(pod({ nodeSelector: { [profileKey]: "performance" } }))).toBe("performance-only");
    expect(powerConstraintOf(requiring(term(onProfile("In", "performance"))))).toBe("performance-only");
    expect(powerConstraintOf(requiring(term(onProfile("NotIn", "eco"))))).toBe("performance-only");
    expect(powerConstraintOf(requiring(term(inZone, onProfile("NotIn", "eco"))))).toBe("performance-only");
  });

  it("POL-03 is eco-only if the constraints allow only eco, with or without a draining exclusion", () => {
    const notDraining = { key: "joulie.io/draining", operator: "NotIn", values: ["true"] };
    expect(powerConstraintOf(pod({ nodeSelector: { [profileKey]: "eco" } }))).toBe("eco-only");
    expect(powerConstraintOf(requiring(term(onProfile("In", "eco"))))).toBe("eco-only");
    expect(powerConstraintOf(requiring(term(onProfile("NotIn", "performance"))))).toBe("eco-only");
    expect(powerConstraintOf(requiring(term(onProfile("In", "eco"), notDraining)))).toBe("eco-only");
    expect(powerConstraintOf(requiring(term(notDraining)))).toBe("general");
  });

  it("POL-01 ignores preferences and reads the configured label only", () => {
    const preference = { weight: 100, preference: term(onProfile("In", "performance")) };
    const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [preference] };
    const affinity = { nodeAffinity } as NonNullable<PodSpec["affinity"]>;
    expect(powerConstraintOf(pod({ affinity }))).toBe("general");
    const selecting = pod({ nodeSelector: { "example.com/power": "performance" } });
    expect(powerConstraintOf(selecting)).toBe("general");
    expect(powerConstraintOf(selecting, "example.com/power")).toBe("performance-only");
    const other = requiring(term({ key: "example.com/power", operator: "NotIn", values: ["eco"] }));
    expect(powerConstraintOf(other)).toBe("general");
    expect(powerConstraintOf(other, "example.com/power")).toBe("performance-only");
  });

  it("X-26 excludes eco only if every ORed term does", () => {
    const excludes = term(onProfile("NotIn", "eco"));
    expect(powerConstraintOf(requiring(excludes, term(inZone)))).toBe("general");
    expect(powerConstraintOf(requiring(excludes, term(onProfile("In", "performance"))))).toBe("performance-only");
    expect(powerConstraintOf(requiring(excludes, term(onProfile("In", "eco"))))).toBe("general");
    expect(powerConstraintOf(requiring(term(onProfile("NotIn", "performance")), term(onProfile("In", "eco"))))).toBe(
      "eco-only",
    );
  });

  it("X-26 combines nodeSelector and affinity", () => {
    const both = (value: string, ...terms: NodeSelectorTerm[]) =>
      pod({ ...requiring(...terms).spec, nodeSelector: { [profileKey]: value } });
    expect(powerConstraintOf(both("performance", term(inZone)))).toBe("performance-only");
    expect(powerConstraintOf(both("eco", term(onProfile("Exists"))))).toBe("eco-only");
  });

  it("treats a pod that neither profile satisfies as performance-only", () => {
    const contradiction = pod({
      ...requiring(term(onProfile("In", "performance"))).spec,
      nodeSelector: { [profileKey]: "eco" },
    });
    expect(powerConstraintOf(contradiction)).toBe("performance-only");
    expect(powerConstraintOf(requiring(term(onProfile("DoesNotExist"))))).toBe("performance-only");
    expect(powerConstraintOf(requiring())).toBe("performance-only");
    expect(powerConstraintOf(requiring({}))).toBe("performance-only");
    expect(powerConstraintOf(pod({ nodeSelector: { [profileKey]: "turbo" } }))).toBe("performance-only");
  });

  it.each([
    ["an unknown operator", { key: "zone", operator: "Near", values: ["a"] }],
    ["an operator that is a property of every object", { key: "zone", operator: "toString", values: ["a"] }],
    ["In without values", { key: "zone", operator: "In", values: [] }],
    ["NotIn without values", { key: "zone", operator: "NotIn" }],
    ["Exists with a value", { key: "zone", operator: "Exists", values: ["a"] }],
    ["DoesNotExist with a value", { key: "zone", operator: "DoesNotExist", values: ["a"] }],
    ["Gt with text", { key: "zone", operator: "Gt", values: ["a"] }],
    ["Gt with a broken number", { key: "zone", operator: "Gt", values: ["1a"] }],
    ["Gt with a prefixed number", { key: "zone", operator: "Gt", values: ["a1"] }],
    ["Lt with two numbers", { key: "zone", operator: "Lt", values: ["1", "2"] }],
    ["Lt without a number", { key: "zone", operator: "Lt" }],
    ["an impossible label value", { key: "zone", operator: "NotIn", values: ["ok", "not ok"] }],
    ["an impossible label key", { key: "/", operator: "NotIn", values: ["a"] }],
  ])("X-26 treats a term with %s as matching nothing, as kube-scheduler does", (_, invalid) => {
    const valid = term(onProfile("In", "eco"));
    expect(powerConstraintOf(requiring(valid, term(invalid)))).toBe("eco-only");
    expect(powerConstraintOf(requiring(valid, term(inZone)))).toBe("general");
  });

  it("X-26 treats a term that names nodes as one that allows both profiles", () => {
    const named = (operator: string, ...values: string[]): NodeSelectorTerm => ({
      matchFields: [{ key: "metadata.name", operator, values }],
    });
    const eco = term(onProfile("In", "eco"));
    expect(powerConstraintOf(requiring(named("In", "n1")))).toBe("general");
    expect(powerConstraintOf(requiring(named("NotIn", "n1"), eco))).toBe("general");
    expect(powerConstraintOf(requiring({ ...named("In", "n1"), ...eco }))).toBe("eco-only");
    expect(powerConstraintOf(requiring(named("In"), eco))).toBe("eco-only");
    expect(powerConstraintOf(requiring(named("In", "n1", "n2"), eco))).toBe("eco-only");
    expect(powerConstraintOf(requiring(named("Exists", "n1"), eco))).toBe("eco-only");
    expect(powerConstraintOf(requiring({ matchFields: [{ key: "metadata.name", operator: "In" }] }, eco))).toBe(
      "eco-only",
    );
  });

  it("reads null lists as empty lists", () => {
    const nulls = JSON.parse(
      '{"metadata":{"name":"p"},"spec":{"nodeSelector":null,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":null}}}}}',
    ) as Pod;
    expect(powerConstraintOf(nulls)).toBe("performance-only");
    const noRequired = JSON.parse(
      '{"metadata":{"name":"p"},"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":null}}}}',
    ) as Pod;
    expect(powerConstraintOf(noRequired)).toBe("general");
    const nullInTerm = JSON.parse('{"matchExpressions":null,"matchFields":null}') as NodeSelectorTerm;
    expect(powerConstraintOf(requiring(nullInTerm))).toBe("performance-only");
    expect(powerConstraintOf(requiring(term({ key: profileKey, operator: "Exists" })))).toBe("general");
  });
});

/** Matches a node's labels against one term as kube-scheduler does: the oracle for the property below. */
function nodeMatches(node: Record<string, string>, { matchExpressions = [] }: NodeSelectorTerm): boolean {
  return (
    matchExpressions.length > 0 &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = node[key];
      switch (operator) {
        case "In":
          return value !== undefined && values.includes(value);
        case "NotIn":
          return values.length > 0 && (value === undefined || !values.includes(value));
        case "Exists":
          return values.length === 0 && value !== undefined;
        case "DoesNotExist":
          return values.length === 0 && value === undefined;
        case "Gt":
          return values.length === 1 && Number(value) > Number(values[0]);
        case "Lt":
          return values.length === 1 && Number(value) < Number(values[0]);
        default:
          return false;
      }
    })
  );
}

/** Every relevant value of the other labels in the generated pods. */
const otherValues = [undefined, "a", "b", "c", "0", "3", "9"];

function bruteForce({ spec }: Pod): string {
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const admitted = (profile: string) =>
    otherValues.some((zone) =>
      otherValues.some((gen) => {
        const node: Record<string, string> = { [profileKey]: profile, disk: "ssd" };
        if (zone !== undefined) node["zone"] = zone;
        if (gen !== undefined) node["gen"] = gen;
        const selected = Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => node[key] === value);
        return selected && (terms === undefined || terms.some((each) => nodeMatches(node, each)));
      }),
    );
  if (!admitted("eco")) return "performance-only";
  return admitted("performance") ? "general" : "eco-only";
}

const operator = fc.constantFrom("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near");
const requirement = (key: string, pool: string[]) =>
  fc.record({
    key: fc.constant(key),
    operator,
    values: fc.uniqueArray(fc.constantFrom(...pool), { maxLength: 2 }),
  });
// One expression per other label: the constraint does not check whether several can hold together.
const anyTerm = fc
  .record({
    profile: fc.array(requirement(profileKey, ["performance", "eco", "turbo", "3"]), { maxLength: 2 }),
    zone: fc.array(requirement("zone", ["a", "b"]), { maxLength: 1 }),
    gen: fc.array(requirement("gen", ["3"]), { maxLength: 1 }),
  })
  .map(({ profile, zone, gen }) => term(...zone, ...profile, ...gen));
const anyPod = fc
  .record({
    terms: fc.option(fc.array(anyTerm, { maxLength: 3 }), { nil: undefined }),
    profile: fc.option(fc.constantFrom("performance", "eco", "turbo"), { nil: undefined }),
    disk: fc.boolean(),
  })
  .map(({ terms, profile, disk }) =>
    pod({
      ...(terms && requiring(...terms).spec),
      nodeSelector: { ...(profile && { [profileKey]: profile }), ...(disk && { disk: "ssd" }) },
    }),
  );

describe("power constraint, any pod", () => {
  it("POL-01 X-26 equals a brute-force check of all possible nodes", () => {
    fc.assert(
      fc.property(anyPod, (each) => {
        expect(powerConstraintOf(each)).toBe(bruteForce(each));
      }),
      { numRuns: 2000 },
    );
  });
});
