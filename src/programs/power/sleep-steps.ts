import { cyclesOn, type PowerOperation } from "../../core/api/index.ts";
import { formatDuration, isoTime, milliseconds, seconds } from "../../core/units/index.ts";
import { PowerSwitchError } from "../../platform/power/index.ts";
import { isRefused, isRejected, type MachineCaller, type PowerCut, WrongMachine } from "./machine-caller.ts";
import { isTest, type Next, NOW, type NodeCase, type NodeReconcilerOptions, sinceStart } from "./node-case.ts";
import { endAfter } from "./phase.ts";
import { NotEmpty, occupiedBecause } from "./power-loss-guard.ts";
import { PowerRequests } from "./power-requests.ts";
import type { StatusWriter } from "./status-writer.ts";
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

/** A sleep: taint → taint observed → pods counted at a version that is not older → off, if need be by force. */
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

  async continue(one: NodeCase, operation: PowerOperation): Promise<Next> {
    const { api, settings } = this.#options;
    const { status, wake } = this.#parts;
    const { name, node, wanted, signal } = one;
    const { step } = operation;
    const hasSent = step === "shutdown" || step === "force";
    if (node === undefined && !hasSent) return wake.begin(one);
    if (wanted.state === "on" && !hasSent) return this.#giveUp(one, wanted.reason, false);
    // The machine of a Node that was deleted may still go down. Another one of its name gets the taint as well.
    if (node !== undefined && !node.tainted) {
      // Another writer may have removed it. Nothing is counted or sent before the watch shows it again.
      if (step === "count" || (hasSent && this.#requests.isNothingSent(one)))
        await status.continue(one, { step: "taint" });
      await api.setTaint(name, true, signal);
      return WATCH_DELAY;
    }
    if (step === "shutdown") return this.#shutdown(one);
    if (step === "force") return this.#force(one);
    if (node === undefined) return NOW;
    if (step !== "count") {
      await status.continue(one, { step: "count" });
      return NOW;
    }
    const rest = settings.settle - one.sinceStep;
    if (rest > 0) return milliseconds(rest);
    const promised = await api.podsPromisedTo(name, signal);
    const occupied = occupiedBecause(promised, await api.podsOn(name, node.resourceVersion, signal));
    if (occupied !== undefined) return this.#giveUp(one, occupied, true);
    await status.continue(one, { step: "shutdown" });
    this.#requests.begin(one);
    return NOW;
  }

  /** A shutdown that was sent is awaited even if the node is wanted again: the machine would go down later anyway. */
  async #shutdown(one: NodeCase): Promise<Next> {
    const { settings } = this.#options;
    const { machines, wake } = this.#parts;
    const { wanted } = one;
    const isUnsent = this.#requests.isNothingSent(one);
    const isLate = one.sinceStep >= settings.shutdownTimeout;
    if (isLate && isUnsent) return this.#giveUpUnsent(one);
    if (isLate && wanted.state === "on") return wake.begin(one);
    if (isLate) return this.#beginForce(one);
    const state = await machines.read(one).catch((error: unknown) => {
      // A node that is wanted again, and was sent nothing, does not wait for its switch.
      if (isUnsent && wanted.state === "on" && error instanceof PowerSwitchError) return "unknown" as const;
      throw error;
    });
    if (state === "off") return this.#finish(one);
    if (wanted.state === "on") return isUnsent ? this.#giveUpUnsent(one) : settings.pollInterval;
    if (this.#requests.sent(one, "shutdown") === "yes") return settings.pollInterval;
    try {
      await this.#takePower(one, "shutdown");
    } catch (error) {
      const isNothingSent = error instanceof NotEmpty || error instanceof WrongMachine;
      if (isNothingSent) return isUnsent ? this.#giveUp(one, error.message, true) : settings.pollInterval;
      // The answer may have been lost, not the shutdown.
      if (!isRefused(error)) throw error;
      // The machine offers no graceful shutdown.
      return this.#beginForce(one);
    }
    return settings.pollInterval;
  }

  async #beginForce(one: NodeCase): Promise<Next> {
    await this.#parts.status.continue(one, { step: "force" });
    this.#requests.note(one, "forceOff", "no");
    return NOW;
  }

  async #takePower(one: NodeCase, how: PowerCut): Promise<void> {
    const before = this.#requests.sent(one, how);
    const onSending = (isSending: boolean) => this.#requests.note(one, how, isSending ? "maybe" : before);
    try {
      await this.#parts.machines.takePower(one, how, onSending);
      this.#requests.note(one, how, "yes");
    } catch (error) {
      if (isRejected(error)) onSending(false);
      throw error;
    }
  }

  async #force(one: NodeCase): Promise<Next> {
    const { settings } = this.#options;
    const { machines, wake } = this.#parts;
    const isUnsent = this.#requests.sent(one, "forceOff") === "no";
    const state = await machines.read(one).catch((error: unknown) => {
      // A node that is wanted again does not wait for its switch.
      if (one.wanted.state === "off" && one.sinceStep < settings.shutdownTimeout) throw error;
      return "unknown" as const;
    });
    if (state === "off") return this.#finish(one);
    const isLate = one.sinceStep >= settings.shutdownTimeout;
    if (this.#requests.isNothingSent(one) && (isLate || one.wanted.state === "on")) return this.#giveUpUnsent(one);
    // A switch may say `on` for a while after the cut. A wake would then end before the machine is off.
    if (one.wanted.state === "on") return isUnsent || isLate ? wake.begin(one) : settings.pollInterval;
    if (isLate)
      return this.#wakeAgain(one, `it is still on ${formatDuration(settings.shutdownTimeout)} after its power was cut`);
    try {
      await this.#takePower(one, "forceOff");
    } catch (error) {
      if (!(error instanceof NotEmpty) && !isRefused(error)) throw error;
      return this.#requests.isNothingSent(one)
        ? this.#giveUp(one, error.message, true)
        : this.#wakeAgain(one, error.message);
    }
    return settings.pollInterval;
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

  async #giveUpUnsent(one: NodeCase): Promise<Next> {
    const { state, reason } = one.wanted;
    return state === "on" ? this.#giveUp(one, reason, false) : this.#giveUp(one, "nothing could be sent in time", true);
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
