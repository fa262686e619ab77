// Observations for the table of the fleet's variables. Each starts a complete fleet on an in-memory API.
import type { RawValues } from "../../src/platform/config/index.ts";
import { Scheduler } from "../../src/platform/embedded/index.ts";
import { resources } from "../../src/platform/kube/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { seededRandom } from "../../src/platform/random/index.ts";
import { FleetTestHarness } from "../../src/programs/fleet/testing/fleet-test-harness.ts";
import { runJoulie, withApi } from "./started-program.ts";

/** Unused loopback addresses. */
export const [FREE, FREE_METRICS] = ["127.0.0.76:29878", "127.0.0.76:29879"];

async function simulating<Seen>(variables: RawValues, look: (trial: FleetTestHarness) => Promise<Seen>): Promise<Seen> {
  let ended = false;
  const trial = await FleetTestHarness.begin(variables as Record<string, string>, async ({ hand }) => {
    await hand.create(resources.namespaces, { metadata: { name: "batch" } });
  });
  const end = trial.end.bind(trial);
  trial.end = async () => {
    ended = true;
    await end();
  };
  try {
    return await look(trial);
  } finally {
    if (!ended) await end();
  }
}

/** The nodes in the cluster, and the addresses of the table on which the fleet listens. */
export const fleet = async (variables: RawValues): Promise<unknown> =>
  simulating(variables, async (trial) => {
    const nodes = await trial.nodes();
    return {
      nodes: nodes.length,
      first: nodes[0]?.metadata.name,
      tainted: nodes.every(({ spec }) => (spec?.taints ?? []).length > 0),
      cores: nodes.map(({ status }) => status?.allocatable?.["cpu"]).join(" "),
      seed: /"seed":(\d+)/.exec(trial.log)?.[1],
      served: trial.simulator.url === `http://${FREE}`,
      metrics: trial.simulator.metricsUrl === `http://${FREE_METRICS}`,
    };
  });

/** The jobs of the first minute. */
export const jobs = async (variables: RawValues): Promise<unknown> =>
  simulating({ WORKLOAD: "day", ...variables }, async (trial) => {
    await trial.pass(60);
    const pods = await trial.pods();
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

/** Whether the cluster still has every submitted pod after some have finished. */
export const finishedKept = async (variables: RawValues): Promise<boolean> =>
  simulating({ WORKLOAD: "day", NODES: "5", ...variables }, async (trial) => {
    const log = createLogger({ level: "silent", program: "scheduler" });
    const scheduler = new Scheduler({ client: trial.hand, clock: trial.ioClock, random: seededRandom(9), log });
    scheduler.start();
    await trial.pass(300);
    const kept = (await trial.pods()).length === trial.simulator.jobs.submitted;
    let over = false;
    void scheduler.stop().then(() => (over = true));
    await trial.until(() => over);
    return kept;
  });

/** The state of a pod 20 s after its binding. */
export const phaseOfPod = async (variables: RawValues): Promise<unknown> =>
  simulating(variables, async (trial) => {
    await trial.createPod("p", "sim-000");
    await trial.pass(20);
    return (await trial.pod("p"))?.status?.phase;
  });

/** Number of renewals of a node's Lease per minute. */
export const renewals = async (variables: RawValues): Promise<number> =>
  simulating(variables, async (trial) => {
    const seen = new Set<unknown>();
    for (let second = 0; second < 60; second++) {
      await trial.pass(1);
      const lease = await trial.hand.get(resources.leases, { name: "sim-000", namespace: "kube-node-lease" });
      seen.add((lease as unknown as { spec: { renewTime: string } }).spec.renewTime);
    }
    return seen.size;
  });

/** Number of nodes that remain after the fleet has exited. */
export const leftBehind = async (variables: RawValues): Promise<number> =>
  simulating({ NODES: "3", ...variables }, async (trial) => {
    await trial.end();
    return (await trial.nodes()).length;
  });

/** Performance pods slowed by caps, on a node with CPUs capped to 100 W and one with GPUs capped to 100 W. */
export const offences = async (variables: RawValues): Promise<unknown> =>
  simulating(variables, async (trial) => {
    const nodes = await trial.nodes();
    const hasGpus = (at: number) => JSON.stringify(nodes[at]?.status?.allocatable ?? {}).includes("/gpu");
    const cpuNode = nodes.findIndex((_, at) => !hasGpus(at));
    const gpuNode = nodes.findIndex((_, at) => hasGpus(at));
    const annotations = { "joulie.io/workload-class": "performance" };
    const command = async (at: number, body: object) => {
      const name = nodes[at]?.metadata.name ?? "";
      await trial.createPod(`on-${at}`, name, { annotations, cpu: "4" });
      const answer = await fetch(`${trial.simulator.url}/control/${name}`, {
        method: "POST",
        body: JSON.stringify(body),
      });
      await answer.text();
      return name;
    };
    const cpu = await command(cpuNode, { action: "rapl.set_power_cap_watts", capWatts: 100 });
    const gpu = await command(gpuNode, { action: "gpu.set_power_cap_watts", capWattsPerGpu: 100 });
    await trial.pass(10);
    const held = trial.simulator.datacenter.offences.first.map(({ node }) => node);
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
