import { expect, it } from "vitest";
import { crdOf, kinds } from "../../core/api/index.ts";
import type { Resource } from "../../platform/kube/index.ts";
import { OperatorTestHarness } from "./testing/test-harness.ts";

const crds: Resource = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
};

it("X-98 logs missing CRDs and how to install them once, and continues after they are installed", async () => {
  const harness = await OperatorTestHarness.begin();
  for (const { plural } of kinds) await harness.user.delete(crds, { name: `${plural}.joulie.io` });
  await harness.createNode("n");
  const operator = harness.start();
  await harness.advance(1200);
  const problems = operator.logs.filter(({ level }) => level !== "info");
  expect(problems.map(({ msg }) => msg).toSorted()).toEqual(
    ["nodehardwares", "nodepowerprofiles", "nodetwins"].map(
      (plural) =>
        `the CustomResourceDefinition ${plural}.joulie.io is not installed; install it with "kubectl apply -f charts/joulie/crds"; trying again`,
    ),
  );
  expect(problems.every((line) => line["err"] === undefined)).toBe(true);
  const unready = await operator.page("/readyz");
  expect(unready.status).toBe(503);
  expect(unready.text).toContain("twins (the CustomResourceDefinition nodetwins.joulie.io is not installed)");

  for (const kind of kinds) await harness.user.create(crds, { ...crdOf(kind) });
  await harness.advance(60);
  expect((await operator.page("/readyz")).status).toBe(200);
  expect((await harness.twin("n")).spec.profile).toBe("performance");
  expect(operator.logs.map(({ msg }) => msg)).toContain(
    "the CustomResourceDefinition nodetwins.joulie.io is installed",
  );
  await harness.end();
});
