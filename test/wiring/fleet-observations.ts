// Observations for the table of the fleet's variables. Each starts a complete fleet on an in-memory API.
import type { RedfishEndpoint } from "../../src/core/api/index.ts";
import type { RawValues } from "../../src/platform/config/index.ts";
import { Scheduler } from "../../src/platform/embedded/index.ts";
import { type KubeObject, resources } from "../../src/platform/kube/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { seededRandom } from "../../src/platform/random/index.ts";
import { FleetTestHarness } from "../../src/programs/fleet/testing/fleet-test-harness.ts";
import { runJoulie, withApi } from "./started-program.ts";

/** Unused loopback addresses. */
export const [FREE, FREE_METRICS] = ["127.0.0.76:29878", "127.0.0.76:29879"];

async function simulating<Seen>(
  variables: RawValues,
  look: (harness: FleetTestHarness) => Promise<Seen>,
): Promise<Seen> {
  let ended = false;
  const harness = await FleetTestHarness.begin(variables as Record<string, string>, async ({ hand }) => {
    await hand.create(resources.namespaces, { metadata: { name: "batch" } });
  });
  const end = harness.end.bind(harness);
  harness.end = async () => {
    ended = true;
    await end();
  };
  try {
    return await look(harness);
  } finally {
    if (!ended) await end();
  }
}

/** The nodes in the cluster, and the addresses of the table on which the fleet listens. */
export const fleet = async (variables: RawValues): Promise<unknown> =>
  simulating(variables, async (harness) => {
    const nodes = await harness.nodes();
    return {
      nodes: nodes.length,
      first: nodes[0]?.metadata.name,
      tainted: nodes.every(({ spec }) => (spec?.taints ?? []).length > 0),
      cores: nodes.map(({ status }) => status?.allocatable?.["cpu"]).join(" "),
      seed: /"seed":(\d+)/.exec(harness.log)?.[1],
      served: harness.simulator.url === `http://${FREE}`,
      metrics: harness.simulator.metricsUrl === `http://${FREE_METRICS}`,
    };
  });

/** The jobs of the first minute. */
export const jobs = async (variables: RawValues): Promise<unknown> =>
  simulating({ WORKLOAD: "day", ...variables }, async (harness) => {
    await harness.pass(60);
    const pods = await harness.pods();
    const performance = pods.filter(({ metadata }) =>
      JSON.stringify(metadata).includes('"joulie.io/workload-class":"performance"'),
    );
    return {
      pods: pods.length,
      performance: performance.length,
      namespace: pods[0]?.metadata.namespace,
      scheduler: pods[0]?.spec["schedulerName"],
    };
  });

/** Whether many jobs arrive at half past ten. */
export const batch = async (variables: RawValues): Promise<boolean> =>
  simulating({ WORKLOAD: "day", NODES: "5", LOAD: "0.01", ...variables }, async (harness) => {
    await harness.pass(1790);
    const before = harness.simulator.jobs.submitted;
    await harness.pass(20);
    return harness.simulator.jobs.submitted - before > 5;
  });

/** Whether the cluster still has every submitted pod after some have finished. */
export const finishedKept = async (variables: RawValues): Promise<boolean> =>
  simulating({ WORKLOAD: "day", NODES: "5", ...variables }, async (harness) => {
    const log = createLogger({ level: "silent", program: "scheduler" });
    const scheduler = new Scheduler({ client: harness.hand, clock: harness.ioClock, random: seededRandom(9), log });
    scheduler.start();
    await harness.pass(300);
    const retained = (await harness.pods()).length === harness.simulator.jobs.submitted;
    let over = false;
    void scheduler.stop().then(() => (over = true));
    await harness.until(() => over);
    return retained;
  });

/** The state of a pod 20 s after its binding. */
export const phaseOfPod = async (variables: RawValues): Promise<unknown> =>
  simulating(variables, async (harness) => {
    await harness.createPod("p", "sim-000");
    await harness.pass(20);
    return (await harness.pod("p"))?.status?.phase;
  });

/** Number of renewals of a node's Lease per minute. */
export const renewals = async (variables: RawValues): Promise<number> =>
  simulating(variables, async (harness) => {
    const seen = new Set<unknown>();
    for (let second = 0; second < 60; second++) {
      await harness.pass(1);
      const lease = await harness.hand.get(resources.leases, { name: "sim-000", namespace: "kube-node-lease" });
      seen.add((lease as unknown as { spec: { renewTime: string } }).spec.renewTime);
    }
    return seen.size;
  });

/** Number of nodes that remain after the fleet has exited. */
export const leftBehind = async (variables: RawValues): Promise<number> =>
  simulating({ NODES: "3", ...variables }, async (harness) => {
    await harness.end();
    return (await harness.nodes()).length;
  });

/** Performance pods slowed by caps, on a node with CPUs capped to 100 W and one with GPUs capped to 100 W. */
export const slowedPods = async (variables: RawValues): Promise<unknown> =>
  simulating(variables, async (harness) => {
    const nodes = await harness.nodes();
    const hasGpus = (at: number) => JSON.stringify(nodes[at]?.status?.allocatable ?? {}).includes("/gpu");
    const cpuNode = nodes.findIndex((_, at) => !hasGpus(at));
    const gpuNode = nodes.findIndex((_, at) => hasGpus(at));
    const annotations = { "joulie.io/workload-class": "performance" };
    const command = async (at: number, body: object) => {
      const name = nodes[at]?.metadata.name ?? "";
      await harness.createPod(`on-${at}`, name, { annotations, cpu: "4" });
      const answer = await fetch(`${harness.simulator.url}/control/${name}`, {
        method: "POST",
        body: JSON.stringify(body),
      });
      await answer.text();
      return name;
    };
    const cpu = await command(cpuNode, { action: "rapl.set_power_cap_watts", capWatts: 100 });
    const gpu = await command(gpuNode, { action: "gpu.set_power_cap_watts", capWattsPerGpu: 100 });
    await harness.pass(10);
    const held = harness.simulator.datacenter.offences.first.map(({ node }) => node);
    return { cpu: held.includes(cpu), gpu: held.includes(gpu) };
  });

/** Whether simulated time is far ahead of real time. */
export const isFast = async (variables: RawValues): Promise<boolean> =>
  withApi(async ({ kubeconfig }) => {
    const flags = { NODES: "1", WORKLOAD: "none", SIMULATOR_ADDR: "127.0.0.1:0", METRICS_ADDR: "127.0.0.1:0" };
    const args = Object.entries({ ...flags, ...variables }).map(
      ([name, text]) => `--${name.toLowerCase().replaceAll("_", "-")}=${text}`,
    );
    const { stdout } = await runJoulie(["fleet", ...args], { KUBECONFIG: kubeconfig }, (output) =>
      output.includes("all simulated nodes are registered"),
    );
    return Number(/"simulatedSeconds":(\d+)/.exec(stdout)?.[1]) > 300;
  });

/** What a switchable fleet creates, and whether its Redfish service asks for a password. */
export const switches = async (variables: RawValues): Promise<unknown> =>
  simulating({ NODES: "2", ...variables }, async (harness) => {
    await harness.pass(5);
    const { items } = await harness.hand.listAll(resources.powerEndpoints);
    const [first] = items as readonly (KubeObject & { readonly spec?: { readonly redfish?: RedfishEndpoint } })[];
    const { address, credentialsSecretRef } = first?.spec?.redfish ?? {};
    const { status } = await fetch(`${harness.simulator.url}/redfish/v1/Systems`);
    return {
      endpoints: items.length,
      address: address === harness.simulator.url ? "its own" : address,
      secret: credentialsSecretRef?.name,
      tests: items.filter(({ metadata }) => metadata.annotations?.["joulie.io/test-power"] !== undefined).length,
      status,
    };
  });

/** The power state of a machine 20 s after a shutdown, 2 min later, and 5 min after it was switched on. */
export const powerStates = async (variables: RawValues): Promise<unknown> =>
  simulating({ NODES: "1", SLEEP: "true", ...variables }, async (harness) => {
    const { datacenter } = harness.simulator;
    const state = () => datacenter.machine("sim-000")?.power;
    const press = (action: "on" | "shutdown") => {
      const machine = datacenter.machine("sim-000");
      if (machine !== undefined) datacenter.press(machine, action);
    };
    press("shutdown");
    await harness.pass(20);
    const early = state();
    await harness.pass(120);
    const late = state();
    press("on");
    await harness.pass(300);
    return [early, late, state()].join(" ");
  });
