import type { Milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { type EndpointAccess, PrometheusClient } from "../../../platform/telemetry/index.ts";

export interface PrometheusClientsOptions {
  readonly clock: Clock;
  readonly access?: EndpointAccess | undefined;
  readonly tokenFile?: string | undefined;
  readonly caFile?: string | undefined;
}

/** Usually there is one server; an endpoint with {node} may need one client per node. */
const MAX_CLIENTS = 64;

/** One client per Prometheus endpoint, shared by all nodes. */
export class PrometheusClients {
  readonly #options: PrometheusClientsOptions;
  readonly #byAddress = new Map<string, PrometheusClient>();

  constructor(options: PrometheusClientsOptions) {
    this.#options = options;
  }

  at(address: string, timeout: Milliseconds): PrometheusClient {
    const key = `${timeout} ${address}`;
    const client = this.#byAddress.get(key) ?? new PrometheusClient({ ...this.#options, address, timeout });
    // Insertion order is the order of use: the first one is evicted.
    this.#byAddress.delete(key);
    this.#byAddress.set(key, client);
    if (this.#byAddress.size > MAX_CLIENTS) this.#evict();
    return client;
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#byAddress.values(), async (client) => client.close()));
    this.#byAddress.clear();
  }

  #evict(): void {
    for (const [key, client] of this.#byAddress) {
      this.#byAddress.delete(key);
      void client.close();
      return;
    }
  }
}
