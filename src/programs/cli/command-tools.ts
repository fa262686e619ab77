import type { Command } from "commander";
import type { DefaultContext, RawValues } from "../../platform/config/index.ts";
import type { Program } from "../index.ts";

/** What a command gets to define itself. */
export interface CommandTools {
  readonly world: CliEnvironment;
  readonly programs: readonly Program[];
  readonly exit: (code: number) => void;
  /** Applies the rules of all commands to a subcommand. */
  readonly prepare: (command: Command, name: string) => Command;
  /** The command that these words name, `agent probe`, with its flags. */
  readonly commandAt: (names: readonly string[]) => Promise<Command | undefined>;
}

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
