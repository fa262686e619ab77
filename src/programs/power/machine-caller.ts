import type { SwitchState } from "../../core/api/index.ts";
import {
  isoTime,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
} from "../../core/units/index.ts";
import { type Backoff, backoffDelay } from "../../platform/backoff/index.ts";
import { type PowerSwitch, PowerSwitchError } from "../../platform/power/index.ts";
import { jittered } from "../../platform/random/index.ts";
import { type ConditionText, withCondition } from "./conditions.ts";
import type { Next, NodeCase, NodeReconcilerOptions } from "./node-case.ts";
import { type GuardOptions, mayLosePower } from "./power-loss-guard.ts";
import type { StatusWriter } from "./status-writer.ts";

type CallerOptions = GuardOptions &
  Pick<NodeReconcilerOptions, "openSwitch" | "clock" | "random" | "reports" | "settings">;

const SWITCH_BACKOFF: Backoff = { first: milliseconds(5000), longest: milliseconds(300_000), jitter: 0.2 };

const REFRESH_RETRY = milliseconds(5000);

/** Calls the switches of machines: with growing delays after failures, and never to take power away without the guard. */
export class MachineCaller {
  readonly #options: CallerOptions;
  readonly #status: StatusWriter;
  /** After failed calls of a switch: when it may be called again. An edited PowerEndpoint may be called at once. */
  readonly #notBefore = new Map<string, { readonly at: MonotonicInstant; readonly generation: number | undefined }>();
  readonly #refreshedAt = new Map<string, MonotonicInstant>();
  #refreshing = 0;

  constructor(options: CallerOptions, status: StatusWriter) {
    this.#options = options;
    this.#status = status;
  }

  forget(name: string): void {
    this.#notBefore.delete(name);
    this.#refreshedAt.delete(name);
  }

  async on(one: NodeCase): Promise<void> {
    await this.#call(one, async (machine) => machine.on(one.signal));
  }

  /** Rejects with NotEmpty, before anything was sent, if the machine must keep its power. */
  async takePower(one: NodeCase, how: "shutdown" | "forceOff"): Promise<void> {
    await this.#call(one, async (machine) => {
      // Logs in and finds the system, so that a slow switch leaves little time between the count of pods and the call.
      await machine.state(one.signal);
      await mayLosePower(one, this.#options);
      await machine[how](one.signal);
    });
  }

  async read(one: NodeCase): Promise<SwitchState> {
    const { clock, reports } = this.#options;
    const { name, endpoint, now } = one;
    const state = await this.#call(one, async (machine) => machine.state(one.signal));
    this.#refreshedAt.set(name, clock.monotonic());
    reports.solved(name);
    const { powerState, failures = 0 } = endpoint.status;
    const reachable = endpoint.status.conditions?.find(({ type }) => type === "Reachable")?.status;
    if (powerState === state && failures === 0 && reachable === "True") return state;
    const message = "the switch answers";
    const condition: ConditionText = { type: "Reachable", holds: true, reason: "Answered", message };
    const changed = powerState === state ? {} : { powerState: state, observedAt: isoTime(now) };
    await this.#status.write(one, {
      ...changed,
      failures: 0,
      conditions: [...withCondition(this.#status.latest(one), condition, now)],
    });
    return state;
  }

  /** Reads the state now and then, so that users see a switch that fails. */
  async refresh(one: NodeCase): Promise<Next> {
    const { settings, random } = this.#options;
    if (!this.isRefreshDue(one.name)) return this.untilRefresh(one.name);
    // Many dead switches, each with its time limit, must not take all workers from sleeps and wakes.
    if (this.#refreshing >= settings.refreshConcurrency) return jittered(REFRESH_RETRY, 1, random);
    this.#refreshing++;
    try {
      await this.read(one);
    } finally {
      this.#refreshing--;
    }
    return this.untilRefresh(one.name);
  }

  isRefreshDue(name: string): boolean {
    const { clock, settings } = this.#options;
    const last = this.#refreshedAt.get(name);
    return last === undefined || clock.monotonic() - last >= settings.refreshInterval;
  }

  untilRefresh(name: string): Next {
    const { clock, settings, random } = this.#options;
    const last = this.#refreshedAt.get(name) ?? clock.monotonic();
    const rest = last + settings.refreshInterval - clock.monotonic();
    return milliseconds(Math.max(0, rest) + jittered(milliseconds(1000), 1, random));
  }

  /** Records a failed call, and returns when the next one is possible. */
  async failed(one: NodeCase, error: PowerSwitchError): Promise<Next> {
    if (error instanceof Waiting) return error.rest;
    const { clock, random, reports } = this.#options;
    const { name, now } = one;
    const latest = this.#status.latest(one);
    const failures = (latest.failures ?? 0) + 1;
    const delay = backoffDelay(failures, SWITCH_BACKOFF, random);
    const { generation } = one.endpoint.metadata;
    this.#notBefore.set(name, { at: monotonicInstant(clock.monotonic() + delay), generation });
    reports.switchFailed(one, error);
    const { message } = error;
    const condition: ConditionText = { type: "Reachable", holds: false, reason: reasonOf(error), message };
    await this.#status.write(one, { failures, conditions: [...withCondition(latest, condition, now)] });
    return delay;
  }

  /** Calls the switch, unless it failed a short while ago. */
  async #call<Result>(one: NodeCase, use: (machine: PowerSwitch) => Promise<Result>): Promise<Result> {
    const { openSwitch, clock, leads } = this.#options;
    const { name, endpoint, signal } = one;
    const last = this.#notBefore.get(name);
    const rest = last?.generation === endpoint.metadata.generation ? (last?.at ?? 0) - clock.monotonic() : 0;
    if (rest > 0) throw new Waiting(milliseconds(rest));
    if (!leads()) throw new Error("this replica does not lead any more");
    const machine = await openSwitch(endpoint, signal);
    try {
      const result = await use(machine);
      this.#notBefore.delete(name);
      return result;
    } finally {
      await machine.close();
    }
  }
}

/** The switch failed a short while ago and is not called yet. */
class Waiting extends PowerSwitchError {
  readonly rest: Milliseconds;

  constructor(rest: Milliseconds) {
    super("network", "waiting after failed calls");
    this.rest = rest;
  }
}

export const isRefused = (error: unknown): error is PowerSwitchError =>
  error instanceof PowerSwitchError && error.kind === "refused";

const reasonOf = ({ kind }: PowerSwitchError): string =>
  kind.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
