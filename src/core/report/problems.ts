import type { ClusterObjects, ReportSettings } from "./cluster-objects.ts";
import { installationProblems, isObserving } from "./installation-problems.ts";
import { nodeProblems } from "./node-problems.ts";
import { type NodeSummary, summarizeNodes } from "./node-summary.ts";
import { podProblems } from "./pod-problems.ts";
import { byUrgency, type ClusterProblem } from "./problem.ts";

/** All problems of the cluster, the worst first. `summaries` are those of `objects`, if the caller has them already. */
export function findProblems(
  objects: ClusterObjects,
  settings: ReportSettings,
  summaries: readonly NodeSummary[] = summarizeNodes(objects, settings),
): readonly ClusterProblem[] {
  const { installation } = objects;
  const found = [
    ...(installation === undefined ? [] : installationProblems(installation, summaries)),
    ...nodeProblems(summaries, objects, settings, installation?.stopped === true),
    ...podProblems(objects, settings),
  ].toSorted(byUrgency);
  // Targets that no agent enforces cannot be exceeded.
  return installation !== undefined && isObserving(installation)
    ? found.filter(({ id }) => id !== "over-budget")
    : found;
}
