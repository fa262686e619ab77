import type { MetricDefinition } from "./definition.ts";

/** Prometheus' text format. */
export const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8";

const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", '"': '\\"' };

export const escapeLabelValue = (text: string): string =>
  text.replaceAll(/[\\\n"]/g, (character) => escapes[character] ?? character);

/** The HELP and TYPE lines of a metric. Quotes are not escaped in them. */
export function headerOf({ name, help, type }: Pick<MetricDefinition, "name" | "help" | "type">): string {
  const shown = help.replaceAll(/[\\\n]/g, (character) => escapes[character] ?? character);
  return `# HELP ${name} ${shown}\n# TYPE ${name} ${type === "states" ? "gauge" : type}\n`;
}
