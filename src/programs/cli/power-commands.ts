import { type Command, InvalidArgumentError, Option } from "commander";
import type { ErrorCode } from "../../core/api/index.ts";
import type { Milliseconds } from "../../core/units/index.ts";
import {
  type CliEnvironment,
  type Cluster,
  type CommandTools,
  contextOption,
  exitCodes,
  kubeconfigOption,
  onCluster,
  serverTimeOf,
  timeoutOption,
} from "./cluster-command.ts";

const POWER_TEST: ErrorCode = "JOULIE_E_POWER_TEST";

const WAKE_HELP = `
Sets the annotation joulie.io/keep-awake on PowerEndpoints and waits until their nodes are on. They stay awake
until --release. The power program does the work, so it has to run.`;

export function defineWake(command: Command, { world, exit }: CommandTools): void {
  command
    .argument("[nodes...]", "names of nodes")
    .addOption(new Option("--all", "every node with a PowerEndpoint").default(false))
    .addOption(new Option("--release", "let the nodes sleep again").default(false))
    .addOption(timeoutOption("how long to wait", "35m"))
    .addOption(contextOption())
    .addOption(kubeconfigOption())
    .addHelpText("after", WAKE_HELP)
    .action(async (nodes: readonly string[], options: WakeOptions) => exit(await runWake(nodes, options, world)));
}

interface CommandOptions {
  readonly timeout: Milliseconds;
  readonly context?: string;
  readonly kubeconfig?: string;
}

interface WakeOptions extends CommandOptions {
  readonly all: boolean;
  readonly release: boolean;
}

async function runWake(nodes: readonly string[], options: WakeOptions, world: CliEnvironment): Promise<number> {
  const { all, release, timeout } = options;
  if (all === nodes.length > 0) {
    world.err("joulie wake: name nodes, or use --all; see joulie wake --help (JOULIE_E_USAGE)\n");
    return exitCodes.misused;
  }
  return withCluster("wake", options, world, async ({ client, clock }) => {
    const { releaseFromWake, wake } = await import("../power/index.ts");
    const names = all ? {} : { names: nodes };
    if (release) {
      for (const node of await releaseFromWake(client, names.names)) world.out(`${node}: may sleep again\n`);
      return undefined;
    }
    const onStep = (node: string, step: "waking" | "awake") =>
      world.out(`${node}: ${step === "waking" ? "waking …" : `awake until joulie wake ${node} --release`}\n`);
    return wake({ client, clock, timeout, onStep, ...names });
  });
}

const TEST_HELP = `
Switches the machine of a node off and on again through its PowerEndpoint and measures the time. A success proves
the wake, so that the node may sleep. The node must run no pods except those of DaemonSets, or --drain moves them.
With --all or several nodes, a few are tested at the same time, at most a tenth of a zone. Nodes whose wake is proven
are left out, so the command can be interrupted and repeated. Exits with 1 unless all of them are proven.`;

export function definePowerTest(command: Command, { world, exit }: CommandTools): void {
  command
    .argument("[nodes...]", "names of nodes")
    .addOption(new Option("--all", "every node with a PowerEndpoint").default(false))
    .addOption(new Option("--again", "also nodes whose wake is proven").default(false))
    .addOption(new Option("--concurrency <n>", "nodes tested at the same time").argParser(countOf).default(5))
    .addOption(new Option("--drain", "cordon nodes and evict their pods, as PodDisruptionBudgets allow").default(false))
    .addOption(timeoutOption("how long to wait for one node", "45m"))
    .addOption(contextOption())
    .addOption(kubeconfigOption())
    .addHelpText("after", TEST_HELP)
    .action(async (nodes: readonly string[], options: TestOptions) => exit(await runTest(nodes, options, world)));
}

interface TestOptions extends CommandOptions {
  readonly all: boolean;
  readonly again: boolean;
  readonly concurrency: number;
  readonly drain: boolean;
}

const MAX_CONCURRENCY = 100;

function countOf(text: string): number {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1 || count > MAX_CONCURRENCY)
    throw new InvalidArgumentError(`It is not a whole number from 1 to ${MAX_CONCURRENCY}.`);
  return count;
}

async function runTest(nodes: readonly string[], options: TestOptions, world: CliEnvironment): Promise<number> {
  const { all, drain, again, concurrency, timeout } = options;
  if (all === nodes.length > 0) {
    world.err("joulie power test: name nodes, or use --all; see joulie power test --help (JOULIE_E_USAGE)\n");
    return exitCodes.misused;
  }
  return withCluster("power test", options, world, async ({ client, clock }) => {
    const { testWake, testWakes } = await import("../power/index.ts");
    const [node] = nodes;
    if (node !== undefined && nodes.length === 1 && !drain) {
      const onStep = (step: string) => world.out(`${node}: ${step}\n`);
      const { proven, message } = await testWake({ client, clock, timeout, node, onStep });
      if (!proven) return `${node}: ${message}`;
      world.out(`${node}: ${message}; the wake is proven\n`);
      return undefined;
    }
    const [{ systemRandom: random }, { untilInterrupted }, { TestReport }] = await Promise.all([
      import("../../platform/random/index.ts"),
      import("../console/index.ts"),
      import("./power-test-report.ts"),
    ]);
    const report = new TestReport(world);
    const outcomes = await testWakes({
      client,
      clock,
      random,
      names: all ? undefined : nodes,
      again,
      concurrency,
      drain,
      timeout,
      signal: untilInterrupted(),
      onProgress: report.show,
    });
    return report.end(outcomes);
  });
}

const withCluster = async (
  name: string,
  { kubeconfig, context }: CommandOptions,
  world: CliEnvironment,
  work: (cluster: Cluster) => Promise<string | undefined>,
): Promise<number> =>
  onCluster({ name, fieldManager: "joulie-cli", kubeconfig, context }, world, async (cluster) => {
    const { clock } = await serverTimeOf(cluster);
    const problem = await work({ ...cluster, clock });
    return problem && `${problem} (${POWER_TEST})`;
  });
