import { describe, expect, it } from "vitest";
import {
  type Instant,
  instant,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
} from "../../../core/units/index.ts";
import { type Clock, type Timer } from "../../clock/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { createLogger } from "../../log/index.ts";
import { seededRandom } from "../../random/index.ts";
import { KubeClient } from "../client/client.ts";
import type { ApiRequest, ApiResponse, Transport } from "../client/transport.ts";
import { FakeApi } from "../testing/fake-api.ts";
import { LeaderElector, type LeaderElectorOptions } from "./leader-elector.ts";
import type { Lease } from "./lease.ts";

const ms = milliseconds;
const PATH = "/apis/coordination.k8s.io/v1/namespaces/joulie-system/leases/operator";
const log = createLogger({ level: "silent", program: "test" });

/** A process that a test can pause or disconnect. While it is paused, none of its code runs. */
class Process implements Clock, Transport {
  readonly #clock: VirtualClock;
  readonly #api: FakeApi;
  readonly #held: (() => void)[] = [];
  #state: "running" | "paused" | "suspended" = "running";
  #asleep = 0;
  #stoppedAt = 0;
  #wokeAt = 0;
  offline = false;
  /** Delay of responses to it. */
  lateness = 0;

  constructor(clock: VirtualClock, api: FakeApi) {
    this.#clock = clock;
    this.#api = api;
  }

  get running(): boolean {
    return this.#state === "running";
  }

  /** Long enough to detect that it was paused. */
  get awake(): boolean {
    return this.running && this.#clock.monotonic() - this.#wokeAt > 600;
  }

  /** `suspended`: the whole machine sleeps and monotonic time stops. */
  stopFor(state: "paused" | "suspended"): void {
    if (!this.running) return;
    this.#state = state;
    this.#stoppedAt = this.#clock.monotonic();
  }

  goOn(): void {
    if (this.#state === "suspended") this.#asleep += this.#clock.monotonic() - this.#stoppedAt;
    if (!this.running) this.#wokeAt = this.#clock.monotonic();
    this.#state = "running";
    for (const callback of this.#held.splice(0)) callback();
  }

  now(): Instant {
    return this.#clock.now();
  }

  monotonic(): MonotonicInstant {
    return monotonicInstant((this.#state === "suspended" ? this.#stoppedAt : this.#clock.monotonic()) - this.#asleep);
  }

  after(length: Milliseconds, callback: () => void): Timer {
    const due = this.monotonic() + length;
    let timer: Timer | undefined;
    let cancelled = false;
    const wake = () => {
      if (cancelled) return;
      if (!this.running) this.#held.push(wake);
      else if (this.monotonic() < due) timer = this.#clock.after(ms(due - this.monotonic()), wake);
      else callback();
    };
    timer = this.#clock.after(length, wake);
    return {
      cancel: () => {
        cancelled = true;
        timer?.cancel();
      },
    };
  }

  async sleep(length: Milliseconds, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const timer = this.after(length, resolve);
      signal?.addEventListener("abort", () => (timer.cancel(), reject(signal.reason)), { once: true });
    });
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    if (this.offline) throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    const response = await this.#api.request(request);
    if (this.lateness > 0) await this.#clock.sleep(ms(this.lateness), request.signal);
    // A paused process reads the response when it resumes.
    if (!this.running) await new Promise<void>((resolve) => this.#held.push(resolve));
    return response;
  }

  async close(): Promise<void> {}
}

function candidate(process: Process, name: string, seed: number, more: Partial<LeaderElectorOptions> = {}) {
  const terms = { active: 0, begun: 0 };
  const stop = new AbortController();
  const elector = new LeaderElector({
    client: new KubeClient({ transport: process, clock: process, random: seededRandom(seed), fieldManager: name }),
    clock: process,
    random: seededRandom(seed + 0.5),
    log,
    lease: { namespace: "joulie-system", name: "operator" },
    name,
    lead: async (term) => {
      terms.begun++;
      terms.active++;
      await new Promise<void>((resolve) => term.addEventListener("abort", () => resolve(), { once: true }));
      terms.active--;
    },
    ...more,
  });
  const ended = elector.run(stop.signal);
  return { elector, process, terms, name, ended, stop: async () => (stop.abort(), ended) };
}

const world = () => {
  const clock = new VirtualClock(instant(1_700_000_000_000));
  return { clock, api: new FakeApi(clock) };
};
const leaseOf = (api: FakeApi): Lease | undefined => api.objects.get(PATH);

describe("LeaderElector", () => {
  it("creates the Lease, leads, and renews it", async () => {
    const { clock, api } = world();
    const one = candidate(new Process(clock, api), "one", 1);
    await clock.advanceAsync(ms(100));
    expect(one.elector.leading).toBe(true);
    expect(leaseOf(api)?.spec).toMatchObject({
      holderIdentity: expect.stringMatching(/^one_\w+$/),
      leaseDurationSeconds: 15,
      leaseTransitions: 0,
      acquireTime: "2023-11-14T22:13:20.000000Z",
      renewTime: "2023-11-14T22:13:20.000000Z",
    });
    await clock.advanceAsync(ms(60_000));
    expect(one.elector.leading).toBe(true);
    expect(one.terms).toEqual({ active: 1, begun: 1 });
    const { acquireTime, renewTime } = leaseOf(api)?.spec ?? {};
    expect(acquireTime).toBe("2023-11-14T22:13:20.000000Z");
    expect(Date.parse(renewTime ?? "")).toBeGreaterThan(1_700_000_055_000);
    // One write per renewal, without a read before it.
    expect(api.requests.filter(({ method }) => method === "GET")).toHaveLength(1);
    await one.stop();
    expect(clock.waiting).toBe(0);
  });

  it("X-161 shows the time of its calendar in the Lease, and goes on leading by its clock", async () => {
    const { clock, api } = world();
    const calendar = { now: () => instant(1_700_000_000_000 + 60 * clock.monotonic()) };
    const one = candidate(new Process(clock, api), "one", 1, { calendar });
    await clock.advanceAsync(ms(60_000));
    expect(one.terms).toEqual({ active: 1, begun: 1 });
    expect(Date.parse(leaseOf(api)?.spec?.renewTime ?? "")).toBeGreaterThan(1_700_000_000_000 + 55 * 60_000);
    await one.stop();
  });

  it("releases the Lease when it stops, and the next replica leads within a retry period", async () => {
    const { clock, api } = world();
    const one = candidate(new Process(clock, api), "one", 1);
    await clock.advanceAsync(ms(3000));
    const two = candidate(new Process(clock, api), "two", 2);
    await clock.advanceAsync(ms(3000));
    expect(two.elector.leading).toBe(false);
    await Promise.all([one.stop(), clock.advanceAsync(ms(2500))]);
    expect(one.elector.leading).toBe(false);
    expect(one.terms.active).toBe(0);
    expect(two.elector.leading).toBe(true);
    expect(leaseOf(api)?.spec).toMatchObject({ leaseTransitions: 1, leaseDurationSeconds: 15 });
    await two.stop();
    expect(leaseOf(api)?.spec?.holderIdentity).toBe("");
  });

  it("does not release the Lease while the leader's work still runs", async () => {
    const { clock, api } = world();
    const work = Promise.withResolvers<void>();
    const one = candidate(new Process(clock, api), "one", 1, { lead: async () => work.promise });
    await clock.advanceAsync(ms(100));
    const ended = one.stop();
    await clock.advanceAsync(ms(3000));
    expect(leaseOf(api)?.spec?.holderIdentity).toMatch(/^one/);
    work.resolve();
    await ended;
    expect(leaseOf(api)?.spec?.holderIdentity).toBe("");
  });

  it("releases the Lease even if the response to its last renewal was lost", async () => {
    const { clock, api } = world();
    const one = candidate(new Process(clock, api), "one", 1);
    await clock.advanceAsync(ms(100));
    api.fault = ({ method }) => (method === "PATCH" ? "done, then silence" : undefined);
    await clock.advanceAsync(ms(3000));
    api.fault = () => undefined;
    await one.stop();
    expect(leaseOf(api)?.spec?.holderIdentity).toBe("");
  });

  it("stops leading after the renew deadline when the API is unavailable, and leads again when it is back", async () => {
    const { clock, api } = world();
    const one = candidate(new Process(clock, api), "one", 1);
    await clock.advanceAsync(ms(100));
    one.process.offline = true;
    await clock.advanceAsync(ms(7000));
    expect(one.elector.leading).toBe(true);
    await clock.advanceAsync(ms(3100));
    expect(one.elector.leading).toBe(false);
    expect(one.terms.active).toBe(0);
    one.process.offline = false;
    await clock.advanceAsync(ms(3000));
    expect(one.elector.leading).toBe(true);
    expect(one.terms.begun).toBe(2);
    await one.stop();
  });

  it("stops leading when requests hang", async () => {
    const { clock, api } = world();
    const one = candidate(new Process(clock, api), "one", 1);
    await clock.advanceAsync(ms(100));
    api.fault = () => "silence";
    await clock.advanceAsync(ms(10_100));
    expect(one.elector.leading).toBe(false);
    expect(one.terms.active).toBe(0);
    const ended = one.stop();
    await clock.advanceAsync(ms(10_000));
    await ended;
  });

  it("stops leading when wall-clock time jumps ahead of monotonic time, as after a suspend", async () => {
    const { clock, api } = world();
    const one = candidate(new Process(clock, api), "one", 1);
    await clock.advanceAsync(ms(100));
    one.process.offline = true;
    clock.step(ms(3_600_000));
    expect(one.elector.leading).toBe(false);
    await clock.advanceAsync(ms(2500));
    expect(one.terms.active).toBe(0);
    one.process.offline = false;
    clock.step(ms(-7_200_000));
    await clock.advanceAsync(ms(3000));
    expect(one.elector.leading).toBe(true);
    await one.stop();
  });

  it("counts its lease from when the write was sent, not from when the response was read", async () => {
    const { clock, api } = world();
    const process = new Process(clock, api);
    api.fault = ({ method }) => {
      if (method === "POST") process.stopFor("paused");
      return undefined;
    };
    const one = candidate(process, "one", 1);
    await clock.advanceAsync(ms(100));
    const two = candidate(new Process(clock, api), "two", 2);
    await clock.advanceAsync(ms(20_000));
    expect(leaseOf(api)?.spec?.holderIdentity).toMatch(/^two/);
    process.goOn();
    await clock.advanceAsync(ms(0));
    expect(one.elector.leading).toBe(false);
    expect(one.terms.begun).toBe(0);
    await Promise.all([one.stop(), two.stop(), clock.advanceAsync(ms(5000))]);
  });

  it("takes over a foreign lease only after it was unchanged for its whole duration, whatever its timestamps", async () => {
    const { clock, api } = world();
    api.put(PATH, {
      spec: { holderIdentity: "other", leaseDurationSeconds: 15, renewTime: "1999-01-01T00:00:00.000000Z" },
    });
    const one = candidate(new Process(clock, api), "one", 1);
    await clock.advanceAsync(ms(14_000));
    expect(one.elector.leading).toBe(false);
    await clock.advanceAsync(ms(4000));
    expect(one.elector.leading).toBe(true);
    await one.stop();
  });

  it("rejoins the election after the leader's work failed", async () => {
    const { clock, api } = world();
    let calls = 0;
    const one = candidate(new Process(clock, api), "one", 1, {
      lead: async () => {
        calls++;
        throw new Error("broken");
      },
    });
    await clock.advanceAsync(ms(10_000));
    expect(calls).toBeGreaterThan(2);
    await one.stop();
  });

  it("stops leading when it sends the release, however late the response arrives", async () => {
    const { clock, api } = world();
    const one = candidate(new Process(clock, api), "one", 1);
    await clock.advanceAsync(ms(3000));
    const two = candidate(new Process(clock, api), "two", 2);
    await clock.advanceAsync(ms(3000));
    one.process.lateness = 1900;
    const ended = one.stop();
    for (let passed = 0; passed < 3000; passed += 100) {
      await clock.advanceAsync(ms(100));
      expect([one, two].filter(({ elector }) => elector.leading).length).toBeLessThan(2);
    }
    await ended;
    expect(two.elector.leading).toBe(true);
    await two.stop();
  });

  it("stops leading when another process overwrites the Lease", async () => {
    const { clock, api } = world();
    const one = candidate(new Process(clock, api), "one", 1);
    await clock.advanceAsync(ms(10_000));
    expect(one.elector.leading).toBe(true);
    api.put(PATH, { spec: { holderIdentity: "other", leaseDurationSeconds: 15 } });
    await clock.advanceAsync(ms(3000));
    expect([one.elector.leading, one.terms.active]).toEqual([false, 0]);
    await clock.advanceAsync(ms(20_000));
    expect([one.elector.leading, one.terms]).toEqual([true, { active: 1, begun: 2 }]);
    await one.stop();
  });

  it("ends the leader's work even when renewing fails unexpectedly", async () => {
    const { clock, api } = world();
    const process = new Process(clock, api);
    const broken = { next: () => 0.5 };
    const one = candidate(process, "one", 1, { random: broken });
    await clock.advanceAsync(ms(100));
    broken.next = () => {
      throw new Error("out of luck");
    };
    const { ended } = one;
    ended.catch(() => undefined);
    await clock.advanceAsync(ms(5000));
    await expect(ended).rejects.toThrow("out of luck");
    expect([one.elector.leading, one.terms.active]).toEqual([false, 0]);
    expect(leaseOf(api)?.spec?.holderIdentity).toBe("");
    expect(clock.waiting).toBe(0);
  });

  it.each([1, 2, 3, 4, 5])(
    "X-57 never has two leaders through 200 random pauses, sleeps, outages and restarts, seed %d",
    async (seed) => {
      const { clock, api } = world();
      const random = seededRandom(seed);
      let seeds = seed * 1000;
      const begun = new Map<string, number>();
      const start = (process: Process, name: string) => candidate(process, name, seeds++);
      const all = ["a", "b", "c"].map((name) => start(new Process(clock, api), name));
      // Processes that are stopping.
      const leaving = new Set<(typeof all)[number]>();
      const pass = async (length: number) => {
        for (let passed = 0; passed < length; passed += 200) {
          await clock.advanceAsync(ms(200));
          const both = [...all, ...leaving];
          const leading = both.filter(({ elector }) => elector.leading).map(({ name }) => name);
          expect(leading.length, `leading at ${clock.monotonic()}: ${leading.join()}`).toBeLessThan(2);
          const working = both.filter(({ process, terms }) => process.awake && terms.active > 0);
          expect(working.length, `working at ${clock.monotonic()}`).toBeLessThan(2);
        }
      };
      const restart = (one: (typeof all)[number]) => {
        begun.set(one.name, (begun.get(one.name) ?? 0) + one.terms.begun);
        leaving.add(one);
        void one.stop().then(() => leaving.delete(one));
        all[all.indexOf(one)] = start(new Process(clock, api), one.name);
      };
      for (let trouble = 0; trouble < 200; trouble++) {
        // Half of the faults hit the leader.
        const leader = all.find(({ elector }) => elector.leading);
        const hit = (random.next() < 0.5 ? leader : undefined) ?? all[Math.floor(random.next() * 3)];
        if (hit === undefined) throw new Error("one of three is always there");
        if (random.next() < 0.3) hit.process.lateness = random.next() * 3000;
        const chance = random.next();
        if (chance < 0.2) hit.process.stopFor("paused");
        else if (chance < 0.4) hit.process.stopFor("suspended");
        else if (chance < 0.6) hit.process.offline = true;
        else if (chance < 0.8) restart(hit);
        else api.fault = () => (random.next() < 0.5 ? "done, then silence" : { late: random.next() * 20_000 });
        await pass(random.next() * 25_000);
        api.fault = () => undefined;
        for (const { process } of [...all, ...leaving]) {
          if (random.next() < 0.7) process.goOn();
          if (random.next() < 0.7) process.offline = false;
          if (random.next() < 0.7) process.lateness = 0;
        }
        await pass(random.next() * 8000);
      }
      for (const { process } of [...all, ...leaving]) {
        process.goOn();
        process.offline = false;
        process.lateness = 0;
      }
      await pass(40_000);
      expect(leaving.size).toBe(0);
      expect(all.filter(({ elector }) => elector.leading)).toHaveLength(1);
      for (const { name, terms } of all) expect((begun.get(name) ?? 0) + terms.begun).toBeGreaterThan(5);
      const ended = Promise.all(all.map(async ({ stop }) => stop()));
      await clock.advanceAsync(ms(30_000));
      await ended;
    },
  );
});
