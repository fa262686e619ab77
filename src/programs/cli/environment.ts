import type { DefaultContext, RawValues } from "../../platform/config/index.ts";

/** Dependencies of the command line on the process. */
export interface CliEnvironment {
  readonly env: RawValues;
  readonly machine: DefaultContext;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Of the terminal. */
  readonly columns?: number | undefined;
}

export const exitCodes = {
  done: 0,
  failed: 1,
  /** The command line or the configuration is invalid: a restart will not help. */
  misused: 2,
} as const;
