import type { Labels, ResourceList } from "../api/index.ts";
import { parseNumber, parseQuantity } from "../units/index.ts";

/** Larger counts are treated as errors. */
const MOST = 65_536;

export const wholeAbove = (least: number, value: number | undefined): number | undefined =>
  value !== undefined && Number.isInteger(value) && value >= least && value <= MOST ? value : undefined;

export function numberIn(labels: Labels, key: string, least = 1): number | undefined {
  const text = labels[key]?.trim();
  if (text === undefined) return undefined;
  const parsed = parseNumber(text);
  return parsed.ok ? wholeAbove(least, parsed.value) : undefined;
}

export function quantityIn(resources: ResourceList | undefined, name: string): number | undefined {
  const value = resources?.[name];
  if (value === undefined) return undefined;
  const parsed = parseQuantity(String(value));
  return parsed.ok ? wholeAbove(1, Math.ceil(parsed.value)) : undefined;
}
