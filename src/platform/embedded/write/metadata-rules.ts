import { isLabelKey, isLabelValue } from "../../../core/api/index.ts";
import type { FieldProblem } from "../api/status.ts";
import { type JsonObject, jsonObjectOr } from "../storage/json.ts";

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

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

const labelProblems = ({ labels }: JsonObject): FieldProblem[] =>
  Object.entries(jsonObjectOr(labels)).flatMap(([key, value]) => {
    if (!isLabelKey(key)) return [invalid("metadata.labels", key, "name part must be a qualified name")];
    if (typeof value === "string" && isLabelValue(value)) return [];
    return [invalid("metadata.labels", value, "a valid label has at most 63 alphanumeric characters, '-', '_' or '.'")];
  });

export const metadataProblems = (metadata: JsonObject): FieldProblem[] => [
  ...nameProblems(metadata),
  ...labelProblems(metadata),
];
