import {
  type NodeHardware,
  type NodeHardwareStatus,
  nodeHardwareKind,
  readAs,
  validateForWrite,
} from "../../../core/api/index.ts";
import {
  elapsed,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
  type RandomSource,
} from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { isApiError, type KubeClient, resources } from "../../../platform/kube/index.ts";
import type { ChangeLog } from "../../../platform/log/index.ts";
import { jittered } from "../../../platform/random/index.ts";
import type { WatchedNode } from "../watch/node-facts.ts";

export interface HardwareReporterOptions {
  readonly node: string;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly changes: ChangeLog;
  /** Whether what is published is watched, so that nobody has to ask for it. */
  readonly watched: boolean;
}

/** Hardware does not change; that somebody still looks is worth a write now and then. */
const HEARTBEAT = milliseconds(1_800_000);
const SPREAD = 0.3;
/** A write that failed is tried again no sooner. */
const AGAIN = milliseconds(30_000);
const CALL = { timeout: milliseconds(10_000), retries: 0, lean: true } as const;

/** Publishes what a node is made of: on change, and by a slow heartbeat. */
export class HardwareReporter {
  readonly #options: HardwareReporterOptions;
  /** Undefined: not known whether anything is published. */
  #published: { readonly uid: string; readonly text: string; readonly until: MonotonicInstant } | undefined;
  #asked = false;
  #writing: Promise<void> | undefined;
  #failedAt: MonotonicInstant | undefined;

  constructor(options: HardwareReporterOptions) {
    this.#options = options;
  }

  /** Never holds up a tick: what is under way is told again by the next one. */
  report(node: WatchedNode, status: NodeHardwareStatus, known?: NodeHardware): void {
    const { clock, changes, node: name } = this.#options;
    const now = clock.monotonic();
    if (this.#writing !== undefined) return;
    if (this.#failedAt !== undefined && elapsed(this.#failedAt, now) < AGAIN) return;
    const { uid } = node.metadata;
    const text = textOf(status);
    const published = this.#published;
    if (published?.uid === uid && published.text === text && now < published.until) return;
    this.#writing = this.#write(uid, status, text, known)
      .then(() => {
        this.#failedAt = undefined;
        changes.observe("NodeHardware", name, "written");
      })
      .catch((error: unknown) => {
        this.#failedAt = now;
        changes.observe("NodeHardware", name, `not written: ${isApiError(error) ? error.kind : String(error)}`);
      })
      .finally(() => {
        this.#writing = undefined;
      });
  }

  /** The node left management, and the operator takes the object away: should it come back, it is told anew. */
  forget(): void {
    this.#published = undefined;
    this.#asked = true;
  }

  async stop(): Promise<void> {
    await this.#writing;
  }

  async #write(uid: string, status: NodeHardwareStatus, text: string, known: NodeHardware | undefined): Promise<void> {
    const { client, clock, node: name, random } = this.#options;
    const until = () => monotonicInstant(clock.monotonic() + jittered(HEARTBEAT, SPREAD, random));
    if (this.#published === undefined && !this.#asked) {
      // After a restart nothing is written that is there already.
      const there = this.#options.watched ? known : await this.#read();
      this.#asked = true;
      const owned = there?.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
      if (owned && textOf(there?.status) === text) {
        this.#published = { uid, text, until: until() };
        return;
      }
    }
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid }];
    const object = validateForWrite(nodeHardwareKind, {
      metadata: { name, ownerReferences },
      spec: { nodeName: name },
    });
    await client.apply(resources.nodeHardwares, { name }, { ...object }, { ...CALL, force: true });
    const updatedAt = new Date(clock.now()).toISOString();
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

/** What it says, whenever it was said and in whatever order. */
const textOf = (status: NodeHardwareStatus | undefined): string =>
  JSON.stringify({ ...status, updatedAt: undefined }, (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
