import { type Command, Option } from "commander";
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

/** `joulie wake NODE… | --all`. */
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
Switches the machine of the node off and on again through its PowerEndpoint and measures the time. The node must
run no pods except those of DaemonSets. A success proves the wake, so that the node may sleep.`;

/** `joulie power test NODE`. */
export function definePowerTest(command: Command, { world, exit }: CommandTools): void {
  command
    .argument("<node>", "name of the node")
    .addOption(timeoutOption("how long to wait", "45m"))
    .addOption(contextOption())
    .addOption(kubeconfigOption())
    .addHelpText("after", TEST_HELP)
    .action(async (node: string, options: CommandOptions) => exit(await runTest(node, options, world)));
}

async function runTest(node: string, options: CommandOptions, world: CliEnvironment): Promise<number> {
  const { timeout } = options;
  return withCluster("power test", options, world, async ({ client, clock }) => {
    const { testWake } = await import("../power/index.ts");
    const { proven, message } = await testWake({
      client,
      clock,
      timeout,
      node,
      onStep: (step) => world.out(`${node}: ${step}\n`),
    });
    if (!proven) return `${node}: ${message}`;
    world.out(`${node}: ${message}; the wake is proven\n`);
    return undefined;
  });
}

/** Runs `work`, which returns what failed. */
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
