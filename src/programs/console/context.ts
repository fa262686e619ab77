import { CodedError, JoulieError } from "../../core/api/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import type { KubeClient, Transport } from "../../platform/kube/index.ts";

/** What a command of the console works with. */
export interface ConsoleContext {
  readonly client: KubeClient;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly out: (text: string) => void;
  readonly screen: Screen;
}

/** What is known about the place that text goes to. */
export interface Screen {
  /** Undefined: as long as the lines are, as in a pipe. */
  readonly columns: number | undefined;
  readonly colour: boolean;
}

/** The command line asks for something that does not exist, such as an unknown output format. */
export const usageError = (message: string): JoulieError => new JoulieError("JOULIE_E_USAGE", message);

/** A command failed for a reason that the user can act on; the text says what to do. */
export class ConsoleError extends CodedError {
  override readonly name = "ConsoleError";

  constructor(message: string) {
    super("JOULIE_E_CONSOLE", message);
  }
}
