import { matchesLabels, parseLabelSelector } from "../../../core/api/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { ApiObject } from "../storage/kube-object.ts";
import { badRequest } from "./status.ts";

export type Matches = (object: ApiObject) => boolean;

interface FieldTerm {
  readonly field: string;
  readonly value: string;
  readonly equal: boolean;
}

/** Parses `a=b,c!=d`. As in Kubernetes, a backslash escapes `,`, `=` and itself. */
function parseFieldSelector(text: string): FieldTerm[] {
  const terms = text.match(/(?:\\.|[^,\\])+/g) ?? [];
  return terms.map((term) => {
    const match = /^((?:\\.|[^=!\\])+)(==|!=|=)((?:\\.|[^=\\])*)$/.exec(term);
    if (match === null) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    const [, field = "", operator, value = ""] = match;
    return { field: field.trim(), value: value.replaceAll(/\\(.)/g, "$1"), equal: operator !== "!=" };
  });
}

/** Combines the label and field selectors; undefined matches every object. */
export function selectorOf(resource: ServedResource, query: URLSearchParams): Matches | undefined {
  const tests = [labelTest(query.get("labelSelector")), fieldTest(resource, query.get("fieldSelector"))];
  const given = tests.filter((test) => test !== undefined);
  return given.length === 0 ? undefined : (object) => given.every((test) => test(object));
}

function labelTest(text: string | null): Matches | undefined {
  if (text === null || text === "") return undefined;
  const selector = parseLabelSelector(text);
  if (!selector.ok) throw badRequest(`unable to parse requirement: ${selector.error.message}`);
  return ({ metadata }) => matchesLabels(selector.value, metadata.labels);
}

function fieldTest(resource: ServedResource, text: string | null): Matches | undefined {
  if (text === null || text === "") return undefined;
  const tests = parseFieldSelector(text).map(({ field, value, equal }): Matches => {
    const read = readerOf(resource, field);
    if (read === undefined) throw badRequest(`field label not supported: ${field}`);
    return (object) => (read(object) === value) === equal;
  });
  return (object) => tests.every((test) => test(object));
}

function readerOf(resource: ServedResource, field: string): ((object: ApiObject) => string) | undefined {
  if (field === "metadata.name") return ({ metadata }) => metadata.name;
  if (field === "metadata.namespace") return ({ metadata }) => metadata.namespace ?? "";
  return Object.hasOwn(resource.selectable, field) ? resource.selectable[field] : undefined;
}
