import { annotations, gpuResources, type Pod } from "../../../core/api/index.ts";
import type { Catalogue } from "../../../core/inventory/index.ts";
import {
  type ClusterObjectsWithPods,
  type ExplainSettings,
  explainPlacement,
  type NodeVerdict,
  siteJoules,
  verdictInWords,
} from "../../../core/report/index.ts";
import { HEADROOM_WEIGHT } from "../../../core/scoring/index.ts";
import { energySettingsOf, scoringSettingsOf } from "../../extender/index.ts";
import { BadRequestError, numberParameter } from "../server/http-server.ts";
import type { ExtenderSettings } from "../sources/installation-watch.ts";
import type { ScoreAnswer } from "../wire.ts";

const CPUS_LIMIT = 4096;
const GPUS_LIMIT = 64;
const resourceNames: ReadonlySet<string> = new Set(Object.values(gpuResources));

/** The score of a node for a pod that the reader describes, by the extender's own formula and settings. Undefined for an unknown node. */
export function scorePage(
  query: URLSearchParams,
  objects: ClusterObjectsWithPods,
  { extender, catalogue }: { readonly extender: ExtenderSettings; readonly catalogue: Catalogue },
): ScoreAnswer | undefined {
  const energy = energySettingsOf(extender.values);
  const scoring = scoringSettingsOf(extender.values);
  const settings: ExplainSettings = {
    scoring,
    energy,
    hardware: { catalogue },
    // As `joulie scheduler-config` sets it.
    extenderWeight: energy === undefined ? 1 : 10,
    kubeProfile: energy === undefined ? "default" : "energy",
  };
  const { nodes } = explainPlacement(podOf(query), objects, settings);
  const name = query.get("node") ?? "";
  const place = nodes.findIndex(({ node }) => node === name);
  const verdict = nodes[place];
  if (verdict === undefined) return undefined;
  return {
    node: name,
    formula: energy === undefined ? "headroom" : "energy",
    feasible: verdict.feasible,
    score: verdict.score,
    scoreMax: scoring.scoreMax,
    settings: extender.source,
    ...termsOf(verdict, scoring.scoreMax),
    words: verdictInWords(verdict),
    rank: verdict.feasible ? place + 1 : null,
    feasibleNodes: nodes.filter(({ feasible }) => feasible).length,
    nodes: nodes.length,
  };
}

function podOf(query: URLSearchParams): Pod {
  const workloadClass = query.get("class") ?? "standard";
  if (workloadClass !== "standard" && workloadClass !== "performance")
    throw new BadRequestError("class is standard or performance");
  const cpus = numberParameter(query, "cpus", 1, CPUS_LIMIT);
  const gpus = Math.floor(numberParameter(query, "gpus", 0, GPUS_LIMIT));
  const resource = query.get("resource") ?? gpuResources.nvidia;
  if (!resourceNames.has(resource)) throw new BadRequestError(`resource is one of ${[...resourceNames].join(", ")}`);
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

function termsOf({ headroom, energy }: NodeVerdict, scoreMax: number): Pick<ScoreAnswer, "terms" | "unit"> {
  if (energy !== undefined && energy.fallback === undefined) {
    const terms = [
      ["Running the pod", energy.running],
      ["Keeping the node awake", energy.awake],
      ["Boards that become unusable", energy.fragmentation],
      ["CPUs taken from its GPUs", energy.starvation],
      ["Idle power of what stays free", energy.spare],
      ["Cooling and supply, by the PUE", siteJoules(energy)],
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
  // So that the parts add up to the score.
  return { terms: terms.map(([name, points]) => [name, (points * scoreMax) / 100] as const), unit: "points" };
}
