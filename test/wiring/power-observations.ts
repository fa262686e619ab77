// What the power program does with its variables.
import { milliseconds } from "../../src/core/units/index.ts";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import type { RawValues } from "../../src/platform/config/index.ts";
import { resources } from "../../src/platform/kube/index.ts";
import { FakeHttpServer } from "../../src/platform/switch/testing/fake-http-server.ts";
import { PowerTestHarness } from "../../src/programs/power/testing/power-test-harness.ts";

const variablesOf = (values: RawValues): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

async function observed<Result>(look: (harness: PowerTestHarness) => Promise<Result>): Promise<Result> {
  const harness = await PowerTestHarness.begin();
  try {
    return await look(harness);
  } finally {
    await harness.end();
  }
}

/** Seconds from the taint to the shutdown, in tens. */
export const settle = async (values: RawValues) =>
  observed(async (harness) => {
    const machine = await harness.createNode("a");
    harness.start(variablesOf(values));
    await harness.want("a", "off");
    await harness.until(async () => harness.isTainted("a"));
    const from = harness.clock.now();
    await harness.until(() => machine.calls.includes("shutdown"));
    return Math.round((harness.clock.now() - from) / 10_000) * 10;
  });

/** Minutes from the shutdown to the cut of a machine that ignores it. */
export const forcedAfter = async (values: RawValues) =>
  observed(async (harness) => {
    const machine = await harness.createNode("a");
    machine.ignoresShutdown = true;
    harness.start(variablesOf(values));
    await harness.want("a", "off");
    await harness.until(() => machine.calls.includes("shutdown"));
    const from = harness.clock.now();
    await harness.until(() => machine.calls.includes("forceOff"));
    return Math.round((harness.clock.now() - from) / 60_000);
  });

/** Minutes until the first attempt of a wake counts as failed. */
export const retriedAfter = async (values: RawValues) =>
  observed(async (harness) => {
    const machine = await harness.createNode("a");
    harness.start(variablesOf(values));
    await harness.want("a", "off");
    await harness.untilPower("a", "off");
    machine.neverBoots = true;
    await harness.want("a", "on");
    await harness.untilPower("a", "waking");
    const from = harness.clock.now();
    await harness.until(async () => (await harness.endpoint("a")).status?.operation?.attempt === 2);
    return Math.round((harness.clock.now() - from) / 60_000);
  });

/** Minutes from a wake to the next sleep of a node that should be off again at once. */
export const awakeFor = async (values: RawValues) =>
  observed(async (harness) => {
    const machine = await harness.createNode("a");
    harness.start(variablesOf(values));
    await harness.want("a", "off");
    await harness.untilPower("a", "off");
    await harness.want("a", "on");
    await harness.untilPower("a", "on");
    const from = harness.clock.now();
    await harness.want("a", "off");
    const before = machine.calls.length;
    await harness.until(() => machine.calls.slice(before).includes("shutdown"));
    return Math.round((harness.clock.now() - from) / 60_000);
  });

/** The largest number of switches that are called at the same time. */
export const concurrent = async (values: RawValues) =>
  observed(async (harness) => {
    let [now, most] = [0, 0];
    for (let index = 0; index < 30; index++) {
      const machine = await harness.createNode(`n${index}`);
      machine.state = async () => {
        most = Math.max(most, ++now);
        await harness.clock.sleep(milliseconds(1000));
        now--;
        return "on";
      };
    }
    harness.start(variablesOf(values));
    await harness.advance(20);
    return most;
  });

const readsWithin = async (values: RawValues, state: "waking" | "on", seconds: number) =>
  observed(async (harness) => {
    const machine = await harness.createNode("a");
    harness.start(variablesOf(values));
    if (state === "waking") {
      await harness.want("a", "off");
      await harness.untilPower("a", "off");
      machine.neverBoots = true;
      await harness.want("a", "on");
      await harness.untilPower("a", "waking");
    } else await harness.advance(5);
    const before = machine.calls.length;
    await harness.advance(seconds);
    return machine.calls.slice(before).filter((call) => call === "state").length;
  });

export const readsOfWakingNode = async (values: RawValues) => (await readsWithin(values, "waking", 300)) > 15;
export const readsOfIdleNode = async (values: RawValues) => (await readsWithin(values, "on", 3600)) > 20;

export const lease = async (values: RawValues) =>
  observed(async (harness) => {
    await harness.user.create(resources.namespaces, { metadata: { name: "elsewhere" } });
    harness.start(variablesOf(values));
    await harness.advance(5);
    const { items } = await harness.user.listAll(resources.leases);
    return items
      .map((item) => {
        const { holderIdentity = "" } = (item as unknown as { spec: { holderIdentity?: string } }).spec;
        return `${item.metadata.namespace}/${item.metadata.name} ${holderIdentity.replace(/_.*/, "")}`;
      })
      .join("; ");
  });

export const servedAt = async (values: RawValues) =>
  observed(async (harness) => {
    const program = harness.start(variablesOf(values));
    await harness.advance(5);
    const url = program.logs.find(({ url: at }) => at !== undefined)?.["url"];
    return new URL(String(url)).hostname;
  });

/** What the program says about a webhook. The connection takes real time, its limit virtual time. */
async function reachable(harness: PowerTestHarness, values: RawValues, webhook: object, before: () => boolean) {
  await harness.createNode("a");
  await harness.user.mergePatch(resources.powerEndpoints, { name: "a" }, { spec: { webhook } });
  harness.start(variablesOf(values), { realSwitches: true });
  await eventually(before, { between: async () => harness.clock.advanceAsync(milliseconds(5)) });
  const message = async () => {
    const { status } = await harness.endpoint("a");
    return status?.conditions?.find(({ type }) => type === "Reachable")?.message;
  };
  return eventually(message, { between: async () => harness.advance(0.5) });
}

/** What the program says about a webhook that never answers. */
export const silentSwitch = async (values: RawValues) =>
  observed(async (harness) => {
    const server = new FakeHttpServer(() => undefined);
    const url = await server.listen();
    try {
      const message = await reachable(harness, values, { url }, () => server.received.length > 0);
      return message?.replace(/^.*: /, "");
    } finally {
      await server.close();
    }
  });

/** What the program says about a webhook with a Secret that does not exist. */
export const secretFor = async (values: RawValues) =>
  observed(async (harness) => {
    const webhook = { url: "https://switch.example", credentialsSecretRef: { name: "switch" } };
    const message = await reachable(harness, values, webhook, () => true);
    return message?.replace(/;.*/, "");
  });
