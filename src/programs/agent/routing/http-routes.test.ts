import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { resources } from "../../../platform/kube/index.ts";
import { Trial } from "../testing/agent-test-harness.ts";
import { ControlService } from "../testing/fake-control-service.ts";

let trial: Trial;
let service: ControlService;
beforeEach(async () => {
  trial = new Trial();
  service = new ControlService();
  await Promise.all([service.listen(), trial.createNode("a")]);
});
afterEach(async () => {
  await trial.end();
  await service.close();
});

const route = (mode = "auto", more: Readonly<Record<string, unknown>> = {}) => ({
  target: { scope: "node", nodeName: "a" },
  sources: { cpu: { type: "http", http: { endpoint: service.telemetry } } },
  controls: { cpu: { type: "http", http: { endpoint: service.control, mode } } },
  ...more,
});
/** Endpoints of profiles are called where a variable allows them. */
const start = (variables: Readonly<Record<string, string>> = {}) =>
  trial.start({ TELEMETRY_ALLOWED_ENDPOINTS: "loopback", ...variables });
const told = async (result: string) => {
  await trial.until(async () => (await trial.told())?.cpu?.result === result);
  return (await trial.told())?.cpu;
};
const commanded = async (count: number) => trial.until(() => service.commands.length >= count);

describe("control over HTTP", () => {
  it("AGT-05 AGT-12 AGT-15 AGT-23 X-10 X-17 caps go out as rapl.set_power_cap_watts, and status says how it went", async () => {
    Object.assign(service.node("a"), { power: 300, gpuPower: 90 });
    await trial.route("own", route());
    await trial.target("a", { cpu: { packagePowerCapWatts: 240 } });
    start();
    expect(await told("applied")).toMatchObject({ backend: "http", observedPowerWatts: 300 });
    expect(service.told).toEqual(["a rapl.set_power_cap_watts 240"]);
    expect(service.commands[0]).toMatchObject({
      path: "/control/a",
      node: "a",
      ts: expect.stringMatching(/^2030-01-01T/),
    });
    expect(trial.machine.writes).toEqual([]);
    await trial.until(async () => (await trial.profile("own")).status?.control !== undefined);
    expect((await trial.profile("own")).status?.control?.cpu).toMatchObject({
      backend: "http",
      result: "applied",
      observed: { powerWatts: 300, capWatts: 240 },
    });
  });

  it("X-18 AGT-12 a 200 with blocked in it is blocked, and an answer without a result is an error", async () => {
    service.answers.set("rapl.set_power_cap_watts", { body: { result: "blocked", message: "not on this model" } });
    await trial.route("own", route("rapl"));
    await trial.target("a", { cpu: { packagePowerCapWatts: 240 } });
    start();
    expect((await told("blocked"))?.message).toContain("not on this model");
    service.answers.set("rapl.set_power_cap_watts", { body: "ok" });
    expect((await told("error"))?.message).toContain("the control service answered 200");
    expect((await trial.events()).map(({ reason }) => reason).toSorted()).toEqual(["ControlBlocked", "ControlFailed"]);
  });

  it("AGT-12 AGT-48 a service that does not answer has failed, whatever the mode: an error, and none is missing", async () => {
    const routes = { auto: route("auto"), rapl: route("rapl") };
    const { port } = new URL(service.control.replace("{node}", "a"));
    await service.close();
    await trial.target("a", { cpu: { packagePowerCapWatts: 240 } });
    for (const mode of ["auto", "rapl"] as const) {
      await trial.route("own", routes[mode]);
      if (mode === "auto") start();
      await trial.pass(60);
      expect((await told("error"))?.message).toContain(`127.0.0.1:${port}/control/a: no answer`);
    }
    expect((await trial.events()).map(({ reason }) => reason)).toEqual(["ControlFailed"]);
  });

  it("AGT-37 X-49 a service without RAPL is throttled towards the cap by its own telemetry, and restored at the end", async () => {
    service.answers.set("rapl.set_power_cap_watts", { body: { result: "blocked", message: "no RAPL here" } });
    service.node("a").power = 700;
    await trial.route("own", route());
    await trial.target("a", { cpu: { packagePowerCapWatts: 200 } });
    const agent = start();
    await trial.until(() => service.told.includes("a dvfs.set_throttle_pct 10"));
    expect(await told("applied")).toMatchObject({ backend: "http" });
    // It comes back empty after a restart of its own: what it says of its throttle counts.
    service.node("a").throttlePct = 0;
    const before = service.commands.length;
    await trial.until(() => service.told.slice(before).includes("a dvfs.set_throttle_pct 10"));
    await trial.target("a", {});
    await trial.until(() => service.told.at(-1) === "a dvfs.set_throttle_pct 0");
    await trial.target("a", { cpu: { packagePowerCapPctOfMax: 60 } });
    await agent.stop();
    expect(service.node("a").throttlePct).toBe(0);
  });

  it("restores a cap to the most that is known: what telemetry said before, or the catalogue's", async () => {
    service.node("a").capWatts = 1200;
    await trial.route("own", route());
    await trial.target("a", { cpu: { packagePowerCapWatts: 240 } });
    const agent = start();
    await commanded(1);
    await told("applied");
    await agent.stop();
    expect(service.told).toEqual(["a rapl.set_power_cap_watts 240", "a rapl.set_power_cap_watts 1200"]);
  });

  it("X-88 0.5 % typed for 50 % stops at a quarter of the maximum over HTTP, too", async () => {
    await trial.label("a", { "joulie.io/hw.cpu-model": "intel-xeon-gold-6430" });
    trial.machine.hardware = {};
    await trial.route("own", route());
    await trial.target("a", { cpu: { packagePowerCapPctOfMax: 0.5 } });
    start();
    const { message } = (await told("applied")) ?? {};
    expect(message).toContain("0.5 % (1.35 W) requested, clamped to 67.5 W: 25 % of its maximum");
    expect(service.told).toEqual(["a rapl.set_power_cap_watts 67.5"]);
  });

  it("sets it again when the service forgot it", async () => {
    await trial.route("own", route());
    await trial.target("a", { cpu: { packagePowerCapWatts: 240 } });
    start();
    await commanded(1);
    await trial.pass(60);
    expect(service.commands).toHaveLength(1);
    service.node("a").capWatts = 400;
    await commanded(2);
    expect(service.told.at(-1)).toBe("a rapl.set_power_cap_watts 240");
  });

  it("AGT-43 AGT-44 X-51 GPU caps go out as gpu.set_power_cap_watts; a share counts from what the catalogue knows of the model", async () => {
    await trial.label("a", { "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "joulie.io/hw.gpu-count": "8" });
    const gpu = { type: "http", http: { endpoint: service.control } };
    await trial.route("own", { ...route(), controls: { gpu } });
    trial.machine.hardware = {};
    await trial.target("a", { gpu: { powerCap: { capPctOfMax: 60 } } });
    const agent = start();
    await commanded(1);
    expect(service.told).toEqual(["a gpu.set_power_cap_watts 420"]);
    await trial.until(async () => (await trial.profile("own")).status?.control?.gpu?.result === "applied");
    service.answers.set("gpu.set_power_cap_watts", { body: { result: "error", message: "driver gone" } });
    await trial.target("a", { gpu: { powerCap: { capPctOfMax: 50 } } });
    await trial.until(async () => (await trial.profile("own")).status?.control?.gpu?.result === "error");
    service.answers.clear();
    await trial.target("a", {});
    await trial.until(async () => (await trial.profile("own")).status?.control?.gpu?.result === "none");
    expect(service.told.at(-1)).toBe("a gpu.set_power_cap_watts 700");
    await agent.stop();
  });

  it("X-38 none touches nothing, whatever is asked for", async () => {
    await trial.target("a", { cpu: { packagePowerCapWatts: 240 } });
    await trial.route("own", { target: { scope: "node", nodeName: "a" }, controls: { cpu: { type: "none" } } });
    start();
    expect(await told("none")).toMatchObject({ backend: "none", message: "CPU control is off" });
    expect(trial.machine.writes).toEqual([]);
  });

  it("AGT-05 another route while it runs: what the old one set is restored by the old one", async () => {
    await trial.target("a", { cpu: { packagePowerCapWatts: 240 } });
    start();
    await trial.pass(2);
    expect(trial.machine.rapl.limits.get("package-0")).toBe(240);
    await trial.route("own", route());
    await commanded(1);
    await told("applied");
    expect(Object.fromEntries(trial.machine.rapl.limits)).toEqual({ "package-0": 350, "package-1": 350 });
    const second = new ControlService();
    await second.listen();
    const elsewhere = { type: "http", http: { endpoint: second.control } };
    await trial.route("own", { target: { scope: "node", nodeName: "a" }, controls: { cpu: elsewhere } });
    await trial.until(() => second.commands.length > 0);
    expect(service.told.at(-1)).toMatch(/^a rapl.set_power_cap_watts \d+$/);
    expect(service.node("a").capWatts).toBeGreaterThan(240);
    expect(second.told).toEqual(["a rapl.set_power_cap_watts 240"]);
    await trial.hand.delete(resources.telemetryProfiles, { name: "own" });
    await trial.until(() => trial.machine.rapl.limits.get("package-0") === 240);
    expect(second.node("a").capWatts).toBeGreaterThan(240);
    await second.close();
  });

  it("X-91 another endpoint while the old one is dead: the new one has a way back of its own, and the old one gets its own", async () => {
    await trial.target("a", { cpu: { packagePowerCapWatts: 240 } });
    await trial.route("own", route());
    const agent = start();
    await commanded(1);
    await told("applied");
    service.answers.set("rapl.set_power_cap_watts", { status: 503, body: "down" });
    const second = new ControlService();
    await second.listen();
    const elsewhere = { type: "http", http: { endpoint: second.control } };
    await trial.route("own", { target: { scope: "node", nodeName: "a" }, controls: { cpu: elsewhere } });
    await trial.until(() => second.node("a").capWatts === 240);
    await trial.until(() => trial.disk.boards.length === 2);
    expect((await told("error"))?.message).toContain("what was set on packages by http could not be restored");
    // However long it rests between two tries, it is said once.
    await trial.passSlowly(100);
    expect((await trial.told())?.cpu?.message?.split("could not be restored")).toHaveLength(2);
    service.answers.clear();
    await agent.stop();
    for (const one of [service, second]) expect(one.node("a").capWatts).toBeGreaterThan(240);
    expect(trial.disk.boards).toEqual([]);
    await second.close();
  });

  it("X-91 another endpoint while the old one is dead: a throttle, too", async () => {
    await trial.route("own", route("dvfs"));
    await trial.target("a", { cpu: { packagePowerCapPctOfMax: 60 } });
    const agent = start();
    await trial.until(() => service.node("a").throttlePct === 40);
    await told("applied");
    service.answers.set("dvfs.set_throttle_pct", { status: 503, body: "down" });
    const second = new ControlService();
    await second.listen();
    const elsewhere = { type: "http", http: { endpoint: second.control, mode: "dvfs" } };
    await trial.route("own", { target: { scope: "node", nodeName: "a" }, controls: { cpu: elsewhere } });
    await trial.until(() => second.node("a").throttlePct === 40);
    service.answers.clear();
    await agent.stop();
    expect([service, second].map((one) => one.node("a").throttlePct)).toEqual([0, 0]);
    await second.close();
  });

  it("X-59 X-56 a throttle of an earlier run is sent once more, as nobody tells whether it ever arrived, and not again", async () => {
    const silent = { ...route("dvfs"), sources: { cpu: { type: "none" } } };
    await trial.route("own", silent);
    await trial.target("a", { cpu: { packagePowerCapPctOfMax: 60 } });
    const agent = start({ RESTORE_ON_EXIT: "false" });
    await trial.until(() => service.node("a").throttlePct === 40);
    await told("applied");
    await agent.stop();
    service.node("a").throttlePct = 0;
    start();
    await trial.until(() => service.node("a").throttlePct === 40);
    const sent = service.commands.length;
    await trial.passSlowly(50);
    expect(service.commands).toHaveLength(sent);
  });

  it("sends the token, trusts no redirect", async () => {
    const elsewhere = new ControlService();
    await elsewhere.listen();
    service.answers.set("rapl.set_power_cap_watts", {
      status: 307,
      body: {},
      location: elsewhere.control.replace("{node}", "a"),
    });
    await trial.route("own", route("rapl"));
    await trial.target("a", { cpu: { packagePowerCapWatts: 240 } });
    start({ ...(await token()), TELEMETRY_ALLOWED_ENDPOINTS: service.origin });
    expect((await told("error"))?.message).toContain("redirects are not followed");
    expect(service.authorizations).toEqual(new Set(["Bearer s3cret"]));
    expect(elsewhere.asked).toEqual([]);
    await elsewhere.close();
  });

  it("X-09 a prometheus source is asked about this node, and its one figure drives the loop", async () => {
    service.node("prometheus").power = 700;
    const query = 'sum(rate(kepler_node_cpu_joules_total{node_name="{node}"}[2m]))';
    const cpu = { type: "prometheus", prometheus: { endpoint: service.prometheus, query } };
    await trial.route("own", { target: { scope: "node", nodeName: "a" }, sources: { cpu } });
    trial.machine.rapl.absent = "no RAPL";
    await trial.target("a", { cpu: { packagePowerCapWatts: 200 } });
    start();
    await trial.until(() => trial.machine.throttle.writes.includes("throttle 10"));
    expect(service.asked).toContain('sum(rate(kepler_node_cpu_joules_total{node_name="a"}[2m]))');
    expect((await trial.told())?.cpu?.observedPowerWatts).toBe(700);
  });
});

describe("an endpoint that a TelemetryProfile names", () => {
  it("is not called where no variable allows it: blocked, with its origin and the variable to set", async () => {
    service.node("a").power = 300;
    await trial.route("own", route("rapl"));
    await trial.target("a", { cpu: { packagePowerCapWatts: 240 } });
    trial.start(await token());
    const status = await told("blocked");
    expect(status?.message).toContain(`${service.origin} is not an allowed endpoint`);
    expect(status?.message).toContain("TELEMETRY_ALLOWED_ENDPOINTS");
    expect(status?.observedPowerWatts).toBeUndefined();
    await trial.until(async () => (await trial.profile("own")).status?.control?.cpu?.result === "blocked");
    await trial.pass(60);
    expect(service.asked).toEqual([]);
    expect(trial.machine.writes).toEqual([]);
  });

  it("that only gives readings is told in the message of what is controlled without them", async () => {
    await trial.route("own", { ...route(), controls: undefined });
    await trial.target("a", { cpu: { packagePowerCapWatts: 240 } });
    trial.start(await token());
    expect((await told("applied"))?.message).toContain("TELEMETRY_ALLOWED_ENDPOINTS");
    expect(service.asked).toEqual([]);
  });

  it("gets no token though a CIDR or loopback allows it; its origin in a variable is what sends the token", async () => {
    const cpu = { type: "prometheus", prometheus: { endpoint: service.prometheus, query: "up" } };
    await trial.route("own", { ...route("rapl"), sources: { cpu } });
    await trial.target("a", { cpu: { packagePowerCapWatts: 240 } });
    const first = start({ ...(await token()), TELEMETRY_ALLOWED_ENDPOINTS: "127.0.0.0/8" });
    await told("applied");
    await trial.until(() => service.asked.includes("up"));
    expect(service.authorizations).toEqual(new Set([undefined]));
    await first.stop();
    service.authorizations.clear();
    start({ ...(await token()), TELEMETRY_CPU_HTTP_ENDPOINT: service.telemetry });
    await trial.until(() => service.authorizations.has("Bearer s3cret"));
    await trial.until(() => service.asked.filter((one) => one === "up").length > 2);
    expect(service.authorizations).toEqual(new Set(["Bearer s3cret"]));
  });

  it("gets no token over http:// unless TELEMETRY_ALLOW_INSECURE_TOKEN says so", async () => {
    const endpoint = "http://service.invalid/{node}";
    const controls = { cpu: { type: "http", http: { endpoint, mode: "rapl" } } };
    await trial.route("own", { target: { scope: "node", nodeName: "a" }, controls });
    await trial.target("a", { cpu: { packagePowerCapWatts: 240 } });
    const variables = { ...(await token()), TELEMETRY_ALLOWED_ENDPOINTS: "http://service.invalid" };
    const first = trial.start(variables);
    expect((await told("blocked"))?.message).toContain("set TELEMETRY_ALLOW_INSECURE_TOKEN to true");
    await first.stop();
    trial.start({ ...variables, TELEMETRY_ALLOW_INSECURE_TOKEN: "true" });
    expect((await told("error"))?.message).toContain("service.invalid/a: no answer");
  });

  it("is checked after {node} was filled in: a host is allowed for the node it is named after", async () => {
    const endpoint = service.control.replace("127.0.0.1", "{node}");
    const controls = { cpu: { type: "http", http: { endpoint } } };
    await trial.createNode("localhost");
    await trial.createNode("evil");
    for (const nodeName of ["localhost", "evil"]) {
      await trial.route(nodeName, { target: { scope: "node", nodeName }, controls });
      await trial.target(nodeName, { cpu: { packagePowerCapWatts: 240 } });
    }
    trial.start({
      AGENT_MODE: "pool",
      NODE_NAME: "",
      TELEMETRY_ALLOWED_ENDPOINTS: service.origin.replace("127.0.0.1", "localhost"),
    });
    const result = async (node: string) => (await trial.profile(node)).status?.control?.cpu;
    await trial.until(async () => (await result("evil")) !== undefined);
    expect(await result("evil")).toMatchObject({ result: "blocked", message: expect.stringContaining("http://evil:") });
    await trial.until(async () => (await result("localhost"))?.result === "applied");
  });

  it("that was allowed before is not called to restore what it set", async () => {
    await trial.route("own", route("rapl"));
    await trial.target("a", { cpu: { packagePowerCapWatts: 240 } });
    const first = start({ RESTORE_ON_EXIT: "false" });
    await told("applied");
    await first.stop();
    const asked = service.asked.length;
    await trial.hand.delete(resources.telemetryProfiles, { name: "own" });
    trial.start(await token());
    await trial.until(async () => (await trial.told())?.cpu?.message?.includes("TELEMETRY_ALLOWED_ENDPOINTS") === true);
    expect((await trial.told())?.cpu?.message).toContain("could not be restored");
    expect(service.asked).toHaveLength(asked);
  });

  it("leaks nothing of what it answers into status, events and logs, but a bounded message of a control service", async () => {
    const secret = "root-password-of-an-internal-service";
    const escape = `\u001b[2J\u0085\u202e\nline`;
    await trial.route("own", route("rapl"));
    await trial.target("a", { cpu: { packagePowerCapWatts: 240 } });
    const agent = start();
    service.answers.set("rapl.set_power_cap_watts", { status: 500, body: { result: secret, message: secret } });
    await told("error");
    expect((await trial.told())?.cpu?.message).toContain("the control service answered 500");
    const words = `${escape}${"x".repeat(5000)}`;
    service.answers.set("rapl.set_power_cap_watts", { body: { result: "blocked", message: words } });
    const { message = "" } = (await told("blocked")) ?? {};
    expect(message).toMatch(/\[2J linex{20}/);
    expect(message.length).toBeLessThan(500);
    expect(message).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    await agent.stop();
    const everything = JSON.stringify([agent.logs, agent.writes, await trial.events()]);
    expect(everything).toContain("the control service answered 500");
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

describe("two profiles for one node", () => {
  it("the oldest counts; the other says so in a condition, until it is the oldest", async () => {
    await trial.route("first", route());
    await trial.pass(2);
    await trial.route("second", { target: { scope: "node", nodeName: "a" }, controls: { cpu: { type: "none" } } });
    await trial.target("a", { cpu: { packagePowerCapWatts: 240 } });
    start();
    await commanded(1);
    await trial.until(async () => (await trial.profile("second")).status?.conditions !== undefined);
    expect((await trial.profile("second")).status?.conditions).toMatchObject([
      { type: "Superseded", status: "True", reason: "OlderProfile", message: expect.stringContaining("first") },
    ]);
    await trial.hand.delete(resources.telemetryProfiles, { name: "first" });
    await trial.until(async () => (await trial.profile("second")).status?.control?.cpu?.result === "none");
    expect((await trial.profile("second")).status?.conditions).toBeUndefined();
  });
});
