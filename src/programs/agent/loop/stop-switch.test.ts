import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { annotations } from "../../../core/api/index.ts";
import { resources } from "../../../platform/kube/index.ts";
import { AgentTestHarness } from "../testing/agent-test-harness.ts";
import { FakeControlService } from "../testing/fake-control-service.ts";

const eco = { cpu: { packagePowerCapPctOfMax: 60 } };
const stopped = "stopped by the annotation joulie.io/stop on namespace joulie-system";

describe("the stop annotation on the agent's namespace", () => {
  let harness: AgentTestHarness;
  beforeEach(async () => {
    harness = new AgentTestHarness();
    await harness.createNode("a");
    await harness.target("a", eco);
    await harness.user.create(resources.namespaces, { metadata: { name: "joulie-system" } });
    await harness.user.create(resources.namespaces, { metadata: { name: "other" } });
  });
  afterEach(async () => harness.close());

  const annotate = async (value: string | null, name = "joulie-system") =>
    harness.user.mergePatch(
      resources.namespaces,
      { name },
      { metadata: { annotations: { [annotations.stop]: value } } },
    );
  const limits = () => Object.fromEntries(harness.machine.rapl.limits);
  const capped = { "package-0": 210, "package-1": 210 };
  const original = { "package-0": 350, "package-1": 350 };

  it("X-101 restores all original limits within one tick, sets nothing, and continues when it is removed", async () => {
    harness.start();
    await harness.advance(2);
    expect(limits()).toEqual(capped);
    await annotate("true");
    await harness.advance(2);
    expect(limits()).toEqual(original);
    await harness.advance(1);
    expect(harness.disk.boards).toEqual([]);
    expect((await harness.controlStatus())?.cpu).toMatchObject({
      result: "none",
      message: expect.stringContaining(stopped),
    });
    await harness.target("a", { cpu: { packagePowerCapWatts: 120 } });
    await harness.advance(120);
    expect(limits()).toEqual(original);
    await annotate(null);
    await harness.advance(2);
    expect(limits()).toEqual({ "package-0": 120, "package-1": 120 });
  });

  it("X-101 applies at the start, before the first cap", async () => {
    await annotate("true");
    harness.start();
    await harness.advance(60);
    expect(harness.machine.rapl.writes).toEqual([]);
    expect((await harness.controlStatus())?.cpu?.message).toContain(stopped);
  });

  it.each([
    ["another value", "false", "joulie-system"],
    ["another namespace", "true", "other"],
  ])("ignores %s", async (_, value, namespace) => {
    await annotate(value, namespace);
    harness.start();
    await harness.advance(2);
    expect(limits()).toEqual(capped);
  });

  it("keeps the last known state while the API server is unreachable", async () => {
    harness.start();
    await harness.advance(2);
    await annotate("true");
    await harness.advance(2);
    harness.api.faults.add({ fault: { kind: "refused" }, when: ({ path }) => path.includes("/namespaces") });
    // The server ends watches after ten minutes at most.
    await harness.advance(1300);
    expect(limits()).toEqual(original);
  });

  it("sets caps without the right to read its namespace, and says in one line that there is no switch", async () => {
    harness.api.faults.add({
      fault: { kind: "status", code: 403 },
      when: ({ path }) => path.startsWith("/api/v1/namespaces?"),
    });
    const agent = harness.start();
    await harness.advance(120);
    expect(limits()).toEqual(capped);
    const lines = agent.logs.filter(({ msg }) => /stop/.test(msg));
    expect(lines.map(({ msg }) => msg)).toEqual([
      "may not read namespace joulie-system: its annotation joulie.io/stop has no effect",
    ]);
  });

  it("X-101 restores every node of a pool", async () => {
    const service = new FakeControlService();
    await service.listen();
    try {
      await harness.route("all", {
        target: { scope: "cluster" },
        sources: { cpu: { type: "http", http: { endpoint: service.telemetry } } },
        controls: { cpu: { type: "http", http: { endpoint: service.control } } },
      });
      await harness.createNode("b");
      for (const name of ["a", "b"]) {
        await harness.target(name, { cpu: { packagePowerCapWatts: 240 } });
        service.node(name).power = 200;
      }
      const agent = harness.start({ AGENT_MODE: "pool" });
      await harness.until(() => ["a", "b"].every((name) => service.nodes.get(name)?.capWatts === 240));
      await annotate("true");
      await harness.until(() => harness.disk.boards.length === 0);
      for (const name of ["a", "b"]) expect(service.nodes.get(name)?.capWatts).not.toBe(240);
      await harness.until(async () => (await harness.controlStatus("b"))?.cpu?.message?.includes(stopped) === true);
      await agent.stop();
    } finally {
      await service.close();
    }
  });
});
