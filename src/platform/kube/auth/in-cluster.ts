import { existsSync } from "node:fs";
import { join } from "node:path";
import { JoulieError } from "../../../core/api/index.ts";
import type { Clock } from "../../clock/index.ts";
import { FileValue } from "./file-value.ts";
import { cachedUntilChanged, type Identity, type TlsMaterial } from "./identity.ts";

/** Where the kubelet mounts a pod's service account. */
export const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

interface InCluster {
  readonly clock: Clock;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly serviceAccount: string;
}

/** The identity of a pod's service account. */
export function inClusterIdentity({ clock, environment, serviceAccount }: InCluster): Identity {
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "443" } = environment;
  if (host === "" || !/^\d{1,5}$/.test(port)) {
    throw new JoulieError(
      "JOULIE_E_KUBE_IDENTITY",
      `KUBERNETES_SERVICE_HOST=${host} and KUBERNETES_SERVICE_PORT=${port} name no API server`,
    );
  }
  const token = new FileValue(join(serviceAccount, "token"), clock);
  const authority = new FileValue(join(serviceAccount, "ca.crt"), clock);
  const namespaceFile = join(serviceAccount, "namespace");
  const material = cachedUntilChanged((): TlsMaterial => ({ ca: authority.get() }));
  // Fails at startup, not at the first call, when the token or CA is missing.
  token.get();
  material();
  return {
    server: `https://${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${port}`,
    namespace: existsSync(namespaceFile) ? new FileValue(namespaceFile, clock).get() : undefined,
    headers: async () => ({ authorization: `Bearer ${token.get()}` }),
    tls: async () => material(),
    refused: () => token.forget(),
  };
}
