import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext, type SecureContextOptions } from "node:tls";
import { CodedError, type ErrorCode, errorMessageOf } from "../../../core/api/index.ts";
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Clock, Timer } from "../../../platform/clock/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import type { ExtenderConfig } from "../config.ts";

const TLS: ErrorCode = "JOULIE_E_TLS";

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly clientCa: string | undefined;
}

export type ServerTlsMaterial = Pick<SecureContextOptions, "cert" | "key" | "ca">;

/** The kubelet updates a Secret volume about once a minute, so a shorter interval would not help. */
const CHECK_EVERY = milliseconds(30_000);

export function tlsFilesOf(config: ExtenderConfig): TlsFiles | undefined {
  const { EXTENDER_TLS_CERT_FILE: cert, EXTENDER_TLS_KEY_FILE: key, EXTENDER_TLS_CLIENT_CA_FILE: clientCa } = config;
  return cert === undefined || key === undefined ? undefined : { cert, key, clientCa };
}

/** Rejects if a file is missing or empty, or if the key does not match the certificate. */
export async function readTls({ cert, key, clientCa }: TlsFiles): Promise<ServerTlsMaterial> {
  const material = {
    cert: await certificatesIn("EXTENDER_TLS_CERT_FILE", cert),
    key: await readText("EXTENDER_TLS_KEY_FILE", key),
    ...(clientCa !== undefined && { ca: await certificatesIn("EXTENDER_TLS_CLIENT_CA_FILE", clientCa) }),
  };
  try {
    createSecureContext(material);
  } catch (cause) {
    throw new CodedError(
      TLS,
      `cannot use ${[cert, key, clientCa].filter(Boolean).join(", ")} for TLS: ${errorMessageOf(cause)}`,
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

/** Reloads the files when they are replaced. Unusable files leave the current certificate in use. */
export function watchTlsFiles({ files, first, renew, clock, log }: TlsWatchOptions): { stop(): void } {
  let current = JSON.stringify(first);
  let problem: string | undefined;
  let timer: Timer | undefined;
  let stopped = false;
  const check = async (): Promise<void> => {
    try {
      const material = await readTls(files);
      const text = JSON.stringify(material);
      if (text !== current && !stopped) {
        renew(material);
        current = text;
        log.info("reloaded the TLS files; new connections use them");
      }
      problem = undefined;
    } catch (err) {
      if (errorMessageOf(err) !== problem) log.warn({ err }, "cannot use the new TLS files; keeping the current ones");
      problem = errorMessageOf(err);
    }
    schedule(CHECK_EVERY);
  };
  const schedule = (delay: Milliseconds): void => {
    if (!stopped) timer = clock.after(delay, () => void check(), { background: true });
  };
  schedule(CHECK_EVERY);
  return {
    stop: () => {
      stopped = true;
      timer?.cancel();
    },
  };
}

/** Node treats an empty string as unset, and without a client CA it would accept every public authority. */
async function certificatesIn(variable: string, file: string): Promise<string> {
  const text = await readText(variable, file);
  try {
    void new X509Certificate(text);
  } catch (cause) {
    throw new CodedError(
      TLS,
      `cannot use ${variable} ${file} for TLS: it contains no certificate (${errorMessageOf(cause)})`,
      {
        cause,
      },
    );
  }
  return text;
}

async function readText(variable: string, file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new CodedError(TLS, `cannot read ${variable} ${file}: ${errorMessageOf(cause)}`, { cause });
  }
}
