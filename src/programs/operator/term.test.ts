import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { resources } from "../../platform/kube/index.ts";
import { type Operator, OperatorTestHarness, type RecordedWrite } from "./testing/test-harness.ts";

const TICK = 62;
const SOON = 10;

interface Measured {
  readonly powerMeasurement?: { readonly source?: string; readonly measuredAt?: string };
}
const measuredIn = (writes: readonly RecordedWrite[]) =>
  writes.flatMap(({ body }) => (body["status"] as Measured | undefined)?.powerMeasurement ?? []);
const sourcesIn = (writes: readonly RecordedWrite[]) => measuredIn(writes).map(({ source }) => source);

describe("a term of leadership", () => {
  let harness: OperatorTestHarness;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
  });
  afterEach(async () => harness.end());

  const cutFromLease = (...names: readonly string[]) =>
    harness.api.faults.add({
      fault: { kind: "refused" },
      when: ({ method, path, body = "" }) =>
        method !== "GET" && path.includes("/leases") && names.some((name) => body.includes(`"${name}`)),
    });
  const isLeading = async (operator: Operator) =>
    (await operator.series("joulie_operator_leading")).includes("joulie_operator_leading 1");

  it("X-57 a new leader reads the meters before it plans, and writes no unchanged twin", async () => {
    const names = ["a", "b", "c", "d", "e"];
    for (const name of names) await harness.createNode(name);
    harness.usage = Object.fromEntries(names.map((name) => [name, "20"]));
    const first = harness.start({ TWIN_HEARTBEAT: "1h" });
    await harness.advance(SOON);
    const second = harness.start({ TWIN_HEARTBEAT: "1h" });
    await harness.advance(2 * TICK);
    await first.stop();
    // Even where the meters take a moment to answer.
    harness.usageTakes = milliseconds(3000);
    second.written();
    await harness.advance(TICK);
    expect(await isLeading(second)).toBe(true);
    expect(second.written()).toEqual([]);
    expect((await harness.twin("a")).status?.powerMeasurement?.source).toBe("utilization");
  });

  it("a cold start writes each status once, with its power source", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    harness.usage = { a: "20", b: "20" };
    const operator = harness.start();
    await harness.advance(SOON);
    expect(new Set(sourcesIn(operator.written()))).toEqual(new Set(["utilization"]));
  });

  it("the first pass waits only a few seconds for meters that do not respond", async () => {
    await harness.createNode("a");
    harness.usageTakes = milliseconds(3_600_000);
    harness.usage = { a: "20" };
    harness.start();
    await harness.advance(4);
    expect(await harness.findTwin("a")).toBeUndefined();
    await harness.advance(4);
    expect((await harness.findTwin("a"))?.status?.powerMeasurement?.source).toBe("static");
  });

  it("X-31 one failed request to metrics.k8s.io changes no node's power source", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    const usage = { a: "20", b: "20" };
    harness.usage = usage;
    const operator = harness.start({ TWIN_HEARTBEAT: "30s" });
    await harness.advance(TICK);
    operator.written();
    harness.usage = undefined;
    await harness.advance(TICK);
    harness.usage = usage;
    await harness.advance(3 * TICK);
    expect(new Set(sourcesIn(operator.written()))).toEqual(new Set(["utilization"]));
  });

  it("X-31 X-57 a new leader uses published readings while metrics.k8s.io does not respond, as long as its own", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    harness.usage = { a: "20", b: "30" };
    const first = harness.start();
    await harness.advance(SOON);
    const second = harness.start();
    await harness.advance(2 * TICK);
    harness.usage = undefined;
    await first.stop();
    second.written();
    await harness.advance(2 * TICK);
    expect(await isLeading(second)).toBe(true);
    expect(new Set(sourcesIn(second.written()))).toEqual(new Set(["utilization"]));
    await harness.advance(5 * TICK);
    expect(sourcesIn(second.written())).toContain("static");
  });

  it("publishes no reading from an earlier term", async () => {
    await harness.createNode("a");
    harness.usage = { a: "20" };
    const operator = harness.start();
    await harness.advance(TICK);
    const heal = cutFromLease("operator-0");
    await harness.advance(3600);
    operator.written();
    harness.usage = undefined;
    heal();
    await harness.advance(TICK);
    const written = measuredIn(operator.written());
    expect(written.length).toBeGreaterThan(0);
    for (const { source, measuredAt = "" } of written) {
      expect(source).toBe("static");
      expect(harness.clock.now() - Date.parse(measuredAt)).toBeLessThan(600_000);
    }
  });

  it("X-15 a former leader exports no node series and no plan", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    const first = harness.start();
    await harness.advance(SOON);
    const second = harness.start();
    await harness.advance(5);
    expect((await first.series('node="a"')).length).toBeGreaterThan(0);
    expect(await second.series('node="a"')).toEqual([]);
    const heal = cutFromLease("operator-0");
    await harness.advance(TICK);
    expect([await isLeading(first), await isLeading(second)]).toEqual([false, true]);
    expect(await first.series('node="')).toEqual([]);
    expect(JSON.parse((await first.page("/debug/plan")).text)).toEqual({ leading: false });
    expect((await second.series('node="a"')).length).toBeGreaterThan(0);

    await harness.user.delete(resources.nodes, { name: "a" });
    heal();
    await harness.advance(SOON);
    await second.stop();
    await harness.advance(30);
    expect(await isLeading(first)).toBe(true);
    expect(await first.series('node="a"')).toEqual([]);
    expect((await first.series('node="b"')).length).toBeGreaterThan(0);
    expect(JSON.parse((await first.page("/debug/plan")).text)).toMatchObject({ nodes: [{ name: "b" }] });
  });
});
