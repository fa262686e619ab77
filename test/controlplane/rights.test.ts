import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { InstalledProgram } from "../../src/programs/permissions.ts";
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
  name: "",
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

it("lets a rule about one object allow requests for that object only", () => {
  const rules = [{ apiGroups: [""], resources: ["namespaces"], resourceNames: ["a"], verbs: ["patch"] }];
  const patched = (name: string) => compareRights(rules, [request("patch", "", "namespaces", { name })]);
  expect(patched("a")).toEqual({ unused: [], missing: [] });
  expect(patched("b")).toEqual({ unused: ["patch namespaces a"], missing: ["patch namespaces b"] });
});

/** Where each role is compared with the requests of its program. The compiler asks for the row of a new program. */
const comparisons: Readonly<Record<InstalledProgram, string>> = {
  agent: "agent-rights.test.ts",
  "agent-pool": "agent-rights.test.ts",
  operator: "operator.test.ts",
  "operator-sleep": "sleep-day.test.ts",
  extender: "debug-pages.test.ts",
  "extender-energy": "energy-scoring.test.ts",
  power: "power.test.ts",
  fleet: "simulator.test.ts",
  "fleet-sleep": "sleep-day.test.ts",
  check: "chart-jobs.test.ts",
  crds: "chart-jobs.test.ts",
  uninstall: "chart-jobs.test.ts",
  "uninstall-fleet": "chart-jobs.test.ts",
};

it.each(Object.entries(comparisons))("the role of %s is compared in %s", (_, file) => {
  expect(readFileSync(join(import.meta.dirname, "../cluster", file), "utf8")).toContain("compareRights(");
});
