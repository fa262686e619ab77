import { milliseconds } from "../../../core/units/index.ts";
import type { Reflector } from "../../../platform/kube/index.ts";

/** By then a silent watch was checked and reopened. If not, its data may be stale. */
const STALE_AFTER = milliseconds(120_000);

export const isCurrent = ({ hasSynced, silence }: Pick<Reflector<unknown>, "hasSynced" | "silence">): boolean =>
  hasSynced && silence !== undefined && silence <= STALE_AFTER;
