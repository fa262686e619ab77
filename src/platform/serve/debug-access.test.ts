import { describe, expect, it } from "vitest";
import { DebugAccess, type DebugRequest, type TokenCheck } from "./debug-access.ts";

const request = (remoteAddress: string, headers: DebugRequest["headers"] = {}): DebugRequest => ({
  headers: { host: "localhost:8081", ...headers },
  socket: { remoteAddress },
});
const PATH = "/debug/plan";
const statusOf = async (access: DebugAccess, asked: DebugRequest) => (await access.refusal(asked, PATH))?.status;
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe("debug pages", () => {
  const closed = new DebugAccess({ open: false });

  it.each(["127.0.0.1", "::1", "::ffff:127.0.0.1"])("are served to %s under every local host name", async (peer) => {
    for (const host of ["localhost", "LOCALHOST:1", "127.0.0.1:8081", "[::1]:8081", "[::1]"])
      expect(await statusOf(closed, request(peer, { host }))).toBeUndefined();
  });

  it.each(["10.0.0.7", "::ffff:10.0.0.7", "fe80::1", "127.0.0.6", "0.0.0.0", ""])("are refused to %s", async (peer) => {
    expect(await closed.refusal(request(peer), PATH)).toEqual({
      status: 403,
      message:
        "/debug/plan is only served to clients on this machine: use kubectl port-forward, send a bearer token that may get /debug/plan, or set DEBUG_ENDPOINTS=true",
      headers: {},
    });
  });

  it.each([
    "evil.example",
    "evil.example:8081",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "10.0.0.7:8081",
    "",
  ])("are refused to a browser that uses the host name %s", async (host) => {
    expect(await statusOf(closed, request("127.0.0.1", { host }))).toBe(403);
  });

  it.each(["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "x-envoy-external-address"])(
    "are refused to requests that a local proxy forwards with %s",
    async (name) => {
      expect(await statusOf(closed, request("127.0.0.1", { [name]: "1" }))).toBe(403);
    },
  );

  it("are served to every client if DEBUG_ENDPOINTS is set", async () => {
    const open = new DebugAccess({ open: true });
    expect(await statusOf(open, request("10.0.0.7", { host: "evil.example" }))).toBeUndefined();
  });

  it.each([
    ["allowed", undefined],
    ["forbidden", 403],
    ["unauthenticated", 401],
    ["unavailable", 503],
  ] as const)("are served to the bearer of a token by the cluster's word: %s is %s", async (verdict, status) => {
    const asked: string[][] = [];
    const tokens: TokenCheck = {
      check: async (...one) => {
        asked.push(one);
        return verdict;
      },
    };
    const access = new DebugAccess({ open: false, tokens });
    const refusal = await access.refusal(request("10.0.0.7", bearer("s3cret")), PATH);
    expect(refusal?.status).toBe(status);
    expect(JSON.stringify(refusal) ?? "").not.toContain("s3cret");
    expect(asked).toEqual([["s3cret", PATH]]);
    // The API is not asked about requests that need no token or have none.
    await access.refusal(request("127.0.0.1", bearer("s3cret")), PATH);
    expect(await statusOf(access, request("10.0.0.7", { authorization: "Basic abc" }))).toBe(403);
    expect(await statusOf(access, request("10.0.0.7"))).toBe(403);
    expect(asked).toHaveLength(1);
  });
});
