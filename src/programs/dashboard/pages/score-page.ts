import { annotations, gpuResources, type Pod } from "../../../core/api/index.ts";
import type { Catalogue } from "../../../core/inventory/index.ts";
import {
  type ClusterObjects,
  type ExplainSettings,
  explainPlacement,
  type NodeVerdict,
  verdictInWords,
} from "../../../core/report/index.ts";
import { defaultEnergySettings, defaultScoringSettings } from "../../../core/scoring/index.ts";
import { BadRequest } from "../server/http-server.ts";
import type { ScoreAnswer } from "../wire.ts";
import { numberIn } from "./query-number.ts";

const MOST_CPUS = 4096;
const MOST_GPUS = 64;
const resourceNames: ReadonlySet<string> = new Set(Object.values(gpuResources));

/** The score of a node for a pod that the reader describes, by the extender's own formula. Undefined for an unknown node. */
export function scorePage(
  query: URLSearchParams,
  objects: ClusterObjects,
  { scoring, catalogue }: { readonly scoring: "headroom" | "energy"; readonly catalogue: Catalogue },
): ScoreAnswer | undefined {
  const settings: ExplainSettings = {
    scoring: defaultScoringSettings,
    energy: scoring === "energy" ? defaultEnergySettings : undefined,
    hardware: { catalogue },
    extenderWeight: 1,
    kubeProfile: scoring === "energy" ? "energy" : "default",
  };
  const { nodes, formula } = explainPlacement(podOf(query), objects, settings);
  const name = query.get("node") ?? "";
  const place = nodes.findIndex(({ node }) => node === name);
  const verdict = nodes[place];
  if (verdict === undefined) return undefined;
  return {
    node: name,
    formula,
    feasible: verdict.feasible,
    score: verdict.score,
    ...termsOf(verdict),
    words: verdictInWords(verdict),
    rank: verdict.feasible ? place + 1 : null,
    feasibleNodes: nodes.filter(({ feasible }) => feasible).length,
    nodes: nodes.length,
  };
}

function podOf(query: URLSearchParams): Pod {
  const workloadClass = query.get("class") ?? "standard";
  if (workloadClass !== "standard" && workloadClass !== "performance")
    throw new BadRequest("class is standard or performance");
  const cpus = numberIn(query, "cpus", 1, MOST_CPUS);
  const gpus = Math.floor(numberIn(query, "gpus", 0, MOST_GPUS));
  const resource = query.get("resource") ?? gpuResources.nvidia;
  if (!resourceNames.has(resource)) throw new BadRequest(`resource is one of ${[...resourceNames].join(", ")}`);
  const requests = { cpu: `${Math.round(cpus * 1000)}m`, ...(gpus > 0 && { [resource]: String(gpus) }) };
  return {
    metadata: {
      name: "described",
      namespace: "default",
      annotations: { [annotations.workloadClass]: workloadClass },
    },
    spec: { containers: [{ resources: { requests, limits: gpus > 0 ? { [resource]: String(gpus) } : {} } }] },
  };
}

function termsOf({ headroom, energy }: NodeVerdict): Pick<ScoreAnswer, "terms" | "unit"> {
  if (energy !== undefined && energy.fallback === undefined) {
    const terms = [
      ["Running the pod", energy.running],
      ["Keeping the node awake", energy.awake],
      ["Boards that become unusable", energy.fragmentation],
      ["Boards left without CPUs", energy.starvation],
      ["Idle power of what stays free", energy.spare],
    ] as const;
    return { terms, unit: "joules" };
  }
  if (headroom.neutral !== undefined) return { terms: [], unit: "points" };
  const terms = [
    ["Power headroom with the pod", headroom.headroomScore * HEADROOM_WEIGHT],
    ["Cooling", headroom.coolingTerm],
    ["Power trend", headroom.trendBonus],
    ["Class of the node", headroom.profileBonus],
    ["Relief of performance nodes", headroom.pressureRelief],
    ["Draining", headroom.drainingPenalty],
  ] as const;
  return { terms, unit: "points" };
}

const HEADROOM_WEIGHT = 0.7;
