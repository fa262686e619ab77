// A transport that holds the reports of an agent back.

import { simulatedDelay } from "../../src/platform/clock/testing/index.ts";
import type { ApiRequest, ApiResponse, Transport } from "../../src/platform/kube/index.ts";

/** Holds the status writes of an agent back, as if the agent started late. */
export class LateReports implements Transport {
  readonly late = new Set<string>();
  readonly #inner: Transport;

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    const [, node = ""] = /\/nodetwins\/([^/?]+)\/status/.exec(request.path) ?? [];
    while (this.late.has(node)) await simulatedDelay(100, request.signal);
    return this.#inner.request(request);
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }
}
