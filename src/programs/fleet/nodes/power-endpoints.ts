import { annotations, isWakeProven, type PowerEndpoint, powerEndpointKind, readAs } from "../../../core/api/index.ts";
import { isoTime, milliseconds, type RandomSource } from "../../../core/units/index.ts";
import { type Backoff, backoffDelay } from "../../../platform/backoff/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { forEachConcurrently } from "../../../platform/concurrency/index.ts";
import { isApiError, type KubeClient, resources } from "../../../platform/kube/index.ts";
import { jittered } from "../../../platform/random/index.ts";

export interface PowerEndpointsOptions {
  readonly client: KubeClient;
  readonly ioClock: Clock;
  readonly random: RandomSource;
  readonly nodes: readonly string[];
  /** Where `joulie power` reaches the Redfish service of this fleet. */
  readonly address: string;
  readonly secret: string | undefined;
  readonly onFailed: (error: unknown) => void;
}

const WRITES_AT_ONCE = 32;
const RETRY = milliseconds(1000);
/** Each is a list of all PowerEndpoints. */
const POLL: Backoff = { first: milliseconds(1000), longest: milliseconds(4000), jitter: 0.5 };
const SPREAD = 0.5;

const readEndpoint = readAs(powerEndpointKind);

export class PowerEndpoints {
  readonly #options: PowerEndpointsOptions;
  readonly #created = new Map<string, PowerEndpoint>();

  constructor(options: PowerEndpointsOptions) {
    this.#options = options;
  }

  /** Creates them, or takes over those of an earlier run. Retries until the signal. */
  async create(signal: AbortSignal): Promise<void> {
    const { client, nodes } = this.#options;
    await this.#untilDone(nodes, signal, async (name) => {
      if (this.#created.has(name)) return;
      const manifest = { spec: { nodeName: name, redfish: this.#redfishOf(name) } };
      const options = { force: true, signal };
      this.#created.set(name, readEndpoint(await client.apply(resources.powerEndpoints, { name }, manifest, options)));
    });
  }

  #redfishOf(name: string) {
    const { address, secret } = this.#options;
    return {
      address,
      systemId: name,
      ...(secret !== undefined && { credentialsSecretRef: { name: secret } }),
      ...(address.startsWith("http://") && { insecureSkipVerify: true }),
    };
  }

  /** Waits until the power program has tested the wake of every node that has none proven. A failed test leaves it awake. */
  async proveWakes(signal: AbortSignal): Promise<void> {
    const { client, ioClock, random } = this.#options;
    const unproven = Array.from(this.#created.values()).filter((endpoint) => !isWakeProven(endpoint));
    const asked = new Set<string>();
    const value = isoTime(ioClock.now());
    const patch = { metadata: { annotations: { [annotations.testPower]: value } } };
    await this.#untilDone(
      unproven.map(({ metadata }) => metadata.name),
      signal,
      async (name) => {
        if (asked.has(name)) return;
        await client.mergePatch(resources.powerEndpoints, { name }, patch, { signal });
        asked.add(name);
      },
    );
    for (let asks = 1; ; asks++) {
      const { items } = await client.listAll(resources.powerEndpoints, {}, { signal });
      const isPending = items.some(
        ({ metadata }) => asked.has(metadata.name) && metadata.annotations?.[annotations.testPower] !== undefined,
      );
      if (!isPending) return;
      await ioClock.sleep(backoffDelay(asks, POLL, random), signal);
    }
  }

  async removeAll(signal: AbortSignal): Promise<readonly unknown[]> {
    const { client } = this.#options;
    return forEachConcurrently(Array.from(this.#created.keys()), WRITES_AT_ONCE, async (name) => {
      try {
        await client.delete(resources.powerEndpoints, { name }, { signal });
      } catch (error) {
        if (!isApiError(error, "notFound")) throw error;
      }
      this.#created.delete(name);
    });
  }

  async #untilDone(names: readonly string[], signal: AbortSignal, act: (name: string) => Promise<void>): Promise<void> {
    const { ioClock, random, onFailed } = this.#options;
    for (;;) {
      const failures = await forEachConcurrently(names, WRITES_AT_ONCE, act);
      signal.throwIfAborted();
      if (failures.length === 0) return;
      for (const error of failures) onFailed(error);
      await ioClock.sleep(jittered(RETRY, SPREAD, random), signal);
    }
  }
}
