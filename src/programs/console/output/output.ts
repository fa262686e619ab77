import { usageError } from "../context.ts";
import { renderJsonPath } from "./jsonpath.ts";

export type OutputFormat =
  | { readonly kind: "text" | "wide" | "json" | "yaml" | "name" }
  | { readonly kind: "jsonpath"; readonly template: string };

const plain = ["wide", "json", "yaml", "name"] as const;

export function outputFormatOf(text: string | undefined): OutputFormat {
  if (text === undefined || text === "") return { kind: "text" };
  const known = plain.find((kind) => kind === text);
  if (known !== undefined) return { kind: known };
  if (text.startsWith("jsonpath=")) return { kind: "jsonpath", template: text.slice("jsonpath=".length) };
  throw usageError(`-o ${text} is not supported; use wide, json, yaml, name or jsonpath=TEMPLATE`);
}

export interface Printable {
  readonly text: (wide: boolean) => string;
  readonly value: () => unknown;
  readonly names: () => readonly string[];
}

export async function rendered(format: OutputFormat, printable: Printable): Promise<string> {
  const { kind } = format;
  if (kind === "json") return `${JSON.stringify(printable.value(), undefined, 4)}\n`;
  if (kind === "name")
    return printable
      .names()
      .map((name) => `${name}\n`)
      .join("");
  if (kind === "text" || kind === "wide") return printable.text(kind === "wide");
  // Through JSON, because YAML and templates would show undefined and Maps.
  const value: unknown = JSON.parse(JSON.stringify(printable.value()));
  if (kind === "jsonpath") return renderJsonPath(format.template, value);
  const { stringify } = await import("yaml");
  return stringify(value);
}

export const asList = (items: readonly unknown[]): unknown => ({ apiVersion: "v1", kind: "List", items });
