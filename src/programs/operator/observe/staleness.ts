import { milliseconds } from "../../../core/units/index.ts";
import type { Reflector } from "../../../platform/kube/index.ts";

/** By then a silent watch was replaced, after 135 s: its first bookmark may take two minutes. */
const STALE_AFTER = milliseconds(150_000);

export const isCurrent = ({ hasSynced, silence }: Pick<Reflector<unknown>, "hasSynced" | "silence">): boolean =>
  hasSynced && silence !== undefined && silence <= STALE_AFTER;
