import { runFullCluster } from "../src/programs/simulate/queue/testing/full-cluster.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";

const SEEDS = Array.from({ length: 8 }, (_, index) => 27 + index);
const SHARE = "small performance jobs, share of the wait of standard jobs of that size";

export const scenario: Scenario = {
  about: `fit_aware_v1 on a simulated cluster of 100 nodes that is full for half an hour: ${SEEDS.length} queues of small standard jobs with small performance jobs and performance jobs of 16 cores among them`,
  repeats: 1,
  measure: (say) => {
    const runs = SEEDS.map((seed) => {
      say(`queue ${seed}`);
      return runFullCluster(seed);
    });
    const figures: Record<string, BenchFigure> = {};
    const range = (name: string, unit: string, values: readonly number[]) => {
      figures[`${name}, least`] = { unit, value: Math.min(...values) };
      figures[`${name}, most`] = { unit, value: Math.max(...values) };
    };
    range(
      "promotions in half an hour",
      "",
      runs.map(({ promotions }) => promotions),
    );
    range(
      "mean wait of performance jobs of 16 cores",
      "s",
      runs.map(({ largePerformanceWait }) => largePerformanceWait),
    );
    range(
      SHARE,
      "of 1",
      runs.map(({ smallPerformanceWait, smallStandardWait }) => smallPerformanceWait / smallStandardWait),
    );
    figures["performance jobs of 16 cores that did not start while it was full"] = {
      unit: "",
      value: runs.reduce((sum, { largeJobs, largeJobsStarted }) => sum + largeJobs - largeJobsStarted, 0),
    };
    return figures;
  },
  goals: [
    {
      says: "promotions in half an hour",
      of: (figures) => figures["promotions in half an hour, most"] ?? Number.NaN,
      atMost: 10,
    },
    {
      says: "16-core jobs that did not start",
      of: (figures) => figures["performance jobs of 16 cores that did not start while it was full"] ?? Number.NaN,
      atMost: 0,
    },
    { says: SHARE, of: (figures) => figures[`${SHARE}, most`] ?? Number.NaN, atMost: 0.5 },
  ],
};
