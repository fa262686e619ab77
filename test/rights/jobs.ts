// The commands that the chart's Jobs run: check, crds apply and uninstall.
import { join } from "node:path";
import { apiVersion, arrivalsConfigMap, kinds, labels, operatorConfigMap } from "../../src/core/api/index.ts";
import { stoppedBy } from "../../src/platform/kube/index.ts";
import { run as runCommand } from "../../src/programs/cli/index.ts";
import { programs } from "../../src/programs/index.ts";
import { programPermissions } from "../../src/programs/permissions.ts";
import type { ScenarioRun } from "./run.ts";

const prefix = `/apis/${apiVersion}`;
const crdFolder = join(import.meta.dirname, "../../charts/joulie/crds");
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Runs `joulie ARGS` under the role of the run. */
async function joulie({ identity }: ScenarioRun, ...args: readonly string[]) {
  let text = "";
  const write = (more: string) => {
    text += more;
  };
  const env = { KUBECONFIG: identity.kubeconfig };
  const machine = { isTerminal: false, exists: () => false };
  const code = await runCommand(args, programs, { env, machine, out: write, err: write });
  return { code, text };
}

export async function checkLife(run: ScenarioRun): Promise<void> {
  const { namespace, service } = run.names;
  const node = `checked-${run.id}`;
  await run.createNode(node, { [labels.managed]: "true" });
  for (const program of ["agent", "operator", "extender"] as const)
    await run.plane.identity(programPermissions[program](run.names), { name: `all-${program}`, namespace });
  const { text } = await joulie(run, "check", "--namespace", namespace, "--name", "all", "--timeout", "0s");
  await run.until("it misses the twin of a managed node", () => text.includes(`no twin in the last 5m of ${node}`));
  await run.until("it misses the extender", () =>
    text.includes(`the Service ${service} in namespace ${namespace} answers with status 404`),
  );
  await run.until("it finds no missing permission", () => !/may not|forbidden|cannot/.test(text));
  await run.setStop("true");
  const stopped = await joulie(run, "check", "--namespace", namespace, "--name", "all", "--timeout", "0s");
  await run.until("it sees the stop annotation", () => stopped.text.includes("joulie.io/stop"));
}

export async function crdsLife(run: ScenarioRun): Promise<void> {
  const { api } = run.plane;
  const paths = kinds.map(({ plural }) => `${definitions}/${plural}.joulie.io`);
  const all = async (status: number) =>
    (await Promise.all(paths.map(async (path) => api.status("GET", path)))).every((code) => code === status);
  run.finally(async () => run.plane.kubectl(["apply", "--server-side", "--force-conflicts", "-f", crdFolder]));
  for (const path of paths) await api.text("DELETE", path);
  await run.until("the CRDs are gone", async () => all(404));
  await joulie(run, "crds", "apply");
  await run.until("missing CRDs are installed", async () => all(200));
}

const uninstallOf = (withFleet: boolean) =>
  async function uninstallLife(run: ScenarioRun): Promise<void> {
    const { api } = run.plane;
    const { namespace, lease, powerLease, fleet } = run.names;
    const node = `left-${run.id}`;
    await run.createNode(node, { [labels.managed]: "true", [labels.powerProfile]: "eco" });
    const metadata = { name: node, labels: { [labels.managedBy]: "operator" } };
    const spec = { nodeName: node, profile: "eco" };
    await run.create(`${prefix}/nodetwins`, { apiVersion, kind: "NodeTwin", metadata, spec });
    await run.create(`${prefix}/nodepowerprofiles`, { apiVersion, kind: "NodePowerProfile", metadata, spec });
    const hardware = { apiVersion, kind: "NodeHardware", metadata, spec: { nodeName: node } };
    await run.create(`${prefix}/nodehardwares`, hardware);
    const cpu = { result: "none", message: stoppedBy(namespace) };
    await api.mergePatch(`${prefix}/nodetwins/${node}/status`, { status: { controlStatus: { cpu } } });
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    for (const name of [lease, powerLease])
      await api.create(leases, { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name } });
    const maps = `/api/v1/namespaces/${namespace}/configmaps`;
    for (const name of [arrivalsConfigMap, operatorConfigMap])
      await api.create(maps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
    // A second node that sleeps: uninstall must see it and wait.
    const sleeper = `asleep-${run.id}`;
    const endpoint = { apiVersion, kind: "PowerEndpoint", metadata: { name: sleeper } };
    await run.create(`${prefix}/powerendpoints`, {
      ...endpoint,
      spec: { nodeName: sleeper, webhook: { url: "https://switch.example" } },
    });
    const slept = { lastSleep: { at: "2030-01-01T00:00:00Z", result: "succeeded" } };
    await api.mergePatch(`${prefix}/powerendpoints/${sleeper}/status`, { status: slept });
    const flags = ["--namespace", namespace, "--timeout", "2s", "--wake-timeout", "1s"];
    const refused = await joulie(run, "uninstall", ...flags);
    await run.until("it waits for sleeping nodes", () => refused.text.includes(`not awake after 1s: ${sleeper}`));
    const woken = { lastWake: { at: "2030-01-01T01:00:00Z", result: "succeeded" } };
    await api.mergePatch(`${prefix}/powerendpoints/${sleeper}/status`, { status: woken });

    const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`;
    if (withFleet) await api.create(deployments, deploymentOf(fleet));
    await joulie(run, "uninstall", ...flags, ...(withFleet ? ["--fleet", fleet] : []));
    const path = `/api/v1/namespaces/${namespace}`;
    const isStopped = async () => (await api.text("GET", path)).includes("joulie.io/stop");
    await run.until("everything is stopped", isStopped);
    await run.until("the node has no label", async () => {
      return !(await api.text("GET", `/api/v1/nodes/${node}`)).includes(labels.powerProfile);
    });
    for (const kind of ["nodetwins", "nodehardwares", "nodepowerprofiles"])
      await run.until(
        `the ${kind} are gone`,
        async () => (await api.status("GET", `${prefix}/${kind}/${node}`)) === 404,
      );
    if (withFleet)
      await run.until("the fleet is gone", async () => (await api.status("GET", `${deployments}/${fleet}`)) === 404);
    await joulie(run, "uninstall", ...flags, "--clear-stop", "app=none");
    await run.until("the stop annotation is gone", async () => !(await isStopped()));
    for (const name of [lease, powerLease])
      await run.until(`the Lease ${name} is gone`, async () => (await api.status("GET", `${leases}/${name}`)) === 404);
    await run.until("the arrivals are gone", async () => {
      const found = [arrivalsConfigMap, operatorConfigMap].map(async (name) => api.status("GET", `${maps}/${name}`));
      return (await Promise.all(found)).every((status) => status === 404);
    });
  };

const app = { app: "fleet" };
const deploymentOf = (name: string) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    selector: { matchLabels: app },
    template: { metadata: { labels: app }, spec: { containers: [{ name: "main", image: "none" }] } },
  },
});

export const uninstallLife = uninstallOf(false);
export const fleetUninstallLife = uninstallOf(true);
