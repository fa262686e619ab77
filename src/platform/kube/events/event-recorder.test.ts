import { describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { clockWithCalendar, ScaledClock } from "../../clock/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { createLogger, type LogDestination } from "../../log/index.ts";
import { seededRandom } from "../../random/index.ts";
import { KubeClient } from "../client/client.ts";
import { FakeApi } from "../testing/fake-api.ts";
import { type EventNote, EventRecorder, type EventRecorderOptions } from "./event-recorder.ts";

const ms = milliseconds;
const note: EventNote = {
  regarding: { apiVersion: "v1", kind: "Node", name: "node-1", uid: "u1" },
  type: "Warning",
  reason: "CapBlocked",
  action: "SetPowerCap",
  note: "the package refuses 120 W",
};

function make(more: Partial<EventRecorderOptions> = {}) {
  const clock = new VirtualClock(instant(Date.parse("2026-01-01T00:00:00Z")));
  const api = new FakeApi(clock);
  const lines: string[] = [];
  const destination: LogDestination = { write: (line) => lines.push(line) };
  const recorder = new EventRecorder({
    client: new KubeClient({ transport: api, clock, random: seededRandom(1), fieldManager: "test" }),
    clock,
    random: seededRandom(2),
    log: createLogger({ level: "info", program: "test", destination }),
    controller: "joulie.io/agent",
    instance: "agent-x",
    ...more,
  });
  return { clock, api, recorder, lines };
}

describe("EventRecorder", () => {
  it("writes valid events.k8s.io/v1 events, in `default` for cluster-scoped objects", async () => {
    const { clock, api, recorder } = make();
    recorder.record(note);
    recorder.record({ ...note, regarding: { apiVersion: "v1", kind: "Pod", namespace: "team", name: "p" } });
    await clock.advanceAsync(ms(0));
    const [first, second] = [...api.objects];
    expect(first?.[0]).toMatch(/^\/apis\/events\.k8s\.io\/v1\/namespaces\/default\/events\/node-1\.\w+$/);
    expect(first?.[1]).toMatchObject({
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      eventTime: "2026-01-01T00:00:00.000000Z",
      reportingController: "joulie.io/agent",
      reportingInstance: "agent-x",
      action: "SetPowerCap",
      reason: "CapBlocked",
      type: "Warning",
      note: "the package refuses 120 W",
      regarding: { apiVersion: "v1", kind: "Node", name: "node-1", uid: "u1" },
    });
    expect(first?.[1]).not.toHaveProperty("series");
    expect(second?.[0]).toContain("/namespaces/team/events/p.");
    await recorder.stop();
  });

  it("counts repeated events in a series and writes the count periodically", async () => {
    const { clock, api, recorder } = make();
    for (let time = 0; time < 100; time++) {
      recorder.record({ ...note, note: `the package refuses ${time} W` });
      await clock.advanceAsync(ms(1000));
    }
    await clock.advanceAsync(ms(60_000));
    expect(api.objects.size).toBe(1);
    expect([...api.objects.values()][0]).toMatchObject({
      note: "the package refuses 0 W",
      series: { count: 100, lastObservedTime: "2026-01-01T00:01:39.000000Z" },
    });
    expect(api.requests).toHaveLength(3);
    // Six minutes later it is a new event.
    await clock.advanceAsync(ms(400_000));
    recorder.record(note);
    await clock.advanceAsync(ms(1));
    expect(api.objects.size).toBe(2);
    await recorder.stop();
    expect(clock.waiting).toBe(0);
  });

  it("X-161 writes and ends a series in the time of the cluster where that passes faster", async () => {
    const real = new VirtualClock(instant(0));
    const cluster = new ScaledClock(real, 60, instant(Date.parse("2026-01-01T00:00:00Z")));
    const { api, recorder } = make({ clock: clockWithCalendar(real, cluster), seriesClock: cluster });
    const eventsAfter = async (length: number) => {
      await real.advanceAsync(ms(length));
      const events = [...api.objects.values()] as readonly { readonly eventTime?: string; readonly series?: object }[];
      return events.map(({ eventTime, series }) => [eventTime, series]);
    };
    recorder.record(note);
    await real.advanceAsync(ms(0));
    recorder.record(note);
    // Two seconds are two minutes of the cluster, and ten seconds ten.
    const first = "2026-01-01T00:00:00.000000Z";
    expect(await eventsAfter(2000)).toEqual([[first, { count: 2, lastObservedTime: first }]]);
    await real.advanceAsync(ms(10_000));
    recorder.record(note);
    expect((await eventsAfter(1)).map(([eventTime]) => eventTime)).toEqual([first, "2026-01-01T00:12:00.000000Z"]);
    await recorder.stop();
  });

  it("creates an event again after the server deleted it", async () => {
    const { clock, api, recorder } = make();
    recorder.record(note);
    await clock.advanceAsync(ms(0));
    api.objects.clear();
    recorder.record(note);
    await clock.advanceAsync(ms(60_000));
    expect([...api.objects.values()][0]).toMatchObject({ series: { count: 2 } });
    await recorder.stop();
  });

  it("continues a series if the response to the create was lost", async () => {
    const { clock, api, recorder, lines } = make();
    let lost = 1;
    api.fault = () => (lost-- > 0 ? "done, then silence" : undefined);
    recorder.record(note);
    await clock.advanceAsync(ms(31_000));
    await clock.advanceAsync(ms(30_000));
    // The write had succeeded, so there is nothing to add.
    expect(api.requests.map(({ method }) => method)).toEqual(["POST", "POST"]);
    recorder.record(note);
    await clock.advanceAsync(ms(60_000));
    expect([...api.objects.values()]).toMatchObject([{ series: { count: 2 } }]);
    expect(lines).toHaveLength(1);
    lost = 1;
    recorder.record({ ...note, reason: "Other" });
    recorder.record({ ...note, reason: "Other" });
    await clock.advanceAsync(ms(120_000));
    expect([...api.objects.values()][1]).toMatchObject({ series: { count: 2 } });
    await recorder.stop();
  });

  it("counts events that it discards unwritten at the end of a series and at stop", async () => {
    const { clock, recorder, api } = make({ perSecond: 1e-6, burst: 2 });
    for (const reason of ["A", "B", "C"]) recorder.record({ ...note, reason });
    await clock.advanceAsync(ms(300_000));
    expect(recorder.dropped).toBe(0);
    await clock.advanceAsync(ms(61_000));
    expect(recorder.dropped).toBe(1);
    recorder.record({ ...note, reason: "D" });
    await recorder.stop();
    expect(recorder.dropped).toBe(2);
    expect(api.objects.size).toBe(2);
  });

  it("keeps its rate and memory bounded", async () => {
    const { clock, api, recorder } = make({ capacity: 100, perSecond: 1, burst: 10 });
    for (let time = 0; time < 1000; time++) recorder.record({ ...note, reason: `R${time}` });
    await clock.advanceAsync(ms(0));
    expect(api.requests).toHaveLength(10);
    expect(recorder.dropped).toBeGreaterThan(800);
    await clock.advanceAsync(ms(59_000));
    await clock.advanceAsync(ms(1000));
    expect(api.requests.length).toBeLessThanOrEqual(70);
    await recorder.stop();
  });

  it("writes the Events of a change of all nodes at its rate limit, and none when nothing happens any more", async () => {
    const { clock, api, recorder } = make();
    for (let node = 0; node < 500; node++)
      recorder.record({ ...note, regarding: { ...note.regarding, name: `node-${node}` } });
    await clock.advanceAsync(ms(0));
    expect(api.requests).toHaveLength(50);
    for (let second = 0; second < 46; second++) await clock.advanceAsync(ms(1000));
    expect(api.requests).toHaveLength(500);
    for (let second = 0; second < 600; second++) await clock.advanceAsync(ms(1000));
    expect(api.requests).toHaveLength(500);
    expect(recorder.dropped).toBe(0);
    await recorder.stop();
  });

  it("warns once when writes are forbidden, keeps trying, and never blocks callers", async () => {
    const { clock, api, recorder, lines } = make();
    api.fault = () => ({ answer: 403, message: "may not" });
    for (let time = 0; time < 5; time++) {
      recorder.record(note);
      await clock.advanceAsync(ms(60_000));
    }
    expect(lines.filter((line) => line.includes("cannot write event"))).toHaveLength(1);
    api.fault = () => undefined;
    recorder.record(note);
    await clock.advanceAsync(ms(60_000));
    expect([...api.objects.values()][0]).toMatchObject({ series: { count: 6 } });
    await recorder.stop();
  });

  it("writes the last counts when it stops, and accepts no more events", async () => {
    const { clock, api, recorder } = make();
    // The second event arrives while the first is being written.
    recorder.record(note);
    recorder.record(note);
    await recorder.stop();
    recorder.record({ ...note, reason: "Late" });
    await clock.advanceAsync(ms(120_000));
    expect(api.objects.size).toBe(1);
    expect([...api.objects.values()][0]).toMatchObject({ series: { count: 2 } });
  });

  it("limits notes and names to the lengths that the API allows", async () => {
    const { clock, api, recorder } = make();
    recorder.record({ ...note, note: "€😀".repeat(1000), regarding: { ...note.regarding, name: "n".repeat(253) } });
    await clock.advanceAsync(ms(0));
    const [event] = [...api.objects.values()] as { note: string; metadata: { name: string } }[];
    expect(Buffer.byteLength(event?.note ?? "")).toBeLessThanOrEqual(1024);
    expect(event?.note.isWellFormed()).toBe(true);
    expect(event?.note).toMatch(/\.\.\.$/);
    expect(event?.metadata.name.length).toBeLessThanOrEqual(253);
    await recorder.stop();
  });
});
