import { describe, expect, it } from "vitest";
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
    return readingOf(nodeTwinKind, { metadata, spec, status: { conditions } }).status?.conditions;
  };
  const withWarnings = (warnings: readonly unknown[]) => {
    return readingOf(nodeHardwareKind, { metadata, spec, status: { quality: { warnings } } }).status?.quality?.warnings;
  };

  it("keeps the valid conditions", () => {
    const ready = conditionOf("Ready");
    expect(withConditions([{ type: "Odd" }, ready, 5])).toEqual([ready]);
  });

  it("keeps the first of two conditions of one type, and the first of two equal values", () => {
    const [first, other] = [conditionOf("Ready", "first"), conditionOf("Stale")];
    expect(withConditions([first, conditionOf("Ready", "second"), other])).toEqual([first, other]);
    const status = { gpu: { slicing: { modes: ["mig", "mig", "vgpu"] } } };
    const object = readingOf(nodeHardwareKind, { metadata, spec, status });
    expect(object.status?.gpu?.slicing?.modes).toEqual(["mig", "vgpu"]);
    expect(withWarnings(["same", "same"])).toEqual(["same", "same"]);
  });

  it("truncates a list at its maximum length", () => {
    const many = Array.from({ length: 40 }, (_, index) => conditionOf(`C${index}`));
    expect(withConditions(many)).toEqual(many.slice(0, 32));
    const warnings = Array.from({ length: 65 }, (_, index) => `w${index}`);
    expect(withWarnings(warnings)).toEqual(warnings.slice(0, 64));
    expect(withWarnings(warnings.slice(0, 64))).toEqual(warnings.slice(0, 64));
    // Dropped items do not count towards the limit.
    const twice = [many[0], ...many.slice(0, 32)];
    expect(withConditions(twice)).toEqual(many.slice(0, 32));
    expect(withWarnings([7, ...warnings])).toEqual(warnings.slice(0, 64));
  });

  it("handles prototype keys, deep nesting and very large input", () => {
    const polluted = JSON.parse('{"metadata":{"name":"a"},"spec":{"nodeName":"a","__proto__":{"profile":"eco"}}}');
    const object = readingOf(nodeTwinKind, polluted);
    expect(object.spec.profile).toBe("performance");
    expect(Object.getPrototypeOf(object.spec)).toBe(Object.prototype);

    const nested = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`);
    const deep = readingOf(nodeTwinKind, { metadata, spec: { ...spec, cpu: nested, extra: nested } });
    expect(deep.spec.cpu).toBeUndefined();

    const flood = readingOf(nodeHardwareKind, {
      metadata,
      spec,
      status: { cpu: { model: "EPYC", warnings: Array(5000).fill(0) } },
    });
    expect(flood.status?.cpu).toEqual({ model: "EPYC", warnings: [] });
  });

  it("stops checking a list once it is full or after fifty bad items", () => {
    let looks = 0;
    const bad = {
      get type() {
        looks++;
        return undefined;
      },
    };
    expect(withConditions(Array.from({ length: 10_000 }, () => bad))).toEqual([]);
    // A few reads for each of 82 items: 32 that the list may hold, and 50 bad ones.
    expect(looks).toBeLessThan(500);
    looks = 0;
    withWarnings([...Array(64).fill("w"), ...Array.from({ length: 10_000 }, () => bad)]);
    expect(looks).toBe(0);
  });

  it("keeps the valid labels among thousands of bad ones", () => {
    const labels = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`l${index}`, index]));
    const mixed = { ...labels, "joulie.io/rack": "r1" };
    const issues = objectMetadata.safeParse({ ...metadata, labels: mixed }).error?.issues;
    expect(issues).toHaveLength(1);
    const object = readingOf(nodeTwinKind, { metadata: { ...metadata, labels: mixed }, spec });
    expect(object.metadata.labels).toEqual({ "joulie.io/rack": "r1" });
  });

  it("limits the number of owner references", () => {
    const owner = { apiVersion: "v1", kind: "Node", name: "worker-1", uid: "u" };
    const reading = readingOf(nodeTwinKind, {
      metadata: { ...metadata, ownerReferences: Array.from({ length: 1000 }, () => owner) },
      spec,
    });
    expect(reading.metadata.ownerReferences).toEqual(Array.from({ length: 64 }, () => owner));
  });
});
