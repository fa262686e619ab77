import { isAwake, type NodeTwin, pinnedPolicyName } from "../../../core/api/index.ts";
import { isMeasured } from "../../../core/report/index.ts";
import type { Instant, Milliseconds } from "../../../core/units/index.ts";
import { type ClassName, type ColumnName, classNames, controlNames, stateNames } from "../wire.ts";
import { gpuCountOf, type NodeProjection, type PodProjection, reportedReadiness } from "./projections.ts";

/** What the page shows of a node in one line; null means unknown. */
export type FleetRow = Readonly<Record<ColumnName, number | null>>;

/** When the figures of a twin are history. */
export interface Freshness {
  readonly now: Instant;
  readonly staleAfter: Milliseconds;
}

export const isRecent = (updatedAt: number | null, { now, staleAfter }: Freshness): boolean =>
  updatedAt !== null && now - updatedAt <= staleAfter;

export function rowOf(
  node: NodeProjection,
  twin: NodeTwin | undefined,
  pods: readonly PodProjection[] | undefined,
  freshness: Freshness,
): FleetRow {
  const { spec, status } = twin ?? {};
  const power = status?.powerMeasurement;
  const caps = status?.effectiveCapState;
  const ready = reportedReadiness(node);
  const updatedAt = timestampOrNull(status?.lastUpdated);
  const isCurrent = isRecent(updatedAt, freshness);
  const drawn = isCurrent ? known(power?.measuredNodePowerW) : null;
  const className = classOf(twin);
  const isAsleep = className === "asleep";
  return {
    class: classNames.indexOf(className),
    // The last reading of a machine that is off is history.
    power: status?.power?.state === "off" ? 0 : drawn,
    measured: power?.source === undefined ? null : Number(isMeasured(power)),
    cap: known(power?.nodeCappedPowerW),
    tdp: known(power?.nodeTdpW),
    cooling: isAsleep || !isCurrent ? null : known(status?.coolingStressNow),
    coolingAtCap: isAsleep ? null : known(status?.predictedCoolingStressScore),
    psu: known(status?.predictedPsuStressScore),
    slowdown: known(status?.expectedSlowdownPct),
    cpuPct: known(caps?.cpuPct),
    gpuPct: known(caps?.gpuPct),
    updatedAt,
    measuredAt: timestampOrNull(power?.measuredAt),
    changedAt: timestampOrNull(status?.lastTransitionTime),
    pods: known(pods?.length),
    performancePods: known(pods && performancePodsIn(pods)),
    gpus: gpuCountOf(node),
    state: stateNames.indexOf(status?.power?.state ?? "on"),
    control: controlOf(twin),
    ready: ready === undefined ? null : Number(ready),
    pinned: Number(spec?.policy?.name === pinnedPolicyName),
  };
}

/** Whether the row shows a reading that has become history since. */
export const hasExpired = (row: FleetRow, freshness: Freshness): boolean =>
  row.power !== null && !isOff(row) && !isRecent(row.updatedAt, freshness);

const OFF = stateNames.indexOf("off");
export const isOff = ({ state }: Pick<FleetRow, "state">): boolean => state === OFF;

export const performancePodsIn = (pods: readonly PodProjection[]): number =>
  pods.filter(({ workloadClass }) => workloadClass === "performance").length;

/** The power program's word counts before the class, which the operator publishes a little later. */
export function classOf(twin: NodeTwin | undefined): ClassName {
  if (twin !== undefined && !isAwake(twin.status)) return "asleep";
  return twin?.status?.schedulableClass ?? "unknown";
}

/** The code of the worse result of CPU and GPU; null if no agent has reported, or the node is off and has no cap any more. */
function controlOf(twin: NodeTwin | undefined): number | null {
  if (twin?.status?.power?.state === "off") return null;
  const { cpu, gpu } = twin?.status?.controlStatus ?? {};
  const codes = [cpu?.result, gpu?.result].flatMap((result) =>
    result === undefined ? [] : controlNames.indexOf(result),
  );
  return codes.length === 0 ? null : Math.max(...codes);
}

export function timestampOrNull(text: string | undefined): number | null {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? null : time;
}

const known = (value: number | undefined): number | null => (Number.isFinite(value) ? (value as number) : null);
