import { isAbsolute, resolve } from "node:path";
import { JoulieError } from "../../core/api/index.ts";
import type { Credentials, TlsMaterial } from "./identity.ts";
import type { ClusterEntry, Entry, UserEntry } from "./kubeconfig-file.ts";

interface Answer {
  readonly headers: Readonly<Record<string, string>>;
  readonly certificates: TlsMaterial;
}

/**
 * Users with an `exec` plugin or an OIDC provider, through @kubernetes/client-node, which keeps what the plugin said until
 * that ends. It is large, so it is loaded only for them.
 */
export async function pluginCredentials(cluster: Entry<ClusterEntry>, user: Entry<UserEntry>): Promise<Credentials> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const load = () => {
    const config = new KubeConfig();
    config.loadFromString(
      JSON.stringify({
        clusters: [{ name: "cluster", cluster: { server: cluster.value.server } }],
        users: [{ name: "user", user: withCommandBeside(user) }],
        contexts: [{ name: "context", context: { cluster: "cluster", user: "user" } }],
        "current-context": "context",
      }),
    );
    return config;
  };
  let config = load();
  let last: Answer = { headers: {}, certificates: {} };
  const ask = async (): Promise<Answer> => {
    const options: { headers: Record<string, string>; cert?: unknown; key?: unknown } = { headers: {} };
    try {
      // The node's options type allows more than a plugin ever sets.
      await config.applyToHTTPSOptions(options as Parameters<typeof config.applyToHTTPSOptions>[0]);
    } catch (cause) {
      throw new JoulieError("JOULIE_E_KUBE_IDENTITY", `${pluginOf(user)} gave no credentials: ${said(cause)}`, {
        cause,
      });
    }
    const { headers, cert, key } = options;
    return {
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
      certificates: {
        ...(typeof cert === "string" && { cert }),
        ...(typeof key === "string" && { key }),
      },
    };
  };
  return {
    headers: async () => {
      last = await ask();
      return last.headers;
    },
    certificates: () => last.certificates,
    forget: () => {
      config = load();
    },
  };
}

/** A command with a path is meant relative to the file it stands in; a bare name is looked up in PATH. */
function withCommandBeside({ value, file }: Entry<UserEntry>): UserEntry {
  const { exec } = value;
  if (exec === undefined || !exec.command.includes("/") || isAbsolute(exec.command)) return value;
  return { ...value, exec: { ...exec, command: resolve(file, "..", exec.command) } };
}

const pluginOf = ({ name, value: { exec, "auth-provider": provider } }: Entry<UserEntry>): string =>
  exec === undefined
    ? `the ${provider?.name} provider of user "${name}"`
    : `${exec.command}, the plugin of user "${name}",`;

const said = (cause: unknown): string => (cause instanceof Error ? cause.message.trim() : String(cause)) || "no reason";
