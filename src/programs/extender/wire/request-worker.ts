import type { Clock } from "../../../platform/clock/index.ts";
import type { ExtenderRequest } from "./request.ts";

/** Reads what the fast reader left: JSON.parse in a thread of its own, one request at a time. */
export class RequestWorker {
  constructor(_clock: Clock) {
    throw new Error("not there yet");
  }

  async readRequestInWorker(_body: Buffer): Promise<ExtenderRequest> {
    throw new Error("not there yet");
  }

  async close(): Promise<void> {}
}
