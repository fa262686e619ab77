import type { ConsoleContext } from "./context.ts";

/** What a report needs that advises commands. */
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
