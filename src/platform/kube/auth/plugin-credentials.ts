import { isAbsolute, resolve } from "node:path";
import type { KubeConfig as Config } from "@kubernetes/client-node";
import { JoulieError } from "../../../core/api/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { withDeadline } from "../client/with-deadline.ts";
import type { Credentials, TlsMaterial } from "./identity.ts";
import type { ClusterEntry, Entry, UserEntry } from "./kubeconfig-file.ts";

/** A person may have to type something; but who never answers is asked again. */
const LONGEST_ASK = milliseconds(60_000);

interface Answer {
  readonly headers: Readonly<Record<string, string>>;
  readonly certificates: TlsMaterial;
}

/**
 * Users with an `exec` plugin or an OIDC provider, through @kubernetes/client-node, which keeps what the plugin said until
 * that ends. It is large, so it is loaded only for them.
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
    // As it is when read from a file, text, the library's own OIDC client refuses it.
    if (provider !== undefined && issuer !== null) provider["idp-issuer-url"] = issuer;
    return config;
  };
  let config = load();
  let last: Answer = { headers: {}, certificates: {} };
  let pending: Promise<Answer> | undefined;
  const ask = async (asked: Config): Promise<Answer> => {
    const options: { headers: Record<string, string>; cert?: unknown; key?: unknown } = { headers: {} };
    try {
      // The node's options type allows more than a plugin ever sets.
      const work = asked.applyToHTTPSOptions(options as Parameters<typeof asked.applyToHTTPSOptions>[0]);
      await withDeadline(LONGEST_ASK, clock, "answer", work);
    } catch (cause) {
      // Not "no credentials: …": the log takes the word behind that for one of them, and hides it.
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
  /** The same user without what was remembered of it: of a provider that is all but the tokens, which may have been renewed. */
  const afresh = (old: Config): Config => {
    const fresh = new KubeConfig();
    fresh.loadFromOptions(old);
    return fresh;
  };
  return {
    // Who asks while an answer is on its way gets that one: a plugin may open a browser, or use up a token.
    headers: async () => {
      const asked = config;
      const answer = (pending ??= ask(asked));
      try {
        last = await answer;
      } finally {
        if (pending === answer) {
          pending = undefined;
          // The provider dates a renewed token wrongly, and would renew it for each call; afresh it reads the token's own date.
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
      // One without a date is renewed before it is used.
      if (provider?.["refresh-token"] !== undefined) provider["id-token"] = "refused";
    },
  };
}

const providerOf = (config: Config): Record<string, unknown> | undefined =>
  config.getCurrentUser()?.authProvider?.config as Record<string, unknown> | undefined;

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
