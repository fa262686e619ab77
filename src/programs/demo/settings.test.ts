import { expect, it } from "vitest";
import { parseConfig } from "../../platform/config/index.ts";
import { demoConfig } from "./config.ts";
import type { DemoCluster } from "./demo-cluster.ts";
import { fleetSettings } from "./settings.ts";

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
