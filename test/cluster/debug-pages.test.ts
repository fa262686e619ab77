// Debug pages of a real extender with its declared permissions; a real API server reviews the clients' tokens.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventually, eventuallyPasses } from "../../src/platform/clock/testing/index.ts";
import { parseConfig } from "../../src/platform/config/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { freePorts } from "../../src/platform/serve/listen.ts";
import { extenderConfig } from "../../src/programs/extender/config.ts";
import { extenderPermissions } from "../../src/programs/extender/permissions.ts";
import { runExtender } from "../../src/programs/extender/start.ts";
import { reach } from "../contract/reach.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { compareRights } from "../controlplane/rights.ts";

describe("debug pages", () => {
  let plane: ControlPlane;
  let url: string;
  let user: string;
  let stop: () => Promise<void>;

  beforeAll(async () => {
    plane = await startControlPlane({ audit: true });
    const [port = 0] = await freePorts(1);
    const identity = await plane.identity(extenderPermissions, { name: "joulie-extender" });
    const { server, token, ca } = identity;
    user = identity.user;
    const env = { METRICS_ADDR: "127.0.0.1:0", EXTENDER_ADDR: `127.0.0.1:${port}` };
    const parsed = parseConfig(extenderConfig, { env, flags: {}, machine: { isTerminal: false, exists: () => false } });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
    const transport = reach(server, token, ca);
    const log = createLogger({ level: "fatal", program: "extender" });
    const world = { transport, clock: systemClock, ioClock: systemClock, random: systemRandom, log };
    const ending = new AbortController();
    const done = runExtender(parsed.value.values, world, ending.signal);
    stop = async () => {
      ending.abort();
      await done;
      await transport.close();
    };
    url = `http://127.0.0.1:${port}`;
    await eventually(async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200);
  });
  afterAll(async () => {
    await stop();
    await plane.stop();
  });

  /** Sends the request like a local proxy, so that the extender does not treat the client as local. */
  const statusOf = async (path: string, token?: string): Promise<number> => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return (await fetch(`${url}${path}`, { headers: { "x-forwarded-for": "203.0.113.9", ...authorization } })).status;
  };

  it("accept only tokens of users with RBAC permission to get the path", async () => {
    const rules = [{ nonResourceURLs: ["/debug/decisions"], verbs: ["get"] }];
    const reader = await plane.identity(rules, { name: "reader" });
    const unprivileged = await plane.identity([], { name: "stranger" });
    // The API server needs a moment to apply a new role, and the extender caches a denial for ten seconds.
    await eventuallyPasses(async () => expect(await statusOf("/debug/decisions", reader.token)).toBe(200));
    expect(await statusOf("/debug/scoring", reader.token)).toBe(403);
    expect(await statusOf("/debug/decisions", unprivileged.token)).toBe(403);
    expect(await statusOf("/debug/decisions", "made-up")).toBe(401);
    expect(await statusOf("/debug/decisions")).toBe(403);
  });

  it("the extender needed every verb of its role, and no other", () => {
    const own = plane.audited().filter((request) => request.user === user);
    expect(compareRights(extenderPermissions, own)).toEqual({ unused: [], missing: [] });
  });
});
