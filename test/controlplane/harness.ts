// A real Kubernetes control plane for one test file: starts on loopback in seconds and stops when the tests end.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/platform/clock/index.ts";
import { freePorts } from "../../src/platform/serve/listen.ts";
import { Api } from "./api.ts";
import { buildControlPlane } from "./build.ts";
import {
  type ClusterIdentity,
  type ClusterIdentityOptions,
  createIdentity,
  type Rule,
  writeIdentity,
} from "./identities.ts";
import { type KubectlOptions, type KubectlResult, runKubectl } from "./kubectl.ts";
import { createNodes, createPods, installCrds } from "./objects.ts";
import { isGone, ownerMark } from "./owner.ts";
import {
  apiserver,
  controllerManager,
  etcd,
  type Layout,
  prepare,
  type SchedulerConfig,
  scheduler,
  textOf,
} from "./programs.ts";
import { type AuditedRequest, auditEnd, newRequests, type RequestCount, readAudit, requestCounts } from "./requests.ts";
import { ServerProcess } from "./server-process.ts";

export interface ControlPlaneOptions {
  /** A KubeSchedulerConfiguration, or part of one (`{}` for the defaults); false, the default, for no scheduler. */
  readonly scheduler?: SchedulerConfig | false;
  /** Runs the garbage collector, the namespace controller and the listed ones; none that needs kubelets. Default false. */
  readonly controllerManager?: boolean | readonly string[];
  /** Whether Joulie's CRDs are installed. Default true. */
  readonly crds?: boolean;
  /** Whether the API server writes an audit log for `audited`. Default false. */
  readonly audit?: boolean;
}

export interface ControlPlane {
  /** The Kubernetes version, for example v1.36.3. */
  readonly version: string;
  readonly server: string;
  /** An administrator, for the test itself and never for a program under test. */
  readonly admin: ClusterIdentity;
  /** The test's own API client. */
  readonly api: Api;
  readonly etcd: ServerProcess;
  readonly apiserver: ServerProcess;
  readonly scheduler: ServerProcess | undefined;
  readonly controllerManager: ServerProcess | undefined;
  /** Creates a ServiceAccount with exactly the permissions in the rules. */
  identity(rules: readonly Rule[], options?: ClusterIdentityOptions): Promise<ClusterIdentity>;
  createNodes(names: readonly string[], options?: Parameters<typeof createNodes>[2]): Promise<void>;
  createPods(names: readonly string[], options?: Parameters<typeof createPods>[2]): Promise<void>;
  /** Runs the real kubectl, as admin by default. */
  kubectl(args: readonly string[], options?: KubectlOptions & { as?: ClusterIdentity }): Promise<KubectlResult>;
  /** Requests of all clients that the API server completed during the work. */
  requestsDuring(work: () => Promise<void>): Promise<RequestCount[]>;
  /** Requests so far, or since an `auditEnd`, with their users and without the harness's own; requires `audit`. */
  audited(from?: number): AuditedRequest[];
  auditEnd(): number;
  /** Replaces the kube-scheduler, if any; false removes it. */
  schedule(config: SchedulerConfig | false): Promise<void>;
  /** The configuration of the running kube-scheduler. */
  schedulerConfig(): Promise<unknown>;
  /** The metrics page of the running kube-scheduler. */
  schedulerMetrics(): Promise<string>;
  /** Stops all programs and removes all files; a second call does nothing. */
  stop(): Promise<void>;
}

const folderPrefix = "joulie-controlplane-";

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binary = await buildControlPlane();
  if (!binary.available) throw new Error(`there is no control plane to test on: ${binary.reason}`);
  removeFoldersOfTheDead();
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(binary.path, binary.version, options);
    } catch (error) {
      // Another process took a port after we found it free.
      if (attempt === 3 || !/address already in use/.test(String(error))) throw error;
    }
  }
}

async function startOnce(binary: string, version: string, options: ControlPlaneOptions): Promise<ControlPlane> {
  const folder = mkdtempSync(join(tmpdir(), `${folderPrefix}${ownerMark()}-`));
  const programs: ServerProcess[] = [];
  let api: Api | undefined;

  const stop = async () => {
    // Nothing of it is needed any more, and a graceful end takes a second.
    await Promise.all(programs.splice(0).map(async (program) => program.kill()));
    await api?.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  const start = async (spec: ConstructorParameters<typeof ServerProcess>[2]) => {
    const program = new ServerProcess(binary, folder, spec);
    programs.push(program);
    await program.start();
    return program;
  };

  try {
    const layout = prepare(folder, await ports());
    const storage = await start(etcd(layout));
    // The API server creates the certificate when it starts.
    const hand = () =>
      (api ??= new Api(layout.server, readFileSync(layout.files.certificate, "utf8"), layout.tokens.admin));
    const server = await start(apiserver(layout, options.audit === true, async () => isServing(hand())));
    const adminApi = hand();
    const ca = readFileSync(layout.files.certificate, "utf8");
    const master = (user: keyof Layout["tokens"]) =>
      writeIdentity(folder, { user, server: layout.server, ca, token: layout.tokens[user] }, "default");
    const admin = master("admin");
    // Installs CRDs before the controllers start: the garbage collector discovers new kinds only every 30 s.
    if (options.crds !== false) await installCrds(adminApi);
    const startScheduler = async (config: SchedulerConfig) =>
      start(scheduler(layout, master("kube-scheduler").kubeconfig, config));
    let placing: ServerProcess | undefined;
    const { controllerManager: moreControllers = false } = options;
    const [controllers] = await Promise.all([
      moreControllers === false
        ? undefined
        : start(controllerManager(layout, master("kube-controller-manager").kubeconfig, moreControllers)),
      options.scheduler ? startScheduler(options.scheduler).then((program) => (placing = program)) : undefined,
    ]);
    const counts = async () => requestCounts(await adminApi.text("GET", "/metrics"));

    return {
      version,
      server: layout.server,
      admin,
      api: adminApi,
      etcd: storage,
      apiserver: server,
      get scheduler() {
        return placing;
      },
      schedule: async (config) => {
        await placing?.stop();
        placing = config === false ? undefined : await startScheduler(config);
      },
      schedulerConfig: async () => JSON.parse(await textOf(`https://127.0.0.1:${layout.ports.scheduler}/configz`)),
      schedulerMetrics: async () => textOf(`https://127.0.0.1:${layout.ports.scheduler}/metrics`),
      controllerManager: controllers,
      identity: async (rules, how = {}) => createIdentity(adminApi, { folder, server: layout.server, ca }, rules, how),
      createNodes: async (names, how) => createNodes(adminApi, names, how),
      createPods: async (names, how) => createPods(adminApi, names, how),
      kubectl: async (args, { as = admin, ...how } = {}) =>
        runKubectl(binary, { folder, kubeconfig: as.kubeconfig }, args, how),
      requestsDuring: async (work) => {
        const before = await counts();
        await work();
        return newRequests(before, await counts());
      },
      audited: (from) => readAudit(layout.files.audit, from),
      auditEnd: () => auditEnd(layout.files.audit),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function ports(): Promise<Layout["ports"]> {
  const [etcd = 0, etcdPeer = 0, apiserver = 0, scheduler = 0, controllers = 0] = await freePorts(5);
  return { etcd, etcdPeer, apiserver, scheduler, controllers };
}

/** Whether the API server is ready and has created the default namespace. */
async function isServing(api: Api): Promise<boolean> {
  await api.text("GET", "/readyz");
  await api.get("/api/v1/namespaces/default");
  return true;
}

/** Longer than any test: the process of an older folder is dead, even if its pid cannot be checked from here. */
const maxMs = 24 * 3_600_000;

/** Removes folders of killed test processes: their programs exit with them, but their files remain. */
export function removeFoldersOfTheDead(within: string = tmpdir(), now: number = systemClock.now()): void {
  for (const name of readdirSync(within).filter((one) => one.startsWith(folderPrefix))) {
    const folder = join(within, name);
    const gone = isGone(name.slice(folderPrefix.length)) ?? now - lastTouched(folder) > maxMs;
    if (gone) rmSync(folder, { recursive: true, force: true });
  }
}

/** The time of its creation or last change; another process may remove it at any time. */
const lastTouched = (folder: string): number => statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0;
