import { type Command, Help } from "commander";

/** Of the width of the terminal: flags with longer values get a line of their own, and leave room to read what they mean. */
const TERM_SHARE = 0.35;
const USUAL_WIDTH = 80;

/** Commander's help, which gives up wrapping as soon as one flag is long; the terminal then breaks lines within words. */
export class WrappedHelp extends Help {
  override minWidthToWrap = 16;

  override padWidth(command: Command, helper: Help): number {
    const room = Math.floor((this.helpWidth ?? USUAL_WIDTH) * TERM_SHARE);
    return Math.min(super.padWidth(command, helper), room);
  }

  override formatItem(term: string, termWidth: number, description: string, helper: Help): string {
    if (description === "" || helper.displayWidth(term) <= termWidth) {
      return super.formatItem(term, termWidth, description, helper);
    }
    return `${super.formatItem(term, termWidth, "", helper)}\n${super.formatItem("", termWidth, description, helper)}`;
  }
}
