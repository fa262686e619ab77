// The dashboard with its declared permissions on a real API server, which reviews the readers' tokens.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventuallyPasses } from "../../src/platform/clock/testing/index.ts";
import { parseConfig } from "../../src/platform/config/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { dashboardConfig } from "../../src/programs/dashboard/config.ts";
import { dashboardPermissions } from "../../src/programs/dashboard/permissions.ts";
import { runDashboard } from "../../src/programs/dashboard/start.ts";
import type { Snapshot } from "../../src/programs/dashboard/wire.ts";
import { reach } from "../contract/reach.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { compareRights } from "../controlplane/rights.ts";

/** Of the installation. */
const NAMESPACE = "joulie-system";

describe("the dashboard on a real API server", () => {
  let plane: ControlPlane;
  let url = "";
  let user: string;
  let stop: () => Promise<void>;

  beforeAll(async () => {
    plane = await startControlPlane({ audit: true });
    const identity = await plane.identity(dashboardPermissions(NAMESPACE), { name: "joulie-dashboard" });
    const { server, token, ca } = identity;
    user = identity.user;
    const env = { METRICS_ADDR: "127.0.0.1:0", DASHBOARD_ADDR: "127.0.0.1:0" };
    const parsed = parseConfig(dashboardConfig, {
      env,
      flags: {},
      machine: { isTerminal: false, exists: () => false },
    });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
    const transport = reach(server, token, ca);
    const log = createLogger({ level: "fatal", program: "dashboard" });
    const serving = Promise.withResolvers<string>();
    const ending = new AbortController();
    const world = { transport, clock: systemClock, ioClock: systemClock, random: systemRandom, log };
    const done = runDashboard(parsed.value.values, { ...world, onServing: serving.resolve }, ending.signal);
    done.catch(serving.reject);
    stop = async () => {
      ending.abort();
      await done;
      await transport.close();
    };
    url = await serving.promise;
  });
  afterAll(async () => {
    await stop();
    await plane.stop();
  });

  /** Sends the request like a local proxy, so that the dashboard does not treat the client as local. */
  const statusOf = async (path: string, token?: string): Promise<number> => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const headers = { "x-forwarded-for": "203.0.113.9", ...authorization };
    return (await fetch(`${url}${path}`, { headers })).status;
  };

  it("DSH-01 reads all its kinds with its own permissions", async () => {
    await eventuallyPasses(async () => {
      const snapshot = (await (await fetch(`${url}/api/snapshot`)).json()) as Snapshot;
      expect(snapshot.syncing).toEqual([]);
    });
  });

  it("DSH-04 accepts only tokens of users with RBAC permission to get /joulie/dashboard", async () => {
    const rules = [{ nonResourceURLs: ["/joulie/dashboard"], verbs: ["get"] }];
    const reader = await plane.identity(rules, { name: "reader" });
    // Every authenticated user may get /api: that must not be enough.
    const stranger = await plane.identity([{ nonResourceURLs: ["/api", "/api/*"], verbs: ["get"] }], {
      name: "stranger",
    });
    await eventuallyPasses(async () => expect(await statusOf("/api/snapshot", reader.token)).toBe(200));
    expect(await statusOf("/api/snapshot", stranger.token)).toBe(403);
    expect(await statusOf("/api/node/a", stranger.token)).toBe(403);
    expect(await statusOf("/api/snapshot", "made-up")).toBe(401);
    expect(await statusOf("/api/snapshot")).toBe(401);
    expect(await statusOf("/api/events")).toBe(401);
  });

  it("needs every verb of its role, and no other", () => {
    const own = plane.audited().filter((request) => request.user === user);
    expect(compareRights(dashboardPermissions(NAMESPACE), own)).toEqual({ unused: [], missing: [] });
  });
});
