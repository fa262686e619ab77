import type { ClusterObjects, ReportSettings } from "./cluster-objects.ts";
import { installationProblems } from "./installation-problems.ts";
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
  return [
    ...(installation === undefined ? [] : installationProblems(installation)),
    ...nodeProblems(summaries, objects, settings, installation?.stopped === true),
    ...podProblems(objects, settings),
  ].toSorted(byUrgency);
}
