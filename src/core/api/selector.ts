import { abridged, type BadText, badText, ok, type Result } from "../units/index.ts";
import { isObjectName } from "./object-shape.ts";

/** One condition on one label, with the operators of Kubernetes' matchExpressions. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  /** Without duplicates; empty for Exists and DoesNotExist. */
  readonly values: readonly string[];
}

/** All requirements must hold. An empty selector matches everything. */
export type LabelSelector = readonly LabelRequirement[];

const labelName = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

export function isLabelKey(key: string): boolean {
  const slash = key.indexOf("/");
  const name = key.slice(slash + 1);
  if (name.length > 63 || !labelName.test(name)) return false;
  return slash === -1 || isObjectName(key.slice(0, slash));
}

export const isLabelValue = (value: string): boolean => value === "" || (value.length <= 63 && labelName.test(value));

/** Parses the syntax of `kubectl -l`: `a=b`, `a==b`, `a!=b`, `a in (x,y)`, `a notin (x)`, `a`, `!a`, joined by commas. */
export function parseLabelSelector(text: string): Result<LabelSelector, BadText> {
  const tokens = text.match(/==|!=|[=!,()]|[^\s=!,()]+/g) ?? [];
  const requirements: LabelRequirement[] = [];
  let at = 0;
  const bad = (why: string) => badText(text, `a label selector: ${why}`);
  const next = () => abridged(tokens[at] ?? "");
  const takeIf = (token: string) => tokens[at] === token && at++ >= 0;
  const takeWord = (): string => (/^[^=!,()]/.test(tokens[at] ?? "") ? (tokens[at++] ?? "") : "");

  /** The values after `in`: an item may be empty, the list may not. */
  const takeList = (): string[] | undefined => {
    if (!takeIf("(") || tokens[at] === ")") return undefined;
    const values: string[] = [];
    do values.push(takeWord());
    while (takeIf(","));
    return takeIf(")") ? values : undefined;
  };

  while (tokens.length > 0) {
    const negated = takeIf("!");
    const key = takeWord();
    if (key === "") return bad(`${at < tokens.length ? `${next()} stands` : "the text ends"} where a label key should`);
    if (!isLabelKey(key)) return bad(`${abridged(key)} is no label key`);

    let operator: LabelRequirement["operator"] = negated ? "DoesNotExist" : "Exists";
    let values: readonly string[] | undefined = [];
    const comparison = negated ? undefined : tokens[at];
    if (comparison === "=" || comparison === "==" || comparison === "!=") {
      at++;
      operator = comparison === "!=" ? "NotIn" : "In";
      values = [takeWord()];
    } else if (comparison === "in" || comparison === "notin") {
      at++;
      operator = comparison === "in" ? "In" : "NotIn";
      values = takeList();
    }
    if (values === undefined) return bad(`${abridged(key)} ${comparison} needs values in parentheses, such as (x,y)`);
    const unfit = values.find((value) => !isLabelValue(value));
    if (unfit !== undefined) return bad(`${abridged(unfit)} is no label value`);
    requirements.push({ key, operator, values: [...new Set(values)] });

    if (at === tokens.length) break;
    if (!takeIf(",")) return bad(`${next()} stands where a comma should`);
  }
  return ok(requirements);
}

type Holds = (value: string | undefined, values: readonly string[]) => boolean;

/** As in Kubernetes, `a!=b` and `a notin (b)` also match if the label is absent. */
const holds: Readonly<Record<LabelRequirement["operator"], Holds>> = {
  In: (value, values) => value !== undefined && values.includes(value),
  NotIn: (value, values) => value === undefined || !values.includes(value),
  Exists: (value) => value !== undefined,
  DoesNotExist: (value) => value === undefined,
};

export function matchesLabels(selector: LabelSelector, labels: Readonly<Record<string, string>> | undefined): boolean {
  return selector.every(({ key, operator, values }) => {
    // Own properties only: `constructor` is a valid label key.
    const value = labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
    return holds[operator](value, values);
  });
}

/** The inverse of `parseLabelSelector`; the result is also valid as the `labelSelector` parameter of a list request. */
export function formatLabelSelector(selector: LabelSelector): string {
  return selector
    .map(({ key, operator, values }) => {
      if (operator === "Exists") return key;
      if (operator === "DoesNotExist") return `!${key}`;
      const [first = "", ...more] = values;
      if (more.length === 0) return `${key}${operator === "In" ? "=" : "!="}${first}`;
      return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`;
    })
    .join(",");
}
