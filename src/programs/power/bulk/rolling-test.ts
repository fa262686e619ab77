import { annotations, asleepTaint, isWakeProven, type Node } from "../../../core/api/index.ts";
import { hasControlPlaneRole } from "../../../core/sleep/index.ts";
import { isoTime, type Milliseconds, milliseconds, type RandomSource } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { type KubeClient, type KubeObject, plainReason, resources } from "../../../platform/kube/index.ts";
import { testWake } from "../requests.ts";
import { readEndpoint } from "../watch/cluster-view.ts";
import { cordon, drain, type MovablePod, podsToMove, uncordon, whyStuck } from "./drain.ts";
import { nextTests, obstacleOf, type QueueLimits, type TestCandidate } from "./test-queue.ts";

export interface RollingTestOptions extends QueueLimits {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** The nodes; undefined = all with a PowerEndpoint. */
  readonly names: readonly string[] | undefined;
  /** Test also those whose wake is proven. */
  readonly again: boolean;
  /** Of the test of one node, and of moving its pods. */
  readonly timeout: Milliseconds;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: TestProgress) => void;
}

export interface TestProgress {
  readonly total: number;
  readonly finished: readonly TestOutcome[];
  /** Each node that is being tested, and its step. */
  readonly running: ReadonlyMap<string, string>;
}

export interface TestOutcome {
  readonly node: string;
  /** `skipped`: not switched, so that another run can test it. */
  readonly result: "proven" | "failed" | "skipped";
  readonly message: string;
}

/** Looks at the cluster again after this long, or when a test ends. */
const LOOK = milliseconds(15_000);
const ZONE = "topology.kubernetes.io/zone";

/**
 * Proves the wakes of many nodes, a few at a time. It can be interrupted and repeated: nodes that are proven are not tested again,
 * and a node that an earlier run has cordoned is used again.
 */
export async function testWakes(options: RollingTestOptions): Promise<readonly TestOutcome[]> {
  return new RollingTest(options).run();
}

class RollingTest {
  readonly #options: RollingTestOptions;
  readonly #finished: TestOutcome[] = [];
  readonly #running = new Map<string, string>();
  readonly #waiting = new Set<string>();
  #total = 0;
  /** Aborted when a test ends. */
  #ended = new AbortController();

  constructor(options: RollingTestOptions) {
    this.#options = options;
  }

  async run(): Promise<readonly TestOutcome[]> {
    const { signal, clock, drain: moves } = this.#options;
    await this.#choose();
    const tests = new Set<Promise<void>>();
    while (this.#waiting.size > 0 && !signal.aborted) {
      const nodes = await this.#candidates();
      const running = new Set(this.#running.keys());
      const next = nextTests(nodes, this.#waiting, running, this.#options);
      for (const node of next) {
        this.#waiting.delete(node);
        const candidate = nodes.find((one) => one.node === node);
        const test = this.#test(node, (candidate?.pods ?? 0) > 0);
        tests.add(test);
        void test.finally(() => tests.delete(test));
      }
      if (next.length === 0 && running.size === 0) {
        this.#skipAll(nodes, moves);
        break;
      }
      await clock.sleep(LOOK, AbortSignal.any([signal, this.#ended.signal])).catch(() => undefined);
      if (this.#ended.signal.aborted) this.#ended = new AbortController();
    }
    await Promise.all(tests);
    for (const node of this.#waiting) this.#finish({ node, result: "skipped", message: "interrupted" });
    this.#waiting.clear();
    return this.#finished;
  }

  /** The nodes to test. Those that an earlier run has left cordoned are used again. */
  async #choose(): Promise<void> {
    const { client, names, again } = this.#options;
    const { items } = await client.listAll(resources.powerEndpoints);
    const endpoints = new Map(items.map((item) => [item.metadata.name, readEndpoint(item)]));
    for (const name of names ?? endpoints.keys()) {
      const endpoint = endpoints.get(name);
      this.#total++;
      if (endpoint === undefined) this.#finish({ node: name, result: "skipped", message: "it has no PowerEndpoint" });
      else if (!again && isWakeProven(endpoint)) this.#total--;
      else this.#waiting.add(name);
    }
    const { items: nodes } = await client.listAll<KubeObject & Node>(resources.nodes);
    for (const { metadata } of nodes)
      if (metadata.annotations?.[annotations.drainedForTest] !== undefined) await uncordon(client, metadata.name);
  }

  async #candidates(): Promise<readonly TestCandidate[]> {
    const { client } = this.#options;
    const [nodes, pods] = await Promise.all([
      client.listAll<KubeObject & Node>(resources.nodes),
      client.listAll<MovablePod>(resources.pods),
    ]);
    const byNode = Map.groupBy(pods.items, ({ spec }) => spec?.nodeName ?? "");
    return nodes.items.map((node) => {
      const { name, labels } = node.metadata;
      const own = byNode.get(name) ?? [];
      return {
        node: name,
        zone: labels?.[ZONE] ?? "",
        isUp: isReady(node) && node.spec?.taints?.some(({ key }) => key === asleepTaint.key) !== true,
        barrier: hasControlPlaneRole(labels) ? "a control-plane node is never switched off" : undefined,
        pods: podsToMove(own).length,
        stuck: whyStuck(own),
      };
    });
  }

  async #test(node: string, hasPods: boolean): Promise<void> {
    const { client, clock, timeout } = this.#options;
    this.#step(node, hasPods ? "drain" : "wait");
    let outcome: TestOutcome;
    try {
      const problem = hasPods ? await this.#drained(node) : undefined;
      if (problem !== undefined) outcome = { node, result: "skipped", message: problem };
      else {
        const onStep = (step: string) => this.#step(node, step);
        const { proven, message } = await testWake({ client, clock, timeout, node, onStep });
        outcome = { node, result: proven ? "proven" : "failed", message };
      }
    } catch (error) {
      outcome = { node, result: "failed", message: plainReason(error) };
    }
    if (hasPods)
      await uncordon(client, node).catch((error: unknown) => {
        outcome = { ...outcome, message: `${outcome.message}; it is still cordoned: ${plainReason(error)}` };
      });
    this.#running.delete(node);
    this.#finish(outcome);
    this.#ended.abort();
  }

  async #drained(node: string): Promise<string | undefined> {
    const { client, clock, random, timeout, signal } = this.#options;
    await cordon(client, node, isoTime(clock.now()));
    return drain(node, { client, clock, random, timeout, signal });
  }

  #skipAll(nodes: readonly TestCandidate[], moves: boolean): void {
    for (const name of this.#waiting) {
      const candidate = nodes.find(({ node }) => node === name);
      const why =
        candidate === undefined
          ? "the cluster has no node of this name"
          : (obstacleOf(candidate, moves) ?? "too many nodes of its zone are not up");
      this.#finish({ node: name, result: "skipped", message: why });
    }
    this.#waiting.clear();
  }

  #step(node: string, step: string): void {
    this.#running.set(node, step);
    this.#report();
  }

  #finish(outcome: TestOutcome): void {
    this.#finished.push(outcome);
    this.#report();
  }

  #report(): void {
    this.#options.onProgress({ total: this.#total, finished: this.#finished, running: this.#running });
  }
}

const isReady = ({ status }: Node): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") === true;
