import { execFile } from "node:child_process";
import { dirname, isAbsolute, resolve } from "node:path";
import * as z from "zod";
import { JoulieError } from "../../../core/api/index.ts";
import { type Instant, instant, milliseconds } from "../../../core/units/index.ts";
import { type Clock, withTimeLimit } from "../../clock/index.ts";
import { parsedJson } from "../../http/index.ts";
import type { Credentials, TlsMaterial } from "./identity.ts";
import type { ExecEntry } from "./kubeconfig-file.ts";

const MAX_BYTES = 1 << 20;
/** A plugin may wait for user input; after this time the call fails and the next one starts the plugin again. */
const MAX_ASK = milliseconds(60_000);

interface IssuedCredentials {
  readonly token?: string | undefined;
  readonly certificates: TlsMaterial;
  /** Absent: until the API server refuses them. */
  readonly expires?: Instant | undefined;
}

const execCredential = z.object({
  status: z.object({
    token: z.string().optional(),
    clientCertificateData: z.string().optional(),
    clientKeyData: z.string().optional(),
    expirationTimestamp: z.iso.datetime({ offset: true }).optional(),
  }),
});

/** The credentials of a kubeconfig user's `exec` plugin, cached until they expire or the API server refuses them. */
export function pluginCredentials(exec: ExecEntry, user: string, kubeconfig: string, clock: Clock): Credentials {
  const { apiVersion, args, env } = exec;
  const command = commandBeside(kubeconfig, exec.command);
  const request = { apiVersion, kind: "ExecCredential", spec: { interactive: false } };
  const variables = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));
  const environment = { ...process.env, KUBERNETES_EXEC_INFO: JSON.stringify(request), ...variables };
  let issued: IssuedCredentials | undefined;
  let pending: Promise<IssuedCredentials> | undefined;
  const run = async (signal: AbortSignal) => credentialsIn(await outputOf(command, args ?? [], environment, signal));
  const ask = async (): Promise<IssuedCredentials> => {
    try {
      issued = await withTimeLimit(clock, MAX_ASK, run, { message: `no answer within ${MAX_ASK} ms` });
      return issued;
    } catch (cause) {
      // Avoids "credentials: …": the log's redaction would hide the next word.
      const what = `${exec.command}, the plugin of user "${user}", failed`;
      throw new JoulieError("JOULIE_E_KUBE_IDENTITY", `${what}: ${reasonOf(cause)}`, { cause });
    } finally {
      pending = undefined;
    }
  };
  const current = async (): Promise<IssuedCredentials> => {
    const { expires } = issued ?? {};
    const isExpired = expires !== undefined && expires <= clock.now();
    if (issued !== undefined && !isExpired) return issued;
    // Concurrent callers share one call: a plugin may open a browser.
    pending ??= ask();
    return pending;
  };
  return {
    headers: async () => {
      const { token } = await current();
      return token === undefined ? {} : { authorization: `Bearer ${token}` };
    },
    certificates: () => issued?.certificates ?? {},
    forget: () => {
      issued = undefined;
    },
  };
}

function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message.trim() : String(error);
  return reason === "" ? "no reason" : reason;
}

/** A command with a path is relative to its kubeconfig file; a bare name is looked up in PATH. */
function commandBeside(kubeconfig: string, command: string): string {
  const isRelativePath = command.includes("/") && !isAbsolute(command);
  return isRelativePath ? resolve(dirname(kubeconfig), command) : command;
}

async function outputOf(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const options = { env, signal, killSignal: "SIGKILL", maxBuffer: MAX_BYTES } as const;
  const child = execFile(command, args, options, (error, stdout, stderr) => {
    if (error === null) resolve(stdout);
    else if (signal.aborted) reject(signal.reason);
    // Drops Node's message for a status other than 0: it quotes the arguments, which may contain a secret.
    else if (typeof error.code === "number") reject(new Error(stderr.trim() || `it exited with status ${error.code}`));
    else reject(error);
  });
  // A plugin that asks for a password gets none.
  child.stdin?.on("error", () => undefined).end();
  return promise;
}

/** Messages do not quote the output, which contains a secret. */
function credentialsIn(output: string): IssuedCredentials {
  const answer = execCredential.safeParse(parsedJson(output));
  if (!answer.success) throw new Error("it printed no ExecCredential with a status");
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = answer.data.status;
  const hasCertificate = cert !== undefined && key !== undefined;
  if (token === undefined && !hasCertificate)
    throw new Error("its ExecCredential has neither a token nor a certificate");
  return {
    token,
    certificates: hasCertificate ? { cert, key } : {},
    expires: expirationTimestamp === undefined ? undefined : instant(Date.parse(expirationTimestamp)),
  };
}
