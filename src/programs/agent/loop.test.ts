import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Trial } from "./trial.ts";

let trial: Trial;
beforeEach(async () => {
  trial = new Trial();
  await trial.createNode("a");
});
afterEach(async () => {
  await trial.end();
});

const eco = { cpu: { packagePowerCapPctOfMax: 60 } };

describe("a node's CPUs", () => {
  it("AGT-04 AGT-14 AGT-16 AGT-50 the newest target is enforced by the host's RAPL, soon after it is published", async () => {
    await trial.target("a", eco);
    const agent = trial.start();
    await trial.pass(2);
    expect(trial.machine.rapl.writes).toEqual(["cap package-0 210", "cap package-1 210"]);
    await trial.target("a", { cpu: { packagePowerCapWatts: 120, packagePowerCapPctOfMax: 60 } });
    await trial.pass(1);
    expect(trial.machine.rapl.writes.slice(2)).toEqual(["cap package-0 120", "cap package-1 120"]);
    expect((await trial.told())?.cpu).toMatchObject({
      backend: "rapl",
      result: "applied",
      message: "120 W per package; not yet tested by load",
    });
    expect(await agent.series("joulie_backend_mode", 'mode="rapl"')).toEqual([
      'joulie_backend_mode{node="a",mode="rapl"} 1',
    ]);
  });
});
