import { readFile } from "node:fs/promises";
import { JoulieError } from "../../core/api/index.ts";
import { buildCatalogue, builtinCatalogue, type Catalogue } from "../../core/inventory/index.ts";
import type { Logger } from "../log/index.ts";

/** HARDWARE_CATALOG_PATH: the models there are, with a site's own. The agent, the operator and the extender read the same file. A file that cannot be read at all stops the start. */
export async function loadCatalogue(path: string, log: Logger): Promise<Catalogue> {
  if (path === "embedded") return builtinCatalogue;
  // Loaded only where it is needed: it is memory for the whole life of a program.
  const { parse } = await import("yaml");
  let additions: unknown;
  try {
    additions = parse(await readFile(path, "utf8"));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new JoulieError("JOULIE_E_CONFIG_VALUE", `HARDWARE_CATALOG_PATH=${path} cannot be read: ${why}`, { cause });
  }
  const { catalogue, problems } = buildCatalogue(additions);
  for (const problem of problems) log.warn({ path, problem }, "an entry of the hardware catalogue was refused");
  return catalogue;
}
