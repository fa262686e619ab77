// Joulie as the chart installs it, for bench/cluster.ts: each program under its role, with the chart's replicas.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { labels } from "../src/core/api/index.ts";
import { freePorts } from "../src/platform/serve/listen.ts";
import { agentPermissions } from "../src/programs/agent/permissions.ts";
import { FakeControlService } from "../src/programs/agent/testing/fake-control-service.ts";
import { extenderPermissions } from "../src/programs/extender/permissions.ts";
import { operatorPermissions } from "../src/programs/operator/permissions.ts";
import { startOptions } from "../src/programs/start-options.ts";
import { createMachineFiles } from "../test/agent/machine-files.ts";
import type { ControlPlane } from "../test/controlplane/harness.ts";
import type { Rule } from "../test/controlplane/identities.ts";
import { ProgramProcess, type ProgramStart } from "./program-process.ts";

const namespace = "joulie-system";
/** Nodes per agent of the pool. */
const SHARD = 2500;
const POWER_W = 300;
const MAX_W = 700;

/** The label of nodes in the pool. One more node has an agent of its own. */
export const poolLabel = "bench/pool";
export const singleNode = "single-node";

/** Programs in the order of the tables; also the names of the ServiceAccounts. */
export const roles = ["joulie-operator", "joulie-extender", "joulie-agent-pool", "joulie-agent"] as const;
export type Role = (typeof roles)[number];
type Roles<Value> = Readonly<Record<Role, Value>>;

export class JouliePrograms {
  readonly byRole: Roles<readonly ProgramProcess[]>;
  readonly extenderPort: number;
  readonly #close: readonly (() => Promise<void> | void)[];

  private constructor(
    byRole: Roles<readonly ProgramProcess[]>,
    extenderPort: number,
    close: readonly (() => Promise<void> | void)[],
  ) {
    this.byRole = byRole;
    this.extenderPort = extenderPort;
    this.#close = close;
  }

  /** Starts all programs. Nodes named in `pool` answer over HTTP with a power that does not change. */
  static async start(plane: ControlPlane, main: string, pool: readonly string[]): Promise<JouliePrograms> {
    const close: (() => Promise<void> | void)[] = [];
    const byRole = Object.fromEntries(roles.map((role) => [role, [] as ProgramProcess[]])) as Record<
      Role,
      ProgramProcess[]
    >;
    const add = async (role: Role, rules: readonly Rule[], starts: readonly Omit<ProgramStart, "main">[]) => {
      const { kubeconfig } = await plane.identity(rules, { name: role });
      for (const [index, start] of starts.entries()) {
        const own = { KUBECONFIG: kubeconfig, POD_NAMESPACE: namespace, POD_NAME: `${role}-${index}` };
        const program = await ProgramProcess.start({ main, ...start, variables: { ...own, ...start.variables } });
        close.push(async () => program.stop());
        byRole[role].push(program);
      }
    };
    try {
      const service = new FakeControlService();
      await service.listen();
      close.push(async () => service.close());
      for (const name of pool) Object.assign(service.node(name), { power: POWER_W, capWatts: MAX_W });
      const folder = mkdtempSync(join(tmpdir(), "joulie-cluster-bench-"));
      close.push(() => rmSync(folder, { recursive: true }));
      createMachineFiles(folder, { cpus: 64, packages: 2, gpus: 0 });

      const [extenderPort = 0, second = 0] = await freePorts(2);
      await add("joulie-operator", operatorPermissions(namespace), [operator, operator]);
      await add("joulie-extender", extenderPermissions, [extender(extenderPort), extender(second)]);
      await add("joulie-agent-pool", agentPermissions("pool", namespace), shards(pool.length, service, folder));
      await add("joulie-agent", agentPermissions("daemonset", namespace), [nodeAgent(folder)]);
      return new JouliePrograms(byRole, extenderPort, close);
    } catch (error) {
      await closeAll(close);
      throw error;
    }
  }

  async ready(): Promise<void> {
    await Promise.all(
      Object.values(this.byRole)
        .flat()
        .map(async (program) => program.ready()),
    );
  }

  async stop(): Promise<void> {
    await closeAll(this.#close);
  }
}

async function closeAll(close: readonly (() => Promise<void> | void)[]): Promise<void> {
  for (const end of close.toReversed()) await end();
}

const operator = { program: "operator", options: startOptions.operator, variables: {} } as const;

const extender = (port: number) =>
  ({
    program: "extender",
    options: startOptions.extender,
    variables: { EXTENDER_ADDR: `127.0.0.1:${port}` },
  }) as const;

function shards(nodes: number, service: FakeControlService, folder: string) {
  const count = Math.ceil(nodes / SHARD);
  return Array.from(
    { length: count },
    (_, shard) =>
      ({
        program: "agent",
        options: startOptions.agentPool,
        variables: {
          AGENT_MODE: "pool",
          POOL_NODE_SELECTOR: `${labels.managed}=true,${poolLabel}=true`,
          POOL_SHARDS: String(count),
          POOL_SHARD_ID: String(shard),
          STATE_DIR: join(folder, `pool-${shard}`),
          TELEMETRY_CPU_SOURCE: "http",
          TELEMETRY_CPU_HTTP_ENDPOINT: service.telemetry,
          TELEMETRY_CPU_CONTROL: "http",
          TELEMETRY_CPU_CONTROL_HTTP_ENDPOINT: service.control,
          TELEMETRY_GPU_SOURCE: "none",
          TELEMETRY_GPU_CONTROL: "none",
        },
      }) as const,
  );
}

const nodeAgent = (folder: string) =>
  ({
    program: "agent",
    options: startOptions.agent,
    variables: {
      NODE_NAME: singleNode,
      HOST_SYS_ROOT: join(folder, "sys"),
      HOST_PROC_ROOT: join(folder, "proc"),
      STATE_DIR: join(folder, "state"),
    },
  }) as const;
