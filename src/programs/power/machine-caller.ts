import type { PowerEndpointStatus, SwitchState } from "../../core/api/index.ts";
import {
  type Instant,
  isoTime,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
} from "../../core/units/index.ts";
import { type Backoff, backoffDelay } from "../../platform/backoff/index.ts";
import { isSameSystem, type MachineFacts, type PowerSwitch, PowerSwitchError } from "../../platform/power/index.ts";
import { jittered } from "../../platform/random/index.ts";
import { type ConditionText, conditionStatus, withConditions } from "./conditions.ts";
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

  /** The caller has read the state in this pass, which rejects the switch of another machine. */
  async on(one: NodeCase): Promise<void> {
    await this.#call(one, async (machine) => machine.on(one.signal));
  }

  /** Rejects with NotEmpty, before anything was sent, if the machine must keep its power. */
  async takePower(one: NodeCase, how: "shutdown" | "forceOff"): Promise<void> {
    await this.#call(one, async (machine) => {
      // Logs in and finds the system, so that a slow switch leaves little time between the count of pods and the call.
      await machine.state(one.signal);
      expectSameMachine(one, machine.facts);
      await mayLosePower(one, this.#options);
      await machine[how](one.signal);
    });
  }

  async read(one: NodeCase): Promise<SwitchState> {
    return (await this.inspect(one)).state;
  }

  /** The state of the machine, and why its switch will not take power away, if so. */
  async inspect(one: NodeCase): Promise<{ readonly state: SwitchState; readonly keepsPower: string | undefined }> {
    const { clock, reports } = this.#options;
    const { name, endpoint, now } = one;
    const { state, facts } = await this.#call(one, async (machine) => {
      const found = await machine.state(one.signal);
      expectSameMachine(one, machine.facts);
      return { state: found, facts: machine.facts };
    });
    this.#refreshedAt.set(name, clock.monotonic());
    reports.solved(name);
    const { powerState, failures = 0 } = endpoint.status;
    const latest = this.#status.latest(one);
    const conditions = withConditions(latest, [...conditionsOf(one, state, facts, latest)], now);
    const isKnown = isSameSystem(facts?.systemUuid, one.node?.systemUuid) !== undefined;
    await this.#status.write(one, {
      ...(powerState !== state && { powerState: state, observedAt: isoTime(now) }),
      ...(failures > 0 && { failures: 0 }),
      // A UUID that is not reported any more says nothing, and neither does a condition about it.
      conditions: conditions.filter(({ type }) => isKnown || type !== "SameMachine"),
    });
    return { state, keepsPower: facts?.keepsPower };
  }

  /** Reads the state now and then, so that users see a switch that fails. */
  async refresh(one: NodeCase): Promise<Next> {
    const { name } = one;
    if (this.isRefreshDue(name) && (await this.readIfSlotFree(one)) === undefined) return this.untilSlotFree();
    return this.untilRefresh(name);
  }

  /**
   * As `read`, but not urgent: undefined while many other switches are read. Many dead ones, each with its time limit, must not
   * take all workers from sleeps and wakes.
   */
  async readIfSlotFree(one: NodeCase): Promise<SwitchState | undefined> {
    if (this.#refreshing >= this.#options.settings.refreshConcurrency) return undefined;
    this.#refreshing++;
    try {
      return await this.read(one);
    } finally {
      this.#refreshing--;
    }
  }

  untilSlotFree(): Next {
    return jittered(REFRESH_RETRY, 1, this.#options.random);
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
    await this.#status.write(one, { failures, ...failureOf(error, latest, now) });
    if (error instanceof WrongMachine && conditionStatus(latest, "SameMachine") !== false)
      reports.wrongMachine(one, error.message);
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

/** The switch belongs to another machine than the node. Nothing was sent to it. */
export class WrongMachine extends PowerSwitchError {
  constructor(message: string) {
    super("wrong_machine", message);
  }
}

/** Without one of the UUIDs nothing is known. The boot ID of the node then shows with each wake whether it has restarted. */
function expectSameMachine({ name, node }: NodeCase, facts: MachineFacts | undefined): void {
  if (isSameSystem(facts?.systemUuid, node?.systemUuid) !== false) return;
  const uuids = `the switch controls system ${facts?.systemUuid}, but node ${name} runs on system ${node?.systemUuid}`;
  throw new WrongMachine(`${uuids}: the PowerEndpoint belongs to another machine; correct its spec`);
}

/** What a call that succeeded says. */
function* conditionsOf(
  { node, endpoint }: NodeCase,
  state: SwitchState,
  facts: MachineFacts | undefined,
  status: PowerEndpointStatus,
): Generator<ConditionText> {
  yield { type: "Reachable", holds: true, reason: "Answered", message: "the switch answers" };
  if (isSameSystem(facts?.systemUuid, node?.systemUuid) === true)
    yield { type: "SameMachine", holds: true, reason: "SameUUID", message: "the switch and the node report one UUID" };
  // Services list what is possible now. A machine that is off, or on its way there or back, allows other things later.
  if (state !== "on" || endpoint.status.operation !== undefined) return;
  const { keepsPower } = facts ?? {};
  if (keepsPower !== undefined) yield { type: "MaySwitchOff", holds: false, reason: "Refused", message: keepsPower };
  else if (conditionStatus(status, "MaySwitchOff") === false)
    yield { type: "MaySwitchOff", holds: true, reason: "Permitted", message: "the switch may take power away" };
}

/** A switch of another machine proves nothing about this one. */
function failureOf(
  error: PowerSwitchError,
  status: PowerEndpointStatus,
  now: Instant,
): Pick<PowerEndpointStatus, "conditions" | "wakeProven"> {
  const { message } = error;
  if (!(error instanceof WrongMachine)) {
    const unreachable: ConditionText = { type: "Reachable", holds: false, reason: reasonOf(error), message };
    return { conditions: withConditions(status, [unreachable], now) };
  }
  const failed = { holds: false, reason: "DifferentUUID", message };
  const types = ["SameMachine", "WakeProven"] as const;
  const texts = types.map((type) => ({ type, ...failed }));
  return { wakeProven: false, conditions: withConditions(status, texts, now) };
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
