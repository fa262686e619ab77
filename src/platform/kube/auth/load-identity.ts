import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { JoulieError } from "../../../core/api/index.ts";
import type { Clock } from "../../clock/index.ts";
import type { Identity } from "./identity.ts";
import { inClusterIdentity, SERVICE_ACCOUNT } from "./in-cluster.ts";
import type { kubeconfigIdentity } from "./kubeconfig.ts";

export interface IdentityOptions {
  readonly clock: Clock;
  /** Files as in KUBECONFIG, separated by colons. */
  readonly kubeconfig?: string | undefined;
  /** Which context of them; their current one unless told. */
  readonly context?: string | undefined;
  /** KUBE_ALLOW_INSECURE_TOKEN: a kubeconfig's token or password may go unencrypted over http://. */
  readonly allowInsecureToken?: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where a pod finds its service account, and a person's home. Only tests say otherwise. */
  readonly serviceAccount?: string;
  readonly home?: string;
}

/** The kubeconfig given, or the pod's own service account, or outside a cluster the person's own kubeconfig. */
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

/** A pod has no kubeconfig: the reader and its YAML parser are loaded for those who do. */
const fromFiles: typeof kubeconfigIdentity = async (options) =>
  (await import("./kubeconfig.ts")).kubeconfigIdentity(options);
