import type * as z from "zod";
import { builtinCatalogue } from "../../../core/inventory/index.ts";
import { fail, ok, type Result } from "../../../core/units/index.ts";
import type { ConfigSchema } from "../../../platform/config/index.ts";
import { isApiError, type KubeClient } from "../../../platform/kube/index.ts";
import { listWorkloads, variablesOf } from "./installation.ts";

export interface ProgramSettings<Values> {
  readonly values: Values;
  /** In words: `Deployment joulie-extender`, or why it is a guess. */
  readonly source: string;
  /** False for a guess. */
  readonly isInstalled: boolean;
}

/** Reads the variables of a program from its Deployment, else takes the defaults, as `source` says. */
export async function programSettings<Config extends ConfigSchema>(
  client: KubeClient,
  namespace: string,
  program: string,
  config: Config,
): Promise<ProgramSettings<z.output<Config>>> {
  const { env, source, isInstalled } = await installedVariables(client, namespace, program);
  const parsed = await settingsIn(config, env);
  if (parsed.ok) return { values: parsed.value, source, isInstalled };
  const defaults = await settingsIn(config, {});
  if (!defaults.ok) throw new Error(`the defaults of ${program} are invalid`);
  return { values: defaults.value, source: `default settings: ${parsed.error}`, isInstalled: false };
}

/** The configuration of a program with these variables, or the first problem. */
export async function settingsIn<Config extends ConfigSchema>(
  config: Config,
  env: Readonly<Record<string, string>>,
): Promise<Result<z.output<Config>, string>> {
  const { parseConfig } = await import("../../../platform/config/index.ts");
  const parsed = parseConfig(config, { env, flags: {}, machine: { isTerminal: false, exists: () => false } });
  return parsed.ok ? ok(parsed.value.values) : fail(parsed.error.problems[0]?.message ?? "");
}

async function installedVariables(
  client: KubeClient,
  namespace: string,
  program: string,
): Promise<{ env: Readonly<Record<string, string>>; source: string; isInstalled: boolean }> {
  const assumed = (why: string) => ({ env: {}, source: `default settings: ${why}`, isInstalled: false });
  try {
    const [found] = await listWorkloads(client, namespace, "Deployment", program);
    if (found === undefined) return assumed(`no Deployment of the ${program} in ${namespace}`);
    const source = `the settings of Deployment ${found.metadata.name}`;
    return { env: variablesOf(found), source, isInstalled: true };
  } catch (error) {
    // Other errors pass. Defaults instead of the real settings would be a wrong answer.
    if (isApiError(error, "notFound")) return assumed("this API server has no Deployments");
    if (isApiError(error, "forbidden")) return assumed("the Deployment may not be read");
    throw error;
  }
}

/** The console knows only the built-in catalogue: the file of HARDWARE_CATALOG_PATH is in the pods. */
export const catalogue = builtinCatalogue;
