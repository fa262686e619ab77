// The operator while the API server or etcd fails. An observer checks the safety rules at every resource version it sees.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { simulatedDelay } from "../../src/platform/clock/testing/index.ts";
import { operatorPermissions } from "../../src/programs/operator/permissions.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import type { ClusterIdentity } from "../controlplane/identities.ts";
import { Scene } from "./fault-scene.ts";

/** Far longer than the lease renewal deadline (10 s), any request timeout, and the time until a silent watch is replaced. */
const FROZEN_MS = 60_000;

describe("the operator during outages of a real control plane", () => {
  let plane: ControlPlane;
  let identity: ClusterIdentity;
  let scene: Scene;
  let scenes = 0;

  beforeAll(async () => {
    plane = await startControlPlane({ audit: true });
    identity = await plane.identity(operatorPermissions("joulie-system"), { name: "operator-a" });
  });
  afterAll(async () => plane.stop());
  beforeEach(async () => {
    scene = await Scene.open(plane, String(++scenes));
  });
  afterEach(async () => scene.close());

  it("X-22 keeps the write order while pods come and go, without faults", async () => {
    scene.start(identity);
    await scene.unrest(async () => scene.lowers(3));
    await scene.converges();
    const { broken, lowered, drained } = await scene.verdict();
    expect(broken).toEqual([]);
    expect(lowered).toBeGreaterThan(3);
    expect(drained).toBeGreaterThan(0);
    expect(scene.witness.gaps).toBe(0);
  });

  it("the safety observer detects eco caps over a performance pod when they are forced", async () => {
    await scene.plan(scene.nodes.slice(0, 3));
    await scene.bind("worker", scene.nodes[3]);
    scene.start(identity, { DRAINING_CAPS: "eco" });
    await scene.comesToShow({
      ...scene.wanted(scene.nodes.slice(0, 3)),
      [scene.nodes[3] ?? ""]: "eco 60 draining eco true",
    });
    const { broken } = await scene.verdict();
    expect(broken.join()).toMatch(/^d-\d+ at \d+: eco caps although worker had been seen by \d+,/);
  });

  it("X-22 leads again, converges and stays safe when the API server is frozen for a minute", async () => {
    const operator = scene.start(identity);
    await scene.unrest(async () => {
      await simulatedDelay(4000);
      await plane.apiserver.freeze();
      await simulatedDelay(FROZEN_MS);
      plane.apiserver.thaw();
      await simulatedDelay(3000);
    });
    expect(operator.logged("lost leadership").length).toBeGreaterThan(0);
    await scene.converges();
    expect((await scene.verdict()).broken).toEqual([]);
    expect(operator.logged("became leader").length).toBe(operator.logged("lost leadership").length + 1);
    expect(scene.witness.gaps).toBe(0);
  });

  it("X-22 recovers from a crash of the API server", async () => {
    scene.start(identity);
    await scene.unrest(async () => {
      await simulatedDelay(4000);
      await plane.apiserver.kill();
      await plane.apiserver.start();
      await scene.lowers(2);
    });
    await scene.converges();
    const { broken, lowered } = await scene.verdict();
    expect(broken).toEqual([]);
    expect(lowered).toBeGreaterThan(2);
  });

  it("X-22 recovers from a restart of etcd", async () => {
    scene.start(identity);
    await scene.unrest(async () => {
      await simulatedDelay(4000);
      await plane.etcd.stop();
      await simulatedDelay(3000);
      await plane.etcd.start();
      await scene.lowers(2);
    });
    await scene.converges();
    const { broken, lowered } = await scene.verdict();
    expect(broken).toEqual([]);
    expect(lowered).toBeGreaterThan(2);
  });
});
