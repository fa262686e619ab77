import { CodedError, JoulieError } from "../../core/api/index.ts";
import type { Milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import type { PortForwarder } from "../../platform/forward/index.ts";
import type { KubeClient, Transport } from "../../platform/kube/index.ts";

export interface ConsoleContext {
  readonly client: KubeClient;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly skew?: Milliseconds | undefined;
  /** Opens a way to the pages of programs in pods; absent: only pages with a known address are read. */
  readonly forward?: PortForwarder | undefined;
  readonly urls?: Readonly<Partial<Record<PagedProgram, string | undefined>>> | undefined;
  /** The cluster that the user named on the command line: commands that the console advises name it as well. */
  readonly target?: { readonly context?: string | undefined; readonly kubeconfig?: string | undefined } | undefined;
  readonly out: (text: string) => void;
  readonly screen: Screen;
}

/** The programs whose own record commands read. */
export type PagedProgram = "operator" | "extender" | "dashboard";

/** What is known about the place that text goes to. */
export interface Screen {
  /** Undefined: as long as the lines are, as in a pipe. */
  readonly columns: number | undefined;
  readonly colour: boolean;
}

export const usageError = (message: string): JoulieError => new JoulieError("JOULIE_E_USAGE", message);

export class ConsoleError extends CodedError {
  override readonly name = "ConsoleError";

  constructor(message: string) {
    super("JOULIE_E_CONSOLE", message);
  }
}

export type AdvisingContext = Pick<ConsoleContext, "screen" | "target">;

/** A command for the cluster that the user named: without these flags it would act on the current context's. */
export function advised(command: string, target: ConsoleContext["target"] = {}): string {
  const [program = ""] = command.split(" ", 1);
  const contextFlag = contextFlags[program];
  if (contextFlag === undefined) return command;
  const flags = [
    ...(target.context === undefined ? [] : [`${contextFlag} ${quoted(target.context)}`]),
    ...(target.kubeconfig === undefined ? [] : [`--kubeconfig ${quoted(target.kubeconfig)}`]),
  ];
  return [command, ...flags].join(" ");
}

const contextFlags: Readonly<Record<string, string>> = {
  joulie: "--context",
  kubectl: "--context",
  helm: "--kube-context",
};

const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
