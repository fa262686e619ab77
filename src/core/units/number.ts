import { type BadText, badText, ok, type Result } from "./result.ts";

const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Stricter than `Number()`, which reads "" and " " as 0, "0x10" as 16 and "1e999" as Infinity. */
export function parseNumber(text: string): Result<number, BadText> {
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(value)) return badText(text, "a decimal number such as 3, 0.5 or 1e3");
  return ok(value === 0 ? 0 : value);
}
