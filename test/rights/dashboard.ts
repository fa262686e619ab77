// A dashboard: shows what it lists and watches, and reviews the tokens of its readers.
import { apiVersion } from "../../src/core/api/index.ts";
import type { WorkloadKind } from "../../src/core/report/index.ts";
import { dashboardConfig } from "../../src/programs/dashboard/config.ts";
import { runDashboard } from "../../src/programs/dashboard/start.ts";
import { classNames, type NodeAnswer, type ScoreAnswer, type Snapshot } from "../../src/programs/dashboard/wire.ts";
import type { ScenarioRun } from "./run.ts";

const prefix = `/apis/${apiVersion}`;
const READER = "/joulie/dashboard";

export async function dashboardLife(run: ScenarioRun): Promise<void> {
  const name = `shown-${run.id}`;
  const ours = async (kind: string, plural: string, spec: object) =>
    run.create(`${prefix}/${plural}`, { apiVersion, kind, metadata: { name }, spec: { nodeName: name, ...spec } });
  const status = async (plural: string, value: object) =>
    run.plane.api.mergePatch(`${prefix}/${plural}/${name}/status`, { status: value });
  await run.createNode(name);
  await ours("NodeTwin", "nodetwins", { profile: "eco" });
  await ours("NodeHardware", "nodehardwares", {});
  await ours("PowerEndpoint", "powerendpoints", { webhook: { url: "https://switch.example/{node}" } });
  await ours("NodePowerProfile", "nodepowerprofiles", { profile: "eco" });
  await status("nodetwins", { schedulableClass: "eco" });

  const dashboard = run.start(dashboardConfig, { DASHBOARD_ADDR: "127.0.0.1:0" }, async (config, world, signal) =>
    runDashboard(config, world, signal),
  );
  const read = async <Answer>(path: string): Promise<Answer> =>
    (await (await fetch(`${dashboard.url()}${path}`)).json()) as Answer;
  const snapshot = async () => read<Snapshot>("/api/snapshot");
  const lines = async () => JSON.stringify(await read<NodeAnswer>(`/api/node/${name}`));
  const classOf = async () => {
    const { names, columns } = await snapshot();
    return classNames[columns.class[names.indexOf(name)] ?? 4];
  };
  await run.until("all kinds are read", async () => (await snapshot()).syncing.length === 0);
  await run.until("it shows the class of a node", async () => (await classOf()) === "eco");
  await status("nodetwins", { schedulableClass: "performance" });
  await run.until("it shows a new class", async () => (await classOf()) === "performance");
  await run.plane.api.mergePatch(`/api/v1/nodes/${name}`, { metadata: { labels: { seen: "yes" } } });
  await run.until("it shows a new label", async () => (await lines()).includes('["seen","yes"]'));
  await status("nodehardwares", { cpu: { rawModel: "A new CPU" } });
  await run.until("it shows new hardware", async () => (await lines()).includes("A new CPU"));
  await status("powerendpoints", { wakeProven: true });
  await run.until("it shows a proven wake", async () => (await lines()).includes('["Wake proven","yes"]'));
  await run.plane.api.mergePatch(`${prefix}/nodepowerprofiles/${name}`, { spec: { profile: "performance" } });
  await run.until("it shows a changed pin", async () => (await lines()).includes('["Pinned to","performance"]'));
  await run.create("/api/v1/namespaces/default/pods", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { nodeName: name, containers: [{ name: "main", image: "none" }] },
  });
  await run.until("it shows a new pod", async () => (await lines()).includes('"namespace":"default"'));

  await installed(run, snapshot, async () => read<ScoreAnswer>(`/api/score?node=${name}`));

  const reader = await run.plane.identity([{ nonResourceURLs: [READER], verbs: ["get"] }], {
    name: `reader-${run.id}`,
    namespace: run.names.namespace,
  });
  const headers = { "x-forwarded-for": "203.0.113.9", authorization: `Bearer ${reader.token}` };
  await run.until("a reader with a token sees it", async () => {
    const answer = await fetch(`${dashboard.url()}/api/snapshot`, { headers });
    return answer.status === 200;
  });
}

/** What is installed: the extender's settings, agents that observe, the operator's Lease and the stop switch. */
async function installed(
  run: ScenarioRun,
  snapshot: () => Promise<Snapshot>,
  score: () => Promise<ScoreAnswer>,
): Promise<void> {
  const { namespace } = run.names;
  const workload = async (kind: WorkloadKind, component: string, env: object[]) => {
    const labels = { "app.kubernetes.io/name": "joulie", "app.kubernetes.io/component": component };
    const containers = [{ name: "main", image: "joulie:1", env }];
    await run.create(`/apis/apps/v1/namespaces/${namespace}/${kind.toLowerCase()}s`, {
      apiVersion: "apps/v1",
      kind,
      metadata: { name: `${component}-${run.id}`, labels },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
    });
  };
  const isProblem = async (text: string) => (await snapshot()).problems.some(({ title }) => title.includes(text));
  await workload("Deployment", "extender", [{ name: "MARGINAL_CPU_UTIL_COEFF", value: "0.1" }]);
  await run.until("it scores with the settings of the Deployment", async () =>
    (await score()).settings.includes(`extender-${run.id}`),
  );
  await workload("DaemonSet", "agent", [{ name: "SIMULATE_ONLY", value: "true" }]);
  await run.until("it shows that agents observe only", async () => isProblem("observes only"));
  await workload("StatefulSet", "agent", []);
  await run.until("it shows a pool of agents that is not ready", async () =>
    isProblem(`StatefulSet agent-${run.id} has`),
  );
  await workload("Deployment", "operator", []);
  await run.plane.api.mergePatch(`/apis/apps/v1/namespaces/${namespace}/deployments/operator-${run.id}/status`, {
    status: { replicas: 1, readyReplicas: 1 },
  });
  await run.create(`/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "joulie-operator" },
    spec: { holderIdentity: "gone", renewTime: "2026-01-01T00:00:00.000000Z" },
  });
  await run.until("it shows an operator that no longer leads", async () => isProblem("renewed its Lease"));
  await run.setStop("true");
  run.finally(async () => run.setStop(null));
  await run.until("it shows first that everything is stopped", async () =>
    (await snapshot()).problems[0]?.title.includes("Joulie is stopped"),
  );
}
