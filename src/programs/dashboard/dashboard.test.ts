import { request } from "node:http";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readEnergyAccountAnswer } from "../../core/report/index.ts";
import { milliseconds } from "../../core/units/index.ts";
import { systemClock } from "../../platform/clock/index.ts";
import { eventually, VirtualClock } from "../../platform/clock/testing/index.ts";
import { parseConfig } from "../../platform/config/index.ts";
import { resources } from "../../platform/kube/index.ts";
import { extenderConfig } from "../extender/index.ts";
import { DashboardHarness } from "./testing/dashboard-harness.ts";
import {
  classNames,
  controlNames,
  type Delta,
  type HistoryAnswer,
  type LabelColumn,
  type NodeAnswer,
  type SavingsAnswer,
  type ScoreAnswer,
  type Snapshot,
} from "./wire.ts";

let harness: DashboardHarness;
beforeEach(async () => {
  harness = await DashboardHarness.begin();
});
afterEach(async () => harness.end());

const rowOf = ({ names, columns }: Snapshot, name: string) => {
  const slot = names.indexOf(name);
  return { slot, class: classNames[columns.class[slot] ?? 4], power: columns.power[slot], pods: columns.pods[slot] };
};
const json = async <Answer>(path: string): Promise<Answer> => (await (await harness.get(path)).json()) as Answer;

/** Reads the stream until `count` deltas have come. */
async function deltas(from: Snapshot, count: number, act: () => Promise<void>): Promise<Delta[]> {
  const abort = new AbortController();
  const response = await fetch(`${harness.url}/api/events?last=${from.epoch}-${from.seq}`, { signal: abort.signal });
  await act();
  const found: Delta[] = [];
  let rest = "";
  for await (const chunk of response.body ?? []) {
    const messages = (rest + Buffer.from(chunk).toString()).split("\n\n");
    rest = messages.pop() ?? "";
    for (const message of messages)
      if (message.includes("event: delta")) found.push(JSON.parse(/^data: (.*)$/m.exec(message)?.[1] ?? "") as Delta);
    if (found.length >= count) break;
  }
  abort.abort();
  return found;
}

describe("the dashboard's data", () => {
  beforeEach(async () => {
    await harness.createNode("a", { class: "performance", power: 450, cap: 500 });
    await harness.createNode("b", { class: "eco", power: 200, rack: "rack-2" });
    await harness.createPod("web", "a", "performance");
    await harness.createPod("waits", undefined);
    await harness.start();
  });

  it("DSH-01 shows every node with its class, power and pods, and the sums of the cluster", async () => {
    const snapshot = await harness.until(({ syncing, totals }) => syncing.length === 0 && totals.nodes === 2);
    expect(rowOf(snapshot, "a")).toMatchObject({ class: "performance", power: 450, pods: 1 });
    expect(rowOf(snapshot, "b")).toMatchObject({ class: "eco", power: 200, pods: 0 });
    expect(snapshot.totals).toMatchObject({ power: 650, cap: 900, capacity: 1000, nodes: 2, pods: 2, pendingPods: 1 });
    expect(snapshot.totals.byClass).toEqual([1, 1, 0, 0, 0]);
  });

  it("DSH-01 counts a node as measured only if its power is not an estimate", async () => {
    const estimated = { status: { powerMeasurement: { source: "static" } } };
    await harness.user.mergePatch(resources.nodeTwins, { name: "b" }, estimated, { subresource: "status" });
    const { totals } = await harness.until(({ totals: { nodes, measured } }) => nodes === 2 && measured === 1);
    expect(totals.power).toBe(650);
  });

  it("DSH-01 shows no power of a twin that the operator no longer refreshes, and 0 W of a machine that is off", async () => {
    await harness.stop();
    await harness.start({ TWIN_STALENESS_THRESHOLD: "3s" });
    await harness.user.mergePatch(
      resources.nodeTwins,
      { name: "a" },
      { status: { power: { state: "off" } } },
      { subresource: "status" },
    );
    const { columns, totals, names } = await harness.until(
      ({ totals: { withPower, nodes, stale } }) => nodes === 2 && withPower === 1 && stale === 1,
    );
    expect(Object.fromEntries(names.map((name, slot) => [name, columns.power[slot]]))).toEqual({ a: 0, b: null });
    // The machine that is off says nothing about what the cluster draws.
    expect([totals.power, totals.cap]).toEqual([null, 900]);
  });

  it("X-143 X-149 shows the stress of the power drawn now, and neither stress nor an applied cap of a machine that is off", async () => {
    const columnsOf = async (isReady: (state: Snapshot) => boolean) => {
      const state = await harness.until(isReady);
      const { slot } = rowOf(state, "a");
      const { cooling, coolingAtCap, control } = state.columns;
      return [cooling[slot], coolingAtCap[slot], control[slot]];
    };
    const receipts = async () => (await json<NodeAnswer>("/api/node/a")).receipts.map(({ result }) => result);
    const isOff = ({ totals }: Snapshot) => totals.byClass[classNames.indexOf("asleep")] === 1;
    const on = await columnsOf(({ syncing, totals }) => syncing.length === 0 && totals.power === 650);
    expect(on).toEqual([expect.any(Number), 20, controlNames.indexOf("applied")]);
    expect(await receipts()).toContain("applied");
    const off = { status: { power: { state: "off" } } };
    await harness.user.mergePatch(resources.nodeTwins, { name: "a" }, off, { subresource: "status" });
    expect(await columnsOf(isOff)).toEqual([null, null, null]);
    expect(await receipts()).toEqual([]);
  });

  it("DSH-03 streams what changes and nothing else", async () => {
    const first = await harness.until(({ syncing, totals }) => syncing.length === 0 && totals.power === 650);
    const [delta] = await deltas(first, 1, async () => harness.setTwin("b", { class: "eco", power: 222 }));
    expect(delta).toMatchObject({ seq: first.seq + 1, slots: [rowOf(first, "b").slot], names: ["b"] });
    expect(delta?.columns?.power).toEqual([222]);
    expect(delta?.totals.power).toBe(672);
  });

  it("DSH-03 DSH-08 tells of a node that left, and of a class that changed, with the reason", async () => {
    const first = await harness.until(({ syncing, totals }) => syncing.length === 0 && totals.nodes === 2);
    await harness.user.delete(resources.nodes, { name: "b" });
    await harness.setTwin("a", { class: "draining", power: 450, cap: 500 });
    const gone = await harness.until(({ totals, decisions }) => totals.nodes === 1 && decisions.length > 0);
    expect(gone.names[rowOf(first, "b").slot]).toBeNull();
    expect(gone.decisions).toMatchObject([
      { node: "a", text: "performance → draining", reason: "waiting for 1 performance pod, nothing is evicted" },
    ]);
  });

  it("DSH-01 groups by any label", async () => {
    const { names, labelKeys } = await harness.until(
      ({ syncing, totals }) => syncing.length === 0 && totals.nodes === 2,
    );
    expect(labelKeys[0]).toBe("joulie.io/rack");
    const { values, codes } = await json<LabelColumn>("/api/labels?key=joulie.io/rack");
    expect(names.map((_, slot) => values[codes[slot] ?? -1])).toEqual(
      names.map((name) => (name === "a" ? "rack-1" : "rack-2")),
    );
    expect((await harness.get("/api/labels")).status).toBe(400);
    for (const inherited of ["__proto__", "constructor", "toString"])
      expect((await json<LabelColumn>(`/api/labels?key=${inherited}`)).values).toEqual([]);
  });

  it("DSH-07 shows a node with receipts, pods, target and the reason of its class", async () => {
    await harness.until(({ syncing, totals }) => syncing.length === 0 && totals.nodes === 2);
    const node = await json<NodeAnswer>("/api/node/a");
    expect(node.receipts).toMatchObject([
      { device: "CPU", result: "applied", backend: "rapl", message: "cap written and read back" },
    ]);
    expect(node.pods).toMatchObject([{ namespace: "default", name: "web", workloadClass: "performance", cpus: 2 }]);
    expect(node.reason).toBe("full power for performance pods");
    expect((await harness.get("/api/node/none")).status).toBe(404);
    expect((await harness.get("/api/node/%E0%A4%A")).status).toBe(400);
  });

  it("DSH-07 scores a node for a described pod as the extender does", async () => {
    await harness.until(({ syncing, totals }) => syncing.length === 0 && totals.nodes === 2);
    const eco = await json<ScoreAnswer>("/api/score?node=b&class=performance&cpus=4");
    expect(eco).toMatchObject({ feasible: false, rank: null, feasibleNodes: 1, nodes: 2 });
    expect(eco.words.join(" ")).toContain("class eco");
    const standard = await json<ScoreAnswer>("/api/score?node=b&class=standard&cpus=4");
    expect(standard).toMatchObject({ feasible: true, rank: 1, feasibleNodes: 2, unit: "points" });
    const sum = standard.terms.reduce((total, [, points]) => total + points, 0);
    expect(Math.round(Math.min(100, Math.max(0, sum)))).toBe(standard.score);
    for (const query of ["node=b&class=x", "node=b&cpus=-1", "node=b&cpus=x", "node=b&resource=evil"])
      expect((await harness.get(`/api/score?${query}`)).status).toBe(400);
    expect((await harness.get("/api/score?node=none")).status).toBe(404);
  });

  it("DSH-07 scores with the settings of the extender in the same process", async () => {
    await harness.stop();
    const flags = { MARGINAL_CPU_UTIL_COEFF: "0.1", SCORE_MAX: "10" };
    const parsed = parseConfig(extenderConfig, { env: {}, flags, machine: { isTerminal: false, exists: () => false } });
    if (!parsed.ok) throw new Error("invalid settings");
    const added = async () => {
      await harness.until(({ syncing, totals }) => syncing.length === 0 && totals.nodes === 2);
      const { words, score, scoreMax, terms } = await json<ScoreAnswer>("/api/score?node=b&cpus=32");
      const sum = terms.reduce((total, [, points]) => total + points, 0);
      expect(Math.round(Math.min(scoreMax, Math.max(0, sum)))).toBe(score);
      return Number(/adds about (\S+) W/.exec(words.join(" "))?.[1]);
    };
    await harness.start();
    const byDefault = await added();
    await harness.stop();
    await harness.start({}, { extender: parsed.value.values });
    expect((await added()) / byDefault).toBeCloseTo(0.1 / 0.7, 1);
    expect((await json<ScoreAnswer>("/api/score?node=b")).scoreMax).toBe(10);
  });

  it("DSH-07 the parts of an energy score add up to the joules in its words, with the PUE", async () => {
    await harness.stop();
    const flags = { SCORING: "energy", ENABLE_FACILITY_METRICS: "true" };
    const parsed = parseConfig(extenderConfig, { env: {}, flags, machine: { isTerminal: false, exists: () => false } });
    if (!parsed.ok) throw new Error("invalid settings");
    const status = { estimatedPUE: 1.5 };
    const own = { "joulie.io/hw.cpu-model": "EPYC-9654", "joulie.io/hw.cpu-sockets": "2" };
    await harness.createNode("c", { class: "performance", labels: own });
    await harness.user.mergePatch(resources.nodeTwins, { name: "c" }, { status }, { subresource: "status" });
    await harness.start({}, { extender: parsed.value.values });
    await harness.until(({ syncing, totals }) => syncing.length === 0 && totals.nodes === 3);
    const { terms, unit } = await json<ScoreAnswer>("/api/score?node=c&cpus=32");
    const [site = 0, ...others] = terms.map(([, joules]) => joules).toReversed();
    expect(unit).toBe("joules");
    expect(site / others.reduce((sum, joules) => sum + joules, 0)).toBeCloseTo(0.5);
  });

  it("DSH-18 shows first that Joulie is stopped", async () => {
    await harness.user.create(resources.namespaces, { metadata: { name: "joulie-system" } });
    await harness.setTwin("a", { class: "performance", power: 900, cap: 500 });
    const hasProblem = (text: string) => (snapshot: Snapshot) => snapshot.problems[0]?.title.includes(text) === true;
    await expect.poll(async () => hasProblem("drawn")(await harness.snapshot())).toBe(true);
    const metadata = { annotations: { "joulie.io/stop": "true" } };
    await harness.user.mergePatch(resources.namespaces, { name: "joulie-system" }, { metadata });
    const stopped = async () => hasProblem("Joulie is stopped")(await harness.snapshot());
    await expect.poll(stopped).toBe(true);
  });

  it("DSH-06 accounts for energy and names the method", async () => {
    await harness.until(({ syncing, totals }) => syncing.length === 0 && totals.counterfactual !== null);
    const savings = await json<SavingsAnswer>("/api/savings");
    expect(savings.from).not.toBeNull();
    expect(savings.method).toContain("a model");
    expect(savings.byClassKwh.map(([name]) => name)).toEqual(["Performance pods", "Standard pods", "Idle"]);
  });

  it("X-154 counts energy every minute of the cluster's time, also where that passes faster than a second", async () => {
    const clock = new VirtualClock(systemClock.now());
    await harness.stop();
    await harness.start({}, { clock });
    await harness.until(({ syncing }) => syncing.length === 0);
    for (let minute = 0; minute < 4; minute++) {
      await clock.advanceAsync(milliseconds(60_000));
      await harness.snapshot();
      expect(readEnergyAccountAnswer(await json("/api/energy-account"))?.totals.to).toBe(clock.now());
    }
  });

  it("DSH-06 continues the energy account after a restart, with money and carbon", async () => {
    const variables = {
      HISTORY_FILE: join(harness.folder, "state.json"),
      ENERGY_PRICE: "0.3",
      CARBON_INTENSITY: "400",
      SITE_PUE: "1.5",
    };
    const account = async () => readEnergyAccountAnswer(await json("/api/energy-account"))?.totals;
    await harness.stop();
    await harness.start(variables);
    await expect.poll(async () => (await account())?.used).toBeGreaterThan(0);
    const before = await account();
    await harness.stop();
    for (const name of ["a", "b"]) await harness.user.delete(resources.nodes, { name });
    await harness.start(variables);
    const after = await account();
    expect(after?.from).toBe(before?.from);
    expect(after?.used).toBeGreaterThanOrEqual(Math.floor(before?.used ?? Infinity));
    expect(after?.byNode.map(({ node }) => node)).toEqual(["a", "b"]);
    expect(after?.byClass.performance).toBeGreaterThan(0);
    // The file has whole joules for each node and hour, and there are two hours if a full one has passed.
    const about = (joules: number | undefined) => expect.closeTo(joules ?? Infinity, -1) as number;
    const day = readEnergyAccountAnswer(await json("/api/energy-account?hours=24"))?.totals;
    expect([day?.from, day?.used]).toEqual([after?.from, about(after?.used)]);
    expect((await harness.get("/api/energy-account?hours=25")).status).toBe(400);
    expect((await json<SavingsAnswer>("/api/savings?hours=24")).usedKwh * 3_600_000).toEqual(about(day?.used));
    const { usedKwh, cost, carbonKg } = await json<SavingsAnswer>("/api/savings");
    expect(usedKwh * 3_600_000).toEqual(about(after?.used));
    expect([cost?.used, carbonKg?.used]).toEqual([
      expect.closeTo(usedKwh * 1.5 * 0.3, 12),
      expect.closeTo(usedKwh * 1.5 * 0.4, 12),
    ]);
  });

  it("DSH-05 keeps the history over a restart, in a small file", async () => {
    const file = join(harness.folder, "history/power.json");
    await harness.stop();
    await harness.start({ HISTORY_FILE: file });
    await harness.until(({ syncing, totals }) => syncing.length === 0 && totals.power === 650);
    await harness.stop();
    for (const name of ["a", "b"]) await harness.user.delete(resources.nodes, { name });
    await harness.start({ HISTORY_FILE: file });
    const { power, source } = await json<HistoryAnswer>("/api/history?hours=1");
    expect([source, power]).toEqual(["memory", [650]]);
    for (const hours of ["25", "-1", "x", ""])
      expect((await harness.get(`/api/history?hours=${hours}`)).status).toBe(400);
  });
});

describe("the dashboard's server", () => {
  it("DSH-02 sends a strict content security policy and nosniff with every answer", async () => {
    await harness.start();
    for (const path of ["/", "/api/snapshot", "/none", "/api/none"]) {
      const { headers } = await harness.get(path);
      expect(headers.get("content-security-policy")).toMatch(
        /^default-src 'none'; script-src 'self'; style-src 'self';/,
      );
      expect(headers.get("content-security-policy")).not.toContain("unsafe");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  it("DSH-02 is read-only", async () => {
    await harness.start();
    for (const method of ["POST", "PUT", "DELETE", "PATCH"])
      expect((await fetch(`${harness.url}/api/snapshot`, { method })).status).toBe(405);
  });

  it("DSH-02 reads no file outside the page", async () => {
    await harness.start();
    for (const path of ["/../package.json", "/..%2fpackage.json", "/assets/../../package.json", "/index.html"])
      expect(await rawStatus(path, {})).toBe(404);
  });

  it("DSH-04 refuses other hosts' names and proxies without a token", async () => {
    await harness.start();
    expect(await rawStatus("/api/snapshot", { host: "evil.example" })).toBe(401);
    expect(await rawStatus("/api/snapshot", { "x-forwarded-for": "10.0.0.1" })).toBe(401);
    expect(await rawStatus("/api/events", { host: "evil.example" })).toBe(401);
    expect(await rawStatus("/api/snapshot", {})).toBe(200);
  });

  it("DSH-03 limits the number of open pages", async () => {
    await harness.start({}, { clients: 2 });
    const abort = new AbortController();
    const open = async () => fetch(`${harness.url}/api/events`, { signal: abort.signal });
    const answers = [await open(), await open(), await open()];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 503]);
    abort.abort();
    const last = new AbortController();
    await eventually(async () => (await fetch(`${harness.url}/api/events`, { signal: last.signal })).status === 200);
    last.abort();
  });

  const other = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === "IPv4" && !one.internal)?.address;
  it.skipIf(other === undefined)("DSH-04 asks a client on another address for a token", async () => {
    await harness.start({ DASHBOARD_ADDR: `${other}:0` });
    const refused = await harness.get("/api/snapshot");
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect((await harness.get("/")).status).not.toBe(401);
  });
});

/** Sends a path as it is: fetch would tidy it up. */
async function rawStatus(path: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(harness.url);
    request({ hostname, port, path, headers }, (response) => {
      resolve(response.statusCode);
      response.destroy();
    })
      .on("error", reject)
      .end();
  });
}
