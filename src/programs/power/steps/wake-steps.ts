import type { PowerOperation, SwitchState } from "../../../core/api/index.ts";
import { nextWakeMove, WAKE_ATTEMPTS, type WakeFacts } from "../../../core/sleep/index.ts";
import { formatDuration, seconds } from "../../../core/units/index.ts";
import type { StatusWriter } from "../api/status-writer.ts";
import { isRefused, type MachineCaller } from "../machine/machine-caller.ts";
import { NotEmpty } from "../machine/power-loss-guard.ts";
import { lastReport, type ObservedNode } from "../watch/cluster-view.ts";
import { type ConditionText, endAfter, phaseOf, withConditions } from "./endpoint-status.ts";
import { isTest, type Next, NOW, type NodeCase, type NodeReconcilerOptions, sinceStart } from "./node-case.ts";
import type { WakeTest } from "./wake-test.ts";

export interface WakeParts {
  readonly status: StatusWriter;
  readonly machines: MachineCaller;
  readonly test: WakeTest;
}

export class WakeSteps {
  readonly #options: Pick<NodeReconcilerOptions, "api" | "settings" | "reports">;
  readonly #parts: WakeParts;

  constructor(options: Pick<NodeReconcilerOptions, "api" | "settings" | "reports">, parts: WakeParts) {
    this.#options = options;
    this.#parts = parts;
  }

  async begin(nodeCase: NodeCase, why: string = nodeCase.wanted.reason): Promise<Next> {
    const { status } = this.#parts;
    const test = nodeCase.endpoint.status.operation?.test ?? isTest(nodeCase.endpoint);
    await status.begin(nodeCase, "wake", "on", { attempt: 1, ...(test && { test }) });
    await status.publish(nodeCase, "waking");
    this.#options.reports.waking(nodeCase, why);
    return NOW;
  }

  async continue(nodeCase: NodeCase, operation: PowerOperation): Promise<Next> {
    const { settings } = this.#options;
    const { status, machines } = this.#parts;
    let facts: WakeFacts = {
      exists: nodeCase.node !== undefined,
      sinceStep: nodeCase.sinceStep,
      attempt: operation.attempt ?? 1,
      hasBooted: hasBooted(nodeCase.node, operation),
      isBack: isBack(nodeCase, operation),
    };
    let next = nextWakeMove(operation.step, facts, settings);
    if (next.move === "readSwitch") {
      facts = { ...facts, machine: await machines.read(nodeCase) };
      next = nextWakeMove(operation.step, facts, settings);
    }
    switch (next.move) {
      case "readSwitch":
        throw new Error("the switch was read already");
      case "wait":
        return next.time;
      case "goTo":
        await status.continue(nodeCase, { step: next.step });
        return NOW;
      case "cutPower":
        return (await this.#cutPower(nodeCase))
          ? settings.pollInterval
          : this.#switchOn(nodeCase, operation, facts.machine);
      case "switchOn":
        if (operation.step !== "ready") return this.#switchOn(nodeCase, operation, facts.machine);
        await machines.on(nodeCase);
        return settings.pollInterval;
      case "tryAgain":
        this.#options.reports.wakeRetried(nodeCase);
        await status.continue(nodeCase, { step: "on", attempt: facts.attempt + 1 });
        return NOW;
      case "fail":
        return this.#fail(nodeCase);
      case "finish":
        break;
    }
    return this.#finish(nodeCase, operation);
  }

  /** The first switch-on of an attempt. What it can prove is written before the call. */
  async #switchOn(nodeCase: NodeCase, operation: PowerOperation, state: SwitchState | undefined): Promise<Next> {
    const { status, machines } = this.#parts;
    const { node, twin, endpoint } = nodeCase;
    // What is known now comes from before the boot. Only if a person has switched on a machine that was off, a heartbeat after
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
    const isProof = state === "off" && (node?.ready !== true || phaseOf(rest, false) === "off");
    const marked = await status.continue(nodeCase, { ...before, ...(isProof && proofOf(nodeCase)) }, false);
    if (state !== "on") await machines.on(nodeCase);
    await status.continue(marked, { step: "ready" });
    return this.#options.settings.pollInterval;
  }

  /** The retry of a wake: a machine that hangs while it boots is switched off first. Returns whether it was. */
  async #cutPower(nodeCase: NodeCase): Promise<boolean> {
    try {
      await this.#parts.machines.takePower(nodeCase, "forceOff");
      return true;
    } catch (error) {
      if (error instanceof NotEmpty || isRefused(error)) return false;
      throw error;
    }
  }

  async #fail(nodeCase: NodeCase): Promise<Next> {
    const { reports, settings } = this.#options;
    const { status, test } = this.#parts;
    const { endpoint, now, node } = nodeCase;
    const what = node?.ready === true ? "its agent does not report" : "it is not Ready";
    const message = `the wake failed after ${WAKE_ATTEMPTS} attempts of ${formatDuration(settings.wakeTimeout)}: ${what}`;
    const proven: ConditionText = { type: "WakeProven", holds: false, reason: "WakeFailed", message };
    await status.write(nodeCase, {
      operation: undefined,
      wakeProven: false,
      lastWake: { at: endAfter(endpoint.status.lastSleep, now), result: "failed" },
      conditions: withConditions(status.latest(nodeCase), [proven], now),
    });
    await status.publish(nodeCase, "failed");
    reports.wakeFailed(nodeCase, message);
    if (isTest(endpoint)) return test.end(nodeCase, { holds: false, reason: "WakeFailed", message });
    return settings.refreshInterval;
  }

  async #finish(nodeCase: NodeCase, operation: PowerOperation): Promise<Next> {
    const { api, reports } = this.#options;
    const { status, test } = this.#parts;
    const { name, node, endpoint, signal, now } = nodeCase;
    if (node !== undefined) await api.setTaint(name, false, signal);
    const took = seconds(sinceStart(nodeCase, operation));
    const isSameBoot = operation.bootBefore !== undefined && operation.bootBefore === node?.bootId;
    const { generation } = endpoint.metadata;
    const isSameSpec = operation.generation === generation;
    // Otherwise the machine was on already, or belongs to another node: the time is not that of a boot.
    const hasBootedNow = operation.proves === true && node !== undefined && !isSameBoot;
    const proves = hasBootedNow && isSameSpec;
    const message = `awake after ${Math.round(took)} s`;
    const proven: ConditionText = isSameBoot
      ? { type: "WakeProven", ...notRestarted }
      : { type: "WakeProven", holds: true, reason: "WakeSucceeded", message };
    await status.write(nodeCase, {
      operation: undefined,
      powerState: "on",
      lastWake: {
        at: endAfter(endpoint.status.lastSleep, now),
        ...(hasBootedNow && { seconds: seconds(Math.round(took)) }),
        result: "succeeded",
      },
      ...((proves || isSameBoot) && {
        wakeProven: proves,
        ...(proves && generation !== undefined && { provenGeneration: generation }),
        conditions: withConditions(status.latest(nodeCase), [proven], now),
      }),
    });
    await status.publish(nodeCase, "on");
    if (isSameBoot) reports.notRestarted(nodeCase, notRestarted.message);
    else reports.awake(nodeCase, took, hasBootedNow);
    if (!isTest(endpoint) || operation.test !== true) return NOW;
    if (isSameBoot) return test.end(nodeCase, notRestarted);
    return test.end(nodeCase, proves ? { holds: true, reason: "WakeSucceeded", message } : notOff);
  }
}

/** A wake proves nothing about a node that is Ready before it. A webhook may switch less than the machine. */
const proofOf = ({ node, endpoint: { metadata, spec } }: NodeCase): Partial<PowerOperation> => ({
  proves: true,
  ...(metadata.generation !== undefined && { generation: metadata.generation }),
  ...(spec.webhook === undefined && node?.bootId !== undefined && { bootBefore: node.bootId }),
});

const notRestarted = {
  holds: false,
  reason: "NotRestarted",
  message: "the machine was off, but the node did not restart: the PowerEndpoint belongs to another machine",
};
const notOff = { holds: false, reason: "NotOff", message: "the machine was not off, so the wake is not proven" };

/** Whether the kubelet and the agent have reported since the machine was switched on. */
function isBack({ node, twin }: NodeCase, operation: PowerOperation): boolean {
  const { reportBefore } = operation;
  if (!hasBooted(node, operation)) return false;
  if (twin === undefined || reportBefore === undefined) return true;
  const report = lastReport(twin);
  return report !== undefined && report !== reportBefore;
}

/** A node stays Ready for almost a minute after its last heartbeat, so only a new heartbeat counts. */
const hasBooted = (node: ObservedNode | undefined, { heartbeatBefore }: PowerOperation): boolean =>
  node?.ready === true && (heartbeatBefore === undefined || node.heartbeat !== heartbeatBefore);
