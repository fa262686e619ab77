import { describe, expect, it } from "vitest";
import { AgentTestHarness } from "../../src/programs/agent/testing/agent-test-harness.ts";
import { FakeControlService } from "../../src/programs/agent/testing/fake-control-service.ts";
import { calmTwinStatus, ExtenderHarness, podOfClass } from "../../src/programs/extender/testing/extender-harness.ts";
import { OperatorTestHarness } from "../../src/programs/operator/testing/test-harness.ts";

const NODES = 60;
/** One line per node would be five times as many. */
const FEW = 12;
const names = Array.from({ length: NODES }, (_, index) => `node-${index}`);

describe("logs at the default level", () => {
  it("X-61 the operator logs no line per node when all nodes change, become unmanaged or have their writes rejected", async () => {
    const harness = await OperatorTestHarness.begin();
    for (const name of names) await harness.createNode(name);
    const first = harness.start({ STATIC_HP_FRAC: "1" });
    await harness.advance(70);
    expect(first.logs.length).toBeLessThan(FEW);
    await first.stop();

    const second = harness.start({ STATIC_HP_FRAC: "0" });
    await harness.advance(130);
    expect((await harness.shown("node-59")).spec).toBe("eco");
    expect(second.logs.length).toBeLessThan(FEW);

    second.logs.splice(1);
    const heal = harness.api.faults.add({
      fault: { kind: "status", code: 403 },
      when: ({ method, path }) => method === "PATCH" && path.includes("/nodetwins/"),
    });
    for (const name of names) await harness.label(name, { "joulie.io/hw.cpu-cores": "512" });
    await harness.advance(130);
    expect((await second.series("write_errors_total")).length).toBeGreaterThan(0);
    expect(second.logs.length).toBeLessThan(FEW);
    heal();

    second.logs.splice(1);
    for (const name of names) await harness.label(name, { "joulie.io/managed": null });
    await harness.advance(130);
    expect(await harness.findTwin("node-59")).toBeUndefined();
    expect(second.logs.length).toBeLessThan(FEW);
    await harness.end();
  });

  it("X-61 the extender logs no line per node or per request", async () => {
    const harness = new ExtenderHarness();
    for (const name of names) {
      await harness.createNode(name);
      await harness.twin(name, calmTwinStatus);
    }
    const extender = await harness.start();
    for (let round = 0; round < 20; round++) {
      await extender.filter(podOfClass("performance"), names);
      await extender.scores(podOfClass("standard"), names);
    }
    for (const name of names) await harness.twin(name, { ...calmTwinStatus, schedulableClass: "eco" });
    await harness.until(async () => (await extender.filter(podOfClass("performance"), names)).NodeNames?.length === 0);
    expect(extender.logs.length).toBeLessThan(FEW);
    await harness.end();
  });

  it("X-61 a pool agent logs no line per node, whether the nodes respond or not", async () => {
    const harness = new AgentTestHarness();
    const service = new FakeControlService();
    await service.listen();
    const http = (endpoint: string) => ({ type: "http", http: { endpoint, timeoutSeconds: 2 } });
    await harness.route("all", {
      target: { scope: "cluster" },
      sources: { cpu: http(service.telemetry) },
      controls: { cpu: http(service.control) },
    });
    for (const name of names) {
      await harness.createNode(name);
      await harness.target(name, { cpu: { packagePowerCapWatts: 240 } });
      service.node(name).power = 200;
    }
    const agent = harness.start({ AGENT_MODE: "pool" });
    await harness.until(() => names.every((name) => service.nodes.get(name)?.capWatts === 240));
    expect(agent.logs.length).toBeLessThan(FEW);
    agent.logs.splice(1);
    for (const name of names) {
      service.silent.add(name);
      await harness.target(name, { cpu: { packagePowerCapWatts: 200 } });
    }
    const failed = async () => (await agent.series("joulie_reconcile_errors_total")).length;
    await harness.until(async () => (await failed()) === NODES);
    expect(agent.logs.length).toBeLessThan(FEW);
    service.silent.clear();
    await harness.close();
    await service.close();
  });
});
