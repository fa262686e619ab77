// Tests each variable and rule through the whole extender: configuration, watches and HTTP. A value that is hard-coded in between
// fails here.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type KubeObject, resources, type Transport } from "../../platform/kube/index.ts";
import { extenderPermissions } from "./permissions.ts";
import { calmTwinStatus, ExtenderHarness, podOfClass } from "./testing/extender-harness.ts";

let harness: ExtenderHarness;
beforeEach(() => {
  harness = new ExtenderHarness();
});
afterEach(async () => harness.end());

/** Draws 0 of 1,000 W: each 10 W that a pod is expected to draw cost 0.7 of 82 points. */
const idle = {
  ...calmTwinStatus,
  powerMeasurement: { measuredNodePowerW: 0, nodeCappedPowerW: 1000, nodeTdpW: 2000, powerTrendWPerMin: 0 },
};
const scoreAfter = (watts: number): number => Math.round(0.7 * (100 - watts / 10) + 12);

async function machine(name: string, status: Readonly<Record<string, unknown>>): Promise<void> {
  await harness.createNode(name, {}, { cpu: "100", "nvidia.com/gpu": "8" });
  await harness.hardware(name, status);
  await harness.twin(name, idle);
}
const cpuOf = (sockets: number, maxWattsPerSocket: number) => ({
  cpu: { sockets, totalCores: 100, capRange: { type: "watts", maxWattsPerSocket } },
});

describe("SCH-19 the maximum of a node", () => {
  it("is the socket's maximum times the number of sockets", async () => {
    await machine("one", cpuOf(1, 200));
    await machine("two", cpuOf(2, 200));
    await machine("four", cpuOf(4, 200));
    await machine("hotter", cpuOf(2, 300));
    const extender = await harness.start();
    // Half of the cores at 0.7 of their power.
    expect(await extender.scores(podOfClass("performance", { cpu: "50" }), ["one", "two", "four", "hotter"])).toEqual({
      one: scoreAfter(0.35 * 200),
      two: scoreAfter(0.35 * 400),
      four: scoreAfter(0.35 * 800),
      hotter: scoreAfter(0.35 * 600),
    });
  });

  it("is the GPU's maximum times the number of GPUs, so that one GPU costs the same on every node", async () => {
    const gpus = (count: number, maxWatts: number) => ({
      gpu: { present: true, count, vendor: "nvidia", capRangePerGpu: { minWatts: 100, maxWatts } },
    });
    await machine("two", gpus(2, 400));
    await machine("eight", gpus(8, 400));
    await machine("hotter", gpus(8, 500));
    const extender = await harness.start();
    expect(await extender.scores(podOfClass("performance", { gpu: "1" }), ["two", "eight", "hotter"])).toEqual({
      two: scoreAfter(0.85 * 400),
      eight: scoreAfter(0.85 * 400),
      hotter: scoreAfter(0.85 * 500),
    });
  });
});

it.each(["0", "0.35", "0.7", "1.5"])(
  "SCH-20 MARGINAL_CPU_UTIL_COEFF=%s is the share of the cores' power",
  async (share) => {
    await machine("n", cpuOf(2, 200));
    const extender = await harness.start({ MARGINAL_CPU_UTIL_COEFF: share });
    const scores = await extender.scores(podOfClass("performance", { cpu: "50" }), ["n"]);
    expect(scores).toEqual({ n: scoreAfter(Number(share) * 0.5 * 400) });
  },
);

it.each([
  [{}, 300],
  [{ TWIN_STALENESS_THRESHOLD: "1m" }, 60],
  [{ TWIN_STALENESS_THRESHOLD: "20m" }, 1200],
])(
  "SCH-37 with %o a twin is stale after %i s, not before, and becomes so without an event",
  async (variables, seconds) => {
    for (const [name, age] of Object.entries({ fresh: seconds - 5, old: seconds + 1 })) {
      await harness.createNode(name);
      await harness.twin(name, { ...idle, lastUpdated: new Date(harness.clock.now() - age * 1000).toISOString() });
    }
    const extender = await harness.start(variables);
    const scores = async () => extender.scores(podOfClass("performance"), ["fresh", "old"]);
    expect(await scores()).toEqual({ fresh: scoreAfter(0), old: 50 });
    await harness.advance(6);
    expect(await scores()).toEqual({ fresh: 50, old: 50 });
  },
);

it.each([
  [{ CACHE_TTL: "5s" }, 2, 8],
  [{ CACHE_TTL: "2m" }, 100, 140],
])(
  "SCH-10 with %o what a dead watch missed is found out after that time: not at %i s, but at %i s",
  async (variables, early, late) => {
    await harness.createNode("n");
    await harness.twin("n", calmTwinStatus);
    const transport = harness.api.transport();
    let isDead = false;
    const request: Transport["request"] = async (asked) => {
      const answer = await transport.request(asked);
      if (asked.longLived !== true || isDead) return answer;
      return { ...answer, body: untilDead(answer.body, () => isDead, asked.signal) };
    };
    const extender = await harness.start(variables, { transport: { ...transport, request } });
    isDead = true;
    await harness.twin("n", { ...calmTwinStatus, schedulableClass: "eco" });
    const left = async () => (await extender.filter(podOfClass("performance"), ["n"])).NodeNames;
    await harness.advance(early);
    expect(await left()).toEqual(["n"]);
    await harness.advance(late - early);
    expect(await left()).toEqual([]);
  },
);

describe("SCH-11 decisions use the published twin", () => {
  it("uses the published values even if they contradict everything else about the node", async () => {
    // A node full of hot hardware, labelled eco, whose twin says that it is cool, empty and for performance pods.
    await harness.createNode("n", { "joulie.io/power-profile": "eco" }, { cpu: "2" });
    await harness.hardware("n", {
      cpu: { sockets: 8, totalCores: 2, capRange: { type: "watts", maxWattsPerSocket: 900 } },
    });
    await harness.twin("n", { ...idle, predictedCoolingStressScore: 3 });
    const extender = await harness.start();
    const expected = Math.round(70 + 0.15 * 97);
    const scores = new Set<unknown>();
    for (let request = 0; request < 20; request++) {
      scores.add((await extender.scores(podOfClass("performance"), ["n"]))["n"]);
      await harness.advance(10);
    }
    expect([...scores]).toEqual([expected]);
    expect((await extender.filter(podOfClass("performance"), ["n"])).NodeNames).toEqual(["n"]);
  });

  it("imports no model of the twin, of planning or of physics", () => {
    const reached = modulesFrom(join(import.meta.dirname, "start.ts"));
    expect(reached).toContain("core/scoring/index.ts");
    expect(reached.filter((file) => /^core\/(twin|planning|physics)\//.test(file))).toEqual([]);
  });
});

it("SCH-14 neither reads nor changes running pods when their node changes", async () => {
  await harness.createNode("n");
  await harness.twin("n", calmTwinStatus);
  const running = podOfClass("performance", { cpu: "1", name: "running" });
  await harness.client.create(
    resources.pods,
    { metadata: running.metadata, spec: { containers: [{ name: "main", image: "none" }], nodeName: "n" } },
    { namespace: "default" },
  );
  const calls = new Set<string>();
  const transport = harness.api.transport();
  const request: Transport["request"] = async (asked) => {
    calls.add(`${asked.method} ${new URL(asked.path, "http://api").pathname.split("/").at(-1)}`);
    return transport.request(asked);
  };
  const extender = await harness.start({}, { transport: { ...transport, request } });
  for (const schedulableClass of ["draining", "eco"]) {
    await harness.twin("n", { ...calmTwinStatus, schedulableClass });
    await harness.until(async () => (await extender.filter(running, ["n"])).NodeNames?.length === 0);
    await extender.scores(running, ["n"]);
    await harness.advance(60);
  }
  expect([...calls].toSorted()).toEqual(["GET nodehardwares", "GET nodes", "GET nodetwins"]);
  const after = await harness.client.get<Bound>(resources.pods, { name: "running", namespace: "default" });
  expect([after.spec.nodeName, after.metadata.deletionTimestamp]).toEqual(["n", undefined]);
  const rights = extenderPermissions.map(({ resources: names, verbs }) => `${names.join()} ${verbs.join()}`);
  expect(rights).toEqual([
    "nodes list,watch",
    "nodetwins list,watch",
    "nodehardwares list,watch",
    // TokenReview and SubjectAccessReview, which change nothing.
    "tokenreviews create",
    "subjectaccessreviews create",
  ]);
});

type Bound = KubeObject & { readonly spec: { readonly nodeName?: string } };

/** A connection that delivers nothing after it is dead, without being closed. */
async function* untilDead(body: AsyncIterable<Uint8Array>, isDead: () => boolean, signal: AbortSignal) {
  for await (const chunk of body) {
    if (isDead()) {
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    }
    yield chunk;
  }
}

/** All modules in src that a module imports, except type imports. */
function modulesFrom(start: string): string[] {
  const source = join(import.meta.dirname, "../..");
  const reached = new Set<string>();
  const queue = [start];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (reached.has(file) || !existsSync(file)) continue;
    reached.add(file);
    for (const [, names = "", from = ""] of readFileSync(file, "utf8").matchAll(IMPORT)) {
      if (isLoaded(names)) queue.push(join(dirname(file), from));
    }
  }
  return [...reached].map((file) => relative(source, file)).toSorted();
}

const IMPORT = /^(?:import|export)\s+(type\b[^;]*?|[^;"]*?)\s*from\s+"(\.[^"]+)"/gms;

/** `import type …` and lists of nothing but types load no module. */
function isLoaded(names: string): boolean {
  if (/^type\b/.test(names)) return false;
  const list = /\{([^}]*)\}/s.exec(names)?.[1];
  return list === undefined || list.split(",").some((name) => name.trim() !== "" && !/^type\b/.test(name.trim()));
}
