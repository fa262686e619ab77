import { dirname, resolve } from "node:path";
import { JoulieError } from "../../../core/api/index.ts";
import type { Clock } from "../../clock/index.ts";
import { sendsInTheClear } from "../../http/index.ts";
import { pluginCredentials } from "./exec-plugin.ts";
import { FileValue } from "./file-value.ts";
import { type Credentials, cachedUntilChanged, type Identity, type TlsMaterial } from "./identity.ts";
import { type ClusterEntry, type Entry, readKubeconfig, type UserEntry } from "./kubeconfig-file.ts";

interface KubeconfigOptions {
  readonly clock: Clock;
  readonly files: readonly string[];
  readonly context?: string | undefined;
  readonly allowInsecureToken?: boolean | undefined;
}

export async function kubeconfigIdentity(options: KubeconfigOptions): Promise<Identity> {
  const { clock, files, context, allowInsecureToken = false } = options;
  const config = readKubeconfig(files);
  const named = context ?? config.currentContext;
  if (named === undefined) {
    throw refusal(files, `no current context is set; choose one with \`kubectl config use-context\``);
  }
  const chosen = found(files, "context", named, config.contexts);
  const cluster = found(files, "cluster", chosen.value.cluster, config.clusters);
  const user: Entry<UserEntry> =
    chosen.value.user === undefined || chosen.value.user === ""
      ? { name: "", file: chosen.file, value: {} }
      : found(files, "user", chosen.value.user, config.users);
  const server = serverOf(cluster);
  const certificates = certificatesOf(cluster, user, clock);
  const { exec, "auth-provider": provider } = user.value;
  if (exec === undefined && provider !== undefined) throw unsupported(user, provider.name);
  const credentials =
    exec === undefined ? plainCredentials(user, clock) : pluginCredentials(exec, user.name, user.file, clock);
  const inClear = sendsInTheClear(new URL(server));
  const headers = async () => {
    const own = await credentials.headers();
    if (inClear && !allowInsecureToken && own["authorization"] !== undefined) throw unencrypted(cluster);
    return own;
  };
  // Calls a plugin only when needed, because it may open a browser.
  if (exec === undefined) await headers();
  const material = cachedUntilChanged((): TlsMaterial => ({ ...certificates(), ...credentials.certificates() }));
  return {
    server,
    namespace: chosen.value.namespace,
    headers,
    tls: async () => {
      // A plugin may return a client certificate, so call it before connecting.
      await credentials.headers();
      return material();
    },
    refused: () => credentials.forget(),
  };
}

/** The text avoids `…_TOKEN=true`: the log's redaction would hide the value as a token. */
const unencrypted = ({ name, file, value }: Entry<ClusterEntry>): JoulieError =>
  refusal(
    [file],
    `the server of cluster "${name}" is ${value.server}, which would get the user's token unencrypted: use https, or set ALLOW_INSECURE_TOKEN to true`,
  );

const unsupported = ({ name, file }: Entry<UserEntry>, provider: string): JoulieError =>
  refusal(
    [file],
    `user "${name}" has the auth-provider ${provider}, which Joulie does not support: use an exec plugin, for oidc kubelogin`,
  );

function plainCredentials({ value: user, file }: Entry<UserEntry>, clock: Clock): Credentials {
  const tokenFile = user.tokenFile === undefined ? undefined : new FileValue(beside(file, user.tokenFile), clock);
  tokenFile?.get();
  const authorization = () => {
    const token = tokenFile?.get() ?? user.token;
    return token === undefined || token === "" ? undefined : `Bearer ${token}`;
  };
  return {
    headers: async () => {
      const value = authorization();
      return { ...(value !== undefined && { authorization: value }) };
    },
    certificates: () => ({}),
    forget: () => tokenFile?.forget(),
  };
}

function certificatesOf(cluster: Entry<ClusterEntry>, user: Entry<UserEntry>, clock: Clock): () => TlsMaterial {
  const ca = pemOf(cluster, "certificate-authority", clock);
  const cert = pemOf(user, "client-certificate", clock);
  const key = pemOf(user, "client-key", clock);
  const { "insecure-skip-tls-verify": insecure, "tls-server-name": serverName } = cluster.value;
  const material = (): TlsMaterial => {
    const [authority, certificate, secret] = [ca?.(), cert?.(), key?.()];
    return {
      ...(authority !== undefined && { ca: authority }),
      ...(certificate !== undefined && { cert: certificate }),
      ...(secret !== undefined && { key: secret }),
      ...(serverName !== undefined && serverName !== "" && { serverName }),
      ...(insecure === true && { insecure }),
    };
  };
  material();
  return material;
}

type Pem = "certificate-authority" | "client-certificate" | "client-key";

/** `…-data` holds the content in base64 and takes precedence over the path. */
function pemOf(
  { value, file }: Entry<Readonly<Record<string, unknown>>>,
  field: Pem,
  clock: Clock,
): (() => string) | undefined {
  const data = value[`${field}-data`];
  if (typeof data === "string" && data !== "") {
    const text = Buffer.from(data, "base64").toString("utf8");
    return () => text;
  }
  const path = value[field];
  if (typeof path !== "string" || path === "") return undefined;
  const content = new FileValue(beside(file, path), clock);
  return () => content.get();
}

function serverOf({ name, file, value }: Entry<ClusterEntry>): string {
  if (value["proxy-url"] !== undefined && value["proxy-url"] !== "") {
    throw refusal([file], `cluster "${name}" sets proxy-url, which Joulie does not support`);
  }
  const url = URL.parse(value.server);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw refusal([file], `the server of cluster "${name}" is not an http or https address: ${value.server}`);
  }
  return value.server;
}

function found<Value>(
  files: readonly string[],
  what: string,
  name: string,
  entries: ReadonlyMap<string, Entry<Value>>,
): Entry<Value> {
  const entry = entries.get(name);
  if (entry !== undefined) return entry;
  const names = [...entries.keys()].map((other) => `"${other}"`).join(", ");
  throw refusal(files, `there is no ${what} "${name}"; it has ${names === "" ? "none" : names}`);
}

const beside = (file: string, path: string): string => resolve(dirname(file), path);

const refusal = (files: readonly string[], why: string, cause?: unknown): JoulieError =>
  new JoulieError("JOULIE_E_KUBECONFIG", `kubeconfig ${files.join(", ")}: ${why}`, { cause });
