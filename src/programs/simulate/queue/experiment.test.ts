import { describe, expect, it } from "vitest";
import { percent } from "../../../core/units/index.ts";
import type { ExperimentOptions } from "../experiment.ts";
import { queueExperiment } from "./experiment.ts";

const energyPerWork = (options: Partial<ExperimentOptions>): number | undefined => {
  const experiment = queueExperiment("mixed", { trace: undefined, nodes: 20, hours: 3, load: 0.6, ...options });
  const run = experiment.run(experiment.traceOf(1), { arm: "energy", policy: "fit_aware_v1" }, 1, () => {});
  return run.figures["windowKWhPerWork"];
};

describe("an option of a queue experiment", () => {
  const plain = energyPerWork({});

  it.each<Partial<ExperimentOptions>>([
    { wallPower: true },
    { bindBoards: true },
    { performanceShare: 0 },
    { ecoMaxSlowdown: percent(1) },
  ])("changes the result: %j", (option) => {
    const changed = energyPerWork(option);
    expect(changed).toBeGreaterThan(0);
    expect(changed).not.toBe(plain);
  });
});
