export { readCluster, readInstallation } from "./cluster/cluster-reader.ts";
export { boundNodeOf, ClusterReflectors, type ReportedNode } from "./cluster/cluster-reflectors.ts";
export {
  installationNamespace,
  listWorkloads,
  PAGES_ANNOTATION,
  setStopped,
  variablesOf,
} from "./cluster/installation.ts";
export { announcedUrl } from "./cluster/program-pages.ts";
export { programSettings } from "./cluster/program-settings.ts";
export { WatchedCluster } from "./cluster/watched-cluster.ts";
export { type ConsoleContext, type PagedProgram, type Screen } from "./context.ts";
export { doctorText, examineInstallation, needsAction } from "./doctor/doctor.ts";
export { eventsOf, nodeDetailsOf } from "./nodes/node-details.ts";
export { nodeHistoryOf } from "./nodes/node-history.ts";
export { nodeListOf, sortKeys } from "./nodes/node-list.ts";
export { pinNode, unpinNode } from "./nodes/pin.ts";
export { outputFormatOf, type Printable, rendered } from "./output/output.ts";
export { screenOf } from "./output/screen.ts";
export { endedBy, untilInterrupted, watchText } from "./output/watch.ts";
export { planOf, planText } from "./plan.ts";
export { savingsFromDashboard, savingsFromPrometheus } from "./savings/past-savings.ts";
export { explanationsOf, measureSavings, type SourcedSavings, savingsCsv, savingsText } from "./savings/savings.ts";
export { statusReport } from "./status.ts";
export { supportBundle, writePrivately } from "./support/support-bundle.ts";
export { processTerminal, runTop, type Terminal } from "./top/top.ts";
export { explainPod, whyText } from "./why.ts";
