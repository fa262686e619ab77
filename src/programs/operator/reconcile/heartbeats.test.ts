import { describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { Heartbeats } from "./heartbeats.ts";

const NOW = Date.UTC(2030, 0, 1);
const INTERVAL = 225;
const CHECK = 5;
const at = (seconds: number) => instant(NOW + seconds * 1000);
const iso = (seconds: number) => new Date(at(seconds)).toISOString();
const names = (count: number) => Array.from({ length: count }, (_, index) => `node-${index}`);
const AGENT_INTERVAL = 262;
const heartbeats = (fromAgents: ReadonlySet<string> = new Set()) =>
  new Heartbeats({
    interval: milliseconds(INTERVAL * 1000),
    agentInterval: milliseconds(AGENT_INTERVAL * 1000),
    isFromAgent: (lastUpdated) => fromAgents.has(lastUpdated),
  });

/** Twins that are written two seconds after they were chosen. */
const DELAY = 2;
const NODES = 1000;
const MAX_GAP = INTERVAL + CHECK + DELAY;

class Cluster {
  readonly heartbeats = heartbeats();
  readonly written: Map<string, number>;
  maxGap = 0;

  constructor(count: number, writtenAt: (index: number) => number = () => 0) {
    this.written = new Map(names(count).map((name, index) => [name, writtenAt(index)]));
  }

  /** Checks from `from` to `to`; returns the number of refreshes of each check. */
  run(from: number, to: number, others: (second: number) => Iterable<string> = () => []): number[] {
    const counts: number[] = [];
    let queued: string[] = [];
    for (let second = from; second < to; second += CHECK) {
      for (const name of queued) this.#write(name, second - CHECK + DELAY);
      for (const name of others(second)) this.#write(name, second - 1);
      const twins = Array.from(this.written, ([name, last]) => ({ name, lastUpdated: iso(last) }));
      queued = this.heartbeats.choose(twins, at(second));
      counts.push(queued.length);
    }
    for (const name of queued) this.#write(name, to - CHECK + DELAY);
    return counts;
  }

  #write(name: string, second: number): void {
    this.maxGap = Math.max(this.maxGap, second - (this.written.get(name) ?? 0));
    this.written.set(name, second);
  }
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

describe("Heartbeats", () => {
  it.each([
    ["after all twins were written at once", () => 0],
    ["after the twins were written over one minute", (index: number) => -(index % 60)],
    ["after the twins were written over the whole interval", (index: number) => -((index * 7919) % INTERVAL)],
  ])("X-55 come at an even rate of one per twin and interval %s", (_, writtenAt) => {
    const cluster = new Cluster(NODES, writtenAt);
    const counts = cluster.run(0, 8 * INTERVAL);
    const share = (NODES * CHECK) / INTERVAL;
    for (const count of counts) expect(count).toBeLessThan(1.2 * share);
    expect(sum(counts)).toBeLessThanOrEqual(8 * NODES);
    expect(cluster.maxGap).toBeLessThanOrEqual(MAX_GAP);
  });

  it("X-55 keep a few twins fresh", () => {
    const cluster = new Cluster(3);
    expect(sum(cluster.run(0, 10 * INTERVAL))).toBeLessThanOrEqual(3 * 10);
    expect(cluster.maxGap).toBeLessThanOrEqual(MAX_GAP);
  });

  it("X-55 leave out twins that change more often than the interval", () => {
    const cluster = new Cluster(100);
    cluster.run(0, INTERVAL);
    const busy = names(50);
    const counts = cluster.run(INTERVAL, 5 * INTERVAL, (second) =>
      busy.filter((_, index) => (second + index * CHECK) % 60 === 0),
    );
    // The other 50 are refreshed once per interval, not twice.
    expect(sum(counts)).toBeLessThan(1.3 * 50 * 4);
    expect(cluster.maxGap).toBeLessThanOrEqual(MAX_GAP);
  });

  it("catch up evenly after a pause", () => {
    const cluster = new Cluster(NODES);
    const counts = cluster.run(INTERVAL - 75, INTERVAL + CHECK);
    for (const count of counts) expect(Math.abs(count - (NODES * CHECK) / 80)).toBeLessThan(6);
    expect(sum(counts)).toBe(NODES);
  });

  it("are requested once until the twin was written", () => {
    const own = heartbeats();
    const twins = [{ name: "n", lastUpdated: iso(0) }];
    expect(own.choose(twins, at(INTERVAL))).toEqual(["n"]);
    expect(own.choose(twins, at(INTERVAL + 5))).toEqual([]);
    expect(own.isDue("n", iso(0), at(INTERVAL + 5))).toBe(true);
    expect(own.isDue("n", iso(INTERVAL), at(INTERVAL + 5))).toBe(false);
  });

  it("X-55 are requested again if the twin was not written, by the clock or after it was set back", () => {
    const own = heartbeats();
    const twins = [{ name: "n", lastUpdated: iso(0) }];
    own.choose(twins, at(INTERVAL));
    expect(own.choose(twins, at(INTERVAL + 20))).toEqual([]);
    expect(own.choose(twins, at(INTERVAL + 25))).toEqual(["n"]);
    expect(own.choose(twins, at(INTERVAL + 45))).toEqual([]);
    expect(own.choose(twins, at(-INTERVAL))).toEqual(["n"]);
  });

  it("are due for a chosen twin before its interval has passed, until it was written", () => {
    const own = heartbeats();
    const twins = names(INTERVAL).map((name) => ({ name, lastUpdated: iso(0) }));
    const chosen = own.choose(twins, at(0));
    expect(chosen).toHaveLength(4);
    expect(twins.filter(({ name }) => own.isDue(name, iso(0), at(5))).map(({ name }) => name)).toEqual(chosen);
    expect(twins.filter(({ name }) => own.isDue(name, iso(4), at(5)))).toEqual([]);
  });

  it("are due at once if lastUpdated is far in the future or invalid", () => {
    const own = heartbeats();
    expect(own.isDue("n", iso(INTERVAL - 1), at(0))).toBe(false);
    for (const wrong of [iso(INTERVAL), "yesterday", ""]) {
      expect(own.isDue("n", wrong, at(0))).toBe(true);
      expect(heartbeats().choose([{ name: "n", lastUpdated: wrong }], at(0))).toEqual(["n"]);
    }
  });

  it("X-220 leave twins that agents refresh to them, until an agent is late", () => {
    const own = heartbeats(new Set([iso(0)]));
    const twins = names(NODES).map((name) => ({ name, lastUpdated: iso(0), canWait: true }));
    for (let second = 0; second < AGENT_INTERVAL; second += CHECK) expect(own.choose(twins, at(second))).toEqual([]);
    expect(own.isDue("node-0", iso(0), at(AGENT_INTERVAL - 1))).toBe(false);
    expect(own.isDue("node-0", iso(0), at(AGENT_INTERVAL))).toBe(true);
    expect(own.choose(twins, at(AGENT_INTERVAL))).toHaveLength(NODES);
  });

  it("X-220 come at the even rate for twins whose agents do not refresh them", () => {
    const own = heartbeats(new Set([iso(0)]));
    const twins = names(NODES).map((name, index) => ({ name, lastUpdated: iso(0), canWait: index % 2 === 0 }));
    const chosen = own.choose(twins, at(CHECK));
    expect(chosen.length).toBeGreaterThan(0);
    expect(chosen.every((name) => Number(name.replace("node-", "")) % 2 === 1)).toBe(true);
  });

  it("forget nodes that are gone", () => {
    const own = heartbeats();
    const twins = [{ name: "n", lastUpdated: iso(0) }];
    own.choose(twins, at(INTERVAL));
    own.keepOnly(new Set(["other"]));
    expect(own.choose(twins, at(INTERVAL + 5))).toEqual(["n"]);
  });
});
