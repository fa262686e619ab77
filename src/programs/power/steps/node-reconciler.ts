import { annotations, isWakeProven, type NodePowerState } from "../../../core/api/index.ts";
import { restBeforeSleep } from "../../../core/sleep/index.ts";
import { isoTime, milliseconds } from "../../../core/units/index.ts";
import { PowerSwitchError } from "../../../platform/switch/index.ts";
import { StatusWriter } from "../api/status-writer.ts";
import { MachineCaller, WrongMachine } from "../machine/machine-caller.ts";
import { promisedBecause } from "../machine/power-loss-guard.ts";
import { countsAsAsleep, lastReport, type NodeView, wantedOf } from "../watch/cluster-view.ts";
import { type ConditionText, endAfter, phaseOf, withConditions } from "./endpoint-status.ts";
import { isTest, type Next, NOW, type NodeCase, type NodeReconcilerOptions } from "./node-case.ts";
import { SleepSteps } from "./sleep-steps.ts";
import { WakeSteps } from "./wake-steps.ts";
import { WakeTest } from "./wake-test.ts";

/**
 * Brings one node at a time from its observed to its wanted state. Every step is written to the API before or right after it is
 * taken, and every step may be repeated, so that the program can be killed at any point.
 */
export class NodeReconciler {
  readonly #options: NodeReconcilerOptions;
  readonly #status: StatusWriter;
  readonly #machines: MachineCaller;
  readonly #test: WakeTest;
  readonly #wake: WakeSteps;
  readonly #sleep: SleepSteps;
  /** The explicit wish for which the switch of a node said on. */
  readonly #confirmedOn = new Map<string, string>();

  constructor(options: NodeReconcilerOptions) {
    this.#options = options;
    const status = (this.#status = new StatusWriter(options.api));
    const machines = (this.#machines = new MachineCaller(options, status));
    const test = (this.#test = new WakeTest(options, status));
    const wake = (this.#wake = new WakeSteps(options, { status, machines, test }));
    this.#sleep = new SleepSteps(options, { status, machines, test, wake });
  }

  async reconcile(name: string, signal: AbortSignal): Promise<Next> {
    const { view: viewOf, api, stopped, clock, reports, settings, stepTimes } = this.#options;
    const watched = this.#status.withOwnWrites(viewOf(name));
    const node = watched.node && api.withoutFormerTaint(watched.node);
    const view: NodeView = { ...watched, node };
    const { endpoint } = view;
    if (endpoint === undefined) return this.#withoutEndpoint(view, signal);
    const status = endpoint.status ?? {};
    const wanted = wantedOf(view, stopped());
    const now = clock.now();
    const sinceStep = stepTimes.since(name, status.operation);
    const known = { ...view, endpoint: { ...endpoint, status }, wanted, signal, now, sinceStep };
    const nodeCase = await this.#withValidProof(known);
    const phase = phaseOf(status, node?.tainted === true);
    // A user has created the PowerEndpoint again, which knows nothing of the shutdown.
    const isStatusLost = phase === "off" && phaseOf(status, false) === "on";
    if (isStatusLost && this.#mayStillShutDown(view)) return settings.pollInterval;
    reports.phase(name, phase);
    await this.#status.publish(nodeCase, phase);
    try {
      return await this.#step(nodeCase, phase);
    } catch (error) {
      if (!(error instanceof PowerSwitchError)) throw error;
      const delay = await this.#machines.failed(nodeCase, error);
      // Some steps wait for a time limit as well, which must not wait for the switch.
      return milliseconds(phase === "on" || phase === "off" ? delay : Math.min(delay, settings.pollInterval));
    }
  }

  /** Shows users that an edited PowerEndpoint needs a new test. */
  async #withValidProof(nodeCase: NodeCase): Promise<NodeCase> {
    const { endpoint, now } = nodeCase;
    if (endpoint.status.wakeProven !== true || isWakeProven(endpoint)) return nodeCase;
    const message = "the spec has changed since the wake was proven";
    const unproven: ConditionText = { type: "WakeProven", holds: false, reason: "SpecChanged", message };
    const conditions = withConditions(endpoint.status, [unproven], now);
    return this.#status.write(nodeCase, { wakeProven: false, conditions });
  }

  forget(name: string): void {
    const { api, reports, stepTimes } = this.#options;
    this.#confirmedOn.delete(name);
    for (const part of [this.#status, this.#machines, this.#sleep, stepTimes, api, reports]) part.forget(name);
  }

  async #step(nodeCase: NodeCase, phase: NodePowerState): Promise<Next> {
    const { operation } = nodeCase.endpoint.status;
    if (operation !== undefined)
      return phase === "stopping"
        ? this.#sleep.continue(nodeCase, operation)
        : this.#wake.continue(nodeCase, operation);
    if (phase === "off") return this.#whenOff(nodeCase);
    return phase === "failed" ? this.#whenFailed(nodeCase) : this.#whenOn(nodeCase);
  }

  async #whenOn(nodeCase: NodeCase): Promise<Next> {
    const { settings, reports } = this.#options;
    const { wanted, endpoint, now } = nodeCase;
    if (isTest(endpoint) && !wanted.test) return this.#test.refuse(nodeCase, wanted.reason);
    if (wanted.state === "on") return this.#keepOn(nodeCase);
    if (!wanted.test) {
      const rest = restBeforeSleep(endpoint.status, now, settings);
      if (rest > 0) return rest;
    }
    // A machine that has a problem already is left alone, for the administrator.
    const problem = await this.#problemOf(nodeCase);
    if (problem === undefined) return this.#sleep.begin(nodeCase);
    if (wanted.test) return this.#test.refuse(nodeCase, problem);
    reports.sleepDelayed(nodeCase, problem);
    return settings.refreshInterval;
  }

  /**
   * A machine that counts as on may be off: a person has switched it off, or etcd was restored from before its sleep. An explicit
   * wish wakes it, but not while the node is Ready: then the switch is wrong. Otherwise it is left alone, for the administrator.
   */
  async #keepOn(nodeCase: NodeCase): Promise<Next> {
    const { name, node, wanted, endpoint, signal } = nodeCase;
    const isRequested = endpoint.metadata.annotations?.[annotations.wake] !== undefined;
    const isConfirmed = !wanted.explicit || this.#confirmedOn.get(name) === wanted.reason;
    if (isConfirmed && !isRequested && !this.#machines.isRefreshDue(name)) return this.#machines.untilRefresh(name);
    const state = await this.#machines.readIfSlotFree(nodeCase);
    if (state === undefined) return this.#machines.untilSlotFree();
    if (!wanted.explicit) {
      this.#confirmedOn.delete(name);
      return this.#machines.untilRefresh(name);
    }
    const isReady = node?.ready === true;
    if (state === "off" && !isReady) return this.#wake.begin(nodeCase, `${wanted.reason}, and its switch says off`);
    if (state !== "on") return this.#options.settings.pollInterval;
    this.#confirmedOn.set(name, wanted.reason);
    // The watch shows when the node becomes Ready.
    if (!isRequested || !isReady) return this.#machines.untilRefresh(name);
    this.#status.remember(await this.#options.api.clearRequest(name, annotations.wake, signal));
    return NOW;
  }

  /** Why a machine that is on cannot be switched off; undefined if it can. */
  async #problemOf(nodeCase: NodeCase): Promise<string | undefined> {
    try {
      const { state, keepsPower } = await this.#machines.inspect(nodeCase);
      if (state !== "on") return keepsPower ?? `the switch reports ${state}`;
      if (nodeCase.node?.ready !== true) return "the node is not Ready";
      // The taint would make kube-scheduler take back a nomination for which it has already evicted other pods.
      return keepsPower ?? promisedBecause(await this.#options.api.podsPromisedTo(nodeCase.name, nodeCase.signal));
    } catch (error) {
      if (!nodeCase.wanted.test || !(error instanceof WrongMachine)) throw error;
      await this.#machines.failed(nodeCase, error);
      return error.message;
    }
  }

  async #whenOff(nodeCase: NodeCase): Promise<Next> {
    const { name, node, wanted, signal } = nodeCase;
    if (wanted.state === "on" || wanted.test) return this.#wake.begin(nodeCase);
    if (node !== undefined && !node.tainted) await this.#options.api.setTaint(name, true, signal);
    if (node?.ready !== true && !this.#machines.isRefreshDue(name)) return this.#machines.untilRefresh(name);
    const state = await this.#machines.readIfSlotFree(nodeCase);
    if (state === "on") return this.#wake.begin(nodeCase, "it was switched on by hand");
    return state === undefined ? this.#machines.untilSlotFree() : this.#machines.untilRefresh(name);
  }

  /** The node may still come back, and then is used again; but it sleeps only after a proven wake. */
  async #whenFailed(nodeCase: NodeCase): Promise<Next> {
    const { api, reports, settings } = this.#options;
    const { name, node, twin, endpoint, wanted, signal, now } = nodeCase;
    const failedAt = Date.parse(endpoint.status.lastWake?.at ?? "");
    const report = lastReport(twin);
    const hasReported = report === undefined || Date.parse(report) > failedAt;
    if (node?.ready === true && hasReported) {
      await api.setTaint(name, false, signal);
      await this.#status.write(nodeCase, {
        powerState: "on",
        lastWake: { at: endAfter(endpoint.status.lastSleep, now), result: "succeeded" },
      });
      await this.#status.publish(nodeCase, "on");
      reports.cameBack(nodeCase);
      return NOW;
    }
    if (wanted.test || (wanted.explicit && now - failedAt >= settings.wakeTimeout)) return this.#wake.begin(nodeCase);
    return this.#machines.refresh(nodeCase);
  }

  /** Without a PowerEndpoint nothing can be switched, but a node that came back is used again. */
  async #withoutEndpoint(view: NodeView, signal: AbortSignal): Promise<Next> {
    const { api, settings, clock, reports } = this.#options;
    const { name, node, twin } = view;
    const { power } = twin?.status ?? {};
    if (node === undefined || !countsAsAsleep(view)) return settings.refreshInterval;
    const isBackAgain = node.ready && !(Date.parse(node.heartbeat ?? "") <= Date.parse(power?.since ?? ""));
    if (!isBackAgain || this.#mayStillShutDown(view)) {
      reports.endpointMissing(node);
      return settings.refreshInterval;
    }
    await api.setTaint(name, false, signal);
    if ((power?.state ?? "on") !== "on")
      await api.writeTwinPower(name, { state: "on", since: isoTime(clock.now()) }, signal);
    return settings.refreshInterval;
  }

  /** Whether the machine may obey a shutdown yet. Without the status of the PowerEndpoint only the NodeTwin knows of it. */
  #mayStillShutDown({ twin }: NodeView): boolean {
    const { settings, clock } = this.#options;
    const { state, since = "" } = twin?.status?.power ?? {};
    // A time far ahead of a clock that was set back does not count.
    return state === "stopping" && Math.abs(clock.now() - Date.parse(since)) < 2 * settings.shutdownTimeout;
  }
}
