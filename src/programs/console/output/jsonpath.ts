import { usageError } from "../context.ts";

/** The JSONPath templates of kubectl, without filters and slices, which are reported. */
export function renderJsonPath(template: string, value: unknown): string {
  const parts = partsOf(template);
  const { text, next } = render(parts, 0, value);
  if (next < parts.length) throw usageError("jsonpath: {end} without {range}");
  return text;
}

type Part = { readonly kind: "text" | "expression"; readonly text: string };

function partsOf(template: string): Part[] {
  const parts: Part[] = [];
  let at = 0;
  while (at < template.length) {
    const open = template.indexOf("{", at);
    if (open === -1) {
      parts.push({ kind: "text", text: template.slice(at) });
      break;
    }
    if (open > at) parts.push({ kind: "text", text: template.slice(at, open) });
    const close = closingBrace(template, open);
    if (close === -1) throw usageError(`jsonpath: a { at character ${open + 1} is not closed`);
    parts.push({ kind: "expression", text: template.slice(open + 1, close).trim() });
    at = close + 1;
  }
  return parts;
}

/** Braces in quotes do not close. */
function closingBrace(text: string, open: number): number {
  let quote = "";
  for (let at = open + 1; at < text.length; at++) {
    const character = text[at] ?? "";
    if (quote !== "") {
      if (character === "\\") at++;
      else if (character === quote) quote = "";
    } else if (character === '"' || character === "'") quote = character;
    else if (character === "}") return at;
  }
  return -1;
}

function render(parts: readonly Part[], from: number, value: unknown): { text: string; next: number } {
  let text = "";
  let at = from;
  while (at < parts.length) {
    const part = parts[at] as Part;
    if (part.kind === "text") text += part.text;
    else if (part.text === "end") return { text, next: at };
    else if (part.text.startsWith("range ")) {
      let next = at + 1;
      const items = select(part.text.slice(6).trim(), value);
      for (const item of items) {
        const inner = render(parts, at + 1, item);
        text += inner.text;
        next = inner.next;
      }
      if (items.length === 0) next = render(parts, at + 1, undefined).next;
      if (parts[next]?.text !== "end") throw usageError("jsonpath: {range} without {end}");
      at = next;
    } else if (/^["']/.test(part.text)) text += unquoted(part.text);
    else text += select(part.text, value).map(asText).join(" ");
    at++;
  }
  return { text, next: at };
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };
const unquoted = (text: string): string =>
  text.slice(1, -1).replaceAll(/\\(.)/g, (_, character: string) => escapes[character] ?? character);

function asText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined) return "";
  return JSON.stringify(value);
}

const STEP = /^(?:\.?\[(?<index>-?\d+)\]|\.?\[\*\]|\.\*|\.?\[['"](?<quoted>[^'"]*)['"]\]|\.(?<name>(?:\\.|[^.[\]])+))/;

function select(expression: string, value: unknown): readonly unknown[] {
  let rest = expression.replace(/^[$@]/, "");
  if (rest === "" || rest === ".") return [value];
  if (!/^[.[]/.test(rest)) rest = `.${rest}`;
  let found: readonly unknown[] = [value];
  while (rest !== "") {
    const match = STEP.exec(rest);
    if (match === null) throw usageError(`jsonpath: cannot read "${expression}" at "${rest}"`);
    const { index, quoted, name } = match.groups ?? {};
    const key = quoted ?? name?.replaceAll(/\\(.)/g, "$1");
    found = found.flatMap((one) => {
      if (key !== undefined) {
        const child = isRecord(one) && Object.hasOwn(one, key) ? one[key] : undefined;
        return child === undefined ? [] : [child];
      }
      const items: readonly unknown[] = Array.isArray(one)
        ? (one as unknown[])
        : isRecord(one)
          ? Object.values(one)
          : [];
      if (index === undefined) return items;
      const item = items.at(Number(index));
      return item === undefined ? [] : [item];
    });
    rest = rest.slice(match[0].length);
  }
  return found;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
