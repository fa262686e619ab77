import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AgentTestHarness } from "../../src/programs/agent/testing/agent-test-harness.ts";
import { calmTwinStatus, ExtenderHarness, podOfClass } from "../../src/programs/extender/testing/extender-harness.ts";
import { OperatorTestHarness } from "../../src/programs/operator/testing/test-harness.ts";

const contract = readFileSync(join(import.meta.dirname, "../../docs/reference/contract.md"), "utf8");
const section = /^## 4\..*?(?=^## 5\.)/ms.exec(contract)?.[0] ?? "";

/** `name{label,…}` of every metric in the contract of a program; `{a,b}` inside a name expands to two names. */
function listed(program: string): string[] {
  const text = new RegExp(`^${program}: .*?(?=^\\w+: |^A node)`, "ms").exec(section)?.[0] ?? "";
  return [...text.matchAll(/joulie_[a-z_{},]+/g)].flatMap(([token]) => {
    const [, name = "", labels = ""] = /^(.*)\{([a-z_,]+)\}$/.exec(token) ?? [];
    const [, before = name, choices = "", after = ""] = /^([^{]*)\{([^}]*)\}(.*)$/.exec(name) ?? [];
    return choices.split(",").map((choice) => `${before}${choice}${after}{${labels}}`);
  });
}

/** The same for the series of a /metrics page. */
function served(lines: readonly string[]): string[] {
  const found = lines.flatMap((line) => {
    const [, name = "", labels = ""] = /^(joulie_\w+)\{(.*)\} \S+$/.exec(line) ?? [];
    const keys = [...labels.matchAll(/(\w+)="/g)].map(([, key]) => key).filter((key) => key !== "le");
    return name === "" ? [] : `${name.replace(/_seconds_(bucket|sum|count)$/, "_seconds")}{${keys.join(",")}}`;
  });
  return [...new Set(found)];
}

describe("the metrics of contract 4", () => {
  it("X-14 joulie operator serves each of its metrics, with the labels listed", async () => {
    const harness = await OperatorTestHarness.begin();
    for (const name of ["a", "b"]) await harness.createNode(name);
    harness.usage = { a: "much" };
    harness.api.faults.add({
      fault: { kind: "status", code: 403 },
      when: ({ method, path }) => method === "PATCH" && path.startsWith("/api/v1/nodes/a"),
    });
    const operator = harness.start();
    await harness.advance(10);
    const seen = served(await operator.series("joulie_"));
    await harness.end();
    expect(listed("operator").length).toBeGreaterThanOrEqual(6);
    expect(seen).toEqual(expect.arrayContaining(listed("operator")));
  });

  it("X-14 joulie extender serves each of its metrics, with the labels listed", async () => {
    const harness = new ExtenderHarness();
    await harness.createNode("a");
    await harness.twin("a", calmTwinStatus);
    const extender = await harness.start();
    await extender.filter(podOfClass("performance"), ["a"]);
    await extender.scores(podOfClass("performance"), ["a"]);
    const seen = served(await extender.series("joulie_"));
    await harness.end();
    expect(listed("extender").length).toBeGreaterThanOrEqual(7);
    expect(seen).toEqual(expect.arrayContaining(listed("extender")));
  });

  it("X-14 joulie agent serves each of its metrics, with the labels listed", async () => {
    const harness = new AgentTestHarness();
    await harness.createNode("a");
    await harness.target("a", { cpu: { packagePowerCapWatts: 210 } });
    harness.machine.draw(600);
    const agent = harness.start();
    await harness.advance(45);
    const underRapl = await agent.series("joulie_");
    harness.machine.rapl.absent = "powercap is not mounted";
    await harness.advance(70);
    const underDvfs = await agent.series("joulie_");
    harness.machine.rapl.absent = undefined;
    harness.machine.rapl.refusal = { result: "error", message: "EIO" };
    await agent.stop();
    const strict = harness.start({ TELEMETRY_CPU_CONTROL_MODE: "rapl" });
    await harness.advance(45);
    const afterErrors = await strict.series("joulie_");
    harness.machine.rapl.refusal = undefined;
    await harness.close();
    expect(listed("agent").length).toBeGreaterThanOrEqual(15);
    expect(served([...underRapl, ...underDvfs, ...afterErrors])).toEqual(expect.arrayContaining(listed("agent")));
  });
});
