import { createHash } from "node:crypto";
import { milliseconds } from "../../../core/units/index.ts";
import { StatusError } from "../api/status.ts";
import { pods } from "../kinds/pods.ts";
import { type ServedResource, servedApiVersionOf } from "../kinds/served-resource.ts";
import { countAt, deployments, endOf, jobs, replicaSets } from "../kinds/workload-kinds.ts";
import { at, equal, type JsonObject, jsonObjectOr, listAt, stringAt } from "../storage/json.ts";
import { type ApiObject, kubeTimestamp, type StoredObject } from "../storage/kube-object.ts";
import { type Server, storageKeyOf } from "../storage/store.ts";
import type { ApiWriteOptions } from "../write/admission.ts";
import { create } from "../write/create.ts";
import { remove } from "../write/deletion.ts";
import { update } from "../write/update.ts";

const itself: ApiWriteOptions = { manager: "joulie-embedded-controllers", strict: false };
const HASH = "pod-template-hash";
const FAILURE = "ReplicaFailure";

/**
 * Deployments, ReplicaSets and Jobs, as far as `kubectl create`, `scale`, `rollout status` and `wait` need them. Dependants belong
 * to their owner by its uid. A new ReplicaSet grows to its full size at once, and old ones shrink as its pods become ready.
 */
export class WorkloadControllers {
  readonly #server: Server;
  readonly #work: ReadonlyMap<string, (owner: ApiObject) => void> = new Map([
    [deployments.storedAs, (owner) => this.#deploy(owner)],
    [replicaSets.storedAs, (owner) => this.#replicate(owner)],
    [jobs.storedAs, (owner) => this.#runJob(owner)],
  ]);
  /** Owners to look at: collection and key. */
  readonly #due = new Map<string, readonly [collection: string, key: string]>();
  #isArmed = false;

  constructor(server: Server) {
    this.#server = server;
    server.store.listen(({ current: { object, key } }, { id }) => {
      if (this.#work.has(id)) this.#look(id, key);
      if (id !== pods.storedAs && id !== replicaSets.storedAs) return;
      for (const { apiVersion, kind, name } of object.metadata.ownerReferences ?? []) {
        const owner = server.registry.ofKind(apiVersion, kind);
        if (owner !== undefined && this.#work.has(owner.storedAs))
          this.#look(owner.storedAs, storageKeyOf(object.metadata.namespace, name));
      }
    });
  }

  /** After the write that caused it: a write of a controller must not come between a write and its answer. */
  #look(collection: string, key: string): void {
    this.#due.set(`${collection} ${key}`, [collection, key]);
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#server.clock.after(milliseconds(0), () => this.#workOff(), { background: true });
  }

  #workOff(): void {
    this.#isArmed = false;
    const due = Array.from(this.#due.values());
    this.#due.clear();
    for (const [id, key] of due) {
      const owner = this.#server.store.collection(id).get(key)?.object;
      if (owner === undefined || owner.metadata.deletionTimestamp !== undefined) continue;
      try {
        this.#work.get(id)?.(owner);
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        // Without the name of the dependant: each try generates another, and the status would never rest.
        this.#refused(owner, error.message.replace(/^\w+ "[^"]*" is invalid: /, ""));
      }
    }
  }

  /** Says in the owner's status why its dependants were refused: the same template would be refused again. */
  #refused(owner: ApiObject, message: string): void {
    const [resource, conditions] =
      owner.kind === jobs.kind
        ? [jobs, [this.#condition(owner, "Failed", true, "FailedCreate", message)]]
        : owner.kind === replicaSets.kind
          ? [replicaSets, [this.#condition(owner, FAILURE, true, "FailedCreate", message)]]
          : [deployments, this.#failure(owner, message)];
    const observedGeneration = owner.kind === jobs.kind ? {} : { observedGeneration: owner.metadata.generation };
    this.#writeStatus(resource, owner, { ...jsonObjectOr(owner["status"]), ...observedGeneration, conditions });
  }

  /** With this reason `kubectl rollout status` ends; a cluster says so after ten minutes. */
  #failure(deployment: ApiObject, message: string): JsonObject[] {
    return [
      this.#condition(deployment, "Progressing", false, "ProgressDeadlineExceeded", message),
      this.#condition(deployment, FAILURE, true, "FailedCreate", message),
    ];
  }

  #deploy(deployment: ApiObject): void {
    const { name, namespace, uid, labels } = deployment.metadata;
    const wanted = countAt(deployment, "spec", "replicas");
    const template = jsonObjectOr(at(deployment, "spec", "template"));
    // With the uid, a new Deployment does not meet a ReplicaSet that a deleted one of its name left behind.
    const hash = createHash("sha256")
      .update(`${uid}${JSON.stringify(template)}`)
      .digest("hex")
      .slice(0, 10);
    const owned = this.#dependants(replicaSets, deployment);
    const isNew = ({ metadata }: ApiObject) => metadata.labels?.[HASH] === hash;
    const current = owned.map(({ object }) => object).find(isNew);
    if (current === undefined) {
      const withHash = (of: JsonObject) => ({ ...of, labels: { ...jsonObjectOr(of["labels"]), [HASH]: hash } });
      const metadata = withHash(jsonObjectOr(template["metadata"]));
      const matchLabels = { ...jsonObjectOr(at(deployment, "spec", "selector", "matchLabels")), [HASH]: hash };
      this.#create(replicaSets, deployment, {
        metadata: { ...withHash({ labels }), name: `${name}-${hash}`, namespace },
        spec: { replicas: wanted, selector: { matchLabels }, template: { ...template, metadata } },
      });
    }
    const ready = current === undefined ? 0 : countAt(current, "status", "readyReplicas");
    for (const stored of owned) {
      const { object } = stored;
      const before = countAt(object, "spec", "replicas");
      const size = isNew(object) ? wanted : Math.min(before, Math.max(0, wanted - ready));
      if (size === before) continue;
      const resized = { ...object, spec: { ...jsonObjectOr(object["spec"]), replicas: size } };
      update(this.#server, replicaSets, stored, resized, itself);
    }
    const empty = owned.filter(
      ({ object }) =>
        !isNew(object) && countAt(object, "spec", "replicas") === 0 && countAt(object, "status", "replicas") === 0,
    );
    for (const stored of empty) this.#delete(replicaSets, stored);
    const total = (field: string) => owned.reduce((sum, { object }) => sum + countAt(object, "status", field), 0);
    const readyReplicas = total("readyReplicas");
    const updated = current === undefined ? 0 : countAt(current, "status", "replicas");
    const failure = listAt(current ?? {}, "status", "conditions").find((one) => stringAt(one, "type") === FAILURE);
    const isDone = ready >= wanted && total("replicas") === updated;
    this.#writeStatus(deployments, deployment, {
      observedGeneration: deployment.metadata.generation,
      replicas: total("replicas"),
      updatedReplicas: updated,
      readyReplicas,
      availableReplicas: readyReplicas,
      unavailableReplicas: Math.max(0, wanted - readyReplicas),
      conditions: [
        this.#condition(deployment, "Available", readyReplicas >= wanted, "MinimumReplicasAvailable"),
        ...(failure === undefined
          ? [this.#condition(deployment, "Progressing", true, isDone ? "NewReplicaSetAvailable" : "ReplicaSetUpdated")]
          : this.#failure(deployment, stringAt(failure, "message"))),
      ],
    });
  }

  #replicate(set: ApiObject): void {
    const wanted = countAt(set, "spec", "replicas");
    const running = this.#dependants(pods, set).filter(({ object }) => isActive(object));
    for (let count = running.length; count < wanted; count++) this.#createPod(set);
    // Pods that wait for a node go first, then the youngest.
    const rank = ({ object }: StoredObject) => Number(stringAt(object, "spec", "nodeName") !== "");
    const surplus = running.toSorted((a, b) => rank(a) - rank(b) || b.version - a.version);
    for (const stored of surplus.slice(0, Math.max(0, running.length - wanted))) this.#delete(pods, stored);
    const left = this.#dependants(pods, set).map(({ object }) => object);
    const active = left.filter(isActive);
    const ready = active.filter(isReady).length;
    this.#writeStatus(replicaSets, set, {
      observedGeneration: set.metadata.generation,
      replicas: active.length,
      fullyLabeledReplicas: active.length,
      readyReplicas: ready,
      availableReplicas: ready,
    });
  }

  #runJob(job: ApiObject): void {
    if (endOf(job) !== undefined) return;
    const owned = this.#dependants(pods, job);
    const inPhase = (phase: string) =>
      owned.filter(({ object }) => stringAt(object, "status", "phase") === phase).length;
    const [succeeded, failed] = [inPhase("Succeeded"), inPhase("Failed")];
    const active = owned.filter(({ object }) => isActive(object));
    const completions = countAt(job, "spec", "completions");
    const isComplete = succeeded >= completions;
    const isFailed = !isComplete && failed > countAt(job, "spec", "backoffLimit");
    const isSuspended = at(job, "spec", "suspend") === true;
    const room = Math.min(countAt(job, "spec", "parallelism"), completions - succeeded);
    const wanted = isComplete || isFailed || isSuspended ? 0 : room;
    for (const stored of active.slice(wanted)) this.#delete(pods, stored);
    for (let count = active.length; count < wanted; count++) this.#createPod(job);
    const now = kubeTimestamp(this.#server.clock.now());
    this.#writeStatus(jobs, job, {
      startTime: stringAt(job, "status", "startTime") || now,
      active: wanted,
      ready: active.slice(0, wanted).filter(({ object }) => isReady(object)).length,
      succeeded,
      failed,
      ...(isComplete && { completionTime: now }),
      conditions: [
        ...(isComplete ? [this.#condition(job, "Complete", true, "CompletionsReached")] : []),
        ...(isFailed ? [this.#condition(job, "Failed", true, "BackoffLimitExceeded")] : []),
      ],
    });
  }

  #createPod(owner: ApiObject): void {
    const { name, namespace, uid } = owner.metadata;
    const template = jsonObjectOr(at(owner, "spec", "template"));
    const metadata = jsonObjectOr(template["metadata"]);
    const jobLabels = {
      "job-name": name,
      "batch.kubernetes.io/job-name": name,
      "batch.kubernetes.io/controller-uid": uid,
    };
    const labels = { ...jsonObjectOr(metadata["labels"]), ...(owner.kind === jobs.kind && jobLabels) };
    this.#create(pods, owner, { ...template, metadata: { ...metadata, labels, generateName: `${name}-`, namespace } });
  }

  #create(resource: ServedResource, owner: ApiObject, object: JsonObject): void {
    const { name, uid, namespace } = owner.metadata;
    const { apiVersion, kind } = owner;
    const ownerReferences = [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }];
    const metadata = { ...jsonObjectOr(object["metadata"]), ownerReferences };
    create(
      this.#server,
      resource,
      namespace,
      { ...object, apiVersion: servedApiVersionOf(resource), kind: resource.kind, metadata },
      itself,
    );
  }

  #delete(resource: ServedResource, stored: StoredObject): void {
    remove(this.#server, resource, stored);
  }

  /** Those that were made here have one owner. */
  #dependants({ storedAs }: ServedResource, { metadata: { uid } }: ApiObject): StoredObject[] {
    return this.#server.store
      .collection(storedAs)
      .list()
      .filter(({ object }) => object.metadata.ownerReferences?.[0]?.uid === uid);
  }

  #writeStatus(resource: ServedResource, { metadata: { namespace, name } }: ApiObject, status: JsonObject): void {
    const stored = this.#server.store.collection(resource.storedAs).get(storageKeyOf(namespace, name));
    if (stored === undefined || equal(stored.object["status"], status)) return;
    update(this.#server, resource, stored, { ...stored.object, status }, { ...itself, subresource: "status" });
  }

  #condition(owner: ApiObject, type: string, holds: boolean, reason: string, message = ""): JsonObject {
    const status = holds ? "True" : "False";
    const before = listAt(owner, "status", "conditions").find((one) => stringAt(one, "type") === type);
    const isSame = stringAt(before, "status") === status;
    const lastTransitionTime = isSame
      ? stringAt(before, "lastTransitionTime")
      : kubeTimestamp(this.#server.clock.now());
    return { type, status, reason, ...(message !== "" && { message }), lastTransitionTime };
  }
}

const isActive = (pod: ApiObject): boolean =>
  pod.metadata.deletionTimestamp === undefined && !["Succeeded", "Failed"].includes(stringAt(pod, "status", "phase"));

const isReady = (pod: ApiObject): boolean =>
  listAt(pod, "status", "conditions").some(
    (one) => stringAt(one, "type") === "Ready" && stringAt(one, "status") === "True",
  );
