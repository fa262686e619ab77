import type { PowerEndpoint } from "../../core/api/index.ts";
import type { Milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import { isApiError, type KubeClient, type KubeObject, resources } from "../../platform/kube/index.ts";
import {
  Metal3Switch,
  type PowerSwitch,
  PowerSwitchError,
  RedfishSwitch,
  WebhookSwitch,
} from "../../platform/power/index.ts";

export interface SwitchOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly timeout: Milliseconds;
  /** Where the Secrets are. */
  readonly namespace: string;
}

/** Opens the switch of a node. Secrets are read each time, so that a changed password needs no restart. */
export type OpenSwitch = (endpoint: PowerEndpoint, signal: AbortSignal) => Promise<PowerSwitch>;

export function switchesOf(options: SwitchOptions): OpenSwitch {
  const { client, clock, timeout, namespace } = options;
  const secret = async (name: string, key: string, signal: AbortSignal): Promise<string> => {
    const text = await readSecret(client, { namespace, name }, key, { signal, timeout, retries: 0 });
    if (text === undefined || text === "")
      throw new PowerSwitchError("credentials", `Secret ${namespace}/${name} is missing or has no key ${key}`);
    return text;
  };
  return async ({ metadata, spec }, signal) => {
    const { redfish, metal3, webhook } = spec;
    if ([redfish, metal3, webhook].filter((one) => one !== undefined).length !== 1)
      throw new PowerSwitchError("refused", "the PowerEndpoint needs exactly one of redfish, metal3 and webhook");
    if (redfish !== undefined) {
      const { credentialsSecretRef: login, caSecretRef } = redfish;
      const credentials = login && {
        username: await secret(login.name, "username", signal),
        password: await secret(login.name, "password", signal),
      };
      const ca = caSecretRef && (await secret(caSecretRef.name, "ca.crt", signal));
      return new RedfishSwitch({ clock, timeout, endpoint: redfish, credentials, ca });
    }
    if (webhook !== undefined) {
      const { credentialsSecretRef } = webhook;
      const token = credentialsSecretRef && (await secret(credentialsSecretRef.name, "token", signal));
      return new WebhookSwitch({ clock, timeout, endpoint: webhook, node: metadata.name, token });
    }
    return new Metal3Switch({ client, timeout, endpoint: metal3 as NonNullable<typeof metal3> });
  };
}

async function readSecret(
  client: KubeClient,
  at: { readonly namespace: string; readonly name: string },
  key: string,
  options: { readonly signal: AbortSignal; readonly timeout: Milliseconds; readonly retries: number },
): Promise<string | undefined> {
  try {
    const { data } = await client.get<KubeObject & { data?: Readonly<Record<string, unknown>> }>(
      resources.secrets,
      at,
      options,
    );
    const text = data?.[key];
    return typeof text === "string" ? Buffer.from(text, "base64").toString("utf8").trim() : undefined;
  } catch (error) {
    if (isApiError(error, "notFound")) return undefined;
    if (isApiError(error, "forbidden"))
      throw new PowerSwitchError("credentials", `Secret ${at.namespace}/${at.name} may not be read`);
    throw error;
  }
}
