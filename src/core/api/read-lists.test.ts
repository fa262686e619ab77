import { describe, expect, it } from "vitest";
import { describeProblem } from "./examine.ts";
import { nodeHardwareKind, nodeTwinKind } from "./kinds.ts";
import { objectMetadata } from "./metadata.ts";
import { readingOf } from "./testing/sample.ts";

const metadata = { name: "worker-1.example" };
const spec = { nodeName: "worker-1.example", profile: "eco" };

describe("read", () => {
  const conditionOf = (type: string, message = "") => ({
    type,
    status: "True",
    reason: "Planned",
    message,
    lastTransitionTime: "2030-01-31T12:00:00Z",
  });
  const withConditions = (conditions: readonly unknown[]) => {
    const { object, dropped } = readingOf(nodeTwinKind, { metadata, spec, status: { conditions } });
    return { conditions: object.status?.conditions, problems: dropped.map(describeProblem) };
  };
  const withWarnings = (warnings: readonly unknown[]) => {
    const { object, dropped } = readingOf(nodeHardwareKind, { metadata, spec, status: { quality: { warnings } } });
    return { warnings: object.status?.quality?.warnings, problems: dropped.map(describeProblem) };
  };

  it("keeps the valid conditions", () => {
    const ready = conditionOf("Ready");
    const { conditions, problems } = withConditions([{ type: "Odd" }, ready, 5]);
    expect(conditions).toEqual([ready]);
    expect(problems[0]).toContain("status.conditions[0].status is missing");
    expect(problems.at(-1)).toBe("status.conditions[2] is 5, expected an object");
  });

  it("keeps the first of two conditions of one type, and the first of two equal values", () => {
    const [first, other] = [conditionOf("Ready", "first"), conditionOf("Stale")];
    expect(withConditions([first, conditionOf("Ready", "second"), other])).toEqual({
      conditions: [first, other],
      problems: ['status.conditions[1] is "Ready", expected a type that no earlier item has'],
    });
    const status = { gpu: { slicing: { modes: ["mig", "mig", "vgpu"] } } };
    const { object, dropped } = readingOf(nodeHardwareKind, { metadata, spec, status });
    expect(object.status?.gpu?.slicing?.modes).toEqual(["mig", "vgpu"]);
    expect(dropped.map(({ path }) => path)).toEqual(["status.gpu.slicing.modes[1]"]);
    expect(withWarnings(["same", "same"])).toEqual({ warnings: ["same", "same"], problems: [] });
  });

  it("truncates a list at its maximum length and reports the excess", () => {
    const many = Array.from({ length: 40 }, (_, index) => conditionOf(`C${index}`));
    expect(withConditions(many)).toEqual({
      conditions: many.slice(0, 32),
      problems: ["status.conditions is a list of 40, expected a list of at most 32 distinct items"],
    });
    const warnings = Array.from({ length: 65 }, (_, index) => `w${index}`);
    expect(withWarnings(warnings)).toEqual({
      warnings: warnings.slice(0, 64),
      problems: ["status.quality.warnings is a list of 65, expected a list of at most 64 items"],
    });
    expect(withWarnings(warnings.slice(0, 64))).toEqual({ warnings: warnings.slice(0, 64), problems: [] });
    // Dropped items do not count towards the limit.
    const twice = [many[0], ...many.slice(0, 32)];
    expect(withConditions(twice).conditions).toEqual(many.slice(0, 32));
    expect(withWarnings([7, ...warnings]).warnings).toEqual(warnings.slice(0, 64));
  });

  it("handles prototype keys, deep nesting and very large input", () => {
    const polluted = JSON.parse('{"metadata":{"name":"a"},"spec":{"nodeName":"a","__proto__":{"profile":"eco"}}}');
    const { object } = readingOf(nodeTwinKind, polluted);
    expect(object.spec.profile).toBe("performance");
    expect(Object.getPrototypeOf(object.spec)).toBe(Object.prototype);

    const nested = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`);
    const deep = readingOf(nodeTwinKind, { metadata, spec: { ...spec, cpu: nested, extra: nested } });
    expect(deep.dropped).toEqual([{ path: "spec.cpu", text: "a list of 1", expected: "an object" }]);

    const flood = readingOf(nodeHardwareKind, {
      metadata,
      spec,
      status: { cpu: { model: "EPYC", warnings: Array(5000).fill(0) } },
    });
    expect(flood.object.status?.cpu).toEqual({ model: "EPYC", warnings: [] });
    expect(flood.dropped).toHaveLength(51);
    expect(flood.dropped[0]?.text).toBe("a list of 5000");
    expect(flood.dropped.at(-1)?.path).toBe("(elsewhere)");

    const long = readingOf(nodeTwinKind, { metadata, spec: { ...spec, profile: "x".repeat(1e6) } });
    expect(long.dropped[0]?.text).toHaveLength(83);
  });

  it("stops checking a list once the list and the report are full", () => {
    let looks = 0;
    const bad = {
      get type() {
        looks++;
        return undefined;
      },
    };
    const { conditions, problems } = withConditions(Array.from({ length: 10_000 }, () => bad));
    expect(conditions).toEqual([]);
    expect(problems[0]).toBe("status.conditions is a list of 10000, expected a list of at most 32 distinct items");
    // A few reads for each of 82 items: 32 that the list may hold and 50 that the report may hold.
    expect(looks).toBeLessThan(500);
    looks = 0;
    withWarnings([...Array(64).fill("w"), ...Array.from({ length: 10_000 }, () => bad)]);
    expect(looks).toBe(0);
  });

  it("reports thousands of bad labels once and keeps the valid ones", () => {
    const labels = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`l${index}`, index]));
    const mixed = { ...labels, "joulie.io/rack": "r1" };
    const issues = objectMetadata.safeParse({ ...metadata, labels: mixed }).error?.issues;
    expect(issues).toHaveLength(1);
    const { object, dropped } = readingOf(nodeTwinKind, { metadata: { ...metadata, labels: mixed }, spec });
    expect(object.metadata.labels).toEqual({ "joulie.io/rack": "r1" });
    expect(dropped.at(-1)?.text).toBe("4950 more problems");
  });

  it("limits the number of owner references", () => {
    const owner = { apiVersion: "v1", kind: "Node", name: "worker-1", uid: "u" };
    const reading = readingOf(nodeTwinKind, {
      metadata: { ...metadata, ownerReferences: Array.from({ length: 1000 }, () => owner) },
      spec,
    });
    expect(reading.object.metadata.ownerReferences).toEqual(Array.from({ length: 64 }, () => owner));
    expect(reading.dropped.map(describeProblem)).toEqual([
      "metadata.ownerReferences is a list of 1000, expected a list of at most 64 items",
    ]);
  });
});
