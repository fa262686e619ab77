import { expect, it } from "vitest";
import { parseConfig } from "../../platform/config/index.ts";
import { demoConfig, firstSpeed, wantedSpeed } from "./config.ts";
import type { DemoCluster } from "./demo-cluster.ts";
import { fleetSettings, sleeps } from "./settings.ts";

it.each([
  ["have no taint in an embedded cluster, so that any pod can run on them", true],
  ["are tainted in a real cluster, so that no real pod waits for a container that never starts", false],
])("the demo's nodes %s", (_, embedded) => {
  const parsed = parseConfig(demoConfig, { env: {}, flags: {}, machine: { isTerminal: false, exists: () => false } });
  if (!parsed.ok) throw new Error("the defaults are refused");
  const plane: DemoCluster = {
    kubeconfig: "",
    server: "",
    embedded,
    workload: { namespace: "default", scheduler: "default-scheduler" },
    connect: async () => Promise.reject(new Error("not here")),
    close: async () => undefined,
  };
  expect(fleetSettings(parsed.value.values, plane).TAINT_NODES).toBe(!embedded);
});

it.each([
  [{}, { first: 60, wanted: 60 }],
  [{ NODES: "500" }, { first: 4, wanted: 60 }],
  [{ NODES: "10000" }, { first: 1, wanted: 60 }],
  [
    { NODES: "500", SPEED: "1" },
    { first: 1, wanted: 1 },
  ],
])("X-163 lets nodes sleep at every size and speed: %j begins at %j", (flags, speeds) => {
  const parsed = parseConfig(demoConfig, { env: {}, flags, machine: { isTerminal: false, exists: () => false } });
  if (!parsed.ok) throw new Error("the flags are refused");
  const config = parsed.value.values;
  expect(sleeps(config, { embedded: true })).toBe(true);
  expect({ first: firstSpeed(config), wanted: wantedSpeed(config) }).toEqual(speeds);
});
