// `joulie power import` and `joulie power test --all` on a real control plane, whose machines have simulated BMCs.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PowerEndpoint, powerEndpointKind } from "../../src/core/api/index.ts";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { run } from "../../src/programs/cli/index.ts";
import { programs } from "../../src/programs/index.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { METAL, ScriptedMetal3 } from "./scripted-metal3.ts";
import { SleepScene } from "./sleep-scene.ts";

const NAMESPACE = "joulie-system";
const PASSWORD = "correct horse";
const endpointsPath = "/apis/joulie.io/v1alpha1/powerendpoints";
const drainedForTest = "joulie.io/drained-for-test";
const zoneLabel = "topology.kubernetes.io/zone";
const program = join(import.meta.dirname, "../../bin/joulie.mjs");
/** Two zones of three nodes: the first and the last three. */
const nodes = ["sim-000", "sim-001", "sim-002", "sim-003", "sim-004", "sim-005"];
const zoneOfNode = (node: string) => (nodes.indexOf(node) < 3 ? "a" : "b");
/** Where pods run that are evicted, lonely, or on a node that a user has cordoned. */
const [guardedOn, lonelyOn, cordonedByUser] = ["sim-000", "sim-001", "sim-005"] as const;

interface LiveNode {
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly unschedulable?: boolean };
}
interface LivePod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly phase: string };
}

describe("many machines on a real control plane", () => {
  let plane: ControlPlane;
  let scene: SleepScene;
  let folder: string;
  let hosts: string;
  /** Nodes in the order in which their machines were shut down, and those of whose zone another one was not on then. */
  const shutdowns: string[] = [];
  const crowded: string[] = [];

  const joulie = async (...args: readonly string[]) => {
    let text = "";
    const write = (more: string) => {
      text += more;
    };
    const machine = { isTerminal: false, exists: () => false };
    const env = { KUBECONFIG: plane.admin.kubeconfig };
    const code = await run(["power", ...args], programs, { env, machine, out: write, err: write, columns: 400 });
    return { code, text };
  };
  /** Starts the command as a process of its own, which can be interrupted. */
  const interruptible = (...args: readonly string[]) => {
    const env = { ...process.env, KUBECONFIG: plane.admin.kubeconfig };
    const child = spawn(process.execPath, [program, "power", ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
    const closed = once(child, "close");
    return async () => {
      child.kill("SIGINT");
      const [code] = (await closed) as [number | null];
      return { code, text };
    };
  };
  const listed = async <Item>(path: string) => (await plane.api.get<{ readonly items: readonly Item[] }>(path)).items;
  const node = async (name: string) => plane.api.get<LiveNode>(`/api/v1/nodes/${name}`);
  /** Nodes that are cordoned, or marked as cordoned for a test. */
  const cordoned = async () =>
    (await listed<LiveNode>("/api/v1/nodes"))
      .filter(
        ({ metadata, spec }) => spec.unschedulable === true || metadata.annotations?.[drainedForTest] !== undefined,
      )
      .map(({ metadata }) => metadata.name);
  const proven = async () =>
    (await listed<PowerEndpoint>(endpointsPath))
      .filter(({ status }) => status?.wakeProven === true)
      .map(({ metadata }) => metadata.name);
  const runningPod = async (prefix: string): Promise<LivePod | undefined> =>
    (await listed<LivePod>("/api/v1/namespaces/default/pods")).find(
      ({ metadata, status }) =>
        metadata.name.startsWith(prefix) && metadata.deletionTimestamp === undefined && status.phase === "Running",
    );
  /** One replica, which prefers a node and may run on others. */
  const deploy = async (name: string, preferred: string) => {
    const labels = { app: name, "joulie.io/simulated": "true" };
    const isThere = [{ key: "kubernetes.io/hostname", operator: "In", values: [preferred] }];
    const terms = [{ weight: 100, preference: { matchExpressions: isThere } }];
    await plane.api.create("/apis/apps/v1/namespaces/default/deployments", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name },
      spec: {
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels },
          spec: {
            affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: terms } },
            containers: [{ name: "main", image: "none", resources: { requests: { cpu: "1" } } }],
            terminationGracePeriodSeconds: 1,
          },
        },
      },
    });
    const pod = await eventually(async () => runningPod(name));
    expect(pod.spec.nodeName).toBe(preferred);
    return pod;
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "joulie-bulk-"));
    const controllers = ["deployment-controller", "replicaset-controller", "disruption-controller"];
    plane = await startControlPlane({ scheduler: {}, controllerManager: controllers });
    const flags = { HEARTBEAT_INTERVAL: "2s", REDFISH_PASSWORD: PASSWORD, REDFISH_SECRET: "bmc" };
    scene = await SleepScene.open(plane, { nodes: nodes.length, flags, prove: false });
    // As before an import: the fleet describes its own switches.
    await eventually(async () => (await scene.endpoints()).length === nodes.length);
    for (const name of nodes) {
      await plane.api.remove(`${endpointsPath}/${name}`);
      const labels = { "joulie.io/managed": null, "joulie.io/may-sleep": null, [zoneLabel]: zoneOfNode(name) };
      await plane.api.mergePatch(`/api/v1/nodes/${name}`, { metadata: { labels } });
    }
    scene.onPress = (name, action) => {
      if (action !== "shutdown") return;
      shutdowns.push(name);
      const others = Array.from(scene.fleet.datacenter.machines()).filter(
        ({ spec, power }) => spec.name !== name && zoneOfNode(spec.name) === zoneOfNode(name) && power !== "on",
      );
      if (others.length > 0) crowded.push(name);
    };
    hosts = join(folder, "hosts.csv");
    const lines = nodes.map((name) => `${name},${scene.fleet.url},bmc,${name},true`);
    writeFileSync(hosts, ["node,address,secret,system,insecure", ...lines, ""].join("\n"));
  });
  afterAll(async () => {
    await scene?.close();
    await plane?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("SLP-81 shows what it would write, and that a Secret is missing, and writes nothing", async () => {
    const { code, text } = await joulie("import", hosts);
    expect(code).toBe(0);
    expect(text).toContain("6 to create, 0 to change, 0 as they are, 0 rejected");
    expect(text).toContain(
      `Secret bmc does not exist: kubectl -n ${NAMESPACE} create secret generic bmc --from-literal=username=`,
    );
    expect(text).toContain("dry run: nothing was written");
    expect(await listed(endpointsPath)).toEqual([]);
    expect((await node("sim-000")).metadata.labels).not.toHaveProperty(["joulie.io/may-sleep"]);
  });

  it("SLP-81 writes PowerEndpoints and labels, and gives the command for a Secret that does not name its hosts", async () => {
    await plane.api.create(`/api/v1/namespaces/${NAMESPACE}/secrets`, {
      metadata: { name: "bmc" },
      stringData: { username: "joulie", password: PASSWORD },
    });
    const { code, text } = await joulie("import", hosts, "--yes");
    expect(code).toBe(0);
    const { url } = scene.fleet;
    expect(text).toContain(
      `Secret bmc may not be sent to 6 of 6 switches, such as ${url}: kubectl -n ${NAMESPACE} annotate --overwrite secret bmc joulie.io/hosts=${url}\n`,
    );
    const written = await listed<PowerEndpoint>(endpointsPath);
    expect(written.map(({ spec }) => spec)).toEqual(
      nodes.map((nodeName) => ({
        nodeName,
        redfish: {
          address: url,
          systemId: nodeName,
          credentialsSecretRef: { name: "bmc" },
          insecureSkipVerify: true,
        },
      })),
    );
    for (const name of nodes)
      expect((await node(name)).metadata.labels).toMatchObject({
        "joulie.io/managed": "true",
        "joulie.io/may-sleep": "true",
      });
  });

  it("SLP-81 finds nothing to do in a second run, and no fault in a Secret once its command has run", async () => {
    const before = await joulie("import", hosts, "--yes");
    expect(before.text).toContain("0 to create, 0 to change, 6 as they are, 0 rejected");
    const [, command = ""] = /: kubectl (.*)\n/.exec(before.text) ?? [];
    await plane.kubectl(command.split(" "));
    const { code, text } = await joulie("import", hosts);
    expect(code).toBe(0);
    expect(text).toContain("6 as they are");
    expect(text).not.toContain("Secret");
  });

  it("SLP-81 rejects unknown nodes and control-plane nodes, and imports the others", async () => {
    await plane.createNodes(["cp"], { labels: { "node-role.kubernetes.io/control-plane": "" } });
    const file = join(folder, "bad.csv");
    writeFileSync(file, `node,address\ncp,10.9.0.1\nmissing,10.9.0.2\n`);
    const { code, text } = await joulie("import", file, "--yes");
    expect(code).toBe(1);
    expect(text).toMatch(/cp +reject .*a control-plane node is never switched off/);
    expect(text).toMatch(/missing +reject .*line 3: the cluster has no node of this name/);
    expect(await listed(endpointsPath)).toHaveLength(nodes.length);
    await plane.api.remove("/api/v1/nodes/cp");
  });

  it("SLP-82 evicts no pod that a PodDisruptionBudget keeps, and uses its node again", async () => {
    const before = await deploy("guarded", guardedOn);
    await plane.api.create("/apis/policy/v1/namespaces/default/poddisruptionbudgets", {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "guarded" },
      spec: { minAvailable: 1, selector: { matchLabels: { app: "guarded" } } },
    });
    const { code, text } = await joulie("test", guardedOn, "--drain", "--drain-timeout", "2s");
    expect({ code, text }).toMatchObject({
      code: 1,
      text: expect.stringContaining(
        `${guardedOn}: skipped: a PodDisruptionBudget kept pod default/${before.metadata.name} on it for 2s`,
      ) as string,
    });
    expect((await runningPod("guarded"))?.metadata.uid).toBe(before.metadata.uid);
    expect([await cordoned(), shutdowns]).toEqual([[], []]);
  });

  it("SLP-82 never evicts a pod without a controller", async () => {
    await scene.createPods("lonely", 1, 1, { nodeName: lonelyOn });
    const before = await eventually(async () => runningPod("lonely"));
    const { code, text } = await joulie("test", lonelyOn, "--drain");
    expect(code).toBe(1);
    expect(text).toContain(`${lonelyOn}: skipped: no controller would create pod default/lonely-0 again`);
    expect((await runningPod("lonely"))?.metadata.uid).toBe(before.metadata.uid);
    expect([await cordoned(), shutdowns]).toEqual([[], []]);
  });

  it("SLP-83 leaves nothing cordoned when it is interrupted while it drains a node", async () => {
    const interrupt = interruptible("test", guardedOn, "sim-003", "--drain", "--concurrency", "2");
    await eventually(async () => (await cordoned()).includes(guardedOn));
    await eventually(() => shutdowns.includes("sim-003"));
    const { code, text } = await interrupt();
    expect(code).toBe(1);
    expect(text).toContain("it ends when the machines that are being tested are on again");
    expect(text).toContain(`${guardedOn}: skipped: interrupted`);
    expect(text).toMatch(/sim-003: proven: awake after \d+ s/);
    expect([await cordoned(), await proven(), shutdowns]).toEqual([[], ["sim-003"], ["sim-003"]]);
  });

  it("SLP-83 begins no further test after an interruption", async () => {
    await deploy("mover", cordonedByUser);
    await plane.kubectl(["cordon", cordonedByUser]);
    const interrupt = interruptible("test", "--all", "--drain", "--concurrency", "1");
    const first = await eventually(() => shutdowns[1]);
    const { code, text } = await interrupt();
    expect(code).toBe(1);
    expect(text).toContain("1 proven, 0 failed, 4 skipped");
    expect([await cordoned(), shutdowns]).toEqual([[cordonedByUser], ["sim-003", first]]);
    expect((await proven()).toSorted()).toEqual(["sim-003", first].toSorted());
  });

  it("SLP-82 SLP-83 tests what is left, moves pods that their budget lets go, and keeps a user's cordon", async () => {
    const before = [await runningPod("guarded"), await runningPod("mover"), await runningPod("lonely")];
    await plane.api.mergePatch("/apis/policy/v1/namespaces/default/poddisruptionbudgets/guarded", {
      spec: { minAvailable: null, maxUnavailable: 1 },
    });
    const { code, text } = await joulie("test", "--all", "--drain", "--concurrency", "2");
    expect({ code, text }).toMatchObject({
      code: 1,
      text: expect.stringContaining("3 proven, 0 failed, 1 skipped") as string,
    });
    expect(text).toMatch(new RegExp(`${lonelyOn} +skipped +no controller would create pod default/lonely-0 again`));
    // Each machine was switched once in all runs, and at most one of a zone at the same time.
    expect(shutdowns.toSorted()).toEqual(nodes.filter((name) => name !== lonelyOn));
    expect([crowded, scene.losses, await cordoned()]).toEqual([[], [], [cordonedByUser]]);
    expect((await proven()).toSorted()).toEqual(nodes.filter((name) => name !== lonelyOn));
    const after = await eventually(async () => {
      const pods = [await runningPod("guarded"), await runningPod("mover"), await runningPod("lonely")];
      return pods.every((pod) => pod !== undefined) && pods;
    });
    const isSame = after.map((pod, index) => pod?.metadata.uid === before[index]?.metadata.uid);
    expect(isSame).toEqual([false, false, true]);
  });

  it("SLP-83 has nothing to test once all wakes are proven", async () => {
    await plane.api.remove("/api/v1/namespaces/default/pods/lonely-0?gracePeriodSeconds=0");
    expect(await joulie("test", "--all")).toMatchObject({
      code: 0,
      text: expect.stringContaining("1 proven") as string,
    });
    expect(await joulie("test", "--all")).toMatchObject({
      code: 0,
      text: expect.stringContaining("no node has to be tested") as string,
    });
    expect(shutdowns).toHaveLength(nodes.length);
  });

  it("SLP-81 imports the BareMetalHosts that nodes name in their provider IDs", async () => {
    const missing = await joulie("import", "--metal3", METAL);
    expect(missing.code).toBe(1);
    expect(missing.text).toContain("Metal3");
    await ScriptedMetal3.install(plane);
    for (const name of ["host-1", "host-2", "spare"]) await ScriptedMetal3.createHost(plane, name);
    for (const [name, host] of [
      ["metal-1", "host-1"],
      ["metal-2", "host-2"],
    ])
      await plane.api.create("/api/v1/nodes", {
        metadata: { name },
        spec: { providerID: `metal3://${METAL}/${host}/${host}` },
      });
    const { code, text } = await joulie("import", "--metal3", METAL, "--yes");
    expect({ code, text }).toMatchObject({ code: 0, text: expect.stringContaining("2 to create") as string });
    expect(text).toContain("spare");
    for (const [name, host] of [
      ["metal-1", "host-1"],
      ["metal-2", "host-2"],
    ]) {
      const { kind, spec } = await plane.api.get<PowerEndpoint & { readonly kind: string }>(`${endpointsPath}/${name}`);
      expect([kind, spec]).toEqual([
        powerEndpointKind.kind,
        { nodeName: name, metal3: { namespace: METAL, name: host } },
      ]);
    }
    expect((await joulie("import", "--metal3", METAL)).text).toContain("2 as they are");
  });
});
