import { expect, it } from "vitest";
import { crdOf, kinds } from "../../../core/api/index.ts";
import type { Resource } from "../../../platform/kube/index.ts";
import { AgentTestHarness } from "../testing/agent-test-harness.ts";

const crds: Resource = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
};

it("X-98 logs missing CRDs once, and enforces targets once they are installed", async () => {
  const harness = new AgentTestHarness();
  for (const { plural } of kinds) await harness.user.delete(crds, { name: `${plural}.joulie.io` });
  await harness.createNode("a");
  const agent = harness.start();
  await harness.advance(600);
  const problems = agent.logs.filter(({ level }) => level === "error" || level === "warn");
  expect(problems.map(({ msg }) => msg).toSorted()).toEqual(
    ["nodepowerprofiles", "nodetwins", "telemetryprofiles"].map(
      (plural) =>
        `the CustomResourceDefinition ${plural}.joulie.io is not installed; install it with "kubectl apply -f charts/joulie/crds"; trying again`,
    ),
  );
  for (const kind of kinds) await harness.user.create(crds, { ...crdOf(kind) });
  await harness.target("a", { cpu: { packagePowerCapPctOfMax: 60 } });
  await harness.advance(90);
  expect(harness.machine.rapl.writes).toEqual(["cap package-0 210", "cap package-1 210"]);
  await harness.close();
});
