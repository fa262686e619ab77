import type { PowerEndpointStatus, SwitchState } from "../../../core/api/index.ts";
import type { PowerCut } from "../../../core/sleep/index.ts";
import {
  type Instant,
  isoTime,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
} from "../../../core/units/index.ts";
import { type Backoff, backoffDelay } from "../../../platform/backoff/index.ts";
import { jittered } from "../../../platform/random/index.ts";
import {
  isHostOf,
  isSameSystem,
  type MachineFacts,
  type PowerSwitch,
  PowerSwitchError,
} from "../../../platform/switch/index.ts";
import type { StatusWriter } from "../api/status-writer.ts";
import { type ConditionText, conditionStatus, withConditions } from "../steps/endpoint-status.ts";
import type { Next, NodeCase, NodeReconcilerOptions } from "../steps/node-case.ts";
import { mayLosePower, type PowerLossGuardOptions } from "./power-loss-guard.ts";

type CallerOptions = PowerLossGuardOptions &
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
  async on(nodeCase: NodeCase): Promise<void> {
    await this.#call(nodeCase, async (machine) => machine.on(nodeCase.signal, async () => this.#expectLeading()));
  }

  /** Rejects with NotEmpty before anything was sent. `onSending` is called directly before the request, or with false. */
  async takePower(nodeCase: NodeCase, how: PowerCut, onSending?: (isSending: boolean) => void): Promise<void> {
    await this.#call(nodeCase, async (machine) => {
      // Logs in and finds the system, so that the switch only has to send its request after the guard.
      await machine.state(nodeCase.signal);
      expectSameMachine(nodeCase, machine.facts);
      await machine[how](nodeCase.signal, async () => {
        // The switch repeats a check for a new connection, or after a request that was rejected.
        onSending?.(false);
        await mayLosePower(nodeCase, this.#options);
        onSending?.(true);
      });
    });
  }

  async read(nodeCase: NodeCase): Promise<SwitchState> {
    return (await this.inspect(nodeCase)).state;
  }

  /** The state of the machine, and why its switch will not take power away, if so. */
  async inspect(nodeCase: NodeCase): Promise<{ readonly state: SwitchState; readonly keepsPower: string | undefined }> {
    const { clock, reports } = this.#options;
    const { name, endpoint, now } = nodeCase;
    const { state, facts } = await this.#call(nodeCase, async (machine) => {
      const found = await machine.state(nodeCase.signal);
      expectSameMachine(nodeCase, machine.facts);
      return { state: found, facts: machine.facts };
    });
    this.#refreshedAt.set(name, clock.monotonic());
    reports.solved(name);
    const { powerState, failures = 0 } = endpoint.status;
    const latest = this.#status.latest(nodeCase);
    const conditions = withConditions(latest, [...conditionsOf(nodeCase, state, facts, latest)], now);
    const isKnown = identityOf(nodeCase, facts) !== undefined;
    await this.#status.write(nodeCase, {
      ...(powerState !== state && { powerState: state, observedAt: isoTime(now) }),
      ...(failures > 0 && { failures: 0 }),
      // An identity that is not reported any more says nothing, and neither does a condition about it.
      conditions: conditions.filter(({ type }) => isKnown || type !== "SameMachine"),
    });
    return { state, keepsPower: facts?.keepsPower };
  }

  /** Reads the state now and then, so that users see a switch that fails. */
  async refresh(nodeCase: NodeCase): Promise<Next> {
    const { name } = nodeCase;
    if (this.isRefreshDue(name) && (await this.readIfSlotFree(nodeCase)) === undefined) return this.untilSlotFree();
    return this.untilRefresh(name);
  }

  /** Undefined while many switches are read: dead ones must not take all workers from sleeps and wakes. */
  async readIfSlotFree(nodeCase: NodeCase): Promise<SwitchState | undefined> {
    if (this.#refreshing >= Math.ceil(this.#options.settings.concurrency / 2)) return undefined;
    this.#refreshing++;
    try {
      return await this.read(nodeCase);
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
  async failed(nodeCase: NodeCase, error: PowerSwitchError): Promise<Next> {
    if (error instanceof Waiting) return error.rest;
    const { clock, random, reports } = this.#options;
    const { name, now } = nodeCase;
    const latest = this.#status.latest(nodeCase);
    const failures = (latest.failures ?? 0) + 1;
    const delay = backoffDelay(failures, SWITCH_BACKOFF, random);
    const { generation } = nodeCase.endpoint.metadata;
    this.#notBefore.set(name, { at: monotonicInstant(clock.monotonic() + delay), generation });
    reports.switchFailed(nodeCase, error);
    await this.#status.write(nodeCase, { failures, ...failureOf(error, latest, now) });
    if (error instanceof WrongMachine && conditionStatus(latest, "SameMachine") !== false)
      reports.wrongMachine(nodeCase, error.message);
    return delay;
  }

  #expectLeading(): void {
    if (!this.#options.leads()) throw new Error("this replica does not lead any more");
  }

  /** Calls the switch, unless it failed a short while ago. */
  async #call<Result>(nodeCase: NodeCase, use: (machine: PowerSwitch) => Promise<Result>): Promise<Result> {
    const { openSwitch, clock } = this.#options;
    const { name, endpoint, signal } = nodeCase;
    const last = this.#notBefore.get(name);
    const rest = last?.generation === endpoint.metadata.generation ? (last?.at ?? 0) - clock.monotonic() : 0;
    if (rest > 0) throw new Waiting(milliseconds(rest));
    this.#expectLeading();
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
  readonly reason: string;

  constructor({ reason, message }: ConditionText) {
    super("wrong_machine", `${message}: the PowerEndpoint belongs to another machine; correct its spec`);
    this.reason = reason;
  }
}

function expectSameMachine(nodeCase: NodeCase, facts: MachineFacts | undefined): void {
  const identity = identityOf(nodeCase, facts);
  if (identity?.holds === false) throw new WrongMachine(identity);
}

/** Whether the switch belongs to the machine of the node; undefined if one of them does not say. */
function identityOf({ name, node }: NodeCase, { systemUuid, host }: MachineFacts = {}): ConditionText | undefined {
  const isSameUuid = isSameSystem(systemUuid, node?.systemUuid);
  const holds = host === undefined ? isSameUuid : isHostOf(host, node?.providerId);
  if (holds === undefined) return undefined;
  const what = host === undefined ? "UUID" : "ProviderID";
  const type = "SameMachine";
  if (holds) return { type, holds, reason: `Same${what}`, message: `the switch and the node report one ${what}` };
  const message =
    host === undefined
      ? `the switch controls system ${systemUuid}, but node ${name} runs on system ${node?.systemUuid}`
      : `the switch is BareMetalHost ${host.namespace}/${host.name} of machine ${host.machine ?? "none"}, but node ${name} is ${node?.providerId}`;
  return { type, holds, reason: `Different${what}`, message };
}

const answered = { reason: "Answered", message: "the switch answers" };
const contradicted = {
  reason: "Contradicted",
  message: "the switch says off, but the node is Ready: the PowerEndpoint may belong to another machine",
};

function* conditionsOf(
  nodeCase: NodeCase,
  state: SwitchState,
  facts: MachineFacts | undefined,
  status: PowerEndpointStatus,
): Generator<ConditionText> {
  const { node, endpoint, wanted } = nodeCase;
  const isContradicted =
    state === "off" && node?.ready === true && wanted.state === "on" && endpoint.status.operation === undefined;
  const held = facts?.held && { reason: "Held", message: facts.held };
  yield { type: "Reachable", holds: true, ...(held || (isContradicted ? contradicted : answered)) };
  const identity = identityOf(nodeCase, facts);
  if (identity !== undefined) yield identity;
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
  const failed = { holds: false, reason: error.reason, message };
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

/** The switch has rejected the request, so that it does nothing. */
export const isRejected = (error: unknown): boolean =>
  error instanceof PowerSwitchError && ["refused", "credentials", "not_found"].includes(error.kind);

export const isRefused = (error: unknown): error is PowerSwitchError =>
  error instanceof PowerSwitchError && error.kind === "refused";

const reasonOf = ({ kind }: PowerSwitchError): string =>
  kind.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
