import { beforeAll, describe, expect, it } from "vitest";
import { type FullClusterFigures, runFullCluster } from "./testing/full-cluster.ts";

describe("fit_aware_v1 on a full cluster of 100 nodes", () => {
  let figures: FullClusterFigures;
  beforeAll(() => {
    figures = runFullCluster(27);
  });

  it("is full: standard jobs wait for minutes", () => {
    expect(figures.standardWait).toBeGreaterThan(180);
  });

  it("X-150 promotes at most 10 nodes in half an hour", () => {
    expect(figures.promotions).toBeLessThanOrEqual(10);
  });

  it("X-150 runs 16-core performance jobs while the cluster is full", () => {
    expect(figures.largeJobs).toBeGreaterThan(3);
    expect(figures.largeJobsStarted).toBe(figures.largeJobs);
  });

  it("X-150 small performance jobs wait for less than half the time of standard jobs of the same size", () => {
    expect(figures.smallPerformanceWait).toBeLessThan(figures.smallStandardWait / 2);
  });
});
