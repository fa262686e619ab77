import { ageColumn, nameColumn } from "../api/response-format.ts";
import type { FieldProblem } from "../api/status.ts";
import { at, type JsonObject, jsonObjectOr, listAt, stringAt } from "../storage/json.ts";
import { builtIn } from "./builtin-kinds.ts";
import { workloadSchema } from "./builtin-schemas.ts";
import type { Column } from "./served-resource.ts";

const workload = { categories: ["all"], hasStatus: true, hasGeneration: true, schema: workloadSchema } as const;

/** A number of the spec or the status; 0 where it is absent, as Kubernetes omits zeros. */
export const countAt = (object: JsonObject, ...path: readonly string[]): number => Number(at(object, ...path) ?? 0);

const countColumn = (name: string, ...path: readonly string[]): Column => ({
  name,
  type: "integer",
  cell: (object) => countAt(object, ...path),
});

/** A field that is null counts as absent, as in Kubernetes. */
const withDefaults =
  (defaults: JsonObject) =>
  (object: JsonObject): JsonObject => {
    const given = Object.entries(jsonObjectOr(object.spec)).filter(([, value]) => value !== null);
    return { ...object, spec: { ...defaults, ...Object.fromEntries(given) } };
  };

/** Pods of one owner: all of them are in memory. */
const POD_LIMIT = 10_000;

function countProblems(object: JsonObject, field: string, limit: number): FieldProblem[] {
  const value = at(object, "spec", field) ?? 0;
  if (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= limit) return [];
  const message = `Invalid value: ${JSON.stringify(value)}: must be a whole number from 0 to ${limit}`;
  return [{ field: `spec.${field}`, reason: "FieldValueInvalid", message }];
}

function templateProblems(object: JsonObject): FieldProblem[] {
  if (listAt(object, "spec", "template", "spec", "containers").length > 0) return [];
  return [{ field: "spec.template.spec.containers", reason: "FieldValueRequired", message: "Required value" }];
}

/** Pods are found by their owner. The selector is checked, because in a cluster it decides. */
function selectorProblems(object: JsonObject): FieldProblem[] {
  const wanted = Object.entries(jsonObjectOr(at(object, "spec", "selector", "matchLabels")));
  const labels = jsonObjectOr(at(object, "spec", "template", "metadata", "labels"));
  const policy = stringAt(object, "spec", "template", "spec", "restartPolicy");
  if (policy !== "" && policy !== "Always") {
    const message = `Unsupported value: ${JSON.stringify(policy)}: supported values: "Always"`;
    return [{ field: "spec.template.spec.restartPolicy", reason: "FieldValueNotSupported", message }];
  }
  if (wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value))
    return [...templateProblems(object), ...countProblems(object, "replicas", POD_LIMIT)];
  const message = "Invalid value: `selector` does not match template `labels`, or is empty";
  return [{ field: "spec.selector", reason: "FieldValueInvalid", message }];
}

const scaled = {
  ...workload,
  group: "apps",
  completed: (object: JsonObject) => ({ ...withDefaults({ replicas: 1 })(object), status: {} }),
  merged: withDefaults({ replicas: 1 }),
  problems: selectorProblems,
} as const;

export const deployments = builtIn({
  ...scaled,
  kind: "Deployment",
  shortNames: ["deploy"],
  columns: [
    nameColumn,
    {
      name: "Ready",
      type: "string",
      cell: (one) => `${countAt(one, "status", "readyReplicas")}/${countAt(one, "spec", "replicas")}`,
    },
    countColumn("Up-to-date", "status", "updatedReplicas"),
    countColumn("Available", "status", "availableReplicas"),
    ageColumn,
  ],
});

export const replicaSets = builtIn({
  ...scaled,
  kind: "ReplicaSet",
  shortNames: ["rs"],
  columns: [
    nameColumn,
    countColumn("Desired", "spec", "replicas"),
    countColumn("Current", "status", "replicas"),
    countColumn("Ready", "status", "readyReplicas"),
    ageColumn,
  ],
});

/** As kube-apiserver does: without completions, one success of any pod ends the Job. */
function withJobDefaults(job: JsonObject): JsonObject {
  return withDefaults({ parallelism: 1, completions: 1, backoffLimit: 6, suspend: false })(job);
}

function jobProblems(job: JsonObject): FieldProblem[] {
  const policy = stringAt(job, "spec", "template", "spec", "restartPolicy");
  if (policy === "Never" || policy === "OnFailure")
    return [
      ...templateProblems(job),
      ...countProblems(job, "parallelism", POD_LIMIT),
      ...countProblems(job, "completions", POD_LIMIT),
      ...countProblems(job, "backoffLimit", 2 ** 31 - 1),
    ];
  const message = `Required value: valid values: "OnFailure", "Never"`;
  return [{ field: "spec.template.spec.restartPolicy", reason: "FieldValueRequired", message }];
}

export const jobs = builtIn({
  ...workload,
  group: "batch",
  kind: "Job",
  columns: [
    nameColumn,
    { name: "Status", type: "string", cell: (job) => endOf(job) ?? "Running" },
    {
      name: "Completions",
      type: "string",
      cell: (job) => `${countAt(job, "status", "succeeded")}/${countAt(job, "spec", "completions")}`,
    },
    ageColumn,
  ],
  completed: (job) => ({ ...withJobDefaults(job), status: {} }),
  merged: withJobDefaults,
  problems: jobProblems,
});

/** Complete or Failed; undefined while the Job runs. */
export function endOf(job: JsonObject): string | undefined {
  const ends = listAt(job, "status", "conditions").filter((one) => stringAt(one, "status") === "True");
  return ends.map((one) => stringAt(one, "type")).find((type) => type === "Complete" || type === "Failed");
}
