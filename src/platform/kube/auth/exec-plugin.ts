import { execFile } from "node:child_process";
import { dirname, isAbsolute, resolve } from "node:path";
import * as z from "zod";
import { instant } from "../../../core/units/index.ts";
import { parsedJson } from "../../http/index.ts";
import type { ExecEntry } from "./kubeconfig-file.ts";
import type { CredentialPlugin, IssuedCredentials } from "./plugin-credentials.ts";

const MAX_BYTES = 1 << 20;

const execCredential = z.object({
  status: z.object({
    token: z.string().optional(),
    clientCertificateData: z.string().optional(),
    clientKeyData: z.string().optional(),
    expirationTimestamp: z.iso.datetime({ offset: true }).optional(),
  }),
});

/** The `exec` plugin of a user in a kubeconfig file, as kubectl runs it without a terminal. */
export function execPlugin(exec: ExecEntry, user: string, kubeconfig: string): CredentialPlugin {
  const { apiVersion, args, env } = exec;
  const command = commandBeside(kubeconfig, exec.command);
  const request = { apiVersion, kind: "ExecCredential", spec: { interactive: false } };
  const variables = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));
  const environment = { ...process.env, KUBERNETES_EXEC_INFO: JSON.stringify(request), ...variables };
  return {
    name: `${exec.command}, the plugin of user "${user}",`,
    issue: async (signal) => credentialsIn(await outputOf(command, args ?? [], environment, signal)),
  };
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
