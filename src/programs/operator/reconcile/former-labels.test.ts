import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resources } from "../../../platform/kube/index.ts";
import { OperatorTestHarness } from "../testing/test-harness.ts";

const SOON = 10;
const OTHER = { POWER_PROFILE_LABEL: "site.example/profile", DRAINING_LABEL: "site.example/draining" };
const oldKeys = ["joulie.io/power-profile", "joulie.io/draining"];

describe("changing POWER_PROFILE_LABEL and DRAINING_LABEL", () => {
  let harness: OperatorTestHarness;
  beforeEach(async () => {
    harness = await OperatorTestHarness.begin();
  });
  afterEach(async () => harness.end());

  const restartWith = async (variables: Readonly<Record<string, string>>, before = harness.start()) => {
    await harness.advance(SOON);
    await before.stop();
    const operator = harness.start(variables);
    await harness.advance(30);
    return operator;
  };

  it("OPR-15 OPR-18 removes the labels under the former keys and logs one line", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name, { zone: "z1" });
    const operator = await restartWith(OTHER);
    expect(await harness.labelsOf("a")).toEqual({
      "joulie.io/managed": "true",
      zone: "z1",
      "site.example/profile": "performance",
      "site.example/draining": "false",
    });
    expect(await harness.labelsOf("b")).toMatchObject({ "site.example/profile": "eco" });
    for (const key of oldKeys) expect(Object.keys(await harness.labelsOf("b"))).not.toContain(key);
    expect(operator.logs.filter(({ msg }) => msg.includes("former"))).toMatchObject([{ nodes: 2, labels: oldKeys }]);
  });

  it("OPR-15 removes them from a node that is no longer managed", async () => {
    await harness.createNode("a");
    const first = harness.start();
    await harness.advance(SOON);
    await first.stop();
    await harness.label("a", { "joulie.io/managed": null });
    harness.start(OTHER);
    await harness.advance(30);
    expect(await harness.labelsOf("a")).toEqual({});
  });

  it("OPR-15 OPR-18 keeps labels that another manager set, under any key", async () => {
    await harness.createNode("a", { "site.example/owner": "performance" });
    const first = harness.start();
    await harness.advance(SOON);
    await first.stop();
    // One is overwritten by a person, the other also claimed by one.
    await harness.label("a", { "joulie.io/power-profile": "mine" });
    const claim = { metadata: { labels: { "joulie.io/draining": "false" } } };
    await harness.user.apply(resources.nodes, { name: "a" }, claim);
    harness.start(OTHER);
    await harness.advance(30);
    expect(await harness.labelsOf("a")).toMatchObject({
      "site.example/owner": "performance",
      "joulie.io/power-profile": "mine",
      "joulie.io/draining": "false",
      "site.example/profile": "performance",
    });
  });

  it("retries a failed removal, and writes no Node if the keys are unchanged", async () => {
    await harness.createNode("a");
    const heal = harness.api.faults.add({
      fault: { kind: "status", code: 409 },
      when: ({ method, path, body = "" }) => method === "PATCH" && path.includes("/nodes/a") && body.includes("null"),
    });
    const operator = await restartWith(OTHER);
    expect(Object.keys(await harness.labelsOf("a"))).toEqual(expect.arrayContaining(oldKeys));
    heal();
    await harness.advance(120);
    for (const key of oldKeys) expect(Object.keys(await harness.labelsOf("a"))).not.toContain(key);
    const again = await restartWith(OTHER, operator);
    expect(again.written().filter(({ path }) => path.startsWith("/api/v1/nodes"))).toEqual([]);
  });
});
