import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { crdOf, kinds } from "../../../core/api/index.ts";
import { instant } from "../../../core/units/index.ts";
import { systemClock } from "../../../platform/clock/index.ts";
import { EmbeddedApi } from "../../../platform/embedded/index.ts";
import type { ForwardTarget } from "../../../platform/forward/index.ts";
import { KubeClient, resources } from "../../../platform/kube/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import type { ConsoleContext } from "../context.ts";
import { planOf, planText } from "../plan.ts";
import { explainPod, whyText } from "../why.ts";
import { readCluster } from "./cluster-reader.ts";
import { installationNamespace, PAGES_ANNOTATION } from "./installation.ts";
import { readProgramPages } from "./program-pages.ts";

const namespace = "joulie-elsewhere";
const screen = { columns: 100, colour: false };
let api: EmbeddedApi;
let context: ConsoleContext;
let server: Server;
/** What the programs answer, by path. */
let pages: Record<string, unknown>;
let asked: string[];
let forwarded: (ForwardTarget & { closed: boolean })[];
const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

beforeEach(async () => {
  pages = {};
  asked = [];
  forwarded = [];
  server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const page = pages[(request.url ?? "").replace(/\?.*/, "")];
    response.writeHead(page === undefined ? 404 : 200).end(JSON.stringify(page ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  api = new EmbeddedApi({ clock: systemClock, random: seededRandom(1), crds: kinds.map(crdOf) });
  const transport = api.transport();
  const client = new KubeClient({ transport, clock: systemClock, random: seededRandom(2), fieldManager: "test" });
  const forward: ConsoleContext["forward"] = async (target) => {
    const entry = { ...target, closed: false };
    forwarded.push(entry);
    return {
      url: url(),
      isOpen: true,
      close: async () => {
        entry.closed = true;
      },
    };
  };
  context = { client, transport, clock: systemClock, forward, out: () => undefined, screen };
  await client.create(resources.namespaces, { metadata: { name: namespace } });
});
afterEach(async () => {
  await api.close();
  await new Promise((resolve) => server.close(resolve));
});

async function createProgramPod(
  name: string,
  program: string,
  ports: object[],
  { ready = true }: { readonly ready?: boolean } = {},
): Promise<void> {
  const labels = { "app.kubernetes.io/name": "joulie", "app.kubernetes.io/component": program };
  await context.client.create(
    resources.pods,
    { metadata: { name, labels }, spec: { containers: [{ name: program, image: "x", ports }] } },
    { namespace },
  );
  const status = { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] };
  await context.client.mergePatch(resources.pods, { name, namespace }, { status }, { subresource: "status" });
}
const metricsPort = [
  { name: "other", containerPort: 1 },
  { name: "metrics", containerPort: 8081 },
];
const change = { node: "a", kind: "wake", change: "wakes", reason: "a pod waits", waitsFor: null };
const report = {
  at: new Date(systemClock.now() - 5000).toISOString(),
  performanceNodes: 1,
  performancePods: 2,
  podsReadable: true,
  changes: [change],
  unchanged: 3,
};
const planned = async () => planOf(context, await readCluster({ ...context, namespace }), namespace);

describe("pages of programs", () => {
  it("CLI-18 are read in the pods by port-forward, replica by replica until one has the answer", async () => {
    await createProgramPod("op-1", "operator", metricsPort);
    await createProgramPod("op-2", "operator", metricsPort);
    await createProgramPod("op-3", "operator", metricsPort, { ready: false });
    pages["/debug/plan"] = report;
    const { report: found, source } = await planned();
    expect(found.changes).toEqual([change]);
    expect(source).toMatch(/^The operator's own plan \(pod op-1\), [56]s old\.$/);
    expect(forwarded).toEqual([{ namespace, pod: "op-1", port: 8081, closed: true }]);
    expect(asked).toEqual(["/debug/plan?changes"]);
    pages["/debug/plan"] = { leading: false };
    const { source: recomputed } = await planned();
    expect(recomputed).toContain("The operator was not asked: it has no plan yet, or does not lead.");
    expect(forwarded.map(({ pod }) => pod)).toEqual(["op-1", "op-1", "op-2"]);
  });

  it("CLI-18 are read at the address that the user names, or that a demo announces; other machines are not asked", async () => {
    pages["/debug/plan"] = report;
    const { source } = await planOf(
      { ...context, urls: { operator: `${url()}/` } },
      await readCluster({ ...context, namespace }),
      namespace,
    );
    expect(source).toContain(`operator at ${url()})`);
    const secret = { ...context, urls: { operator: url().replace("//", "//user:hunter2@") } };
    const { answers } = await readProgramPages(secret, namespace, "operator", "debug/plan");
    expect(answers.map(({ from }) => from)).toEqual([`operator at ${url()}`]);
    const announce = async (address: string) =>
      context.client.mergePatch(
        resources.namespaces,
        { name: namespace },
        { metadata: { annotations: { [PAGES_ANNOTATION]: JSON.stringify({ operator: address }) } } },
      );
    await announce(url());
    expect((await planned()).source).toContain(`operator at ${url()}`);
    for (const address of ["http://evil.example", "https://127.0.0.1", "file:///etc/passwd", "nonsense"]) {
      await announce(address);
      expect((await readProgramPages(context, namespace, "operator", "debug/plan")).why).toContain(
        "no pod of the operator",
      );
    }
    await context.client.mergePatch(
      resources.namespaces,
      { name: namespace },
      { metadata: { annotations: { [PAGES_ANNOTATION]: "{" } } },
    );
    expect((await readProgramPages(context, namespace, "operator", "debug/plan")).why).toContain(
      "no pod of the operator",
    );
  });

  it("CLI-18 a program that cannot be asked is a reason, not an error", async () => {
    await createProgramPod("op-1", "operator", [{ name: "http", containerPort: 1 }]);
    expect((await readProgramPages(context, namespace, "operator", "x")).why).toBe(
      "pod op-1 has no port named metrics",
    );
    await createProgramPod("ext-1", "extender", metricsPort);
    expect((await readProgramPages(context, namespace, "extender", "none")).why).toContain("status 404");
    expect(forwarded.every(({ closed }) => closed)).toBe(true);
    const refusing = { ...context, forward: async () => Promise.reject(new Error("kubectl is missing")) };
    expect((await readProgramPages(refusing, namespace, "extender", "x")).why).toBe("kubectl is missing");
    const { forward: _, ...without } = context;
    expect((await readProgramPages(without, namespace, "extender", "x")).why).toBe("port-forward is not available");
  });

  it("CLI-18 of an extender are read on its metrics port, where they need no certificate", async () => {
    pages["/debug/decisions"] = { decisions: [] };
    const scheduling = { name: "extender", containerPort: 9876 };
    await createProgramPod("ext-1", "extender", [scheduling, { name: "metrics", containerPort: 9877 }]);
    const { answers } = await readProgramPages(context, namespace, "extender", "debug/decisions");
    expect(answers).toEqual([{ value: { decisions: [] }, from: "pod ext-1" }]);
    expect(forwarded).toEqual([{ namespace, pod: "ext-1", port: 9877, closed: true }]);
  });

  it("CLI-03 why shows the extender's own record, whichever replica has it", async () => {
    await context.client.create(resources.nodes, { metadata: { name: "b", labels: { "joulie.io/managed": "true" } } });
    await context.client.create(
      resources.pods,
      { metadata: { name: "p" }, spec: { nodeName: "b", containers: [{ name: "c", image: "x" }] } },
      { namespace: "default" },
    );
    await createProgramPod("ext-1", "extender", metricsPort);
    await createProgramPod("ext-2", "extender", metricsPort);
    const words = async () => {
      const objects = await readCluster({ ...context, namespace });
      const why = await explainPod(context, objects, { pod: "p", namespace: "default", installation: namespace });
      return whyText(why, undefined, screen).text(false).replaceAll("\n", " ");
    };
    pages["/debug/decisions"] = { decisions: [] };
    expect(await words()).toContain("There is no record of the extender: it does not remember this pod.");
    const { forward } = context;
    const isDown = async () => Promise.reject(new Error("ext-2 is down"));
    context = {
      ...context,
      forward: async (target) => (target.pod === "ext-2" ? isDown() : forward?.(target)) as never,
    };
    expect(await words()).toContain("do not remember this pod, and not all answered: ext-2 is down.");
    context = { ...context, forward };
    forwarded = [];
    const decision = { at: "2030-01-01T00:00:00Z", verb: "prioritize", nodes: [{ node: "b", score: 77 }] };
    pages["/debug/decisions"] = { decisions: [decision] };
    expect(await words()).toContain("recorded: score 77 at 2030-01-01T00:00:00Z");
    expect(asked.at(-1)).toBe("/debug/decisions?pod=default%2Fp");
    expect(forwarded.map(({ pod }) => pod)).toEqual(["ext-1", "ext-2"]);
    const filtered = (rejection: string | null) => ({ ...decision, verb: "filter", nodes: [{ node: "b", rejection }] });
    pages["/debug/decisions"] = { decisions: [filtered(null)] };
    expect(await words()).toContain("recorded: accepted at 2030-01-01T00:00:00Z");
    pages["/debug/decisions"] = { decisions: [filtered("it is eco")] };
    expect(await words()).toContain("recorded: rejected at 2030-01-01T00:00:00Z");
  });

  describe("X-145 why", () => {
    const decision = { at: "2030-01-01T00:00:00Z", verb: "prioritize", nodes: [{ node: "b", score: 77 }] };
    const words = async (wide = false) => {
      const objects = await readCluster({ ...context, namespace });
      const why = await explainPod(context, objects, { pod: "p", namespace: "default", installation: namespace });
      const printed = whyText(why, undefined, screen);
      return { text: printed.text(wide).replaceAll(/\s+/g, " "), value: printed.value() };
    };
    beforeEach(async () => {
      const labels = {
        "joulie.io/managed": "true",
        "joulie.io/hw.cpu-model": "AMD_EPYC_9654",
        "joulie.io/hw.cpu-sockets": "2",
      };
      const status = { allocatable: { cpu: "64", memory: "256Gi", pods: "110" } };
      for (const name of ["a", "b"])
        await context.client.create(resources.nodes, { metadata: { name, labels }, status });
      await context.client.create(
        resources.pods,
        { metadata: { name: "p" }, spec: { nodeName: "b", containers: [{ name: "c", image: "x" }] } },
        { namespace: "default" },
      );
    });

    it("explains with the formula that the extender says it runs", async () => {
      await createProgramPod("ext-1", "extender", metricsPort);
      pages["/debug/decisions"] = { variables: { SCORING: "energy" }, decisions: [decision] };
      const energy = await words();
      expect(energy.text).toMatch(/the pod adds \d.* in 30 min/);
      expect(energy.text).toContain("Computed now from the API with the extender's settings (pod ext-1)");
      pages["/debug/decisions"] = { variables: { SCORING: "headroom" }, decisions: [decision] };
      expect((await words()).text).not.toContain("30 min");
    });

    it("explains by headroom what the extender scored by headroom for want of pods, and says so", async () => {
      await createProgramPod("ext-1", "extender", metricsPort);
      const fallback = "the pods are stale";
      pages["/debug/decisions"] = { variables: { SCORING: "energy" }, decisions: [{ ...decision, fallback }] };
      const { text } = await words();
      expect(text).toContain("The extender scored this pod by headroom instead of energy: the pods are stale.");
      expect(text).not.toContain("30 min");
    });

    it("gives no scores and no ranks if nothing says which formula the extender runs", async () => {
      const { text, value } = await words();
      expect(text).toContain("b is one of 2 nodes that take the pod.");
      expect(text).toContain(
        "Scores and ranks are unknown, because nothing says which formula the extender runs: no pod of the extender is ready in joulie-elsewhere; default settings: ",
      );
      expect(text).toContain("b (the pod is here) It takes the pod.");
      expect(text).not.toMatch(/Score \d|ranks first/);
      expect(value).toMatchObject({ formula: "unknown" });
      expect(JSON.stringify(value)).not.toContain('"score"');
    });
  });

  it("CLI-04 plan shows the reason of a change also on a narrow screen, below the change", () => {
    const reason = "the policy asks for one more performance node because a performance pod waits for one";
    const changes = [
      { ...change, kind: "promote", change: "eco → performance", reason },
      { ...change, node: "b", reason: "" },
    ] as never;
    const table = (columns: number) =>
      planText({ report: { ...report, changes }, source: "s" }, { screen: { columns, colour: false }, headers: true })
        .text(false)
        .split("\n")
        .slice(2, -3);
    expect(table(160)[1]).toMatch(/^a +eco → performance +the next pass +the policy asks .* waits for one$/);
    expect(table(60).slice(-5)).toEqual([
      "NODE  CHANGE             WAITS FOR",
      "a     eco → performance  the next pass",
      "  the policy asks for one more performance node because a",
      "  performance pod waits for one",
      "b     wakes              the next pass",
    ]);
  });

  it("CLI-04 plan says why no node falls asleep", () => {
    const text = planText(
      { report: { ...report, changes: [], sleepBlocked: "pods cannot be read" }, source: "s" },
      { screen, headers: true },
    ).text(false);
    expect(text).toContain("No node falls asleep now: pods cannot be read.");
  });
});

describe("the namespace of the installation", () => {
  const lease = async (of: string, name = "joulie-operator") => {
    await context.client.create(resources.namespaces, { metadata: { name: of } }).catch(() => undefined);
    await context.client.create(
      resources.leases,
      { metadata: { name }, spec: { holderIdentity: "x", renewTime: new Date(instant(0)).toISOString() } },
      { namespace: of },
    );
  };

  it("CLI-19 is the one that the user names, else where the operator's Lease is", async () => {
    expect(await installationNamespace(context.client, undefined)).toBe("joulie-system");
    await lease("others", "some-controller");
    expect(await installationNamespace(context.client, undefined)).toBe("joulie-system");
    await lease(namespace);
    expect(await installationNamespace(context.client, undefined)).toBe(namespace);
    expect(await installationNamespace(context.client, "mine")).toBe("mine");
    await lease("second");
    await expect(installationNamespace(context.client, undefined)).rejects.toThrow(
      "Joulie is installed in several namespaces (joulie-elsewhere, second); name one with -n",
    );
    await lease("joulie-system");
    expect(await installationNamespace(context.client, undefined)).toBe("joulie-system");
  });
});
