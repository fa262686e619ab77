import { annotations } from "../api/index.ts";
import { formatWatts, milliseconds } from "../units/index.ts";
import type { Installation, InstalledWorkload } from "./cluster-objects.ts";
import { isManaged, type NodeSummary } from "./node-summary.ts";
import { presetProblems } from "./preset-problems.ts";
import { ageText, type ClusterProblem, counted } from "./problem.ts";

/** An operator renews its Lease every few seconds. */
const LEASE_SILENT_AFTER = milliseconds(60_000);

/** Whether agents report what they would do, and set no cap. */
export const isObserving = ({ programs, stopped }: Installation): boolean =>
  !stopped && programs.some(({ program, observeOnly }) => program === "agent" && observeOnly === true);

export function installationProblems(installation: Installation, nodes: readonly NodeSummary[]): ClusterProblem[] {
  const { namespace, stopped, missingKinds, programs, unreadable } = installation;
  const found: ClusterProblem[] = [];
  const add = (id: string, severity: ClusterProblem["severity"], what: string, meaning: string, command: string) =>
    found.push({ id, severity, subject: "installation", nodes: [], what, meaning, command });
  if (stopped)
    add(
      "stopped",
      "warning",
      `Joulie is stopped by the annotation ${annotations.stop} on namespace ${namespace}.`,
      "Agents have restored the original limits. The operator changes nothing.",
      `joulie resume -n ${namespace}`,
    );
  if (isObserving(installation))
    add(
      "observe-only",
      "notice",
      "Joulie observes only: agents set no power cap.",
      enforcementOutlook(nodes),
      `helm upgrade joulie CHART --namespace ${namespace} --reset-then-reuse-values --set preset=energy`,
    );
  if (missingKinds.length > 0)
    add(
      "kinds-missing",
      "critical",
      `The API server does not know ${missingKinds.join(", ")}.`,
      "Joulie can neither plan nor report until the CRDs are installed.",
      "joulie crds apply",
    );
  // Without Deployments the programs may run elsewhere, as in the demo: an operator that leads is there.
  if (programs.length === 0 && unreadable.length === 0 && !isLeading(installation))
    add(
      "not-installed",
      "warning",
      `No program of Joulie runs in namespace ${namespace}.`,
      "Nothing is planned or capped, unless the installation is in another namespace.",
      "kubectl get deploy,ds,sts -A -l app.kubernetes.io/name=joulie",
    );
  for (const program of programs) {
    if (program.ready >= program.desired) continue;
    const { severity, meaning } = consequenceOf(program);
    add(
      "program-not-ready",
      severity,
      `${program.kind} ${program.name} has ${program.ready} of ${program.desired} pods ready.`,
      meaning,
      `kubectl -n ${namespace} get pods -l app.kubernetes.io/component=${program.program}`,
    );
  }
  found.push(...presetProblems(installation), ...leaseProblem(installation), ...versionProblem(programs, namespace));
  for (const text of unreadable)
    add("unreadable", "notice", `Not checked: ${text}`, "This report may be incomplete.", "joulie doctor");
  return found;
}

/** What agents would do next if they enforced the published targets. */
function enforcementOutlook(nodes: readonly NodeSummary[]): string {
  const managed = nodes.filter(isManaged);
  if (managed.length === 0) return "No node is managed yet: kubectl label node NODE joulie.io/managed=true.";
  const limits = managed.flatMap(({ budget, uncapped }) =>
    budget === undefined || uncapped === undefined ? [] : { budget, uncapped },
  );
  if (limits.length === 0) return "The operator has not planned the managed nodes yet.";
  const capped = limits.filter(({ budget, uncapped }) => budget < uncapped);
  if (capped.length === 0) return `Enforcing would cap none of ${counted(limits.length, "node")} now.`;
  const sum = (figure: "budget" | "uncapped") => limits.reduce((total, limit) => total + limit[figure], 0);
  const limit = `${sumText(sum("budget"))} instead of ${sumText(sum("uncapped"))}`;
  return `Enforcing would cap ${capped.length} of ${counted(limits.length, "node")} now: all could draw ${limit}.`;
}

const sumText = (sum: number): string => (sum < 10_000 ? formatWatts(sum, 0) : `${(sum / 1000).toFixed(1)} kW`);

function consequenceOf({ program, ready }: InstalledWorkload): { severity: "critical" | "warning"; meaning: string } {
  const severity = ready === 0 ? "critical" : "warning";
  const none = ready === 0;
  switch (program) {
    case "operator":
      return { severity, meaning: none ? "No node changes its profile, and twins become stale." : "It still works." };
    case "extender":
      return {
        severity,
        meaning: none
          ? "kube-scheduler places pods as if Joulie were not there; performance pods may land on capped nodes."
          : "It still answers kube-scheduler, with less reserve.",
      };
    case "agent":
      return { severity, meaning: "Nodes without a running agent keep their last limits and report nothing." };
    case "power":
      return { severity, meaning: none ? "No node falls asleep, and no node wakes." : "It still works." };
    default:
      return { severity: "warning", meaning: "Its part of the installation does not work." };
  }
}

function isLeading({ operatorLease, isDemo = false }: Installation): boolean {
  const { holder, age } = operatorLease ?? {};
  if (holder === undefined || age === undefined) return false;
  return isDemo || age <= LEASE_SILENT_AFTER;
}

function leaseProblem(installation: Installation): ClusterProblem[] {
  const { programs, operatorLease, namespace, unreadable } = installation;
  const operator = programs.find(({ program }) => program === "operator");
  // A Lease that may not be read is not a missing one.
  if (unreadable.some((text) => text.startsWith("leases: "))) return [];
  // A program that is not ready is a problem of its own.
  if (operator === undefined || operator.ready === 0) return [];
  if (isLeading(installation)) return [];
  return [
    {
      id: "operator-not-leading",
      severity: "critical",
      subject: "installation",
      nodes: [],
      what: operatorLease?.holder
        ? `The leading operator renewed its Lease ${ageText(operatorLease.age)} ago.`
        : "No operator holds the Lease.",
      meaning: "No node changes its profile, and twins become stale.",
      command: `kubectl -n ${namespace} logs -l app.kubernetes.io/component=operator --tail 50`,
    },
  ];
}

function versionProblem(programs: readonly InstalledWorkload[], namespace: string): ClusterProblem[] {
  const byVersion = new Map<string, string[]>();
  for (const { version, name } of programs) {
    if (version === undefined) continue;
    byVersion.set(version, [...(byVersion.get(version) ?? []), name]);
  }
  if (byVersion.size < 2) return [];
  const parts = Array.from(byVersion, ([version, names]) => `${version} (${names.join(", ")})`);
  return [
    {
      id: "versions-differ",
      severity: "warning",
      subject: "installation",
      nodes: [],
      what: `The programs have different versions: ${parts.join("; ")}.`,
      meaning: "An upgrade is in progress or was interrupted; programs of one version are tested together.",
      command: `kubectl -n ${namespace} get deploy,ds,sts -l app.kubernetes.io/name=joulie -o wide`,
    },
  ];
}
