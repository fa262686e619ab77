// `joulie power test` from the command to the Redfish service of sushy-tools and back.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { crdOf, kinds, type PowerEndpoint } from "../../src/core/api/index.ts";
import { milliseconds } from "../../src/core/units/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventually, simulatedDelay } from "../../src/platform/clock/testing/index.ts";
import { EmbeddedApi } from "../../src/platform/embedded/index.ts";
import { KubeClient, resources } from "../../src/platform/kube/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { seededRandom, systemRandom } from "../../src/platform/random/index.ts";
import { RedfishSwitch } from "../../src/platform/switch/index.ts";
import { powerConfig } from "../../src/programs/power/config.ts";
import { testWake } from "../../src/programs/power/index.ts";
import { runPower } from "../../src/programs/power/start.ts";
import { configured } from "../wiring/variable-table.ts";
import { installSushy, type SushyService, startSushy } from "./sushy.ts";

const tools = await installSushy();
const NODE = "worker";
const NAMESPACE = "joulie-system";
const clock = systemClock;

describe.skipIf(!tools.available)("joulie power on sushy-tools", () => {
  const api = new EmbeddedApi({ clock, random: seededRandom(1), crds: kinds.map(crdOf) });
  const user = new KubeClient({ transport: api.transport(), clock, random: systemRandom, fieldManager: "a-user" });
  const ending = new AbortController();
  const { signal } = ending;
  let service: SushyService;
  let machine: RedfishSwitch;
  let done: Promise<unknown>;
  /** At first that of another machine. */
  let systemUUID = "4c4c4544-0034-5910-8052-b7c04f4e3332";

  /** Reports while the machine has power. */
  const kubelet = async () => {
    while (!signal.aborted) {
      if ((await machine.state(signal)) === "on") {
        const now = new Date().toISOString();
        const ready = { type: "Ready", status: "True", lastHeartbeatTime: now };
        const status = { conditions: [ready], nodeInfo: { systemUUID } };
        await user.mergePatch(resources.nodes, { name: NODE }, { status }, { subresource: "status" });
      }
      await simulatedDelay(1000, signal);
    }
  };

  beforeAll(async () => {
    if (!tools.available) return;
    service = await startSushy(tools.folder, 1);
    const { address, credentials, systemIds } = service;
    const [systemId = ""] = systemIds;
    const redfish = { address, systemId };
    // The embedded API has no Secrets, so the password comes from here.
    const open = () => new RedfishSwitch({ clock, timeout: milliseconds(20_000), endpoint: redfish, credentials });
    machine = open();
    await machine.on(signal, async () => undefined);
    await eventually(async () => (await machine.state(signal)) === "on");
    await user.create(resources.namespaces, { metadata: { name: NAMESPACE } });
    await user.create(resources.nodes, { metadata: { name: NODE } });
    await user.create(resources.powerEndpoints, { metadata: { name: NODE }, spec: { nodeName: NODE, redfish } });
    const variables = { METRICS_ADDR: "127.0.0.1:0" };
    const times = { settle: milliseconds(1000), pollInterval: milliseconds(500) };
    const log = createLogger({ level: "fatal", program: "power" });
    const openSwitch = async () => open();
    const world = { transport: api.transport(), clock, ioClock: clock, random: systemRandom, log, openSwitch, times };
    done = Promise.allSettled([runPower(configured(powerConfig, variables), world, signal), kubelet()]);
    const isReady = async () => JSON.stringify(await user.get(resources.nodes, { name: NODE })).includes("Ready");
    await eventually(isReady);
  });
  afterAll(async () => {
    ending.abort();
    await done;
    await machine?.close();
    await service?.stop();
    await api.close();
  });

  it("SLP-26 does not switch a machine off whose service reports another UUID than its node", async () => {
    const { result, message } = await testWake({ client: user, clock, timeout: milliseconds(240_000), node: NODE });
    const uuid = machine.facts?.systemUuid;
    const why = `the switch controls system ${uuid}, but node ${NODE} runs on system ${systemUUID}`;
    expect([result, message]).toEqual(["skipped", expect.stringContaining(why)]);
    expect(await machine.state(signal)).toBe("on");
    const { spec, status } = (await user.get(resources.nodes, { name: NODE })) as unknown as {
      readonly spec?: { readonly taints?: unknown };
      readonly status: object;
    };
    expect([spec?.taints, JSON.stringify(status).includes(systemUUID)]).toEqual([undefined, true]);
    systemUUID = uuid?.toUpperCase() ?? "";
    const isReported = async () => JSON.stringify(await user.get(resources.nodes, { name: NODE })).includes(systemUUID);
    await eventually(isReported);
  });

  it("SLP-21 proves the wake of a node: the machine was off and its node came back", async () => {
    const seen = new Set<string>();
    const over = new AbortController();
    const watching = eventually(async () => {
      seen.add(await machine.state(signal));
      return over.signal.aborted;
    });
    const timeout = milliseconds(240_000);
    const { result, message } = await testWake({ client: user, clock, timeout, node: NODE });
    expect([result, message]).toEqual(["proven", expect.stringMatching(/^awake after \d+ s$/)]);
    over.abort();
    await watching;
    expect(seen.has("off")).toBe(true);
    const { status } = (await user.get(resources.powerEndpoints, { name: NODE })) as unknown as PowerEndpoint;
    expect(status).toMatchObject({ wakeProven: true, powerState: "on", lastWake: { result: "succeeded" } });
    expect(await machine.state(signal)).toBe("on");
  });
});
