import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { labels, type Pod } from "../src/core/api/index.ts";
import { podSummaryOf } from "../src/core/demand/index.ts";

const guide = readFileSync(join(import.meta.dirname, "../docs/guides/placement.md"), "utf8");
const examples = [...guide.matchAll(/```yaml\n# (performance|eco)\n([\s\S]*?)```/g)].map(([, says, text]) => ({
  says,
  pod: parse(text ?? "") as Pod,
}));

const expressionsOf = (pod: Pod) =>
  pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms.flatMap(
    (term) => term.matchExpressions ?? [],
  ) ?? [];

describe("docs/guides/placement.md", () => {
  it("the code assigns every example the class that the guide states", () => {
    expect(examples.map(({ says }) => says)).toEqual(["performance", "performance", "eco"]);
    for (const { says, pod } of examples) {
      const { performanceSensitive, constraint } = podSummaryOf(pod, labels.powerProfile);
      expect(performanceSensitive).toBe(says === "performance");
      expect(constraint === "eco-only").toBe(says === "eco");
    }
  });

  it('POL-27 eco-only pods exclude draining nodes with NotIn ["true"], and nothing requires draining=false', () => {
    const ofDraining = examples
      .filter(({ says }) => says === "eco")
      .map(({ pod }) => expressionsOf(pod).filter(({ key }) => key === labels.draining));
    expect(ofDraining).toEqual([[{ key: labels.draining, operator: "NotIn", values: ["true"] }]]);
    for (const { pod } of examples) {
      expect(Object.keys(pod.spec.nodeSelector ?? {})).not.toContain(labels.draining);
      const ofDraining = expressionsOf(pod).filter(({ key }) => key === labels.draining);
      expect(ofDraining.filter(({ operator }) => operator !== "NotIn")).toEqual([]);
    }
    expect(guide).toContain("Do not require `joulie.io/draining` to be `false`");
  });
});
