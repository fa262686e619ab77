import { describe, expect, it } from "vitest";
import { instant } from "../../core/units/index.ts";
import { DecisionFeed } from "./decision-feed.ts";
import type { ExtenderDecision } from "./decisions-page.ts";

const decision = (at: number, change: Partial<ExtenderDecision> = {}): ExtenderDecision => ({
  at: instant(at),
  verb: "prioritize",
  pod: `default/job-${at}`,
  workloadClass: "performance",
  cores: 8,
  gpus: 0,
  candidates: 12,
  refused: new Map(),
  best: { node: "sim-004", score: 81, headroom: 73.6 },
  ...change,
});

describe("DecisionFeed", () => {
  it("explains a pod's placement, including nodes rejected by the filter", () => {
    const feed = new DecisionFeed();
    const filter = decision(1, {
      verb: "filter",
      pod: "default/job-2",
      refused: new Map([
        ["eco", 20],
        ["draining", 2],
      ]),
    });
    feed.podsDecided([decision(2), filter]);
    expect(feed.latest(5)).toEqual([
      {
        at: 2,
        about: "job-2",
        text: "performance, 8 cores: sim-004 is best of 12, score 81, headroom 74 %; 22 others refused",
        tone: "plain",
      },
    ]);
  });

  it("describes GPU requests, other namespaces and pods without a feasible node", () => {
    const feed = new DecisionFeed();
    feed.podsDecided([decision(1, { gpus: 1, pod: "team/train", best: undefined, workloadClass: "standard" })]);
    expect(feed.latest(1)[0]).toMatchObject({ about: "team/train", text: "standard, 1 GPU: no node is left" });
  });

  it("lists each decision once, although the extender's page repeats it", () => {
    const feed = new DecisionFeed();
    feed.podsDecided([decision(2), decision(1)]);
    feed.podsDecided([decision(3), decision(2), decision(1)]);
    expect(feed.latest(10).map(({ at }) => at)).toEqual([1, 2, 3]);
  });

  it("merges operator and extender decisions by time, up to a limit", () => {
    const feed = new DecisionFeed();
    for (let at = 0; at < 200; at += 2) {
      feed.nodeDecided({ node: "sim-001", reason: "DowngradeDeferred", note: "eco is planned" }, instant(at));
      feed.podsDecided([decision(at + 1)]);
    }
    const latest = feed.latest(6);
    expect(latest.map(({ at }) => at)).toEqual([194, 195, 196, 197, 198, 199]);
    expect(new Set(latest.map(({ tone }) => tone))).toEqual(new Set(["waits", "plain"]));
  });

  it("fills the list when only one source has decisions", () => {
    const feed = new DecisionFeed();
    for (let at = 0; at < 9; at++) feed.nodeDecided({ node: "a", reason: "ProfileEco", note: "eco" }, instant(at));
    expect(feed.latest(8)).toHaveLength(8);
    expect(new DecisionFeed().latest(8)).toEqual([]);
  });
});
