import type { Clock } from "../../../platform/clock/index.ts";
import {
  AmbiguousKeyError,
  createCandidateTables,
  type ExtenderRequest,
  KnownNodes,
  type LabelKeys,
  labelBytes,
  RequestWorker,
  readRequest,
} from "./index.ts";
import type { ScanOptions } from "./scan.ts";

/** Reads requests. The byte scan reads nearly all of them; one with ambiguous keys goes to a worker thread, started on demand. */
export class RequestReader {
  readonly #clock: Clock;
  readonly #labels: LabelKeys;
  readonly #scanOptions: ScanOptions;
  #worker: RequestWorker | undefined;

  /** `labels` are the label keys to read from whole Nodes. */
  constructor(clock: Clock, labels: LabelKeys) {
    this.#clock = clock;
    this.#labels = labels;
    this.#scanOptions = { knownNodes: new KnownNodes(), tables: createCandidateTables(), labels: labelBytes(labels) };
  }

  /** Decide a request that is returned synchronously before reading the next one, which reuses the same memory. */
  read(body: Buffer): ExtenderRequest | Promise<ExtenderRequest> {
    try {
      return readRequest(body, this.#scanOptions);
    } catch (error) {
      if (!(error instanceof AmbiguousKeyError)) throw error;
    }
    this.#worker ??= new RequestWorker(this.#clock, { labels: this.#labels });
    return this.#worker.readRequestInWorker(body);
  }

  async close(): Promise<void> {
    await this.#worker?.close();
  }
}
