import { annotations, gpuResources as gpuResourceNames, type Pod } from "../../../core/api/index.ts";
import { demandOf, workloadClassOf } from "../../../core/demand/index.ts";
import { pinFrom } from "../../../core/policy/index.ts";
import { sourceText } from "../../../core/report/index.ts";
import type { Instant } from "../../../core/units/index.ts";
import { classReasonOf } from "../state/class-changes.ts";
import type { NodeObjects } from "../state/cluster-watch.ts";
import { classOf, performancePodsIn, timestampOrNull } from "../state/node-row.ts";
import type { NodeAnswer, PodEntry, ReceiptEntry } from "../wire.ts";

const PODS_LIMIT = 200;
const TWINS_UNKNOWN = "unknown: the dashboard cannot list NodeTwins";

/** The drawer of one node: receipts, pods, history and the facts behind them. */
export function nodePage(
  facts: NodeObjects,
  at: Instant,
  planned: string | undefined,
  history: NodeAnswer["history"],
): NodeAnswer {
  const { node, twin, pods } = facts;
  return {
    name: node.metadata.name,
    at,
    labels: Object.entries(node.metadata.labels).toSorted(([one], [other]) => (one < other ? -1 : 1)),
    hardware: hardwareLines(facts),
    target: targetLines(facts, at),
    reason:
      planned ??
      (facts.areTwinsKnown ? undefined : TWINS_UNKNOWN) ??
      classReasonOf(classOf(twin), twin, pods && performancePodsIn(pods)),
    receipts: receiptsOf(facts),
    pods: pods?.slice(0, PODS_LIMIT).map(podEntry) ?? null,
    morePods: Math.max(0, (pods?.length ?? 0) - PODS_LIMIT),
    gpuResources: Object.values(gpuResourceNames).filter((name) => Number(node.status?.allocatable?.[name]) > 0),
    history,
  };
}

type Line = readonly [string, string];
const lines = (...all: (Line | undefined)[]): Line[] => all.filter((line) => line !== undefined);
const line = (name: string, value: string | number | undefined, unit = ""): Line | undefined =>
  value === undefined || value === "" ? undefined : [name, unit === "" ? String(value) : `${value} ${unit}`];

function hardwareLines({ hardware, node }: NodeObjects): Line[] {
  const { cpu, gpu, memory, quality } = hardware?.status ?? {};
  const range = cpu?.capRange;
  const gpuRange = gpu?.capRangePerGpu;
  return lines(
    line("CPU", cpu?.rawModel ?? cpu?.model),
    cpu?.sockets === undefined ? undefined : line("Packages", `${cpu.sockets} × ${cpu.coresPerSocket ?? "?"} cores`),
    range?.maxWattsPerSocket === undefined
      ? undefined
      : line("CPU caps", capRange(range.minWattsPerSocket, range.maxWattsPerSocket), "W per package"),
    gpu?.count ? line("GPU", `${gpu.count} × ${gpu.rawModel ?? gpu.model ?? "unknown model"}`) : undefined,
    gpuRange?.maxWatts === undefined
      ? undefined
      : line("GPU caps", capRange(gpuRange.minWatts, gpuRange.maxWatts), "W each"),
    memory?.totalBytes === undefined ? undefined : line("Memory", Math.round(memory.totalBytes / 2 ** 30), "GiB"),
    line("Known", quality?.overall),
    line("Allocatable CPUs", node.status?.allocatable?.["cpu"]),
  );
}

function targetLines({ twin, endpoint, profile }: NodeObjects, now: Instant): Line[] {
  const pin = pinFrom(profile, now);
  const { spec, status } = twin ?? {};
  const cap = spec?.gpu?.powerCap;
  const measured = status?.powerMeasurement;
  return lines(
    line("Profile", spec?.profile),
    line("Pinned to", pin?.profile),
    line("Pinned until", pin && profile?.metadata.annotations?.[annotations.pinUntil]),
    line("Policy", spec?.policy?.name),
    spec?.cpu?.packagePowerCapWatts === undefined
      ? line("CPU cap", spec?.cpu?.packagePowerCapPctOfMax, "% of the maximum")
      : line("CPU cap", spec.cpu.packagePowerCapWatts, "W per package"),
    cap?.capWattsPerGpu === undefined
      ? line("GPU cap", cap?.capPctOfMax, "% of the maximum")
      : line("GPU cap", cap.capWattsPerGpu, "W each"),
    line("CPU cap set by", spec?.caps?.cpu),
    line("GPU cap set by", spec?.caps?.gpu),
    line("Power source", measured?.source && sourceText(measured)),
    line("Power at the wall, read by a meter", measured?.serverPowerW, "W"),
    line("Trend", measured?.powerTrendWPerMin, "W per minute"),
    line("Slowdown at full load", status?.expectedSlowdownPct, "%"),
    line("PUE", status?.estimatedPUE),
    line("Wanted power", spec?.power?.state),
    line("Power state", status?.power?.state),
    endpoint === undefined ? undefined : line("Wake proven", endpoint.status?.wakeProven === true ? "yes" : "no"),
    line("Sleeps today", endpoint?.status?.cyclesToday),
  );
}

/** None of a node that is off: they are history, and no cap is applied there. */
function receiptsOf({ twin }: NodeObjects): ReceiptEntry[] {
  if (twin?.status?.power?.state === "off") return [];
  const { cpu, gpu } = twin?.status?.controlStatus ?? {};
  return [["CPU", cpu] as const, ["GPU", gpu] as const].flatMap(([device, report]) =>
    report === undefined
      ? []
      : {
          device,
          result: report.result ?? "none",
          backend: report.backend ?? null,
          message: report.message ?? null,
          at: timestampOrNull(report.updatedAt),
          watts: report.observedPowerWatts ?? null,
        },
  );
}

function podEntry(pod: Pod): PodEntry {
  const { cpuCores, gpus } = demandOf(pod);
  return {
    namespace: pod.metadata.namespace ?? "",
    name: pod.metadata.name,
    workloadClass: workloadClassOf(pod).workloadClass,
    cpus: cpuCores,
    gpus: [...gpus.values()].reduce((sum, count) => sum + count, 0),
    phase: pod.status?.phase ?? "Pending",
    startedAt: timestampOrNull(pod.status?.startTime),
  };
}

/** Many devices expose no minimum. */
const capRange = (min: number | undefined, max: number): string =>
  min === undefined ? `up to ${max}` : `${min} – ${max}`;
