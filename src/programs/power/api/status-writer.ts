import { isDeepStrictEqual } from "node:util";
import type {
  NodePower,
  NodePowerState,
  PowerEndpoint,
  PowerEndpointStatus,
  PowerOperation,
} from "../../../core/api/index.ts";
import { isoTime } from "../../../core/units/index.ts";
import { comesAfter, isApiError } from "../../../platform/kube/index.ts";
import type { NodeCase } from "../steps/node-case.ts";
import type { NodeView } from "../watch/cluster-view.ts";
import type { NodeApi } from "./node-api.ts";

/** A user may edit the object meanwhile, but hardly twice. */
const ATTEMPTS = 3;

/** Writes the status before or right after each step, so that another process can continue. */
export class StatusWriter {
  readonly #api: NodeApi;
  readonly #written = new Map<string, PowerEndpoint>();
  readonly #published = new Map<string, { readonly version: string; readonly power: NodePower }>();

  constructor(api: NodeApi) {
    this.#api = api;
  }

  forget(name: string): void {
    this.#written.delete(name);
    this.#published.delete(name);
  }

  /** The newer of what the watch shows and what this program wrote. */
  withOwnWrites(view: NodeView): NodeView {
    const { name, endpoint } = view;
    const written = this.#newerWrite(endpoint);
    if (written === undefined) this.#written.delete(name);
    return written === undefined ? view : { ...view, endpoint: written };
  }

  latest({ endpoint }: NodeCase): PowerEndpointStatus {
    return this.#newerWrite(endpoint)?.status ?? endpoint.status;
  }

  /** A response that the watch may not show yet. */
  remember(endpoint: PowerEndpoint): void {
    this.#written.set(endpoint.metadata.name, endpoint);
  }

  /** Writes the status with these changes, and returns the case with them. */
  async write(nodeCase: NodeCase, changes: Partial<PowerEndpointStatus>): Promise<NodeCase> {
    const { endpoint, signal } = nodeCase;
    const latest = this.latest(nodeCase);
    const status = withoutUndefined({ ...latest, ...changes });
    if (!isDeepStrictEqual(status, latest)) {
      const newest = this.#newerWrite(endpoint) ?? endpoint;
      await this.#write(newest, latest, status, signal);
    }
    return { ...nodeCase, endpoint: { ...endpoint, status } };
  }

  /** Writes to the version that the decision was made on, or to a later one whose status is the same. */
  async #write(
    endpoint: PowerEndpoint,
    before: PowerEndpointStatus,
    status: PowerEndpointStatus,
    signal: AbortSignal,
  ): Promise<void> {
    let at: PowerEndpoint = endpoint;
    for (let attempt = 1; ; attempt++) {
      try {
        this.remember(await this.#api.writeStatus(at, status, signal));
        return;
      } catch (error) {
        const newer = isApiError(error, "conflict") ? await this.#api.endpoint(at.metadata.name, signal) : undefined;
        if (newer === undefined) throw error;
        // The next attempt of the step begins with what is there now, also if the watch is late.
        this.remember(newer);
        if (attempt >= ATTEMPTS || !isDeepStrictEqual(newer.status ?? {}, before)) throw error;
        at = newer;
      }
    }
  }

  async begin(
    nodeCase: NodeCase,
    type: PowerOperation["type"],
    step: PowerOperation["step"],
    more: Partial<PowerOperation>,
  ): Promise<void> {
    const at = isoTime(nodeCase.now);
    const test = nodeCase.wanted.test ? { test: true } : {};
    await this.write(nodeCase, { operation: { type, step, startedAt: at, stepAt: at, ...test, ...more } });
    if (type === "sleep") await this.publish(nodeCase, "stopping");
  }

  /** The next step of the operation. `isNewStep` restarts the time of the step. */
  async continue(nodeCase: NodeCase, changes: Partial<PowerOperation>, isNewStep = true): Promise<NodeCase> {
    const operation = nodeCase.endpoint.status.operation as PowerOperation;
    const stepAt = isNewStep ? { stepAt: isoTime(nodeCase.now) } : {};
    return this.write(nodeCase, { operation: { ...operation, ...changes, ...stepAt } });
  }

  async publish({ name, twin, signal, now }: NodeCase, state: NodePowerState): Promise<void> {
    if (twin === undefined) return;
    const own = this.#published.get(name);
    // The watch may not show the last write yet.
    const isNewer = own !== undefined && comesAfter(own.version, twin.metadata.resourceVersion ?? "") === true;
    if (!isNewer) this.#published.delete(name);
    const known = isNewer ? own.power.state : twin.status?.power?.state;
    if (known === state || (known === undefined && state === "on")) return;
    const power = { state, since: isoTime(now) };
    const version = await this.#api.writeTwinPower(name, power, signal);
    if (version !== undefined) this.#published.set(name, { version, power });
  }

  #newerWrite(endpoint: PowerEndpoint | undefined): PowerEndpoint | undefined {
    const written = endpoint && this.#written.get(endpoint.metadata.name);
    if (written === undefined || written.metadata.uid !== endpoint?.metadata.uid) return undefined;
    const { resourceVersion = "" } = endpoint?.metadata ?? {};
    return comesAfter(written.metadata.resourceVersion ?? "", resourceVersion) === true ? written : undefined;
  }
}

function withoutUndefined<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
}
