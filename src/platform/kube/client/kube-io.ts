import type { RandomSource } from "../../../core/units/index.ts";
import type { Logger } from "../../log/index.ts";
import type { KubeClient } from "./client.ts";

/** What each part needs that reads or writes objects, beside a clock. */
export interface KubeIo {
  readonly client: KubeClient;
  readonly random: RandomSource;
  readonly log: Logger;
}
