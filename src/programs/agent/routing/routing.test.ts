import { describe, expect, it } from "vitest";
import type { TelemetryProfile, TelemetryProfileSpec } from "../../../core/api/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import { EndpointAccess } from "../../../platform/telemetry/index.ts";
import { type RoutingSettings, routingOf } from "./routing.ts";

function origins(hosts: readonly string[]) {
  return hosts.map((host) => ({ kind: "origin", origin: `http://${host}` }) as const);
}

const settings: RoutingSettings = {
  variables: {
    cpuSource: { type: "host" },
    gpuSource: { type: "host" },
    cpuControl: { type: "host", mode: "auto" },
    gpuControl: { type: "host", mode: "auto" },
  },
  timeout: milliseconds(5000),
  access: new EndpointAccess({
    variables: [],
    allowed: [{ kind: "origin", origin: "https://{node}.bmc" }, ...origins(["own", "cluster", "b", "c", "x"])],
    hasToken: false,
    insecureToken: false,
  }),
  mayUseHost: true,
};
const pool = { ...settings, mayUseHost: false };

const profile = (
  name: string,
  spec: Omit<TelemetryProfileSpec, "target">,
  more: { node?: string; born?: string } = {},
): TelemetryProfile => ({
  metadata: { name, creationTimestamp: more.born ?? "2030-01-01T00:00:00Z" },
  spec: { target: more.node === undefined ? { scope: "cluster" } : { scope: "node", nodeName: more.node }, ...spec },
});
const http = (endpoint: string) => ({ type: "http", http: { endpoint } }) as const;

describe("routes", () => {
  it("X-08 AGT-05 uses the node's own profile, else the cluster's, else the variables, separately for each subject", () => {
    const own = profile("own", { controls: { cpu: http("http://own") } }, { node: "a" });
    const cluster = profile("cluster", {
      sources: { cpu: http("http://cluster/t") },
      controls: { cpu: http("http://cluster"), gpu: { type: "none" } },
    });
    const others = profile("others", { controls: { cpu: { type: "none" } } }, { node: "b" });
    expect(routingOf("a", [cluster, own, others], settings).route).toEqual({
      cpuSource: { type: "http", endpoint: "http://cluster/t", timeout: 5000 },
      gpuSource: { type: "host" },
      cpuControl: { type: "http", endpoint: "http://own", timeout: 5000, mode: "auto" },
      gpuControl: { type: "none" },
    });
    expect(routingOf("a", [cluster, own], settings).nodeProfile?.metadata.name).toBe("own");
    expect(routingOf("c", [cluster, own], settings)).toMatchObject({
      nodeProfile: undefined,
      route: { cpuControl: { endpoint: "http://cluster" } },
    });
    expect(routingOf("a", [], settings).route).toEqual(settings.variables);
  });

  it("uses the oldest of several profiles for one node, and lists the others as superseded", () => {
    const older = profile("z", { controls: { cpu: { type: "none" } } }, { node: "a", born: "2029-01-01T00:00:00Z" });
    const newer = profile("b", { controls: { cpu: http("http://b") } }, { node: "a" });
    const same = profile("c", { controls: { cpu: http("http://c") } }, { node: "a" });
    const { route, superseded } = routingOf("a", [same, newer, older], settings);
    expect(route.cpuControl).toEqual({ type: "none" });
    expect(superseded.map(({ profile: { metadata }, by }) => `${metadata.name} by ${by}`)).toEqual([
      "b by z",
      "c by z",
    ]);
    expect(routingOf("a", [same, newer], settings).route.cpuControl).toMatchObject({ endpoint: "http://b" });
  });

  it.each([
    ["cpu", { controls: { cpu: { type: "http" } } }, "cpuControl"],
    ["gpu", { controls: { gpu: { type: "http" } } }, "gpuControl"],
    ["source", { sources: { cpu: { type: "http" } } }, "cpuSource"],
    ["prometheus", { sources: { cpu: { type: "prometheus" } } }, "cpuSource"],
  ] as const)("X-38 %s: blocks a route without an endpoint instead of using the host", (_, spec, subject) => {
    const { route } = routingOf("a", [profile("own", spec, { node: "a" })], settings);
    expect(route[subject].type).toBe("unusable");
  });

  it.each([
    ["http://evil/t", "http://evil is not an allowed endpoint"],
    ["http://own:81", "http://own:81 is not an allowed endpoint"],
    ["https://b.bmc/t", "https://b.bmc is not an allowed endpoint"],
    ["http://{node}/", "http://a is not an allowed endpoint"],
  ])("X-38 blocks an endpoint that no variable allows, for every subject: %s", (endpoint, why) => {
    const prometheus = { type: "prometheus", prometheus: { endpoint, query: "up" } } as const;
    const spec = {
      sources: { cpu: http(endpoint), gpu: prometheus },
      controls: { cpu: http(endpoint), gpu: http(endpoint) },
    };
    const { route } = routingOf("a", [profile("own", spec, { node: "a" })], settings);
    for (const way of Object.values(route))
      expect(way).toMatchObject({ type: "unusable", why: expect.stringContaining(why) });
    const own = { controls: { cpu: http("https://{node}.bmc/c") } };
    expect(routingOf("a", [profile("own", own, { node: "a" })], settings).route.cpuControl.type).toBe("http");
  });

  it("X-39 never routes to the host in pool mode", () => {
    const { route } = routingOf("a", [profile("own", { controls: { cpu: { type: "host" } } }, { node: "a" })], pool);
    expect(route.cpuControl).toMatchObject({
      type: "unusable",
      why: expect.stringContaining("never touches its own host"),
    });
    expect(route.cpuSource.type).toBe("unusable");
  });

  it("uses the mode and timeout of the profile", () => {
    const spec = {
      controls: { cpu: { type: "http", http: { endpoint: "http://x", mode: "dvfs", timeoutSeconds: 2 } } },
    } as const;
    expect(routingOf("a", [profile("own", spec, { node: "a" })], settings).route.cpuControl).toEqual({
      type: "http",
      endpoint: "http://x",
      timeout: 2000,
      mode: "dvfs",
    });
  });
});
