import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { createLogger } from "../../log/index.ts";
import { seededRandom } from "../../random/index.ts";
import { ApiError } from "../client/errors.ts";
import { WorkQueue, type WorkQueueOptions } from "./work-queue.ts";

const ms = milliseconds;

function make(work: WorkQueueOptions["work"], more: Partial<WorkQueueOptions> = {}) {
  const clock = new VirtualClock();
  const log = createLogger({ level: "silent", program: "test" });
  const queue = new WorkQueue({ clock, random: { next: () => 0.5 }, log, work, ...more });
  return { clock, queue };
}

describe("WorkQueue", () => {
  it("processes a key once if it was added several times while queued", async () => {
    const done: string[] = [];
    const { clock, queue } = make(async (key) => void done.push(key));
    for (let time = 0; time < 5; time++) for (const key of ["a", "b"]) queue.add(key);
    await clock.advanceAsync(ms(0));
    expect(done).toEqual(["a", "b"]);
    expect(queue.size).toBe(0);
  });

  it("processes a key again if it was added during its work, never concurrently", async () => {
    let under = 0;
    let done = 0;
    const { clock, queue } = make(
      async () => {
        expect(++under).toBe(1);
        await clock.sleep(ms(100));
        under--;
        done++;
      },
      { concurrency: 4 },
    );
    queue.add("a");
    await clock.advanceAsync(ms(50));
    queue.add("a");
    queue.add("a");
    await clock.advanceAsync(ms(1000));
    expect(done).toBe(2);
  });

  it("respects its concurrency and starves no key", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), fc.integer(), async (concurrency, seed) => {
        const random = seededRandom(seed);
        let under = 0;
        const done = new Set<string>();
        const { clock, queue } = make(
          async (key) => {
            expect(++under).toBeLessThanOrEqual(concurrency);
            await clock.sleep(ms(random.next() * 50));
            under--;
            if (random.next() < 0.3) throw new Error("luck");
            done.add(key);
          },
          { concurrency, random },
        );
        for (let key = 0; key < 30; key++) queue.add(`k${key}`);
        await clock.advanceAsync(ms(600_000));
        expect(done.size).toBe(30);
        expect(queue.size).toBe(0);
        expect(clock.waiting).toBe(0);
      }),
      { numRuns: 20 },
    );
  });

  it("backs off a failing key up to the maximum wait, and resets after a success", async () => {
    const at: number[] = [];
    let broken = true;
    const { clock, queue } = make(
      async () => {
        at.push(clock.monotonic());
        if (broken) throw new Error("no");
      },
      { backoff: { first: ms(100), longest: ms(800) } },
    );
    queue.add("a");
    await clock.advanceAsync(ms(4000));
    expect(at).toEqual([0, 100, 300, 700, 1500, 2300, 3100, 3900]);
    broken = false;
    await clock.advanceAsync(ms(1000));
    broken = true;
    at.length = 0;
    queue.add("a");
    await clock.advanceAsync(ms(350));
    expect(at).toEqual([5000, 5100, 5300]);
  });

  it("does not let a failing key delay other keys, and processes a new add of it at once", async () => {
    const done: string[] = [];
    const { clock, queue } = make(async (key) => {
      done.push(key);
      if (key === "bad") throw new Error("no");
    });
    queue.add("bad");
    queue.add("good");
    await clock.advanceAsync(ms(0));
    expect(done).toEqual(["bad", "good"]);
    queue.add("bad");
    await clock.advanceAsync(ms(0));
    expect(done).toEqual(["bad", "good", "bad"]);
  });

  it("honours Retry-After", async () => {
    let calls = 0;
    const { clock, queue } = make(async () => {
      calls++;
      throw new ApiError("tooMany", "x", { retryAfter: ms(5000) });
    });
    queue.add("a");
    await clock.advanceAsync(ms(4999));
    expect(calls).toBe(1);
    await clock.advanceAsync(ms(1000));
    expect(calls).toBe(2);
  });

  it("forgets a key", async () => {
    let calls = 0;
    const { clock, queue } = make(async () => {
      calls++;
      throw new Error("no");
    });
    queue.add("a");
    await clock.advanceAsync(ms(0));
    queue.forget("a");
    await clock.advanceAsync(ms(60_000));
    expect(calls).toBe(1);
    expect(queue.size).toBe(0);
    queue.addAfter("b", ms(1000));
    queue.forget("b");
    await clock.advanceAsync(ms(2000));
    expect(calls).toBe(1);
  });

  it("does not retry a key that was forgotten during its work, unless it is added again", async () => {
    let calls = 0;
    const { clock, queue } = make(async (key) => {
      calls++;
      await clock.sleep(ms(10));
      queue.forget(key);
      await clock.sleep(ms(10));
      throw new Error("no");
    });
    queue.add("a");
    await clock.advanceAsync(ms(60_000));
    expect([calls, queue.size, clock.waiting]).toEqual([1, 0, 0]);
    queue.add("a");
    await clock.advanceAsync(ms(15));
    queue.add("a");
    await clock.advanceAsync(ms(60_000));
    expect([calls, queue.size]).toEqual([3, 0]);
  });

  it("does not let a new add shorten Retry-After, and drops that wait when the key is forgotten", async () => {
    const at: number[] = [];
    let answer: Error | undefined = new ApiError("tooMany", "x", { retryAfter: ms(5000) });
    const { clock, queue } = make(async () => {
      at.push(clock.monotonic());
      await clock.sleep(ms(10));
      if (answer !== undefined) throw answer;
    });
    queue.add("a");
    await clock.advanceAsync(ms(5));
    // The key is added during the refused call and after it.
    queue.add("a");
    await clock.advanceAsync(ms(1000));
    queue.add("a");
    queue.addAfter("a", ms(1));
    expect(queue.size).toBe(1);
    answer = undefined;
    await clock.advanceAsync(ms(60_000));
    expect(at).toEqual([0, 5260]);
    answer = new ApiError("tooMany", "x", { retryAfter: ms(5000) });
    queue.add("a");
    await clock.advanceAsync(ms(100));
    queue.forget("a");
    answer = undefined;
    queue.add("a");
    await clock.advanceAsync(ms(20));
    expect(at).toHaveLength(4);
    expect([queue.size, clock.waiting]).toEqual([0, 0]);
  });

  it("lets a new add skip the backoff beyond Retry-After", async () => {
    const at: number[] = [];
    const { clock, queue } = make(
      async () => {
        at.push(clock.monotonic());
        throw new ApiError("tooMany", "x", { retryAfter: ms(1000) });
      },
      { backoff: { first: ms(8000), longest: ms(8000) } },
    );
    queue.add("a");
    await clock.advanceAsync(ms(10));
    queue.add("a");
    await clock.advanceAsync(ms(2000));
    expect(at).toEqual([0, 1050]);
  });

  it("keeps the earlier of two scheduled times", async () => {
    const at: number[] = [];
    const { clock, queue } = make(async () => void at.push(clock.monotonic()));
    queue.addAfter("a", ms(5000));
    queue.addAfter("a", ms(1000));
    queue.addAfter("a", ms(3000));
    await clock.advanceAsync(ms(10_000));
    expect(at).toEqual([1000]);
    expect(clock.waiting).toBe(0);
  });

  it("schedules a delayed add once, and earlier if requested", async () => {
    const at: number[] = [];
    const { clock, queue } = make(async () => void at.push(clock.monotonic()));
    queue.addAfter("a", ms(1000));
    queue.addAfter("a", ms(5000));
    await clock.advanceAsync(ms(400));
    queue.add("a");
    await clock.advanceAsync(ms(10_000));
    expect(at).toEqual([400]);
  });

  it("drains: processes queued keys, drops retries, accepts no more keys", async () => {
    const done: string[] = [];
    const { clock, queue } = make(async (key) => {
      await clock.sleep(ms(10));
      done.push(key);
      if (key === "bad") throw new Error("no");
    });
    for (const key of ["a", "bad", "c"]) queue.add(key);
    queue.addAfter("later", ms(1000));
    const drained = queue.drain();
    queue.add("d");
    await clock.advanceAsync(ms(30));
    await drained;
    expect(done).toEqual(["a", "bad", "c"]);
    expect(clock.waiting).toBe(0);
    await queue.drain();
  });

  it("stops: drops queued keys and aborts running work", async () => {
    const done: string[] = [];
    const { clock, queue } = make(async (key, signal) => {
      await clock.sleep(ms(1000), signal);
      done.push(key);
    });
    queue.add("a");
    queue.add("b");
    await clock.advanceAsync(ms(10));
    await queue.stop();
    expect(done).toEqual([]);
    expect(clock.waiting).toBe(0);
  });

  it.each([0, -1, Number.NaN])("rejects a concurrency of %d", (concurrency) => {
    expect(() => make(async () => undefined, { concurrency })).toThrow(RangeError);
  });
});
