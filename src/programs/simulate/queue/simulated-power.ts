import {
  asleepTaint,
  cyclesOn,
  type NodePowerState,
  type OperationStep,
  type PowerEndpoint,
  type WantedPowerState,
} from "../../../core/api/index.ts";
import { POWER_STATES } from "../../../core/power/index.ts";
import {
  DEFAULT_STEP_LIMITS,
  nextSleepMove,
  nextWakeMove,
  restBeforeSleep,
  type SleepFacts,
  type StepLimits,
} from "../../../core/sleep/index.ts";
import { isoTime, milliseconds, type RandomSource, seconds } from "../../../core/units/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import type { ClusterMachine } from "./machines.ts";
import { instantAt } from "./settings.ts";
import type { SimulatedCluster } from "./simulated-cluster.ts";
import type { SimulatedSnapshot } from "./simulated-snapshot.ts";

/** From a written target to the power program's first action, and for each of its writes. */
const ACT_SEC = 1;
/** From a Ready node to the first report of its agent. */
const REPORT_SEC = 20;
/** Users whose machines boot slowly set a WAKE_TIMEOUT of at least this many boots. */
const TIMEOUT_BOOTS = 2;

const LIMITS = DEFAULT_STEP_LIMITS;
const POLL_SEC = LIMITS.pollInterval / 1000;

interface PoweredNode {
  readonly index: number;
  readonly name: string;
  readonly boots: RandomSource;
  wanted: WantedPowerState;
  state: NodePowerState;
  step: OperationStep;
  stepAt: number;
  /** When the program looks at the node next; Infinity = when the machine has switched. */
  at: number;
  startedAt: number;
  attempt: number;
  /** Whether the shutdown was sent. */
  isSent: boolean;
  endpoint: PowerEndpoint;
}

export interface SimulatedPowerOptions {
  readonly seed: number;
  readonly failedBoots: number;
  /** The taint of a node, or the power in its twin, has changed. */
  readonly onChange: (node: number, isUntainted: boolean) => void;
}

/** The steps of `joulie power` with its latencies. All arms of a seed have the same failed boots. */
export class SimulatedPowerProgram {
  readonly #nodes: readonly PoweredNode[];
  readonly #site: SimulatedCluster;
  readonly #snapshot: SimulatedSnapshot;
  readonly #failedBoots: number;
  readonly #onChange: SimulatedPowerOptions["onChange"];
  readonly #byName: ReadonlyMap<string, PoweredNode>;
  /** Sleeps that reached off, and boots that failed. */
  sleeps = 0;
  failures = 0;
  #nextAt = Infinity;

  constructor(
    machines: readonly ClusterMachine[],
    site: SimulatedCluster,
    snapshot: SimulatedSnapshot,
    { seed, failedBoots, onChange }: SimulatedPowerOptions,
  ) {
    this.#site = site;
    this.#snapshot = snapshot;
    this.#failedBoots = failedBoots;
    this.#onChange = onChange;
    // A stream of its own: the jobs and ties of a seed stay the same.
    const streams = seededRandom(seed + 0.375);
    this.#nodes = machines.map(({ name, model }, index) => ({
      index,
      name,
      boots: seededRandom(streams.next()),
      wanted: "on",
      state: "on",
      at: Infinity,
      step: "taint",
      stepAt: 0,
      startedAt: 0,
      attempt: 1,
      isSent: false,
      // As `joulie power test` leaves it.
      endpoint: provenEndpoint(name, model.states.bootTime + REPORT_SEC + ACT_SEC),
    }));
    this.#byName = new Map(this.#nodes.map((node) => [node.name, node]));
  }

  /** When the program does something next. */
  get nextAt(): number {
    return this.#nextAt;
  }

  /** Whether a sleeping node satisfies the condition. */
  hasAsleep(fits: (node: number) => boolean): boolean {
    return this.#nodes.some(({ index, wanted, state }) => wanted === "off" && state !== "failed" && fits(index));
  }

  endpoint(name: string): PowerEndpoint | undefined {
    return this.#byName.get(name)?.endpoint;
  }

  /** The operator wrote another `spec.power`. */
  want(name: string, wanted: WantedPowerState, now: number): void {
    const node = this.#byName.get(name);
    if (node === undefined || node.wanted === wanted) return;
    node.wanted = wanted;
    if (node.state === "on") this.#lookAt(node, now + ACT_SEC);
    // A machine that was sent nothing still runs: it only loses its taint.
    else if (node.state === "off" || (node.state === "stopping" && !node.isSent)) this.#lookAt(node, now + ACT_SEC);
  }

  /** Takes all steps that are due. */
  advance(now: number): void {
    for (const node of this.#nodes) if (node.at <= now) this.#look(node, now);
    this.#nextAt = Infinity;
    for (const { at } of this.#nodes) if (at < this.#nextAt) this.#nextAt = at;
  }

  /** The machine ended its shutdown or its boot. */
  switched(index: number, power: NodePowerState, now: number): void {
    const node = this.#nodes[index] as PoweredNode;
    if (power === "off") {
      this.#setReady(node, false);
      this.#lookAt(node, now + POLL_SEC);
    } else if (power === "on") {
      this.#setReady(node, true);
      this.#lookAt(node, now + REPORT_SEC + ACT_SEC);
    } else {
      this.failures++;
      this.#lookAt(node, Math.max(now, node.stepAt + this.#limitsOf(node).wakeTimeout / 1000));
    }
  }

  #limitsOf({ index }: PoweredNode): StepLimits {
    const boots = TIMEOUT_BOOTS * this.#site.bootSecondsOf(index);
    return { ...LIMITS, wakeTimeout: milliseconds(Math.max(LIMITS.wakeTimeout, boots * 1000)) };
  }

  #look(node: PoweredNode, now: number): void {
    node.at = Infinity;
    if (node.state === "on" && node.wanted === "off") {
      const rest = restBeforeSleep(node.endpoint.status ?? {}, instantAt(now), LIMITS);
      if (rest > 0) this.#lookAt(node, now + rest / 1000);
      else this.#begin(node, "stopping", "taint", now);
    }
    if (node.state === "off" && node.wanted === "on") this.#begin(node, "waking", "on", now);
    if (node.state === "stopping") this.#sleep(node, now);
    else if (node.state === "waking") this.#wake(node, now);
    else if (node.state === "failed") this.#afterFailure(node, now);
  }

  #begin(node: PoweredNode, state: "stopping" | "waking", step: OperationStep, now: number): void {
    if (state === "stopping") this.#setTaint(node, true);
    this.#setState(node, state);
    node.startedAt = now;
    node.attempt = 1;
    node.isSent = false;
    this.#goTo(node, step, now);
  }

  #goTo(node: PoweredNode, step: OperationStep, now: number): void {
    node.step = step;
    node.stepAt = now;
  }

  /** What the power program would observe of a node: its switch answers at once, and its watches are never late. */
  #factsOf({ index, stepAt }: PoweredNode, now: number) {
    const power = this.#site.powerOf(index);
    return {
      exists: true,
      sinceStep: milliseconds(Math.round((now - stepAt) * 1000)),
      machine: power === "off" ? ("off" as const) : ("on" as const),
      isOn: power === "on",
    };
  }

  #sleep(node: PoweredNode, now: number): void {
    const occupied = this.#site.jobsOn(node.index) > 0 ? "jobs run on it" : undefined;
    const facts: SleepFacts = {
      ...this.#factsOf(node, now),
      wanted: node.wanted,
      reason: "the operator wants it",
      tainted: true,
      sent: { shutdown: node.isSent ? "yes" : "no", forceOff: "no" },
      pods: { occupied },
    };
    const next = nextSleepMove(node.step, facts, LIMITS);
    if (next.move === "goTo") {
      this.#goTo(node, next.step, now);
      this.#sleep(node, now);
    } else if (next.move === "wait" && !node.isSent) this.#lookAt(node, now + next.time / 1000);
    else if (next.move === "send") {
      node.isSent = true;
      this.#site.switchPower(node.index, "shutDown", now);
      this.#onChange(node.index, false);
    } else if (next.move === "giveUp") this.#giveUp(node, next.failed, now);
    else if (next.move === "finish") this.#fallAsleep(node, now);
  }

  #giveUp(node: PoweredNode, failed: boolean, now: number): void {
    const at = isoTime(instantAt(now));
    const cyclesToday = cyclesOn(at, node.endpoint.status);
    if (failed) this.#report(node, { lastSleep: { at, result: "failed" }, cyclesToday });
    this.#useAgain(node, now);
  }

  #fallAsleep(node: PoweredNode, now: number): void {
    this.sleeps++;
    const at = isoTime(instantAt(now));
    this.#report(node, {
      lastSleep: { at, seconds: seconds(now - node.startedAt), result: "succeeded" },
      cyclesToday: cyclesOn(at, node.endpoint.status) + 1,
    });
    this.#setState(node, "off");
    if (node.wanted === "on") this.#lookAt(node, now + ACT_SEC);
  }

  #wake(node: PoweredNode, now: number): void {
    const { attempt } = node;
    const { isOn, ...facts } = this.#factsOf(node, now);
    const next = nextWakeMove(node.step, { ...facts, attempt, hasBooted: isOn, isBack: isOn }, this.#limitsOf(node));
    if (next.move === "goTo") {
      this.#goTo(node, next.step, now);
      this.#wake(node, now);
    } else if (next.move === "switchOn") this.#switchOn(node, now);
    else if (next.move === "cutPower") {
      this.#site.switchPower(node.index, "cutPower", now);
      this.#lookAt(node, now + POLL_SEC);
    } else if (next.move === "tryAgain") {
      node.attempt++;
      this.#goTo(node, "on", now);
      this.#wake(node, now);
    } else if (next.move === "fail") this.#fail(node, now);
    else if (next.move === "finish") {
      const took = seconds(now - node.startedAt);
      this.#report(node, { lastWake: { at: isoTime(instantAt(now)), seconds: took, result: "succeeded" } });
      this.#useAgain(node, now);
    }
  }

  #switchOn(node: PoweredNode, now: number): void {
    // As a boot of this attempt takes.
    node.startedAt = now;
    const fails = node.boots.next() < this.#failedBoots;
    this.#site.switchPower(node.index, fails ? "failToSwitchOn" : "switchOn", now);
    this.#onChange(node.index, false);
    this.#goTo(node, "ready", now);
  }

  #fail(node: PoweredNode, now: number): void {
    const at = isoTime(instantAt(now));
    this.#report(node, {
      wakeProven: false,
      lastWake: { at, seconds: seconds(now - node.startedAt), result: "failed" },
    });
    this.#setState(node, "failed");
    this.#lookAt(node, now + POWER_STATES.repair);
  }

  /** A person repairs the machine. Then the node is used again, but its wake is not proven. */
  #afterFailure(node: PoweredNode, now: number): void {
    if (this.#site.powerOf(node.index) === "on") {
      this.#useAgain(node, now);
      return;
    }
    this.#site.switchPower(node.index, "cutPower", now);
    this.#site.switchPower(node.index, "switchOn", now);
  }

  #useAgain(node: PoweredNode, now: number): void {
    this.#setTaint(node, false);
    this.#setState(node, "on");
    if (node.wanted === "off") this.#lookAt(node, now + ACT_SEC);
  }

  #lookAt(node: PoweredNode, at: number): void {
    node.at = at;
    this.#nextAt = Math.min(this.#nextAt, at);
  }

  #report(node: PoweredNode, status: NonNullable<PowerEndpoint["status"]>): void {
    node.endpoint = { ...node.endpoint, status: { ...node.endpoint.status, ...status } };
  }

  #setState(node: PoweredNode, state: NodePowerState): void {
    node.state = state;
    this.#snapshot.writePower(node.name, { state });
    this.#onChange(node.index, false);
  }

  #setTaint({ index, name }: PoweredNode, isTainted: boolean): void {
    const before = this.#snapshot.node(name);
    if (before === undefined) return;
    this.#snapshot.writeNode({ ...before, spec: { ...before.spec, taints: isTainted ? [asleepTaint] : [] } });
    if (this.#site.tainted !== undefined) this.#site.tainted[index] = isTainted ? 1 : 0;
    if (!isTainted) this.#onChange(index, true);
  }

  #setReady({ name }: PoweredNode, isReady: boolean): void {
    const before = this.#snapshot.node(name);
    if (before === undefined) return;
    const conditions = [{ type: "Ready", status: isReady ? "True" : "Unknown" }];
    this.#snapshot.writeNode({ ...before, status: { ...before.status, conditions } });
  }
}

const provenEndpoint = (name: string, wakeSeconds: number): PowerEndpoint => ({
  metadata: { name },
  spec: { nodeName: name, webhook: { url: "https://power.example/{node}" } },
  status: {
    wakeProven: true,
    lastWake: { at: isoTime(instantAt(0)), seconds: seconds(wakeSeconds), result: "succeeded" },
  },
});
