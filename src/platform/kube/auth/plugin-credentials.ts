import { JoulieError } from "../../../core/api/index.ts";
import { type Instant, milliseconds } from "../../../core/units/index.ts";
import { type Clock, withTimeLimit } from "../../clock/index.ts";
import type { Credentials, TlsMaterial } from "./identity.ts";

/** A plugin may wait for user input; after this time the call fails and the next one starts the plugin again. */
const MAX_ASK = milliseconds(60_000);

/** What a plugin or an OIDC provider issued. */
export interface IssuedCredentials {
  readonly token?: string | undefined;
  readonly certificates: TlsMaterial;
  /** Absent: until the API server refuses them. */
  readonly expires?: Instant | undefined;
}

/** Issues credentials: an exec plugin or an OIDC provider. */
export interface CredentialPlugin {
  /** For messages, such as `./plugin, the plugin of user "u",`. */
  readonly name: string;
  /** Credentials that are known without asking the plugin. */
  readonly initial?: IssuedCredentials | undefined;
  issue(signal: AbortSignal): Promise<IssuedCredentials>;
}

/** The credentials of a plugin, cached until they expire or the API server refuses them. */
export function pluginCredentials(plugin: CredentialPlugin, clock: Clock): Credentials {
  let issued = plugin.initial;
  let pending: Promise<IssuedCredentials> | undefined;
  const ask = async (): Promise<IssuedCredentials> => {
    try {
      const message = `no answer within ${MAX_ASK} ms`;
      issued = await withTimeLimit(clock, MAX_ASK, async (signal) => plugin.issue(signal), { message });
      return issued;
    } catch (cause) {
      // Avoids "credentials: …": the log's redaction would hide the next word.
      throw new JoulieError("JOULIE_E_KUBE_IDENTITY", `${plugin.name} failed: ${reasonOf(cause)}`, { cause });
    } finally {
      pending = undefined;
    }
  };
  const current = async (): Promise<IssuedCredentials> => {
    const { expires } = issued ?? {};
    const isExpired = expires !== undefined && expires <= clock.now();
    if (issued !== undefined && !isExpired) return issued;
    // Concurrent callers share one call: a plugin may open a browser or consume a refresh token.
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
