import { afterEach, describe, expect, it } from "vitest";
import type { PowerEndpoint, PowerEndpointSpec } from "../../src/core/api/index.ts";
import { milliseconds } from "../../src/core/units/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { ApiError, type KubeClient } from "../../src/platform/kube/index.ts";
import type { PowerSwitch } from "../../src/platform/power/index.ts";
import { FakeRedfish } from "../../src/platform/power/testing/fake-redfish.ts";
import { switchesOf } from "../../src/programs/power/switches.ts";

const never = new AbortController().signal;

describe("the switch of a PowerEndpoint", () => {
  const asked: string[] = [];
  let secrets: Record<string, Record<string, string>> = {};
  const opened: PowerSwitch[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(async (one) => one.close()));
    asked.length = 0;
    secrets = {};
  });
  const client = {
    get: async (_: unknown, { namespace, name }: { namespace: string; name: string }) => {
      asked.push(`${namespace}/${name}`);
      const data = secrets[name];
      if (data === undefined) throw new ApiError("notFound", "no such Secret");
      const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")]);
      return { metadata: { name }, data: Object.fromEntries(encoded) };
    },
  } as unknown as KubeClient;
  const open = async (spec: Omit<PowerEndpointSpec, "nodeName">) => {
    const openSwitch = switchesOf({
      client,
      clock: systemClock,
      timeout: milliseconds(5000),
      namespace: "joulie-system",
    });
    const endpoint: PowerEndpoint = { metadata: { name: "a" }, spec: { nodeName: "a", ...spec } };
    const machine = await openSwitch(endpoint, never);
    opened.push(machine);
    return machine;
  };

  it("SLP-24 logs in with the Secret of its own namespace", async () => {
    const redfish = new FakeRedfish();
    const address = await redfish.server.listen();
    secrets = { bmc: { ...redfish.credentials, password: `${redfish.credentials.password}\n` } };
    const machine = await open({ redfish: { address, credentialsSecretRef: { name: "bmc" } } });
    expect(await machine.state(never)).toBe("on");
    expect(new Set(asked)).toEqual(new Set(["joulie-system/bmc"]));
    await redfish.server.close();
  });

  it.each<[string, Record<string, Record<string, string>>, string]>([
    ["missing", {}, "Secret joulie-system/bmc is missing or has no key username"],
    [
      "without a password",
      { bmc: { username: "joulie" } },
      "Secret joulie-system/bmc is missing or has no key password",
    ],
  ])("SLP-24 reports a Secret that is %s, without its content", async (_, given, message) => {
    secrets = given;
    const redfish = { address: "https://bmc.example", credentialsSecretRef: { name: "bmc" } };
    await expect(open({ redfish })).rejects.toMatchObject({ kind: "credentials", message });
  });

  it("refuses a PowerEndpoint with two switches or none", async () => {
    const webhook = { url: "https://switch.example" };
    for (const spec of [{}, { webhook, metal3: { namespace: "metal", name: "host" } }])
      await expect(open(spec)).rejects.toMatchObject({ kind: "refused" });
  });
});
