// Judges from the recorded versions of all objects whether a pod met a node that was off or was being switched off.
import { asleepTaint } from "../../src/core/api/index.ts";
import { SleepBindings } from "./sleep-bindings.ts";
import type { Version, WitnessedObject } from "./witness.ts";

export interface BindingVerdict {
  readonly violations: readonly string[];
  /** Pods that tolerate the taint and were bound to a node that was off or on its way there. */
  readonly tolerated: readonly string[];
}

export function judgeBindings(history: readonly Version[]): BindingVerdict {
  const violations: string[] = [];
  const tolerated: string[] = [];
  const bindings = new SleepBindings({
    onViolation: (text) => violations.push(text),
    onTolerated: (pod) => tolerated.push(pod),
  });
  const boundPods = new Set<string>();
  for (const { kind, name, object } of history) {
    if (kind === "endpoints") bindings.endpointChanged(name, object?.status);
    if (kind === "nodes")
      bindings.taintChanged(name, JSON.stringify(object?.spec?.["taints"] ?? "").includes(asleepTaint.key));
    if (kind !== "pods") continue;
    const node = object?.spec?.["nodeName"];
    if (object === undefined || hasEnded(object)) bindings.ended(name);
    else if (typeof node === "string" && !boundPods.has(name)) {
      boundPods.add(name);
      bindings.bound(name, node, toleratesSleep(object));
    }
  }
  return { violations, tolerated };
}

const hasEnded = ({ status }: WitnessedObject): boolean =>
  status?.["phase"] === "Succeeded" || status?.["phase"] === "Failed";

function toleratesSleep({ spec }: WitnessedObject): boolean {
  const tolerations = (spec?.["tolerations"] ?? []) as readonly {
    readonly key?: string;
    readonly operator?: string;
    readonly effect?: string;
  }[];
  return tolerations.some(
    ({ key = "", operator, effect = asleepTaint.effect }) =>
      operator === "Exists" && effect === asleepTaint.effect && (key === "" || key === asleepTaint.key),
  );
}
