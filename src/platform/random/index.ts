export type { RandomSource } from "../../core/units/index.ts";
export { jittered, seededRandom, systemRandom } from "./random.ts";
