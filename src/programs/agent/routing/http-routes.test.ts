import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { resources } from "../../../platform/kube/index.ts";
import { AgentTestHarness } from "../testing/agent-test-harness.ts";
import { FakeControlService } from "../testing/fake-control-service.ts";

let harness: AgentTestHarness;
let service: FakeControlService;
beforeEach(async () => {
  harness = new AgentTestHarness();
  service = new FakeControlService();
  await Promise.all([service.listen(), harness.createNode("a")]);
});
afterEach(async () => {
  await harness.close();
  await service.close();
});

const route = (mode = "auto", more: Readonly<Record<string, unknown>> = {}) => ({
  target: { scope: "node", nodeName: "a" },
  sources: { cpu: { type: "http", http: { endpoint: service.telemetry } } },
  controls: { cpu: { type: "http", http: { endpoint: service.control, mode } } },
  ...more,
});
/** Starts an agent that may call loopback endpoints of profiles. */
const start = (variables: Readonly<Record<string, string>> = {}) =>
  harness.start({ TELEMETRY_ALLOWED_ENDPOINTS: "loopback", ...variables });
const statusWith = async (result: string) => {
  await harness.until(async () => (await harness.controlStatus())?.cpu?.result === result);
  return (await harness.controlStatus())?.cpu;
};
const commanded = async (count: number) => harness.until(() => service.commands.length >= count);

describe("control over HTTP", () => {
  it("AGT-05 AGT-12 AGT-15 AGT-23 X-10 X-17 sends caps as rapl.set_power_cap_watts and reports the result in the status", async () => {
    Object.assign(service.node("a"), { power: 300, gpuPower: 90 });
    await harness.route("own", route());
    await harness.target("a", { cpu: { packagePowerCapWatts: 240 } });
    start();
    expect(await statusWith("applied")).toMatchObject({ backend: "http", observedPowerWatts: 300 });
    expect(service.commandTexts).toEqual(["a rapl.set_power_cap_watts 240"]);
    expect(service.commands[0]).toMatchObject({
      path: "/control/a",
      node: "a",
      ts: expect.stringMatching(/^2030-01-01T/),
    });
    expect(harness.machine.writes).toEqual([]);
    await harness.until(async () => (await harness.profile("own")).status?.control !== undefined);
    expect((await harness.profile("own")).status?.control?.cpu).toMatchObject({
      backend: "http",
      result: "applied",
      observed: { powerWatts: 300, capWatts: 240 },
    });
  });

  it("X-18 AGT-12 reports a 200 response with result blocked as blocked, and one without a result as an error", async () => {
    service.answers.set("rapl.set_power_cap_watts", { body: { result: "blocked", message: "not on this model" } });
    await harness.route("own", route("rapl"));
    await harness.target("a", { cpu: { packagePowerCapWatts: 240 } });
    start();
    expect((await statusWith("blocked"))?.message).toContain("not on this model");
    service.answers.set("rapl.set_power_cap_watts", { body: "ok" });
    expect((await statusWith("error"))?.message).toContain("the control service returned 200");
    expect((await harness.events()).map(({ reason }) => reason).toSorted()).toEqual([
      "ControlBlocked",
      "ControlFailed",
    ]);
  });

  it("AGT-12 AGT-48 reports a service that does not answer as an error in every mode", async () => {
    const routes = { auto: route("auto"), rapl: route("rapl") };
    const { port } = new URL(service.control.replace("{node}", "a"));
    await service.close();
    await harness.target("a", { cpu: { packagePowerCapWatts: 240 } });
    for (const mode of ["auto", "rapl"] as const) {
      await harness.route("own", routes[mode]);
      if (mode === "auto") start();
      await harness.advance(60);
      expect((await statusWith("error"))?.message).toContain(`127.0.0.1:${port}/control/a: no response`);
    }
    expect((await harness.events()).map(({ reason }) => reason)).toEqual(["ControlFailed"]);
  });

  it("AGT-37 X-49 throttles a service without RAPL towards the cap by its telemetry, and restores it at the end", async () => {
    service.answers.set("rapl.set_power_cap_watts", { body: { result: "blocked", message: "no RAPL here" } });
    service.node("a").power = 700;
    await harness.route("own", route());
    await harness.target("a", { cpu: { packagePowerCapWatts: 200 } });
    const agent = start();
    await harness.until(() => service.commandTexts.includes("a dvfs.set_throttle_pct 10"));
    expect(await statusWith("applied")).toMatchObject({ backend: "http" });
    // The service restarts without a throttle: the throttle that it reports counts.
    service.node("a").throttlePct = 0;
    const before = service.commands.length;
    await harness.until(() => service.commandTexts.slice(before).includes("a dvfs.set_throttle_pct 10"));
    await harness.target("a", {});
    await harness.until(() => service.commandTexts.at(-1) === "a dvfs.set_throttle_pct 0");
    await harness.target("a", { cpu: { packagePowerCapPctOfMax: 60 } });
    await agent.stop();
    expect(service.node("a").throttlePct).toBe(0);
  });

  it("restores the cap that telemetry reported before, else the catalogue's maximum", async () => {
    service.node("a").capWatts = 1200;
    await harness.route("own", route());
    await harness.target("a", { cpu: { packagePowerCapWatts: 240 } });
    const agent = start();
    await commanded(1);
    await statusWith("applied");
    await agent.stop();
    expect(service.commandTexts).toEqual(["a rapl.set_power_cap_watts 240", "a rapl.set_power_cap_watts 1200"]);
  });

  it("X-88 clamps 0.5 % (a typo for 50 %) to 25 % of the maximum over HTTP too", async () => {
    await harness.label("a", { "joulie.io/hw.cpu-model": "intel-xeon-gold-6430" });
    harness.machine.hardware = {};
    await harness.route("own", route());
    await harness.target("a", { cpu: { packagePowerCapPctOfMax: 0.5 } });
    start();
    const { message } = (await statusWith("applied")) ?? {};
    expect(message).toContain("0.5 % (1.35 W) requested, clamped to 67.5 W: 25 % of its maximum");
    expect(service.commandTexts).toEqual(["a rapl.set_power_cap_watts 67.5"]);
  });

  it("sends the cap again when the service has lost it", async () => {
    await harness.route("own", route());
    await harness.target("a", { cpu: { packagePowerCapWatts: 240 } });
    start();
    await commanded(1);
    await harness.advance(60);
    expect(service.commands).toHaveLength(1);
    service.node("a").capWatts = 400;
    await commanded(2);
    expect(service.commandTexts.at(-1)).toBe("a rapl.set_power_cap_watts 240");
  });

  it("AGT-43 AGT-44 X-51 sends GPU caps as gpu.set_power_cap_watts, percentages of the catalogue's maximum", async () => {
    await harness.label("a", { "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "joulie.io/hw.gpu-count": "8" });
    const gpu = { type: "http", http: { endpoint: service.control } };
    await harness.route("own", { ...route(), controls: { gpu } });
    harness.machine.hardware = {};
    await harness.target("a", { gpu: { powerCap: { capPctOfMax: 60 } } });
    const agent = start();
    await commanded(1);
    expect(service.commandTexts).toEqual(["a gpu.set_power_cap_watts 420"]);
    await harness.until(async () => (await harness.profile("own")).status?.control?.gpu?.result === "applied");
    service.answers.set("gpu.set_power_cap_watts", { body: { result: "error", message: "driver gone" } });
    await harness.target("a", { gpu: { powerCap: { capPctOfMax: 50 } } });
    await harness.until(async () => (await harness.profile("own")).status?.control?.gpu?.result === "error");
    service.answers.clear();
    await harness.target("a", {});
    await harness.until(async () => (await harness.profile("own")).status?.control?.gpu?.result === "none");
    expect(service.commandTexts.at(-1)).toBe("a gpu.set_power_cap_watts 700");
    await agent.stop();
  });

  it("X-38 sends nothing with control none", async () => {
    await harness.target("a", { cpu: { packagePowerCapWatts: 240 } });
    await harness.route("own", { target: { scope: "node", nodeName: "a" }, controls: { cpu: { type: "none" } } });
    start();
    expect(await statusWith("none")).toMatchObject({ backend: "none", message: "CPU control is off" });
    expect(harness.machine.writes).toEqual([]);
  });

  it("AGT-05 restores limits through the old route when the route changes", async () => {
    await harness.target("a", { cpu: { packagePowerCapWatts: 240 } });
    start();
    await harness.advance(2);
    expect(harness.machine.rapl.limits.get("package-0")).toBe(240);
    await harness.route("own", route());
    await commanded(1);
    await statusWith("applied");
    expect(Object.fromEntries(harness.machine.rapl.limits)).toEqual({ "package-0": 350, "package-1": 350 });
    const second = new FakeControlService();
    await second.listen();
    const elsewhere = { type: "http", http: { endpoint: second.control } };
    await harness.route("own", { target: { scope: "node", nodeName: "a" }, controls: { cpu: elsewhere } });
    await harness.until(() => second.commands.length > 0);
    expect(service.commandTexts.at(-1)).toMatch(/^a rapl.set_power_cap_watts \d+$/);
    expect(service.node("a").capWatts).toBeGreaterThan(240);
    expect(second.commandTexts).toEqual(["a rapl.set_power_cap_watts 240"]);
    await harness.user.delete(resources.telemetryProfiles, { name: "own" });
    await harness.until(() => harness.machine.rapl.limits.get("package-0") === 240);
    expect(second.node("a").capWatts).toBeGreaterThan(240);
    await second.close();
  });

  it("X-91 journals a new endpoint separately while the old one is dead, and restores both", async () => {
    await harness.target("a", { cpu: { packagePowerCapWatts: 240 } });
    await harness.route("own", route());
    const agent = start();
    await commanded(1);
    await statusWith("applied");
    // An answer of the service itself; after one of a gateway the command might still be carried out.
    service.answers.set("rapl.set_power_cap_watts", { status: 503, body: { result: "error", message: "down" } });
    const second = new FakeControlService();
    await second.listen();
    const elsewhere = { type: "http", http: { endpoint: second.control } };
    await harness.route("own", { target: { scope: "node", nodeName: "a" }, controls: { cpu: elsewhere } });
    await harness.until(() => second.node("a").capWatts === 240);
    await harness.until(() => harness.disk.boards.length === 2);
    expect((await statusWith("error"))?.message).toContain("the limit set on packages by http could not be restored");
    // During the backoff the message contains the problem once.
    await harness.advanceInSteps(100);
    expect((await harness.controlStatus())?.cpu?.message?.split("could not be restored")).toHaveLength(2);
    service.answers.clear();
    await agent.stop();
    for (const one of [service, second]) expect(one.node("a").capWatts).toBeGreaterThan(240);
    expect(harness.disk.boards).toEqual([]);
    await second.close();
  });

  it("X-91 does the same for a throttle", async () => {
    await harness.route("own", route("dvfs"));
    await harness.target("a", { cpu: { packagePowerCapPctOfMax: 60 } });
    const agent = start();
    await harness.until(() => service.node("a").throttlePct === 40);
    await statusWith("applied");
    service.answers.set("dvfs.set_throttle_pct", { status: 503, body: "down" });
    const second = new FakeControlService();
    await second.listen();
    const elsewhere = { type: "http", http: { endpoint: second.control, mode: "dvfs" } };
    await harness.route("own", { target: { scope: "node", nodeName: "a" }, controls: { cpu: elsewhere } });
    await harness.until(() => second.node("a").throttlePct === 40);
    service.answers.clear();
    await agent.stop();
    expect([service, second].map((one) => one.node("a").throttlePct)).toEqual([0, 0]);
    await second.close();
  });

  it("X-59 X-56 sends the throttle of an earlier run exactly once more, because it may never have arrived", async () => {
    const silent = { ...route("dvfs"), sources: { cpu: { type: "none" } } };
    await harness.route("own", silent);
    await harness.target("a", { cpu: { packagePowerCapPctOfMax: 60 } });
    const agent = start({ RESTORE_ON_EXIT: "false" });
    await harness.until(() => service.node("a").throttlePct === 40);
    await statusWith("applied");
    await agent.stop();
    service.node("a").throttlePct = 0;
    start();
    await harness.until(() => service.node("a").throttlePct === 40);
    const sent = service.commands.length;
    await harness.advanceInSteps(50);
    expect(service.commands).toHaveLength(sent);
  });

  it("sends the token and follows no redirect", async () => {
    const elsewhere = new FakeControlService();
    await elsewhere.listen();
    service.answers.set("rapl.set_power_cap_watts", {
      status: 307,
      body: {},
      location: elsewhere.control.replace("{node}", "a"),
    });
    await harness.route("own", route("rapl"));
    await harness.target("a", { cpu: { packagePowerCapWatts: 240 } });
    start({ ...(await token()), TELEMETRY_ALLOWED_ENDPOINTS: service.origin });
    expect((await statusWith("error"))?.message).toContain("redirects are not followed");
    expect(service.authorizations).toEqual(new Set(["Bearer s3cret"]));
    expect(elsewhere.requests).toEqual([]);
    await elsewhere.close();
  });

  it("X-09 queries Prometheus for this node and regulates by its sample", async () => {
    service.node("prometheus").power = 700;
    const query = 'sum(rate(kepler_node_cpu_joules_total{node_name="{node}"}[2m]))';
    const cpu = { type: "prometheus", prometheus: { endpoint: service.prometheus, query } };
    await harness.route("own", { target: { scope: "node", nodeName: "a" }, sources: { cpu } });
    harness.machine.rapl.absent = "no RAPL";
    await harness.target("a", { cpu: { packagePowerCapWatts: 200 } });
    start();
    await harness.until(() => harness.machine.throttle.writes.includes("throttle 10"));
    expect(service.requests).toContain('sum(rate(kepler_node_cpu_joules_total{node_name="a"}[2m]))');
    expect((await harness.controlStatus())?.cpu?.observedPowerWatts).toBe(700);
  });
});

describe("an endpoint in a TelemetryProfile", () => {
  it("is blocked if no variable allows it, with its origin and the variable to set", async () => {
    service.node("a").power = 300;
    await harness.route("own", route("rapl"));
    await harness.target("a", { cpu: { packagePowerCapWatts: 240 } });
    harness.start(await token());
    const status = await statusWith("blocked");
    expect(status?.message).toContain(`${service.origin} is not an allowed endpoint`);
    expect(status?.message).toContain("TELEMETRY_ALLOWED_ENDPOINTS");
    expect(status?.observedPowerWatts).toBeUndefined();
    await harness.until(async () => (await harness.profile("own")).status?.control?.cpu?.result === "blocked");
    await harness.advance(60);
    expect(service.requests).toEqual([]);
    expect(harness.machine.writes).toEqual([]);
  });

  it("that only serves readings and is not allowed appears in the message of the controlled device", async () => {
    await harness.route("own", { ...route(), controls: undefined });
    await harness.target("a", { cpu: { packagePowerCapWatts: 240 } });
    harness.start(await token());
    expect((await statusWith("applied"))?.message).toContain("TELEMETRY_ALLOWED_ENDPOINTS");
    expect(service.requests).toEqual([]);
  });

  it("gets the token only if a variable names its origin, not if a CIDR or loopback allows it", async () => {
    const cpu = { type: "prometheus", prometheus: { endpoint: service.prometheus, query: "up" } };
    await harness.route("own", { ...route("rapl"), sources: { cpu } });
    await harness.target("a", { cpu: { packagePowerCapWatts: 240 } });
    const first = start({ ...(await token()), TELEMETRY_ALLOWED_ENDPOINTS: "127.0.0.0/8" });
    await statusWith("applied");
    await harness.until(() => service.requests.includes("up"));
    expect(service.authorizations).toEqual(new Set([undefined]));
    await first.stop();
    service.authorizations.clear();
    start({ ...(await token()), TELEMETRY_CPU_HTTP_ENDPOINT: service.telemetry });
    await harness.until(() => service.authorizations.has("Bearer s3cret"));
    await harness.until(() => service.requests.filter((one) => one === "up").length > 2);
    expect(service.authorizations).toEqual(new Set(["Bearer s3cret"]));
  });

  it("gets no token over http:// unless ALLOW_INSECURE_TOKEN is true", async () => {
    const endpoint = "http://service.invalid/{node}";
    const controls = { cpu: { type: "http", http: { endpoint, mode: "rapl" } } };
    await harness.route("own", { target: { scope: "node", nodeName: "a" }, controls });
    await harness.target("a", { cpu: { packagePowerCapWatts: 240 } });
    const variables = { ...(await token()), TELEMETRY_ALLOWED_ENDPOINTS: "http://service.invalid" };
    const first = harness.start(variables);
    expect((await statusWith("blocked"))?.message).toContain("set ALLOW_INSECURE_TOKEN to true");
    await first.stop();
    harness.start({ ...variables, ALLOW_INSECURE_TOKEN: "true" });
    expect((await statusWith("error"))?.message).toContain("service.invalid/a: no response");
  });

  it("is checked after {node} is filled in, so each node may call only its own host", async () => {
    const endpoint = service.control.replace("127.0.0.1", "{node}");
    const controls = { cpu: { type: "http", http: { endpoint } } };
    await harness.createNode("localhost");
    await harness.createNode("evil");
    for (const nodeName of ["localhost", "evil"]) {
      await harness.route(nodeName, { target: { scope: "node", nodeName }, controls });
      await harness.target(nodeName, { cpu: { packagePowerCapWatts: 240 } });
    }
    harness.start({
      AGENT_MODE: "pool",
      NODE_NAME: "",
      TELEMETRY_ALLOWED_ENDPOINTS: service.origin.replace("127.0.0.1", "localhost"),
    });
    const result = async (node: string) => (await harness.profile(node)).status?.control?.cpu;
    await harness.until(async () => (await result("evil")) !== undefined);
    expect(await result("evil")).toMatchObject({ result: "blocked", message: expect.stringContaining("http://evil:") });
    await harness.until(async () => (await result("localhost"))?.result === "applied");
  });

  it("is not called for a restore if it is no longer allowed", async () => {
    await harness.route("own", route("rapl"));
    await harness.target("a", { cpu: { packagePowerCapWatts: 240 } });
    const first = start({ RESTORE_ON_EXIT: "false" });
    await statusWith("applied");
    await first.stop();
    const asked = service.requests.length;
    await harness.user.delete(resources.telemetryProfiles, { name: "own" });
    harness.start(await token());
    await harness.until(
      async () => (await harness.controlStatus())?.cpu?.message?.includes("TELEMETRY_ALLOWED_ENDPOINTS") === true,
    );
    expect((await harness.controlStatus())?.cpu?.message).toContain("could not be restored");
    expect(service.requests).toHaveLength(asked);
  });

  it("leaks nothing of its response into status, events and logs except a bounded message", async () => {
    const secret = "root-password-of-an-internal-service";
    const escape = `\u001b[2J\u0085\u202e\nline`;
    await harness.route("own", route("rapl"));
    await harness.target("a", { cpu: { packagePowerCapWatts: 240 } });
    const agent = start();
    service.answers.set("rapl.set_power_cap_watts", { status: 500, body: { result: secret, message: secret } });
    await statusWith("error");
    expect((await harness.controlStatus())?.cpu?.message).toContain("the control service returned 500");
    const words = `${escape}${"x".repeat(5000)}`;
    service.answers.set("rapl.set_power_cap_watts", { body: { result: "blocked", message: words } });
    const { message = "" } = (await statusWith("blocked")) ?? {};
    expect(message).toMatch(/\[2J linex{20}/);
    expect(message.length).toBeLessThan(500);
    expect(message).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    await agent.stop();
    const everything = JSON.stringify([agent.logs, agent.writes, await harness.events()]);
    expect(everything).toContain("the control service returned 500");
    expect(everything).not.toContain(secret);
  });
});

/** A file with a token, removed after the test. */
async function token(): Promise<Readonly<Record<string, string>>> {
  const folder = await mkdtemp(join(tmpdir(), "joulie-agent-"));
  onTestFinished(async () => rm(folder, { recursive: true }));
  await writeFile(join(folder, "token"), "s3cret\n");
  return { TELEMETRY_HTTP_TOKEN_FILE: join(folder, "token") };
}

describe("a command that got no answer", () => {
  /** An agent whose eco command is held by the service. */
  const untilTimeout = async () => {
    Object.assign(service.node("a"), { power: 300, capWatts: 1200 });
    await harness.route("own", route("rapl"));
    await harness.target("a", { cpu: { packagePowerCapWatts: 240 } });
    service.isHolding = true;
    const agent = start();
    await harness.until(() => service.held.length > 0);
    expect((await statusWith("error"))?.message).toContain("no response");
    service.isHolding = false;
    return agent;
  };
  const isLifted = () => service.commandTexts.at(-1) === "a rapl.set_power_cap_watts 1200";
  /** And a newer target without a cap. */
  const raiseAfterTimeout = async () => {
    await untilTimeout();
    await harness.target("a", { profile: "performance" });
    await harness.until(isLifted);
  };
  const isUnsettled = async () =>
    (await harness.controlStatus())?.cpu?.message?.includes("may still lower it") === true;
  const isConfirmed = async () => {
    const { cpu, observedGeneration } = (await harness.controlStatus()) ?? {};
    return observedGeneration === 2 && cpu?.result === "none";
  };

  it("X-123 may be carried out late: the cap is lifted again at each tick, and the agent does not confirm meanwhile", async () => {
    await raiseAfterTimeout();
    await harness.until(isUnsettled);
    expect(await isConfirmed()).toBe(false);
    service.carryOutHeld();
    expect(service.node("a").capWatts).toBe(240);
    await harness.until(() => service.node("a").capWatts === 1200);
    expect(await isConfirmed()).toBe(false);
    await harness.advanceInSteps(100);
    await harness.until(isConfirmed);
    const sent = service.commands.length;
    await harness.advanceInSteps(30);
    expect(service.commands).toHaveLength(sent);
  });

  it.each([
    ["the route is gone", async () => harness.user.delete(resources.telemetryProfiles, { name: "own" })],
    [
      "the route has another timeout",
      async () => {
        const { controls, ...rest } = route("rapl");
        const cpu = { ...controls.cpu, http: { ...controls.cpu.http, timeoutSeconds: 3 } };
        await harness.route("own", { ...rest, controls: { ...controls, cpu } });
        await harness.target("a", { profile: "performance" });
      },
    ],
  ])("X-123 may be carried out late although %s", async (_, change) => {
    await untilTimeout();
    await change();
    await harness.until(isUnsettled);
    service.carryOutHeld();
    expect(service.node("a").capWatts).toBe(240);
    await harness.until(() => service.node("a").capWatts === 1200);
    expect(harness.disk.boards).toContain("packages");
    await harness.advanceInSteps(100);
    await harness.until(() => !harness.disk.boards.includes("packages"));
  });

  it.each(["rapl", "auto"])(
    "X-123 may be carried out late although the caps of performance are a limit as well, in mode %s",
    async (mode) => {
      Object.assign(service.node("a"), { power: 300, capWatts: 1200 });
      await harness.route("own", route(mode));
      const performance = { profile: "performance", cpu: { packagePowerCapWatts: 400 } };
      await harness.target("a", performance);
      start();
      await statusWith("applied");
      service.isHolding = true;
      await harness.target("a", { cpu: { packagePowerCapWatts: 240 } });
      await harness.until(() => service.held.length > 0);
      await harness.advance(3);
      service.isHolding = false;
      const sent = service.commands.length;
      await harness.target("a", performance);
      await harness.until(() => service.commands.slice(sent).some(({ capWatts }) => capWatts === 400));
      await harness.until(isUnsettled);
      const isConfirmed = async () => {
        const { cpu, observedGeneration } = (await harness.controlStatus()) ?? {};
        return observedGeneration === 3 && cpu?.result === "applied";
      };
      expect(await isConfirmed()).toBe(false);
      service.carryOutHeld();
      expect(service.node("a").capWatts).toBe(240);
      await harness.until(() => service.node("a").capWatts === 400);
      await harness.advanceInSteps(100);
      await harness.until(isConfirmed);
      expect(service.node("a").capWatts).toBe(400);
    },
  );

  it("X-123 stays in the journal if the agent stops, so that the next one lifts it again", async () => {
    const agent = await untilTimeout();
    await agent.stop();
    expect(isLifted()).toBe(true);
    service.carryOutHeld();
    expect(harness.disk.boards).toEqual(["packages"]);
    await harness.removeTarget("a");
    start();
    await harness.until(() => service.node("a").capWatts === 1200);
    await harness.until(() => harness.disk.boards.length === 0);
  });

  it("X-123 is rejected by a service that keeps the order, so that the lift counts at once", async () => {
    service.isOrdered = true;
    await raiseAfterTimeout();
    await harness.until(isConfirmed);
    const sent = service.commands.length;
    service.carryOutHeld();
    expect(service.node("a").capWatts).toBe(1200);
    await harness.advanceInSteps(30);
    expect(service.commands).toHaveLength(sent);
  });
});

describe("two TelemetryProfiles for one node", () => {
  it("uses the older one and marks the newer one as superseded until the older one is deleted", async () => {
    await harness.route("first", route());
    await harness.advance(2);
    await harness.route("second", { target: { scope: "node", nodeName: "a" }, controls: { cpu: { type: "none" } } });
    await harness.target("a", { cpu: { packagePowerCapWatts: 240 } });
    start();
    await commanded(1);
    await harness.until(async () => (await harness.profile("second")).status?.conditions !== undefined);
    expect((await harness.profile("second")).status?.conditions).toMatchObject([
      { type: "Superseded", status: "True", reason: "OlderProfile", message: expect.stringContaining("first") },
    ]);
    await harness.user.delete(resources.telemetryProfiles, { name: "first" });
    await harness.until(async () => (await harness.profile("second")).status?.control?.cpu?.result === "none");
    expect((await harness.profile("second")).status?.conditions).toBeUndefined();
  });
});
