import {
  type AnyKind,
  annotations,
  declaredHardwareLabels,
  gpuProductLabels,
  labels,
  nfdCpuLabels,
  nfdGpuLabels,
  type Pod,
} from "../../../core/api/index.ts";
import { controlPlaneRoleLabels } from "../../../core/sleep/index.ts";
import { isSecretName, REDACTED, redactBundleText, redactValue } from "./redact.ts";

/** Everything else stays in the cluster: commands, probes, volumes and foreign labels may hold secrets in any form. */
type Fields = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const fieldsOf = (value: unknown): Fields => (isRecord(value) ? value : {});
const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : []);

function pick(value: unknown, names: readonly string[]): Fields {
  const fields = fieldsOf(value);
  const picked: Record<string, unknown> = {};
  for (const name of names) {
    const field = fields[name];
    if (typeof field === "string") picked[name] = redactBundleText(field);
    else if (typeof field === "number" || typeof field === "boolean") picked[name] = field;
  }
  return picked;
}

export interface BundledObject {
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>> | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
  readonly spec?: unknown;
  readonly status?: unknown;
}

const KNOWN_LABELS: ReadonlySet<string> = new Set([
  ...Object.values(labels),
  ...Object.values(declaredHardwareLabels),
  ...gpuProductLabels,
  ...Object.values(nfdCpuLabels),
  ...Object.values(nfdGpuLabels).flat(),
  ...["name", "component", "version"].map((key) => `app.kubernetes.io/${key}`),
  ...["arch", "os", "hostname"].map((key) => `kubernetes.io/${key}`),
  ...["zone", "region"].map((key) => `topology.kubernetes.io/${key}`),
  ...controlPlaneRoleLabels,
  "node.kubernetes.io/instance-type",
]);
const KNOWN_ANNOTATIONS = Object.values(annotations);

export const knownLabels = (all: unknown): Fields =>
  pick(
    all,
    Object.keys(fieldsOf(all)).filter((key) => KNOWN_LABELS.has(key)),
  );

function metadataFields(object: BundledObject): Fields {
  const { metadata } = object;
  return {
    ...pick(metadata, ["name", "namespace", "uid", "generation", "creationTimestamp", "deletionTimestamp"]),
    labels: knownLabels(metadata.labels),
    annotations: pick(metadata.annotations, KNOWN_ANNOTATIONS),
  };
}

/** An object of Joulie's kinds: what its schema knows. */
export function bundledObjectFields(kind: AnyKind, object: BundledObject): Fields {
  const { data } = kind.schema.safeParse(object);
  const { spec, status } = fieldsOf(data);
  return {
    metadata: metadataFields(object),
    ...(data === undefined ? { invalid: true } : { spec: redactReferences(spec), status: redactValue(status) }),
  };
}

/** The name of a Secret helps to find mistakes, and is no secret. */
function redactReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redactReferences);
  if (!isRecord(value)) return redactValue(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => {
      if (name.endsWith("SecretRef")) return [name, pick(child, ["name"])];
      return [name, isSecretName(name) ? REDACTED : redactReferences(child)];
    }),
  );
}

const CONDITION = ["type", "status", "reason", "message", "lastTransitionTime", "lastUpdateTime"];
const WORKLOAD_STATUS = `
  observedGeneration replicas readyReplicas availableReplicas updatedReplicas unavailableReplicas
  currentReplicas desiredNumberScheduled currentNumberScheduled numberReady numberAvailable
  numberUnavailable numberMisscheduled updatedNumberScheduled
`
  .trim()
  .split(/\s+/);

/** A Deployment, DaemonSet or StatefulSet. `isPlainVariable` says which variables belong to a program and hold no secret. */
export function workloadFields(object: BundledObject, isPlainVariable: (name: string) => boolean): Fields {
  const { spec, status } = object;
  const { template, replicas } = fieldsOf(spec);
  const containers = listOf(fieldsOf(fieldsOf(template)["spec"])["containers"]);
  return {
    metadata: metadataFields(object),
    replicas,
    containers: containers.map((container) => ({
      ...pick(container, ["name", "image", "imagePullPolicy"]),
      ...resourceFields(container["resources"]),
      env: listOf(container["env"]).flatMap(({ name, value }) => {
        if (typeof name !== "string" || !isPlainVariable(name)) return [];
        if (typeof value !== "string") return [{ name }];
        return [{ name, value: isSecretName(name) ? REDACTED : redactBundleText(value) }];
      }),
    })),
    status: {
      ...pick(status, WORKLOAD_STATUS),
      conditions: listOf(fieldsOf(status)["conditions"]).map((condition) => pick(condition, CONDITION)),
    },
  };
}

const QUANTITY = /^\d{1,15}(?:\.\d{1,9})?(?:[numkKMGTPE]i?)?$/;

function resourceFields(resources: unknown): Fields {
  const { requests, limits } = fieldsOf(resources);
  const quantities = (all: unknown) =>
    Object.fromEntries(Object.entries(fieldsOf(all)).filter(([, quantity]) => QUANTITY.test(String(quantity))));
  return { requests: quantities(requests), limits: quantities(limits) };
}

export function leaseFields(object: BundledObject): Fields {
  const { spec } = object;
  const names = ["acquireTime", "renewTime", "leaseDurationSeconds", "leaseTransitions"];
  return { metadata: metadataFields(object), spec: { ...pick(spec, names), ...holderOf(spec) } };
}

/** Of the form POD_UUID. */
function holderOf(spec: unknown): Fields {
  const { holderIdentity } = fieldsOf(spec);
  return typeof holderIdentity === "string" && /^[a-z\d.-]{1,253}_[\da-f-]{8,36}$/.test(holderIdentity)
    ? { holderIdentity }
    : {};
}

/** Reasons of Kubernetes whose note quotes neither a command nor the output of a container. */
const PLAIN_REASONS: ReadonlySet<string> = new Set(
  `FailedScheduling Scheduled Preempted Preempting TaintManagerEviction Evicted NodeNotReady
    FailedCreate SuccessfulCreate SuccessfulDelete FailedDelete ScalingReplicaSet FailedDaemonPod
    FailedMount FailedAttachVolume BackOff Pulling Pulled Created Started Killing`.split(/\s+/),
);

/** Joulie's own Events have their notes, and so have those of Kubernetes that quote no container. */
export function eventFields(object: BundledObject): Fields {
  const event = fieldsOf(object);
  const { regarding, series, reason, reportingController } = event;
  const isPlain = isOwnController(reportingController) || PLAIN_REASONS.has(String(reason));
  return {
    metadata: pick(object.metadata, ["name", "namespace", "creationTimestamp"]),
    regarding: pick(regarding, ["kind", "namespace", "name"]),
    ...pick(event, ["type", "reason", "action", "reportingController", "reportingInstance", "eventTime"]),
    ...pick(event, ["deprecatedCount", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"]),
    series: pick(series, ["count", "lastObservedTime"]),
    ...(isPlain && pick(event, ["note"])),
  };
}

export const isOwnController = (controller: unknown): boolean =>
  typeof controller === "string" && controller.startsWith("joulie.io/");

/** Names, class and requests of a pod; its environment and its commands belong to its owner. */
export function podFields(pod: Pod): Fields {
  const { metadata, spec, status } = pod;
  return {
    ...pick(metadata, ["name", "namespace"]),
    workloadClass: pick(metadata.annotations, [annotations.workloadClass])[annotations.workloadClass],
    ...pick(spec, ["nodeName"]),
    ...pick(status, ["phase"]),
    resources: spec?.containers?.map((container) => resourceFields(container.resources)),
  };
}
