// The power program on a real API server, with its declared permissions and a webhook as the switch.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { NodeTwin, PowerEndpoint } from "../../src/core/api/index.ts";
import { milliseconds } from "../../src/core/units/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventually, eventuallyPasses } from "../../src/platform/clock/testing/index.ts";
import { parseConfig } from "../../src/platform/config/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { FakeHttpServer } from "../../src/platform/switch/testing/fake-http-server.ts";
import { powerConfig } from "../../src/programs/power/config.ts";
import { powerPermissions } from "../../src/programs/power/permissions.ts";
import { runPower } from "../../src/programs/power/start.ts";
import { reach } from "../contract/reach.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { compareRights } from "../controlplane/rights.ts";

const node = "/api/v1/nodes/worker";
const twin = "/apis/joulie.io/v1alpha1/nodetwins/worker";
const endpoint = "/apis/joulie.io/v1alpha1/powerendpoints/worker";

describe("joulie power on a real API server", () => {
  let plane: ControlPlane;
  let user: string;
  let stop: () => Promise<void>;
  let power = "on";
  const actions: string[] = [];
  const server = new FakeHttpServer(({ method, body, headers }) => {
    if (headers.authorization !== "Bearer t0ken") return { status: 401 };
    if (method === "GET") return { json: { state: power } };
    const { action } = JSON.parse(body) as { action: string };
    actions.push(action);
    power = action === "on" ? "on" : "off";
    return { status: 202 };
  });

  const heartbeat = async () => {
    const now = new Date().toISOString();
    const ready = { type: "Ready", status: "True", reason: "Test", message: "", lastTransitionTime: now };
    await plane.api.mergePatch(`${node}/status`, { status: { conditions: [{ ...ready, lastHeartbeatTime: now }] } });
  };
  const powerOf = async () => (await plane.api.get<NodeTwin>(twin)).status?.power?.state;
  const taints = async () =>
    (await plane.api.get<{ spec: { taints?: { key: string }[] } }>(node)).spec.taints?.map(({ key }) => key) ?? [];

  beforeAll(async () => {
    plane = await startControlPlane({ audit: true });
    const url = await server.listen();
    await plane.kubectl(["create", "namespace", "joulie-system"]);
    await plane.api.create("/api/v1/namespaces/joulie-system/secrets", {
      metadata: { name: "switch", annotations: { "joulie.io/hosts": url } },
      stringData: { token: "t0ken" },
    });
    await plane.createNodes(["worker"], { labels: { "joulie.io/may-sleep": "true" } });
    await plane.api.create("/apis/joulie.io/v1alpha1/nodetwins", {
      apiVersion: "joulie.io/v1alpha1",
      kind: "NodeTwin",
      metadata: { name: "worker" },
      spec: { nodeName: "worker", profile: "eco" },
    });
    await plane.api.create("/apis/joulie.io/v1alpha1/powerendpoints", {
      apiVersion: "joulie.io/v1alpha1",
      kind: "PowerEndpoint",
      metadata: { name: "worker" },
      spec: { nodeName: "worker", webhook: { url, credentialsSecretRef: { name: "switch" } } },
    });
    // A pod that waits for a volume, so that its claim is read.
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
    const containers = [{ name: "main", image: "none" }];
    await plane.api.create("/api/v1/namespaces/default/pods", {
      metadata: { name: "waits" },
      spec: { containers, volumes },
    });
    const identity = await plane.identity(powerPermissions("joulie-system"), { name: "joulie-power" });
    user = identity.user;
    const env = {
      METRICS_ADDR: "127.0.0.1:0",
    };
    const parsed = parseConfig(powerConfig, { env, flags: {}, machine: { isTerminal: false, exists: () => false } });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
    const transport = reach(identity.server, identity.token, identity.ca);
    const log = createLogger({ level: "fatal", program: "power" });
    const times = {
      settle: milliseconds(1000),
      pollInterval: milliseconds(200),
      refreshInterval: milliseconds(1000),
      // Otherwise the node stays awake for five minutes after its test.
      awakeAtLeast: milliseconds(1000),
    };
    const world = { transport, clock: systemClock, ioClock: systemClock, random: systemRandom, log, times };
    const ending = new AbortController();
    const done = runPower(parsed.value.values, world, ending.signal);
    stop = async () => {
      ending.abort();
      await done;
      await transport.close();
    };
  });
  afterAll(async () => {
    await stop();
    await server.close();
    await plane.stop();
  });

  it("X-140 sends no Secret to the server of an author who may only write PowerEndpoints", async () => {
    const rogue = new FakeHttpServer(() => ({ json: { state: "on" } }));
    const address = await rogue.listen();
    await plane.createNodes(["bait"]);
    const bait = "/apis/joulie.io/v1alpha1/powerendpoints/bait";
    await plane.api.create("/apis/joulie.io/v1alpha1/powerendpoints", {
      apiVersion: "joulie.io/v1alpha1",
      kind: "PowerEndpoint",
      metadata: { name: "bait" },
      spec: { nodeName: "bait", webhook: { url: address, credentialsSecretRef: { name: "switch" } } },
    });
    await eventuallyPasses(async () => {
      const { status } = await plane.api.get<PowerEndpoint>(bait);
      const condition = status?.conditions?.find(({ type }) => type === "Reachable");
      expect(condition).toMatchObject({ status: "False", reason: "Refused" });
      expect(condition?.message).toContain(`not for ${address}; nothing was sent`);
    });
    expect(rogue.received).toEqual([]);
    await plane.api.remove(bait);
    await rogue.close();
  });

  it("SLP-04 the API server rejects a PowerEndpoint with two switches, none, or another name", async () => {
    const create = async (name: string, spec: object) =>
      plane.api.create("/apis/joulie.io/v1alpha1/powerendpoints", {
        apiVersion: "joulie.io/v1alpha1",
        kind: "PowerEndpoint",
        metadata: { name },
        spec: { nodeName: "other", ...spec },
      });
    const webhook = { url: "https://switch.example" };
    const metal3 = { namespace: "metal", name: "host" };
    await expect(create("other", { webhook, metal3 })).rejects.toThrow(
      "expected exactly one of redfish, metal3, webhook",
    );
    await expect(create("other", {})).rejects.toThrow("expected exactly one of redfish, metal3, webhook");
    await expect(create("another", { webhook })).rejects.toThrow("expected metadata.name to be spec.nodeName");
    await create("other", { metal3 });
    await plane.api.remove("/apis/joulie.io/v1alpha1/powerendpoints/other");
  });

  it("SLP-10 SLP-21 tests a wake, then sleeps and wakes the node when the target says so", async () => {
    await plane.api.mergePatch(endpoint, { metadata: { annotations: { "joulie.io/test-power": "now" } } });
    await eventually(() => actions.includes("on"));
    expect(await taints()).toContain("joulie.io/asleep");
    await heartbeat();
    await eventually(async () => (await plane.api.get<PowerEndpoint>(endpoint)).status?.wakeProven === true);
    await eventually(async () => (await powerOf()) === "on");
    expect(actions).toEqual(["shutdown", "on"]);
    expect(await taints()).not.toContain("joulie.io/asleep");

    await plane.api.mergePatch(twin, { spec: { power: { state: "off", reason: "a test" } } });
    await eventually(async () => (await powerOf()) === "off").catch(async () => {
      const found = await plane.api.get<PowerEndpoint>(endpoint);
      throw new Error(`the node does not sleep: ${JSON.stringify(found.status)}`);
    });
    expect(power).toBe("off");
    await plane.api.mergePatch(twin, { spec: { power: { state: "on", reason: "a test" } } });
    await eventually(() => power === "on");
    await heartbeat();
    await eventually(async () => (await powerOf()) === "on");
    expect(await taints()).not.toContain("joulie.io/asleep");
  });

  it("SLP-24 needed every verb of its role, and no other", async () => {
    const requests = () => plane.audited().filter((request) => request.user === user);
    // The program renews its Lease every two seconds.
    await eventually(() => requests().some(({ resource, verb }) => resource === "leases" && verb === "patch"));
    const own = requests();
    const { unused, missing } = compareRights(powerPermissions("joulie-system"), own);
    expect(missing).toEqual([]);
    // Metal3 is not installed here, and no Event was repeated for a minute.
    const elsewhere = ["get metal3.io/baremetalhosts", "patch events.k8s.io/events", "patch metal3.io/baremetalhosts"];
    expect(unused.filter((right) => !elsewhere.includes(right))).toEqual([]);
  });
});
