import { expect, it } from "vitest";
import type { AuditedRequest } from "./requests.ts";
import { compareRights } from "./rights.ts";

const request = (
  verb: string,
  group: string,
  resource: string,
  more: Partial<AuditedRequest> = {},
): AuditedRequest => ({
  user: "",
  userAgent: "",
  subresource: "",
  namespace: "",
  path: "",
  code: 200,
  at: 0,
  verb,
  group,
  resource,
  ...more,
});

it("reports verbs that no request needed and requests that no verb allows", () => {
  const rules = [
    { apiGroups: [""], resources: ["nodes"], verbs: ["list", "watch"] },
    { apiGroups: ["joulie.io"], resources: ["nodetwins/status"], verbs: ["patch"] },
    { namespace: "a", apiGroups: [""], resources: ["pods"], verbs: ["create"] },
  ];
  const used = [
    request("list", "", "nodes"),
    request("patch", "joulie.io", "nodetwins"),
    request("create", "", "pods", { namespace: "b" }),
    request("get", "", ""),
  ];
  expect(compareRights(rules, used)).toEqual({
    unused: ["create pods in a", "patch joulie.io/nodetwins/status", "watch nodes"],
    missing: ["create pods in b", "patch joulie.io/nodetwins"],
  });
});

it("counts an apply that created its object as create and patch", () => {
  const rules = [{ apiGroups: ["joulie.io"], resources: ["nodetwins"], verbs: ["create", "patch"] }];
  const applied = (code: number) => compareRights(rules, [request("patch", "joulie.io", "nodetwins", { code })]);
  expect(applied(201)).toEqual({ unused: [], missing: [] });
  expect(applied(200)).toEqual({ unused: ["create joulie.io/nodetwins"], missing: [] });
});
