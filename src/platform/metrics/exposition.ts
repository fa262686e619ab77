import type { MetricDefinition } from "./definition.ts";

/** The text format of Prometheus, which every version of it reads. */
export const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8";

const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", '"': '\\"' };

export const escapeLabelValue = (text: string): string =>
  text.replaceAll(/[\\\n"]/g, (character) => escapes[character] ?? character);

/** The two lines above a metric's series. In them a quote stands for itself. */
export function headerOf({ name, help, type }: Pick<MetricDefinition, "name" | "help" | "type">): string {
  const shown = help.replaceAll(/[\\\n]/g, (character) => escapes[character] ?? character);
  return `# HELP ${name} ${shown}\n# TYPE ${name} ${type === "states" ? "gauge" : type}\n`;
}
