import {
  asleepTaint,
  type NodePowerState,
  type PowerEndpoint,
  type WantedPowerState,
} from "../../../core/api/index.ts";
import { POWER_STATES } from "../../../core/power/index.ts";
import { isoTime, type RandomSource, seconds } from "../../../core/units/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import type { ClusterMachine } from "./machines.ts";
import { instantAt } from "./settings.ts";
import type { SimulatedCluster } from "./simulated-cluster.ts";
import type { SimulatedSnapshot } from "./simulated-snapshot.ts";

/** From a written target to the power program's first action, and for each of its writes. */
const ACT_SEC = 1;
/** SLEEP_SETTLE and SWITCH_POLL_INTERVAL of the power program. */
const SETTLE_SEC = 10;
const POLL_SEC = 10;
/** From a Ready node to the first report of its agent. */
const REPORT_SEC = 20;
/** WAKE_TIMEOUT of the power program. Users whose machines boot more slowly set a longer one. */
const WAKE_TIMEOUT_SEC = 900;
const TIMEOUT_BOOTS = 2;
/** A sleep that was given up because a pod was there is tried again after this time. */
const RETRY_SLEEP_SEC = 300;

/** What the program does next with a node. */
type Action = "taint" | "count" | "observeOff" | "switchOn" | "timeout" | "untaint" | "repair";

interface PoweredNode {
  readonly index: number;
  readonly name: string;
  readonly boots: RandomSource;
  wanted: WantedPowerState;
  state: NodePowerState;
  /** Infinity = nothing to do. */
  at: number;
  action: Action;
  startedAt: number;
  attempt: number;
  notBefore: number;
  endpoint: PowerEndpoint;
}

export interface SimulatedPowerOptions {
  readonly seed: number;
  /** The share of boots that fail. */
  readonly failedBoots: number;
  /** The taint of a node, or the power in its twin, has changed. */
  readonly onChange: (node: number, isUntainted: boolean) => void;
}

/**
 * The steps of `joulie power` with its latencies: taint, settle, count pods, shut down; switch on, Ready, report of the agent,
 * untaint. Whether the n-th boot of a node fails depends on the seed alone, so all arms have the same failures.
 */
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
  #nextAt = Number.POSITIVE_INFINITY;

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
      at: Number.POSITIVE_INFINITY,
      action: "taint",
      startedAt: 0,
      attempt: 1,
      notBefore: 0,
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
    if (node.state === "on") this.#plan(node, "taint", Math.max(now + ACT_SEC, node.notBefore));
    // The machine still runs: it only loses its taint.
    else if (node.state === "stopping" && node.action === "count") this.#plan(node, "untaint", now + ACT_SEC);
    else if (node.state === "off") this.#plan(node, "switchOn", now + ACT_SEC);
  }

  /** Takes all steps that are due. */
  advance(now: number): void {
    for (const node of this.#nodes) if (node.at <= now) this.#act(node, now);
    this.#refresh();
  }

  /** The machine ended its shutdown or its boot. */
  switched(index: number, power: NodePowerState, now: number): void {
    const node = this.#nodes[index] as PoweredNode;
    if (power === "off") {
      this.#setReady(node, false);
      this.#plan(node, "observeOff", now + POLL_SEC);
    } else if (power === "on") {
      this.#setReady(node, true);
      this.#plan(node, "untaint", now + REPORT_SEC + ACT_SEC);
    } else {
      this.failures++;
      this.#plan(node, "timeout", Math.max(now, node.startedAt + this.#wakeTimeout(node)));
    }
  }

  #wakeTimeout({ index }: PoweredNode): number {
    return Math.max(WAKE_TIMEOUT_SEC, TIMEOUT_BOOTS * this.#site.bootSecondsOf(index));
  }

  #act(node: PoweredNode, now: number): void {
    const { action } = node;
    node.at = Number.POSITIVE_INFINITY;
    if (action === "taint") this.#taint(node, now);
    else if (action === "count") this.#shutDown(node, now);
    else if (action === "observeOff") this.#observeOff(node, now);
    else if (action === "switchOn") this.#switchOn(node, now);
    else if (action === "untaint") this.#finishWake(node, now);
    else if (action === "timeout") this.#timeOut(node, now);
    else this.#repair(node, now);
  }

  #taint(node: PoweredNode, now: number): void {
    if (node.wanted !== "off") return;
    this.#setTaint(node, true);
    this.#setState(node, "stopping");
    node.startedAt = now;
    this.#plan(node, "count", now + SETTLE_SEC);
  }

  #shutDown(node: PoweredNode, now: number): void {
    if (this.#site.jobsOn(node.index) > 0) {
      node.notBefore = now + RETRY_SLEEP_SEC;
      this.#setTaint(node, false);
      this.#setState(node, "on");
      if (node.wanted === "off") this.#plan(node, "taint", node.notBefore);
      return;
    }
    this.#site.switchPower(node.index, "shutDown", now);
    // From now on the machine cannot be called back before it is off.
    node.action = "observeOff";
    this.#onChange(node.index, false);
  }

  #observeOff(node: PoweredNode, now: number): void {
    this.sleeps++;
    const at = isoTime(instantAt(now));
    const { lastSleep, cyclesToday = 0 } = node.endpoint.status ?? {};
    const isSameDay = lastSleep?.at.slice(0, 10) === at.slice(0, 10);
    this.#report(node, {
      lastSleep: { at, seconds: seconds(now - node.startedAt), result: "succeeded" },
      cyclesToday: (isSameDay ? cyclesToday : 0) + 1,
    });
    this.#setState(node, "off");
    node.attempt = 1;
    if (node.wanted === "on") this.#plan(node, "switchOn", now + ACT_SEC);
  }

  #switchOn(node: PoweredNode, now: number): void {
    node.startedAt = now;
    const fails = node.boots.next() < this.#failedBoots;
    this.#site.switchPower(node.index, fails ? "failToSwitchOn" : "switchOn", now);
    this.#setState(node, "waking");
  }

  #finishWake(node: PoweredNode, now: number): void {
    const isWake = node.state === "waking";
    const at = isoTime(instantAt(now));
    // A node that came back after a failed wake is used, but its wake is not proven.
    if (isWake) this.#report(node, { lastWake: { at, seconds: seconds(now - node.startedAt), result: "succeeded" } });
    this.#setTaint(node, false);
    this.#setState(node, "on");
    if (node.wanted === "off") this.#plan(node, "taint", now + ACT_SEC);
  }

  /** The wake is tried once more with a power cycle. Then it has failed. */
  #timeOut(node: PoweredNode, now: number): void {
    if (node.attempt === 1) {
      node.attempt = 2;
      this.#site.switchPower(node.index, "cutPower", now);
      this.#plan(node, "switchOn", now + POLL_SEC);
      return;
    }
    const at = isoTime(instantAt(now));
    this.#report(node, {
      wakeProven: false,
      lastWake: { at, seconds: seconds(now - node.startedAt), result: "failed" },
    });
    this.#setState(node, "failed");
    this.#plan(node, "repair", now + POWER_STATES.repair.value);
  }

  #repair(node: PoweredNode, now: number): void {
    this.#site.switchPower(node.index, "cutPower", now);
    this.#site.switchPower(node.index, "switchOn", now);
  }

  #plan(node: PoweredNode, action: Action, at: number): void {
    node.action = action;
    node.at = at;
    this.#nextAt = Math.min(this.#nextAt, at);
  }

  #refresh(): void {
    this.#nextAt = Number.POSITIVE_INFINITY;
    for (const { at } of this.#nodes) if (at < this.#nextAt) this.#nextAt = at;
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
