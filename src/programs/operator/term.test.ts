import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { resources } from "../../platform/kube/index.ts";
import { type Operator, Trial, type Write } from "./trial.ts";

const TICK = 62;
const SOON = 10;

interface Measured {
  readonly powerMeasurement?: { readonly source?: string; readonly measuredAt?: string };
}
const measuredIn = (writes: readonly Write[]) =>
  writes.flatMap(({ body }) => (body["status"] as Measured | undefined)?.powerMeasurement ?? []);
const sourcesIn = (writes: readonly Write[]) => measuredIn(writes).map(({ source }) => source);

describe("a term of an operator", () => {
  let trial: Trial;
  beforeEach(async () => {
    trial = await Trial.begin();
  });
  afterEach(async () => trial.end());

  const cutFromLease = (...names: readonly string[]) =>
    trial.api.faults.add({
      fault: { kind: "refused" },
      when: ({ method, path, body = "" }) =>
        method !== "GET" && path.includes("/leases") && names.some((name) => body.includes(`"${name}`)),
    });
  const isLeading = async (operator: Operator) =>
    (await operator.series("joulie_operator_leading")).includes("joulie_operator_leading 1");

  it("X-57 who takes over measures before it plans, and writes no twin that is right as it is", async () => {
    const names = ["a", "b", "c", "d", "e"];
    for (const name of names) await trial.createNode(name);
    trial.usage = Object.fromEntries(names.map((name) => [name, "20"]));
    const first = trial.start({ TWIN_HEARTBEAT: "1h" });
    await trial.pass(SOON);
    const second = trial.start({ TWIN_HEARTBEAT: "1h" });
    await trial.pass(2 * TICK);
    await first.stop();
    // Even where the meters take a moment to answer.
    trial.usageTakes = milliseconds(3000);
    second.written();
    await trial.pass(TICK);
    expect(await isLeading(second)).toBe(true);
    expect(second.written()).toEqual([]);
    expect((await trial.twin("a")).status?.powerMeasurement?.source).toBe("utilization");
  });

  it("a cold start writes each status with its source at once", async () => {
    for (const name of ["a", "b"]) await trial.createNode(name);
    trial.usage = { a: "20", b: "20" };
    const operator = trial.start();
    await trial.pass(SOON);
    expect(new Set(sourcesIn(operator.written()))).toEqual(new Set(["utilization"]));
  });

  it("meters that never answer keep the first pass waiting for some seconds only", async () => {
    await trial.createNode("a");
    trial.usageTakes = milliseconds(3_600_000);
    trial.usage = { a: "20" };
    trial.start();
    await trial.pass(4);
    expect(await trial.findTwin("a")).toBeUndefined();
    await trial.pass(4);
    expect((await trial.findTwin("a"))?.status?.powerMeasurement?.source).toBe("static");
  });

  it("X-31 one failed list of metrics.k8s.io moves no node to another source", async () => {
    for (const name of ["a", "b"]) await trial.createNode(name);
    const usage = { a: "20", b: "20" };
    trial.usage = usage;
    const operator = trial.start({ TWIN_HEARTBEAT: "30s" });
    await trial.pass(TICK);
    operator.written();
    trial.usage = undefined;
    await trial.pass(TICK);
    trial.usage = usage;
    await trial.pass(3 * TICK);
    expect(new Set(sourcesIn(operator.written()))).toEqual(new Set(["utilization"]));
  });

  it("X-31 X-57 who takes over while metrics.k8s.io is silent goes by what was published, as long as by a reading of its own", async () => {
    for (const name of ["a", "b"]) await trial.createNode(name);
    trial.usage = { a: "20", b: "30" };
    const first = trial.start();
    await trial.pass(SOON);
    const second = trial.start();
    await trial.pass(2 * TICK);
    trial.usage = undefined;
    await first.stop();
    second.written();
    await trial.pass(2 * TICK);
    expect(await isLeading(second)).toBe(true);
    expect(new Set(sourcesIn(second.written()))).toEqual(new Set(["utilization"]));
    await trial.pass(5 * TICK);
    expect(sourcesIn(second.written())).toContain("static");
  });

  it("publishes no reading of an earlier term", async () => {
    await trial.createNode("a");
    trial.usage = { a: "20" };
    const operator = trial.start();
    await trial.pass(TICK);
    const heal = cutFromLease("operator-0");
    await trial.pass(3600);
    operator.written();
    trial.usage = undefined;
    heal();
    await trial.pass(TICK);
    const written = measuredIn(operator.written());
    expect(written.length).toBeGreaterThan(0);
    for (const { source, measuredAt = "" } of written) {
      expect(source).toBe("static");
      expect(trial.clock.now() - Date.parse(measuredAt)).toBeLessThan(600_000);
    }
  });

  it("X-15 who no longer leads shows no node's series and no plan", async () => {
    for (const name of ["a", "b"]) await trial.createNode(name);
    const first = trial.start();
    await trial.pass(SOON);
    const second = trial.start();
    await trial.pass(5);
    expect((await first.series('node="a"')).length).toBeGreaterThan(0);
    expect(await second.series('node="a"')).toEqual([]);
    const heal = cutFromLease("operator-0");
    await trial.pass(TICK);
    expect([await isLeading(first), await isLeading(second)]).toEqual([false, true]);
    expect(await first.series('node="')).toEqual([]);
    expect(JSON.parse((await first.page("/debug/plan")).text)).toEqual({ leading: false });
    expect((await second.series('node="a"')).length).toBeGreaterThan(0);

    await trial.hand.delete(resources.nodes, { name: "a" });
    heal();
    await trial.pass(SOON);
    await second.stop();
    await trial.pass(30);
    expect(await isLeading(first)).toBe(true);
    expect(await first.series('node="a"')).toEqual([]);
    expect((await first.series('node="b"')).length).toBeGreaterThan(0);
    expect(JSON.parse((await first.page("/debug/plan")).text)).toMatchObject({ nodes: [{ name: "b" }] });
  });
});
