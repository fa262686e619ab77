// What people ask about a cluster, answered from its objects: problems, placements, plans and energy.
export {
  type ClusterKind,
  type ClusterObjects,
  type ClusterObjectsWithPods,
  defaultReportSettings,
  type Installation,
  type InstalledWorkload,
  type ReportSettings,
  resourceNames,
  type WorkloadKind,
} from "./cluster-objects.ts";
export {
  EnergyAccount,
  type EnergyTotals,
  type JoulesInterval,
  type NodeEnergySample,
  REMOVED_NODES,
  type StoredEnergyAccount,
} from "./energy-account.ts";
export {
  energyAccountAnswer,
  readEnergyAccountAnswer,
  readStoredAccount,
  readStoredHistory,
} from "./energy-account-format.ts";
export { EARLIER_NODES, EnergyHistory, type StoredEnergyHistory } from "./energy-history.ts";
export { energySampleOf } from "./energy-sample.ts";
export { type ExplainSettings, explainPlacement, type NodeVerdict, type PlacementExplanation } from "./explain.ts";
export { siteJoules, summaryInWords, verdictInWords } from "./explain-words.ts";
export {
  type ClusterTotals,
  type DeviceCap,
  isManaged,
  isMeasured,
  type NodeSummary,
  podsOfNodes,
  sourceText,
  summarizeNode,
  summarizeNodes,
  totalsOver,
} from "./node-summary.ts";
export { type PlannedChange, type PlanReport, planReport, replan } from "./plan-report.ts";
export { presetText } from "./preset-problems.ts";
export { ageText, type ClusterProblem, counted, type Severity, severities } from "./problem.ts";
export { findProblems } from "./problems.ts";
export {
  type EnergyFactors,
  type FigureInterval,
  kilowattHours,
  type SavingsReport,
  savingsReport,
} from "./savings.ts";
