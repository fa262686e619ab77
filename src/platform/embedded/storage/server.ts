import type { RandomSource } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import type { Registry } from "../kinds/registry.ts";
import type { EmbeddedStore } from "./store.ts";

/** The shared state of the API server. */
export interface Server {
  readonly store: EmbeddedStore;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly random: RandomSource;
}
