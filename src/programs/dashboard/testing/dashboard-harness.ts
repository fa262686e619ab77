// A dashboard on an embedded API, for tests and benches.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { annotations, crdOf, fieldManagers, kinds, labels } from "../../../core/api/index.ts";
import { isoTime } from "../../../core/units/index.ts";
import { systemClock } from "../../../platform/clock/index.ts";
import { eventually } from "../../../platform/clock/testing/index.ts";
import { parseConfig, type RawValues } from "../../../platform/config/index.ts";
import { EmbeddedApi } from "../../../platform/embedded/index.ts";
import { KubeClient, resources } from "../../../platform/kube/index.ts";
import { createLogger } from "../../../platform/log/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { dashboardConfig } from "../config.ts";
import { type DashboardWorld, runDashboard } from "../start.ts";
import type { Snapshot } from "../wire.ts";

const LIMIT = { perSecond: 1e6, burst: 1e6, queue: 1e6 };

/** What a test says about a node; the rest has usual values. */
export interface NodeOptions {
  readonly rack?: string;
  readonly class?: string;
  readonly power?: number;
  readonly cap?: number;
  readonly tdp?: number;
  readonly labels?: Readonly<Record<string, string>>;
}

export class DashboardHarness {
  readonly api = new EmbeddedApi({ clock: systemClock, random: seededRandom(1), crds: kinds.map(crdOf) });
  readonly user: KubeClient;
  readonly folder: string;
  readonly logLines: string[] = [];
  #url = "";
  #stop: AbortController | undefined;
  #running: Promise<void> | undefined;

  private constructor(folder: string) {
    this.folder = folder;
    this.user = new KubeClient({
      transport: this.api.transport(),
      clock: systemClock,
      random: seededRandom(2),
      fieldManager: "a-person",
      limit: LIMIT,
    });
  }

  static async begin(): Promise<DashboardHarness> {
    return new DashboardHarness(await mkdtemp(join(tmpdir(), "joulie-dashboard-")));
  }

  get url(): string {
    return this.#url;
  }

  /** Starts the dashboard; `overrides` replaces parts of its environment, such as the API's transport. */
  async start(variables: RawValues = {}, overrides: Partial<DashboardWorld> = {}): Promise<void> {
    const flags = { DASHBOARD_ADDR: "127.0.0.1:0", METRICS_ADDR: "127.0.0.1:0", ...variables };
    const parsed = parseConfig(dashboardConfig, {
      env: {},
      flags,
      machine: { isTerminal: false, exists: () => false },
    });
    if (!parsed.ok) throw new Error(parsed.error.problems.map(({ message }) => message).join("; "));
    const stop = new AbortController();
    const serving = Promise.withResolvers<string>();
    const log = createLogger({
      level: "info",
      format: "json",
      program: "dashboard",
      destination: { write: (line: string) => void this.logLines.push(line) },
    });
    const transport = this.api.transport();
    const world = { transport, clock: systemClock, ioClock: systemClock, random: seededRandom(3), log };
    const running = runDashboard(
      parsed.value.values,
      { ...world, cluster: "test", onServing: serving.resolve, ...overrides },
      stop.signal,
    );
    running.catch(serving.reject);
    this.#stop = stop;
    this.#running = running;
    this.#url = await serving.promise;
  }

  /** Stops the dashboard; the API stays. */
  async stop(): Promise<void> {
    this.#stop?.abort();
    await this.#running;
  }

  async end(): Promise<void> {
    await this.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  async createNode(name: string, options: NodeOptions = {}): Promise<void> {
    const { rack = "rack-1", labels: more = {} } = options;
    const node = await this.user.create(resources.nodes, {
      metadata: { name, labels: { [labels.managed]: "true", [labels.rack]: rack, ...more } },
      status: {
        capacity: { cpu: "64", memory: "256Gi", pods: "110" },
        allocatable: { cpu: "64", memory: "256Gi", pods: "110" },
        conditions: [{ type: "Ready", status: "True" }],
      },
    });
    const owner = { apiVersion: "v1", kind: "Node", name, uid: node.metadata.uid };
    const spec = { nodeName: name, profile: options.class === "performance" ? "performance" : "eco" };
    await this.user.apply(
      resources.nodeTwins,
      { name },
      { metadata: { ownerReferences: [owner] }, spec },
      { fieldManager: fieldManagers.operator },
    );
    await this.setTwin(name, options);
  }

  async setTwin(name: string, { class: of = "eco", power = 300, cap = 400, tdp = 500 }: NodeOptions): Promise<void> {
    const now = isoTime(systemClock.now());
    const status = {
      schedulableClass: of,
      predictedPowerHeadroomScore: Math.max(0, 100 - (100 * power) / cap),
      predictedCoolingStressScore: 20,
      coolingStressNow: Math.min(100, power / 20),
      predictedPsuStressScore: 10,
      effectiveCapState: { cpuPct: Math.round((100 * cap) / tdp), gpuPct: 100 },
      powerMeasurement: {
        source: "agent",
        measuredAt: now,
        measuredNodePowerW: power,
        nodeCappedPowerW: cap,
        nodeTdpW: tdp,
        cpuCappedPowerW: cap,
        cpuTdpW: tdp,
      },
      controlStatus: {
        cpu: { backend: "rapl", result: "applied", message: "cap written and read back", updatedAt: now },
      },
      lastUpdated: now,
    };
    await this.user.mergePatch(resources.nodeTwins, { name }, { status }, { subresource: "status" });
  }

  async createPod(name: string, node: string | undefined, workloadClass = "standard"): Promise<void> {
    const pod = {
      metadata: { name, annotations: { [annotations.workloadClass]: workloadClass } },
      spec: {
        containers: [{ name: "c", image: "i", resources: { requests: { cpu: "2" } } }],
        ...(node !== undefined && { nodeName: node }),
      },
    };
    await this.user.create(resources.pods, pod, { namespace: "default" });
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(this.#url + path, { headers });
  }

  async snapshot(): Promise<Snapshot> {
    return (await (await this.get("/api/snapshot")).json()) as Snapshot;
  }

  /** Reads the snapshot until it is as expected. */
  async until(holds: (snapshot: Snapshot) => boolean): Promise<Snapshot> {
    return eventually(async () => {
      const snapshot = await this.snapshot();
      return holds(snapshot) && snapshot;
    });
  }
}
