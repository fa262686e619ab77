import { describe, expect, it } from "vitest";
import type { TokenCheck } from "../../../platform/serve/index.ts";
import { DashboardAccess, dashboardPath } from "./access.ts";

const remote = (authorization?: string) => ({
  headers: { host: "dashboard.example", ...(authorization !== undefined && { authorization }) },
  socket: { remoteAddress: "10.0.0.7" },
});

describe("access to the dashboard", () => {
  it.each([
    ["allowed", undefined],
    ["forbidden", 403],
    ["unauthenticated", 401],
    ["unavailable", 503],
  ] as const)("DSH-04 follows the cluster's word about a token: %s gives %s", async (verdict, status) => {
    const asked: string[][] = [];
    const tokens: TokenCheck = {
      check: async (...one) => {
        asked.push(one);
        return verdict;
      },
    };
    const access = new DashboardAccess(tokens);
    expect((await access.denial(remote("Bearer s3cret")))?.status).toBe(status);
    expect(asked).toEqual([["s3cret", dashboardPath]]);
  });

  it("DSH-04 does not use a path that every user may get", () => {
    // The role system:discovery lets every authenticated user get these.
    expect(dashboardPath).not.toMatch(/^\/(api|apis|openapi|version|healthz|livez|readyz)(\/|$)/);
  });

  it.each(["", "Basic abc", "Bearer", "bearer  "])("DSH-04 asks for a token instead of %j", async (authorization) => {
    const access = new DashboardAccess({ check: async () => Promise.reject(new Error("not asked")) });
    expect((await access.denial(remote(authorization)))?.status).toBe(401);
  });

  it("DSH-04 asks clients on this machine for nothing", async () => {
    const access = new DashboardAccess({ check: async () => Promise.reject(new Error("not asked")) });
    const local = { headers: { host: "localhost:8090" }, socket: { remoteAddress: "127.0.0.1" } };
    expect(await access.denial(local)).toBeUndefined();
    expect((await access.denial({ ...local, headers: { host: "evil.example" } }))?.status).toBe(401);
  });
});
