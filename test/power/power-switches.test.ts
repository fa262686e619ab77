import { instant, milliseconds } from "../../src/core/units/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { VirtualClock } from "../../src/platform/clock/testing/index.ts";
import { EmbeddedApi } from "../../src/platform/embedded/index.ts";
import { KubeClient, type KubeObject } from "../../src/platform/kube/index.ts";
import { seededRandom } from "../../src/platform/random/index.ts";
import { Metal3Switch, RedfishSwitch, WebhookSwitch } from "../../src/platform/switch/index.ts";
import { bareMetalHostCrd, bareMetalHosts } from "../../src/platform/switch/testing/bare-metal-hosts.ts";
import { FakeHttpServer } from "../../src/platform/switch/testing/fake-http-server.ts";
import { FakeRedfish } from "../../src/platform/switch/testing/fake-redfish.ts";
import { describePowerSwitch } from "./switch-contract.ts";

const timeout = milliseconds(5000);
const clock = systemClock;

describePowerSwitch("Redfish", async () => {
  const redfish = new FakeRedfish();
  const address = await redfish.server.listen();
  const open = (systemId?: string) =>
    new RedfishSwitch({
      clock,
      timeout,
      endpoint: { address, ...(systemId !== undefined && { systemId }) },
      credentials: redfish.credentials,
    });
  return {
    machine: open(),
    stranger: open("no-such-system"),
    truth: {
      get: async () => (redfish.state === "On" ? "on" : "off"),
      set: async (state) => void (redfish.state = state === "on" ? "On" : "Off"),
    },
    close: async () => redfish.server.close(),
  };
});

describePowerSwitch("Metal3", async () => {
  const virtual = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
  const api = new EmbeddedApi({ clock: virtual, random: seededRandom(1), crds: [bareMetalHostCrd] });
  const client = new KubeClient({
    transport: api.transport(),
    clock: virtual,
    random: seededRandom(2),
    fieldManager: "t",
  });
  const at = { namespace: "default", name: "host-1" };
  await client.create(
    bareMetalHosts,
    { metadata: { name: at.name }, spec: { online: true } },
    { namespace: at.namespace },
  );
  type Host = KubeObject & { spec: { online: boolean } };
  const poweredOn = async (on: boolean) =>
    client.mergePatch(bareMetalHosts, at, { status: { poweredOn: on } }, { subresource: "status" });
  await poweredOn(true);
  return {
    machine: new Metal3Switch({ client, timeout, endpoint: at }),
    stranger: new Metal3Switch({ client, timeout, endpoint: { ...at, name: "no-such-host" } }),
    truth: {
      // As Metal3 does: the machine follows spec.online.
      get: async () => {
        const { online } = (await client.get<Host>(bareMetalHosts, at)).spec;
        await poweredOn(online);
        return online ? "on" : "off";
      },
      set: async (state) => {
        await client.mergePatch(bareMetalHosts, at, { spec: { online: state === "on" } });
        await poweredOn(state === "on");
      },
    },
    close: async () => api.close(),
  };
});

describePowerSwitch("a webhook", async () => {
  let state = "on";
  const server = new FakeHttpServer(({ method, path, body }) => {
    if (path !== "/power/worker-1") return { status: 404 };
    if (method === "GET") return { json: { state } };
    const { action } = JSON.parse(body) as { action: string };
    state = action === "on" ? "on" : "off";
    return { status: 202 };
  });
  const endpoint = { url: `${await server.listen()}/power/{node}` };
  return {
    machine: new WebhookSwitch({ clock, timeout, endpoint, node: "worker-1" }),
    stranger: new WebhookSwitch({ clock, timeout, endpoint, node: "worker-2" }),
    truth: { get: async () => (state === "on" ? "on" : "off"), set: async (to) => void (state = to) },
    close: async () => server.close(),
  };
});
