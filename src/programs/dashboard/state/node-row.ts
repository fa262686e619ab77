import { isAwake, type NodeTwin, type Pod, pinnedPolicyName } from "../../../core/api/index.ts";
import { workloadClassOf } from "../../../core/demand/index.ts";
import { gpuDeviceResources } from "../../../core/inventory/index.ts";
import { isMeasured } from "../../../core/report/index.ts";
import { type Instant, type Milliseconds, parseInstant } from "../../../core/units/index.ts";
import type { ReportedNode } from "../../console/index.ts";
import { type ClassName, type ColumnName, classNames, controlNames, stateNames } from "../wire.ts";

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
  node: ReportedNode,
  twin: NodeTwin | undefined,
  pods: readonly Pod[] | undefined,
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

export const hasExpired = (row: FleetRow, freshness: Freshness): boolean =>
  row.power !== null && !isOff(row) && !isRecent(row.updatedAt, freshness);

const OFF = stateNames.indexOf("off");
export const isOff = ({ state }: Pick<FleetRow, "state">): boolean => state === OFF;

export const performancePodsIn = (pods: readonly Pod[]): number =>
  pods.filter((pod) => workloadClassOf(pod).workloadClass === "performance").length;

/** The power program's word counts before the class, which the operator publishes a little later. */
export function classOf(twin: NodeTwin | undefined): ClassName {
  if (twin !== undefined && !isAwake(twin.status)) return "asleep";
  return twin?.status?.schedulableClass ?? "unknown";
}

function controlOf(twin: NodeTwin | undefined): number | null {
  if (twin?.status?.power?.state === "off") return null;
  const { cpu, gpu } = twin?.status?.controlStatus ?? {};
  const codes = [cpu?.result, gpu?.result].flatMap((result) =>
    result === undefined ? [] : controlNames.indexOf(result),
  );
  return codes.length === 0 ? null : Math.max(...codes);
}

export const timestampOrNull = (text: string | undefined): number | null => parseInstant(text) ?? null;

const known = (value: number | undefined): number | null => (Number.isFinite(value) ? (value as number) : null);

const gpuNames = Object.values(gpuDeviceResources).flat();

function gpuCountOf({ status }: ReportedNode): number {
  return gpuNames.reduce((sum, name) => sum + (Number(status?.allocatable?.[name]) || 0), 0);
}

function reportedReadiness({ status }: ReportedNode): boolean | undefined {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready && ready.status === "True";
}
