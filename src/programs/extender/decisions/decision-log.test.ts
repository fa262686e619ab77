import { describe, expect, it } from "vitest";
import { defaultScoringSettings } from "../../../core/scoring/index.ts";
import { instant, percent, wattsPerMinute } from "../../../core/units/index.ts";
import { decisionsPage } from "../pages/decisions-page.ts";
import { type Decision, DecisionLog } from "./decision-log.ts";

/** An answer with the same score for every candidate. */
function decide(decisions: DecisionLog, name: string, candidates: number, score: number): void {
  const { slots, scores } = decisions.workspace(candidates);
  slots.fill(0);
  scores.fill(score);
  decisions.record({
    verb: "prioritize",
    at: instant(0),
    pod: { namespace: "default", name, uid: "" },
    request: { workloadClass: "standard", demand: { cpuCores: 1, gpus: new Map() } },
    batch: { now: instant(0), clusterTrend: wattsPerMinute(0), perfPressure: percent(0) },
    candidates,
    slots,
    verdicts: scores,
    reasons: [],
    names: ["n"],
    best: [],
  });
}

type Shown = Pick<Decision, "pod" | "candidates"> & { readonly nodes?: readonly { readonly score: number }[] };
const parsed = (text: string) => (JSON.parse(text) as { decisions: Shown[] }).decisions;

describe("decisions", () => {
  it("each decision keeps its verdicts while later ones reuse the memory of the oldest", () => {
    const decisions = new DecisionLog(3);
    for (let i = 0; i < 10; i++) decide(decisions, `p${i}`, 1 + (i % 4), i);
    expect(decisions.latest().map(({ pod, verdicts }) => [pod.name, ...verdicts])).toEqual([
      ["p9", 9, 9],
      ["p8", 8],
      ["p7", 7, 7, 7, 7],
    ]);
  });

  it("a failed answer removes the decision whose memory it took", () => {
    const decisions = new DecisionLog(2);
    decide(decisions, "a", 2, 1);
    decide(decisions, "b", 2, 2);
    decisions.workspace(2).scores.fill(99);
    expect(decisions.latest().map(({ pod }) => pod.name)).toEqual(["b"]);
  });

  it("a page that is read slowly never mixes the verdicts of two requests", () => {
    const decisions = new DecisionLog(4);
    for (let i = 0; i < 4; i++) decide(decisions, "p", 1200, i);
    const page = decisionsPage(decisions, "p", defaultScoringSettings, {});
    let text = "";
    for (const piece of page) {
      text += piece;
      decide(decisions, "later", 1200, 77);
    }
    const shown = parsed(text);
    expect(shown.length).toBeGreaterThan(0);
    for (const { nodes = [] } of shown) {
      expect(nodes).toHaveLength(1200);
      expect(new Set(nodes.map(({ score }) => score)).has(77)).toBe(false);
    }
    const summary = [...decisionsPage(decisions, null, defaultScoringSettings, {})].join("");
    expect(parsed(summary).map(({ pod, nodes }) => [pod.name, nodes])).toEqual(
      Array.from({ length: 4 }, () => ["later", undefined]),
    );
  });
});
