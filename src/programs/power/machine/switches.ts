import { annotations, type PowerEndpoint, type RedfishEndpoint } from "../../../core/api/index.ts";
import type { Milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { EndpointList, type EndpointRange, hostRanges } from "../../../platform/config/index.ts";
import { isApiError, type KubeClient, type KubeObject, resources } from "../../../platform/kube/index.ts";
import {
  Metal3Switch,
  type PowerSwitch,
  PowerSwitchError,
  RedfishSwitch,
  redfishUrl,
  WebhookSwitch,
  webhookUrl,
} from "../../../platform/switch/index.ts";

export interface SwitchOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly timeout: Milliseconds;
  readonly namespace: string;
  /** SWITCH_ALLOWED_ENDPOINTS: switches that may receive every Secret. */
  readonly allowed: readonly EndpointRange[];
}

export type OpenSwitch = (endpoint: PowerEndpoint, signal: AbortSignal) => Promise<PowerSwitch>;

export function switchesOf(options: SwitchOptions): OpenSwitch {
  const { client, clock, timeout, namespace } = options;
  const allowed = new EndpointList(options.allowed);
  return async ({ metadata, spec }, signal) => {
    const { redfish, metal3, webhook } = spec;
    if ([redfish, metal3, webhook].filter((one) => one !== undefined).length !== 1)
      throw new PowerSwitchError("refused", "the PowerEndpoint needs exactly one of redfish, metal3 and webhook");
    const read = async ({ name }: SecretReference) =>
      readSecret(client, { namespace, name }, { signal, timeout, retries: 0 });
    /** A Secret whose content may be sent to this URL. */
    const readFor = async (url: URL, reference: SecretReference) => {
      const secret = await read(reference);
      if (!allowed.has(url, metadata.name)) expectHost(secret, url, metadata.name);
      return secret;
    };
    if (redfish !== undefined) {
      const { credentialsSecretRef, caSecretRef } = redfish;
      const url = redfishUrl(redfish);
      const login = credentialsSecretRef && (await readFor(url, credentialsSecretRef));
      const credentials = login && { username: textIn(login, "username"), password: textIn(login, "password") };
      // Certificates are sent to no switch.
      const ca = caSecretRef && textIn(await read(caSecretRef), "ca.crt");
      return new RedfishSwitch({ clock, timeout, endpoint: redfish, credentials, ca });
    }
    if (webhook !== undefined) {
      const { credentialsSecretRef } = webhook;
      const url = webhookUrl(webhook, metadata.name);
      const token = credentialsSecretRef && textIn(await readFor(url, credentialsSecretRef), "token");
      return new WebhookSwitch({ clock, timeout, endpoint: webhook, node: metadata.name, token });
    }
    return new Metal3Switch({ client, timeout, endpoint: metal3 as NonNullable<typeof metal3> });
  };
}

type SecretReference = NonNullable<RedfishEndpoint["caSecretRef"]>;

interface SwitchSecret {
  readonly title: string;
  readonly hosts?: string | undefined;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
}

async function readSecret(
  client: KubeClient,
  at: { readonly namespace: string; readonly name: string },
  options: { readonly signal: AbortSignal; readonly timeout: Milliseconds; readonly retries: number },
): Promise<SwitchSecret> {
  const title = `Secret ${at.namespace}/${at.name}`;
  try {
    type Secret = KubeObject & Pick<SwitchSecret, "data">;
    const { metadata, data } = await client.get<Secret>(resources.secrets, at, options);
    return { title, hosts: metadata.annotations?.[annotations.hosts], data };
  } catch (error) {
    if (isApiError(error, "notFound")) return { title };
    if (isApiError(error, "forbidden")) throw new PowerSwitchError("credentials", `${title} may not be read`);
    throw error;
  }
}

/** The author of a PowerEndpoint chooses the address, and may not be allowed to read the Secret. */
function expectHost({ title, hosts }: SwitchSecret, url: URL, node: string): void {
  const ranges = hosts === undefined ? [] : hostRanges(hosts);
  if (ranges === undefined)
    throw new PowerSwitchError(
      "refused",
      `the annotation ${annotations.hosts} of ${title} is not a list of hosts and CIDRs, such as bmc.example:8443,10.9.0.0/16`,
    );
  if (new EndpointList(ranges).has(url, node)) return;
  const remedy = `name the host in its annotation ${annotations.hosts}, or list the origin in SWITCH_ALLOWED_ENDPOINTS`;
  // Whether the Secret exists is no business of an author who guesses its name.
  throw new PowerSwitchError("refused", `${title} is missing, or not for ${url.origin}; nothing was sent: ${remedy}`);
}

function textIn({ title, data }: SwitchSecret, key: string): string {
  const encoded = data?.[key];
  const text = typeof encoded === "string" ? Buffer.from(encoded, "base64").toString("utf8").trim() : "";
  if (text === "") throw new PowerSwitchError("credentials", `${title} is missing or has no key ${key}`);
  return text;
}
