import { isWakeProven, labels } from "../api/index.ts";
import { between, formatWatts, type Milliseconds, milliseconds, parseInstant } from "../units/index.ts";
import type { ClusterObjects, ReportSettings } from "./cluster-objects.ts";
import { type ControlReceipt, isManaged, isMeasured, type NodeSummary, sourceText } from "./node-summary.ts";
import { ageText, type ClusterProblem, type Severity, subjectOf } from "./problem.ts";

/** Sensors and caps are not exact, and a cap is a mean over a second. */
const OVER_BUDGET = 1.05;
const STRESSED_PCT = 90;
const OVERLOADED_PCT = 100;
const LONG_DRAIN = milliseconds(60 * 60_000);

interface Rule {
  readonly id: string;
  readonly severity: Severity;
  readonly holds: (node: NodeSummary) => boolean;
  readonly what: (nodes: readonly NodeSummary[]) => string;
  readonly meaning: string | ((nodes: readonly NodeSummary[]) => string);
  readonly command: (nodes: readonly NodeSummary[]) => string;
}

const first = (nodes: readonly NodeSummary[]): string => nodes[0]?.name ?? "NODE";
const itOrThey = (nodes: readonly NodeSummary[]): string => (nodes.length === 1 ? "It" : "They");
const showNode = (nodes: readonly NodeSummary[]): string => `joulie node ${first(nodes)}`;
const isEstimated = (node: NodeSummary): boolean => node.drawn !== undefined && !isMeasured(node);
const failed = ({ receipts }: NodeSummary, result: ControlReceipt["result"]): boolean =>
  receipts.some((receipt) => receipt.result === result);
const messageOf = (nodes: readonly NodeSummary[], result: ControlReceipt["result"]): string => {
  const text = nodes[0]?.receipts.find((receipt) => receipt.result === result)?.message;
  return text === undefined || text === "" ? "." : `: ${text.replace(/\.$/, "")}.`;
};

export function nodeProblems(
  summaries: readonly NodeSummary[],
  objects: ClusterObjects,
  settings: ReportSettings,
  stopped: boolean,
): ClusterProblem[] {
  const managed = summaries.filter(isManaged);
  if (managed.length === 0) return [nothingManaged(summaries.length)];
  const isSilent = ({ receipts }: NodeSummary) =>
    !receipts.some(({ age }) => age !== undefined && age <= settings.agentSilentAfter);
  const isAwake = ({ powerState }: NodeSummary) => powerState === "on";
  const justStarted = startedWithin(objects, settings.agentSilentAfter);
  const isSettled = (node: NodeSummary) => isAwake(node) && !justStarted.has(node.name);
  // Without the twins it is unknown what the operator and the agents published.
  const isTwinKnown = objects.notListed?.includes("twins") !== true;
  const expected = (node: NodeSummary) => isAwake(node) && node.eligibility !== "not ready";
  const rules: readonly Rule[] = [
    {
      id: "wake-failed",
      severity: "critical",
      holds: ({ powerState }) => powerState === "failed",
      what: () => "The power program could not wake it.",
      meaning: "The node takes no pods until it is on.",
      command: (nodes) => `joulie wake ${first(nodes)}`,
    },
    {
      id: "control-error",
      severity: "critical",
      holds: (node) => isAwake(node) && failed(node, "error"),
      what: (nodes) => `The agent could not set or hold a cap${messageOf(nodes, "error")}`,
      meaning: "The node may draw more than its target allows.",
      command: showNode,
    },
    {
      id: "control-blocked",
      severity: "warning",
      holds: (node) => isAwake(node) && failed(node, "blocked"),
      what: (nodes) => `The agent may not set a cap${messageOf(nodes, "blocked")}`,
      meaning: "The node is not capped, whatever its target says.",
      command: showNode,
    },
    {
      id: "over-budget",
      severity: "warning",
      holds: (node) => !node.stale && isMeasured(node) && (node.drawn ?? 0) > (node.budget ?? Infinity) * OVER_BUDGET,
      what: ([node]) =>
        `${formatWatts(node?.drawn ?? 0, 0)} are drawn, more than the ${formatWatts(node?.budget ?? 0, 0)} of the caps.`,
      meaning: "A cap does not hold, or the node draws power that its caps do not cover.",
      command: showNode,
    },
    {
      id: "psu-overload",
      severity: "critical",
      holds: ({ psu, stale }) => !stale && (psu ?? 0) >= OVERLOADED_PCT,
      what: ([node]) => `The power supply${node?.rack === undefined ? "" : ` of rack ${node.rack}`} is fully used.`,
      meaning: "One more load may trip the supply of the rack.",
      command: () => "joulie top --sort-by psu",
    },
    {
      id: "psu-stress",
      severity: "warning",
      holds: ({ psu, stale }) => !stale && (psu ?? 0) >= STRESSED_PCT && (psu ?? 0) < OVERLOADED_PCT,
      what: ([node]) => `${Math.round(node?.psu ?? 0)} % of the rack's power supply is in use.`,
      meaning: "The rack has little room for more load.",
      command: () => "joulie top --sort-by psu",
    },
    {
      id: "cooling-stress",
      severity: "warning",
      holds: ({ cooling }) => (cooling ?? 0) >= STRESSED_PCT,
      what: ([node, second]) =>
        second === undefined
          ? `It draws ${formatWatts(node?.drawn ?? 0, 0)}, which takes ${Math.round(node?.cooling ?? 0)} % of its cooling.`
          : `The power that they draw takes ${STRESSED_PCT} % or more of their cooling.`,
      meaning: "The node may throttle by heat.",
      command: () => "joulie top --sort-by cooling",
    },
    {
      id: "twin-missing",
      severity: "warning",
      holds: (node) => !stopped && isTwinKnown && node.twinAge === undefined && isSettled(node),
      what: () => "The operator has not published a twin.",
      meaning: "The node has no target and is not capped; it gets the neutral score.",
      command: () => "joulie doctor",
    },
    {
      id: "twin-stale",
      severity: "warning",
      holds: (node) => !stopped && node.twinAge !== undefined && node.stale,
      what: (nodes) => `The operator has not refreshed the twin for ${ageText(nodes[0]?.twinAge)}.`,
      meaning: "The scheduler ignores its figures and gives it the neutral score.",
      command: () => "joulie doctor",
    },
    {
      id: "agent-silent",
      severity: "warning",
      holds: (node) => !stopped && isTwinKnown && expected(node) && isSettled(node) && isSilent(node),
      what: (nodes) =>
        nodes[0]?.receipts.length === 0
          ? "No agent has reported."
          : `No report of the agent for ${ageText(nodes[0]?.receipts[0]?.age)}.`,
      meaning: (nodes) =>
        `The caps cannot be verified${nodes.some(isEstimated) ? ", and the power is estimated" : ""}.`,
      command: (nodes) =>
        `kubectl get pods -A -l app.kubernetes.io/component=agent --field-selector spec.nodeName=${first(nodes)}`,
    },
    {
      id: "performance-pods-on-eco",
      severity: "warning",
      holds: ({ schedulableClass, performancePods }) =>
        schedulableClass === "eco" && performancePods !== undefined && performancePods > 0,
      what: ([node]) =>
        `${node?.performancePods} performance ${node?.performancePods === 1 ? "pod runs" : "pods run"} on this eco node.`,
      meaning: "They are slowed down. They came without Joulie's filter, or the extender was away.",
      command: showNode,
    },
    {
      id: "drains-long",
      severity: "notice",
      holds: ({ schedulableClass, classSince }) =>
        schedulableClass === "draining" && classSince !== undefined && between(classSince, objects.now) > LONG_DRAIN,
      what: ([node]) =>
        `The drain has lasted ${ageText(node?.classSince === undefined ? undefined : between(node.classSince, objects.now))}.`,
      meaning: "The performance pods have to end first. Nothing is evicted.",
      command: showNode,
    },
    {
      id: "pin-expired",
      severity: "notice",
      holds: ({ pin }) => pin?.expired === true,
      what: () => "The pin has expired.",
      meaning: "The operator plans the node again. The NodePowerProfile has no effect any more.",
      command: (nodes) => `joulie unpin ${first(nodes)}`,
    },
    {
      id: "not-ready",
      severity: "notice",
      holds: (node) => node.eligibility === "not ready" && isAwake(node),
      what: () => "The node is not ready.",
      meaning: "Such a node keeps its last target and counts as no supply.",
      command: (nodes) => `kubectl describe node ${first(nodes)}`,
    },
    {
      id: "power-estimated",
      severity: "notice",
      holds: (node) => expected(node) && isEstimated(node),
      what: ([node]) =>
        node?.estimatedGpuPowerW === undefined
          ? `The power is estimated (${sourceText(node ?? {})}), not measured.`
          : `The power of the GPUs is estimated: ${node.source} does not read it.`,
      meaning: "Headroom and savings are less exact there.",
      command: showNode,
    },
    {
      id: "wake-unproven",
      severity: "notice",
      holds: (node) => {
        const endpoint = objects.endpoints.get(node.name);
        return node.labels[labels.maySleep] === "true" && endpoint !== undefined && !isWakeProven(endpoint);
      },
      what: (nodes) => `${itOrThey(nodes)} may sleep, but no wake has been proven.`,
      meaning: "Such a node stays awake until a test has switched it off and on.",
      command: (nodes) => `joulie power test ${first(nodes)}`,
    },
  ];
  return rules.flatMap(({ id, severity, holds, what, meaning, command }) => {
    const affected = managed.filter(holds);
    if (affected.length === 0) return [];
    const nodes = affected.map(({ name }) => name);
    return {
      id,
      severity,
      subject: subjectOf(nodes),
      nodes,
      what: what(affected),
      meaning: typeof meaning === "string" ? meaning : meaning(affected),
      command: command(affected),
    };
  });
}

/** Nodes that joined or woke less than this time ago: operator and agent need a moment there, and receipts are old. */
function startedWithin({ nodes, twins, now }: ClusterObjects, limit: Milliseconds): ReadonlySet<string> {
  const isRecent = (time: string | undefined): boolean => {
    const at = parseInstant(time);
    return at !== undefined && at <= now && between(at, now) <= limit;
  };
  const started = nodes.filter(
    ({ metadata: { name, creationTimestamp } }) =>
      isRecent(creationTimestamp) || isRecent(twins.get(name)?.status?.power?.since),
  );
  return new Set(started.map(({ metadata }) => metadata.name));
}

const nothingManaged = (nodes: number): ClusterProblem => ({
  id: "nothing-managed",
  severity: "warning",
  subject: "cluster",
  nodes: [],
  what:
    nodes === 0
      ? "The cluster has no nodes."
      : nodes === 1
        ? `The node lacks the label ${labels.managed}=true.`
        : `None of the ${nodes} nodes has the label ${labels.managed}=true.`,
  meaning: "Joulie plans and caps nothing.",
  command: `kubectl label node NODE ${labels.managed}=true`,
});
