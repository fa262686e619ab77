import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import * as z from "zod";
import { type Clock, withDeadline } from "../../../platform/clock/index.ts";
import type { FileValue } from "../../../platform/kube/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import type { HttpClient } from "../../../platform/telemetry/index.ts";

export interface ProgramPagesOptions {
  /** The program's address, such as http://joulie-operator.joulie-system.svc:8081. */
  readonly url: string;
  readonly http: HttpClient;
  /** Real time. */
  readonly clock: Clock;
  readonly token: FileValue | undefined;
  readonly addressesOf?: (name: string) => Promise<readonly string[]>;
}

/** More replicas than a program has. */
const REPLICAS_LIMIT = 8;

const systemAddresses = async (name: string): Promise<readonly string[]> =>
  (await lookup(name, { all: true })).map(({ address }) => address);

/** Reads a debug page of every replica: only the leading operator has a plan, and each extender its own placements. */
export class ProgramPages {
  readonly #options: ProgramPagesOptions;

  constructor(options: ProgramPagesOptions) {
    this.#options = options;
  }

  async read(page: string, query: Readonly<Record<string, string>> = {}, signal?: AbortSignal): Promise<unknown[]> {
    const { url, http, token } = this.#options;
    const target = new URL(page, `${url.replace(/\/*$/, "")}/`);
    for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value);
    const headers = token === undefined ? {} : { authorization: `Bearer ${token.get()}` };
    const answers = await Promise.allSettled(
      (await this.#replicas(target)).map(async (replica) => http.json({ url: replica, headers, signal })),
    );
    const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
    const failed = answers.find(({ status }) => status === "rejected");
    if (found.length === 0 && failed !== undefined) throw (failed as PromiseRejectedResult).reason;
    return found;
  }

  async #replicas(target: URL): Promise<readonly URL[]> {
    const { http, clock, addressesOf = systemAddresses } = this.#options;
    const name = target.hostname.replaceAll(/[[\]]/g, "");
    // A certificate names the host, not its addresses.
    if (target.protocol !== "http:" || isIP(name) !== 0) return [target];
    const addresses = await withDeadline(clock, http.timeout, `address of ${name}`, addressesOf(name));
    return addresses.slice(0, REPLICAS_LIMIT).map((address) => {
      const replica = new URL(target);
      replica.hostname = isIP(address) === 6 ? `[${address}]` : address;
      return replica;
    });
  }
}

const entry = z.object({ reason: z.string() });

/** Asks the operator why a node has its profile. Undefined if it does not answer: the page then says what the API shows. */
export function planReasons(pages: ProgramPages, log: Logger): (node: string) => Promise<string | undefined> {
  let isFailing = false;
  return async (node) => {
    try {
      const found = (await pages.read("debug/plan", { node })).map((answer) => entry.safeParse(answer).data?.reason);
      isFailing = false;
      return found.find((reason) => reason !== undefined);
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, "cannot read the operator's plan");
      isFailing = true;
      return undefined;
    }
  };
}
