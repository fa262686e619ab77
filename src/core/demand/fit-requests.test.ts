import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Container, Pod, PodSpec, ResourceList } from "../api/index.ts";
import { addQuantities, amountOf, fitRequests } from "./fit-requests.ts";

const pod = (spec: PodSpec): Pod => ({ metadata: { name: "p" }, spec });
const asking = (requests: ResourceList, limits?: ResourceList): Container => ({
  resources: { requests, ...(limits && { limits }) },
});
const sidecar = (requests: ResourceList): Container => ({ resources: { requests }, restartPolicy: "Always" });
const fit = (spec: PodSpec) => Object.fromEntries(fitRequests(pod(spec)));

describe("requests for fit", () => {
  it("X-60 sums containers over every resource and every suffix", () => {
    const containers = [
      asking({ cpu: "500m", memory: "1Gi", "nvidia.com/gpu": "1" }),
      asking({ cpu: 2, memory: "512Mi", "example.com/widget": "1e3" }),
    ];
    expect(fit({ containers })).toEqual({
      cpu: 2.5,
      memory: 1.5 * 2 ** 30,
      "nvidia.com/gpu": 1,
      "example.com/widget": 1000,
    });
    expect(fit({ containers: Array.from({ length: 10 }, () => asking({ cpu: "100m" })) })).toEqual({ cpu: 1 });
    expect(fit({})).toEqual({});
  });

  it("reserves the largest init container if it is larger than all containers together", () => {
    const containers = [asking({ cpu: 1, memory: 100 }), asking({ cpu: 1, memory: 100 })];
    const initContainers = [asking({ cpu: 5, memory: 50 }), asking({ cpu: 3, memory: 150, disk: 7 })];
    expect(fit({ containers, initContainers })).toEqual({ cpu: 5, memory: 200, disk: 7 });
  });

  it("adds sidecars to the containers and to the init containers that start after them", () => {
    const containers = [asking({ cpu: 1 })];
    expect(fit({ containers, initContainers: [sidecar({ cpu: 2 })] })).toEqual({ cpu: 3 });
    expect(fit({ containers, initContainers: [sidecar({ cpu: 2 }), asking({ cpu: 4 })] })).toEqual({ cpu: 6 });
    expect(fit({ containers, initContainers: [asking({ cpu: 4 }), sidecar({ cpu: 2 })] })).toEqual({ cpu: 4 });
    expect(
      fit({
        containers,
        initContainers: [sidecar({ cpu: 2 }), sidecar({ cpu: 3 }), asking({ cpu: 4 }), sidecar({ cpu: 1 })],
      }),
    ).toEqual({ cpu: 9 });
    const never: Container = { ...asking({ cpu: 2 }), restartPolicy: "OnFailure" };
    expect(fit({ containers, initContainers: [never] })).toEqual({ cpu: 2 });
  });

  it("replaces the sum by pod-level requests, for CPU, memory and huge pages only, and adds overhead", () => {
    const containers = [asking({ cpu: 1, memory: 100, "nvidia.com/gpu": 1, "hugepages-2Mi": 4 })];
    expect(
      fit({
        containers,
        resources: { requests: { cpu: 8, "nvidia.com/gpu": 3, "hugepages-2Mi": 6 } },
        overhead: { cpu: "250m", memory: 20 },
      }),
    ).toEqual({ cpu: 8.25, memory: 120, "nvidia.com/gpu": 1, "hugepages-2Mi": 6 });
    expect(fit({ containers, resources: { requests: { memory: 10 } } })).toMatchObject({ cpu: 1, memory: 10 });
  });

  it("uses the limit for a missing request, as the API server does", () => {
    expect(fit({ containers: [asking({ cpu: 1 }, { cpu: 4, memory: 64 })] })).toEqual({ cpu: 1, memory: 64 });
    const containers = [asking({ cpu: 1 })];
    expect(fit({ containers, resources: { limits: { cpu: 4, memory: 64 } } })).toEqual({ cpu: 1, memory: 64 });
    expect(fit({ containers, resources: { requests: { cpu: 2 }, limits: { cpu: 4 } } })).toEqual({ cpu: 2 });
  });

  it("X-60 treats a bad quantity as missing", () => {
    const containers = [
      asking({ cpu: "two", memory: "-1Gi" }),
      asking({ cpu: "two", "nvidia.com/gpu": Number.NaN }, { cpu: 3 }),
    ];
    expect(fit({ containers })).toEqual({ cpu: 3 });
    const unread = { overhead: { cpu: "x" }, resources: { requests: { cpu: "y" }, limits: { cpu: "z" } } };
    expect(fit(unread)).toEqual({});
  });

  it("X-60 stays finite for any request, and ignores names from the prototype", () => {
    const requests = fitRequests(pod({ containers: [asking({ cpu: 1e308 }), asking({ cpu: "1e308" })] }));
    expect(requests.get("cpu")).toBe(2 ** 64);
    expect(fit({ containers: [{}, { resources: {} }], initContainers: [{}] })).toEqual({});
    const odd = JSON.parse('{"__proto__": "1"}') as ResourceList;
    expect([...fitRequests(pod({ containers: [asking(odd)] }))]).toEqual([["__proto__", 1]]);
  });

  it("never reserves less than the containers request, nor less than any init container", () => {
    const amount = fc.integer({ min: 0, max: 64 });
    const spec = fc.record({
      containers: fc.array(amount, { minLength: 1, maxLength: 4 }),
      init: fc.array(fc.record({ cpu: amount, always: fc.boolean() }), { maxLength: 5 }),
    });
    fc.assert(
      fc.property(spec, ({ containers, init }) => {
        const cpu =
          fitRequests(
            pod({
              containers: containers.map((each) => asking({ cpu: each })),
              initContainers: init.map((each) =>
                each.always ? sidecar({ cpu: each.cpu }) : asking({ cpu: each.cpu }),
              ),
            }),
          ).get("cpu") ?? 0;
        // Step by step: the containers that run while each init container starts, and those that run at the end.
        let sidecars = 0;
        let most = 0;
        for (const each of init) {
          most = Math.max(most, sidecars + each.cpu);
          if (each.always) sidecars += each.cpu;
        }
        expect(cpu).toBe(Math.max(most, sidecars + containers.reduce((sum, each) => sum + each, 0)));
      }),
    );
  });

  it.each(["{}", '{"spec":null}', '{"spec":{"containers":[null],"initContainers":[null],"overhead":null}}'])(
    "reserves no resources for %s",
    (json) => {
      expect(fitRequests(JSON.parse(json) as Pod)).toEqual(new Map());
    },
  );
});

it.each([
  ['"2"', 2],
  ["2", 2],
  ['"500m"', 0.5],
  ["0", 0],
])("X-60 %s is read", (json, amount) => {
  expect(amountOf(JSON.parse(`{"cpu":${json}}`) as ResourceList, "cpu")).toBe(amount);
});

it.each(['"two"', "-1", "null", "true", "[1]", '{"toString":1,"valueOf":1}'])("X-60 %s counts as missing", (json) => {
  expect(amountOf(JSON.parse(`{"cpu":${json}}`) as ResourceList, "cpu")).toBeUndefined();
});

it("reads no quantity from the prototype", () => {
  expect(amountOf(undefined, "cpu")).toBeUndefined();
  expect(amountOf({}, "toString")).toBeUndefined();
});

it("ten times 100m is one", () => {
  expect(Array.from({ length: 10 }, () => 0.1).reduce(addQuantities)).toBe(1);
});
