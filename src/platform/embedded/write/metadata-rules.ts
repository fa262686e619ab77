import { isLabelKey, isLabelValue } from "../../../core/api/index.ts";
import type { FieldProblem } from "../api/status.ts";
import { isJsonObject, type JsonObject, jsonObjectOr, listAt } from "../storage/json.ts";
import type { ApiObjectMetadata } from "../storage/kube-object.ts";

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const MAX_ANNOTATIONS_LENGTH = 256 * 1024;

const invalid = (field: string, value: unknown, why: string): FieldProblem => ({
  field,
  reason: "FieldValueInvalid",
  message: `Invalid value: ${JSON.stringify(value) ?? "null"}: ${why}`,
});

function nameProblems({ name }: JsonObject): FieldProblem[] {
  if (typeof name !== "string" || name === "") {
    const message = "Required value: name or generateName is required";
    return [{ field: "metadata.name", reason: "FieldValueRequired", message }];
  }
  if (name.length <= 253 && SUBDOMAIN.test(name)) return [];
  const why =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
  return [invalid("metadata.name", name, why)];
}

function labelProblems({ labels }: JsonObject): FieldProblem[] {
  if (labels === undefined) return [];
  if (!isJsonObject(labels)) return [invalid("metadata.labels", labels, "must be a map")];
  return Object.entries(labels).flatMap(([key, value]) => [
    ...(isLabelKey(key) ? [] : [invalid("metadata.labels", key, "name part must be a qualified name")]),
    ...(typeof value === "string" && isLabelValue(value)
      ? []
      : [
          invalid(
            "metadata.labels",
            value,
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', at most 63 of them",
          ),
        ]),
  ]);
}

function annotationProblems({ annotations }: JsonObject): FieldProblem[] {
  if (annotations === undefined) return [];
  if (!isJsonObject(annotations)) return [invalid("metadata.annotations", annotations, "must be a map")];
  const entries = Object.entries(annotations);
  const size = entries.reduce((sum, [key, value]) => sum + key.length + String(value).length, 0);
  const tooLong: FieldProblem = {
    field: "metadata.annotations",
    reason: "FieldValueTooLong",
    message: `Too long: may not be more than ${MAX_ANNOTATIONS_LENGTH} bytes`,
  };
  return [
    ...entries.flatMap(([key, value]) => [
      ...(isLabelKey(key.toLowerCase())
        ? []
        : [invalid("metadata.annotations", key, "name part must be a qualified name")]),
      ...(typeof value === "string" ? [] : [invalid(`metadata.annotations.${key}`, value, "must be a string")]),
    ]),
    ...(size > MAX_ANNOTATIONS_LENGTH ? [tooLong] : []),
  ];
}

function finalizerProblems({ finalizers }: JsonObject, before: ApiObjectMetadata | undefined): FieldProblem[] {
  if (finalizers === undefined || finalizers === null) return [];
  if (!Array.isArray(finalizers)) return [invalid("metadata.finalizers", finalizers, "must be a list")];
  const names: readonly unknown[] = finalizers;
  const bad = names.filter((name) => typeof name !== "string" || !isLabelKey(name));
  if (bad.length > 0) {
    return bad.map((name) => invalid("metadata.finalizers", name, "name part must be a qualified name"));
  }
  const known: readonly unknown[] = before?.finalizers ?? [];
  const fresh = names.filter((name) => !known.includes(name));
  if (before?.deletionTimestamp === undefined || fresh.length === 0) return [];
  const found = fresh.map((name) => JSON.stringify(name)).join(", ");
  const message = `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${found}}`;
  return [{ field: "metadata.finalizers", reason: "FieldValueForbidden", message }];
}

function ownerProblems(metadata: JsonObject): FieldProblem[] {
  const { ownerReferences } = metadata;
  if (ownerReferences !== undefined && ownerReferences !== null && !Array.isArray(ownerReferences)) {
    return [invalid("metadata.ownerReferences", ownerReferences, "must be a list")];
  }
  return listAt(metadata, "ownerReferences").flatMap((owner, index) =>
    ["apiVersion", "kind", "name", "uid"]
      .filter((key) => typeof jsonObjectOr(owner)[key] !== "string" || jsonObjectOr(owner)[key] === "")
      .map((key) => invalid(`metadata.ownerReferences[${index}].${key}`, "", "must not be empty")),
  );
}

/** Validates metadata; `before` is the stored metadata in an update. */
export const metadataProblems = (metadata: JsonObject, before: ApiObjectMetadata | undefined): FieldProblem[] => [
  ...nameProblems(metadata),
  ...labelProblems(metadata),
  ...annotationProblems(metadata),
  ...finalizerProblems(metadata, before),
  ...ownerProblems(metadata),
];
