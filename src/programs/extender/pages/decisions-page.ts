import { rejections, type ScoringSettings, scoreNode } from "../../../core/scoring/index.ts";
import type { Decision, DecisionLog } from "../decisions/decision-log.ts";

/** Enough to see which nodes; `?pod=` has them all. */
const NODES_SHOWN = 5;
/** A fifth of a millisecond's work or so. */
const NODES_PER_PIECE = 500;

/**
 * `GET /debug/decisions`: the last answers, newest first, and how the best scores came about. `?pod=NAME` or
 * `?pod=NAMESPACE/NAME` has those of one pod, with every node. In pieces, so that no request waits for the page.
 */
export function* decisionsPage(
  decisions: DecisionLog,
  pod: string | null,
  settings: ScoringSettings,
): Generator<string, void, undefined> {
  yield '{"decisions":[';
  let comma = "";
  for (const decision of decisions.latest()) {
    // Requests go on while the page is read, and the oldest decisions make way for them.
    if ((pod !== null && !isAbout(decision, pod)) || !decisions.has(decision)) continue;
    const text = comma + JSON.stringify(explained(decision, settings));
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

const isAbout = ({ pod: { namespace, name } }: Decision, asked: string): boolean =>
  asked === name || asked === `${namespace}/${name}`;

function explained(decision: Decision, settings: ScoringSettings): object {
  const { verb, at, pod, asked, batch, candidates, slots } = decision;
  return {
    at: new Date(at).toISOString(),
    verb,
    pod,
    workloadClass: asked.workloadClass,
    cpuCores: asked.demand.cpuCores,
    gpus: Object.fromEntries(asked.demand.gpus),
    candidates,
    unknownNodes: slots.reduce((count, slot) => count + Number(slot < 0), 0),
    ...(batch === undefined
      ? { rejected: rejectedOf(decision) }
      : {
          cluster: { clusterTrendWPerMin: batch.clusterTrend, perfPressure: batch.perfPressure },
          best: decision.best.map(({ node, score }) => ({
            node: node.name,
            score,
            breakdown: scoreNode(asked, node, batch, settings),
          })),
        }),
  };
}

function rejectedOf(decision: Decision): readonly object[] {
  return rejections.flatMap((reason, code) => {
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

/** Those nobody here knew have no name any more. */
function* everyNode({ verb, slots, verdicts, names }: Decision): Generator<string, void, undefined> {
  for (let from = 0; from < slots.length; from += NODES_PER_PIECE) {
    const nodes = Array.from(slots.subarray(from, from + NODES_PER_PIECE), (slot, place) => {
      const verdict = verdicts[from + place] as number;
      const node = names[slot] ?? null;
      return JSON.stringify(
        verb === "prioritize" ? { node, score: verdict } : { node, rejection: rejections[verdict] ?? null },
      );
    });
    yield (from > 0 ? "," : "") + nodes.join(",");
  }
}
