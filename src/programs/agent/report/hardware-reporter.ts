import {
  type NodeHardware,
  type NodeHardwareStatus,
  nodeHardwareKind,
  readAs,
  validateForWrite,
} from "../../../core/api/index.ts";
import {
  elapsed,
  isoTime,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
  type RandomSource,
} from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { type CallLimit, isApiError, type KubeClient, resources } from "../../../platform/kube/index.ts";
import type { ChangeLog } from "../../../platform/log/index.ts";
import { jittered } from "../../../platform/random/index.ts";
import type { ProjectedNode } from "../watch/node-facts.ts";

export interface HardwareReporterOptions {
  readonly node: string;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly changes: ChangeLog;
  /** Whether NodeHardware is watched, so that no GET is needed. */
  readonly watched: boolean;
  readonly firstWrites: Pick<CallLimit, "tryTake">;
}

/** Hardware rarely changes; a slow heartbeat shows that the agent still looks at it. */
const HEARTBEAT = milliseconds(1_800_000);
const SPREAD = 0.3;
const RETRY_AFTER = milliseconds(30_000);
const CALL = { timeout: milliseconds(10_000), retries: 0, lean: true } as const;

export class HardwareReporter {
  readonly #options: HardwareReporterOptions;
  /** Undefined until it is known what is published. */
  #published: { readonly uid: string; readonly text: string; readonly until: MonotonicInstant } | undefined;
  #wasRead = false;
  #writing: Promise<void> | undefined;
  #failedAt: MonotonicInstant | undefined;

  constructor(options: HardwareReporterOptions) {
    this.#options = options;
  }

  /** Returns at once. While a write is in progress the next tick reports again. */
  report(node: ProjectedNode, status: NodeHardwareStatus, known?: NodeHardware): void {
    const { clock, changes, node: name, firstWrites } = this.#options;
    const now = clock.monotonic();
    if (this.#writing !== undefined) return;
    if (this.#failedAt !== undefined && elapsed(this.#failedAt, now) < RETRY_AFTER) return;
    const { uid } = node.metadata;
    const text = textOf(status);
    const published = this.#published;
    if (published?.uid === uid && published.text === text && now < published.until) return;
    if (published?.uid !== uid && !firstWrites.tryTake()) return;
    this.#writing = this.#write(uid, status, text, known)
      .then(() => {
        this.#failedAt = undefined;
        changes.observe("NodeHardware", name, "written");
      })
      .catch((error: unknown) => {
        this.#failedAt = now;
        // The object was deleted: it is created again.
        if (isApiError(error, "notFound")) this.#published = undefined;
        changes.observe("NodeHardware", name, `not written: ${isApiError(error) ? error.kind : String(error)}`);
      })
      .finally(() => {
        this.#writing = undefined;
      });
  }

  /** The node is no longer managed and the operator deletes the object: if the node comes back, publish it again. */
  forget(): void {
    this.#published = undefined;
    this.#wasRead = true;
  }

  async stop(): Promise<void> {
    await this.#writing;
  }

  async #write(uid: string, status: NodeHardwareStatus, text: string, known: NodeHardware | undefined): Promise<void> {
    const { client, clock, node: name, random } = this.#options;
    const until = () => monotonicInstant(clock.monotonic() + jittered(HEARTBEAT, SPREAD, random));
    if (this.#published === undefined && !this.#wasRead) {
      // After a restart the agent does not write what is published already.
      const there = this.#options.watched ? known : await this.#read();
      this.#wasRead = true;
      const owned = there?.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
      if (owned && textOf(there?.status) === text) {
        this.#published = { uid, text, until: until() };
        return;
      }
    }
    if (this.#published?.uid !== uid) {
      const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid }];
      const object = validateForWrite(nodeHardwareKind, {
        metadata: { name, ownerReferences },
        spec: { nodeName: name },
      });
      await client.apply(resources.nodeHardwares, { name }, { ...object }, { ...CALL, force: true });
    }
    const updatedAt = isoTime(clock.now());
    const { metadata: _, ...found } = validateForWrite(nodeHardwareKind, {
      metadata: { name },
      status: { ...status, updatedAt },
    });
    await client.apply(resources.nodeHardwares, { name }, found, { ...CALL, force: true, subresource: "status" });
    this.#published = { uid, text, until: until() };
  }

  async #read(): Promise<NodeHardware | undefined> {
    const { client, node: name } = this.#options;
    try {
      return readAs(nodeHardwareKind)(await client.get(resources.nodeHardwares, { name }, CALL));
    } catch (error) {
      if (isApiError(error, "notFound")) return undefined;
      throw error;
    }
  }
}

/** Compares two statuses independent of their time and the order of keys. */
const textOf = (status: NodeHardwareStatus | undefined): string =>
  JSON.stringify({ ...status, updatedAt: undefined }, (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
