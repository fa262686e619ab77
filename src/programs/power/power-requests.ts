import type { PowerCut, Sent } from "../../core/sleep/index.ts";
import type { NodeCase } from "./node-case.ts";

interface Requests {
  /** The sleep to which they belong. */
  readonly startedAt: string | undefined;
  readonly sent: Readonly<Record<PowerCut, Sent>>;
}

/**
 * What this process has sent to switches in each sleep. After a restart it does not know: then the machine may still go down, and
 * nothing else happens until it is off or the time is over.
 */
export class PowerRequests {
  readonly #requests = new Map<string, Requests>();

  forget(name: string): void {
    this.#requests.delete(name);
  }

  /** Nothing was sent before this. */
  begin(one: NodeCase): void {
    this.#requests.set(one.name, { startedAt: startOf(one), sent: { shutdown: "no", forceOff: "no" } });
  }

  note(one: NodeCase, how: PowerCut, sent: Sent): void {
    this.#requests.set(one.name, { startedAt: startOf(one), sent: { ...this.all(one), [how]: sent } });
  }

  isNothingSent(one: NodeCase): boolean {
    const { shutdown, forceOff } = this.all(one);
    return shutdown === "no" && forceOff === "no";
  }

  all(one: NodeCase): Requests["sent"] {
    const known = this.#requests.get(one.name);
    return known?.startedAt === startOf(one) && known !== undefined ? known.sent : UNKNOWN;
  }
}

const UNKNOWN = { shutdown: "maybe", forceOff: "maybe" } as const;
const startOf = ({ endpoint }: NodeCase): string | undefined => endpoint.status.operation?.startedAt;
