// Some of the rights that `npm run mutation -- rbac` takes away one by one; the whole run takes a quarter of an hour.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { InstalledProgram } from "../../src/programs/permissions.ts";
import type { ControlPlane } from "../controlplane/harness.ts";
import { RoleMutants } from "../rights/mutants.ts";
import { startRightsPlane } from "../rights/plane.ts";

const sample: readonly (readonly [InstalledProgram, readonly string[]])[] = [
  [
    "extender",
    [
      "list nodes",
      "watch joulie.io/nodetwins",
      "create authentication.k8s.io/tokenreviews",
      "watch configmaps joulie-operator-state in install-x",
    ],
  ],
  ["check", ["get services/proxy joulie-scheduler-extender:metrics in install-x"]],
  ["uninstall", ["delete coordination.k8s.io/leases joulie-power in install-x", "patch nodes"]],
];

describe("a role of the chart", () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await startRightsPlane();
  });
  afterAll(async () => plane?.stop());

  it.each(sample)("X-103 of %s: without one right an outcome is missing", async (role, rights) => {
    const mutants = new RoleMutants(plane, role);
    expect(mutants.rights).toEqual(expect.arrayContaining([...rights]));
    await mutants.runWhole();
    for (const right of rights) expect(await mutants.runWithout(right)).toMatchObject({ right, verdict: "killed" });
  });

  it("X-103 with a right too many: the run without it is complete, so the right is reported", async () => {
    const useless = { apiGroups: [""], resources: ["secrets"], verbs: ["list"] };
    const mutants = new RoleMutants(plane, "uninstall", [useless]);
    await mutants.runWhole();
    expect(await mutants.runWithout("list secrets")).toEqual({ right: "list secrets", verdict: "survived" });
  });
});
