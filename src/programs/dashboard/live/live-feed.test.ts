import { describe, expect, it } from "vitest";
import type { Delta } from "../wire.ts";
import { type LiveClient, LiveFeed } from "./live-feed.ts";

const totals: Delta["totals"] = {
  power: 1,
  expected: 1,
  withPower: 1,
  stale: 0,
  cap: null,
  capacity: null,
  counterfactual: null,
  nodes: 1,
  measured: 1,
  byClass: [1, 0, 0, 0, 0],
  pods: 0,
  pendingPods: 0,
};
const delta = (at: number) => ({ at, silence: 0, totals });

class Page implements LiveClient {
  readonly texts: string[] = [];
  unread = 0;
  ended = false;
  dropped = false;
  write(text: string): void {
    this.texts.push(text);
  }
  end(): void {
    this.ended = true;
  }
  drop(): void {
    this.dropped = true;
  }
  get events(): string[] {
    return this.texts.map((text) => /^event: (\w+)$/m.exec(text)?.[1] ?? "");
  }
  get ids(): string[] {
    return this.texts.flatMap((text) => /^id: (\S+)$/m.exec(text)?.[1] ?? []);
  }
}

const feedOf = () => ({ feed: new LiveFeed({ epoch: "a-b", clients: 2 }) });

describe("the live feed", () => {
  it("DSH-03 sends each change once, with increasing numbers", () => {
    const { feed } = feedOf();
    const page = new Page();
    feed.join(page, "a-b-0");
    feed.publish(delta(1));
    feed.publish(delta(2));
    feed.beat(3, 0);
    expect(page.ids).toEqual(["a-b-1", "a-b-2"]);
    expect(page.events).toEqual(["delta", "delta", "beat"]);
    feed.leave(page);
    feed.publish(delta(4));
    expect(page.texts).toHaveLength(3);
  });

  it("DSH-03 continues where a page was that comes back", () => {
    const { feed } = feedOf();
    for (let at = 1; at <= 5; at++) feed.publish(delta(at));
    const page = new Page();
    feed.join(page, "a-b-3");
    expect(page.ids).toEqual(["a-b-4", "a-b-5"]);
    const current = new Page();
    feed.join(current, "a-b-5");
    expect(current.texts).toEqual([]);
  });

  it.each(["", "a-b-", "a-b-99", "other-1", "a-b-1.5", "a-b--1"])(
    "DSH-03 makes a page with the unusable place %j read everything again",
    (lastId) => {
      const { feed } = feedOf();
      feed.publish(delta(1));
      const page = new Page();
      feed.join(page, lastId);
      expect(page.events).toEqual(["resync"]);
    },
  );

  it("DSH-03 makes a page that was away for too long read everything again", () => {
    const { feed } = feedOf();
    for (let at = 1; at <= 130; at++) feed.publish(delta(at));
    const pages = ["a-b-9", "a-b-10"].map((id) => {
      const page = new Page();
      feed.join(page, id);
      return page.events.slice(0, 2);
    });
    expect(pages).toEqual([["resync"], ["delta", "delta"]]);
  });

  it("DSH-03 drops messages of a slow page, and lets it read everything again once it has caught up", () => {
    const { feed } = feedOf();
    const [slow, quick] = [new Page(), new Page()];
    feed.join(slow, "a-b-0");
    feed.join(quick, "a-b-0");
    slow.unread = 2 ** 21;
    for (let at = 1; at <= 10; at++) feed.publish(delta(at));
    expect([slow.texts.length, quick.texts.length]).toEqual([0, 10]);
    slow.unread = 1;
    feed.publish(delta(11));
    expect(slow.texts).toEqual([]);
    slow.unread = 0;
    feed.publish(delta(12));
    expect(slow.events).toEqual(["resync"]);
    feed.publish(delta(13));
    expect(slow.events).toEqual(["resync", "delta"]);
    expect(feed.isFull).toBe(true);
    feed.close();
    expect([slow.ended, quick.ended, feed.size]).toEqual([true, true, 0]);
  });

  it("DSH-03 lets a page read everything again instead of a backlog larger than a slow page may have", () => {
    const { feed } = feedOf();
    const large = "x".repeat(700_000);
    for (let at = 1; at <= 3; at++) feed.publish({ ...delta(at), labelKeys: [large] });
    const pages = ["a-b-0", "a-b-2"].map((id) => {
      const page = new Page();
      feed.join(page, id);
      return page.events;
    });
    expect(pages).toEqual([["resync"], ["delta"]]);
    feed.publish({ ...delta(4), labelKeys: [large, large] });
    const page = new Page();
    feed.join(page, "a-b-3");
    expect(page.events).toEqual(["resync"]);
  });

  it("DSH-03 drops a page that never reads, so that it keeps no other out", () => {
    const { feed } = feedOf();
    const [stuck, reader] = [new Page(), new Page()];
    feed.join(stuck, "a-b-0");
    feed.join(reader, "a-b-0");
    stuck.unread = 2 ** 21;
    for (let at = 1; at <= 120; at++) feed.beat(at, 0);
    expect([stuck.dropped, feed.isFull]).toEqual([false, true]);
    feed.beat(121, 0);
    expect([stuck.dropped, reader.dropped, feed.size]).toEqual([true, false, 1]);
  });
});
