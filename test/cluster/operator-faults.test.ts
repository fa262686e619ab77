// The operator under cluster faults. A witness records every object version and checks the safety rules on each.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { labels, type NodeTwin } from "../../src/core/api/index.ts";
import { eventually, eventuallyPasses, simulatedDelay, watchFor } from "../../src/platform/clock/testing/index.ts";
import { operatorPermissions } from "../../src/programs/operator/permissions.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import type { ClusterIdentity } from "../controlplane/identities.ts";
import { CutTransport } from "./cut-transport.ts";
import { fastClock } from "./fast-clock.ts";
import { draining, eco, type Listed, performance, profiles, Scene, settings, twins } from "./fault-scene.ts";

const lease = "/apis/coordination.k8s.io/v1/namespaces/joulie-system/leases/joulie-operator";
const admission = "/apis/admissionregistration.k8s.io/v1";
const main = join(import.meta.dirname, "../../src/main.ts");

describe("the operator during faults of a real control plane", () => {
  let plane: ControlPlane;
  let identity: ClusterIdentity;
  let other: ClusterIdentity;
  let scene: Scene;
  let scenes = 0;

  beforeAll(async () => {
    plane = await startControlPlane({ audit: true });
    identity = await plane.identity(operatorPermissions("joulie-system"), { name: "operator-a" });
    other = await plane.identity(operatorPermissions("joulie-system"), { name: "operator-b" });
  });
  afterAll(async () => plane.stop());
  beforeEach(async () => {
    scene = await Scene.open(plane, String(++scenes));
  });
  afterEach(async () => scene.close());

  /** The operator's writes of nodes and twins so far, from the API server's audit log. */
  const writesOf = (user: string) =>
    plane
      .audited()
      .filter((one) => one.user === user && ["patch", "create", "delete"].includes(one.verb))
      .filter(({ resource }) => resource === "nodes" || resource === "nodetwins");

  it("X-55 limits conflicts to the node whose labels and targets another writer keeps changing, and keeps it safe", async () => {
    const operator = scene.start(identity, { WRITE_NODE_POWER_PROFILES: "true" });
    await scene.plan(scene.nodes.slice(0, 3));
    await scene.comesToShow(scene.wanted(scene.nodes.slice(0, 3)));
    const [contested = ""] = scene.nodes;
    await scene.bind("held", contested);
    const foreign = new Set<number>();
    const conflicts = () =>
      plane.audited().filter(
        // Lease renewals carry the last known resourceVersion, so a retry after a slow response conflicts with itself.
        ({ user, code, path }) => user === identity.user && code === 409 && !path.includes("/leases/"),
      );
    const over = new AbortController();
    const otherWriter = async (path: string, patch: (round: number) => object) => {
      // Always ends with the second of the two patches, so that every run ends in the same state.
      for (let round = 0; !over.signal.aborted || round % 2 === 1; round++) {
        const answer = await plane.api.mergePatch<{ metadata: { resourceVersion: string } }>(path, patch(round));
        foreign.add(Number(answer.metadata.resourceVersion));
        await simulatedDelay(20);
      }
    };
    const specs = [
      { profile: "eco", scheduling: { draining: false }, cpu: { packagePowerCapPctOfMax: 100 } },
      { profile: "performance", scheduling: { draining: false } },
    ];
    const rivals = Promise.all([
      otherWriter(`${twins}/${contested}`, (round) => ({ spec: specs[round % 2] })),
      otherWriter(`/api/v1/nodes/${contested}`, (round) => ({
        metadata: { labels: { [labels.powerProfile]: ["eco", "performance"][round % 2] } },
      })),
      otherWriter(`${profiles}/${contested}`, (round) => ({ metadata: { annotations: { round: String(round) } } })),
    ]);
    for (const dense of [scene.nodes.slice(3), scene.nodes.slice(0, 3)]) {
      await scene.plan(dense);
      const { [contested]: _, ...others } = scene.wanted(dense);
      await scene.comesToShow(others);
    }
    await scene.plan(scene.nodes.slice(3));
    await eventually(() => foreign.size > 100 && conflicts().length > 0);
    over.abort();
    await rivals;
    await scene.comesToShow({ ...scene.wanted(scene.nodes.slice(3)), [contested]: draining });
    await scene.finish("held");
    await scene.comesToShow(scene.wanted(scene.nodes.slice(3)));
    const { broken, lowered } = await scene.verdict({ contested: [contested], foreign });
    expect(broken).toEqual([]);
    expect(lowered).toBeGreaterThan(5);
    expect(new Set(conflicts().map(({ path }) => path.split("?")[0]?.split("/").at(-1)))).toEqual(new Set([contested]));
    expect(operator.logged("planning pass failed; the next pass retries")).toEqual([]);
  });

  it("X-55 writes the other nodes while writes to one node are forbidden, reports it once, and recovers", async () => {
    const operator = scene.start(identity);
    await scene.plan(scene.nodes.slice(0, 3));
    await scene.comesToShow(scene.wanted(scene.nodes.slice(0, 3)));
    const forbidden = scene.nodes[3] ?? "";
    const name = "not-this-node";
    const rule = {
      apiGroups: ["joulie.io"],
      apiVersions: ["*"],
      operations: ["CREATE", "UPDATE"],
      resources: ["nodetwins"],
    };
    await plane.api.create(`${admission}/validatingadmissionpolicies`, {
      metadata: { name },
      spec: {
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression: `object.metadata.name != "${forbidden}"`, message: name, reason: "Forbidden" }],
      },
    });
    await plane.api.create(`${admission}/validatingadmissionpolicybindings`, {
      metadata: { name },
      spec: { policyName: name, validationActions: ["Deny"] },
    });
    let touches = 0;
    const touch = async () =>
      plane.api.mergePatch(`${twins}/${forbidden}`, { metadata: { annotations: { a: `${++touches}` } } });
    await eventually(async () =>
      touch().then(
        () => undefined,
        () => true,
      ),
    );

    await scene.plan(scene.nodes.slice(3));
    const { [forbidden]: _, ...others } = scene.wanted(scene.nodes.slice(3));
    await scene.comesToShow({ ...others, [forbidden]: eco });
    const page = await eventually(async () => {
      const text = await operator.page(`/debug/plan?node=${forbidden}`);
      return text.includes(name) ? (JSON.parse(text) as { failure: string; profile: string }) : undefined;
    });
    expect(page).toMatchObject({ profile: "performance", failure: expect.stringContaining(name) });
    expect(await operator.page("/metrics")).toMatch(/^joulie_operator_write_errors_total\{kind="spec"\} [1-9]/m);
    const published = async () => (await plane.api.get<NodeTwin>(`${twins}/${forbidden}`)).status?.conditions;
    await eventuallyPasses(async () => {
      const [condition] = (await published()) ?? [];
      expect(condition).toMatchObject({ type: "Published", status: "False", message: expect.stringContaining(name) });
    });
    await plane.api.remove(`${admission}/validatingadmissionpolicybindings/${name}`);
    await scene.comesToShow(scene.wanted(scene.nodes.slice(3)));
    await eventuallyPasses(async () => expect(await published()).toMatchObject([{ status: "True" }]));
    const events = await plane.api.get<Listed<{ reason: string; regarding: { name: string } }>>(
      "/apis/events.k8s.io/v1/namespaces/default/events",
    );
    const failures = events.items.filter(
      ({ reason, regarding }) => reason === "WriteFailed" && scene.nodes.includes(regarding.name),
    );
    expect(failures.map(({ regarding }) => regarding.name)).toEqual([forbidden]);
    expect((await scene.verdict()).broken).toEqual([]);
    await plane.api.remove(`${admission}/validatingadmissionpolicies/${name}`);
  });

  it("X-24 downgrades no node without permission to read pods, but publishes all; downgrades with it", async () => {
    const rules = operatorPermissions("joulie-system");
    const blind = await plane.identity(
      rules.filter(({ resources }) => !resources.includes("pods")),
      { name: "blind" },
    );
    await scene.bind("worker", scene.nodes[3]);
    await scene.plan(scene.nodes.slice(0, 3));
    scene.start(blind);
    await scene.comesToShow(Object.fromEntries(scene.nodes.map((name) => [name, performance])));
    await watchFor(2500);
    expect((await scene.verdict()).lowered).toBe(0);
    const role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/joulie-system-blind";
    await plane.api.mergePatch(role, { rules: rules.filter(({ namespace }) => namespace === undefined) });
    await scene.comesToShow({ ...scene.wanted(scene.nodes.slice(0, 3)), [scene.nodes[3] ?? ""]: draining });
    const { broken, lowered } = await scene.verdict();
    expect({ broken, lowered }).toEqual({ broken: [], lowered: 2 });
  });

  it("X-24 promotes but downgrades no node while only the pod watch is silent", async () => {
    // Timers run ten times as fast: two minutes take twelve seconds.
    const ioClock = fastClock(10);
    let cut: CutTransport | undefined;
    await scene.plan(scene.nodes.slice(0, 3));
    const operator = scene.start(identity, {}, { ioClock, network: (inner) => (cut = new CutTransport(inner)) });
    await scene.comesToShow(scene.wanted(scene.nodes.slice(0, 3)));
    if (cut === undefined) throw new Error("no network");
    cut.isCut = true;
    await scene.bind("unseen", scene.nodes[0]);
    const readable = async (value: number) =>
      eventuallyPasses(async () => expect(await operator.page("/metrics")).toContain(`_pods_readable ${value}\n`));
    await readable(0);
    const { lowered } = await scene.verdict();
    await scene.plan(scene.nodes.slice(3));
    await scene.comesToShow(Object.fromEntries(scene.nodes.map((name) => [name, performance])));
    await watchFor(3000);
    await scene.comesToShow(Object.fromEntries(scene.nodes.map((name) => [name, performance])));
    expect((await scene.verdict()).lowered).toBe(lowered);
    cut.isCut = false;
    await readable(1);
    await scene.comesToShow({ ...scene.wanted(scene.nodes.slice(3)), [scene.nodes[0] ?? ""]: draining });
    await scene.finish("unseen");
    await scene.comesToShow(scene.wanted(scene.nodes.slice(3)));
    expect((await scene.verdict()).broken).toEqual([]);
  });

  it("X-57 one of two operators leads while the leader's process is paused and resumed, and its successor loses the lease", async () => {
    const env = { ...process.env, ...settings, KUBECONFIG: identity.kubeconfig, POD_NAME: "first", LOG_LEVEL: "error" };
    const child = spawn(process.execPath, [main, "operator"], { stdio: "inherit", env });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    try {
      const holder = async () =>
        plane.api.get<{ spec: { holderIdentity: string } }>(lease).then(
          ({ spec }) => spec.holderIdentity.split("_")[0],
          () => undefined,
        );
      const leads = async (name: string) => eventuallyPasses(async () => expect(await holder()).toBe(name));
      await leads("first");
      const second = scene.start(other, { POD_NAME: "second" });
      await scene.converges();
      expect(writesOf(other.user)).toEqual([]);

      child.kill("SIGSTOP");
      const byFirst = writesOf(identity.user).length;
      await scene.bind("worker", scene.nodes[4]);
      await scene.plan(scene.nodes.slice(0, 3));
      await leads("second");
      await scene.comesToShow({ ...scene.wanted(scene.nodes.slice(0, 3)), [scene.nodes[4] ?? ""]: draining });
      // The first operator resumes with a plan from before the pod was bound, and still considers itself the leader.
      child.kill("SIGCONT");
      await scene.finish("worker");
      await scene.plan(scene.nodes.slice(1, 4));
      await scene.comesToShow(scene.wanted(scene.nodes.slice(1, 4)));
      expect(writesOf(identity.user).length).toBe(byFirst);

      const steal = async () => {
        const thief = { holderIdentity: "thief", renewTime: new Date().toISOString().replace("Z", "000Z") };
        await plane.api.mergePatch(lease, { spec: thief });
      };
      await steal();
      await eventually(() => second.logged("lost leadership").length > 0);
      const bySecond = writesOf(other.user).length;
      await scene.plan(scene.nodes.slice(3));
      await steal();
      await watchFor(4000);
      expect([writesOf(identity.user).length, writesOf(other.user).length]).toEqual([byFirst, bySecond]);
      await scene.comesToShow(scene.wanted(scene.nodes.slice(3)));
      expect((await scene.verdict()).broken).toEqual([]);
      expect(scene.witness.gaps).toBe(0);
    } finally {
      child.kill("SIGCONT");
      child.kill("SIGTERM");
      await ended;
    }
  });
});
