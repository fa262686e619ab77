// What a cluster costs at rest, for bench/cluster.ts: requests by program and verb, processor time and memory.
import { setTimeout as sleep } from "node:timers/promises";
import type { ControlPlane } from "../test/controlplane/harness.ts";
import type { AuditedRequest } from "../test/controlplane/requests.ts";
import { type JouliePrograms, type Role, roles } from "./cluster-programs.ts";
import { memoryOf, processorSeconds } from "./operator-process.ts";
import type { BenchFigure } from "./scenario.ts";

/** The operator refreshes every twin without an agent once in this time (TWIN_HEARTBEAT); agents report more often. */
export const REST_MS = 225_000;
/** A node agent repeats an unchanged report once in this time: 9 ticks. */
const AGENT_PERIOD_MS = 180_000;
/** What one node agent stands for. */
const DAEMONSET = 5000;
const BUSY_MS = 10_000;
const MINUTE_MS = 60_000;

const servers = ["kube-apiserver", "etcd", "kube-scheduler"] as const;

/** Measures a period in which nothing changes. */
export async function measureRest(
  figures: Record<string, BenchFigure>,
  title: string,
  plane: ControlPlane,
  joulie: JouliePrograms,
): Promise<void> {
  const before = { from: plane.auditEnd(), used: processorByProgram(plane, joulie), heartbeats: await writes(joulie) };
  const begun = performance.now();
  await sleep(REST_MS);
  const lasted = performance.now() - begun;
  const used = processorByProgram(plane, joulie);
  const requests = plane.audited(before.from);
  const after = await writes(joulie);

  const perMinute = (count: number): BenchFigure => ({ unit: "per min", value: (count * MINUTE_MS) / lasted });
  for (const [request, count] of requestCounts(requests)) figures[`${title}: ${request}`] = perMinute(count);
  const ours = requests.filter(({ user }) => isRole(accountOf(user)));
  const perSecond = (count: number, ms: number): BenchFigure => ({ unit: "per s", value: (count * 1000) / ms });
  figures[`${title}: Joulie's requests`] = perSecond(ours.length, lasted);
  figures[`${title}: Joulie's requests, busiest ${BUSY_MS / 1000} s`] = perSecond(busiest(ours), BUSY_MS);
  // metrics.k8s.io has no watch: the operator asks it for all nodes once per minute.
  const lists = ours.filter(({ verb, group }) => verb === "list" && group !== "metrics.k8s.io");
  figures[`${title}: Joulie's LISTs`] = { unit: "", value: lists.length };
  figures[`${title}: operator's heartbeats`] = perSecond(after.heartbeats - before.heartbeats.heartbeats, lasted);
  figures[`${title}: operator's other writes`] = perMinute(after.others - before.heartbeats.others);
  const end = Math.max(...ours.map(({ at }) => at));
  const one = ours.filter(({ user, at }) => accountOf(user) === "joulie-agent" && at > end - AGENT_PERIOD_MS);
  figures[`${title}: requests of ${DAEMONSET} node agents, by one`] = perSecond(
    one.length * DAEMONSET,
    AGENT_PERIOD_MS,
  );
  for (const [program, seconds] of used) {
    const value = ((seconds - (before.used.get(program) ?? 0)) * 1e5) / lasted;
    figures[`${title}: processor of ${program}`] = { unit: "% of a core", value };
  }
  for (const role of roles) {
    const value = Math.max(...joulie.byRole[role].map(({ memory }) => memory));
    figures[`${title}: memory of ${role}`] = { unit: "MiB", value };
  }
  for (const server of servers) {
    figures[`${title}: memory of ${server}`] = { unit: "MiB", value: memoryOf(pidOf(plane, server), "VmRSS") };
  }
}

/** How often each program sent each kind of request. */
export const requestCounts = (requests: readonly AuditedRequest[]): Map<string, number> =>
  new Map(
    Array.from(
      Map.groupBy(requests, (request) => `${programOf(request)}: ${verbOf(request)}`),
      ([request, { length }]) => [request, length],
    ),
  );

/** Processor seconds so far. Replicas count together. */
function processorByProgram(plane: ControlPlane, joulie: JouliePrograms): Map<string, number> {
  const ours = roles.map(
    (role) => [role, joulie.byRole[role].reduce((sum, program) => sum + program.processorSeconds, 0)] as const,
  );
  return new Map<string, number>([
    ...ours,
    ...servers.map((server) => [server, processorSeconds(pidOf(plane, server))] as const),
  ]);
}

function pidOf(plane: ControlPlane, server: (typeof servers)[number]): number {
  const program = { "kube-apiserver": plane.apiserver, etcd: plane.etcd, "kube-scheduler": plane.scheduler }[server];
  return program?.pid ?? Number.NaN;
}

/** Writes of the leading operator so far: refreshes of unchanged twins, and all others. */
async function writes(joulie: JouliePrograms): Promise<{ readonly heartbeats: number; readonly others: number }> {
  let [heartbeats, others] = [0, 0];
  for (const operator of joulie.byRole["joulie-operator"]) {
    const lines = (await operator.metrics()).matchAll(/^joulie_operator_writes_total\{kind="(\w+)"\} (\d+)$/gm);
    for (const [, kind, count] of lines) {
      if (kind === "heartbeat") heartbeats += Number(count);
      else others += Number(count);
    }
  }
  return { heartbeats, others };
}

const accountOf = (user: string): string => user.replace(/^system:serviceaccount:[^:]+:/, "");
const isRole = (account: string): account is Role => (roles as readonly string[]).includes(account);
const programOf = ({ user }: AuditedRequest): string => accountOf(user).replace(/^system:apiserver$/, "kube-apiserver");
function verbOf({ verb, group, resource, subresource, path }: AuditedRequest): string {
  if (resource === "") return `${verb} ${path.replace(/\?.*/, "")}`;
  const kind = group === "metrics.k8s.io" ? `${resource}.${group}` : resource;
  return `${verb} ${subresource === "" ? kind : `${kind}/${subresource}`}`;
}

/** The most requests within one of the periods of 10 s. */
function busiest(requests: readonly AuditedRequest[]): number {
  const counts = Map.groupBy(requests, ({ at }) => Math.floor(at / BUSY_MS));
  return Math.max(0, ...Array.from(counts.values(), ({ length }) => length));
}
