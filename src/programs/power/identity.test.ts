import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resources } from "../../platform/kube/index.ts";
import type { FakeMachine } from "./testing/fake-machine.ts";
import { PowerTestHarness } from "./testing/power-test-harness.ts";

const UUID = "4c4c4544-0034-5910-8052-b7c04f4e3332";
const SWAPPED = "44454C4C-3400-1059-8052-B7C04F4E3332";
const MACHINE_ID = "9f86d081884c4d659a2feaa0c55ad015";
const OTHER = "4c4c4544-0034-5910-8052-b7c04f4e3333";

describe("joulie power and the identity of a machine", () => {
  let harness: PowerTestHarness;
  beforeEach(async () => {
    harness = await PowerTestHarness.begin();
  });
  afterEach(async () => harness.end());

  const nodeWith = async (nodeUuid: string | undefined, switchUuid: string | undefined): Promise<FakeMachine> => {
    const machine = await harness.createNode("a");
    if (nodeUuid !== undefined) await harness.nodeInfo("a", { systemUUID: nodeUuid, machineID: MACHINE_ID });
    machine.facts = { systemUuid: switchUuid };
    return machine;
  };
  const condition = async (type: string) => {
    const { status } = await harness.endpoint("a");
    const found = status?.conditions?.find((one) => one.type === type);
    return found && `${found.status} ${found.reason}`;
  };
  const acted = (machine: FakeMachine) => machine.calls.filter((call) => call !== "state");

  it("SLP-26 switches nothing off by the switch of another machine, and says so", async () => {
    const machine = await nodeWith(UUID, OTHER);
    const program = harness.start();
    await harness.want("a", "off");
    await harness.advance(3000);
    expect([acted(machine), await harness.isTainted("a")]).toEqual([[], false]);
    expect(await condition("SameMachine")).toBe("False DifferentUUID");
    const { status } = await harness.endpoint("a");
    expect(status?.wakeProven).toBe(false);
    const message = status?.conditions?.find(({ type }) => type === "SameMachine")?.message;
    expect(message).toBe(
      `the switch controls system ${OTHER}, but node a runs on system ${UUID}: the PowerEndpoint belongs to another machine; correct its spec`,
    );
    const events = (await harness.events()).filter(({ reason }) => reason === "WrongMachine");
    expect(events.map(({ regarding, type }) => `${type} ${regarding.kind}`).toSorted()).toEqual([
      "Warning Node",
      "Warning PowerEndpoint",
    ]);
    expect(program.logs.some(({ code }) => code === "JOULIE_E_POWER_WRONG_MACHINE")).toBe(true);
  });

  it("SLP-26 refuses a test by the switch of another machine", async () => {
    const machine = await nodeWith(UUID, OTHER);
    harness.start();
    await harness.requestTest("a");
    await harness.until(
      async () => (await harness.endpoint("a")).metadata.annotations?.["joulie.io/test-power"] === undefined,
    );
    expect(acted(machine)).toEqual([]);
    expect(await condition("Tested")).toBe("False TestRefused");
  });

  it("SLP-26 switches nothing on by the switch of another machine", async () => {
    const machine = await nodeWith(UUID, UUID);
    harness.start();
    await harness.want("a", "off");
    await harness.untilPower("a", "off");
    machine.facts = { systemUuid: OTHER };
    await harness.want("a", "on");
    await harness.untilPower("a", "failed");
    expect(acted(machine)).toEqual(["shutdown"]);
    expect(await condition("SameMachine")).toBe("False DifferentUUID");
  });

  it("SLP-26 gives a sleep up if the switch turns out to be that of another machine right before the shutdown", async () => {
    const machine = await nodeWith(UUID, UUID);
    harness.start();
    const read = machine.state.bind(machine);
    let reads = 0;
    machine.state = async () => {
      // The first read after the count is that of the step, the second one belongs to the shutdown.
      if ((await harness.step("a")) === "shutdown" && ++reads === 2) machine.facts = { systemUuid: OTHER };
      return read();
    };
    await harness.want("a", "off");
    await harness.until(() => reads >= 2);
    await harness.advance(5);
    expect([acted(machine), await harness.isTainted("a"), await harness.power("a")]).toEqual([[], false, "on"]);
  });

  it("SLP-26 cuts no power by a switch that turns out to be that of another machine after the shutdown", async () => {
    const machine = await nodeWith(UUID, UUID);
    machine.ignoresShutdown = true;
    const read = machine.state.bind(machine);
    machine.state = async () => {
      if ((await harness.step("a")) === "force") machine.facts = { systemUuid: OTHER };
      return read();
    };
    harness.start({ SHUTDOWN_TIMEOUT: "1m" });
    await harness.want("a", "off");
    await harness.until(async () => (await condition("SameMachine")) === "False DifferentUUID");
    await harness.advance(20);
    // The proof is lost, so the node is wanted again.
    expect([acted(machine), await harness.power("a")]).toEqual([["shutdown"], "waking"]);
  });

  it.each([
    ["equal UUIDs", UUID, UUID, "True SameUUID"],
    ["UUIDs in different byte order and case", UUID, SWAPPED, "True SameUUID"],
    ["a switch without a UUID", UUID, undefined, undefined],
    ["a node without a UUID", undefined, UUID, undefined],
    ["a UUID of zeros", UUID, "00000000-0000-0000-0000-000000000000", undefined],
    ["a node without firmware tables, whose kubelet reports its machine ID", MACHINE_ID, UUID, undefined],
  ])("SLP-26 accepts %s", async (_, nodeUuid, switchUuid, expected) => {
    await nodeWith(nodeUuid, switchUuid);
    harness.start();
    await harness.want("a", "off");
    await harness.untilPower("a", "off");
    expect(await condition("SameMachine")).toBe(expected);
  });

  it.each([
    ["UUID", UUID, "True SameUUID"],
    ["machine without a UUID", undefined, undefined],
  ])("SLP-26 uses a PowerEndpoint that was corrected to the right %s after a test", async (_, corrected, expected) => {
    const machine = await nodeWith(UUID, OTHER);
    harness.start();
    await harness.advance(60);
    expect(await condition("SameMachine")).toBe("False DifferentUUID");
    machine.facts = { systemUuid: corrected };
    const spec = { webhook: { url: "https://right.example/{node}" } };
    await harness.user.mergePatch(resources.powerEndpoints, { name: "a" }, { spec });
    await harness.requestTest("a");
    await harness.until(async () => (await condition("Tested")) === "True WakeSucceeded");
    expect(await condition("SameMachine")).toBe(expected);
    expect((await harness.endpoint("a")).status?.wakeProven).toBe(true);
  });
});

describe("joulie power and a switch that may not take power away", () => {
  let harness: PowerTestHarness;
  beforeEach(async () => {
    harness = await PowerTestHarness.begin();
  });
  afterEach(async () => harness.end());

  it("SLP-27 never taints the node, and lets it sleep once the switch allows it", async () => {
    const machine = await harness.createNode("a");
    machine.facts = { keepsPower: "BareMetalHost metal/a has disablePowerOff: true" };
    const program = harness.start();
    let taints = 0;
    program.onAction = (action) => void (action === "PATCH /api/v1/nodes/a" && taints++);
    await harness.want("a", "off");
    await harness.advance(3600);
    expect([taints, machine.offCalls]).toEqual([0, 0]);
    const { status } = await harness.endpoint("a");
    expect(status?.wakeProven).toBe(true);
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({
        type: "MaySwitchOff",
        status: "False",
        message: "BareMetalHost metal/a has disablePowerOff: true",
      }),
    );
    machine.facts = {};
    await harness.untilPower("a", "off");
    expect((await harness.endpoint("a")).status?.conditions).toContainEqual(
      expect.objectContaining({ type: "MaySwitchOff", status: "True" }),
    );
  });

  it("SLP-27 ignores what a machine allows while it shuts down", async () => {
    const machine = await harness.createNode("a");
    harness.start();
    await harness.want("a", "off");
    await harness.until(() => machine.calls.includes("shutdown"));
    machine.facts = { keepsPower: "the service offers no reset type that switches off" };
    await harness.advance(15);
    expect([machine.power, machine.calls.at(-1)]).toEqual(["on", "state"]);
    await harness.untilPower("a", "off");
    const { status } = await harness.endpoint("a");
    expect(status?.conditions?.map(({ type }) => type)).not.toContain("MaySwitchOff");
  });

  it("SLP-27 refuses a test", async () => {
    const machine = await harness.createNode("a", { proven: false });
    machine.facts = { keepsPower: "it is locked" };
    harness.start();
    await harness.requestTest("a");
    await harness.until(
      async () => (await harness.endpoint("a")).metadata.annotations?.["joulie.io/test-power"] === undefined,
    );
    expect(machine.offCalls).toBe(0);
    expect((await harness.endpoint("a")).status?.conditions).toContainEqual(
      expect.objectContaining({ type: "Tested", reason: "TestRefused", message: "not tested: it is locked" }),
    );
  });
});
