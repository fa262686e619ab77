import { type ApiErrorKind, isApiError } from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";

/** Kinds of writes: nodes with leases, pod status, and jobs. */
export type WriteTarget = "node" | "pod" | "job" | "power endpoint";

/** Permanent errors: missing permission or namespace, or an object the server rejects. */
const LASTING: readonly ApiErrorKind[] = ["unauthorized", "forbidden", "notFound", "badRequest", "invalid"];

/** Logs permanent rejections once per kind of write and error. The write is retried, but a user must act. */
export class RejectedWriteLog {
  readonly #log: Logger;
  readonly #said = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  record(written: WriteTarget, err: unknown): void {
    if (!isApiError(err, ...LASTING)) return;
    const which = `${written} ${err.kind}`;
    if (this.#said.has(which)) return;
    this.#said.add(which);
    this.#log.warn({ written, err }, "the API server rejects writes; retrying, further rejections are not logged");
  }
}
