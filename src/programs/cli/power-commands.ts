import { type Command, InvalidArgumentError, Option } from "commander";
import { type ErrorCode, JoulieError } from "../../core/api/index.ts";
import { type Milliseconds, parseDuration } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import type { KubeClient } from "../../platform/kube/index.ts";
import { type CliEnvironment, exitCodes } from "./environment.ts";

type Exit = (code: number) => void;
const POWER_TEST: ErrorCode = "JOULIE_E_POWER_TEST";

const WAKE_HELP = `
Sets the annotation joulie.io/keep-awake on PowerEndpoints and waits until their nodes are on. They stay awake
until --release. The power program does the work, so it has to run.`;

/** `joulie wake NODE… | --all`. */
export function defineWake(command: Command, world: CliEnvironment, exit: Exit): void {
  command
    .description("Wakes sleeping nodes and keeps them awake.")
    .argument("[nodes...]", "names of nodes")
    .addOption(new Option("--all", "every node with a PowerEndpoint").default(false))
    .addOption(new Option("--release", "let the nodes sleep again").default(false))
    .addOption(timeoutOption("35m"))
    .addOption(kubeconfigOption())
    .addHelpText("after", WAKE_HELP)
    .action(async (nodes: readonly string[], options: WakeOptions) => exit(await runWake(nodes, options, world)));
}

interface CommandOptions {
  readonly timeout: Milliseconds;
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
  return withCluster("joulie wake", options, world, async ({ client, clock }) => {
    const { releaseFromWake, wake } = await import("../power/index.ts");
    const names = all ? {} : { names: nodes };
    if (!release) return wake({ client, clock, timeout, ...names });
    await releaseFromWake(client, names.names);
    return undefined;
  });
}

const TEST_HELP = `
Switches the machine of the node off and on again through its PowerEndpoint and measures the time. The node must
run no pods except those of DaemonSets. A success proves the wake, so that the node may sleep.`;

/** `joulie power test NODE`. */
export function definePowerTest(command: Command, world: CliEnvironment, exit: Exit): void {
  command
    .description("Proves that a node can be woken: switches it off and on.")
    .argument("<node>", "name of the node")
    .addOption(timeoutOption("45m"))
    .addOption(kubeconfigOption())
    .addHelpText("after", TEST_HELP)
    .action(async (node: string, options: CommandOptions) => exit(await runTest(node, options, world)));
}

async function runTest(node: string, options: CommandOptions, world: CliEnvironment): Promise<number> {
  const { timeout } = options;
  return withCluster("joulie power test", options, world, async ({ client, clock }) => {
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
async function withCluster(
  name: string,
  options: CommandOptions,
  world: CliEnvironment,
  work: (cluster: { readonly client: KubeClient; readonly clock: Clock }) => Promise<string | undefined>,
): Promise<number> {
  const { HttpTransport, KubeClient: Client, loadIdentity } = await import("../../platform/kube/index.ts");
  const { systemClock: clock } = await import("../../platform/clock/index.ts");
  const { systemRandom: random } = await import("../../platform/random/index.ts");
  try {
    const kubeconfig = options.kubeconfig ?? world.env["KUBECONFIG"];
    const identity = await loadIdentity({ clock, kubeconfig, environment: world.env });
    const transport = new HttpTransport({ identity });
    try {
      const problem = await work({
        client: new Client({ transport, clock, random, fieldManager: "joulie-cli" }),
        clock,
      });
      if (problem === undefined) return exitCodes.done;
      world.err(`${name}: ${problem} (${POWER_TEST})\n`);
    } finally {
      await transport.close();
    }
  } catch (error) {
    world.err(`${name}: ${error instanceof Error ? error.message : String(error)}\n`);
    if (error instanceof JoulieError) return exitCodes.misused;
  }
  return exitCodes.failed;
}

const timeoutOption = (byDefault: string) =>
  new Option("--timeout <duration>", "how long to wait")
    .argParser(durationOf)
    .default(durationOf(byDefault), byDefault);

const kubeconfigOption = () =>
  new Option("--kubeconfig <file>", "how to reach the cluster; in a pod its service account");

function durationOf(text: string): Milliseconds {
  const parsed = parseDuration(text);
  if (!parsed.ok) throw new InvalidArgumentError("It is not a duration such as 30s or 2m.");
  return parsed.value;
}
