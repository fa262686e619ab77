import type { DefaultContext, RawValues } from "../../platform/config/index.ts";

/** What the command line is told of the world. */
export interface World {
  readonly env: RawValues;
  readonly machine: DefaultContext;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

export const exitCodes = {
  done: 0,
  failed: 1,
  /** The command line or the configuration is wrong: starting again will not help. */
  misused: 2,
} as const;
