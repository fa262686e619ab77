import { describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { createLogger } from "../../log/index.ts";
import { seededRandom } from "../../random/index.ts";
import type { ApiRequest, ApiResponse, Transport } from "../client/transport.ts";
import { TokenAuthorizer } from "./token-authorizer.ts";

interface Review {
  readonly kind: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

const ANA = { username: "ana", uid: "7", groups: ["team"], extra: { scopes: ["a"] } };

/** An API server that knows one token and allows the user ana one path. */
class Reviews implements Transport {
  readonly asked: Review[] = [];
  readonly clock = new VirtualClock();
  log = "";
  allowed = true;
  knowsAudiences = true;
  status = 201;
  held: Promise<void> | undefined;

  async request({ path, body = "{}" }: ApiRequest): Promise<ApiResponse> {
    const review = JSON.parse(body) as Review;
    this.asked.push(review);
    await this.held;
    const answer =
      this.status === 201 ? { metadata: {}, status: this.#judge(path, review) } : { kind: "Status", message: body };
    const bytes = Buffer.from(JSON.stringify(answer));
    return {
      status: this.status,
      headers: {},
      body: (async function* () {
        yield bytes;
      })(),
    };
  }

  async close(): Promise<void> {}

  #judge(path: string, { spec }: Review): object {
    if (path.startsWith("/apis/authentication.k8s.io/v1/tokenreviews"))
      if (spec["audiences"] !== undefined)
        return { authenticated: true, user: ANA, ...(this.knowsAudiences && { audiences: spec["audiences"] }) };
    if (path.startsWith("/apis/authentication.k8s.io/v1/tokenreviews"))
      return spec["token"] === "good" ? { authenticated: true, user: ANA } : { authenticated: false, error: "no" };
    const attributes = spec["nonResourceAttributes"] as { path: string; verb: string };
    return { allowed: this.allowed && attributes.path === "/debug/plan" && attributes.verb === "get" };
  }

  authorizer(): TokenAuthorizer {
    const log = createLogger({ level: "trace", program: "test", destination: { write: (line) => (this.log += line) } });
    return new TokenAuthorizer({
      transport: this,
      clock: this.clock,
      random: seededRandom(1),
      log,
      userAgent: "joulie",
    });
  }
}

const tokenFor = (audience: string): string =>
  ["{}", JSON.stringify({ aud: [audience] }), "signature"]
    .map((part) => Buffer.from(part).toString("base64url"))
    .join(".");

describe("TokenAuthorizer", () => {
  it("asks for the audience joulie.io only for a token that has it, and only believes a server that checked it", async () => {
    const api = new Reviews();
    const tokens = api.authorizer();
    expect(await tokens.check(tokenFor("joulie.io"), "/debug/plan")).toBe("allowed");
    expect(api.asked[0]?.spec).toMatchObject({ audiences: ["joulie.io"] });
    api.knowsAudiences = false;
    api.clock.advance(milliseconds(61_000));
    expect(await tokens.check(tokenFor("joulie.io"), "/debug/plan")).toBe("unauthenticated");
    // A token for another service is reviewed as one for the API server, which refuses it.
    expect(await tokens.check(tokenFor("vault"), "/debug/plan")).toBe("unauthenticated");
    expect(api.asked.at(-1)?.spec).not.toHaveProperty("audiences");
  });

  it("reviews the token, then checks whether its user may get the path", async () => {
    const api = new Reviews();
    const tokens = api.authorizer();
    expect(await tokens.check("good", "/debug/plan")).toBe("allowed");
    expect(api.asked).toEqual([
      { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", metadata: {}, spec: { token: "good" } },
      {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        metadata: {},
        spec: {
          user: "ana",
          uid: "7",
          groups: ["team"],
          extra: { scopes: ["a"] },
          nonResourceAttributes: { path: "/debug/plan", verb: "get" },
        },
      },
    ]);
    expect(await tokens.check("good", "/debug/scoring")).toBe("forbidden");
    expect(await tokens.check("bad", "/debug/plan")).toBe("unauthenticated");
  });

  it("caches an allowed result for a minute and a denied one for ten seconds", async () => {
    const api = new Reviews();
    const tokens = api.authorizer();
    expect(await tokens.check("good", "/debug/plan")).toBe("allowed");
    api.allowed = false;
    api.clock.advance(milliseconds(59_999));
    expect(await tokens.check("good", "/debug/plan")).toBe("allowed");
    expect(api.asked).toHaveLength(2);
    api.clock.advance(milliseconds(1));
    expect(await tokens.check("good", "/debug/plan")).toBe("forbidden");
    api.allowed = true;
    api.clock.advance(milliseconds(9999));
    expect(await tokens.check("good", "/debug/plan")).toBe("forbidden");
    api.clock.advance(milliseconds(1));
    expect(await tokens.check("good", "/debug/plan")).toBe("allowed");
  });

  it("sends no review for text that is not a token", async () => {
    const api = new Reviews();
    const tokens = api.authorizer();
    for (const token of ["", "a b", "a\nb", "ä", "x".repeat(9000)])
      expect(await tokens.check(token, "/debug/plan")).toBe("unauthenticated");
    expect(api.asked).toEqual([]);
  });

  it("reviews a token once for concurrent requests, and limits concurrent reviews", async () => {
    const api = new Reviews();
    const { promise, resolve } = Promise.withResolvers<void>();
    api.held = promise;
    const tokens = api.authorizer();
    const same = Array.from({ length: 50 }, async () => tokens.check("good", "/debug/plan"));
    const others = Array.from({ length: 50 }, async (_, at) => tokens.check(`other-${at}`, "/debug/plan"));
    const refused = await Promise.all(others.slice(3));
    expect(new Set(refused)).toEqual(new Set(["unavailable"]));
    expect(api.asked).toHaveLength(4);
    resolve();
    expect(new Set(await Promise.all(same))).toEqual(new Set(["allowed"]));
    expect(new Set(await Promise.all(others.slice(0, 3)))).toEqual(new Set(["unauthenticated"]));
  });

  it("limits the load on the API server: 1,000 tokens in a row cause a few dozen calls", async () => {
    const api = new Reviews();
    const tokens = api.authorizer();
    const verdicts = Array.from({ length: 1000 }, async (_, at) => tokens.check(`guess-${at}`, "/debug/plan"));
    await api.clock.advanceAsync(milliseconds(1000));
    expect(new Set(await Promise.all(verdicts))).toEqual(new Set(["unavailable", "unauthenticated"]));
    for (let at = 0; at < 200; at++) void tokens.check(`again-${at}`, "/debug/plan");
    await api.clock.advanceAsync(milliseconds(1000));
    expect(api.asked.length).toBeLessThan(50);
  });

  it("denies access while token reviews fail, warns once, and never logs a token", async () => {
    const api = new Reviews();
    const tokens = api.authorizer();
    api.status = 403;
    for (let at = 0; at < 5; at++) expect(await tokens.check("good", "/debug/plan")).toBe("unavailable");
    expect(api.log.match(/cannot review bearer tokens/g)).toHaveLength(1);
    expect(api.log).toContain('"reason":"forbidden"');
    expect(api.log).not.toContain("good");
    api.status = 201;
    expect(await tokens.check("good", "/debug/plan")).toBe("allowed");
  });
});
