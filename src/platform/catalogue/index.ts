import { readFile } from "node:fs/promises";
import { type ErrorCode, errorMessageOf, JoulieError } from "../../core/api/index.ts";
import { buildCatalogue, builtinCatalogue, type Catalogue } from "../../core/inventory/index.ts";
import type { Logger } from "../log/index.ts";

const CATALOG_ENTRY: ErrorCode = "JOULIE_E_CATALOG_ENTRY";

/** Loads the catalogue from HARDWARE_CATALOG_PATH. Agent, operator and extender read the same file. An unreadable file stops the start. */
export async function loadCatalogue(path: string, log: Logger): Promise<Catalogue> {
  if (path === "embedded") return builtinCatalogue;
  // Loaded only if needed, because it uses memory for the whole life of the program.
  const { parse } = await import("yaml");
  let additions: unknown;
  try {
    additions = parse(await readFile(path, "utf8"));
  } catch (cause) {
    const why = errorMessageOf(cause);
    throw new JoulieError("JOULIE_E_CONFIG_VALUE", `HARDWARE_CATALOG_PATH=${path} cannot be read: ${why}`, { cause });
  }
  const { catalogue, problems } = buildCatalogue(additions);
  for (const problem of problems) log.warn({ code: CATALOG_ENTRY, path, problem }, "hardware catalogue entry rejected");
  return catalogue;
}
