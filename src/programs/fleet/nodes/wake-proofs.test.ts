import { afterEach, expect, it } from "vitest";
import { crdOf, isWakeProven, kinds, powerEndpointKind, readAs } from "../../../core/api/index.ts";
import { instant, seconds } from "../../../core/units/index.ts";
import { systemClock } from "../../../platform/clock/index.ts";
import { eventually } from "../../../platform/clock/testing/index.ts";
import { FaultyApi } from "../../../platform/embedded/testing/index.ts";
import { KubeClient, resources } from "../../../platform/kube/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { recordWakeProofs } from "./wake-proofs.ts";

const api = new FaultyApi({ clock: systemClock, random: seededRandom(1), crds: kinds.map(crdOf) });
afterEach(async () => api.close());

it("X-163 begins with every wake proven the day before, as soon as the PowerEndpoints exist", async () => {
  const client = new KubeClient({
    transport: api.transport(),
    clock: systemClock,
    random: seededRandom(2),
    fieldManager: "test",
  });
  const now = instant(Date.UTC(2030, 0, 2, 18));
  const nodes = ["a", "b"].map((name) => ({ spec: { name, model: { states: { bootTime: seconds(240) } } } }));
  let requests = 0;
  api.faults.add({ fault: { kind: "refused" }, when: () => ++requests === 0 });
  const recorded = recordWakeProofs(nodes, { client, ioClock: systemClock, now }, new AbortController().signal);
  // The first tries come before the PowerEndpoints.
  await Promise.race([eventually(() => requests > 2), recorded]);
  for (const name of ["a", "b"]) {
    const redfish = { address: "http://127.0.0.1:1", systemId: name, insecureSkipVerify: true };
    await client.create(resources.powerEndpoints, { metadata: { name }, spec: { nodeName: name, redfish } });
  }
  await recorded;
  for (const name of ["a", "b"]) {
    const endpoint = readAs(powerEndpointKind)(await client.get(resources.powerEndpoints, { name }));
    expect(isWakeProven(endpoint)).toBe(true);
    expect(endpoint.status?.lastWake).toEqual({ at: "2030-01-01T18:00:00.000Z", seconds: 300, result: "succeeded" });
  }
});
