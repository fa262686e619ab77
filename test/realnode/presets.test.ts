// The three commands of the README, on a real node: from nothing to a capped node, a sleeping and a waking one, and back.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { stringify } from "yaml";
import { apiVersion, declaredHardwareLabels, type PowerEndpoint } from "../../src/core/api/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { FakeHttpServer } from "../../src/platform/switch/testing/fake-http-server.ts";
import { fleetConfig } from "../../src/programs/fleet/config.ts";
import type { PowerAction } from "../../src/programs/fleet/machines/datacenter.ts";
import { type RunningFleet, runFleet } from "../../src/programs/fleet/start.ts";
import { createMachineFiles, differences, drawPower, readTree } from "../agent/machine-files.ts";
import { reach } from "../contract/reach.ts";
import { configured } from "../wiring/variable-table.ts";
import { blocks, commandRunner, type RunCommands } from "./guide-commands.ts";
import type { Twin } from "./installation.ts";
import { type RealNode, startRealNode } from "./node.ts";

const readme = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8");
const commands = (blocks(readme, "sh")[0] ?? "").trim().split("\n");
const endpoints = `/apis/${apiVersion}/powerendpoints`;
const shape = { cpus: 8, packages: 2, gpus: 0 };
/** The machines of the list. They are simulated, because the only real node runs Joulie's pods. */
const MACHINES = 4;
const machines = Array.from({ length: MACHINES }, (_, index) => `sim-00${index}`);

interface LiveNode {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly taints?: readonly { readonly key: string }[] };
}

describe("the three commands of the README", () => {
  let node: RealNode;
  let folder: string;
  let fleet: RunningFleet;
  let run: RunCommands;
  let original: ReadonlyMap<string, string>;
  const ends: (() => Promise<void> | void)[] = [];
  const pressed: string[] = [];
  const sys = () => join(folder, "sys");
  /** A webhook for all machines: their names are the last part of its path. */
  const webhook = new FakeHttpServer(({ method, path, body }) => {
    const machine = fleet.datacenter.machine(path.slice(1));
    if (machine === undefined) return { status: 404 };
    if (method === "GET") return { json: { state: machine.power === "off" ? "off" : "on" } };
    const { action } = JSON.parse(body) as { readonly action: PowerAction };
    pressed.push(`${machine.spec.name} ${action}`);
    fleet.datacenter.press(machine, action);
    return { status: 202 };
  });
  const command = async (line = "") =>
    run(
      line
        .replaceAll("my-values.yaml", join(folder, "my-values.yaml"))
        .replaceAll("hosts.csv", join(folder, "hosts.csv")),
    );
  const twin = async (name: string) => node.api.get<Twin>(`/apis/${apiVersion}/nodetwins/${name}`);
  const off = () =>
    Array.from(fleet.datacenter.machines())
      .filter(({ power }) => power === "off")
      .map(({ spec }) => spec.name);
  const nodes = async () => (await node.api.get<{ readonly items: readonly LiveNode[] }>("/api/v1/nodes")).items;
  const asleep = async () =>
    (await nodes())
      .filter(({ spec }) => spec.taints?.some(({ key }) => key === "joulie.io/asleep"))
      .map(({ metadata }) => metadata.name);
  const isCapped = () => differences(readTree(sys()), original).length > 0;

  const startFleet = async () => {
    const { server, token, ca } = node.admin;
    const transport = reach(server, token, ca);
    const log = createLogger({ level: "fatal", program: "fleet" });
    const addresses = { METRICS_ADDR: "127.0.0.1:0", SIMULATOR_ADDR: "127.0.0.1:0" };
    const times = { BOOT_TIME: "2s", SHUTDOWN_TIME: "1s", FAILED_BOOTS: "0", POD_START: "0", HEARTBEAT_INTERVAL: "2s" };
    const flags = { ...addresses, ...times, NODES: String(MACHINES), WORKLOAD: "none" };
    const ending = new AbortController();
    const { promise: serving, resolve: onServing } = Promise.withResolvers<RunningFleet>();
    const world = { transport, clock: systemClock, ioClock: systemClock, random: systemRandom, log };
    const done = runFleet(configured(fleetConfig, flags), { ...world, onServing }, ending.signal);
    ends.unshift(async () => {
      ending.abort();
      await done;
      await transport.close();
    });
    fleet = await Promise.race([serving, done.then((): never => expect.fail("the fleet has ended"))]);
    await fleet.registered;
  };
  /** All nodes have the same processors, because a node sleeps only beside awake ones of its kind. */
  const equalize = async () => {
    const { cpuModel, cpuSockets, cpuCores, gpuModel, gpuCount } = declaredHardwareLabels;
    const model = "Intel-Xeon-Platinum-8480";
    const labels = { [cpuModel]: model, [cpuSockets]: "2", [cpuCores]: "112", [gpuModel]: null, [gpuCount]: null };
    for (const name of machines) await node.api.mergePatch(`/api/v1/nodes/${name}`, { metadata: { labels } });
    createMachineFiles(folder, shape);
    const cpuinfo = join(folder, "proc/cpuinfo");
    writeFileSync(cpuinfo, readFileSync(cpuinfo, "utf8").replace(/^model name.*$/gm, `model name\t: ${model}`));
    original = readTree(sys());
    ends.unshift(drawPower(folder, shape, 100));
  };
  const createPod = async (name: string, on: string, cpu: string, annotations: Readonly<Record<string, string>> = {}) =>
    node.api.create("/api/v1/namespaces/default/pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, annotations, labels: { "joulie.io/simulated": "true" } },
      spec: {
        nodeSelector: { "kubernetes.io/hostname": on },
        tolerations: [{ key: "joulie.io/simulated", operator: "Exists" }],
        containers: [{ name: "main", image: "none", resources: { requests: { cpu } } }],
        terminationGracePeriodSeconds: 1,
      },
    });
  const runs = async (name: string) =>
    node.until(`pod ${name} runs`, async () => {
      const path = `/api/v1/namespaces/default/pods/${name}`;
      return (await node.api.get<{ readonly status: { readonly phase: string } }>(path)).status.phase === "Running";
    });

  beforeAll(async () => {
    node = await startRealNode();
    folder = join(node.folder, "readme");
    mkdirSync(folder);
    await startFleet();
    await equalize();
    const url = await webhook.listen(node.network.hostAddress);
    const lines = machines.map((name) => `${name},${url}/{node},webhook`);
    writeFileSync(join(folder, "hosts.csv"), ["node,address,type", ...lines, ""].join("\n"));
    const host = { sysPath: sys(), procPath: join(folder, "proc"), statePath: join(folder, "state") };
    const times = { RECONCILE_INTERVAL: "2s" };
    const values = {
      image: { repository: "localhost/joulie", tag: "dev", pullPolicy: "Never" },
      agent: { host, env: times },
      // Simulated nodes have no agents, for which it would wait.
      check: { timeout: "5s" },
      operator: { env: { ...times, SLEEP_AFTER: "2s", PROFILE_MIN_DWELL: "2s" } },
    };
    writeFileSync(join(folder, "my-values.yaml"), stringify(values));
    await node.importImage(inject("image").archive);
    run = await commandRunner(node, folder);
    await run("kubectl create namespace joulie-system");
    await run("kubectl label namespace joulie-system pod-security.kubernetes.io/enforce=privileged");
    // The import labels the nodes of the list. This one is to be capped and never sleeps.
    await run('kubectl label node "$NODE" joulie.io/managed=true');
  });
  afterAll(async () => {
    for (const end of ends) await end();
    await webhook.close();
    await node?.stop();
  });

  it("are these", () => {
    expect(commands).toEqual([
      "helm install joulie charts/joulie --namespace joulie-system --values my-values.yaml --set power.enabled=true --wait",
      "node bin/joulie.mjs power import hosts.csv --yes && node bin/joulie.mjs power test --all",
      "helm upgrade joulie charts/joulie --namespace joulie-system --reset-then-reuse-values --set preset=energy-sleep --wait",
    ]);
    expect(readme).toContain("`--set preset=observe` takes everything back");
  });

  it("PRE-06 the first one observes", async () => {
    await command(commands[0]);
    await node.until("the agent reports", async () => (await twin(node.name)).status?.controlStatus?.cpu !== undefined);
    expect([isCapped(), pressed, off()]).toEqual([false, [], []]);
  });

  it("SLP-81 SLP-82 the second one describes the machines and proves each wake", async () => {
    const output = await command(commands[1]);
    expect(output).toContain(`${MACHINES} to create`);
    expect(output).toContain(`${MACHINES} proven, 0 failed, 0 skipped`);
    expect(pressed.toSorted()).toEqual(machines.flatMap((name) => [`${name} on`, `${name} shutdown`]));
    expect([isCapped(), off()]).toEqual([false, []]);
    // A node stays awake for five minutes after its test: these were an hour ago.
    const at = new Date(systemClock.now() - 3_600_000).toISOString();
    for (const name of machines) {
      const { status } = await node.api.get<PowerEndpoint>(`${endpoints}/${name}`);
      expect(status?.wakeProven).toBe(true);
      await node.api.mergePatch(`${endpoints}/${name}/status`, { status: { lastWake: { at }, lastSleep: { at } } });
    }
  });

  it("PRE-06 the third one caps a node without performance pods, and lets idle machines sleep", async () => {
    // It needs a node at full speed, and does not fit on the real one.
    const performance = { "joulie.io/workload-class": "performance" };
    await createPod("work", machines[0] ?? "", "16", performance);
    await runs("work");
    await command(commands[2]);
    await node.until("the real node is capped", async () => {
      expect((await twin(node.name)).status?.controlStatus?.cpu?.result).toBe("applied");
      return isCapped();
    });
    await node.until("a machine is off", async () => off().length > 0);
    expect(await asleep()).toEqual(expect.arrayContaining([...off()]));
    expect(off()).not.toContain(machines[0]);
  });

  it("PRE-06 a machine wakes for a pod", async () => {
    const [name = ""] = off();
    await createPod("late", name, "1");
    await runs("late");
    expect(pressed.findLast((press) => press.startsWith(name))).toBe(`${name} on`);
    expect(await asleep()).not.toContain(name);
  });

  it("PRE-09 and --set preset=observe wakes all machines and restores all limits", async () => {
    await node.until("another machine sleeps", async () => off().length > 0);
    await command(commands[2]?.replace("preset=energy-sleep", "preset=observe"));
    await node.until("all machines are on", async () => off().length === 0 && (await asleep()).length === 0);
    await node.until("the limits are as before", async () => !isCapped());
    expect(differences(readTree(sys()), original)).toEqual([]);
  });
});
