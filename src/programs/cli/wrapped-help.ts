import { type Command, Help } from "commander";

/** Share of the terminal width. Longer flags get a separate line, which leaves room for the description. */
const TERM_SHARE = 0.35;
const DEFAULT_WIDTH = 80;

/** Commander's help does not wrap descriptions if one flag is long; this class always wraps. */
export class WrappedHelp extends Help {
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
