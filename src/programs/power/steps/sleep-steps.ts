import { cyclesOn, type PowerOperation } from "../../../core/api/index.ts";
import { nextSleepMove, type PowerCut, type Sent, type SleepFacts, type SleepMove } from "../../../core/sleep/index.ts";
import { isoTime, milliseconds, seconds } from "../../../core/units/index.ts";
import type { StatusWriter } from "../api/status-writer.ts";
import { isRefused, isRejected, type MachineCaller, WrongMachine } from "../machine/machine-caller.ts";
import { NotEmpty, occupiedBecause } from "../machine/power-loss-guard.ts";
import { endAfter } from "./endpoint-status.ts";
import { isTest, type Next, NOW, type NodeCase, type NodeReconcilerOptions, sinceStart } from "./node-case.ts";
import type { WakeSteps } from "./wake-steps.ts";
import type { WakeTest } from "./wake-test.ts";

/** A change of the Node arrives by the watch; this is for the case that it does not. */
const WATCH_DELAY = milliseconds(5000);

export interface SleepParts {
  readonly status: StatusWriter;
  readonly machines: MachineCaller;
  readonly test: WakeTest;
  readonly wake: WakeSteps;
}

/** Takes the steps of sleeps that `nextSleepMove` chooses. */
export class SleepSteps {
  readonly #options: Pick<NodeReconcilerOptions, "api" | "settings" | "reports">;
  readonly #parts: SleepParts;
  readonly #requests = new PowerRequests();

  constructor(options: Pick<NodeReconcilerOptions, "api" | "settings" | "reports">, parts: SleepParts) {
    this.#options = options;
    this.#parts = parts;
  }

  forget(name: string): void {
    this.#requests.forget(name);
  }

  async begin(one: NodeCase): Promise<Next> {
    await this.#parts.status.begin(one, "sleep", "taint", {});
    return NOW;
  }

  async continue(one: NodeCase, { step }: PowerOperation): Promise<Next> {
    const { settings } = this.#options;
    let facts = this.#factsOf(one);
    let next = nextSleepMove(step, facts, settings);
    while (next.move === "countPods" || next.move === "readSwitch") {
      const observed =
        next.move === "countPods" ? await this.#countPods(one) : await this.#readSwitch(one, next.optional);
      facts = { ...facts, ...observed };
      next = nextSleepMove(step, facts, settings);
    }
    return this.#make(one, next);
  }

  #factsOf(one: NodeCase): SleepFacts {
    const { node, wanted, sinceStep } = one;
    return {
      exists: node !== undefined,
      tainted: node?.tainted === true,
      wanted: wanted.state,
      reason: wanted.reason,
      sinceStep,
      sent: this.#requests.all(one),
    };
  }

  async #countPods(one: NodeCase): Promise<Pick<SleepFacts, "pods">> {
    const { api } = this.#options;
    const { name, node, signal } = one;
    const promised = await api.podsPromisedTo(name, signal);
    const pods = await api.podsOn(name, node?.resourceVersion ?? "", signal);
    return { pods: { occupied: occupiedBecause(promised, pods) } };
  }

  async #readSwitch(one: NodeCase, isOptional: boolean): Promise<Pick<SleepFacts, "machine">> {
    try {
      return { machine: await this.#parts.machines.read(one) };
    } catch (error) {
      if (!isOptional) throw error;
      return { machine: "unknown" };
    }
  }

  async #make(one: NodeCase, next: Exclude<SleepMove, { move: "countPods" | "readSwitch" }>): Promise<Next> {
    const { api } = this.#options;
    const { status, wake } = this.#parts;
    switch (next.move) {
      case "wait":
        return next.time;
      case "taint":
        // Nothing is counted or sent before the watch shows the taint again.
        if (next.startsAgain) await status.continue(one, { step: "taint" });
        await api.setTaint(one.name, true, one.signal);
        return WATCH_DELAY;
      case "goTo":
        await status.continue(one, { step: next.step });
        if (next.step === "shutdown") this.#requests.begin(one);
        if (next.step === "force") this.#requests.note(one, "forceOff", "no");
        return NOW;
      case "send":
        return next.request === "shutdown" ? this.#shutdown(one) : this.#force(one);
      case "finish":
        return this.#finish(one);
      case "giveUp":
        return this.#giveUp(one, next.reason, next.failed);
      case "wake":
        break;
    }
    return next.failed === undefined ? wake.begin(one) : this.#wakeAgain(one, next.failed);
  }

  async #shutdown(one: NodeCase): Promise<Next> {
    const { settings } = this.#options;
    const isUnsent = this.#requests.isNothingSent(one);
    try {
      await this.#takePower(one, "shutdown");
    } catch (error) {
      const isNothingSent = error instanceof NotEmpty || error instanceof WrongMachine;
      if (isNothingSent) return isUnsent ? this.#giveUp(one, error.message, true) : settings.pollInterval;
      // The answer may have been lost, not the shutdown.
      if (!isRefused(error)) throw error;
      // The machine offers no graceful shutdown.
      return this.#make(one, { move: "goTo", step: "force" });
    }
    return settings.pollInterval;
  }

  async #force(one: NodeCase): Promise<Next> {
    try {
      await this.#takePower(one, "forceOff");
    } catch (error) {
      if (!(error instanceof NotEmpty) && !isRefused(error)) throw error;
      const { message } = error;
      return this.#requests.isNothingSent(one) ? this.#giveUp(one, message, true) : this.#wakeAgain(one, message);
    }
    return this.#options.settings.pollInterval;
  }

  async #takePower(one: NodeCase, how: PowerCut): Promise<void> {
    const before = this.#requests.all(one)[how];
    const onSending = (isSending: boolean) => this.#requests.note(one, how, isSending ? "maybe" : before);
    try {
      await this.#parts.machines.takePower(one, how, onSending);
      this.#requests.note(one, how, "yes");
    } catch (error) {
      if (isRejected(error)) onSending(false);
      throw error;
    }
  }

  /** The machine was asked to shut down and is still on. A try counts as a cycle: the limit per day ends a series of them. */
  async #wakeAgain(one: NodeCase, why: string): Promise<Next> {
    const { status, wake } = this.#parts;
    const { endpoint, now } = one;
    this.#options.reports.sleepFailed(one, why);
    const cyclesToday = cyclesOn(isoTime(now), endpoint.status) + 1;
    const tried = await status.write(one, { lastSleep: { at: isoTime(now), result: "failed" }, cyclesToday });
    return wake.begin(tried, why);
  }

  async #finish(one: NodeCase): Promise<Next> {
    const { status } = this.#parts;
    const { endpoint, now } = one;
    const took = seconds(sinceStart(one, endpoint.status.operation));
    await status.write(one, {
      operation: undefined,
      powerState: "off",
      lastSleep: {
        at: endAfter(endpoint.status.lastWake, now),
        seconds: seconds(Math.round(took)),
        result: "succeeded",
      },
      cyclesToday: cyclesOn(isoTime(now), endpoint.status) + 1,
    });
    await status.publish(one, "off");
    this.#options.reports.asleep(one, took);
    return NOW;
  }

  /** Nothing was sent to the switch: the node stays on and only loses its taint. */
  async #giveUp(one: NodeCase, why: string, failed: boolean): Promise<Next> {
    const { api, reports, settings } = this.#options;
    const { status, test } = this.#parts;
    const { name, signal, now, endpoint } = one;
    // Also if the watch does not show the taint yet.
    if (one.node !== undefined) await api.setTaint(name, false, signal);
    const ended = failed ? { lastSleep: { at: isoTime(now), result: "failed" as const } } : {};
    const cycles = failed ? { cyclesToday: cyclesOn(isoTime(now), endpoint.status) } : {};
    await status.write(one, { operation: undefined, ...ended, ...cycles });
    await status.publish(one, "on");
    if (failed) reports.sleepFailed(one, why);
    if (isTest(endpoint)) return test.refuse(one, why);
    return failed ? settings.awakeAtLeast : NOW;
  }
}

interface Requests {
  /** The sleep to which they belong. */
  readonly startedAt: string | undefined;
  readonly sent: Readonly<Record<PowerCut, Sent>>;
}

/**
 * What this process has sent to switches in each sleep. After a restart it does not know: then the machine may still go down, and
 * nothing else happens until it is off or the time is over.
 */
class PowerRequests {
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
