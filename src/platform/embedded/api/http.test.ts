import { X509Certificate } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { type Clock, systemClock } from "../../clock/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { seededRandom } from "../../random/index.ts";
import { EmbeddedApi } from "../embedded-api.ts";
import { selfSigned } from "./certificate.ts";

const open: EmbeddedApi[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map(async (api) => api.close()));
});
function embedded(clock: Clock = systemClock) {
  const api = new EmbeddedApi({ clock, random: seededRandom(1) });
  open.push(api);
  return api;
}

describe("listening", () => {
  it("accepts only requests with the token", async () => {
    const { url, token } = await embedded().listen();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const status = async (headers: Record<string, string>) => (await fetch(`${url}/api/v1/nodes`, { headers })).status;
    expect(await status({ authorization: `Bearer ${token}` })).toBe(200);
    for (const authorization of [`Bearer ${token}x`, `Bearer ${token.slice(1)}`, "Bearer ", `bearer ${token}`, token]) {
      expect(await status({ authorization })).toBe(401);
    }
    expect(await status({})).toBe(401);
  });

  it("X-161 sends its own time in the header Date, by which commands count", async () => {
    const clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
    const { url } = await embedded(clock).listen();
    const date = async () => (await fetch(`${url}/version`)).headers.get("date");
    expect(await date()).toBe("Tue, 01 Jan 2030 00:00:00 GMT");
    clock.advance(milliseconds(3_600_000));
    expect(await date()).toBe("Tue, 01 Jan 2030 01:00:00 GMT");
  });

  it("gives each listener a unique token, independent of the seed", async () => {
    const listeners = await Promise.all([embedded().listen(), embedded().listen()]);
    expect(new Set(listeners.map(({ token }) => token)).size).toBe(2);
    for (const { token } of listeners) expect(token.length).toBeGreaterThanOrEqual(32);
  });

  it("writes a kubeconfig that connects to it", async () => {
    const listening = await embedded().listen({ tls: "self-signed" });
    const { url, token, ca } = listening;
    const config = JSON.parse(listening.kubeconfig()) as Record<string, Record<string, Record<string, unknown>>[]>;
    expect(config.clusters?.[0]?.cluster).toEqual({
      server: url,
      "certificate-authority-data": Buffer.from(ca ?? "").toString("base64"),
    });
    expect(config.users?.[0]?.user).toEqual({ token });
    expect(url).toMatch(/^https:/);
  });

  it("rejects bodies beyond the Kubernetes limit and unknown methods", async () => {
    const { url, token } = await embedded().listen();
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const large = await fetch(`${url}/api/v1/nodes`, {
      method: "POST",
      headers,
      body: "x".repeat(3 * 1024 * 1024 + 1),
    });
    expect(large.status).toBe(413);
    expect((await fetch(`${url}/api/v1/nodes`, { method: "OPTIONS", headers })).status).toBe(405);
  });

  it("ends open watches when it closes", async () => {
    const api = embedded();
    const { url, token } = await api.listen();
    const watch = await fetch(`${url}/api/v1/nodes?watch=1`, { headers: { authorization: `Bearer ${token}` } });
    const ended = watch.text().catch(() => "broken off");
    await api.close();
    expect(["", "broken off"]).toContain(await ended);
  });
});

describe("selfSigned", () => {
  it("makes certificates for loopback that sign themselves, each with its own key", () => {
    const [first, second] = [selfSigned(), selfSigned()].map(({ cert }) => new X509Certificate(cert));
    expect(first?.verify(first.publicKey)).toBe(true);
    expect(first?.checkIP("127.0.0.1")).toBe("127.0.0.1");
    expect(first?.checkIP("::1")).toBe("::1");
    expect(first?.checkHost("localhost")).toBe("localhost");
    expect(first?.checkHost("example.org")).toBeUndefined();
    expect(first?.ca).toBe(true);
    expect(first?.fingerprint256).not.toBe(second?.fingerprint256);
    expect(first?.serialNumber).not.toBe(second?.serialNumber);
  });
});
