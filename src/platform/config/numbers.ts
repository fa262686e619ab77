import { fail, ok, type Percent, parseNumber, parseQuantity, percent } from "../../core/units/index.ts";
import { type VariableOptions, type VariableType, variable } from "./variable.ts";

/** A number without a unit: a share or a count. Use `quantity` for numbers with a unit. */
export const number = <const Options extends VariableOptions & Bounds>(options: Options) =>
  variable<number, Options>(numberKind("number", options, Number), options);

export const integer = <const Options extends VariableOptions & Bounds>(options: Options) =>
  variable<number, Options>(numberKind("integer", options, Number), options);

/** A number with a unit: `quantity(watts, { default: "120", … })`. */
export const quantity = <Unit, const Options extends VariableOptions & Bounds>(
  unit: (value: number) => Unit,
  options: Options,
) => variable<Unit, Options>(numberKind("number", options, unit), options);

/** As `quantity`, or the word auto. */
export function quantityOrAuto<Unit, const Options extends VariableOptions & Bounds>(
  unit: (value: number) => Unit,
  options: Options,
) {
  const quantityKind = numberKind("number", options, unit);
  return variable<Unit | "auto", Options>(
    {
      word: "number|auto",
      allowed: `${quantityKind.allowed}, or auto`,
      read: (text) => (text === "auto" ? ok(text) : quantityKind.read(text)),
    },
    options,
  );
}

/** A percentage of a maximum: above 0, because 0 would forbid all work, and at most 100. */
export const percentage = <const Options extends VariableOptions>(options: Options) =>
  variable<Percent, Options>(numberKind("percent", { above: 0, max: 100 }, percent), options);

const numberNouns = { number: "a number", integer: "an integer", percent: "a percentage" } as const;

function numberKind<Unit>(
  word: keyof typeof numberNouns,
  bounds: Bounds,
  unit: (value: number) => Unit,
): VariableType<Unit> {
  const noun = numberNouns[word];
  return {
    word,
    allowed: `${noun}${describeBounds(bounds)}`,
    read: (text) => {
      const parsed = parseNumber(text);
      if (!parsed.ok || (word === "integer" && !Number.isSafeInteger(parsed.value))) return fail(`is not ${noun}`);
      const problem = outOfBounds(parsed.value, bounds);
      return problem === undefined ? ok(unit(parsed.value)) : fail(problem);
    },
  };
}

export const bytes = <const Options extends VariableOptions>(options: Options) =>
  variable<number, Options>(
    {
      word: "bytes",
      allowed: "a whole number of bytes such as 65536, 512Ki or 64Mi, above 0, at most 2Gi",
      read: (text) => {
        const parsed = parseQuantity(text);
        if (!parsed.ok) return fail("is not a quantity");
        if (!Number.isSafeInteger(parsed.value)) return fail("is not a whole number of bytes");
        const problem = outOfBounds(parsed.value, { above: 0, max: 2 ** 31 });
        return problem === undefined ? parsed : fail(problem);
      },
    },
    options,
  );

/** The allowed numbers; `above` is exclusive, `min` and `max` are inclusive. */
export interface Bounds {
  readonly above?: number;
  readonly min?: number;
  readonly max?: number;
}

/** Continues "a number": "", " above 0", " of at least 1", " from 1 to 100", … */
export function describeBounds({ above, min, max }: Bounds): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  const parts = [];
  if (above !== undefined) parts.push(`above ${above}`);
  if (min !== undefined) parts.push(`of at least ${min}`);
  if (max !== undefined) parts.push(`at most ${max}`);
  return parts.length === 0 ? "" : ` ${parts.join(" and ")}`;
}

/** Continues `NAME="text"`; `undefined` means that the number is allowed. */
export function outOfBounds(value: number, { above, min, max }: Bounds): string | undefined {
  if (above !== undefined && value <= above) return `is not above ${above}`;
  if (min !== undefined && value < min) return `is less than ${min}`;
  if (max !== undefined && value > max) return `is more than ${max}`;
  return undefined;
}
