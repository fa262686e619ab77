import { apiGroup } from "../../core/api/index.ts";
import { stopSwitchRule } from "../../platform/kube/index.ts";

const WATCHED = ["list", "watch"] as const;

/**
 * All permissions of the power program. It is the only program that reads Secrets: by name, in its own namespace. `pods` and
 * `persistentvolumeclaims` are for the count before a machine is switched off, `nodes` for the taint.
 */
export const powerPermissions = (namespace: string) => [
  stopSwitchRule(namespace),
  { apiGroups: [""], resources: ["nodes"], verbs: ["get", ...WATCHED, "patch"] },
  { apiGroups: [""], resources: ["pods", "persistentvolumeclaims"], verbs: ["list"] },
  { apiGroups: [apiGroup], resources: ["nodetwins"], verbs: ["get", ...WATCHED] },
  { apiGroups: [apiGroup], resources: ["nodetwins/status"], verbs: ["patch"] },
  // `patch` removes the annotation joulie.io/test-power after the test.
  { apiGroups: [apiGroup], resources: ["powerendpoints"], verbs: ["get", ...WATCHED, "patch"] },
  { apiGroups: [apiGroup], resources: ["powerendpoints/status"], verbs: ["patch"] },
  { apiGroups: ["metal3.io"], resources: ["baremetalhosts"], verbs: ["get", "patch"] },
  { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
  { namespace, apiGroups: [""], resources: ["secrets"], verbs: ["get"] },
  { namespace, apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "patch"] },
];
