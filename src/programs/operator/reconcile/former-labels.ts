import { fieldManagers } from "../../../core/api/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import { backoffDelay } from "../../../platform/backoff/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { isApiError, type KubeIo, type KubeObject, resources } from "../../../platform/kube/index.ts";

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

/** Labels under former keys that `managedFields` attributes to the operator alone. */
function formerLabels({ metadata }: LabelledNode, current: ReadonlySet<string>): string[] {
  const managers = (metadata.managedFields ?? []).map(({ manager, fieldsV1 }) => ({
    isOurs: manager === fieldManagers.operator,
    fields: fieldsV1?.["f:metadata"]?.["f:labels"] ?? {},
  }));
  return Object.keys(metadata.labels ?? {}).filter((key) => {
    const holders = managers.filter(({ fields }) => Object.hasOwn(fields, `f:${key}`));
    return !current.has(key) && holders.length > 0 && holders.every(({ isOurs }) => isOurs);
  });
}

export interface FormerLabelsOptions extends KubeIo {
  readonly clock: Clock;
  readonly current: ReadonlySet<string>;
  readonly mayWrite: () => boolean;
}

/** Whole Nodes with managedFields: a hundred of them are about a megabyte. */
const PAGE_SIZE = 100;
const BACKOFF = { first: milliseconds(5000), longest: milliseconds(600_000), jitter: 0.2 };
const CALL = { timeout: milliseconds(30_000), retries: 0 } as const;

/** Once per term of leadership, with retries. Settings change only with a restart. */
export async function removeFormerLabels(options: FormerLabelsOptions, signal: AbortSignal): Promise<void> {
  const { clock, random, log } = options;
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      const { removed, failed } = await removeOnce(options, signal);
      if (removed.size > 0) log.info({ nodes: removed.size, labels: labelsIn(removed) }, "removed former node labels");
      if (failed === undefined) return;
      log.warn({ attempt, err: failed }, "cannot remove a former node label; retrying");
    } catch (err) {
      if (!signal.aborted) log.warn({ attempt, err }, "cannot search the nodes for former labels; retrying");
    }
    await clock.sleep(backoffDelay(attempt, BACKOFF, random), signal).catch(() => undefined);
  }
}

const labelsIn = (removed: ReadonlyMap<string, readonly string[]>) => [...new Set([...removed.values()].flat())];

async function removeOnce({ client, current, mayWrite }: FormerLabelsOptions, signal: AbortSignal) {
  const removed = new Map<string, readonly string[]>();
  let failed: unknown;
  const beforeSending = () => {
    if (!mayWrite()) throw new Error("no longer the leader, or stopped");
  };
  const clean = async (node: LabelledNode): Promise<void> => {
    const { name, resourceVersion } = node.metadata;
    const keys = formerLabels(node, current);
    if (keys.length === 0) return;
    const none = Object.fromEntries(keys.map((key) => [key, null]));
    // Only for the version that was read: another manager may own the label by now.
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
