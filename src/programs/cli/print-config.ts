import { renderTable } from "../../core/units/index.ts";
import type { ParsedConfig } from "../../platform/config/index.ts";

/** Renders the effective values as three aligned columns, in the order of the configuration. */
export function configTable({ sources, shown }: ParsedConfig<unknown>): string {
  const rows = Object.entries(sources).map(([name, source]) => [name, shown[name] ?? "(unset)", source]);
  return renderTable([["NAME", "VALUE", "SOURCE"], ...rows]);
}

/** Renders the same as JSON: `{"NAME": {"value": …, "source": …}}`. Unset variables have no value. */
export function configJson({ sources, shown }: ParsedConfig<unknown>): string {
  const variables = Object.entries(sources).map(([name, source]) => [name, { value: shown[name], source }]);
  return `${JSON.stringify(Object.fromEntries(variables), undefined, 2)}\n`;
}
