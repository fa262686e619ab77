// Minimal RBAC of the agent: one life of an agent in each mode needs every verb of its role, and no other.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { labels } from "../../src/core/api/index.ts";
import { eventuallyPasses } from "../../src/platform/clock/testing/index.ts";
import { agentPermissions } from "../../src/programs/agent/permissions.ts";
import { FakeControlService } from "../../src/programs/agent/testing/fake-control-service.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import type { ClusterIdentity } from "../controlplane/identities.ts";
import { compareRights } from "../controlplane/rights.ts";
import { AgentClusterHarness, hardwares, ORIGINAL } from "./agent-harness.ts";

const CAPPED = "240 240 750 740";
const debugPage = "/debug/node";

describe("the agent's role", () => {
  let plane: ControlPlane;
  let harness: AgentClusterHarness;
  let service: FakeControlService;
  /** A person who may read debug pages. */
  let reader: ClusterIdentity;
  beforeAll(async () => {
    plane = await startControlPlane({ audit: true });
    reader = await plane.identity([{ nonResourceURLs: [debugPage], verbs: ["get"] }], { name: "reader" });
  });
  afterAll(async () => plane?.stop());
  beforeEach(async () => {
    harness = new AgentClusterHarness(plane);
    service = new FakeControlService();
    await service.listen();
  });
  afterEach(async () => {
    await harness.close();
    await service.close();
  });

  const manage = async (node: string, managed: "true" | null) =>
    plane.api.mergePatch(`/api/v1/nodes/${node}`, { metadata: { labels: { [labels.managed]: managed } } });

  interface Life {
    readonly node: string;
    readonly agent: ReturnType<AgentClusterHarness["start"]>;
    readonly isCapped: () => Promise<void>;
    readonly isRestored: () => Promise<void>;
  }

  /** Caps a node, reports, restores twice, shows the debug page and stops. */
  const live = async ({ node, agent, isCapped, isRestored }: Life) => {
    await isCapped();
    await eventuallyPasses(async () => {
      expect((await harness.profile("own")).status?.control?.cpu?.result).toBe("applied");
      expect((await harness.twin(node)).status?.controlStatus?.cpu?.result).toBe("applied");
      expect(await plane.api.get<object>(`${hardwares}/${node}`)).toHaveProperty("status");
    });
    // The request comes like that of a proxy, so the agent does not treat it as local.
    const headers = { "x-forwarded-for": "203.0.113.9", authorization: `Bearer ${reader.token}` };
    await eventuallyPasses(async () => expect(await agent.page(`${debugPage}?node=${node}`, headers)).toContain(node));
    expect(await agent.page(debugPage, { ...headers, authorization: "Bearer made-up" })).not.toContain(node);
    await manage(node, null);
    await isRestored();
    await manage(node, "true");
    await isCapped();
    await manage(node, null);
    await isRestored();
    // The second restoration counts as a repetition of the first Event.
    await agent.stop();
    const { items } = await plane.api.get<{ items: { reason: string; series?: { count: number } }[] }>(
      "/apis/events.k8s.io/v1/namespaces/default/events",
    );
    const counts = items.filter(({ reason }) => reason === "LimitsRestored").map(({ series }) => series?.count);
    expect(counts).toContain(2);
  };

  const requestsOf = (identity: ClusterIdentity) => {
    const own = plane.audited().filter(({ user }) => user === identity.user);
    expect(own.filter(({ code }) => code === 401 || code === 403)).toEqual([]);
    return own;
  };
  const minimal = { unused: [], missing: [] };

  it("is minimal for a DaemonSet", async () => {
    const identity = await plane.identity(agentPermissions("daemonset"), { name: "joulie-agent" });
    const machine = harness.machine();
    await harness.node("host");
    await harness.route("own", { target: { scope: "node", nodeName: "host" } });
    await harness.target("host", { cpu: { packagePowerCapWatts: 240 } });
    const agent = harness.start(identity, { NODE_NAME: "host", ...machine.variables });
    await live({
      node: "host",
      agent,
      isCapped: async () => machine.waitForLimits(CAPPED),
      isRestored: async () => machine.waitForLimits(ORIGINAL),
    });
    expect(compareRights(agentPermissions("daemonset"), requestsOf(identity))).toEqual(minimal);
  });

  it("is minimal for a pool", async () => {
    const identity = await plane.identity(agentPermissions("pool"), { name: "joulie-agent-pool" });
    const http = { timeoutSeconds: 2 };
    await harness.node("remote");
    await harness.route("own", {
      target: { scope: "node", nodeName: "remote" },
      sources: { cpu: { type: "http", http: { ...http, endpoint: service.telemetry } } },
      controls: { cpu: { type: "http", http: { ...http, endpoint: service.control, mode: "auto" } } },
    });
    await harness.target("remote", { cpu: { packagePowerCapWatts: 240 } });
    Object.assign(service.node("remote"), { power: 300, capWatts: 700 });
    const agent = harness.start(identity, {
      AGENT_MODE: "pool",
      POOL_SHARD_ID: "0",
      TELEMETRY_ALLOWED_ENDPOINTS: service.origin,
      ...harness.machine().variables,
    });
    const hasCap = async (watts: number) => eventuallyPasses(() => expect(service.node("remote").capWatts).toBe(watts));
    await live({
      node: "remote",
      agent,
      isCapped: async () => hasCap(240),
      // The cap in telemetry may be the agent's own, so it restores a value above every package.
      isRestored: async () => hasCap(1000),
    });
    expect(compareRights(agentPermissions("pool"), requestsOf(identity))).toEqual(minimal);
  });
});
