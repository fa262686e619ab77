import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { eventually } from "../platform/clock/testing/index.ts";
import { AgentTestHarness } from "./agent/testing/agent-test-harness.ts";
import { ExtenderHarness } from "./extender/testing/extender-harness.ts";
import { OperatorTestHarness } from "./operator/testing/test-harness.ts";

type Variables = Readonly<Record<string, string>>;

interface Running {
  readonly url: string;
  /** Reviews that were asked for: the API in memory knows none, and answers 404. */
  readonly posted: readonly string[];
  readonly logs: readonly unknown[];
}

const certificate = (file: string): string => join(import.meta.dirname, "../platform/kube/testdata", file);

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
});

interface Watched {
  readonly api: { readonly faults: { add(rule: object): unknown } };
}

function watchPosts({ api }: Watched): string[] {
  const posted: string[] = [];
  const when = ({ method, path }: { method: string; path: string }) => {
    if (method === "POST" && path.includes("reviews")) posted.push(path.replace(/\?.*/, ""));
    return false;
  };
  api.faults.add({ fault: { kind: "refused" }, when });
  return posted;
}

async function urlIn(logs: readonly { readonly [field: string]: unknown }[], field = "url"): Promise<string> {
  return String(await eventually(() => logs.find((line) => line[field] !== undefined)?.[field]));
}

const programs: Readonly<Record<string, (variables: Variables) => Promise<Running>>> = {
  operator: async (variables) => {
    const harness = await OperatorTestHarness.begin();
    endings.push(async () => harness.end());
    const posted = watchPosts(harness);
    const { logs } = harness.start(variables);
    return { url: `${await urlIn(logs)}/debug/plan`, posted, logs };
  },
  agent: async (variables) => {
    const harness = new AgentTestHarness();
    endings.push(async () => harness.close());
    await harness.createNode("a");
    const posted = watchPosts(harness);
    const { logs } = harness.start(variables);
    return { url: `${await urlIn(logs)}/debug/node`, posted, logs };
  },
  extender: async (variables) => {
    const harness = new ExtenderHarness();
    endings.push(async () => harness.end());
    const posted = watchPosts(harness);
    const extender = await harness.start(variables);
    return { url: `${extender.url}/debug/decisions`, posted, logs: extender.logs };
  },
  "extender that verifies its clients, on METRICS_ADDR": async (variables) => {
    const harness = new ExtenderHarness();
    endings.push(async () => harness.end());
    const posted = watchPosts(harness);
    const tls = {
      EXTENDER_TLS_CERT_FILE: certificate("server.crt"),
      EXTENDER_TLS_KEY_FILE: certificate("server.key"),
      EXTENDER_TLS_CLIENT_CA_FILE: certificate("ca.crt"),
    };
    // The harness would ask for /readyz without a certificate.
    const { logs } = await harness.start({ ...tls, ...variables }, { synced: false });
    return { url: `${await urlIn(logs, "metrics")}/debug/decisions`, posted, logs };
  },
};

/** A request that came from elsewhere: a proxy on this machine handed it on. */
const foreign = { "x-forwarded-for": "203.0.113.9" };

describe.each(Object.entries(programs))("debug pages of the %s", (_, start) => {
  it("are read from this machine, and from elsewhere with a token that the cluster vouches for", async () => {
    const { url, posted, logs } = await start({});
    expect((await fetch(url)).status).toBe(200);
    const refused = await fetch(url, { headers: foreign });
    expect(refused.status).toBe(403);
    expect(await refused.text()).toContain("DEBUG_ENDPOINTS=true");
    expect(posted).toEqual([]);
    const headers = { ...foreign, authorization: "Bearer s3cret-token" };
    expect((await fetch(url, { headers })).status).toBe(503);
    expect(posted).toEqual(["/apis/authentication.k8s.io/v1/tokenreviews"]);
    expect(JSON.stringify(logs)).toContain("cannot review bearer tokens");
    expect(JSON.stringify(logs)).not.toContain("s3cret-token");
  });

  it("are for everybody where DEBUG_ENDPOINTS says so", async () => {
    const { url } = await start({ DEBUG_ENDPOINTS: "true" });
    expect((await fetch(url, { headers: foreign })).status).toBe(200);
  });
});
