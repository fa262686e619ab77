import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { resources } from "../../platform/kube/index.ts";
import { PowerSwitchError } from "../../platform/switch/index.ts";
import { releaseFromWake, testWake, wake } from "./requests.ts";
import { PowerTestHarness } from "./testing/power-test-harness.ts";

describe("requests to the power program", () => {
  let harness: PowerTestHarness;
  const timeout = milliseconds(3_600_000);
  beforeEach(async () => {
    harness = await PowerTestHarness.begin();
  });
  afterEach(async () => harness.end());
  const requested = <Result>(request: Promise<Result>) => {
    const state: { result?: Result; ended: boolean } = { ended: false };
    void request.then((result) => {
      state.result = result;
      state.ended = true;
    });
    return state;
  };

  it("SLP-16 `joulie wake --all` wakes every node and keeps it awake until it is released", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    harness.start();
    for (const name of ["a", "b"]) await harness.want(name, "off");
    for (const name of ["a", "b"]) await harness.untilPower(name, "off");
    const { user: client, clock } = harness;
    const steps: string[] = [];
    const request = requested(wake({ client, clock, timeout, onStep: (node, step) => steps.push(`${node} ${step}`) }));
    await harness.until(() => request.ended);
    expect(request.result).toBeUndefined();
    expect(steps.toSorted()).toEqual(["a awake", "a waking", "b awake", "b waking"]);
    expect([harness.machine("a").power, harness.machine("b").power]).toEqual(["on", "on"]);
    await harness.advance(900);
    expect(await harness.power("a")).toBe("on");
    expect(await releaseFromWake(client)).toEqual(["a", "b"]);
    await harness.untilPower("a", "off");
  });

  it("SLP-16 `joulie wake` asks for the other nodes even if one cannot be asked for", async () => {
    for (const name of ["a", "b"]) await harness.createNode(name);
    const { user: client, clock } = harness;
    await expect(wake({ client, clock, timeout, names: ["gone", "a", "b"] })).rejects.toThrow(
      /^node gone has no PowerEndpoint; kubectl get powerendpoints lists/,
    );
    for (const name of ["a", "b"])
      expect((await harness.endpoint(name)).metadata.annotations).toMatchObject({ "joulie.io/keep-awake": "true" });
  });

  it("SLP-16 `joulie wake` names the nodes that do not wake in time", async () => {
    await harness.createNode("a");
    await harness.endpointStatus("a", { lastSleep: { at: "2030-01-01T00:00:00Z", result: "succeeded" } });
    const { user: client, clock } = harness;
    const request = requested(wake({ client, clock, timeout: milliseconds(60_000) }));
    await harness.advance(70);
    expect(request.result).toBe("1 of 1 nodes are not awake after 1m: a");
  });

  it("SLP-16 `joulie wake` does not count a node as awake whose PowerEndpoint is deleted meanwhile", async () => {
    await harness.createNode("a");
    await harness.endpointStatus("a", { lastSleep: { at: "2030-01-01T00:00:00Z", result: "succeeded" } });
    const { user: client, clock } = harness;
    const request = requested(wake({ client, clock, timeout: milliseconds(60_000) }));
    await harness.advance(5);
    await client.delete(resources.powerEndpoints, { name: "a" });
    await harness.advance(70);
    expect(request.result).toBe("1 of 1 nodes are not awake after 1m: a");
  });

  it("SLP-16 releases nodes that have only the annotation joulie.io/wake", async () => {
    await harness.createNode("a");
    await harness.annotate("a", { "joulie.io/wake": "now" });
    await releaseFromWake(harness.user);
    expect((await harness.endpoint("a")).metadata.annotations ?? {}).toEqual({});
  });

  it("SLP-21 `joulie power test` reports the steps and the result", async () => {
    await harness.createNode("a", { proven: false });
    harness.start();
    const steps: string[] = [];
    const { user: client, clock } = harness;
    const request = requested(testWake({ client, clock, timeout, node: "a", onStep: (step) => steps.push(step) }));
    await harness.until(() => request.ended);
    expect(request.result).toMatchObject({ result: "proven", message: expect.stringMatching(/^awake after \d+ s$/) });
    expect(steps).toContain("ready");
  });

  it("SLP-82 withdraws a test that does not begin, so that it cannot begin after the command has ended", async () => {
    const machine = await harness.createNode("a", { proven: false });
    const { user: client, clock } = harness;
    const request = requested(testWake({ client, clock, timeout, node: "a" }));
    await harness.until(() => request.ended);
    const message = "the test did not begin within 5m: does joulie power run?";
    expect(request.result).toEqual({ result: "skipped", message });
    harness.start();
    await harness.advance(600);
    expect(machine.offCalls).toBe(0);
  });

  it("SLP-82 says that a switch does not answer", async () => {
    const machine = await harness.createNode("a", { proven: false });
    machine.failure = new PowerSwitchError("network", "no response (ECONNREFUSED)");
    harness.start();
    const { user: client, clock } = harness;
    const request = requested(testWake({ client, clock, timeout, node: "a" }));
    await harness.until(() => request.ended);
    const message = expect.stringMatching(/^the test did not begin within 5m: .*ECONNREFUSED/) as string;
    expect(request.result).toEqual({ result: "skipped", message });
  });
});
