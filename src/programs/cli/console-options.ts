// Options that the commands of the console share, spelt as kubectl spells them.
import { type Command, Option } from "commander";
import { kubeconfigOption } from "./cluster-command.ts";

export interface ClusterOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  /** Of the installation. */
  readonly namespace: string;
}

export interface PrintOptions extends ClusterOptions {
  readonly output?: string;
  /** False with --no-headers. */
  readonly headers: boolean;
}

export interface WatchOptions extends PrintOptions {
  readonly watch: boolean;
}

export const clusterOptions = (command: Command): Command =>
  command
    .addOption(new Option("-n, --namespace <name>", "namespace of the installation").default("joulie-system"))
    .addOption(new Option("--context <name>", "context of the kubeconfig"))
    .addOption(kubeconfigOption());

export const outputOption = () => new Option("-o, --output <format>", "wide, json, yaml, name or jsonpath=TEMPLATE");
export const headersOption = () => new Option("--no-headers", "print tables without their first line");
export const watchOption = () => new Option("-w, --watch", "print again when something changes").default(false);
export const selectorOption = () => new Option("-l, --selector <labels>", "only nodes with these labels");
export const sortOption = () => new Option("--sort-by <column>", "column in lower case, or label:KEY").default("name");
