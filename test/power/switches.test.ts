import { afterEach, describe, expect, it } from "vitest";
import type { PowerEndpoint, PowerEndpointSpec } from "../../src/core/api/index.ts";
import { milliseconds } from "../../src/core/units/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { configOf, endpointRanges, parseConfig } from "../../src/platform/config/index.ts";
import { ApiError, type KubeClient } from "../../src/platform/kube/index.ts";
import type { PowerSwitch, PowerSwitchError } from "../../src/platform/switch/index.ts";
import { FakeHttpServer } from "../../src/platform/switch/testing/fake-http-server.ts";
import { FakeRedfish } from "../../src/platform/switch/testing/fake-redfish.ts";
import { switchesOf } from "../../src/programs/power/machine/switches.ts";

const never = new AbortController().signal;

function allowedBy(text: string) {
  const config = configOf({ LIST: endpointRanges({ default: "none", about: "…" }) });
  const parsed = parseConfig(config, {
    env: { LIST: text },
    flags: {},
    machine: { isTerminal: false, exists: () => false },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
  return parsed.value.values.LIST;
}

describe("the switch of a PowerEndpoint", () => {
  const asked: string[] = [];
  let secrets: Record<string, Record<string, string>> = {};
  /** The annotation joulie.io/hosts of every Secret. */
  let hosts: string | undefined;
  const opened: PowerSwitch[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(async (one) => one.close()));
    asked.length = 0;
    secrets = {};
    hosts = undefined;
  });
  const client = {
    get: async (_: unknown, { namespace, name }: { namespace: string; name: string }) => {
      asked.push(`${namespace}/${name}`);
      const data = secrets[name];
      if (data === undefined) throw new ApiError("notFound", "no such Secret");
      const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")]);
      const annotations = hosts === undefined ? {} : { "joulie.io/hosts": hosts };
      return { metadata: { name, annotations }, data: Object.fromEntries(encoded) };
    },
  } as unknown as KubeClient;
  const open = async (spec: Omit<PowerEndpointSpec, "nodeName">, allowed = "none", node = "a") => {
    const openSwitch = switchesOf({
      client,
      clock: systemClock,
      timeout: milliseconds(5000),
      namespace: "joulie-system",
      allowed: allowedBy(allowed),
    });
    const endpoint: PowerEndpoint = { metadata: { name: node }, spec: { nodeName: node, ...spec } };
    const machine = await openSwitch(endpoint, never);
    opened.push(machine);
    return machine;
  };

  it("SLP-24 logs in with the Secret of its own namespace", async () => {
    const redfish = new FakeRedfish();
    const address = await redfish.server.listen();
    secrets = { bmc: { ...redfish.credentials, password: `${redfish.credentials.password}\n` } };
    hosts = address;
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
    await expect(open({ redfish }, "https://bmc.example")).rejects.toMatchObject({ kind: "credentials", message });
  });

  describe("that names a Secret", () => {
    const credentialsSecretRef = { name: "bmc" };
    const bmc = { bmc: { username: "joulie", password: "pa55", token: "t0ken" } };
    /** Whether the Secret is used for this address, by a Redfish service and by a webhook. */
    const isUsed = async (address: string, allowed?: string, node?: string) => {
      const redfish = { address, credentialsSecretRef, insecureSkipVerify: true };
      const outcomes = await Promise.allSettled([
        open({ redfish }, allowed, node),
        open({ webhook: { url: `${address}/{node}`, credentialsSecretRef } }, allowed, node),
      ]);
      const used = outcomes.map((outcome) => {
        if (outcome.status === "fulfilled") return true;
        const { kind, message } = outcome.reason as PowerSwitchError;
        expect(kind).toBe("refused");
        // A webhook never sends its token unencrypted.
        return /unencrypted/.test(message);
      });
      expect(new Set(used).size).toBe(1);
      return used[0];
    };
    const judged = async (addresses: readonly string[], allowed?: string, node?: string) =>
      Object.fromEntries(
        await Promise.all(addresses.map(async (address) => [address, await isUsed(address, allowed, node)])),
      );
    const each = (addresses: readonly string[], expected: boolean) =>
      Object.fromEntries(addresses.map((address) => [address, expected]));
    const elsewhere = [
      "https://evil.example",
      "https://bmc.example.evil.example",
      "https://bmc.example:8443",
      "https://bmc.example@evil.example",
      "http://bmc.example",
      "https://10.9.0.1",
      "https://localhost",
      "https://169.254.169.254",
    ];

    it("X-140 sends the password nowhere if neither the Secret nor a variable names the host", async () => {
      const rogue = new FakeHttpServer(() => ({ json: { state: "on" } }));
      const address = await rogue.listen();
      secrets = bmc;
      for (const spec of [
        { redfish: { address, credentialsSecretRef } },
        { webhook: { url: address, credentialsSecretRef } },
      ])
        await expect(open(spec)).rejects.toMatchObject({
          kind: "refused",
          message: `Secret joulie-system/bmc is missing, or not for ${address}; nothing was sent: name the host in its annotation joulie.io/hosts, or list the origin in SWITCH_ALLOWED_ENDPOINTS`,
        });
      expect(rogue.received).toEqual([]);
      await rogue.close();
    });

    it("X-140 uses it for the hosts in its annotation, over https unless it says otherwise", async () => {
      secrets = bmc;
      hosts = "bmc.example, [fd00::9]:8443 ,http://lab.example:8000";
      const named = [
        "https://bmc.example",
        "https://BMC.example:443",
        "https://[fd00::9]:8443",
        "http://lab.example:8000",
      ];
      expect(await judged(named)).toEqual(each(named, true));
      expect(await judged(elsewhere)).toEqual(each(elsewhere, false));
    });

    it("X-140 uses it for addresses of a CIDR, never for names that resolve to one", async () => {
      secrets = bmc;
      hosts = "10.9.0.0/16";
      const inside = ["https://10.9.0.1", "https://10.9.255.255:8443", "https://0x0a.9.0.1"];
      expect(await judged(inside)).toEqual(each(inside, true));
      const outside = ["https://10.10.0.1", "https://10.9.0.1.nip.io", "https://localhost"];
      expect(await judged(outside)).toEqual(each(outside, false));
    });

    it("X-140 uses every Secret for what SWITCH_ALLOWED_ENDPOINTS lists", async () => {
      secrets = bmc;
      const list = "https://bmc.example,10.9.0.0/16,https://{node}.mgmt.example";
      const listed = ["https://bmc.example", "https://10.9.0.1", "https://a.mgmt.example"];
      expect(await judged(listed, list)).toEqual(each(listed, true));
      const others = ["https://evil.example", "https://b.mgmt.example", "https://10.8.0.1"];
      expect(await judged(others, list)).toEqual(each(others, false));
    });

    it("X-140 does not let the name of a PowerEndpoint choose the host", async () => {
      secrets = bmc;
      for (const zone of ["{node}:8443", "bmc-{node}", "{node}bmc.example", "{node}.:8443"]) {
        hosts = zone;
        const address = `https://${zone.replace("{node}", "evil.example")}`;
        expect({ zone, used: await isUsed(address, "none", "evil.example") }).toEqual({ zone, used: false });
      }
      hosts = "{node}.mgmt.example";
      expect(await isUsed("https://evil.example.mgmt.example", "none", "evil.example")).toBe(true);
    });

    it.each(["", "bmc.example,", "bmc.example/path", "*", "https://me@bmc.example", "10.9.0.0/33", "a b"])(
      "X-140 refuses the annotation %j, and says what it should be",
      async (text) => {
        secrets = bmc;
        hosts = text;
        const redfish = { address: "https://evil.example", credentialsSecretRef };
        const outcome = open({ redfish });
        await expect(outcome).rejects.toMatchObject({ kind: "refused" });
        await expect(outcome).rejects.toThrow("joulie.io/hosts");
      },
    );

    it("X-140 sends it to no other host after a redirect", async () => {
      const rogue = new FakeHttpServer(() => ({ json: {} }));
      const location = await rogue.listen();
      const redirecting = new FakeHttpServer(() => ({ status: 307, headers: { location } }));
      const address = await redirecting.listen();
      secrets = bmc;
      hosts = address;
      for (const spec of [
        { redfish: { address, credentialsSecretRef } },
        { webhook: { url: address, credentialsSecretRef } },
      ])
        await expect((await open(spec)).state(never)).rejects.toMatchObject({ kind: "redirect" });
      expect(rogue.received).toEqual([]);
      await Promise.all([rogue.close(), redirecting.close()]);
    });
  });

  it("refuses a PowerEndpoint with two switches or none", async () => {
    const webhook = { url: "https://switch.example" };
    for (const spec of [{}, { webhook, metal3: { namespace: "metal", name: "host" } }])
      await expect(open(spec)).rejects.toMatchObject({ kind: "refused" });
  });
});
