import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { Api } from "./api.ts";
import { ensureNamespace } from "./objects.ts";

/** A program's identity for the API server, in every form that a program accepts. */
export interface ClusterIdentity {
  /** `system:serviceaccount:NAMESPACE:NAME` for ServiceAccounts. */
  readonly user: string;
  readonly server: string;
  /** PEM. */
  readonly ca: string;
  readonly token: string;
  /** Path for KUBECONFIG. */
  readonly kubeconfig: string;
  /** Folder with token, ca.crt and namespace, like the volume mounted into a pod. */
  readonly mount: string;
}

/** An RBAC rule: for a Role if it has a namespace, otherwise for a ClusterRole. */
export interface Rule {
  readonly namespace?: string;
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

export interface ClusterIdentityOptions {
  /** Name of the ServiceAccount. */
  readonly name?: string;
  readonly namespace?: string;
  /** The pod to bind the token to: the server then knows the pod's node, and revokes the token with the pod. */
  readonly pod?: string;
}

const joulieNamespace = "joulie-system";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

export function writeIdentity(
  folder: string,
  who: Pick<ClusterIdentity, "user" | "server" | "ca" | "token">,
  namespace: string,
): ClusterIdentity {
  const mount = join(folder, "identities", who.user.replaceAll(":", "_"));
  const kubeconfig = join(mount, "kubeconfig");
  mkdirSync(mount, { recursive: true, mode: 0o700 });
  const files = {
    token: who.token,
    "ca.crt": who.ca,
    namespace,
    kubeconfig: JSON.stringify(kubeconfigOf(who, namespace)),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(mount, name), text, { mode: 0o600 });
  return { ...who, kubeconfig, mount };
}

function kubeconfigOf(
  { user, server, ca, token }: Pick<ClusterIdentity, "user" | "server" | "ca" | "token">,
  namespace: string,
) {
  return {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    contexts: [{ name: "test", context: { cluster: "test", user, namespace } }],
    clusters: [{ name: "test", cluster: { server, "certificate-authority-data": Buffer.from(ca).toString("base64") } }],
    users: [{ name: user, user: { token } }],
  };
}

/** Creates a ServiceAccount with exactly the permissions in the rules; resolves when the server applies them. */
export async function createIdentity(
  admin: Api,
  at: { readonly folder: string; readonly server: string; readonly ca: string },
  rules: readonly Rule[],
  { name = `joulie-test-${++created}`, namespace = joulieNamespace, pod }: ClusterIdentityOptions,
): Promise<ClusterIdentity> {
  await ensureNamespace(admin, namespace);
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await admin.create(accounts, { metadata: { name } });
  const subject = { kind: "ServiceAccount", name, namespace };
  const places = [...new Set(rules.map((rule) => rule.namespace))];
  for (const place of places) {
    if (place !== undefined) await ensureNamespace(admin, place);
    const [prefix, kind] = place === undefined ? [rbac, "ClusterRole"] : [`${rbac}/namespaces/${place}`, "Role"];
    const role = `${namespace}-${name}`;
    const own = rules.filter((rule) => rule.namespace === place).map((rule) => ({ ...rule, namespace: undefined }));
    await admin.create(`${prefix}/${kind.toLowerCase()}s`, { metadata: { name: role }, rules: own });
    await admin.create(`${prefix}/${kind.toLowerCase()}bindings`, {
      metadata: { name: role },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name: role },
      subjects: [subject],
    });
  }
  const boundObjectRef = pod === undefined ? undefined : { apiVersion: "v1", kind: "Pod", name: pod };
  const { status } = await admin.create<{ status: { token: string } }>(`${accounts}/${name}/token`, {
    spec: { expirationSeconds: 86_400, boundObjectRef },
  });
  const user = `system:serviceaccount:${namespace}:${name}`;
  const identity = writeIdentity(at.folder, { user, server: at.server, ca: at.ca, token: status.token }, namespace);
  const api = new Api(at.server, at.ca, status.token);
  try {
    for (const place of places) await rulesInForce(api, place, rules);
  } finally {
    await api.close();
  }
  return identity;
}

let created = 0;

/** Waits for the authorizer, which receives new roles through a watch. */
async function rulesInForce(api: Api, namespace: string | undefined, rules: readonly Rule[]): Promise<void> {
  const rule = rules.find((candidate) => candidate.namespace === namespace);
  const verb = rule?.verbs[0];
  if (rule === undefined || verb === undefined) return;
  const [resource, subresource] = (rule.resources?.[0] ?? "").split("/");
  const question =
    rule.nonResourceURLs === undefined
      ? {
          resourceAttributes: {
            verb,
            group: rule.apiGroups?.[0] ?? "",
            resource,
            subresource,
            name: rule.resourceNames?.[0],
            namespace,
          },
        }
      : { nonResourceAttributes: { verb, path: rule.nonResourceURLs[0] } };
  await eventually(async () => {
    const { status } = await api.create<{ status: { allowed: boolean } }>(
      "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      { spec: question },
    );
    return status.allowed;
  }).catch((error: Error): never => {
    throw new Error(`the API server does not apply the rule ${JSON.stringify(rule)}: ${error.message}`);
  });
}
