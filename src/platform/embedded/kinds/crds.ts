import type { FieldProblem } from "../api/status.ts";
import { ageColumn, ageOf, jsonPathValue, nameColumn } from "../api/table.ts";
import { at, isJsonObject, type JsonObject, jsonObjectOr, listAt, stringAt } from "../storage/json.ts";
import type { ApiObject } from "../storage/kube-object.ts";
import { builtInKinds } from "./builtin-kinds.ts";
import { metadataSchema, plainSchema } from "./builtin-schemas.ts";
import type { Schema } from "./schema.ts";
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
    return typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);
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
    overwritable: false,
    selectable: selectableOf(version),
    columns: [nameColumn, ...(columns.length === 0 ? [ageColumn] : columns.map(printerColumn))],
  };
}

const required = (crd: JsonObject, ...path: readonly string[]): FieldProblem[] =>
  stringAt(crd, ...path) === ""
    ? [{ field: path.join("."), reason: "FieldValueRequired", message: "Required value" }]
    : [];

const GROUP = "apiextensions.k8s.io";
const ownGroups: ReadonlySet<string> = new Set([GROUP, ...builtInKinds.map(({ group }) => group)]);

/** Rejects CRDs in Kubernetes' own groups. Kubernetes would require an approval annotation for them. */
function groupProblems(crd: JsonObject): FieldProblem[] {
  const group = stringAt(crd, "spec", "group");
  if (group === "" || !ownGroups.has(group)) return required(crd, "spec", "group");
  const message = `Forbidden: ${group} is a built-in API group; choose another`;
  return [{ field: "spec.group", reason: "FieldValueForbidden", message }];
}

function problems(crd: JsonObject): FieldProblem[] {
  const missing = [
    ...groupProblems(crd),
    ...required(crd, "spec", "scope"),
    ...required(crd, "spec", "names", "plural"),
    ...required(crd, "spec", "names", "kind"),
  ];
  const storage = listAt(crd, "spec", "versions").filter((version) => at(version, "storage") === true);
  if (storage.length !== 1) {
    const message = "Invalid value: must have exactly one version marked as storage version";
    missing.push({ field: "spec.versions", reason: "FieldValueInvalid", message });
  } else if (!isJsonObject(at(storage[0], "schema", "openAPIV3Schema"))) {
    const message = "Required value: schemas are required";
    missing.push({ field: "spec.versions[0].schema.openAPIV3Schema", reason: "FieldValueRequired", message });
  }
  const name = `${stringAt(crd, "spec", "names", "plural")}.${stringAt(crd, "spec", "group")}`;
  if (missing.length > 0 || stringAt(crd, "metadata", "name") === name) return missing;
  const message = `Invalid value: ${JSON.stringify(stringAt(crd, "metadata", "name"))}: must be spec.names.plural+"."+spec.group`;
  return [{ field: "metadata.name", reason: "FieldValueInvalid", message }];
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

export const crds: ServedResource = {
  group: GROUP,
  version: "v1",
  plural: "customresourcedefinitions",
  singular: "customresourcedefinition",
  kind: "CustomResourceDefinition",
  listKind: "CustomResourceDefinitionList",
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  namespaced: false,
  hasStatus: true,
  custom: false,
  storedAs: `${GROUP}/customresourcedefinitions`,
  schema: plainSchema,
  hasGeneration: true,
  overwritable: false,
  selectable: {},
  columns: [nameColumn, { name: "Created At", type: "date", cell: ({ metadata }) => metadata.creationTimestamp }],
  completed: established,
  merged: established,
  problems,
};
