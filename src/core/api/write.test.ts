import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { percent, watts } from "../units/index.ts";
import {
  type AnyKind,
  kinds,
  nodeHardwareKind,
  nodePowerProfileKind,
  nodeTwinKind,
  powerEndpointKind,
  telemetryProfileKind,
} from "./kinds.ts";
import { isNumeric, leavesOf, pathText, refusal, sampleOf, withValueAt } from "./testing/sample.ts";
import { validateForWrite } from "./write.ts";

const metadata = { name: "worker-1.example" };
const spec = { nodeName: "worker-1.example", profile: "eco" } as const;

/** As in messages: `a.0.b`. */
const issuePath = (path: readonly (string | number)[]): string => `${path.join(".")}: `;

const numericFields = kinds.flatMap((kind) =>
  leavesOf(kind)
    .filter(isNumeric)
    .map((leaf) => [`${kind.kind} ${pathText(leaf.path)}`, kind, leaf] as const),
);

describe.each(numericFields)("%s", (_, kind, { path, schema }) => {
  const sample = sampleOf<unknown>(kind);
  const refusalOf = (value: unknown) => refusal(kind, withValueAt(sample, path, value));

  it("X-04 never writes NaN or Infinity to the API", () => {
    for (const value of [Number.NaN, Infinity, -Infinity]) {
      expect(refusalOf(value)).toContain(issuePath(path));
    }
  });

  it("X-04 writes negative numbers only for trends and rejects values out of bounds", () => {
    const mayFall = pathText(path).endsWith("powerTrendWPerMin");
    fc.assert(
      fc.property(fc.double({ max: -Number.MIN_VALUE, noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(refusalOf(value) === undefined).toBe(mayFall);
      }),
      { numRuns: 20 },
    );
    const { maximum } = schema;
    expect(maximum === undefined || refusalOf(maximum + 1) !== undefined).toBe(true);
    expect(maximum === undefined || refusalOf(maximum) === undefined).toBe(true);
  });

  it("rejects values that are not numbers", () => {
    for (const value of [null, "720", true, {}, []]) expect(refusalOf(value)).toContain(issuePath(path));
  });
});

it("X-04 covers the numbers of every kind", () => {
  const counted = kinds.map((kind) => numericFields.filter(([, of]) => of === kind).length);
  expect(counted.map((count) => count >= 4)).toEqual([true, true, true, true, true]);
});

describe("checked", () => {
  it.each(kinds.map((kind) => [kind.kind, kind] as const))("returns a complete %s unchanged", (_, kind) => {
    expect(refusal(kind, sampleOf<unknown>(kind))).toBeUndefined();
  });

  it("adds apiVersion and kind, and accepts spec alone, status alone or neither", () => {
    const header = { apiVersion: "joulie.io/v1alpha1", kind: "NodeTwin" };
    const target = { ...spec, cpu: { packagePowerCapPctOfMax: percent(60) } };
    expect(validateForWrite(nodeTwinKind, { metadata, spec: target })).toEqual({ ...header, metadata, spec: target });
    const status = { controlStatus: { cpu: { result: "applied" as const, observedPowerWatts: watts(210.5) } } };
    expect(validateForWrite(nodeTwinKind, { metadata, status })).toEqual({ ...header, metadata, status });
    expect(validateForWrite(nodeTwinKind, { metadata })).toEqual({ ...header, metadata });
  });

  it("adds apiVersion and kind if they are undefined", () => {
    const written = validateForWrite(nodeTwinKind, {
      kind: undefined,
      apiVersion: undefined,
      metadata,
      spec,
    });
    expect(JSON.parse(JSON.stringify(written))).toEqual({
      apiVersion: "joulie.io/v1alpha1",
      kind: "NodeTwin",
      metadata,
      spec,
    });
  });

  it("keeps unknown metadata and undefined fields", () => {
    const whole = { ...metadata, labels: { "joulie.io/managed-by": "operator" }, finalizers: ["x"] };
    expect(validateForWrite(nodeTwinKind, { metadata: whole, status: undefined }).metadata).toBe(whole);
  });

  it.each<[string, AnyKind, unknown]>([
    [
      "NodeTwin worker-1.example was not written: spec.profile: Invalid option: expected one of ",
      nodeTwinKind,
      { metadata, spec: { ...spec, profile: "turbo" } },
    ],
    ["expected metadata.name to be spec.nodeName", nodeTwinKind, { metadata, spec: { ...spec, nodeName: "worker-2" } }],
    ["expected metadata.name to be spec.nodeName", nodeHardwareKind, { metadata, spec: { nodeName: "worker-2" } }],
    [
      "expected metadata.name to be spec.nodeName",
      nodePowerProfileKind,
      { metadata, spec: { ...spec, nodeName: "w" } },
    ],
    ["spec.cpu: expected at least one of packagePowerCapWatts", nodeTwinKind, { metadata, spec: { ...spec, cpu: {} } }],
    [
      "expected at least one of capWattsPerGpu",
      nodeTwinKind,
      { metadata, spec: { ...spec, gpu: { powerCap: { scope: "perGpu" } } } },
    ],
    [
      "spec.cpu.packagePowerCapPctOfMax: Too small: expected number to be >0",
      nodeTwinKind,
      { metadata, spec: { ...spec, cpu: { packagePowerCapPctOfMax: 0 } } },
    ],
    [
      "spec.cpu.capWatts: no such field",
      nodeTwinKind,
      { metadata, spec: { ...spec, cpu: { packagePowerCapWatts: 9, capWatts: 5 } } },
    ],
    ["stats: no such field", nodeTwinKind, { metadata, stats: {} }],
    ["status.gpu.capRange: no such field", nodeHardwareKind, { metadata, status: { gpu: { capRange: {} } } }],
    ["status: no such field", nodePowerProfileKind, { metadata, spec, status: {} }],
    ["spec.nodeName: Invalid input: expected string", nodeTwinKind, { metadata, spec: { profile: "eco" } }],
    ["metadata.name: expected a DNS name", nodeTwinKind, { metadata: { name: "Worker_1" } }],
    ["NodeTwin without metadata was not written: metadata: Invalid input: expected object", nodeTwinKind, {}],
    ['kind: Invalid input: expected "NodeTwin"', nodeTwinKind, { kind: "Pod", metadata }],
    ['kind: Invalid input: expected "NodeTwin"', nodeTwinKind, { kind: null, metadata }],
    [
      'apiVersion: Invalid input: expected "joulie.io/v1alpha1"',
      nodeTwinKind,
      { apiVersion: "joulie.io/v1", kind: "NodeTwin", metadata },
    ],
    ["expected nodeName where scope is node", telemetryProfileKind, { metadata, spec: { target: { scope: "node" } } }],
    [
      "expected http where type is http",
      telemetryProfileKind,
      { metadata, spec: { target: { scope: "cluster" }, controls: { cpu: { type: "http" } } } },
    ],
    [
      "expected prometheus where type is prometheus",
      telemetryProfileKind,
      { metadata, spec: { target: { scope: "cluster" }, sources: { gpu: { type: "prometheus" } } } },
    ],
    [
      "sources.gpu.prometheus.query: Invalid input",
      telemetryProfileKind,
      {
        metadata,
        spec: {
          target: { scope: "cluster" },
          sources: { gpu: { type: "prometheus", prometheus: { endpoint: "http://p" } } },
        },
      },
    ],
    ["status.updatedAt: Invalid ISO datetime", nodeHardwareKind, { metadata, status: { updatedAt: "yesterday" } }],
    [
      "status.gpu.slicing.modes: expected a value that no earlier item has",
      nodeHardwareKind,
      { metadata, status: { gpu: { slicing: { modes: ["mig", "mig"] } } } },
    ],
    [
      "status.quality.warnings: Too big: expected array to have <=64 items",
      nodeHardwareKind,
      { metadata, status: { quality: { warnings: Array(65).fill("w") } } },
    ],
  ])("reports %s", (message, kind, object) => {
    expect(refusal(kind, object)).toContain(message);
  });
});

describe("a PowerEndpoint", () => {
  const redfish = { address: "https://bmc-1.example" };
  const metal3 = { namespace: "metal", name: "host-1" };
  const webhook = { url: "https://switch.example/{node}" };
  const endpoint = (given: object, nodeName = metadata.name) => ({ metadata, spec: { nodeName, ...given } });

  it("SLP-04 has exactly one of redfish, metal3 and webhook", () => {
    for (const one of [{ redfish }, { metal3 }, { webhook }])
      expect(refusal(powerEndpointKind, endpoint(one))).toBeUndefined();
    for (const several of [{}, { redfish, metal3 }, { metal3, webhook }, { redfish, metal3, webhook }])
      expect(refusal(powerEndpointKind, endpoint(several))).toContain(
        "expected exactly one of redfish, metal3, webhook",
      );
  });

  it("SLP-04 has the name of its node", () => {
    expect(refusal(powerEndpointKind, endpoint({ redfish }, "worker-2"))).toContain(
      "metadata.name to be spec.nodeName",
    );
  });
});
