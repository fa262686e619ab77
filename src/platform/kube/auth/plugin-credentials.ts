import { isAbsolute, resolve } from "node:path";
import type { KubeConfig as Config } from "@kubernetes/client-node";
import { JoulieError } from "../../../core/api/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import { type Clock, withDeadline } from "../../clock/index.ts";
import type { Credentials, TlsMaterial } from "./identity.ts";
import type { ClusterEntry, Entry, UserEntry } from "./kubeconfig-file.ts";

/** A plugin may wait for user input; after this time the call fails and the next one starts the plugin again. */
const MAX_ASK = milliseconds(60_000);

interface Answer {
  readonly headers: Readonly<Record<string, string>>;
  readonly certificates: TlsMaterial;
}

/**
 * Credentials of users with an `exec` plugin or an OIDC provider, through @kubernetes/client-node, which caches them until
 * they expire. The library is large, so it is loaded only for such users.
 */
export async function pluginCredentials(
  cluster: Entry<ClusterEntry>,
  user: Entry<UserEntry>,
  clock: Clock,
): Promise<Credentials> {
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
    const provider = providerOf(config);
    const issuer = URL.parse(String(provider?.["idp-issuer-url"]));
    // The library's OIDC client rejects the issuer URL as a string, which is how it appears in the file.
    if (provider !== undefined && issuer !== null) provider["idp-issuer-url"] = issuer;
    return config;
  };
  let config = load();
  let last: Answer = { headers: {}, certificates: {} };
  let pending: Promise<Answer> | undefined;
  const ask = async (asked: Config): Promise<Answer> => {
    const options: { headers: Record<string, string>; cert?: unknown; key?: unknown } = { headers: {} };
    try {
      // Node's options type allows more than a plugin sets.
      const work = asked.applyToHTTPSOptions(options as Parameters<typeof asked.applyToHTTPSOptions>[0]);
      await withDeadline(clock, MAX_ASK, "answer", work);
    } catch (cause) {
      // Avoids "credentials: …": the log's redaction would hide the next word.
      throw new JoulieError("JOULIE_E_KUBE_IDENTITY", `${pluginOf(user)} failed: ${said(cause)}`, { cause });
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
  /** A copy of the user without cached state. For an OIDC provider it keeps the tokens, which may have been renewed. */
  const afresh = (old: Config): Config => {
    const fresh = new KubeConfig();
    fresh.loadFromOptions(old);
    return fresh;
  };
  return {
    // Concurrent callers share one plugin call: a plugin may open a browser or consume a refresh token.
    headers: async () => {
      const asked = config;
      const answer = (pending ??= ask(asked));
      try {
        last = await answer;
      } finally {
        if (pending === answer) {
          pending = undefined;
          // The provider sets a wrong expiry on a renewed token and would renew it on each call. A fresh copy reads the token's own expiry.
          if (user.value.exec === undefined && config === asked) config = afresh(asked);
        }
      }
      return last.headers;
    },
    certificates: () => last.certificates,
    forget: () => {
      config = afresh(config);
      pending = undefined;
      const provider = providerOf(config);
      // The provider renews a token without an expiry before using it.
      if (provider?.["refresh-token"] !== undefined) provider["id-token"] = "refused";
    },
  };
}

const providerOf = (config: Config): Record<string, unknown> | undefined =>
  config.getCurrentUser()?.authProvider?.config as Record<string, unknown> | undefined;

/** A command with a path is relative to its kubeconfig file; a bare name is looked up in PATH. */
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
