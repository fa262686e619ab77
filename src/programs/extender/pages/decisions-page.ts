import {
  type Batch,
  type EnergyContext,
  marginalJoules,
  type ScoringSettings,
  scoreNode,
} from "../../../core/scoring/index.ts";
import type { Decision, DecisionLog, EnergyDecision, RankedNode } from "../decisions/decision-log.ts";

/** `?pod=` shows all nodes. */
const NODES_SHOWN = 5;
/** Takes about a fifth of a millisecond. */
const NODES_PER_CHUNK = 500;

/** `GET /debug/decisions`, newest first; `?pod=NAME` or `?pod=NAMESPACE/NAME` with every node. In chunks, for other requests. */
export function* decisionsPage(
  decisions: DecisionLog,
  pod: string | null,
  settings: ScoringSettings,
  variables: Readonly<Record<string, string>>,
): Generator<string, void, undefined> {
  yield `{"variables":${JSON.stringify(variables)},"decisions":[`;
  let comma = "";
  for (const decision of decisions.latest()) {
    // New requests may replace the oldest decisions while the page is sent.
    if ((pod !== null && !isForPod(decision, pod)) || !decisions.has(decision)) continue;
    const text = comma + JSON.stringify(explain(decision, settings));
    comma = ",";
    if (pod === null) yield text;
    else {
      const nodes = everyNode({ ...decision, slots: decision.slots.slice(), verdicts: decision.verdicts.slice() });
      yield text.replace(/\}$/, ',"nodes":[');
      yield* nodes;
      yield "]}";
    }
  }
  yield "]}\n";
}

const isForPod = ({ pod: { namespace, name } }: Decision, query: string): boolean =>
  query === name || query === `${namespace}/${name}`;

function explain(decision: Decision, settings: ScoringSettings): object {
  const { verb, at, pod, request, batch, candidates, slots } = decision;
  return {
    at: new Date(at).toISOString(),
    verb,
    pod,
    workloadClass: request.workloadClass,
    cpuCores: request.demand.cpuCores,
    gpus: Object.fromEntries(request.demand.gpus),
    candidates,
    unknownNodes: slots.reduce((count, slot) => count + Number(slot < 0), 0),
    ...(batch === undefined
      ? { rejected: rejectedOf(decision) }
      : {
          ...(decision.energy && energyOf(decision.energy)),
          cluster: { clusterTrendWPerMin: batch.clusterTrend, perfPressure: batch.perfPressure },
          best: decision.best.map((ranked) => ({
            node: ranked.node.name,
            score: ranked.score,
            breakdown:
              joulesOf(decision.energy, ranked, batch, settings) ?? scoreNode(request, ranked.node, batch, settings),
            ...(isUnknown(decision.energy, ranked) && { fallback: UNKNOWN_HARDWARE }),
          })),
        }),
  };
}

const UNKNOWN_HARDWARE = "headroom: neither the catalogue nor the agent knows the power of this node's hardware";

const energyOf = ({ pod, durationProblem, fallback, outcome, settings }: EnergyDecision): object => ({
  scoring: fallback === undefined ? "energy" : "headroom",
  ...(fallback !== undefined && { fallback }),
  expectedDurationSeconds: pod.duration ?? settings.duration,
  ...(durationProblem !== undefined && { durationProblem }),
  ...(outcome && {
    leastJoules: outcome.least,
    mostJoules: outcome.most,
    nodesOverCap: outcome.overCap,
    nodesScoredByHeadroom: outcome.unknown,
  }),
});

const isUnknown = (energy: EnergyDecision | undefined, { load }: RankedNode): boolean =>
  energy !== undefined && energy.fallback === undefined && load === undefined;

function joulesOf(
  energy: EnergyDecision | undefined,
  { node, load }: RankedNode,
  { now }: Batch,
  { stalenessThreshold, facilityMetrics }: ScoringSettings,
): object | undefined {
  if (energy?.mix === undefined || load === undefined) return undefined;
  const context: EnergyContext = { now, mix: energy.mix, stalenessThreshold, facilityMetrics };
  const { usedCpus, usedBoards } = load;
  return { ...marginalJoules(energy.pod, { ...node, pods: load }, context, energy.settings), usedCpus, usedBoards };
}

function rejectedOf(decision: Decision): readonly object[] {
  return decision.reasons.flatMap((reason, code) => {
    if (reason === undefined) return [];
    const nodes = nodesWith(decision, code);
    return nodes.length === 0 ? [] : { reason, count: nodes.length, nodes: nodes.slice(0, NODES_SHOWN) };
  });
}

function nodesWith({ slots, verdicts, names }: Decision, code: number): (string | null)[] {
  const found: (string | null)[] = [];
  for (let i = 0; i < slots.length; i++) {
    if (verdicts[i] === code) found.push(names[slots[i] as number] ?? null);
  }
  return found;
}

/** Nodes that were unknown to the extender are shown without a name. */
function* everyNode({ verb, slots, verdicts, reasons, names }: Decision): Generator<string, void, undefined> {
  for (let from = 0; from < slots.length; from += NODES_PER_CHUNK) {
    const nodes = Array.from(slots.subarray(from, from + NODES_PER_CHUNK), (slot, place) => {
      const verdict = verdicts[from + place] as number;
      const node = names[slot] ?? null;
      return JSON.stringify(
        verb === "prioritize" ? { node, score: verdict } : { node, rejection: reasons[verdict] ?? null },
      );
    });
    yield (from > 0 ? "," : "") + nodes.join(",");
  }
}
