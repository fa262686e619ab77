// Joulie installed from its chart on a real node, with a tree of files in place of the host's sysfs and procfs.
import { mkdirSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { BuiltImage } from "../../scripts/image/build.ts";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { createMachineFiles, differences, gpuFile, limitFile, readTree } from "../agent/machine-files.ts";
import { helmOf } from "../controlplane/helm.ts";
import { run } from "./command.ts";
import { type RealNode, startRealNode } from "./node.ts";

const chart = join(import.meta.dirname, "../../charts/joulie");
const program = join(import.meta.dirname, "../../bin/joulie.mjs");
export const namespace = "joulie-system";

export interface Pod {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly nodeName?: string; readonly containers: readonly { readonly image: string }[] };
  readonly status: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly containerID: string; readonly restartCount: number }[];
  };
}

interface DeviceStatus {
  readonly result?: string;
  readonly message?: string;
}

export interface Twin {
  readonly metadata: { readonly name: string };
  readonly spec?: { readonly profile?: string };
  readonly status?: {
    readonly schedulableClass?: string;
    readonly controlStatus?: { readonly cpu?: DeviceStatus; readonly gpu?: DeviceStatus };
  };
}

/** Values of the chart by path of the first level. */
export type Values = Readonly<Record<string, unknown>>;

export const programOf = ({ metadata }: Pod): string => metadata.labels["app.kubernetes.io/component"] ?? "";
export const isReady = ({ status }: Pod): boolean =>
  status.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") === true;

export class Installation {
  readonly node: RealNode;
  readonly helm: (...args: string[]) => Promise<string>;
  /** The host's sysfs, procfs and state folder. */
  readonly machine: string;
  readonly #original: ReadonlyMap<string, string>;

  private constructor(node: RealNode, helm: Installation["helm"], machine: string) {
    this.node = node;
    this.helm = helm;
    this.machine = machine;
    this.#original = readTree(join(machine, "sys"));
  }

  /** A node that has the image and no release yet. */
  static async prepare(image: BuiltImage, { gpus = 1 } = {}): Promise<Installation> {
    const node = await startRealNode();
    try {
      await node.importImage(image.archive);
      const machine = join(node.folder, "machine");
      mkdirSync(machine);
      createMachineFiles(machine, { cpus: 8, packages: 2, gpus });
      return new Installation(node, await helmOf(node.folder, node.admin.kubeconfig, { withErrors: true }), machine);
    } catch (error) {
      await node.stop();
      throw error;
    }
  }

  /** Returns what Helm prints, with the output of the Job that checks the installation. */
  async install(values: Values = {}): Promise<string> {
    return this.helm("install", "joulie", chart, "--create-namespace", ...this.#flags(values));
  }

  /** Returns the same as `install`. */
  async upgrade(values: Values): Promise<string> {
    return this.helm("upgrade", "joulie", chart, ...this.#flags(values));
  }

  async uninstall(): Promise<void> {
    await this.helm("uninstall", "joulie", "--namespace", namespace, "--wait", "--timeout", "2m");
  }

  /** Values of `agent.host` that show the agent the tree of files. */
  get hostPaths(): Values {
    return Object.fromEntries(["sys", "proc", "state"].map((name) => [`${name}Path`, `${this.machine}/${name}`]));
  }

  #flags({ agent = {}, operator = {}, ...values }: Values & { readonly agent?: object; readonly operator?: object }) {
    const all = {
      image: { repository: "localhost/joulie", tag: "dev", pullPolicy: "Never" },
      agent: {
        host: { ...this.hostPaths, drm: true, drmFolders: ["devices/pci0000:00"] },
        env: { RECONCILE_INTERVAL: "2s" },
        ...agent,
      },
      // The only node becomes an eco node.
      preset: "partition",
      mode: "observe",
      operator: { env: { RECONCILE_INTERVAL: "2s", PROFILE_MIN_DWELL: "0", STATIC_HP_FRAC: 0 }, ...operator },
      ...values,
    };
    const flags = Object.entries(all).flatMap(([name, value]) => ["--set-json", `${name}=${JSON.stringify(value)}`]);
    return ["--namespace", namespace, "--wait", "--timeout", "4m", ...flags];
  }

  /** What `joulie check` prints now. */
  async check(): Promise<string> {
    const args = ["check", "--namespace", namespace, "--timeout", "0s", "--report-only"];
    return run(process.execPath, [program, ...args], { env: { KUBECONFIG: this.node.admin.kubeconfig } });
  }

  /** What a command of the console prints. */
  async command(...args: readonly string[]): Promise<string> {
    const { admin, folder, kubectlFolder } = this.node;
    const path = `${kubectlFolder}${delimiter}${process.env["PATH"]}`;
    return run(process.execPath, [program, ...args], {
      env: { KUBECONFIG: admin.kubeconfig, PATH: path, HOME: folder, COLUMNS: "160" },
    });
  }

  async label(value: "true" | null): Promise<void> {
    await this.node.api.mergePatch(`/api/v1/nodes/${this.node.name}`, {
      metadata: { labels: { "joulie.io/managed": value } },
    });
  }

  async pods(program?: string): Promise<readonly Pod[]> {
    const { items } = await this.node.api.get<{ items: readonly Pod[] }>(`/api/v1/namespaces/${namespace}/pods`);
    return items.filter((pod) => program === undefined || programOf(pod) === program);
  }

  /** Waits until exactly these programs have a Ready pod, and no other pod is left. */
  async runs(...programs: readonly string[]): Promise<void> {
    await this.node.until(`${programs.join(", ")} are Ready`, async () => {
      const pods = await this.pods();
      const found = pods.map((pod) => `${programOf(pod)}${isReady(pod) ? "" : " (not ready)"}`);
      if (found.toSorted().join() !== programs.toSorted().join()) throw new Error(`there are ${found.join(", ")}`);
      return true;
    });
  }

  async twin(name: string = this.node.name): Promise<Twin> {
    return this.node.api.get<Twin>(`/apis/joulie.io/v1alpha1/nodetwins/${name}`);
  }

  /** The CPU limit in the host's files. */
  watts(): number {
    return Number(readFileSync(join(this.machine, "sys", limitFile(0)), "utf8")) / 1e6;
  }

  /** The GPU's limit in the host's files. */
  gpuWatts(): number {
    return Number(readFileSync(join(this.machine, "sys", gpuFile(0)), "utf8")) / 1e6;
  }

  async comesToHave(watts: number): Promise<void> {
    await this.node.until(`the CPU cap is ${watts} W`, async () => {
      if (this.watts() !== watts) throw new Error(`it is ${this.watts()} W`);
      return true;
    });
  }

  /** Every CPU limit that the host's files have while the action runs. */
  async wattsDuring(action: () => Promise<void>): Promise<readonly number[]> {
    const seen = new Set<number>();
    let isOver = false;
    const looking = eventually(
      () => {
        seen.add(this.watts());
        return isOver;
      },
      { boundMs: 600_000, between: async () => undefined },
    );
    await action().finally(() => (isOver = true));
    await looking;
    return [...seen];
  }

  /** Files of the host's sysfs that differ from what they were before the installation. */
  changedFiles(): readonly string[] {
    return differences(readTree(join(this.machine, "sys")), this.#original);
  }
}
