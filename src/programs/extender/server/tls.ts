import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { CodedError, type ErrorCode } from "../../../core/api/index.ts";
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Clock, Timer } from "../../../platform/clock/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import type { ExtenderConfig } from "../config.ts";

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  /** Only who has a certificate of this authority may ask. */
  readonly clientCa: string | undefined;
}

export type ServerTlsMaterial = Pick<SecureContextOptions, "cert" | "key" | "ca">;

/** A volume of a Secret follows the Secret by a minute or so; looking more often would find nothing sooner. */
const TLS: ErrorCode = "JOULIE_E_TLS";
const LOOK_EVERY = milliseconds(30_000);

/** Undefined: plain HTTP. */
export function tlsFilesOf(config: ExtenderConfig): TlsFiles | undefined {
  const { EXTENDER_TLS_CERT_FILE: cert, EXTENDER_TLS_KEY_FILE: key, EXTENDER_TLS_CLIENT_CA_FILE: clientCa } = config;
  return cert === undefined || key === undefined ? undefined : { cert, key, clientCa };
}

/** Rejects where a server could not use it: with a file that is missing or empty, or a key of another certificate. */
export async function readTls({ cert, key, clientCa }: TlsFiles): Promise<ServerTlsMaterial> {
  const material = {
    cert: await certificatesIn("EXTENDER_TLS_CERT_FILE", cert),
    key: await textOf("EXTENDER_TLS_KEY_FILE", key),
    ...(clientCa !== undefined && { ca: await certificatesIn("EXTENDER_TLS_CLIENT_CA_FILE", clientCa) }),
  };
  try {
    createSecureContext(material);
  } catch (cause) {
    throw new CodedError(
      TLS,
      `cannot use ${[cert, key, clientCa].filter(Boolean).join(", ")} for TLS: ${said(cause)}`,
      {
        cause,
      },
    );
  }
  return material;
}

export interface TlsWatchOptions {
  readonly files: TlsFiles;
  readonly first: ServerTlsMaterial;
  readonly renew: (material: ServerTlsMaterial) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Follows the files, which others replace while we run. What cannot be used leaves the last material in place. */
export function watchTlsFiles({ files, first, renew, clock, log }: TlsWatchOptions): { stop(): void } {
  let current = JSON.stringify(first);
  let problem: string | undefined;
  let timer: Timer | undefined;
  let stopped = false;
  const look = async (): Promise<void> => {
    try {
      const material = await readTls(files);
      const text = JSON.stringify(material);
      if (text !== current && !stopped) {
        renew(material);
        current = text;
        log.info("the TLS files were replaced; new connections use them");
      }
      problem = undefined;
    } catch (err) {
      if (said(err) !== problem) log.warn({ err }, "the TLS files cannot be used; the last ones stay in use");
      problem = said(err);
    }
    later(LOOK_EVERY);
  };
  const later = (length: Milliseconds): void => {
    if (!stopped) timer = clock.after(length, () => void look(), { background: true });
  };
  later(LOOK_EVERY);
  return {
    stop: () => {
      stopped = true;
      timer?.cancel();
    },
  };
}

/** To Node an empty text is none, and without an authority every public one may vouch for clients. */
async function certificatesIn(variable: string, file: string): Promise<string> {
  const text = await textOf(variable, file);
  try {
    void new X509Certificate(text);
  } catch (cause) {
    throw new CodedError(TLS, `cannot use ${variable} ${file} for TLS: it holds no certificate (${said(cause)})`, {
      cause,
    });
  }
  return text;
}

async function textOf(variable: string, file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new CodedError(TLS, `cannot read ${variable} ${file}: ${said(cause)}`, { cause });
  }
}

const said = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
