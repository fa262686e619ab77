import { fieldManagers } from "../../../core/api/index.ts";
import { type Milliseconds, milliseconds, type RandomSource } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { isApiError, type KubeClient, type KubeObject, resources } from "../../../platform/kube/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import { jittered } from "../../../platform/random/index.ts";

interface ManagedFields {
  readonly manager?: string;
  readonly fieldsV1?: { readonly "f:metadata"?: { readonly "f:labels"?: Readonly<Record<string, unknown>> } };
}

interface LabelledNode extends KubeObject {
  readonly metadata: KubeObject["metadata"] & {
    readonly labels?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly ManagedFields[];
  };
}

/**
 * Labels on a node that an operator has set and this one does not: POWER_PROFILE_LABEL or DRAINING_LABEL were others then. The
 * API server keeps who set which field, so nothing has to be remembered. A label that anybody else claims too is theirs.
 */
function formerLabels({ metadata }: LabelledNode, current: ReadonlySet<string>): string[] {
  const held = (metadata.managedFields ?? []).map(({ manager, fieldsV1 }) => ({
    isOurs: manager === fieldManagers.operator,
    fields: fieldsV1?.["f:metadata"]?.["f:labels"] ?? {},
  }));
  return Object.keys(metadata.labels ?? {}).filter((key) => {
    const holders = held.filter(({ fields }) => Object.hasOwn(fields, `f:${key}`));
    return !current.has(key) && holders.length > 0 && holders.every(({ isOurs }) => isOurs);
  });
}

export interface FormerLabelsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  readonly current: ReadonlySet<string>;
  /** Looked at right before each write. */
  readonly mayWrite: () => boolean;
}

/** Whole Nodes, with what watches leave out: a hundred of them are about a megabyte. */
const PAGE_SIZE = 100;
const FIRST_PAUSE = milliseconds(5000);
const LONGEST_PAUSE = milliseconds(600_000);
const CALL = { timeout: milliseconds(30_000), retries: 0 } as const;

/**
 * Looks through all nodes once in a term and takes former labels away; what failed is tried again, later and later. Settings
 * change with a restart only, so once it is done nothing is left to look for.
 */
export async function removeFormerLabels(options: FormerLabelsOptions, signal: AbortSignal): Promise<void> {
  const { clock, random, log } = options;
  for (let pause: Milliseconds = FIRST_PAUSE; !signal.aborted; pause = longer(pause)) {
    try {
      const { removed, failed } = await lookThrough(options, signal);
      if (removed.size > 0) log.info({ nodes: removed.size, labels: labelsIn(removed) }, "removed former node labels");
      if (failed === undefined) return;
      log.warn({ err: failed }, "a former node label could not be removed; it is tried again");
    } catch (err) {
      if (!signal.aborted) log.warn({ err }, "nodes could not be looked through for former labels; it is tried again");
    }
    await clock.sleep(jittered(pause, 0.2, random), signal).catch(() => undefined);
  }
}

const longer = (pause: Milliseconds): Milliseconds => milliseconds(Math.min(2 * pause, LONGEST_PAUSE));
const labelsIn = (removed: ReadonlyMap<string, readonly string[]>) => [...new Set([...removed.values()].flat())];

async function lookThrough({ client, current, mayWrite }: FormerLabelsOptions, signal: AbortSignal) {
  const removed = new Map<string, readonly string[]>();
  let failed: unknown;
  const beforeSending = () => {
    if (!mayWrite()) throw new Error("no longer the leader");
  };
  const clean = async (node: LabelledNode): Promise<void> => {
    const { name, resourceVersion } = node.metadata;
    const keys = formerLabels(node, current);
    if (keys.length === 0) return;
    const none = Object.fromEntries(keys.map((key) => [key, null]));
    // Over this version only: since it was read somebody may have made the label theirs.
    const patch = { metadata: { resourceVersion, labels: none } };
    try {
      await client.mergePatch(resources.nodes, { name }, patch, { ...CALL, lean: true, signal, beforeSending });
      removed.set(name, keys);
    } catch (error) {
      if (!isApiError(error, "notFound")) failed = error;
    }
  };
  let next: string | undefined;
  do {
    const query = { limit: PAGE_SIZE, ...(next !== undefined && { next }) };
    const page = await client.list<LabelledNode>(resources.nodes, query, { ...CALL, signal });
    await Promise.all(page.items.map(clean));
    next = page.next;
  } while (next !== undefined);
  return { removed, failed };
}
