import type { Metal3Endpoint, SwitchState } from "../../core/api/index.ts";
import type { Milliseconds } from "../../core/units/index.ts";
import { isApiError, type KubeClient, type KubeObject, type Resource } from "../kube/index.ts";
import { type MachineFacts, type PowerSwitch, PowerSwitchError } from "./power-switch.ts";

const bareMetalHosts: Resource = {
  group: "metal3.io",
  version: "v1alpha1",
  plural: "baremetalhosts",
  kind: "BareMetalHost",
  namespaced: true,
};

type BareMetalHost = KubeObject & {
  readonly spec?: { readonly online?: boolean; readonly disablePowerOff?: boolean };
  readonly status?: { readonly poweredOn?: boolean };
};

export interface Metal3SwitchOptions {
  readonly client: KubeClient;
  readonly endpoint: Metal3Endpoint;
  readonly timeout: Milliseconds;
}

/** A machine that Metal3 manages. Metal3 shuts down first and cuts the power when that takes too long. */
export class Metal3Switch implements PowerSwitch {
  readonly #options: Metal3SwitchOptions;
  facts: MachineFacts | undefined;

  constructor(options: Metal3SwitchOptions) {
    this.#options = options;
  }

  async state(signal: AbortSignal): Promise<SwitchState> {
    const { spec, status } = await this.#host(signal);
    this.facts = { keepsPower: spec?.disablePowerOff === true ? this.#disabled : undefined };
    const { poweredOn } = status ?? {};
    if (poweredOn === undefined) return "unknown";
    // Metal3 takes the power away as soon as it can, maybe much later. Only a machine that it leaves on counts as on.
    if (poweredOn && spec?.online === false) return "unknown";
    return poweredOn ? "on" : "off";
  }

  async on(signal: AbortSignal): Promise<void> {
    await this.#setOnline(true, signal);
  }

  async shutdown(signal: AbortSignal): Promise<void> {
    await this.#setOnline(false, signal);
  }

  /** The same as `shutdown`: Metal3 itself cuts the power of a machine that ignores it. */
  async forceOff(signal: AbortSignal): Promise<void> {
    await this.#setOnline(false, signal);
  }

  async close(): Promise<void> {}

  get #disabled(): string {
    return `BareMetalHost ${nameOf(this.#options.endpoint)} has disablePowerOff: true`;
  }

  async #host(signal: AbortSignal): Promise<BareMetalHost> {
    const { client, endpoint, timeout } = this.#options;
    return this.#translated(client.get<BareMetalHost>(bareMetalHosts, endpoint, { signal, timeout, retries: 0 }));
  }

  async #setOnline(online: boolean, signal: AbortSignal): Promise<void> {
    const { client, endpoint, timeout } = this.#options;
    const { metadata, spec } = await this.#host(signal);
    if (spec?.online === online) return;
    if (!online && spec?.disablePowerOff === true) throw new PowerSwitchError("refused", this.#disabled);
    const { resourceVersion } = metadata;
    const patch = { metadata: { resourceVersion }, spec: { online } };
    await this.#translated(client.mergePatch(bareMetalHosts, endpoint, patch, { signal, timeout, retries: 0 }));
  }

  async #translated<Value>(call: Promise<Value>): Promise<Value> {
    try {
      return await call;
    } catch (error) {
      const name = `BareMetalHost ${nameOf(this.#options.endpoint)}`;
      if (isApiError(error, "notFound")) throw new PowerSwitchError("not_found", `${name} does not exist`, 404);
      if (isApiError(error, "forbidden")) throw new PowerSwitchError("credentials", `${name}: not permitted`, 403);
      throw error;
    }
  }
}

const nameOf = ({ namespace, name }: Metal3Endpoint) => `${namespace}/${name}`;
