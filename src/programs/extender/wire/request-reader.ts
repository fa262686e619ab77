import { KnownNodes } from "./known-nodes.ts";
import { type ExtenderRequest, readRequest, scanRequest } from "./request.ts";
import { AmbiguousKeyError, RequestError } from "./request-error.ts";
import { createCandidateTables, type LabelKeys, labelBytes, type ScanOptions } from "./scan.ts";

/**
 * Each key with escapes becomes a string, so a large body of such keys would block the event loop. kube-scheduler never sends
 * them, and requests written by hand are small.
 */
const MAX_AMBIGUOUS_BYTES = 4 * 1024 * 1024;

/** Reads requests into memory that it reuses. A body with repeated or escaped keys is read again, by JSON.parse's rules. */
export class RequestReader {
  readonly #options: Required<ScanOptions>;

  /** `labels` are the label keys to read from whole Nodes. */
  constructor(labels: LabelKeys) {
    this.#options = { knownNodes: new KnownNodes(), tables: createCandidateTables(), labels: labelBytes(labels) };
  }

  /** Decide a request before reading the next one, which reuses the same memory. */
  read(body: Buffer): ExtenderRequest {
    try {
      return readRequest(body, this.#options);
    } catch (error) {
      if (!(error instanceof AmbiguousKeyError)) throw error;
    }
    if (body.length > MAX_AMBIGUOUS_BYTES) {
      throw new RequestError(
        `the body of ${body.length} bytes has a repeated or escaped key; the limit for such bodies is ${MAX_AMBIGUOUS_BYTES} bytes`,
        413,
      );
    }
    return scanRequest(body, "last", { labels: this.#options.labels });
  }
}
