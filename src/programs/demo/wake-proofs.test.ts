import { afterEach, expect, it } from "vitest";
import { annotations, crdOf, kinds } from "../../core/api/index.ts";
import { instant, milliseconds } from "../../core/units/index.ts";
import { systemClock } from "../../platform/clock/index.ts";
import { EmbeddedApi } from "../../platform/embedded/index.ts";
import { KubeClient, resources } from "../../platform/kube/index.ts";
import { seededRandom } from "../../platform/random/index.ts";
import { askForWakeProofs, nodesToProve } from "./wake-proofs.ts";

const api = new EmbeddedApi({ clock: systemClock, random: seededRandom(1), crds: kinds.map(crdOf) });
afterEach(async () => api.close());

it("proves every second node of each kind, and no node of which there is only one", () => {
  const [small, large, single] = [{}, {}, {}];
  const models = [small, small, large, small, large, small, small, single];
  const nodes = models.map((model, index) => ({ spec: { name: `n${index}`, model } }));
  expect(nodesToProve(nodes)).toEqual(["n1", "n4", "n5"]);
});

it("asks the power program for a test of each node, as soon as its PowerEndpoint exists", async () => {
  const client = new KubeClient({
    transport: api.transport(),
    clock: systemClock,
    random: seededRandom(2),
    fieldManager: "test",
  });
  const now = instant(Date.UTC(2030, 0, 1, 18));
  const asked = askForWakeProofs(["a", "b"], { client, ioClock: systemClock, now }, new AbortController().signal);
  await systemClock.sleep(milliseconds(20));
  for (const name of ["a", "b"]) {
    const redfish = { address: "http://127.0.0.1:1", systemId: name, insecureSkipVerify: true };
    await client.create(resources.powerEndpoints, { metadata: { name }, spec: { nodeName: name, redfish } });
  }
  await asked;
  for (const name of ["a", "b"]) {
    const { metadata } = await client.get(resources.powerEndpoints, { name });
    expect(metadata.annotations?.[annotations.testPower]).toBe("2030-01-01T18:00:00.000Z");
  }
});
