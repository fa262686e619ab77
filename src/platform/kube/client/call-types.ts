import type { Milliseconds } from "../../../core/units/index.ts";
import type { CallOptions } from "./caller.ts";

/** Selects objects of a kind. */
export interface Selection {
  /** For namespaced kinds; default: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface ListQuery extends Selection {
  readonly limit?: number;
  readonly next?: string;
}

export interface WatchQuery extends Selection {
  readonly resourceVersion: string;
  /** How long the server keeps the watch open. */
  readonly serverTimeout?: Milliseconds;
}

export interface WriteOptions extends CallOptions {
  readonly fieldManager?: string;
  /** Writes to `status` change nothing else, and other writes do not change `status`. */
  readonly subresource?: "status";
}

export interface DeleteOptions extends CallOptions {
  /** The delete fails with a conflict unless uid and resourceVersion match. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  /** Of a pod; by default its own. */
  readonly gracePeriodSeconds?: number;
}

/** An object to apply or create. The client adds `apiVersion` and `kind`. */
export interface Manifest {
  readonly metadata: { readonly name?: string; readonly generateName?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}
