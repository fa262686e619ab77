import { annotations, type Pod } from "../api/index.ts";
import { podSummaryOf, workloadClassOf } from "../demand/index.ts";
import { between, milliseconds, parseInstant } from "../units/index.ts";
import type { ClusterObjects, ReportSettings } from "./cluster-objects.ts";
import { hasEnded } from "./node-summary.ts";
import { ageText, type ClusterProblem } from "./problem.ts";

/** Every pod waits for a moment, and a promotion takes some seconds. */
const WAITS_LONG = milliseconds(120_000);

export function podProblems({ pods = [], now }: ClusterObjects, settings: ReportSettings): ClusterProblem[] {
  const active = pods.filter((pod) => !hasEnded(pod));
  const waiting = active.filter((pod) => {
    const created = parseInstant(pod.metadata.creationTimestamp);
    const isPending = (pod.spec?.nodeName ?? "") === "" && podSummaryOf(pod).active;
    return isPending && created !== undefined && between(created, now) > WAITS_LONG;
  });
  const sensitive = waiting.filter((pod) => podSummaryOf(pod, settings.powerProfileLabel).performanceSensitive);
  const misspelt = active.filter((pod) => workloadClassOf(pod).unrecognised !== undefined);
  return [
    ...waitProblem("performance-pods-wait", "warning", "performance pods", sensitive, now),
    ...waitProblem(
      "pods-wait",
      "notice",
      "standard pods",
      waiting.filter((pod) => !sensitive.includes(pod)),
      now,
    ),
    ...(misspelt.length === 0
      ? []
      : [
          {
            id: "class-unknown",
            severity: "notice",
            subject: podsText(misspelt),
            nodes: [],
            what: `The annotation ${annotations.workloadClass} has a value that is neither performance nor standard.`,
            meaning: "Joulie treats these pods as standard.",
            command: `kubectl annotate pod -n ${namespaceOf(misspelt[0])} ${misspelt[0]?.metadata.name} --overwrite ${annotations.workloadClass}=performance`,
          } as const,
        ]),
  ];
}

function waitProblem(
  id: string,
  severity: ClusterProblem["severity"],
  what: string,
  pods: readonly Pod[],
  now: ClusterObjects["now"],
): ClusterProblem[] {
  const oldest = pods.toSorted((one, other) => createdAt(one) - createdAt(other))[0];
  if (oldest === undefined) return [];
  const wait = ageText(milliseconds(now - createdAt(oldest)));
  return [
    {
      id,
      severity,
      subject: podsText(pods),
      nodes: [],
      what: `${pods.length} ${pods.length === 1 ? what.slice(0, -1) : what} without a node, one for ${wait}.`,
      meaning: "kube-scheduler found no node that takes them.",
      command: `joulie why ${namespaceOf(oldest)}/${oldest.metadata.name}`,
    },
  ];
}

const createdAt = (pod: Pod): number => parseInstant(pod.metadata.creationTimestamp) ?? 0;
const namespaceOf = (pod: Pod | undefined): string => pod?.metadata.namespace ?? "default";
const podsText = (pods: readonly Pod[]): string =>
  pods.length === 1 ? `pod ${namespaceOf(pods[0])}/${pods[0]?.metadata.name}` : `${pods.length} pods`;
