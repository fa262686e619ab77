import { isDeepStrictEqual } from "node:util";
import {
  annotations,
  cyclesOn,
  type NodePower,
  type NodePowerState,
  type PowerEndpoint,
  type PowerEndpointStatus,
  type PowerOperation,
  type SwitchState,
} from "../../core/api/index.ts";
import {
  formatDuration,
  type Instant,
  inSeconds,
  isoTime,
  type Milliseconds,
  type MonotonicInstant,
  milliseconds,
  monotonicInstant,
  type RandomSource,
} from "../../core/units/index.ts";
import { type Backoff, backoffDelay } from "../../platform/backoff/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import { comesAfter } from "../../platform/kube/index.ts";
import { type PowerSwitch, PowerSwitchError } from "../../platform/power/index.ts";
import { jittered } from "../../platform/random/index.ts";
import { lastReport, type NodeView, type ObservedNode, type Wanted, wantedOf } from "./cluster-view.ts";
import { type ConditionText, withCondition } from "./conditions.ts";
import type { NodeApi } from "./node-api.ts";
import { phaseOf } from "./phase.ts";
import type { PowerReports } from "./power-reports.ts";
import type { PowerSettings } from "./settings.ts";
import type { OpenSwitch } from "./switches.ts";

export interface NodeReconcilerOptions {
  readonly api: NodeApi;
  readonly openSwitch: OpenSwitch;
  readonly settings: PowerSettings;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly reports: PowerReports;
  /** What the watches say. */
  readonly view: (name: string) => NodeView;
  /** Why everything must wake; undefined if it need not. */
  readonly stopped: () => string | undefined;
  /** Whether this replica may switch machines. */
  readonly leads: () => boolean;
}

/** When to look at the node again. */
type Next = Milliseconds;
const NOW = milliseconds(0);
/** A change of the Node arrives by the watch; this is for the case that it does not. */
const WATCH_DELAY = milliseconds(5000);
const SWITCH_BACKOFF: Backoff = { first: milliseconds(5000), longest: milliseconds(300_000), jitter: 0.2 };
const ATTEMPTS = 2;

/** A machine must not be switched off now. Nothing was sent to its switch. */
class NotEmpty extends Error {}

type Endpoint = PowerEndpoint & { readonly status: PowerEndpointStatus };
/** A node with a PowerEndpoint, and what is wanted of it. */
interface Case extends NodeView {
  readonly endpoint: Endpoint;
  readonly wanted: Wanted;
  readonly signal: AbortSignal;
  readonly now: Instant;
}

/**
 * Brings one node at a time from its observed to its wanted state. Every step is written to the API before or right after it is
 * taken, and every step may be repeated, so that the program can be killed at any point.
 *
 * Every call that takes power away from a machine goes through `#mayLosePower`.
 */
export class NodeReconciler {
  readonly #options: NodeReconcilerOptions;
  /** Own writes that the watch has not shown yet. */
  readonly #written = new Map<string, PowerEndpoint>();
  readonly #published = new Map<string, { readonly uid: string | undefined; readonly power: NodePower }>();
  /**
   * The operation for which this process knows whether a shutdown was sent. After a restart it does not know: then the machine may
   * still go down, and nothing else happens until it is off or the time is over.
   */
  readonly #shutdowns = new Map<string, { readonly startedAt: string; readonly sent: boolean }>();
  /** After failed calls of a switch: when it may be called again. */
  readonly #notBefore = new Map<string, MonotonicInstant>();
  readonly #refreshedAt = new Map<string, MonotonicInstant>();

  constructor(options: NodeReconcilerOptions) {
    this.#options = options;
  }

  /** Takes the next step of the node, and returns when to look again. */
  async reconcile(name: string, signal: AbortSignal): Promise<Next> {
    const { view: viewOf, stopped, clock, reports, settings } = this.#options;
    const view = this.#withOwnWrites(viewOf(name));
    const { endpoint, node } = view;
    if (endpoint === undefined) return this.#withoutEndpoint(view, signal);
    const status = endpoint.status ?? {};
    const wanted = wantedOf(view, stopped());
    const now = clock.now();
    const one: Case = { ...view, endpoint: { ...endpoint, status }, wanted, signal, now };
    const phase = phaseOf(status, node?.tainted === true);
    reports.phase(name, phase);
    await this.#publish(one, phase);
    try {
      return await this.#step(one, phase);
    } catch (error) {
      if (!(error instanceof PowerSwitchError)) throw error;
      const delay = await this.#switchFailed(one, error);
      // Some steps wait for a time limit as well, which must not wait for the switch.
      return milliseconds(phase === "on" || phase === "off" ? delay : Math.min(delay, settings.pollInterval));
    }
  }

  forget(name: string): void {
    for (const map of [this.#written, this.#published, this.#shutdowns, this.#notBefore, this.#refreshedAt])
      map.delete(name);
    this.#options.reports.forget(name);
  }

  async #step(one: Case, phase: NodePowerState): Promise<Next> {
    const { operation } = one.endpoint.status;
    if (operation !== undefined)
      return phase === "stopping" ? this.#continueSleep(one, operation) : this.#continueWake(one, operation);
    if (phase === "off") return this.#whenOff(one);
    return phase === "failed" ? this.#whenFailed(one) : this.#whenOn(one);
  }

  async #whenOn(one: Case): Promise<Next> {
    const { settings } = this.#options;
    const { wanted, endpoint, node, now } = one;
    if (isTest(endpoint) && !wanted.test) return this.#refuseTest(one, wanted.reason);
    if (wanted.state === "on") return this.#refresh(one);
    if (!wanted.test) {
      const { lastWake, lastSleep } = endpoint.status;
      const last = Math.max(...[lastWake, lastSleep].map((outcome) => Date.parse(outcome?.at ?? "") || 0));
      const rest = last + settings.awakeAtLeast - now;
      if (rest > 0) return milliseconds(rest);
    }
    const state = await this.#read(one);
    // A machine that has a problem already is left alone, for whoever looks into it.
    const problem = state === "on" ? "the node is not Ready" : `the switch reports ${state}`;
    if (state !== "on" || node?.ready !== true)
      return wanted.test ? this.#refuseTest(one, problem) : settings.refreshInterval;
    await this.#begin(one, "sleep", "taint", {});
    return NOW;
  }

  async #continueSleep(one: Case, operation: PowerOperation): Promise<Next> {
    const { api, settings } = this.#options;
    const { name, node, wanted, signal } = one;
    const { step } = operation;
    const hasSent = step === "shutdown" || step === "force";
    if (node === undefined) return this.#beginWake(one);
    if (wanted.state === "on" && !hasSent) return this.#giveUpSleep(one, wanted.reason, false);
    if (!node.tainted) {
      // Another writer may have removed it. Nothing is counted or sent before the watch shows it again.
      if (step === "count") await this.#continue(one, { step: "taint" });
      await api.setTaint(name, true, signal);
      return WATCH_DELAY;
    }
    if (step === "shutdown") return this.#shutdown(one, operation);
    if (step === "force") return this.#force(one);
    if (step !== "count") {
      await this.#continue(one, { step: "count" });
      return NOW;
    }
    const rest = settings.settle - this.#sinceStep(one);
    if (rest > 0) return milliseconds(rest);
    const pods = await api.podsOn(name, node.resourceVersion, signal);
    if (pods.length > 0) return this.#giveUpSleep(one, runsPods(pods), true);
    await this.#continue(one, { step: "shutdown" });
    this.#shutdowns.set(name, { startedAt: operation.startedAt ?? "", sent: false });
    return NOW;
  }

  /** A shutdown that was sent is awaited even if the node is wanted again: the machine would go down later anyway. */
  async #shutdown(one: Case, { startedAt = "" }: PowerOperation): Promise<Next> {
    const { settings } = this.#options;
    const { name, wanted, signal } = one;
    const isLate = this.#sinceStep(one) >= settings.shutdownTimeout;
    if (isLate && wanted.state === "on") return this.#beginWake(one);
    if (isLate) {
      await this.#continue(one, { step: "force" });
      return NOW;
    }
    if ((await this.#read(one)) === "off") return this.#finishSleep(one);
    const known = this.#shutdowns.get(name);
    const isUnsent = known?.startedAt === startedAt && !known.sent;
    if (wanted.state === "on") return isUnsent ? this.#giveUpSleep(one, wanted.reason, false) : settings.pollInterval;
    if (known?.startedAt === startedAt && known.sent) return settings.pollInterval;
    try {
      await this.#withSwitch(one, async (machine) => {
        await this.#mayLosePower(one);
        await machine.shutdown(signal);
      });
    } catch (error) {
      if (error instanceof NotEmpty)
        return isUnsent ? this.#giveUpSleep(one, error.message, true) : settings.pollInterval;
      // The answer may have been lost, not the shutdown.
      if (!isRefused(error)) {
        this.#shutdowns.delete(name);
        throw error;
      }
      // The machine offers no graceful shutdown.
      await this.#continue(one, { step: "force" });
      return NOW;
    }
    this.#shutdowns.set(name, { startedAt, sent: true });
    return settings.pollInterval;
  }

  async #force(one: Case): Promise<Next> {
    const { settings, reports } = this.#options;
    const { wanted, signal } = one;
    const state = await this.#read(one).catch((error: unknown) => {
      if (this.#sinceStep(one) < settings.shutdownTimeout) throw error;
      return "unknown" as const;
    });
    if (state === "off") return this.#finishSleep(one);
    if (wanted.state === "on") return this.#beginWake(one);
    if (this.#sinceStep(one) >= settings.shutdownTimeout) {
      reports.sleepFailed(one, `it is still on ${formatDuration(settings.shutdownTimeout)} after its power was cut`);
      return this.#beginWake(one, "the machine does not switch off");
    }
    try {
      await this.#withSwitch(one, async (machine) => {
        await this.#mayLosePower(one);
        await machine.forceOff(signal);
      });
    } catch (error) {
      if (!(error instanceof NotEmpty) && !isRefused(error)) throw error;
      return this.#beginWake(one, error.message);
    }
    return settings.pollInterval;
  }

  /**
   * The last check before a call that takes power away. It asks the API server, not the watches, except for one thing: the watch
   * must have shown the taint, and the count of pods must not be older than what it showed.
   */
  async #mayLosePower({ name, node, wanted, signal }: Case): Promise<void> {
    const { api, stopped, leads } = this.#options;
    if (node?.tainted !== true) throw new NotEmpty("the taint has not been observed");
    const fresh = await api.freshView(name, signal);
    if (fresh.node?.uid !== node.uid) throw new NotEmpty("the Node was deleted or replaced");
    if (!fresh.node.tainted) throw new NotEmpty("another writer removed the taint");
    const current = wantedOf(fresh, stopped());
    if (wanted.state === "off" && current.state === "on") throw new NotEmpty(current.reason);
    const pods = await api.podsOn(name, node.resourceVersion, signal);
    if (pods.length > 0) throw new NotEmpty(runsPods(pods));
    if (!leads()) throw new Error("this replica does not lead any more");
  }

  async #finishSleep(one: Case): Promise<Next> {
    const { reports } = this.#options;
    const { endpoint, now } = one;
    const { operation } = endpoint.status;
    const seconds = inSeconds(milliseconds(Math.max(0, now - Date.parse(operation?.startedAt ?? isoTime(now)))));
    await this.#write(one, {
      operation: undefined,
      powerState: "off",
      lastSleep: { at: isoTime(now), seconds, result: "succeeded" },
      cyclesToday: cyclesOn(isoTime(now), endpoint.status) + 1,
    });
    await this.#publish(one, "off");
    reports.asleep(one, seconds);
    return NOW;
  }

  /** Nothing was sent to the switch: the node stays on and only loses its taint. */
  async #giveUpSleep(one: Case, why: string, failed: boolean): Promise<Next> {
    const { api, reports, settings } = this.#options;
    const { name, signal, now, endpoint } = one;
    if (one.node?.tainted === true) await api.setTaint(name, false, signal);
    const ended = failed ? { lastSleep: { at: isoTime(now), result: "failed" as const } } : {};
    const cycles = failed ? { cyclesToday: cyclesOn(isoTime(now), endpoint.status) } : {};
    await this.#write(one, { operation: undefined, ...ended, ...cycles });
    await this.#publish(one, "on");
    if (failed) reports.sleepFailed(one, why);
    if (isTest(endpoint)) return this.#refuseTest(one, why);
    return failed ? settings.awakeAtLeast : NOW;
  }

  async #whenOff(one: Case): Promise<Next> {
    const { api } = this.#options;
    const { name, node, wanted, signal } = one;
    if (wanted.state === "on" || wanted.test) return this.#beginWake(one);
    if (node !== undefined && !node.tainted) await api.setTaint(name, true, signal);
    const isDue = node?.ready === true || this.#isRefreshDue(name);
    if (isDue && (await this.#read(one)) === "on") return this.#beginWake(one, "another hand switched the machine on");
    return this.#untilRefresh(name);
  }

  async #beginWake(one: Case, why: string = one.wanted.reason): Promise<Next> {
    const { reports } = this.#options;
    const test = one.endpoint.status.operation?.test ?? isTest(one.endpoint);
    await this.#begin(one, "wake", "on", { attempt: 1, ...(test && { test }) });
    await this.#publish(one, "waking");
    reports.waking(one, why);
    return NOW;
  }

  async #continueWake(one: Case, operation: PowerOperation): Promise<Next> {
    const { settings } = this.#options;
    const { node } = one;
    if (operation.step === "untaint") return this.#finishWake(one, operation);
    if (operation.step === "ready" && node !== undefined && isBack(one, operation)) {
      await this.#continue(one, { step: "untaint" });
      return NOW;
    }
    if (this.#sinceStep(one) >= settings.wakeTimeout) return this.#wakeTimedOut(one, operation);
    return operation.step === "ready" ? this.#awaitReady(one, operation) : this.#switchOn(one, operation);
  }

  async #switchOn(one: Case, operation: PowerOperation): Promise<Next> {
    const { settings } = this.#options;
    const { node, twin, endpoint, signal } = one;
    const state = await this.#read(one);
    const isRetry = (operation.attempt ?? 1) > 1;
    if (isRetry && state === "on" && !hasBooted(node, operation) && (await this.#cutPower(one)))
      return settings.pollInterval;
    // What is known now comes from before the boot. Only if another hand has switched on a machine that was off, a heartbeat after
    // the sleep may already be the new kubelet's.
    const { operation: _, ...rest } = endpoint.status;
    const isByHand = state === "on" && phaseOf(rest, false) === "off";
    const sleptAt = Date.parse(rest.lastSleep?.at ?? "");
    const isOld = (text: string | undefined) => !(isByHand && Date.parse(text ?? "") > sleptAt);
    const heartbeatBefore = isOld(node?.heartbeat) ? node?.heartbeat : undefined;
    const report = lastReport(twin);
    const reportBefore = isOld(report) ? report : undefined;
    const known = operation.heartbeatBefore ?? operation.reportBefore ?? operation.proves;
    const before =
      known === undefined
        ? {
            ...(heartbeatBefore !== undefined && { heartbeatBefore }),
            ...(reportBefore !== undefined && { reportBefore }),
          }
        : {};
    // Written before the call: a restarted program finds the machine on, and must still know that it was off.
    const marked = await this.#continue(one, { ...before, ...(state === "off" && { proves: true }) }, false);
    if (state !== "on") await this.#withSwitch(one, async (machine) => machine.on(signal));
    await this.#continue(marked, { step: "ready" });
    return settings.pollInterval;
  }

  /** The retry of a wake: a machine that hangs while it boots is switched off first. Returns whether it was. */
  async #cutPower(one: Case): Promise<boolean> {
    try {
      await this.#withSwitch(one, async (machine) => {
        await this.#mayLosePower(one);
        await machine.forceOff(one.signal);
      });
      return true;
    } catch (error) {
      if (error instanceof NotEmpty || isRefused(error)) return false;
      throw error;
    }
  }

  async #awaitReady(one: Case, operation: PowerOperation): Promise<Next> {
    const { settings } = this.#options;
    const state = await this.#read(one);
    // A Node that was deleted cannot be awaited; its kubelet registers it again.
    if (one.node === undefined && state === "on") return this.#finishWake(one, operation);
    if (state === "off") await this.#withSwitch(one, async (machine) => machine.on(one.signal));
    return settings.pollInterval;
  }

  async #wakeTimedOut(one: Case, { attempt = 1 }: PowerOperation): Promise<Next> {
    const { reports, settings } = this.#options;
    const { endpoint, now, node } = one;
    if (attempt < ATTEMPTS) {
      reports.wakeRetried(one);
      await this.#continue(one, { step: "on", attempt: attempt + 1 });
      return NOW;
    }
    const what = node?.ready === true ? "its agent does not report" : "it is not Ready";
    const message = `the wake failed after ${ATTEMPTS} attempts of ${formatDuration(settings.wakeTimeout)}: ${what}`;
    const proven: ConditionText = { type: "WakeProven", holds: false, reason: "WakeFailed", message };
    await this.#write(one, {
      operation: undefined,
      wakeProven: false,
      lastWake: { at: isoTime(now), result: "failed" },
      conditions: [...withCondition(this.#latest(one), proven, now)],
    });
    await this.#publish(one, "failed");
    reports.wakeFailed(one, message);
    if (isTest(endpoint)) return this.#endTest(one, { holds: false, reason: "WakeFailed", message });
    return settings.refreshInterval;
  }

  async #finishWake(one: Case, operation: PowerOperation): Promise<Next> {
    const { api, reports } = this.#options;
    const { name, node, endpoint, signal, now } = one;
    if (node !== undefined) await api.setTaint(name, false, signal);
    const seconds = inSeconds(milliseconds(Math.max(0, now - Date.parse(operation.startedAt ?? isoTime(now)))));
    const proves = operation.proves === true && node !== undefined;
    const message = `awake after ${Math.round(seconds)} s`;
    const proven: ConditionText = { type: "WakeProven", holds: true, reason: "WakeSucceeded", message };
    await this.#write(one, {
      operation: undefined,
      powerState: "on",
      lastWake: { at: isoTime(now), seconds, result: "succeeded" },
      ...(proves && { wakeProven: true, conditions: [...withCondition(this.#latest(one), proven, now)] }),
    });
    await this.#publish(one, "on");
    reports.awake(one, seconds);
    if (!isTest(endpoint)) return NOW;
    if (operation.test !== true) return NOW;
    return this.#endTest(one, proves ? { holds: true, reason: "WakeSucceeded", message } : notOff);
  }

  /** The node may still come back, and then is used again; but it sleeps only after a proven wake. */
  async #whenFailed(one: Case): Promise<Next> {
    const { api, reports, settings } = this.#options;
    const { name, node, twin, endpoint, wanted, signal, now } = one;
    const failedAt = Date.parse(endpoint.status.lastWake?.at ?? "");
    const report = lastReport(twin);
    const hasReported = report === undefined || Date.parse(report) > failedAt;
    if (node?.ready === true && hasReported) {
      await api.setTaint(name, false, signal);
      await this.#write(one, { powerState: "on", lastWake: { at: isoTime(now), result: "succeeded" } });
      await this.#publish(one, "on");
      reports.cameBack(one);
      return NOW;
    }
    if (wanted.test || (wanted.explicit && now - failedAt >= settings.wakeTimeout)) return this.#beginWake(one);
    return this.#refresh(one);
  }

  /** Without a PowerEndpoint nothing can be switched, but a node that came back is used again. */
  async #withoutEndpoint({ name, node, twin }: NodeView, signal: AbortSignal): Promise<Next> {
    const { api, settings, clock, reports } = this.#options;
    const { power } = twin?.status ?? {};
    const asleep = power !== undefined && power.state !== "on";
    if (node === undefined || !(node.tainted || asleep)) return settings.refreshInterval;
    const isBackAgain = node.ready && !(Date.parse(node.heartbeat ?? "") <= Date.parse(power?.since ?? ""));
    if (!isBackAgain) {
      reports.endpointMissing(node);
      return settings.refreshInterval;
    }
    await api.setTaint(name, false, signal);
    if (asleep) await api.writeTwinPower(name, { state: "on", since: isoTime(clock.now()) }, signal);
    return settings.refreshInterval;
  }

  async #refresh(one: Case): Promise<Next> {
    if (this.#isRefreshDue(one.name)) await this.#read(one);
    return this.#untilRefresh(one.name);
  }

  #isRefreshDue(name: string): boolean {
    const last = this.#refreshedAt.get(name);
    return last === undefined || this.#options.clock.monotonic() - last >= this.#options.settings.refreshInterval;
  }

  #untilRefresh(name: string): Next {
    const { clock, settings, random } = this.#options;
    const last = this.#refreshedAt.get(name) ?? clock.monotonic();
    const rest = last + settings.refreshInterval - clock.monotonic();
    return milliseconds(Math.max(0, rest) + jittered(milliseconds(1000), 1, random));
  }

  async #read(one: Case): Promise<SwitchState> {
    const { clock } = this.#options;
    const { name, endpoint, now } = one;
    const state = await this.#withSwitch(one, async (machine) => machine.state(one.signal));
    this.#refreshedAt.set(name, clock.monotonic());
    this.#options.reports.solved(name);
    const { powerState, failures = 0 } = endpoint.status;
    const reachable = endpoint.status.conditions?.find(({ type }) => type === "Reachable")?.status;
    if (powerState === state && failures === 0 && reachable === "True") return state;
    const message = "the switch answers";
    const condition: ConditionText = { type: "Reachable", holds: true, reason: "Answered", message };
    const changed = powerState === state ? {} : { powerState: state, observedAt: isoTime(now) };
    await this.#write(one, {
      ...changed,
      failures: 0,
      conditions: [...withCondition(this.#latest(one), condition, now)],
    });
    return state;
  }

  /** Calls the switch, unless it failed a short while ago. */
  async #withSwitch<Result>(one: Case, use: (machine: PowerSwitch) => Promise<Result>): Promise<Result> {
    const { openSwitch, clock, leads } = this.#options;
    const { name, endpoint, signal } = one;
    const rest = (this.#notBefore.get(name) ?? 0) - clock.monotonic();
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

  async #switchFailed(one: Case, error: PowerSwitchError): Promise<Next> {
    if (error instanceof Waiting) return error.rest;
    const { clock, random, reports } = this.#options;
    const { name, now } = one;
    const latest = this.#latest(one);
    const failures = (latest.failures ?? 0) + 1;
    const delay = backoffDelay(failures, SWITCH_BACKOFF, random);
    this.#notBefore.set(name, monotonicInstant(clock.monotonic() + delay));
    reports.switchFailed(one, error);
    const condition: ConditionText = {
      type: "Reachable",
      holds: false,
      reason: reasonOf(error),
      message: error.message,
    };
    const conditions = [...withCondition(latest, condition, now)];
    await this.#write(one, { failures, conditions });
    return delay;
  }

  async #refuseTest(one: Case, why: string): Promise<Next> {
    const { reports } = this.#options;
    reports.testRefused(one, why);
    return this.#endTest(one, { holds: false, reason: "TestRefused", message: `not tested: ${why}` });
  }

  async #endTest(one: Case, result: Omit<ConditionText, "type">): Promise<Next> {
    const { api } = this.#options;
    const { name, signal, now } = one;
    const conditions = [...withCondition(this.#latest(one), { type: "Tested", ...result }, now)];
    await this.#write(one, { conditions });
    // Until the watch shows that the annotation is gone, the test would begin again.
    this.#written.set(name, await api.clearTest(name, signal));
    return NOW;
  }

  async #begin(
    one: Case,
    type: PowerOperation["type"],
    step: PowerOperation["step"],
    more: Partial<PowerOperation>,
  ): Promise<void> {
    const at = isoTime(one.now);
    const test = one.wanted.test ? { test: true } : {};
    await this.#write(one, { operation: { type, step, startedAt: at, stepAt: at, ...test, ...more } });
    if (type === "sleep") await this.#publish(one, "stopping");
  }

  /** The next step of the operation. `isNewStep` restarts the time of the step. */
  async #continue(one: Case, changes: Partial<PowerOperation>, isNewStep = true): Promise<Case> {
    const operation = one.endpoint.status.operation as PowerOperation;
    const stepAt = isNewStep ? { stepAt: isoTime(one.now) } : {};
    return this.#write(one, { operation: { ...operation, ...changes, ...stepAt } });
  }

  #sinceStep({ endpoint, now }: Case): number {
    return now - Date.parse(endpoint.status.operation?.stepAt ?? isoTime(now));
  }

  /** Writes the status with these changes, and returns the case with them. */
  async #write(one: Case, changes: Partial<PowerEndpointStatus>): Promise<Case> {
    const { api } = this.#options;
    const { name, endpoint, signal } = one;
    const latest = this.#latest(one);
    const status = withoutUndefined({ ...latest, ...changes });
    if (isDeepStrictEqual(status, latest)) return { ...one, endpoint: { ...endpoint, status } };
    const written = await api.writeStatus(name, status, signal);
    this.#written.set(name, written);
    return { ...one, endpoint: { ...endpoint, status } };
  }

  async #publish({ name, twin, signal, now }: Case, state: NodePowerState): Promise<void> {
    const { api } = this.#options;
    if (twin === undefined) return;
    const { uid } = twin.metadata;
    const mine = this.#published.get(name);
    // The watch may not show the last write yet.
    const known = mine?.uid === uid ? mine?.power.state : twin.status?.power?.state;
    if (known === state || (known === undefined && state === "on")) return;
    const power = { state, since: isoTime(now) };
    if (await api.writeTwinPower(name, power, signal)) this.#published.set(name, { uid, power });
  }

  /** The newer of what the watch shows and what this program wrote. */
  #withOwnWrites(view: NodeView): NodeView {
    const { name, endpoint } = view;
    const written = this.#newerWrite(endpoint);
    if (written === undefined) this.#written.delete(name);
    return written === undefined ? view : { ...view, endpoint: written };
  }

  #newerWrite(endpoint: PowerEndpoint | undefined): PowerEndpoint | undefined {
    const written = endpoint && this.#written.get(endpoint.metadata.name);
    if (written === undefined || written.metadata.uid !== endpoint?.metadata.uid) return undefined;
    const { resourceVersion = "" } = endpoint?.metadata ?? {};
    return comesAfter(written.metadata.resourceVersion ?? "", resourceVersion) === true ? written : undefined;
  }

  /** The status including the writes of this pass. */
  #latest({ endpoint }: Case): PowerEndpointStatus {
    return this.#newerWrite(endpoint)?.status ?? endpoint.status;
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

const notOff = { holds: false, reason: "NotOff", message: "the machine was not off, so the wake is not proven" };

const isTest = ({ metadata }: PowerEndpoint): boolean => metadata.annotations?.[annotations.testPower] !== undefined;

const isRefused = (error: unknown): error is PowerSwitchError =>
  error instanceof PowerSwitchError && error.kind === "refused";

const runsPods = (pods: readonly string[]): string =>
  `${pods.length} pods are on the node: ${pods.slice(0, 3).join(", ")}${pods.length > 3 ? ", …" : ""}`;

/** Whether the kubelet and the agent have reported since the machine was switched on. */
function isBack({ node, twin }: Case, operation: PowerOperation): boolean {
  const { reportBefore } = operation;
  if (!hasBooted(node, operation)) return false;
  if (twin === undefined || reportBefore === undefined) return true;
  const report = lastReport(twin);
  return report !== undefined && report !== reportBefore;
}

/** A node stays Ready for almost a minute after its last heartbeat, so only a new heartbeat counts. */
const hasBooted = (node: ObservedNode | undefined, { heartbeatBefore }: PowerOperation): boolean =>
  node?.ready === true && (heartbeatBefore === undefined || node.heartbeat !== heartbeatBefore);

function withoutUndefined<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
}

const reasonOf = ({ kind }: PowerSwitchError): string =>
  kind.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
