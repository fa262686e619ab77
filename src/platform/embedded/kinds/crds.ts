import { ageColumn, ageOf, jsonPathValue, nameColumn } from "../api/response-format.ts";
import { at, isJsonObject, type JsonObject, jsonObjectOr, listAt, stringAt } from "../storage/json.ts";
import type { ApiObject } from "../storage/kube-object.ts";
import { builtIn } from "./builtin-kinds.ts";
import { metadataSchema, type Schema } from "./builtin-schemas.ts";
import type { Column, ServedResource } from "./served-resource.ts";

const texts = (values: readonly unknown[]): string[] => values.filter((value) => typeof value === "string");

/** The storage version, which is the only served one. */
const versionOf = (crd: JsonObject): JsonObject =>
  jsonObjectOr(listAt(crd, "spec", "versions").find((version) => at(version, "storage") === true));

function printerColumn(given: unknown): Column {
  const type = stringAt(given, "type");
  const path = stringAt(given, "jsonPath");
  const priority = Number(at(given, "priority") ?? 0);
  const cell: Column["cell"] = (object, now) => {
    const value = jsonPathValue(object, path);
    if (type === "date") return value === undefined ? undefined : ageOf(value, now);
    return isJsonObject(value) || Array.isArray(value) ? JSON.stringify(value) : value;
  };
  return { name: stringAt(given, "name"), type: type === "date" ? "string" : type, priority, cell };
}

function rootSchema(schema: Schema): Schema {
  const plain: Schema = { type: "string" };
  return { ...schema, properties: { ...schema.properties, apiVersion: plain, kind: plain, metadata: metadataSchema } };
}

function selectableOf(version: JsonObject): ServedResource["selectable"] {
  const paths = texts(listAt(version, "selectableFields").map((field) => at(field, "jsonPath")));
  const shown = (object: ApiObject, path: string): string => {
    const value = jsonPathValue(object, path);
    if (typeof value === "string") return value;
    return value === undefined || value === null ? "" : JSON.stringify(value);
  };
  return Object.fromEntries(paths.map((path) => [path.slice(1), (object: ApiObject) => shown(object, path)]));
}

/** The resource that a CustomResourceDefinition defines. */
export function servedByCrd(crd: JsonObject): ServedResource {
  const version = versionOf(crd);
  const names = jsonObjectOr(at(crd, "spec", "names"));
  const [group, plural, kind] = [stringAt(crd, "spec", "group"), stringAt(names, "plural"), stringAt(names, "kind")];
  const columns = listAt(version, "additionalPrinterColumns");
  return {
    group,
    version: stringAt(version, "name"),
    plural,
    singular: stringAt(names, "singular") || kind.toLowerCase(),
    kind,
    listKind: stringAt(names, "listKind") || `${kind}List`,
    shortNames: texts(listAt(names, "shortNames")),
    categories: texts(listAt(names, "categories")),
    namespaced: stringAt(crd, "spec", "scope") === "Namespaced",
    hasStatus: at(version, "subresources", "status") !== undefined,
    custom: true,
    storedAs: `${group}/${plural}`,
    schema: rootSchema(jsonObjectOr(at(version, "schema", "openAPIV3Schema"))),
    hasGeneration: true,
    selectable: selectableOf(version),
    columns: [nameColumn, ...(columns.length === 0 ? [ageColumn] : columns.map(printerColumn))],
  };
}

/** Sets the conditions immediately; a real cluster sets them after a moment. */
function established(crd: JsonObject): JsonObject {
  const condition = (type: string, reason: string, message: string) => ({ type, status: "True", reason, message });
  return {
    ...crd,
    status: {
      conditions: [
        condition("NamesAccepted", "NoConflicts", "no conflicts found"),
        condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
      ],
      acceptedNames: at(crd, "spec", "names"),
      storedVersions: [stringAt(versionOf(crd), "name")],
    },
  };
}

export const crds = builtIn({
  group: "apiextensions.k8s.io",
  kind: "CustomResourceDefinition",
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  namespaced: false,
  hasStatus: true,
  hasGeneration: true,
  columns: [nameColumn, { name: "Created At", type: "date", cell: ({ metadata }) => metadata.creationTimestamp }],
  completed: established,
  merged: established,
});
