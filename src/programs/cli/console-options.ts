// Options that the commands of the console share, spelt as kubectl spells them.
import { type Command, InvalidArgumentError, Option } from "commander";
import type { PagedProgram } from "../console/index.ts";
import { contextOption, kubeconfigOption } from "./cluster-command.ts";

export interface ClusterOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  /** Of the installation; found if absent. */
  readonly namespace?: string;
}

export interface PrintOptions extends ClusterOptions {
  readonly output?: string;
  /** False with --no-headers. */
  readonly headers: boolean;
}

export interface WatchFlags extends PrintOptions {
  readonly watch: boolean;
}

export const clusterOptions = (command: Command): Command =>
  command
    .addOption(new Option("-n, --namespace <name>", "namespace of the installation; found if not given"))
    .addOption(contextOption())
    .addOption(kubeconfigOption());

/** The address of a program's pages, for those who forward its port themselves. */
export const urlOption = (program: PagedProgram) =>
  new Option(
    `--${program} <url>`,
    `address of the ${program}; else it is asked through kubectl port-forward`,
  ).argParser(httpUrl);

export function httpUrl(text: string): string {
  const { protocol } = URL.parse(text) ?? {};
  if (protocol !== "http:" && protocol !== "https:")
    throw new InvalidArgumentError("It is not an address such as http://127.0.0.1:8090.");
  return text;
}

export const outputOption = () => new Option("-o, --output <format>", "wide, json, yaml, name or jsonpath=TEMPLATE");
/** The default is explicit: commander sets that of a negated option before the options of a command are loaded. */
export const headersOption = () => new Option("--no-headers", "print tables without their first line").default(true);
export const watchOption = () => new Option("-w, --watch", "print again when something changes").default(false);
export const selectorOption = () => new Option("-l, --selector <labels>", "only nodes with these labels");
export const sortOption = () =>
  new Option("--sort-by <column>", "column in lower case, or label:KEY").argParser(sortKeyOf).default("name");

/** Those of the console, which is loaded only when a command runs. A test compares them. */
export const knownSortKeys: readonly string[] = [
  "name",
  "class",
  "power",
  "cap",
  "used",
  "cooling",
  "psu",
  "pods",
  "cpus",
  "gpus",
  "rack",
  "updated",
];

function sortKeyOf(text: string): string {
  if (!knownSortKeys.includes(text) && !/^label:./.test(text))
    throw new InvalidArgumentError(`Use ${knownSortKeys.join(", ")} or label:KEY.`);
  return text;
}
