// A real kubelet and an agent that sleep and wake: their switch is a webhook that stops and starts them.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiVersion, declaredHardwareLabels, type NodeTwin, type PowerEndpoint } from "../../src/core/api/index.ts";
import { milliseconds } from "../../src/core/units/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { watchFor } from "../../src/platform/clock/testing/index.ts";
import { journalFiles } from "../../src/platform/journal/index.ts";
import { KubeClient, type Transport } from "../../src/platform/kube/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { FakeHttpServer } from "../../src/platform/switch/testing/fake-http-server.ts";
import { agentConfig } from "../../src/programs/agent/config.ts";
import { hostRoots, openHost } from "../../src/programs/agent/host/open-host.ts";
import { runAgent } from "../../src/programs/agent/start.ts";
import { fleetConfig } from "../../src/programs/fleet/config.ts";
import { runFleet } from "../../src/programs/fleet/start.ts";
import { operatorConfig } from "../../src/programs/operator/config.ts";
import { runOperator } from "../../src/programs/operator/start.ts";
import { powerConfig } from "../../src/programs/power/config.ts";
import { testWake } from "../../src/programs/power/index.ts";
import { runPower } from "../../src/programs/power/start.ts";
import { createMachineFiles } from "../agent/machine-files.ts";
import { reach } from "../contract/reach.ts";
import { configured } from "../wiring/variable-table.ts";
import { type RealNode, startRealNode } from "./node.ts";

const NODE = "n1";
const node = `/api/v1/nodes/${NODE}`;
const twin = `/apis/${apiVersion}/nodetwins/${NODE}`;
const endpoints = `/apis/${apiVersion}/powerendpoints`;
const addresses = { METRICS_ADDR: "127.0.0.1:0" };

interface LiveNode {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly taints?: readonly { readonly key: string }[] };
  readonly status: {
    readonly conditions: readonly {
      readonly type: string;
      readonly status: string;
      readonly lastHeartbeatTime: string;
    }[];
  };
}

describe("a real node that sleeps", () => {
  let real: RealNode;
  let isOn = true;
  const actions: string[] = [];
  const lines: string[] = [];
  const running: (() => Promise<void>)[] = [];
  let stopAgent: (() => Promise<void>) | undefined;
  /** The agent's container starts only when this has resolved. */
  let agentMayStart: Promise<void> = Promise.resolve();
  /** The switch acts after it has answered, one action after the other. */
  let acting: Promise<void> = Promise.resolve();
  const act = async (action: string) => {
    if (action === "on" && !isOn) {
      await real.kubelet.start();
      void agentMayStart.then(startAgent);
    }
    if (action !== "on" && isOn) {
      await stopAgent?.();
      await real.kubelet.stop();
    }
    isOn = action === "on";
  };
  const machine = new FakeHttpServer(({ method, body }) => {
    if (method === "GET") return { json: { state: isOn ? "on" : "off" } };
    const { action } = JSON.parse(body) as { readonly action: string };
    actions.push(action);
    acting = acting.then(async () => act(action));
    return { status: 202 };
  });

  const start = (
    name: string,
    run: (world: ReturnType<typeof worldOf>, signal: AbortSignal) => Promise<void>,
  ): (() => Promise<void>) => {
    const world = worldOf(name);
    const ending = new AbortController();
    const done = run(world, ending.signal);
    const stop = async () => {
      ending.abort();
      await done;
      await world.transport.close();
    };
    running.unshift(stop);
    return stop;
  };
  const folder = () => join(real.folder, "machine");
  const startAgent = () => {
    const roots = { HOST_SYS_ROOT: join(folder(), "sys"), HOST_PROC_ROOT: join(folder(), "proc") };
    const own = { NODE_NAME: NODE, STATE_DIR: join(folder(), "state"), RECONCILE_INTERVAL: "1s" };
    const config = configured(agentConfig, { ...addresses, ...roots, ...own });
    stopAgent = start("agent", async (world, signal) =>
      runAgent(
        config,
        {
          ...world,
          openHost: async (catalogue) => openHost(config, hostRoots(config), systemClock, catalogue),
          journalFiles: journalFiles(config.STATE_DIR),
        },
        signal,
      ),
    );
  };
  const worldOf = (program: string) => {
    const { server, token, ca } = real.admin;
    const transport: Transport = reach(server, token, ca);
    const log = createLogger({ level: "warn", program, destination: { write: (line) => lines.push(line) } });
    return { transport, clock: systemClock, ioClock: systemClock, random: systemRandom, log };
  };
  const heartbeat = async () => {
    const { status } = await real.api.get<LiveNode>(node);
    const ready = status.conditions.find(({ type }) => type === "Ready");
    return ready?.status === "True" ? ready.lastHeartbeatTime : undefined;
  };
  const reportedAt = async () => (await real.api.get<NodeTwin>(twin)).status?.controlStatus?.cpu?.updatedAt;
  const stateOf = async () => (await real.api.get<NodeTwin>(twin)).status?.power?.state ?? "on";
  const isTainted = async () =>
    (await real.api.get<LiveNode>(node)).spec.taints?.some(({ key }) => key === "joulie.io/asleep") === true;

  beforeAll(async () => {
    real = await startRealNode();
    await real.kubectl(["apply", "--filename", join(import.meta.dirname, "../../charts/joulie/crds")]);
    await real.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
    await real.kubectl(["create", "namespace", "joulie-system"]);
    const url = await machine.listen();
    // Three other nodes, because a node sleeps only beside awake ones of its family and its zone.
    const flags = { ...addresses, SIMULATOR_ADDR: "127.0.0.1:0", NODES: "3", WORKLOAD: "none" };
    start("fleet", async (world, signal) => runFleet(configured(fleetConfig, flags), world, signal));
    const second = milliseconds(1000);
    const times = { settle: second, pollInterval: second, awakeAtLeast: second };
    start("power", async (world, signal) => runPower(configured(powerConfig, addresses), { ...world, times }, signal));
    await real.until("the simulated nodes are there", async () => {
      const { metadata } = await real.api.get<LiveNode>("/api/v1/nodes/sim-000");
      const { cpuModel, cpuSockets, cpuCores } = declaredHardwareLabels;
      const hardware = [cpuModel, cpuSockets, cpuCores].map((key) => [key, metadata.labels[key]]);
      const own = { "joulie.io/managed": "true", "joulie.io/may-sleep": "true" };
      await real.api.mergePatch(node, { metadata: { labels: { ...Object.fromEntries(hardware), ...own } } });
      // The agent finds the same processor, so that the node belongs to the family of the others.
      mkdirSync(folder(), { recursive: true });
      createMachineFiles(folder(), { cpus: 8, packages: 2, gpus: 0 });
      const cpuinfo = join(folder(), "proc/cpuinfo");
      const model = `model name\t: ${metadata.labels[cpuModel] ?? ""}`;
      writeFileSync(cpuinfo, readFileSync(cpuinfo, "utf8").replace(/^model name.*$/gm, model));
      return true;
    });
    startAgent();
    await real.api.create(endpoints, {
      apiVersion,
      kind: "PowerEndpoint",
      metadata: { name: NODE },
      spec: { nodeName: NODE, webhook: { url } },
    });
  });
  afterAll(async () => {
    for (const stop of running) await stop();
    await acting;
    await machine.close();
    await real?.stop();
  });

  it("SLP-21 proves its wake: the kubelet is stopped and started, and reports again", async () => {
    const { server, token, ca } = real.admin;
    const transport = reach(server, token, ca);
    const client = new KubeClient({ transport, clock: systemClock, random: systemRandom, fieldManager: "a-user" });
    const timeout = milliseconds(120_000);
    const { message } = await testWake({ client, clock: systemClock, timeout, node: NODE });
    await transport.close();
    expect({ message, actions, lines }).toMatchObject({
      message: expect.stringMatching(/^awake after \d+ s$/) as string,
      actions: ["shutdown", "on"],
    });
    expect((await real.api.get<PowerEndpoint>(`${endpoints}/${NODE}`)).status?.wakeProven).toBe(true);
  });

  it("SLP-10 SLP-52 sleeps while it is empty, wakes for a pending pod, and the pod runs once the agent reports", async () => {
    const variables = { ...addresses, RECONCILE_INTERVAL: "1s", SLEEP_MODE: "on", SLEEP_AFTER: "2s" };
    start("operator", async (world, signal) => runOperator(configured(operatorConfig, variables), world, signal));
    await real.until("the agent reports", async () => (await reportedAt()) !== undefined);
    await real.until("the node is off", async () => (await stateOf()) === "off");
    expect([isOn, await isTainted(), actions.at(-1)]).toEqual([false, true, "shutdown"]);
    const before = { heartbeat: await heartbeat(), report: await reportedAt() };
    const late = Promise.withResolvers<void>();
    agentMayStart = late.promise;

    const pods = "/api/v1/namespaces/default/pods";
    await real.api.create(pods, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "late" },
      spec: {
        nodeSelector: { "kubernetes.io/hostname": NODE },
        containers: [{ name: "main", image: "localhost/pause:1", imagePullPolicy: "Never" }],
        terminationGracePeriodSeconds: 1,
      },
    });
    await real.until("the kubelet is back", async () => {
      const now = await heartbeat();
      return now !== undefined && now !== before.heartbeat;
    });
    await watchFor(4000);
    expect([await stateOf(), await isTainted(), await reportedAt()]).toEqual(["waking", true, before.report]);
    late.resolve();
    await real.until("the pod runs", async () => {
      const { status } = await real.api.get<{ readonly status: { readonly phase: string } }>(`${pods}/late`);
      return status.phase === "Running";
    });
    expect([isOn, actions.at(-1), await isTainted()]).toEqual([true, "on", false]);
    await real.until("the node is on", async () => (await stateOf()) === "on");
    const events = await real.kubectl(["get", "events", "--output", "jsonpath={.items[*].message}"]);
    expect(events.stdout).toMatch(/waking node n1, about \d+ min/);
  });
});
