import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import * as z from "zod";
import { type Instant, instant, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { Agent, boundedText, parsedJson, send, sendsInTheClear } from "../../http/index.ts";
import type { CredentialPlugin, IssuedCredentials } from "./plugin-credentials.ts";

const MAX_BYTES = 1 << 20;
const CONNECT_TIMEOUT = milliseconds(10_000);

const discovery = z.object({ token_endpoint: z.string() });
const renewal = z.object({ id_token: z.string(), refresh_token: z.string().optional() });
const claims = z.object({ exp: z.number().positive() });

/** The `oidc` provider of a user in a kubeconfig file. It renews an expired id-token with the refresh-token. */
export function oidcProvider(
  config: Readonly<Record<string, string>>,
  user: string,
  kubeconfig: string,
  clock: Clock,
): CredentialPlugin {
  const initial = issued(config["id-token"]);
  let refreshToken = config["refresh-token"];
  return {
    name: `the oidc provider of user "${user}"`,
    initial,
    issue: async (signal) => {
      if (refreshToken === undefined) {
        const isValid = initial?.expires !== undefined && initial.expires > clock.now();
        if (isValid) return initial;
        throw new Error("its id-token has expired and there is no refresh-token; log in again");
      }
      const renewed = await renew(config, refreshToken, authorityOf(config, kubeconfig), signal);
      // A provider may accept a refresh token only once.
      refreshToken = renewed.refresh_token ?? refreshToken;
      return issued(renewed.id_token) ?? { certificates: {} };
    },
  };
}

const issued = (idToken: string | undefined): IssuedCredentials | undefined =>
  idToken === undefined ? undefined : { token: idToken, certificates: {}, expires: expiryOf(idToken) };

/** When a token says that it expires. A token that does not say so counts as expired. */
function expiryOf(idToken: string): Instant {
  try {
    const payload = Buffer.from(idToken.split(".")[1] ?? "", "base64url").toString("utf8");
    return instant(claims.parse(JSON.parse(payload)).exp * 1000);
  } catch {
    return instant(0);
  }
}

/** Asks the issuer for its token endpoint, and that for new tokens. */
async function renew(
  config: Readonly<Record<string, string>>,
  refreshToken: string,
  ca: string | undefined,
  signal: AbortSignal,
): Promise<z.infer<typeof renewal>> {
  const { "idp-issuer-url": issuer = "", "client-id": client = "", "client-secret": secret = "" } = config;
  const agent = new Agent({ connect: { ...(ca !== undefined && { ca }), timeout: CONNECT_TIMEOUT }, allowH2: false });
  try {
    const discoveryAddress = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const endpoints = await exchange(agent, discoveryAddress, signal, discovery);
    const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token: refreshToken });
    const headers: Record<string, string> = { "content-type": "application/x-www-form-urlencoded" };
    if (secret === "") body.set("client_id", client);
    else headers["authorization"] = basic(client, secret);
    return await exchange(agent, endpoints.token_endpoint, signal, renewal, { headers, body: String(body) });
  } finally {
    await agent.destroy();
  }
}

interface Form {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Reads an answer, to a POST if there is a form. Messages do not quote the answer, because it may contain a token. */
async function exchange<Content>(
  agent: Agent,
  address: string,
  signal: AbortSignal,
  schema: z.ZodType<Content>,
  form?: Form,
): Promise<Content> {
  const url = URL.parse(address);
  if (url === null || sendsInTheClear(url)) throw new Error(`"${address}" is not an https address`);
  const { origin, pathname, search } = url;
  const headers = { accept: "application/json", "user-agent": "joulie", ...form?.headers };
  const method = form === undefined ? "GET" : "POST";
  const path = pathname + search;
  const answer = await send(agent, { origin, path, method, headers, body: form?.body ?? null, signal });
  const text = await boundedText(answer.body, MAX_BYTES);
  if (answer.statusCode !== 200) throw new Error(`${origin}${pathname} answered with status ${answer.statusCode}`);
  const content = schema.safeParse(parsedJson(text ?? ""));
  if (content.success) return content.data;
  throw new Error(`${origin}${pathname} answered without ${content.error.issues[0]?.path.join(".") || "JSON"}`);
}

/** RFC 6749 encodes both parts before it joins them. */
function basic(client: string, secret: string): string {
  const pair = `${encodeURIComponent(client)}:${encodeURIComponent(secret)}`;
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}

function authorityOf(config: Readonly<Record<string, string>>, kubeconfig: string): string | undefined {
  const { "idp-certificate-authority": file, "idp-certificate-authority-data": data } = config;
  if (data !== undefined) return Buffer.from(data, "base64").toString("utf8");
  return file === undefined ? undefined : readFileSync(resolve(dirname(kubeconfig), file), "utf8");
}
