import { readFile } from "node:fs/promises";
import { errorMessageOf, JoulieError } from "../../core/api/index.ts";
import { type CoolingModel, tableCoolingModel } from "../../core/twin/index.ts";
import type { OperatorConfig } from "./config.ts";

/** The model of a site's own table; undefined without one. A table that cannot be used stops the start. */
export async function siteCoolingModel(config: OperatorConfig): Promise<CoolingModel | undefined> {
  const { COOLING_MODEL: kind, COOLING_TABLE: path = "" } = config;
  if (kind === "linear") return undefined;
  const problem = (why: string, cause?: unknown) =>
    new JoulieError("JOULIE_E_CONFIG_VALUE", `COOLING_TABLE=${path} cannot be used: ${why}`, { cause });
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw problem(errorMessageOf(cause), cause);
  });
  const model = tableCoolingModel(text);
  if (!model.ok) throw problem(model.error);
  return model.value;
}
