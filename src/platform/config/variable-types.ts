import { isIPv4, isIPv6 } from "node:net";
import type * as z from "zod";
import { isLabelKey, isObjectName, type LabelSelector, parseLabelSelector } from "../../core/api/index.ts";
import {
  fail,
  formatDuration,
  type Milliseconds,
  milliseconds,
  ok,
  parseDuration,
  type Result,
} from "../../core/units/index.ts";
import { redactText } from "../log/index.ts";
import { type VariableOptions, type VariableType, variable } from "./variable.ts";

/** The shortest duration: a shorter one would run passes without a pause. */
const SHORTEST = milliseconds(100);

/** `orZero` describes the meaning of 0, if it is allowed. The parser limits the longest duration. */
export const duration = <const Options extends VariableOptions & { orZero?: string; min?: Milliseconds }>(
  options: Options,
) => {
  const { min = SHORTEST } = options;
  return variable<Milliseconds, Options>(
    {
      word: "duration",
      allowed: `a duration such as 500ms, 30s, 5m or 1h30m, at least ${formatDuration(min)}${options.orZero === undefined ? "" : `, or 0 (${options.orZero})`}`,
      read: (text) => {
        const parsed = parseDuration(text);
        if (!parsed.ok) return fail("is not a duration");
        if (parsed.value === 0 && options.orZero !== undefined) return parsed;
        return parsed.value < min ? fail(`is shorter than ${formatDuration(min)}`) : parsed;
      },
      show: formatDuration,
    },
    options,
  );
};

const booleans: Readonly<Record<string, boolean>> = { true: true, "1": true, false: false, "0": false };

export const FLAG_WORD = "true|false";

export const flag = <const Options extends VariableOptions>(options: Options) =>
  variable<boolean, Options>(
    {
      word: FLAG_WORD,
      allowed: "true or false (1 and 0 do as well)",
      read: (text) => {
        const value = Object.hasOwn(booleans, text.toLowerCase()) ? booleans[text.toLowerCase()] : undefined;
        return value === undefined ? fail("is not true or false") : ok(value);
      },
      show: String,
    },
    options,
  );

export const choice = <const Choice extends string, const Options extends VariableOptions>(
  choices: readonly [Choice, ...Choice[]],
  options: Options,
) =>
  variable<Choice, Options>(
    {
      word: choices.join("|"),
      allowed: choices.join(", "),
      read: (text) => {
        const chosen = choices.find((candidate) => candidate === text);
        return chosen === undefined ? fail("is none of the choices") : ok(chosen);
      },
    },
    options,
  );

/** Any text; `contains` is a required placeholder. */
export const text = <
  const Options extends VariableOptions & {
    contains?: string;
    allowed: string;
    redact?: (text: string) => string;
  },
>(
  options: Options,
) =>
  variable<string, Options>(
    {
      word: "text",
      allowed: options.allowed,
      ...(options.redact && { redact: options.redact }),
      read: (text) => {
        if (text === "") return fail("is empty");
        return options.contains === undefined || text.includes(options.contains)
          ? ok(text)
          : fail(`lacks ${options.contains}`);
      },
    },
    options,
  );

export const path = <const Options extends VariableOptions & { or?: string }>(options: Options) =>
  variable<string, Options>(
    {
      word: "path",
      allowed: options.or === undefined ? "a path" : `a path, or ${options.or}`,
      read: (text) => (text === "" || text.includes("\0") ? fail("is not a path") : ok(text)),
    },
    options,
  );

/** May contain `{node}`. It stays text, because it becomes a URL only after the placeholder is replaced. */
export const url = <const Options extends VariableOptions & { placeholder?: "{node}" }>(options: Options) =>
  variable<string, Options>(
    {
      word: "url",
      allowed: `an http or https URL${options.placeholder === undefined ? "" : `, in which ${options.placeholder} is replaced by the node's name`}`,
      read: (text) => {
        const filled = options.placeholder === undefined ? text : text.replaceAll(options.placeholder, "node");
        const [unknown] = /\{[\w\s.-]*\}/.exec(filled) ?? [];
        if (unknown !== undefined) return fail(`has the unknown placeholder ${unknown}`);
        // URL also accepts "http:host", "http:/host" and half a placeholder as a host; these are typos.
        const parsed = /^https?:\/\//i.test(filled) ? URL.parse(filled) : null;
        return parsed === null || /[{}]/.test(parsed.hostname) ? fail("is not an http or https URL") : ok(text);
      },
      // A URL without :// is invalid, and its error message must not show credentials either.
      redact: (text) => redactText(text.includes("://") ? text : text.replace(/^.*@/s, "***@")),
    },
    options,
  );

/** The listen address of a server; no host means all interfaces. */
export interface Address {
  readonly host: string | undefined;
  readonly port: number;
}

export const address = <const Options extends VariableOptions>(options: Options) =>
  variable<Address, Options>(
    {
      word: "address",
      allowed: "an address such as :8080, 127.0.0.1:8080 or [::1]:8080, port 0 to 65535 (0 = any free one)",
      read: readAddress,
    },
    options,
  );

function readAddress(text: string): Result<Address, string> {
  const [, bracketed, bare, digits] = /^(?:\[([0-9a-f:.]+)\]|([^\s:/[\]]*)):(\d{1,5})$/i.exec(text) ?? [];
  if (digits === undefined) return fail("is not an address");
  const port = Number(digits);
  if (port > 65_535) return fail("has a port above 65535");
  const host = (bracketed ?? bare) || undefined;
  const isHost = bracketed !== undefined ? isIPv6(bracketed) : host === undefined || isHostName(host);
  return isHost ? ok({ host, port }) : fail("is not an address");
}

/** Digits and dots alone must be a valid IPv4 address; resolvers read 1.2.3 as 1.2.0.3. */
const isHostName = (host: string): boolean => (/^[\d.]+$/.test(host) ? isIPv4(host) : isObjectName(host.toLowerCase()));

export const labelSelector = <const Options extends VariableOptions>(options: Options) =>
  variable<LabelSelector, Options>(
    {
      word: "selector",
      allowed: "a Kubernetes label selector such as joulie.io/managed=true,tier!=test",
      read: (text) => {
        const parsed = parseLabelSelector(text);
        return parsed.ok ? parsed : fail("is not a label selector");
      },
    },
    options,
  );

/** The name of a Kubernetes object. */
export const objectName = <const Options extends VariableOptions>(options: Options) =>
  variable<string, Options>(
    {
      word: "name",
      allowed: "a Kubernetes name: lower-case letters, digits, - and .",
      read: (text) => (isObjectName(text) ? ok(text) : fail("is not a Kubernetes name")),
    },
    options,
  );

const labelKeyKind: VariableType<string> = {
  word: "key",
  allowed: "a Kubernetes label key such as joulie.io/reserved",
  read: (text) => (isLabelKey(text) ? ok(text) : fail("is not a label key")),
};

export const labelKey = <const Options extends VariableOptions>(options: Options) =>
  variable<string, Options>(labelKeyKind, options);

export const labelKeys = <const Options extends VariableOptions>(options: Options) =>
  variable<readonly string[], Options>(listKind("key", "label key", isLabelKey), options);

export const objectNames = <const Options extends VariableOptions>(options: Options) =>
  variable<readonly string[], Options>(listKind("name", "name", isObjectName), options);

const listKind = (word: string, noun: string, isItem: (text: string) => boolean): VariableType<readonly string[]> => ({
  word: `${word},${word}…`,
  allowed: `Kubernetes ${noun}s, separated by commas`,
  read: (text) => {
    const items = text.split(",").map((item) => item.trim());
    const bad = items.find((item) => !isItem(item));
    return bad === undefined ? ok(items) : fail(`has ${JSON.stringify(bad)}, which is not a ${noun}`);
  },
});

export const json = <Value, const Options extends VariableOptions & { allowed: string }>(
  schema: z.ZodType<Value>,
  options: Options,
) =>
  variable<Value, Options>(
    {
      word: "json",
      allowed: options.allowed,
      read: (text) => {
        let parsed: unknown;
        try {
          parsed = JSON.parse(text);
        } catch {
          return fail("is not JSON");
        }
        const checked = schema.safeParse(parsed);
        if (checked.success) return ok(checked.data);
        const [issue] = checked.error.issues;
        return fail(`is wrong at ${issue?.path.join(".") || "its top"} (${issue?.message ?? "unknown problem"})`);
      },
      // A chart may spread it over many lines.
      show: (value) => JSON.stringify(value),
    },
    options,
  );
