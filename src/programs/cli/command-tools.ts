import type { Command } from "commander";
import type { Program } from "../index.ts";
import type { CliEnvironment } from "./environment.ts";

/** What a command gets to define itself. */
export interface CommandTools {
  readonly world: CliEnvironment;
  readonly programs: readonly Program[];
  readonly exit: (code: number) => void;
  /** Applies the rules of all commands to a subcommand. */
  readonly prepare: (command: Command, name: string) => Command;
  /** The complete command line, with the flags of every program and command. */
  readonly everything: () => Promise<Command>;
}
