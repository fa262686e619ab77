import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { asleepTaint, crdOf, kinds, labels } from "../../core/api/index.ts";
import { instant, milliseconds } from "../../core/units/index.ts";
import { VirtualClock } from "../../platform/clock/testing/index.ts";
import { EmbeddedApi } from "../../platform/embedded/index.ts";
import { type ApiResponse, KubeClient, resources, type Transport } from "../../platform/kube/index.ts";
import { seededRandom } from "../../platform/random/index.ts";
import { type CheckOptions, check, summarize } from "./check.ts";

const nodeSelector = `${labels.managed}=true`;
const namespace = "joulie-system";
const service = "joulie-scheduler-extender";
const readyz = `/api/v1/namespaces/joulie-system/services/${service}:metrics/proxy/readyz`;

interface AccessQuestion {
  readonly user: string;
  readonly resourceAttributes: { readonly verb: string; readonly resource: string; readonly subresource?: string };
}

describe("joulie check", () => {
  let clock: VirtualClock;
  let api: EmbeddedApi;
  let client: KubeClient;
  /** The API server's answers to what the embedded one does not have. */
  let extenderStatus: number;
  let isAllowed: (question: AccessQuestion) => boolean;
  let hasReviews: boolean;
  let isReachable: boolean;
  let installed: readonly (typeof kinds)[number][];

  const answer = (status: number, value: unknown): ApiResponse => ({
    status,
    headers: { "content-type": "application/json" },
    body: (async function* () {
      yield Buffer.from(JSON.stringify(value));
    })(),
  });
  const begin = async () => {
    api = new EmbeddedApi({ clock, random: seededRandom(1), crds: installed.map(crdOf) });
    client = new KubeClient({ transport: api.transport(), clock, random: seededRandom(2), fieldManager: "test" });
    await client.create(resources.namespaces, { metadata: { name: namespace } });
  };
  beforeEach(async () => {
    clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
    extenderStatus = 200;
    isAllowed = () => true;
    hasReviews = true;
    isReachable = true;
    installed = kinds;
    await begin();
  });
  afterEach(async () => api.close());

  const optionsWith = (more: Partial<CheckOptions>): CheckOptions => {
    const inner = api.transport();
    const transport: Transport = {
      close: async () => inner.close(),
      request: async (request) => {
        const path = request.path.replace(/\?.*/, "");
        if (!isReachable) throw Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" });
        if (path === readyz) return answer(extenderStatus, {});
        if (!hasReviews || !path.endsWith("/subjectaccessreviews")) return inner.request(request);
        const { spec } = JSON.parse(request.body ?? "") as { spec: AccessQuestion };
        return answer(201, { metadata: {}, status: { allowed: isAllowed(spec) } });
      },
    };
    return {
      client: new KubeClient({ transport, clock, random: seededRandom(3), fieldManager: "test" }),
      transport,
      clock,
      namespace,
      name: "joulie",
      programs: ["agent", "operator", "extender"],
      service,
      nodeSelector,
      timeout: milliseconds(3000),
      ...more,
    };
  };
  const examine = async (more: Partial<CheckOptions> = {}): Promise<string> => {
    const options = optionsWith(more);
    const result = check(options);
    for (let step = 0; step < 100; step++) await clock.advanceAsync(milliseconds(100));
    return summarize(await result, options);
  };
  const createNode = async (name: string, selected = true) =>
    client.create(resources.nodes, { metadata: { name, labels: selected ? { [labels.managed]: "true" } : {} } });
  const report = async (name: string, status: object) => {
    const spec = { nodeName: name, profile: "eco", policy: { name: "static_partition" } };
    await client.apply(resources.nodeTwins, { name }, { spec }, { force: true });
    await client.apply(resources.nodeTwins, { name }, { status }, { subresource: "status", force: true });
  };
  const now = () => new Date(clock.now()).toISOString();
  const current = () => ({ lastUpdated: now(), controlStatus: { cpu: { result: "none", updatedAt: now() } } });

  it("asks for a labelled node if nothing else is missing", async () => {
    await createNode("unmanaged", false);
    expect(await examine()).toBe(
      "nothing is missing; no node has the label joulie.io/managed=true yet: kubectl label node NODE joulie.io/managed=true",
    );
  });

  it("is content when operator and agents report on every labelled node", async () => {
    for (const name of ["a", "b"]) {
      await createNode(name);
      await report(name, current());
    }
    expect(await examine()).toBe("nothing is missing; Joulie manages 2 nodes");
  });

  it("X-165 finds nothing missing in a demo, which has no access reviews and names its extender", async () => {
    hasReviews = false;
    extenderStatus = 404;
    const server = createServer((_, response) => response.end("ok"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await createNode("a");
    await report("a", current());
    const extenderUrl = `http://127.0.0.1:${port}`;
    const missing = await check({ ...optionsWith({ extenderUrl }), timeout: milliseconds(0) });
    await new Promise((resolve) => server.close(resolve));
    expect(missing).toEqual({ missing: [], nodes: 1 });
    const gone = await check({ ...optionsWith({ extenderUrl }), timeout: milliseconds(0) });
    expect(gone.missing).toEqual([`extender: The extender of the demo at ${extenderUrl} is not ready.`]);
  });

  it("X-165 says without paths that the API server does not answer, or that the namespace is not there", async () => {
    expect(await examine({ namespace: "other" })).toContain(
      "; the namespace other; name that of the installation with --namespace",
    );
    isReachable = false;
    const result = check({ ...optionsWith({}), timeout: milliseconds(0) });
    for (let step = 0; step < 200; step++) await clock.advanceAsync(milliseconds(1000));
    const { missing } = await result;
    expect(missing).toEqual(["the API server does not answer"]);
  });

  it("names missing CRDs, and still examines the rest", async () => {
    await api.close();
    installed = kinds.filter(({ plural }) => plural !== "nodetwins");
    await begin();
    await createNode("a");
    extenderStatus = 503;
    expect(await examine()).toBe(
      "missing: CRDs nodetwins.joulie.io (run: joulie crds apply); " +
        `extender: the Service ${service} in namespace joulie-system answers with status 503; ` +
        "the operator has published no twin in the last 5m of a; no agent has reported in the last 5m from a",
    );
  });

  it("names the permission that a ServiceAccount lacks", async () => {
    isAllowed = ({ user, resourceAttributes: { verb, resource, subresource } }) =>
      !(user === "system:serviceaccount:joulie-system:joulie-agent" && verb === "patch") ||
      `${resource}/${subresource}` !== "nodetwins/status";
    expect(await examine()).toBe("missing: joulie-agent may not patch joulie.io/nodetwins/status");
  });

  it("asks about the agents' ServiceAccount in mode pool, and abridges long lists", async () => {
    isAllowed = ({ user }) => !user.endsWith(":joulie-agent");
    expect(await examine({ programs: ["agent-pool", "extender"] })).toMatch(
      /^missing: joulie-agent may not list namespaces, .* and \d+ more permissions$/,
    );
  });

  it("counts a report that is older than five minutes as missing", async () => {
    await createNode("a");
    await createNode("b");
    await report("a", current());
    await report("b", current());
    clock.advance(milliseconds(290_000));
    await report("a", { ...current(), controlStatus: { cpu: { result: "none", updatedAt: now() } } });
    clock.advance(milliseconds(20_000));
    expect(await examine()).toBe(
      "missing: the operator has published no twin in the last 5m of b; no agent has reported in the last 5m from b",
    );
  });

  it.each(["operator", "operator-sleep"] as const)("notices a silent %s", async (operator) => {
    await createNode("a");
    expect(await examine({ programs: [operator, "extender"] })).toBe(
      "missing: the operator has published no twin in the last 5m of a",
    );
  });

  it("expects no report of an agent from a node that is asleep, but a twin from the operator", async () => {
    for (const name of ["a", "b"]) await createNode(name);
    await client.mergePatch(resources.nodes, { name: "a" }, { spec: { taints: [asleepTaint] } });
    await report("b", current());
    const programs = ["agent", "operator-sleep", "extender", "power"] as const;
    expect(await examine({ programs })).toBe("missing: the operator has published no twin in the last 5m of a");
    for (const [name, status] of [
      ["a", { lastUpdated: now() }],
      ["b", current()],
    ] as const)
      await report(name, status);
    expect(await examine({ programs })).toBe("nothing is missing; Joulie manages 2 nodes");
  });

  it("X-101 names the stop annotation instead of the reports that it prevents", async () => {
    await createNode("a");
    const metadata = { annotations: { "joulie.io/stop": "true" } };
    await client.mergePatch(resources.namespaces, { name: namespace }, { metadata });
    expect(await examine()).toBe(
      "missing: new reports: operator and agents are stopped by the annotation joulie.io/stop on namespace joulie-system " +
        "(to continue: kubectl annotate namespace joulie-system joulie.io/stop-)",
    );
  });

  it("waits for what comes later", async () => {
    extenderStatus = 503;
    clock.after(milliseconds(1500), () => {
      extenderStatus = 200;
    });
    expect(await examine()).toContain("nothing is missing");
  });

  it("does not look for reports of programs that are not installed", async () => {
    await createNode("a");
    expect(await examine({ programs: ["extender"] })).toBe("nothing is missing; Joulie manages 1 node");
  });
});
