import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { instant, milliseconds } from "../../core/units/index.ts";
import { systemClock } from "../../platform/clock/index.ts";
import { eventually, watchFor } from "../../platform/clock/testing/index.ts";
import { KubeClient, resources } from "../../platform/kube/index.ts";
import { systemRandom } from "../../platform/random/index.ts";
import { type ApiThread, startApiThread } from "./api-thread.ts";
import { DEMO_NAMESPACE, embeddedCluster } from "./demo-cluster.ts";

describe("embeddedCluster", () => {
  let folder: string;
  let api: ApiThread | undefined;
  const startApi = async () => {
    api = await startApiThread();
    return api;
  };
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "joulie-plane-"));
  });
  afterEach(async () => {
    await api?.close();
    await rm(folder, { recursive: true });
  });

  it("serves the CRDs and a namespace from a worker thread, and stops the thread on close", async () => {
    const plane = await embeddedCluster(folder, startApi);
    const transport = await plane.connect();
    const options = { transport, clock: systemClock, random: systemRandom, fieldManager: "test" };
    const client = new KubeClient(options);
    expect((await client.get(resources.namespaces, { name: DEMO_NAMESPACE })).metadata.name).toBe(DEMO_NAMESPACE);
    expect((await client.listAll(resources.nodeTwins, {})).items).toEqual([]);
    plane.setTime({ now: instant(Date.UTC(2040, 0, 1)), speed: 60, granted: milliseconds(60_000) });
    const stamped = async (name: string) => {
      const { metadata } = await client.create(resources.namespaces, { metadata: { name } });
      return Date.parse(String(metadata.creationTimestamp));
    };
    await stamped("before");
    const began = await stamped("one");
    expect(new Date(began).toISOString()).toMatch(/^2040-01-01/);
    // Time stamps have whole seconds: one of them passes in 17 ms.
    let name = 0;
    await eventually(async () => (await stamped(`other-${++name}`)) - began >= 5000);
    plane.setTime({ now: instant(Date.UTC(2041, 0, 1)), speed: 60, granted: milliseconds(0) });
    await stamped("between");
    const still = await stamped("third");
    await watchFor(100);
    expect(await stamped("fourth")).toBe(still);
    await transport.close();
    await plane.close();
    await expect(plane.failed).rejects.toThrow("the Kubernetes API failed: its thread exited");
  });

  it("stops the thread when setup fails", async () => {
    await expect(embeddedCluster(join(folder, "not there"), startApi)).rejects.toThrow("ENOENT");
    await expect(api?.failed).rejects.toThrow("its thread exited");
  });
});
