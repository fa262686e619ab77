import type { Rule } from "./identities.ts";
import type { AuditedRequest } from "./requests.ts";

/** One verb of one rule. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  /** With the subresource, for example nodetwins/status. */
  readonly resource: string;
  /** Absent: in every namespace, or of a kind without namespaces. */
  readonly namespace?: string | undefined;
  /** Absent: every object. */
  readonly name?: string | undefined;
}

export interface RightsComparison {
  /** Granted, but no request needed it. */
  readonly unused: readonly string[];
  /** Needed by a request, but not granted. */
  readonly missing: readonly string[];
}

/** Compares RBAC rules with the requests that a program made: a minimal role has no unused and no missing right. */
export function compareRights(rules: readonly Rule[], requests: readonly AuditedRequest[]): RightsComparison {
  const granted = rightsOf(rules);
  const needed = requests.filter(({ resource }) => resource !== "").flatMap(neededBy);
  const unused = granted.filter((right) => !needed.some((need) => covers(right, need)));
  const missing = needed.filter((need) => !granted.some((right) => covers(right, need)));
  return { unused: texts(unused), missing: texts(missing) };
}

/** Every verb of every rule on its own. */
export const rightsOf = (rules: readonly Rule[]): Right[] => rules.flatMap(rightsOfRule);

const rightsOfRule = ({ namespace, apiGroups = [], resources = [], resourceNames, verbs }: Rule): Right[] =>
  apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      (resourceNames ?? [undefined]).flatMap((name) =>
        verbs.map((verb) => ({ verb, group, resource, namespace, name })),
      ),
    ),
  );

/** A server-side apply that creates its object needs `create` besides `patch`. The audit log shows only `patch`. */
function neededBy({ verb, group, resource, subresource, namespace, name, code }: AuditedRequest): Right[] {
  const full = subresource === "" ? resource : `${resource}/${subresource}`;
  const need = { verb, group, resource: full, namespace: namespace === "" ? undefined : namespace, name };
  return verb === "patch" && code === 201 ? [need, { ...need, verb: "create" }] : [need];
}

const covers = (right: Right, need: Right): boolean =>
  right.verb === need.verb &&
  right.group === need.group &&
  right.resource === need.resource &&
  (right.namespace === undefined || right.namespace === need.namespace) &&
  (right.name === undefined || right.name === need.name);

/** For example `patch joulie.io/nodetwins/status` or `get leases joulie-operator in joulie-system`. */
export function textOfRight({ verb, group, resource, namespace, name = "" }: Right): string {
  const place = namespace === undefined ? "" : ` in ${namespace}`;
  return `${verb} ${group === "" ? resource : `${group}/${resource}`}${name && ` ${name}`}${place}`;
}

const texts = (rights: readonly Right[]): string[] => [...new Set(rights.map(textOfRight))].toSorted();
