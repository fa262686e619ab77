import type { EnergyBreakdown, ScoredBreakdown } from "../scoring/index.ts";
import { formatWatts } from "../units/index.ts";
import type { NodeVerdict, PlacementExplanation } from "./explain.ts";
import { counted } from "./problem.ts";

const points = (value: number): string => `${value >= 0 ? "+" : "−"}${Number(Math.abs(value).toFixed(1))}`;
const joulesText = (value: number): string =>
  value >= 1e6
    ? `${Number((value / 1e6).toFixed(2))} MJ`
    : value >= 1000
      ? `${Number((value / 1000).toFixed(1))} kJ`
      : `${Math.round(value)} J`;

/** The verdict about a node in sentences, without its name. */
export function verdictInWords(
  verdict: NodeVerdict,
  formula: PlacementExplanation["formula"] = "headroom",
): readonly string[] {
  const { rejection, blockers, score } = verdict;
  const sentences: string[] = [];
  if (rejection !== undefined) sentences.push(`${upper(rejection.replace(/^Joulie: /, ""))}.`);
  for (const blocker of blockers) sentences.push(`kube-scheduler: ${blocker}.`);
  if (!verdict.feasible) return sentences;
  if (formula === "unknown") return ["It takes the pod."];
  const { energy, headroom } = verdict;
  if (energy !== undefined && energy.fallback === undefined) sentences.push(...energyWords(energy, score));
  else if (headroom.neutral !== undefined)
    sentences.push(`Score ${score}, the neutral score: ${neutralWords[headroom.neutral]}.`);
  else sentences.push(headroomWords(headroom, score));
  if (energy?.fallback !== undefined)
    sentences.push("It is scored by headroom, because the power of its hardware is unknown.");
  return sentences;
}

const upper = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const neutralWords = {
  "no twin": "the operator has published no twin",
  "no class": "the twin has no class",
  stale: "the twin is stale",
  "no headroom": "its headroom is unknown",
} as const;

function headroomWords(terms: ScoredBreakdown, score: number): string {
  const parts = [
    `${points(terms.headroomScore * 0.7)} for ${Math.round(terms.headroomScore)} % of the power budget left`,
    `${points(terms.coolingTerm)} for cooling`,
  ];
  const trend = terms.trendBonus > 0 ? "falling" : "rising";
  if (terms.trendBonus !== 0) parts.push(`${points(terms.trendBonus)} for ${trend} power`);
  if (terms.profileBonus !== 0) parts.push(`${points(terms.profileBonus)} because standard pods prefer eco nodes`);
  if (terms.pressureRelief !== 0)
    parts.push(`${points(terms.pressureRelief)} to keep performance nodes free for performance pods`);
  if (terms.drainingPenalty !== 0) parts.push(`${points(terms.drainingPenalty)} because it is draining`);
  return `Score ${score}: ${parts.join(", ")}. The pod adds about ${formatWatts(terms.marginal.total, 0)}.`;
}

/** What the PUE adds to the other terms. */
export const siteJoules = ({
  joules: all,
  running,
  awake,
  fragmentation,
  starvation,
  spare,
}: Exclude<EnergyBreakdown, { fallback: string }>): number =>
  all - (running + awake + fragmentation + starvation + spare);

function energyWords(energy: Exclude<EnergyBreakdown, { fallback: string }>, score: number): string[] {
  const terms = [
    ["running it", energy.running],
    ["keeping the node awake", energy.awake],
    ["boards that become unusable", energy.fragmentation],
    ["CPUs taken from its GPUs", energy.starvation],
    ["idle power of what stays free", energy.spare],
    ["for cooling and supply, by the PUE", siteJoules(energy)],
  ] as const;
  const parts = terms
    .filter(([, value]) => Math.abs(value) >= 0.5)
    .map(([name, value]) => `${joulesText(value)} ${name}`);
  const minutes = Number((energy.durationSeconds / 60).toFixed(1));
  const sentences = [
    `Score ${score}: the pod adds ${joulesText(energy.joules)} in ${minutes} min (${parts.join(", ") || "nothing"}).`,
  ];
  if (energy.exceedsCap === true) sentences.push("The node's cap would be exceeded, so it scores 0.");
  return sentences;
}

/** `1st`, `22nd`, `113th`. */
function ordinal(rank: number): string {
  const isTeen = rank % 100 > 10 && rank % 100 < 14;
  return `${rank}${(isTeen ? undefined : ["th", "st", "nd", "rd"][rank % 10]) ?? "th"}`;
}

/** The answer in one or two sentences: why the pod is where it is, or why it waits. */
export function summaryInWords(explanation: PlacementExplanation): readonly string[] {
  const { nodes, boundTo, formula } = explanation;
  const feasible = nodes.filter((verdict) => verdict.feasible);
  if (boundTo === undefined) return pendingWords(nodes, feasible, formula);
  const chosen = nodes.find(({ node }) => node === boundTo);
  if (chosen === undefined) return [`The pod is on ${boundTo}, which is not among the nodes.`];
  if (!chosen.feasible)
    return [
      `The pod is on ${boundTo}. By what is known now it would not be placed there again: ${verdictInWords(chosen)[0] ?? ""}`,
    ];
  if (formula === "unknown" && feasible.length === 1) return [`${boundTo} is the only node that takes the pod.`];
  if (formula === "unknown") return [`${boundTo} is one of ${nodesThatTake(feasible)} the pod.`];
  const better = feasible.filter(({ total }) => total > chosen.total);
  const equal = feasible.filter(({ total }) => total === chosen.total);
  const [best] = feasible;
  const criterion = formula === "energy" ? "adds the fewest joules there" : "leaves the most room in the power budget";
  if (better.length === 0 && equal.length === 1)
    return [
      `${boundTo} ranks first of ${nodesThatTake(feasible)} the pod${criterionText(chosen, feasible, criterion)}.`,
    ];
  if (better.length === 0)
    return [
      `${boundTo} ranks first of ${nodesThatTake(feasible)} the pod, with ${equal.length - 1} equal ` +
        `${equal.length === 2 ? "node" : "nodes"}. kube-scheduler draws one of them.`,
    ];
  return [
    `${boundTo} ranks ${ordinal(better.length + 1)} of ${feasible.length} nodes now; ${best?.node} ranks first.`,
    "The ranks have changed since the pod was placed, or plugins of kube-scheduler that Joulie does not know decided.",
  ];
}

/** Whether Joulie's score decided, or kube-scheduler's own points among nodes with an equal score. */
function criterionText(chosen: NodeVerdict, feasible: readonly NodeVerdict[], criterion: string): string {
  if (feasible.length < 2) return "";
  const others = feasible.filter(({ node }) => node !== chosen.node);
  if (others.every(({ score }) => score < chosen.score)) return `: the pod ${criterion}`;
  if (others.some(({ score }) => score > chosen.score))
    return ": kube-scheduler's own points outweigh a higher score of Joulie elsewhere";
  return ": kube-scheduler's own points decide among nodes with the same score of Joulie";
}

const nodesThatTake = ({ length }: readonly NodeVerdict[]): string =>
  length === 1 ? "1 node that takes" : `${length} nodes that take`;

function pendingWords(
  nodes: readonly NodeVerdict[],
  feasible: readonly NodeVerdict[],
  formula: PlacementExplanation["formula"],
): readonly string[] {
  const [best] = feasible;
  if (best !== undefined) {
    const takes = feasible.length === 1 ? "takes" : "take";
    const rank = formula === "unknown" ? "" : `; ${best.node} ranks first`;
    return [
      `The pod has no node yet. ${feasible.length} of ${counted(nodes.length, "node")} ${takes} it${rank}.`,
      "If it waits longer than some seconds, a check that Joulie does not know keeps it back: kubectl describe pod shows kube-scheduler's reason.",
    ];
  }
  const rejected = nodes.filter(({ rejection }) => rejection !== undefined);
  const blocked = nodes.filter(({ blockers }) => blockers.length > 0);
  const onlyJoulie = rejected.filter(({ blockers }) => blockers.length === 0);
  const sentences = [`The pod is pending: none of ${counted(nodes.length, "node")} takes it.`];
  if (blocked.length > 0) sentences.push(`kube-scheduler's own checks keep it off ${counted(blocked.length, "node")}.`);
  if (onlyJoulie.length > 0)
    sentences.push(
      `Joulie alone keeps it off ${counted(onlyJoulie.length, "node")}: ${onlyJoulie.length === 1 ? "it is" : "they are"} capped, on the way to eco, asleep, or kept free for another pod. The operator promotes or wakes nodes for pending pods if its policy does so (joulie plan).`,
    );
  return sentences;
}
