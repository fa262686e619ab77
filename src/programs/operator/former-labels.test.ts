import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resources } from "../../platform/kube/index.ts";
import { Trial } from "./trial.ts";

const SOON = 10;
const OTHER = { POWER_PROFILE_LABEL: "site.example/profile", DRAINING_LABEL: "site.example/draining" };
const oldKeys = ["joulie.io/power-profile", "joulie.io/draining"];

describe("changing POWER_PROFILE_LABEL and DRAINING_LABEL", () => {
  let trial: Trial;
  beforeEach(async () => {
    trial = await Trial.begin();
  });
  afterEach(async () => trial.end());

  const restartWith = async (variables: Readonly<Record<string, string>>, before = trial.start()) => {
    await trial.pass(SOON);
    await before.stop();
    const operator = trial.start(variables);
    await trial.pass(30);
    return operator;
  };

  it("OPR-15 OPR-18 removes the labels that were set under the former keys, and says so in one line", async () => {
    for (const name of ["a", "b"]) await trial.createNode(name, { zone: "z1" });
    const operator = await restartWith(OTHER);
    expect(await trial.labelsOf("a")).toEqual({
      "joulie.io/managed": "true",
      zone: "z1",
      "site.example/profile": "performance",
      "site.example/draining": "false",
    });
    expect(await trial.labelsOf("b")).toMatchObject({ "site.example/profile": "eco" });
    for (const key of oldKeys) expect(Object.keys(await trial.labelsOf("b"))).not.toContain(key);
    expect(operator.logs.filter(({ msg }) => msg.includes("former"))).toMatchObject([{ nodes: 2, labels: oldKeys }]);
  });

  it("OPR-15 a node that left management meanwhile loses them as well", async () => {
    await trial.createNode("a");
    const first = trial.start();
    await trial.pass(SOON);
    await first.stop();
    await trial.label("a", { "joulie.io/managed": null });
    trial.start(OTHER);
    await trial.pass(30);
    expect(await trial.labelsOf("a")).toEqual({});
  });

  it("OPR-15 OPR-18 leaves a label that another party has set, under whatever key", async () => {
    await trial.createNode("a", { "site.example/owner": "performance" });
    const first = trial.start();
    await trial.pass(SOON);
    await first.stop();
    // One is overwritten by a person, the other also claimed by one.
    await trial.label("a", { "joulie.io/power-profile": "mine" });
    const claim = { metadata: { labels: { "joulie.io/draining": "false" } } };
    await trial.hand.apply(resources.nodes, { name: "a" }, claim);
    trial.start(OTHER);
    await trial.pass(30);
    expect(await trial.labelsOf("a")).toMatchObject({
      "site.example/owner": "performance",
      "joulie.io/power-profile": "mine",
      "joulie.io/draining": "false",
      "site.example/profile": "performance",
    });
  });

  it("tries again what could not be removed, and touches no Node under unchanged keys", async () => {
    await trial.createNode("a");
    const heal = trial.api.faults.add({
      fault: { kind: "status", code: 409 },
      when: ({ method, path, body = "" }) => method === "PATCH" && path.includes("/nodes/a") && body.includes("null"),
    });
    const operator = await restartWith(OTHER);
    expect(Object.keys(await trial.labelsOf("a"))).toEqual(expect.arrayContaining(oldKeys));
    heal();
    await trial.pass(120);
    for (const key of oldKeys) expect(Object.keys(await trial.labelsOf("a"))).not.toContain(key);
    const again = await restartWith(OTHER, operator);
    expect(again.written().filter(({ path }) => path.startsWith("/api/v1/nodes"))).toEqual([]);
  });
});
