import { describe, expect, it } from "vitest";
import { configOf, type EndpointRange, endpointRanges, parseConfig } from "../../config/index.ts";
import { EndpointAccess, type EndpointAccessOptions } from "./endpoint-access.ts";

function ranges(text: string): readonly EndpointRange[] {
  const config = configOf({ LIST: endpointRanges({ default: "none", about: "…" }) });
  const machine = { isTerminal: false, exists: () => false };
  const parsed = parseConfig(config, { env: { LIST: text }, flags: {}, machine });
  if (!parsed.ok) throw new Error(parsed.error.problems.map(({ message }) => message).join("; "));
  return parsed.value.values.LIST;
}

const access = (allowed: string, more: Partial<Omit<EndpointAccessOptions, "allowed">> = {}): EndpointAccess =>
  new EndpointAccess({ variables: [], hasToken: true, insecureToken: false, ...more, allowed: ranges(allowed) });
const of = (one: EndpointAccess, url: string, node = "a") => one.of(new URL(url), node);
const refused = { token: false, refused: expect.stringContaining("TELEMETRY_ALLOWED_ENDPOINTS") };

/** Results by URL, so that a failing assertion names its URL. */
const judged = (one: EndpointAccess, urls: readonly string[]) =>
  Object.fromEntries(urls.map((url) => [url, of(one, url)]));
const each = (urls: readonly string[], expected: unknown) => Object.fromEntries(urls.map((url) => [url, expected]));

describe("EndpointAccess", () => {
  it("allows only the origins of variables, with the token", () => {
    const one = access("none", { variables: ["https://bmc.example/telemetry/{node}", undefined] });
    expect(of(one, "https://bmc.example/other/path")).toEqual({ token: true });
    const others = [
      "https://bmc.example:8443/",
      "http://bmc.example/",
      "https://bmc.example.evil/",
      "https://bmc.example@evil/",
      "https://evil/?https://bmc.example",
      "http://127.0.0.1/",
      "http://169.254.169.254/latest/meta-data",
    ];
    expect(judged(one, others)).toEqual(each(others, refused));
    expect(of(one, "https://user:pw@evil.example:1/x")).toEqual({
      token: false,
      refused: "https://evil.example:1 is not an allowed endpoint: add it to TELEMETRY_ALLOWED_ENDPOINTS",
    });
  });

  it("replaces {node} in a host by the node of the call only", () => {
    const one = access("https://{node}.bmc.example", { variables: ["https://{node}:9000/t"] });
    expect(of(one, "https://a.bmc.example/x")).toEqual({ token: true });
    expect(of(one, "https://a:9000/t")).toEqual({ token: true });
    const elsewhere = ["https://b.bmc.example/x", "https://evil:9000/t", "https://a.evil:9000/t"];
    expect(judged(one, elsewhere)).toEqual(each(elsewhere, refused));
    expect(of(one, "https://b.bmc.example/x", "b")).toEqual({ token: true });
  });

  it("allows IP addresses of a CIDR in any notation, but no host names, and sends them no token", () => {
    const one = access("10.1.0.0/16, fd00::/8");
    const inside = [
      "http://10.1.2.3:9000/",
      "https://10.1.255.255",
      "http://0x0a.1.2.3/",
      "http://167838211/",
      "http://[fd12::1]/",
      "http://[::ffff:10.1.2.3]/",
    ];
    expect(judged(one, inside)).toEqual(each(inside, { token: false }));
    const outside = ["http://10.2.0.1/", "http://[fe80::1]/", "http://10.1.2.3.nip.io/", "http://localhost/"];
    expect(judged(one, outside)).toEqual(each(outside, refused));
  });

  it("allows loopback by address and by name, without the token", () => {
    const one = access("loopback");
    const here = ["http://127.0.0.1:1/", "http://127.8.9.1/", "http://[::1]:2/", "http://localhost:3/"];
    expect(judged(one, here)).toEqual(
      each(here, {
        token: false,
      }),
    );
    const beyond = ["http://0.0.0.0/", "http://localhost.evil/", "http://128.0.0.1/", "http://[::2]/"];
    expect(judged(one, beyond)).toEqual(each(beyond, refused));
  });

  it("sends the token over http:// only to loopback, unless the user allows more", () => {
    const list = "http://bmc.example,https://bmc.example,http://127.0.0.1:9000,http://localhost:9000";
    const inClear = { token: false, refused: expect.stringContaining("ALLOW_INSECURE_TOKEN to true") };
    expect(of(access(list), "http://bmc.example/")).toEqual(inClear);
    expect(of(access(list, { insecureToken: true }), "http://bmc.example/")).toEqual({ token: true });
    expect(of(access(list, { hasToken: false }), "http://bmc.example/")).toEqual({ token: false });
    const safe = ["https://bmc.example/", "http://127.0.0.1:9000/", "http://localhost:9000/"];
    expect(judged(access(list), safe)).toEqual(
      each(safe, {
        token: true,
      }),
    );
  });

  it.each([
    "bmc.example",
    "ftp://bmc.example",
    "https://bmc.example/path",
    "https://me@bmc",
    "10.0.0.0/33",
    "10.0.0/8",
    "https://a,,b",
    "https://{nod}.x",
  ])("rejects %s as a list of endpoints", (text) => {
    expect(() => ranges(text)).toThrow("LIST=");
  });
});
