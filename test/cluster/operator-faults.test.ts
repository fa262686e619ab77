// The operator while the cluster fails around it. Beside it stands a witness: the rules hold at every version there ever was.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { apiVersion, labels, type NodeTwin } from "../../src/core/api/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { parseConfig } from "../../src/platform/config/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { operatorConfig } from "../../src/programs/operator/config.ts";
import { operatorPermissions } from "../../src/programs/operator/permissions.ts";
import { runOperator } from "../../src/programs/operator/start.ts";
import { reach } from "../contract/reach.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import type { Identity } from "../controlplane/identities.ts";
import { type Circumstances, judge, type Verdict } from "./safety.ts";
import { TappedTransport } from "./tapped-transport.ts";
import { Witness } from "./witness.ts";

const soon = { timeout: 60_000, interval: 100 };
const pods = "/api/v1/namespaces/default/pods";
const twins = `/apis/${apiVersion}/nodetwins`;
const profiles = `/apis/${apiVersion}/nodepowerprofiles`;
const lease = "/apis/coordination.k8s.io/v1/namespaces/joulie-system/leases/joulie-operator";
const admission = "/apis/admissionregistration.k8s.io/v1";
const main = join(import.meta.dirname, "../../src/main.ts");
const settings = { METRICS_ADDR: "127.0.0.1:0", RECONCILE_INTERVAL: "1s" };

/** Longer than a leader may go without a renewal (10 s): from then on it leads no more, however long it takes. */
const BEYOND_RENEWAL_MS = 13_000;

interface Listed<Item> {
  readonly items: readonly (Item & { readonly metadata: { readonly name: string } })[];
}

describe("the operator through faults of a real control plane", () => {
  let plane: ControlPlane;
  let identity: Identity;
  let other: Identity;
  let witness: Witness;
  let running: { readonly stop: () => Promise<void>; readonly tap: TappedTransport }[] = [];
  let nodes: string[] = [];
  let tests = 0;

  beforeAll(async () => {
    plane = await startControlPlane({ audit: true });
    identity = await plane.identity(operatorPermissions("joulie-system"), { name: "operator-a" });
    other = await plane.identity(operatorPermissions("joulie-system"), { name: "operator-b" });
  });
  afterAll(async () => plane.stop());
  beforeEach(async () => {
    running = [];
    tests++;
    nodes = ["a", "b", "c", "d", "e", "f"].map((name) => `${name}-${tests}`);
    witness = new Witness(plane.admin);
    await witness.start();
    await plane.createNodes(nodes, { labels: { [labels.managed]: "true" } });
  });
  afterEach(async () => {
    await Promise.all(running.map(async ({ stop }) => stop()));
    await witness.stop();
    for (const path of [pods, "/api/v1/nodes", profiles, twins]) {
      const { items } = await plane.api.get<Listed<object>>(path);
      for (const { metadata } of items) {
        await plane.api.text("DELETE", `${path}/${metadata.name}?gracePeriodSeconds=0`).catch(() => "");
      }
    }
  });

  function start(who = identity, variables: Readonly<Record<string, string>> = {}) {
    const env = { ...settings, POD_NAME: "operator-0", ...variables };
    const parsed = parseConfig(operatorConfig, { env, flags: {}, machine: { isTerminal: false, exists: () => false } });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
    const lines: string[] = [];
    const log = createLogger({
      level: "info",
      program: "operator",
      destination: { write: (line) => lines.push(line) },
    });
    const tap = new TappedTransport(reach(who.server, who.token, who.ca));
    const stop = new AbortController();
    const world = { transport: tap, clock: systemClock, ioClock: systemClock, random: systemRandom, log };
    const done = runOperator(parsed.value.values, world, stop.signal);
    const logged = (message: string) =>
      lines.map((line) => JSON.parse(line) as { msg: string; url: string }).filter(({ msg }) => msg === message);
    const operator = {
      tap,
      logged,
      page: async (path: string) => {
        const [serving] = await vi.waitUntil(() => {
          const found = logged("serving metrics, health and /debug/plan");
          return found.length > 0 ? found : undefined;
        }, soon);
        return (await fetch(new URL(path, serving?.url))).text();
      },
      stop: async () => {
        stop.abort();
        await done;
        await tap.close();
      },
    };
    running.push(operator);
    return operator;
  }

  const label = async (name: string, own: Readonly<Record<string, string | null>>) =>
    plane.api.mergePatch(`/api/v1/nodes/${name}`, { metadata: { labels: own } });
  /** The three densest nodes are planned for performance. */
  const plan = async (dense: readonly string[]) => {
    for (const name of nodes) await label(name, { "joulie.io/hw.cpu-cores": dense.includes(name) ? "512" : null });
  };
  const finish = async (name: string) =>
    plane.api.mergePatch(`${pods}/${name}/status`, { status: { phase: "Succeeded" } });
  async function bind(name: string, node: string) {
    await plane.createPods([name], { annotations: { "joulie.io/workload-class": "performance" } });
    const target = { apiVersion: "v1", kind: "Node", name: node };
    await plane.api.create(`${pods}/${name}/binding`, {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name },
      target,
    });
  }

  /** Pods come and go and plans change, through whatever happens meanwhile; in the end no pod is left. */
  async function unrest(work: () => Promise<void>): Promise<void> {
    const over = new AbortController();
    const names: string[] = [];
    const rounds = (async () => {
      for (let round = 0; !over.signal.aborted; round++) {
        // Refused where the server is away: that is the fault, not the test's.
        const tried = async (what: Promise<unknown>) => what.catch(() => undefined);
        const name = `pod-${tests}-${round}`;
        names.push(name);
        await tried(bind(name, nodes[(round * 5) % 6] ?? ""));
        const old = names[round - 3];
        if (old !== undefined) await tried(finish(old));
        if (round % 5 === 0) await tried(plan([0, 1, 2].map((index) => nodes[(index + round / 5) % 6] ?? "")));
        await sleep(400, undefined, { signal: over.signal }).catch(() => undefined);
      }
    })();
    await work();
    over.abort();
    await rounds;
    const { items } = await plane.api.get<Listed<object>>(pods);
    for (const { metadata } of items) await finish(metadata.name);
  }

  async function shown(name: string): Promise<string> {
    const { spec, status } = await plane.api.get<NodeTwin>(`${twins}/${name}`);
    const { metadata } = await plane.api.get<{ metadata: { name: string; labels: Record<string, string> } }>(
      `/api/v1/nodes/${name}`,
    );
    const own = [metadata.labels[labels.powerProfile], metadata.labels[labels.draining]];
    return [spec.profile, spec.cpu?.packagePowerCapPctOfMax, status?.schedulableClass, ...own].join(" ");
  }
  const performance = "performance 100 performance performance false";
  const eco = "eco 60 eco eco false";
  const wanted = (dense: readonly string[]): Record<string, string> =>
    Object.fromEntries(nodes.map((name) => [name, dense.includes(name) ? performance : eco]));
  const comesToShow = async (wanted: Readonly<Record<string, string>>) =>
    vi.waitFor(async () => {
      const found = await Promise.all(Object.keys(wanted).map(async (name) => [name, await shown(name)] as const));
      expect(Object.fromEntries(found)).toEqual(wanted);
    }, soon);
  /** That the cluster comes to be as planned, by way of a plan that differs from the last one. */
  async function converges(): Promise<void> {
    for (const dense of [nodes.slice(0, 3), nodes.slice(3)]) {
      await plan(dense);
      await comesToShow(wanted(dense));
    }
  }
  async function verdict(more: Partial<Circumstances> = {}): Promise<Verdict> {
    return judge(await witness.history(), { writes: running.flatMap(({ tap }) => tap.writes), ...more });
  }
  const writesOf = (user: string) =>
    plane
      .audited()
      .filter((one) => one.user === user && ["patch", "create", "delete"].includes(one.verb))
      .filter(({ resource }) => resource === "nodes" || resource === "nodetwins");

  it("X-22 holds to its order while pods come and go, with nothing failing", async () => {
    start();
    await unrest(async () => sleep(10_000));
    await converges();
    const { broken, lowered, drained } = await verdict();
    expect(broken).toEqual([]);
    expect(lowered).toBeGreaterThan(3);
    expect(drained).toBeGreaterThan(0);
    expect(witness.gaps).toBe(0);
  });

  it("the witness sees eco caps under a performance pod where they are asked for", async () => {
    await plan(nodes.slice(0, 3));
    await bind("worker", nodes[3] ?? "");
    start(identity, { DRAINING_CAPS: "eco" });
    await comesToShow({ ...wanted(nodes.slice(0, 3)), [nodes[3] ?? ""]: "eco 60 draining eco true" });
    const { broken } = await verdict();
    expect(broken.join()).toMatch(/^d-\d+ at \d+: eco caps although worker had been seen by \d+,/);
  });

  it("X-22 an API server frozen for longer than a lease lasts: it leads again, converges, and was safe all along", async () => {
    const operator = start();
    await unrest(async () => {
      await sleep(4000);
      plane.apiserver.freeze();
      await sleep(BEYOND_RENEWAL_MS);
      plane.apiserver.thaw();
      await sleep(3000);
    });
    expect(operator.logged("no longer leading").length).toBe(1);
    await converges();
    expect((await verdict()).broken).toEqual([]);
    expect(operator.logged("leading").length).toBe(2);
    expect(witness.gaps).toBe(0);
  });

  it("X-22 an API server that crashes and comes back", async () => {
    start();
    await unrest(async () => {
      await sleep(4000);
      await plane.apiserver.kill();
      await plane.apiserver.start();
      await sleep(3000);
    });
    await converges();
    const { broken, lowered } = await verdict();
    expect(broken).toEqual([]);
    expect(lowered).toBeGreaterThan(2);
  });

  it("X-22 an etcd that is restarted under the API server", async () => {
    start();
    await unrest(async () => {
      await sleep(4000);
      await plane.etcd.stop();
      await sleep(3000);
      await plane.etcd.start();
      await sleep(3000);
    });
    await converges();
    const { broken, lowered } = await verdict();
    expect(broken).toEqual([]);
    expect(lowered).toBeGreaterThan(2);
  });

  it("X-55 a rival who keeps writing one node's labels and targets: conflicts stay on that node, and it is safe too", async () => {
    const operator = start(identity, { WRITE_NODE_POWER_PROFILES: "true" });
    await plan(nodes.slice(0, 3));
    await comesToShow(wanted(nodes.slice(0, 3)));
    const [contested = ""] = nodes;
    await bind("held", contested);
    const foreign = new Set<number>();
    const over = new AbortController();
    const rival = async (path: string, patch: (round: number) => object) => {
      for (let round = 0; !over.signal.aborted; round++) {
        const answer = await plane.api.mergePatch<{ metadata: { resourceVersion: string } }>(path, patch(round));
        foreign.add(Number(answer.metadata.resourceVersion));
        await sleep(20);
      }
    };
    const specs = [
      { profile: "eco", scheduling: { draining: false }, cpu: { packagePowerCapPctOfMax: 100 } },
      { profile: "performance", scheduling: { draining: false } },
    ];
    const rivals = Promise.all([
      rival(`${twins}/${contested}`, (round) => ({ spec: specs[round % 2] })),
      rival(`/api/v1/nodes/${contested}`, (round) => ({
        metadata: { labels: { [labels.powerProfile]: ["eco", "performance"][round % 2] } },
      })),
      rival(`${profiles}/${contested}`, (round) => ({ metadata: { annotations: { round: String(round) } } })),
    ]);
    for (const dense of [nodes.slice(3), nodes.slice(0, 3)]) {
      await plan(dense);
      const { [contested]: _, ...others } = wanted(dense);
      await comesToShow(others);
    }
    await plan(nodes.slice(3));
    await sleep(2000);
    over.abort();
    await rivals;
    await comesToShow({ ...wanted(nodes.slice(3)), [contested]: "eco 100 draining eco true" });
    await finish("held");
    await comesToShow(wanted(nodes.slice(3)));
    const { broken, lowered } = await verdict({ contested: [contested], foreign });
    expect(broken).toEqual([]);
    expect(lowered).toBeGreaterThan(5);
    expect(foreign.size).toBeGreaterThan(100);
    const conflicts = plane.audited().filter(({ user, code }) => user === identity.user && code === 409);
    expect(conflicts.length).toBeGreaterThan(0);
    expect(new Set(conflicts.map(({ path }) => path.split("?")[0]?.split("/").at(-1)))).toEqual(new Set([contested]));
    expect(operator.logged("a pass failed; the next one tries again")).toEqual([]);
  });

  it("X-55 writes that are forbidden for one node: the others are served, it is told once, and it heals", async () => {
    const operator = start();
    await plan(nodes.slice(0, 3));
    await comesToShow(wanted(nodes.slice(0, 3)));
    const forbidden = nodes[3] ?? "";
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
    const touch = async () =>
      plane.api.mergePatch(`${twins}/${forbidden}`, { metadata: { annotations: { a: `${Date.now()}` } } });
    await vi.waitUntil(
      async () =>
        touch().then(
          () => undefined,
          () => true,
        ),
      soon,
    );

    await plan(nodes.slice(3));
    const { [forbidden]: _, ...others } = wanted(nodes.slice(3));
    await comesToShow({ ...others, [forbidden]: eco });
    const page = await vi.waitUntil(async () => {
      const text = await operator.page(`/debug/plan?node=${forbidden}`);
      return text.includes(name) ? (JSON.parse(text) as { failure: string; profile: string }) : undefined;
    }, soon);
    expect(page).toMatchObject({ profile: "performance", failure: expect.stringContaining(name) });
    expect(await operator.page("/metrics")).toMatch(/^joulie_operator_write_errors_total\{kind="spec"\} [1-9]/m);
    await sleep(3000);
    await plane.api.remove(`${admission}/validatingadmissionpolicybindings/${name}`);
    await comesToShow(wanted(nodes.slice(3)));
    const events = await plane.api.get<Listed<{ reason: string; regarding: { name: string } }>>(
      "/apis/events.k8s.io/v1/namespaces/default/events",
    );
    const failures = events.items.filter(
      ({ reason, regarding }) => reason === "WriteFailed" && nodes.includes(regarding.name),
    );
    expect(failures.map(({ regarding }) => regarding.name)).toEqual([forbidden]);
    expect((await verdict()).broken).toEqual([]);
    await plane.api.remove(`${admission}/validatingadmissionpolicies/${name}`);
  });

  it("X-24 without the right to read pods no node goes down, yet all are published; with it they do", async () => {
    const rules = operatorPermissions("joulie-system");
    const blind = await plane.identity(
      rules.filter(({ resources }) => !resources.includes("pods")),
      { name: "blind" },
    );
    await bind("worker", nodes[3] ?? "");
    await plan(nodes.slice(0, 3));
    start(blind);
    await comesToShow(Object.fromEntries(nodes.map((name) => [name, performance])));
    await sleep(2500);
    expect((await verdict()).lowered).toBe(0);
    const role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/joulie-system-blind";
    await plane.api.mergePatch(role, { rules: rules.filter(({ namespace }) => namespace === undefined) });
    await comesToShow({ ...wanted(nodes.slice(0, 3)), [nodes[3] ?? ""]: "eco 100 draining eco true" });
    const { broken, lowered } = await verdict();
    expect({ broken, lowered }).toEqual({ broken: [], lowered: 2 });
  });

  it("X-57 of two operators one decides: the leader's process stands still, comes back, and its successor's lease is taken", async () => {
    const env = { ...process.env, ...settings, KUBECONFIG: identity.kubeconfig, POD_NAME: "first", LOG_LEVEL: "error" };
    const child = spawn(process.execPath, [main, "operator"], { stdio: "inherit", env });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    try {
      const holder = async () =>
        plane.api.get<{ spec: { holderIdentity: string } }>(lease).then(
          ({ spec }) => spec.holderIdentity.split("_")[0],
          () => undefined,
        );
      const leads = async (name: string) => vi.waitFor(async () => expect(await holder()).toBe(name), soon);
      await leads("first");
      start(other, { POD_NAME: "second" });
      await converges();
      expect(writesOf(other.user)).toEqual([]);

      child.kill("SIGSTOP");
      const byFirst = writesOf(identity.user).length;
      await bind("worker", nodes[4] ?? "");
      await plan(nodes.slice(0, 3));
      await leads("second");
      await comesToShow({ ...wanted(nodes.slice(0, 3)), [nodes[4] ?? ""]: "eco 100 draining eco true" });
      // The first one wakes up with a plan from before the pod was there, and still believes in its lease.
      child.kill("SIGCONT");
      await finish("worker");
      await plan(nodes.slice(1, 4));
      await comesToShow(wanted(nodes.slice(1, 4)));
      expect(writesOf(identity.user).length).toBe(byFirst);

      const thief = { holderIdentity: "thief", renewTime: new Date().toISOString().replace("Z", "000Z") };
      await plane.api.mergePatch(lease, { spec: thief });
      await sleep(4000);
      const bySecond = writesOf(other.user).length;
      await plan(nodes.slice(3));
      await sleep(4000);
      expect([writesOf(identity.user).length, writesOf(other.user).length]).toEqual([byFirst, bySecond]);
      await comesToShow(wanted(nodes.slice(3)));
      expect((await verdict()).broken).toEqual([]);
      expect(witness.gaps).toBe(0);
    } finally {
      child.kill("SIGCONT");
      child.kill("SIGTERM");
      await ended;
    }
  });
});
