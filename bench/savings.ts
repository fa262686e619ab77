import { savingsTruth } from "../src/core/report/testing/savings-truth.ts";
import { seededRandom } from "../src/platform/random/index.ts";
import type { BenchFigure, Scenario } from "./scenario.ts";

const SEEDS = 20;
const LOADS = [0.3, 0.6, 0.9];

export const scenario: Scenario = {
  about: `The estimator of \`joulie savings\` against the truth of the simulator: ${SEEDS} seeds, jobs on 30, 60 and 90 % of 12 capped nodes for 8 hours, and the same jobs on the same nodes uncapped. Bias is (estimate − truth) in percent of the true counterfactual energy`,
  repeats: 1,
  measure: () => {
    const figures: Record<string, BenchFigure> = {};
    const all: number[] = [];
    let covered = 0;
    for (const load of LOADS) {
      const biases: number[] = [];
      const saved: number[] = [];
      for (let seed = 1; seed <= SEEDS; seed++) {
        const run = savingsTruth(seededRandom(seed), load);
        biases.push((100 * (run.estimated.estimate - run.saved)) / run.counterfactual);
        saved.push((100 * run.saved) / run.counterfactual);
        if (run.estimated.low <= run.saved && run.saved <= run.estimated.high) covered++;
      }
      all.push(...biases);
      figures[`load ${load}: energy truly saved`] = { unit: "%", value: mean(saved) };
      figures[`load ${load}: mean bias`] = { unit: "% points", value: mean(biases) };
    }
    figures["mean bias"] = { unit: "% points", value: mean(all) };
    figures["lowest bias"] = { unit: "% points", value: Math.min(...all) };
    figures["highest bias"] = { unit: "% points", value: Math.max(...all) };
    figures["intervals that contain the truth"] = { unit: "of 1", value: covered / all.length };
    return figures;
  },
  goals: [
    {
      says: "largest bias, % points",
      of: (figures) =>
        Math.max(Math.abs(figures["lowest bias"] ?? Number.NaN), Math.abs(figures["highest bias"] ?? Number.NaN)),
      atMost: 5,
    },
    {
      says: "intervals that contain the truth",
      of: (figures) => figures["intervals that contain the truth"] ?? Number.NaN,
      atLeast: 0.95,
    },
  ],
};

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
