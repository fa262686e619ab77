import type { PublishedShape } from "./node-shape.ts";

/** Arms of the published experiment, plus random placement. */
export const publishedArms = ["most", "least", "random", "shipped", "redesign", "legacy"] as const;
export type Arm = (typeof publishedArms)[number];
export type ScoredArm = Exclude<Arm, "random">;

/** Node state that contributes to the score of every job. */
interface NodeState {
  readonly shape: PublishedShape;
  readonly freeCores: number;
  readonly freeGpus: number;
  readonly power: number;
}

/**
 * A score as a sum of parts: clamp(headroomWeight·headroom(job) + ofNode − ofDemand(job) − ofStrandedGpus − ofTrend).
 * Node parts are computed when a node changes, job parts once per job kind. The order of the sum is fixed, so the
 * result equals the plain formula bit for bit (adding 0 for a missing part changes nothing).
 */
export interface ScoreParts {
  readonly headroomWeight: number;
  readonly ofNode: (node: NodeState) => number;
  readonly ofDemand: (marginalWatts: number) => number;
  /** Applies to jobs without GPUs. */
  readonly ofStrandedGpus: (freeGpus: number) => number;
  /** Absent = scores do not depend on the trend and stay valid between steps. */
  readonly ofTrend?: (trend: number, clusterTrend: number, peakWatts: number) => number;
  readonly lowest: number;
  readonly highest: number;
}

const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));
const nothing = (): number => 0;
const unbounded = { lowest: -Infinity, highest: Infinity };

/** Change of cluster power in watts per step that counts as a burst. */
const BURST = 500;
const trendScale = (clusterTrend: number): number => (Math.abs(clusterTrend) > BURST ? 2 : 6);

const filledShare = ({ shape, freeCores, freeGpus }: NodeState): number =>
  (shape.cores - freeCores) / shape.cores + (shape.gpus > 0 ? (shape.gpus - freeGpus) / shape.gpus : 0);

const byFilling = (sign: 1 | -1): ScoreParts => ({
  headroomWeight: 0,
  ofNode: (node) => sign * filledShare(node),
  ofDemand: nothing,
  ofStrandedGpus: nothing,
  ...unbounded,
});

const byHeadroom: Omit<ScoreParts, "ofTrend"> = {
  headroomWeight: 0.7,
  ofNode: ({ shape, power }) => 0.15 * (100 - Math.min(100, (power / shape.peakWatts) * 100)),
  ofDemand: nothing,
  ofStrandedGpus: nothing,
  lowest: 0,
  highest: 100,
};

export const scoreParts: Readonly<Record<ScoredArm, ScoreParts>> = {
  most: byFilling(1),
  least: byFilling(-1),
  shipped: { ...byHeadroom, ofTrend: (trend, clusterTrend) => clamp(trend / trendScale(clusterTrend), -25, 25) },
  redesign: { ...byHeadroom, ofTrend: (trend, _, peakWatts) => 10 * clamp(trend / (0.1 * peakWatts), -1, 1) },
  legacy: {
    headroomWeight: 0,
    ofNode: ({ shape, power }) =>
      0.4 * Math.max(0, (shape.peakWatts - power) / shape.peakWatts) * 100 +
      0.3 * (100 - Math.min(100, (power / 4000) * 80)) +
      0.3 * (100 - Math.min(100, (power / 50_000) * 100)),
    ofDemand: (marginalWatts) => Math.min(20, marginalWatts / 20),
    ofStrandedGpus: (freeGpus) => Math.min(20, Math.min(500, 100 * freeGpus) / 10),
    ofTrend: (trend, clusterTrend) => clamp(trend / trendScale(clusterTrend), -20, 25),
    ...unbounded,
  },
};
