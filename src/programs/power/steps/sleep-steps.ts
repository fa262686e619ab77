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

  async begin(nodeCase: NodeCase): Promise<Next> {
    await this.#parts.status.begin(nodeCase, "sleep", "taint", {});
    return NOW;
  }

  async continue(nodeCase: NodeCase, { step }: PowerOperation): Promise<Next> {
    const { settings } = this.#options;
    let facts = this.#factsOf(nodeCase);
    let next = nextSleepMove(step, facts, settings);
    while (next.move === "countPods" || next.move === "readSwitch") {
      const observed =
        next.move === "countPods" ? await this.#countPods(nodeCase) : await this.#readSwitch(nodeCase, next.optional);
      facts = { ...facts, ...observed };
      next = nextSleepMove(step, facts, settings);
    }
    return this.#make(nodeCase, next);
  }

  #factsOf(nodeCase: NodeCase): SleepFacts {
    const { node, wanted, sinceStep } = nodeCase;
    return {
      exists: node !== undefined,
      tainted: node?.tainted === true,
      wanted: wanted.state,
      reason: wanted.reason,
      sinceStep,
      sent: this.#requests.all(nodeCase),
    };
  }

  async #countPods(nodeCase: NodeCase): Promise<Pick<SleepFacts, "pods">> {
    const { api } = this.#options;
    const { name, node, signal } = nodeCase;
    const promised = await api.podsPromisedTo(name, signal);
    const pods = await api.podsOn(name, node?.resourceVersion ?? "", signal);
    return { pods: { occupied: occupiedBecause(promised, pods) } };
  }

  async #readSwitch(nodeCase: NodeCase, isOptional: boolean): Promise<Pick<SleepFacts, "machine">> {
    try {
      return { machine: await this.#parts.machines.read(nodeCase) };
    } catch (error) {
      if (!isOptional) throw error;
      return { machine: "unknown" };
    }
  }

  async #make(nodeCase: NodeCase, next: Exclude<SleepMove, { move: "countPods" | "readSwitch" }>): Promise<Next> {
    const { api } = this.#options;
    const { status, wake } = this.#parts;
    switch (next.move) {
      case "wait":
        return next.time;
      case "taint":
        // Nothing is counted or sent before the watch shows the taint again.
        if (next.startsAgain) await status.continue(nodeCase, { step: "taint" });
        await api.setTaint(nodeCase.name, true, nodeCase.signal);
        return WATCH_DELAY;
      case "goTo":
        await status.continue(nodeCase, { step: next.step });
        if (next.step === "shutdown") this.#requests.begin(nodeCase);
        if (next.step === "force") this.#requests.note(nodeCase, "forceOff", "no");
        return NOW;
      case "send":
        return next.request === "shutdown" ? this.#shutdown(nodeCase) : this.#force(nodeCase);
      case "finish":
        return this.#finish(nodeCase);
      case "giveUp":
        return this.#giveUp(nodeCase, next.reason, next.failed);
      case "wake":
        break;
    }
    return next.failed === undefined ? wake.begin(nodeCase) : this.#wakeAgain(nodeCase, next.failed);
  }

  async #shutdown(nodeCase: NodeCase): Promise<Next> {
    const { settings } = this.#options;
    const isUnsent = this.#requests.isNothingSent(nodeCase);
    try {
      await this.#takePower(nodeCase, "shutdown");
    } catch (error) {
      const isNothingSent = error instanceof NotEmpty || error instanceof WrongMachine;
      if (isNothingSent) return isUnsent ? this.#giveUp(nodeCase, error.message, true) : settings.pollInterval;
      // The answer may have been lost, not the shutdown.
      if (!isRefused(error)) throw error;
      // The machine offers no graceful shutdown.
      return this.#make(nodeCase, { move: "goTo", step: "force" });
    }
    return settings.pollInterval;
  }

  async #force(nodeCase: NodeCase): Promise<Next> {
    try {
      await this.#takePower(nodeCase, "forceOff");
    } catch (error) {
      if (!(error instanceof NotEmpty) && !isRefused(error)) throw error;
      const { message } = error;
      return this.#requests.isNothingSent(nodeCase)
        ? this.#giveUp(nodeCase, message, true)
        : this.#wakeAgain(nodeCase, message);
    }
    return this.#options.settings.pollInterval;
  }

  async #takePower(nodeCase: NodeCase, how: PowerCut): Promise<void> {
    const before = this.#requests.all(nodeCase)[how];
    const onSending = (isSending: boolean) => this.#requests.note(nodeCase, how, isSending ? "maybe" : before);
    try {
      await this.#parts.machines.takePower(nodeCase, how, onSending);
      this.#requests.note(nodeCase, how, "yes");
    } catch (error) {
      if (isRejected(error)) onSending(false);
      throw error;
    }
  }

  /** The machine was asked to shut down and is still on. A try counts as a cycle: the limit per day ends a series of them. */
  async #wakeAgain(nodeCase: NodeCase, why: string): Promise<Next> {
    const { status, wake } = this.#parts;
    const { endpoint, now } = nodeCase;
    this.#options.reports.sleepFailed(nodeCase, why);
    const cyclesToday = cyclesOn(isoTime(now), endpoint.status) + 1;
    const tried = await status.write(nodeCase, { lastSleep: { at: isoTime(now), result: "failed" }, cyclesToday });
    return wake.begin(tried, why);
  }

  async #finish(nodeCase: NodeCase): Promise<Next> {
    const { status } = this.#parts;
    const { endpoint, now } = nodeCase;
    const took = seconds(sinceStart(nodeCase, endpoint.status.operation));
    await status.write(nodeCase, {
      operation: undefined,
      powerState: "off",
      lastSleep: {
        at: endAfter(endpoint.status.lastWake, now),
        seconds: seconds(Math.round(took)),
        result: "succeeded",
      },
      cyclesToday: cyclesOn(isoTime(now), endpoint.status) + 1,
    });
    await status.publish(nodeCase, "off");
    this.#options.reports.asleep(nodeCase, took);
    return NOW;
  }

  /** Nothing was sent to the switch: the node stays on and only loses its taint. */
  async #giveUp(nodeCase: NodeCase, why: string, failed: boolean): Promise<Next> {
    const { api, reports, settings } = this.#options;
    const { status, test } = this.#parts;
    const { name, signal, now, endpoint } = nodeCase;
    // Also if the watch does not show the taint yet.
    if (nodeCase.node !== undefined) await api.setTaint(name, false, signal);
    const ended = failed ? { lastSleep: { at: isoTime(now), result: "failed" as const } } : {};
    const cycles = failed ? { cyclesToday: cyclesOn(isoTime(now), endpoint.status) } : {};
    await status.write(nodeCase, { operation: undefined, ...ended, ...cycles });
    await status.publish(nodeCase, "on");
    if (failed) reports.sleepFailed(nodeCase, why);
    if (isTest(endpoint)) return test.refuse(nodeCase, why);
    return failed ? settings.awakeAtLeast : NOW;
  }
}

interface Requests {
  readonly startedAt: string | undefined;
  readonly sent: Readonly<Record<PowerCut, Sent>>;
}

/** What this process has sent to switches in each sleep. After a restart it is unknown: the machine may still go down. */
class PowerRequests {
  readonly #requests = new Map<string, Requests>();

  forget(name: string): void {
    this.#requests.delete(name);
  }

  /** Nothing was sent before this. */
  begin(nodeCase: NodeCase): void {
    this.#requests.set(nodeCase.name, { startedAt: startOf(nodeCase), sent: { shutdown: "no", forceOff: "no" } });
  }

  note(nodeCase: NodeCase, how: PowerCut, sent: Sent): void {
    this.#requests.set(nodeCase.name, { startedAt: startOf(nodeCase), sent: { ...this.all(nodeCase), [how]: sent } });
  }

  isNothingSent(nodeCase: NodeCase): boolean {
    const { shutdown, forceOff } = this.all(nodeCase);
    return shutdown === "no" && forceOff === "no";
  }

  all(nodeCase: NodeCase): Requests["sent"] {
    const known = this.#requests.get(nodeCase.name);
    return known?.startedAt === startOf(nodeCase) && known !== undefined ? known.sent : UNKNOWN;
  }
}

const UNKNOWN = { shutdown: "maybe", forceOff: "maybe" } as const;
const startOf = ({ endpoint }: NodeCase): string | undefined => endpoint.status.operation?.startedAt;
