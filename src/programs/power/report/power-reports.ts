import { apiVersion, type ErrorCode, type NodePowerState, powerEndpointKind } from "../../../core/api/index.ts";
import type { Seconds } from "../../../core/units/index.ts";
import type { EventNote, EventRecorder } from "../../../platform/kube/index.ts";
import type { Logger } from "../../../platform/log/index.ts";
import type { ProgramMetrics } from "../../../platform/metrics/index.ts";
import type { PowerSwitchError } from "../../../platform/switch/index.ts";
import type { NodeView, ObservedNode } from "../watch/cluster-view.ts";
import { definitions } from "./metrics.ts";

const WAKE_FAILED: ErrorCode = "JOULIE_E_WAKE_FAILED";

export interface PowerReportsOptions {
  readonly metrics: ProgramMetrics;
  readonly recorder: Pick<EventRecorder, "record">;
  readonly log: Logger;
  readonly leading: () => boolean;
}

export class PowerReports {
  readonly #options: PowerReportsOptions;
  readonly #state;
  readonly #sleeps;
  readonly #wakes;
  readonly #wakeSeconds;
  readonly #switchErrors;
  readonly #problems = new Map<string, string>();

  constructor(options: PowerReportsOptions) {
    const { metrics, leading } = options;
    this.#options = options;
    this.#state = metrics.nodes.states(definitions.state);
    this.#sleeps = metrics.counter(definitions.sleeps);
    this.#wakes = metrics.counter(definitions.wakes);
    this.#wakeSeconds = metrics.histogram(definitions.wakeSeconds);
    this.#switchErrors = metrics.counter(definitions.switchErrors);
    metrics.reading(definitions.leading, () => Number(leading()));
  }

  phase(name: string, phase: NodePowerState): void {
    const { metrics } = this.#options;
    this.#state.set(metrics.nodes.join(name), phase);
  }

  forget(name: string): void {
    this.#options.metrics.nodes.leave(name);
    this.#problems.delete(name);
  }

  asleep(view: NodeView, seconds: Seconds): void {
    this.#sleeps.inc({ result: "succeeded" });
    this.#report(view, "Normal", "NodeAsleep", "Sleep", `switched off after ${Math.round(seconds)} s`);
  }

  /** Nothing was begun. The Event is repeated while it lasts, and the recorder counts the repeats. */
  sleepDelayed(view: NodeView, why: string): void {
    this.#announce(view, {
      type: "Normal",
      reason: "SleepDelayed",
      action: "Sleep",
      note: `the node stays on: ${why}`,
      series: why,
    });
  }

  sleepFailed(view: NodeView, why: string): void {
    this.#sleeps.inc({ result: "failed" });
    this.#report(view, "Warning", "SleepGivenUp", "Sleep", `the node stays on: ${why}`);
  }

  waking(view: NodeView, why: string): void {
    this.#report(view, "Normal", "NodeWaking", "Wake", `switching on: ${why}`);
  }

  wakeRetried(view: NodeView): void {
    this.#report(view, "Warning", "WakeRetried", "Wake", "the node did not come back in time; trying once more");
  }

  awake(view: NodeView, seconds: Seconds, hasBooted: boolean): void {
    this.#wakes.inc({ result: "succeeded" });
    if (hasBooted) this.#wakeSeconds.observe(seconds);
    this.#report(view, "Normal", "NodeAwake", "Wake", `pods may run again after ${Math.round(seconds)} s`);
  }

  wakeFailed(view: NodeView, message: string): void {
    this.#wakes.inc({ result: "failed" });
    this.#options.log.error({ code: WAKE_FAILED, node: view.name }, message);
    const remedy = `it sleeps no more until \`joulie power test ${view.name}\` proves a wake`;
    this.#report(view, "Warning", "WakeFailed", "Wake", `${message}; ${remedy}`);
  }

  notRestarted(view: NodeView, message: string): void {
    this.#wakes.inc({ result: "failed" });
    this.#report(view, "Warning", "NotRestarted", "Wake", `${message}; correct its spec`);
  }

  /** `switchFailed` has logged it. */
  wrongMachine(view: NodeView, note: string): void {
    this.#announce(view, { type: "Warning", reason: "WrongMachine", action: "Inspect", note });
  }

  cameBack(view: NodeView): void {
    const note = "the node came back after a failed wake; pods may run again, but it does not sleep";
    this.#report(view, "Normal", "NodeAwake", "Wake", note);
  }

  testRefused(view: NodeView, why: string): void {
    this.#report(view, "Warning", "TestRefused", "Test", `the wake is not tested: ${why}`);
  }

  endpointMissing(node: ObservedNode): void {
    const note =
      "the node is asleep, but its PowerEndpoint does not exist; switch the machine on, or create the object again";
    this.#publish(subjectOf(node), { type: "Warning", reason: "PowerEndpointMissing", action: "Wake", note });
  }

  switchFailed({ name }: NodeView, { kind, message, code }: PowerSwitchError): void {
    this.#switchErrors.inc({ reason: kind });
    this.problem(name, message, code);
  }

  /** Logs a problem once, until it changes or is over. */
  problem(name: string, message: string, code?: ErrorCode): void {
    if (this.#problems.get(name) === message) return;
    this.#problems.set(name, message);
    this.#options.log.warn({ node: name, ...(code !== undefined && { code }) }, message);
  }

  solved(name: string): void {
    this.#problems.delete(name);
  }

  #report(view: NodeView, type: EventNote["type"], reason: string, action: string, note: string): void {
    this.#options.log[type === "Warning" ? "warn" : "info"]({ node: view.name }, note);
    this.#announce(view, { type, reason, action, note });
  }

  #announce({ name, node, endpoint }: NodeView, message: Omit<EventNote, "regarding">): void {
    if (node !== undefined) this.#publish(subjectOf(node), message);
    const { uid } = endpoint?.metadata ?? {};
    const subject = { apiVersion, kind: powerEndpointKind.kind, name, ...(uid !== undefined && { uid }) };
    if (endpoint !== undefined) this.#publish(subject, message);
  }

  #publish(regarding: EventNote["regarding"], message: Omit<EventNote, "regarding">): void {
    this.#options.recorder.record({ regarding, ...message });
  }
}

const subjectOf = ({ name, uid }: ObservedNode) => ({ apiVersion: "v1", kind: "Node", name, uid });
