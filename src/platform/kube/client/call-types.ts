import type { Milliseconds } from "../../../core/units/index.ts";
import type { CallOptions } from "./caller.ts";

/** Which objects of a kind. */
export interface Selection {
  /** Only where the kind is namespaced; left out, all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface ListQuery extends Selection {
  readonly limit?: number;
  readonly next?: string;
  /** Unset reads the newest state; "0" takes whatever the server has at hand, which may be old. */
  readonly resourceVersion?: string;
}

export interface WatchQuery extends Selection {
  readonly resourceVersion: string;
  /** How long the server keeps it open. */
  readonly serverTimeout?: Milliseconds;
}

export interface WriteOptions extends CallOptions {
  readonly fieldManager?: string;
  /** Only `status` is isolated from the rest of the object, both ways. */
  readonly subresource?: "status";
}

export interface DeleteOptions extends CallOptions {
  /** The delete fails with a conflict unless the object is still this one. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

/** An operation of RFC 6902. */
export type JsonPatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string }
  | { readonly op: "move" | "copy"; readonly from: string; readonly path: string };

/** An object to be applied or created: `apiVersion` and `kind` come from the resource. */
export interface Manifest {
  readonly metadata: { readonly name?: string; readonly generateName?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}
