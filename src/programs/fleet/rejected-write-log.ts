import { type ApiErrorKind, isApiError } from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";

/** What is written: nodes with their leases, what happens to pods, and jobs. */
export type WriteTarget = "node" | "pod" | "job";

/** Time does not heal these: a right is missing, a namespace, or the server does not take what we write. */
const LASTING: readonly ApiErrorKind[] = ["unauthorized", "forbidden", "notFound", "badRequest", "invalid"];

/** Says what is refused for good, once for each kind of write and refusal: it is tried again, but somebody has to act. */
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
    this.#log.warn({ written, err }, "the API server refuses what is written; it is tried again, and said once");
  }
}
