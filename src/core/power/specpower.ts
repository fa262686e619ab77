import type { LoadPoints } from "./load-shape.ts";

/** Watts at the wall at active idle and at 10 %, 20 % … 100 % of the server's throughput. */
const steps = (...watts: readonly number[]): LoadPoints => watts.map((power, step) => [step / 10, power]);

/** Servers as SPEC published them. Only the shape between idle and full load is applied to a package; see `loadShape`. */
export const SPECPOWER = {
  epyc7763: steps(58, 104, 120, 134, 150, 169, 197, 217, 236, 255, 272),
  epyc9654: steps(128, 257, 300, 340, 378, 410, 442, 498, 577, 697, 817),
  epyc9655: steps(138, 297, 367, 438, 515, 593, 661, 710, 771, 812, 861),
  epyc9965: steps(157, 265, 314, 362, 412, 461, 503, 544, 587, 661, 800),
  xeon8380: steps(127, 198, 226, 253, 281, 314, 354, 405, 464, 576, 619),
} as const;
