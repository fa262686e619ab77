// What commands that do one thing to a cluster and end have in common.
import { type Command, InvalidArgumentError, Option } from "commander";
import { type Milliseconds, parseDuration } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import type { DefaultContext, RawValues } from "../../platform/config/index.ts";
import type { KubeClient, ServerTime, Transport } from "../../platform/kube/index.ts";
import type { Program } from "../index.ts";

export interface Cluster {
  readonly client: KubeClient;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly contextNamespace: string | undefined;
}

export const namespaceOption = () =>
  new Option("--namespace <name>", "namespace of the installation").default("joulie-system");
export const kubeconfigOption = () =>
  new Option("--kubeconfig <file>", "how to reach the cluster; in a pod its service account");
export const contextOption = () => new Option("--context <name>", "context of the kubeconfig");
export const timeoutOption = (about: string, byDefault: string, flag = "--timeout") =>
  new Option(`${flag} <duration>`, about).argParser(durationOf).default(durationOf(byDefault), byDefault);

interface ClusterCommand {
  readonly name: string;
  readonly fieldManager: string;
  readonly kubeconfig: string | undefined;
  readonly context?: string | undefined;
  readonly callsPerSecond?: number;
}

/** The API server's time: that of the objects, also where the cluster is a demo whose time passes faster. */
export async function serverTimeOf({ transport, clock }: Cluster): Promise<ServerTime> {
  const { ServerTime } = await import("../../platform/kube/index.ts");
  const time = new ServerTime(transport, clock);
  await time.measure();
  return time;
}

/** The method and the path of a request, which say nothing to a user. */
const CALL = /^[A-Z]+ \/\S*: /;

/** Connects, does the work and returns the exit code. `work` returns what failed. */
export async function onCluster(
  { name, fieldManager, kubeconfig, context, callsPerSecond }: ClusterCommand,
  world: CliEnvironment,
  work: (cluster: Cluster) => Promise<string | undefined>,
): Promise<number> {
  const { HttpTransport, KubeClient, loadIdentity } = await import("../../platform/kube/index.ts");
  const { systemClock: clock } = await import("../../platform/clock/index.ts");
  const { systemRandom: random } = await import("../../platform/random/index.ts");
  try {
    const identity = await loadIdentity({
      clock,
      kubeconfig: kubeconfig ?? world.env["KUBECONFIG"],
      context,
      environment: world.env,
    });
    const transport = new HttpTransport({ identity });
    try {
      const client = new KubeClient({
        transport,
        clock,
        random,
        fieldManager,
        ...(callsPerSecond !== undefined && {
          limit: { perSecond: callsPerSecond, burst: callsPerSecond, queue: 20_000 },
        }),
      });
      const problem = await work({ client, transport, clock, contextNamespace: identity.namespace });
      if (problem === undefined) return exitCodes.done;
      world.err(`joulie ${name}: ${problem}\n`);
    } finally {
      await transport.close();
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    world.err(`joulie ${name}: ${message.replace(CALL, "the API server: ")}\n`);
    const { JoulieError } = await import("../../core/api/index.ts");
    if (error instanceof JoulieError) return exitCodes.misused;
  }
  return exitCodes.failed;
}

export function durationOf(text: string): Milliseconds {
  const parsed = parseDuration(text);
  if (!parsed.ok) throw new InvalidArgumentError("It is not a duration such as 30s or 2m.");
  return parsed.value;
}

/** Such as the pause of a loop, which must not run without one. */
export function positiveDurationOf(text: string): Milliseconds {
  const duration = durationOf(text);
  if (!(duration >= SHORTEST)) throw new InvalidArgumentError("It is shorter than a second.");
  return duration;
}

const SHORTEST = 1000;

export interface CommandTools {
  readonly world: CliEnvironment;
  readonly programs: readonly Program[];
  readonly exit: (code: number) => void;
  /** Applies the rules of all commands to a subcommand. */
  readonly prepare: (command: Command, name: string) => Command;
  readonly commandAt: (names: readonly string[]) => Promise<Command | undefined>;
}

export interface CliEnvironment {
  readonly env: RawValues;
  readonly machine: DefaultContext;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly columns?: number;
  /** Asks the user, who may end the input instead of answering; undefined without a terminal. */
  readonly ask?: ((question: string) => Promise<string | undefined>) | undefined;
}

export const exitCodes = {
  done: 0,
  failed: 1,
  /** The command line or the configuration is invalid: a restart will not help. */
  misused: 2,
} as const;
