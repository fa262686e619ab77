import { type Command, Help } from "commander";
import type { ErrorCode } from "../../core/api/index.ts";
import { withoutControlCharacters } from "../../platform/printable/index.ts";
import type { CliEnvironment } from "./cluster-command.ts";

const USAGE: ErrorCode = "JOULIE_E_USAGE";

/** Redirects commander's output and exit codes, and prints one line per problem. */
export function configureOutput(command: Command, name: string, world: CliEnvironment): void {
  command.createHelp = () => new WrappedHelp();
  command
    .exitOverride()
    .helpOption("-h, --help", "print this help")
    .allowExcessArguments(false)
    .configureOutput({
      writeOut: world.out,
      writeErr: world.err,
      outputError: (text, write) => {
        // Commander prints hints on separate lines.
        const line = withoutControlCharacters(text.replace(/^error: /, ""));
        write(`${name}: ${line}; see ${name} --help (${USAGE})\n`);
      },
    });
}

/** Share of the terminal width. Longer flags get a separate line, which leaves room for the description. */
const TERM_SHARE = 0.35;
const DEFAULT_WIDTH = 80;

/** Commander's help does not wrap descriptions if one flag is long; this class always wraps. */
class WrappedHelp extends Help {
  override minWidthToWrap = 16;

  override padWidth(command: Command, helper: Help): number {
    const room = Math.floor((this.helpWidth ?? DEFAULT_WIDTH) * TERM_SHARE);
    return Math.min(super.padWidth(command, helper), room);
  }

  override formatItem(term: string, termWidth: number, description: string, helper: Help): string {
    if (description === "" || helper.displayWidth(term) <= termWidth) {
      return super.formatItem(term, termWidth, description, helper);
    }
    return `${super.formatItem(term, termWidth, "", helper)}\n${super.formatItem("", termWidth, description, helper)}`;
  }
}
