import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { JoulieError } from "../../../core/api/index.ts";
import type { Clock } from "../../clock/index.ts";
import { FileValue } from "./file-value.ts";
import { cachedUntilChanged, type Identity, type TlsMaterial } from "./identity.ts";
import type { kubeconfigIdentity } from "./kubeconfig.ts";

export interface IdentityOptions {
  readonly clock: Clock;
  /** Kubeconfig files as in KUBECONFIG, separated by colons. */
  readonly kubeconfig?: string | undefined;
  /** The context; default: the current context. */
  readonly context?: string | undefined;
  /** ALLOW_INSECURE_TOKEN: allows sending a kubeconfig's token or password over http://. */
  readonly allowInsecureToken?: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The service account folder and the home folder; only tests set them. */
  readonly serviceAccount?: string;
  readonly home?: string;
}

/** Loads the given kubeconfig, else the pod's service account, else the kubeconfig in the home folder. */
export async function loadIdentity(options: IdentityOptions): Promise<Identity> {
  const { clock, environment, context, allowInsecureToken, serviceAccount = SERVICE_ACCOUNT } = options;
  const files = (options.kubeconfig ?? "").split(delimiter).filter((file) => file !== "");
  if (files.length > 0) return fromFiles({ clock, files, context, allowInsecureToken });
  const token = join(serviceAccount, "token");
  if (environment.KUBERNETES_SERVICE_HOST !== undefined && existsSync(token)) {
    return inClusterIdentity({ clock, environment, serviceAccount });
  }
  const own = join(options.home ?? homedir(), ".kube", "config");
  if (existsSync(own)) return fromFiles({ clock, files: [own], context, allowInsecureToken });
  throw new JoulieError(
    "JOULIE_E_KUBE_IDENTITY",
    `no cluster: KUBECONFIG is not set, this is not a pod with a service account (${token}), and there is no ${own}; ` +
      "set KUBECONFIG, or run joulie demo, which needs no cluster",
  );
}

/** Loads the kubeconfig reader and its YAML parser only when needed; pods do not use them. */
const fromFiles: typeof kubeconfigIdentity = async (options) =>
  (await import("./kubeconfig.ts")).kubeconfigIdentity(options);

/** Where the kubelet mounts a pod's service account. */
const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

interface InCluster {
  readonly clock: Clock;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly serviceAccount: string;
}

function inClusterIdentity({ clock, environment, serviceAccount }: InCluster): Identity {
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
