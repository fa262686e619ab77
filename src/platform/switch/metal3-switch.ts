import type { Metal3Endpoint, SwitchState } from "../../core/api/index.ts";
import type { Milliseconds } from "../../core/units/index.ts";
import { isApiError, type KubeClient, type KubeObject, type Resource } from "../kube/index.ts";
import { type ConfirmSwitching, type MachineFacts, type PowerSwitch, PowerSwitchError } from "./power-switch.ts";

export const bareMetalHosts: Resource = {
  group: "metal3.io",
  version: "v1alpha1",
  plural: "baremetalhosts",
  kind: "BareMetalHost",
  namespaced: true,
};

export type BareMetalHost = KubeObject & {
  readonly spec?: {
    readonly online?: boolean;
    readonly disablePowerOff?: boolean;
    readonly consumerRef?: { readonly kind?: string; readonly name?: string };
  };
  readonly status?: {
    readonly poweredOn?: boolean;
    readonly operationalStatus?: string;
    readonly errorType?: string;
    readonly provisioning?: { readonly state?: string };
  };
};

const REBOOT = "reboot.metal3.io";
/** With these Metal3 neither obeys spec.online nor corrects status.poweredOn. */
const freezing = ["baremetalhost.metal3.io/paused", "baremetalhost.metal3.io/detached"];
/** In which Metal3 obeys spec.online. */
const steadyStates: readonly (string | undefined)[] = [
  "provisioned",
  "externally provisioned",
  "available",
  "ready",
  // Not reported.
  undefined,
];

export interface Metal3SwitchOptions {
  readonly client: KubeClient;
  readonly endpoint: Metal3Endpoint;
  readonly timeout: Milliseconds;
}

const ATTEMPTS = 3;

/** A machine that Metal3 manages. Metal3 shuts down first and cuts the power when that takes too long. */
export class Metal3Switch implements PowerSwitch {
  readonly #options: Metal3SwitchOptions;
  facts: MachineFacts | undefined;
  /** What the last call of `state` has read, for the next action. */
  #lastHost: BareMetalHost | undefined;

  constructor(options: Metal3SwitchOptions) {
    this.#options = options;
  }

  async state(signal: AbortSignal): Promise<SwitchState> {
    const host = (this.#lastHost = await this.#host(signal));
    const { spec, status } = host;
    const frozen = frozenBecause(host);
    const held = frozen ?? rebootOf(host);
    const { kind, name: consumer } = spec?.consumerRef ?? {};
    const { namespace, name } = this.#options.endpoint;
    this.facts = {
      keepsPower: this.#keepsPower(host),
      ...(held !== undefined && { held: this.#title(held) }),
      host: { namespace, name, machine: kind === "Metal3Machine" ? consumer : undefined },
    };
    const { poweredOn } = status ?? {};
    if (poweredOn === undefined || frozen !== undefined) return "unknown";
    // Metal3 takes the power away as soon as it can, maybe much later. Only a machine that it leaves on counts as on.
    if (poweredOn && (spec?.online !== true || held !== undefined)) return "unknown";
    return poweredOn ? "on" : "off";
  }

  async on(signal: AbortSignal, confirm: ConfirmSwitching): Promise<void> {
    await this.#setOnline(true, signal, confirm);
  }

  async shutdown(signal: AbortSignal, confirm: ConfirmSwitching): Promise<void> {
    await this.#setOnline(false, signal, confirm);
  }

  /** The same as `shutdown`: Metal3 itself cuts the power of a machine that ignores it. */
  async forceOff(signal: AbortSignal, confirm: ConfirmSwitching): Promise<void> {
    await this.#setOnline(false, signal, confirm);
  }

  async close(): Promise<void> {}

  /** Why Metal3 would not take the power away, or should not be asked to. */
  #keepsPower(host: BareMetalHost): string | undefined {
    const { spec, status } = host;
    const isFaulty = status?.operationalStatus === "error";
    const why =
      (spec?.disablePowerOff === true ? "has disablePowerOff: true" : undefined) ??
      frozenBecause(host) ??
      rebootOf(host) ??
      (isFaulty ? `reports ${status?.errorType || "an error"}` : undefined);
    return why && this.#title(why);
  }

  #title(text: string): string {
    return `BareMetalHost ${nameOf(this.#options.endpoint)} ${text}`;
  }

  async #host(signal: AbortSignal): Promise<BareMetalHost> {
    const { client, endpoint, timeout } = this.#options;
    return this.#translated(client.get<BareMetalHost>(bareMetalHosts, endpoint, { signal, timeout, retries: 0 }));
  }

  async #setOnline(online: boolean, signal: AbortSignal, confirm: ConfirmSwitching): Promise<void> {
    const { client, endpoint, timeout } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const host = this.#lastHost ?? (await this.#host(signal));
      this.#lastHost = undefined;
      if (host.spec?.online === online) return;
      const refusal = online ? undefined : this.#keepsPower(host);
      if (refusal !== undefined) throw new PowerSwitchError("refused", refusal);
      const { resourceVersion } = host.metadata;
      const patch = { metadata: { resourceVersion }, spec: { online } };
      const options = { signal, timeout, retries: 0, beforeSending: confirm };
      try {
        await this.#translated(client.mergePatch(bareMetalHosts, endpoint, patch, options));
        return;
      } catch (error) {
        // Metal3 has written its status since the host was read.
        if (!isApiError(error, "conflict") || attempt >= ATTEMPTS) throw error;
      }
    }
  }

  async #translated<Value>(call: Promise<Value>): Promise<Value> {
    try {
      return await call;
    } catch (error) {
      const name = `BareMetalHost ${nameOf(this.#options.endpoint)}`;
      if (isApiError(error, "notFound")) throw new PowerSwitchError("not_found", `${name} does not exist`, 404);
      if (isApiError(error, "forbidden")) throw new PowerSwitchError("credentials", `${name}: not permitted`, 403);
      // For example an admission policy.
      if (isApiError(error, "invalid", "badRequest"))
        throw new PowerSwitchError("refused", `${name}: the API server rejects the change`, error.status);
      throw error;
    }
  }
}

/** Why Metal3 does nothing with the host, so that its status may be old. */
function frozenBecause({ metadata, status }: BareMetalHost): string | undefined {
  const annotation = freezing.find((key) => metadata.annotations?.[key] !== undefined);
  if (annotation !== undefined) return `has the annotation ${annotation}`;
  if (metadata.deletionTimestamp !== undefined) return "is being deleted";
  if (status?.operationalStatus === "detached") return "is detached";
  const { state } = status?.provisioning ?? {};
  return steadyStates.includes(state) ? undefined : `is in the state ${JSON.stringify(state)}`;
}

/** With such an annotation Metal3 switches the machine off, and keeps it off while the annotation has a suffix. */
function rebootOf({ metadata }: BareMetalHost): string | undefined {
  const keys = Object.keys(metadata.annotations ?? {});
  const key = keys.find((one) => one === REBOOT || one.startsWith(`${REBOOT}/`));
  return key && `has the annotation ${key}`;
}

const nameOf = ({ namespace, name }: Metal3Endpoint) => `${namespace}/${name}`;
