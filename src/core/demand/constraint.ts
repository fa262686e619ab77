import { labels, type NodeSelectorTerm, type Pod, type PodSpec, type Profile } from "../api/index.ts";
import { matches, validTerms } from "./node-constraint.ts";
import { itemsOf, specOf } from "./pod-parts.ts";

/** The profiles that a pod's required scheduling constraints allow. */
export type PowerConstraint = "performance-only" | "eco-only" | "general";

/**
 * Only hard constraints count: nodeSelector and required node affinity. Preferences are ignored.
 *
 * A pod whose constraints admit neither profile (they contradict, or require a node without the label) excludes eco, so it
 * is performance-only. If it runs on a node anyway, the guard protects it from eco caps.
 */
export function powerConstraintOf(pod: Pod, powerProfileLabel: string = labels.powerProfile): PowerConstraint {
  const spec = specOf(pod);
  // Terms are ORed. As in kube-scheduler, an empty list of terms matches nothing.
  const terms = validTerms(spec);
  const admits = (profile: Profile) =>
    selectorAdmits(spec.nodeSelector, powerProfileLabel, profile) &&
    (terms === undefined || terms.some((term) => termAdmits(term, powerProfileLabel, profile)));
  if (!admits("eco")) return "performance-only";
  return admits("performance") ? "general" : "eco-only";
}

const selectorAdmits = (selector: PodSpec["nodeSelector"], key: string, profile: Profile): boolean =>
  !selector || !Object.hasOwn(selector, key) || selector[key] === profile;

/** Whether a node with this profile can satisfy a valid term, for any values of its other labels. */
const termAdmits = ({ matchExpressions }: NodeSelectorTerm, label: string, profile: Profile): boolean =>
  itemsOf(matchExpressions).every((expression) => expression.key !== label || matches(expression, profile));
