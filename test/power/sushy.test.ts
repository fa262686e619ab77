// The Redfish switch against sushy-tools. Its machines change their state 1 to 11 seconds after a reset.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { milliseconds } from "../../src/core/units/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventuallyPasses } from "../../src/platform/clock/testing/index.ts";
import { RedfishSwitch } from "../../src/platform/switch/index.ts";
import { installSushy, type SushyService, startSushy } from "./sushy.ts";

const tools = await installSushy();
if (!tools.available) process.stderr.write(`joulie: the tests with sushy-tools are skipped: ${tools.reason}\n`);

describe.skipIf(!tools.available)("the Redfish switch on sushy-tools", () => {
  const never = new AbortController().signal;
  const confirmed = async (): Promise<void> => undefined;
  const clock = systemClock;
  const timeout = milliseconds(20_000);
  let service: SushyService;
  const opened: RedfishSwitch[] = [];
  beforeAll(async () => {
    if (tools.available) service = await startSushy(tools.folder, 2);
  });
  afterAll(async () => {
    await Promise.all(opened.map(async (machine) => machine.close()));
    await service.stop();
  });
  const open = (systemId?: string, credentials = service.credentials) => {
    const endpoint = { address: service.address, ...(systemId !== undefined && { systemId }) };
    const machine = new RedfishSwitch({ clock, timeout, endpoint, credentials });
    opened.push(machine);
    return machine;
  };
  const until = async (machine: RedfishSwitch, state: string) =>
    eventuallyPasses(async () => expect(await machine.state(never)).toBe(state));

  it("switches on, shuts down and cuts the power, and leaves the other machine alone", async () => {
    const [one, other] = [open(service.systemIds[0]), open(service.systemIds[1])];
    expect(await one.state(never)).toBe("off");
    await one.on(never, confirmed);
    await until(one, "on");
    await one.shutdown(never, confirmed);
    await until(one, "off");
    await one.on(never, confirmed);
    await until(one, "on");
    await one.forceOff(never, confirmed);
    await until(one, "off");
    expect(await other.state(never)).toBe("off");
  });

  it("rejects a wrong password, a missing systemId and an unknown one", async () => {
    const wrong = open(service.systemIds[0], { username: "joulie", password: "wrong" });
    await expect(wrong.state(never)).rejects.toMatchObject({ kind: "credentials" });
    await expect(open().state(never)).rejects.toMatchObject({ kind: "refused" });
    await expect(open("no-such-system").state(never)).rejects.toMatchObject({ kind: "not_found" });
  });
});
