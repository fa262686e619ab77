// A Kubernetes cluster of one real node: containers run, probes probe, Services answer. Nothing remains after `stop`.
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { eventuallyPasses } from "../../src/platform/clock/testing/index.ts";
import { Api } from "../controlplane/api.ts";
import { buildControlPlane } from "../controlplane/build.ts";
import { type ClusterIdentity, writeIdentity } from "../controlplane/identities.ts";
import { type KubectlOptions, type KubectlResult, runKubectl } from "../controlplane/kubectl.ts";
import { ownerMark } from "../controlplane/owner.ts";
import { type ProgramSpec, ServerProcess } from "../controlplane/server-process.ts";
import { containerd } from "./containerd.ts";
import { folderPrefix, removeDeadNodes, removeTraces } from "./leftovers.ts";
import { createNetwork, type Network } from "./network.ts";
import * as programs from "./programs.ts";

export interface RealNode {
  readonly name: string;
  readonly folder: string;
  readonly admin: ClusterIdentity;
  readonly api: Api;
  readonly network: Network;
  readonly kubelet: ServerProcess;
  /** Makes the images of an archive known to the kubelet. */
  importImage(archive: string): Promise<void>;
  /** Gives an image a second name. */
  tagImage(from: string, to: string): Promise<void>;
  /** The process that a container started, by the container's id in a pod's status. */
  processOf(containerId: string): Promise<number>;
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<KubectlResult>;
  /** A folder with kubectl, for the PATH of a program that runs it. */
  readonly kubectlFolder: string;
  /** Another configuration for kube-scheduler. */
  schedule(config: Readonly<Record<string, unknown>>): Promise<void>;
  /** Waits until the check is true; fails with what it said last. */
  until(what: string, check: () => Promise<boolean>, limitMs?: number): Promise<void>;
  stop(): Promise<void>;
}

interface NodeStatus {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

export async function startRealNode(): Promise<RealNode> {
  const built = await buildControlPlane();
  if (!built.available) throw new Error(`there is no control plane to test on: ${built.reason}`);
  await removeDeadNodes();
  const folder = mkdtempSync(join(tmpdir(), `${folderPrefix}${ownerMark()}-`));
  const running: ServerProcess[] = [];
  let network: Network | undefined;
  let api: Api | undefined;
  const start = async (spec: ProgramSpec) => {
    const program = new ServerProcess(built.path, folder, spec);
    running.push(program);
    await program.start();
    return program;
  };
  const stop = async () => {
    if (api !== undefined && running.some(({ name }) => name === "kubelet")) await deletePods(api);
    // The reverse of the start: kube-proxy and kubelet first, etcd and containerd last.
    for (const program of running.splice(0).toReversed()) await program.stop();
    await api?.close();
    await network?.remove();
    await removeTraces(folder);
  };

  try {
    network = await createNetwork(basename(folder));
    const runtime = containerd(folder, network);
    await start(runtime.spec);
    await runtime.importPause();
    const layout = await programs.prepare(folder, built.path, network);
    const ca = readFileSync(layout.files.ca, "utf8");
    const identity = (user: programs.User) =>
      writeIdentity(folder, { user, server: layout.server, ca, token: layout.tokens.get(user) ?? "" }, "default");
    const admin = identity("admin");
    const hand = new Api(layout.server, ca, admin.token);
    api = hand;
    await start(programs.etcd(layout));
    await start(programs.apiserver(layout, async () => isServing(hand)));
    await start(programs.controllerManager(layout, identity("kube-controller-manager").kubeconfig));
    const schedulerConfig = identity("kube-scheduler").kubeconfig;
    let scheduler = await start(programs.scheduler(layout, schedulerConfig, {}));
    const kubeletConfig = identity(`system:node:${programs.nodeName}`).kubeconfig;
    const kubelet = await start(
      programs.kubelet(layout, kubeletConfig, runtime.socket, async () => isReady(hand, programs.nodeName)),
    );
    await start(programs.kubeProxy(layout, identity("kube-proxy").kubeconfig));
    return {
      name: programs.nodeName,
      folder,
      admin,
      api: hand,
      network,
      kubelet,
      importImage: async (archive) => runtime.importImage(archive),
      tagImage: async (from, to) => void (await runtime.ctr("images", "tag", from, to)),
      processOf: async (containerId) => {
        const id = containerId.replace("containerd://", "");
        const line = (await runtime.ctr("tasks", "ls")).split("\n").find((task) => task.startsWith(id));
        return Number(line?.split(/\s+/)[1]);
      },
      kubectl: async (args, options) => runKubectl(built.path, { folder, kubeconfig: admin.kubeconfig }, args, options),
      kubectlFolder: kubectlIn(join(folder, "bin"), built.path),
      schedule: async (config) => {
        await scheduler.stop();
        running.splice(running.indexOf(scheduler), 1);
        scheduler = await start(programs.scheduler(layout, schedulerConfig, config));
      },
      until,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function kubectlIn(folder: string, binary: string): string {
  mkdirSync(folder);
  const script = `#!/bin/sh\nCONTROLPLANE_PARENT=$PPID exec "${binary}" kubectl "$@"\n`;
  writeFileSync(join(folder, "kubectl"), script, { mode: 0o755 });
  return folder;
}

/** A kubelet, its pods and a sleeping machine take minutes on a busy machine. */
const MIN_LIMIT_MS = 480_000;

async function until(what: string, check: () => Promise<boolean>, limitMs = MIN_LIMIT_MS): Promise<void> {
  const look = async () => {
    if (!(await check())) throw new Error(`${what}: not yet true`);
  };
  await eventuallyPasses(look, { boundMs: Math.max(MIN_LIMIT_MS, limitMs) });
}

/** Lets the kubelet take containers, volumes and networks down itself, within a time limit. */
async function deletePods(api: Api): Promise<void> {
  type List = {
    readonly items: readonly {
      readonly metadata: { readonly name: string; readonly namespace: string };
      readonly spec: { readonly nodeName?: string };
    }[];
  };
  try {
    for (const kind of ["daemonsets", "deployments", "statefulsets", "replicasets"]) {
      for (const { metadata } of (await api.get<List>(`/apis/apps/v1/${kind}`)).items) {
        await api.remove(`/apis/apps/v1/namespaces/${metadata.namespace}/${kind}/${metadata.name}`);
      }
    }
    const pods = (await api.get<List>("/api/v1/pods")).items;
    for (const { metadata, spec } of pods) {
      // Simulated nodes have no kubelet that would confirm.
      const grace = spec.nodeName === programs.nodeName ? 1 : 0;
      const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}?gracePeriodSeconds=${grace}`;
      await api.remove(path).catch(() => undefined);
    }
    await until("all pods are gone", async () => (await api.get<List>("/api/v1/pods")).items.length === 0);
  } catch {
    // removeTraces ends what is left.
  }
}

async function isServing(api: Api): Promise<boolean> {
  await api.text("GET", "/readyz");
  await api.get("/api/v1/namespaces/default");
  return true;
}

async function isReady(api: Api, name: string): Promise<boolean> {
  const { status } = await api.get<NodeStatus>(`/api/v1/nodes/${name}`);
  return status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") === true;
}
