import { annotations, asleepTaint, isWakeProven, type Node } from "../../../core/api/index.ts";
import { hasControlPlaneRole, zoneOf } from "../../../core/sleep/index.ts";
import {
  elapsed,
  isoTime,
  type Milliseconds,
  milliseconds,
  monotonicInstant,
  type RandomSource,
} from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { type KubeClient, type KubeObject, plainReason, resources } from "../../../platform/kube/index.ts";
import { isRunning, type TestResult, testWake } from "../requests.ts";
import { isTest } from "../steps/node-case.ts";
import { readEndpoint } from "../watch/cluster-view.ts";
import { cordon, drain, hasToMove, type MovablePod, uncordon, whyStuck } from "./drain.ts";
import { mayPass, nextTests, obstacleOf, type QueueLimits, type TestCandidate } from "./test-queue.ts";

export interface RollingTestOptions extends QueueLimits {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** The nodes; undefined = all with a PowerEndpoint. */
  readonly names: readonly string[] | undefined;
  /** Test also those whose wake is proven. */
  readonly again: boolean;
  /** How long the test of one node may take. */
  readonly timeout: Milliseconds;
  /** How long the pods of one node may take to leave. */
  readonly drainTimeout: Milliseconds;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: TestProgress) => void;
}

export interface TestProgress {
  readonly total: number;
  readonly finished: readonly TestOutcome[];
  /** Each node that is being tested, and its step. */
  readonly running: ReadonlyMap<string, string>;
}

export interface TestOutcome extends TestResult {
  readonly node: string;
}

/** Looks at the cluster again after this long, or when a test ends. */
const LOOK = milliseconds(15_000);
/** How long it waits for nodes that are not up, while nothing else is left to test. */
const PATIENCE = milliseconds(5 * 60_000);
const MAX_TRIES = 3;

/**
 * Proves the wakes of many nodes, a few at a time. It can be interrupted and repeated: nodes that are proven are not tested again,
 * and a node that an earlier run has cordoned is used again. Only one run at a time: a second one would use its nodes again as well.
 */
export async function testWakes(options: RollingTestOptions): Promise<readonly TestOutcome[]> {
  return new RollingTest(options).run();
}

class RollingTest {
  readonly #options: RollingTestOptions;
  readonly #finished: TestOutcome[] = [];
  readonly #running = new Map<string, string>();
  readonly #tests = new Set<Promise<void>>();
  readonly #waiting = new Set<string>();
  readonly #tries = new Map<string, number>();
  #total = 0;
  /** When the run began, or the last test ended. */
  #lastTest = monotonicInstant(0);
  /** Aborted when a test ends. */
  #ended = new AbortController();

  constructor(options: RollingTestOptions) {
    this.#options = options;
  }

  async run(): Promise<readonly TestOutcome[]> {
    const { signal, clock, concurrency } = this.#options;
    this.#lastTest = clock.monotonic();
    try {
      await this.#choose();
      while ((this.#waiting.size > 0 || this.#running.size > 0) && !signal.aborted) {
        if (this.#waiting.size > 0 && this.#running.size < concurrency) await this.#beginNext();
        if (this.#waiting.size + this.#running.size === 0) break;
        await clock.sleep(LOOK, AbortSignal.any([signal, this.#ended.signal])).catch(() => undefined);
        if (this.#ended.signal.aborted) this.#ended = new AbortController();
      }
    } finally {
      // Also after an error: each test ends in time, and then its node is used again.
      await Promise.all(this.#tests);
    }
    this.#skip(() => "interrupted");
    return this.#finished;
  }

  /** The nodes to test. Those that an earlier run has left cordoned are used again, and tests that it began go on. */
  async #choose(): Promise<void> {
    const { client, names, again } = this.#options;
    const { items: cordoned } = await client.listOf(resources.nodes, ({ metadata }) =>
      metadata.annotations?.[annotations.drainedForTest] === undefined ? undefined : metadata.name,
    );
    for (const node of cordoned) await uncordon(client, node);
    const { items } = await client.listAll(resources.powerEndpoints);
    const endpoints = new Map(items.map((item) => [item.metadata.name, readEndpoint(item)]));
    const chosen = [...new Set(names ?? endpoints.keys())].filter((name) => {
      const endpoint = endpoints.get(name);
      return again || endpoint === undefined || !isWakeProven(endpoint);
    });
    this.#total = chosen.length;
    for (const name of chosen) {
      const endpoint = endpoints.get(name);
      if (endpoint === undefined) this.#finish({ node: name, result: "skipped", message: "it has no PowerEndpoint" });
      else if (isTest(endpoint)) this.#begin(name, false);
      else this.#waiting.add(name);
    }
  }

  async #beginNext(): Promise<void> {
    const { signal, drain: moves } = this.#options;
    // Before the lists, in which a node may still look down whose test ends meanwhile.
    const running = new Set(this.#running.keys());
    let nodes: readonly TestCandidate[];
    try {
      nodes = await this.#candidates();
    } catch (error) {
      // Tests that run are bounded in time, so this is not tried for ever.
      if (running.size > 0) return;
      throw error;
    }
    if (signal.aborted) return;
    const byName = new Map(nodes.map((candidate) => [candidate.node, candidate]));
    const next = nextTests(nodes, this.#waiting, running, this.#options);
    for (const node of next) this.#begin(node, (byName.get(node)?.pods ?? 0) > 0);
    if (next.length > 0 || running.size > 0) return;
    const passes = [...this.#waiting].some((name) => {
      const candidate = byName.get(name);
      return candidate !== undefined && mayPass(candidate, moves);
    });
    if (passes && elapsed(this.#lastTest, this.#options.clock.monotonic()) < PATIENCE) return;
    this.#skip((name) => {
      const candidate = byName.get(name);
      if (candidate === undefined) return "the cluster has no node of this name";
      return obstacleOf(candidate, moves) ?? "too many nodes of its zone are not up";
    });
  }

  async #candidates(): Promise<readonly TestCandidate[]> {
    const { client } = this.#options;
    const [{ items: nodes }, { items: pods }] = await Promise.all([
      client.listOf(resources.nodes, candidateOf),
      client.listOf(resources.pods, podOnNode, { fieldSelector: LIVE_PODS }),
    ]);
    const byNode = Map.groupBy(pods, ({ node }) => node);
    return nodes.map((candidate) => {
      const own = byNode.get(candidate.node) ?? [];
      return { ...candidate, pods: own.length, stuck: own.find(({ stuck }) => stuck !== undefined)?.stuck };
    });
  }

  #begin(node: string, hasPods: boolean): void {
    this.#waiting.delete(node);
    const test = this.#test(node, hasPods);
    this.#tests.add(test);
    void test.finally(() => this.#tests.delete(test));
  }

  async #test(node: string, hasPods: boolean): Promise<void> {
    const { client, clock, timeout } = this.#options;
    this.#step(node, hasPods ? "drain" : "wait");
    let isCordoned = false;
    let outcome: TestOutcome;
    try {
      if (hasPods) isCordoned = await cordon(client, node, isoTime(clock.now()));
      const problem = hasPods ? await this.#drain(node) : undefined;
      if (problem !== undefined) outcome = { node, result: "skipped", message: problem };
      else {
        const onStep = (step: string) => this.#step(node, step);
        outcome = { node, ...(await testWake({ client, clock, timeout, node, onStep })) };
      }
    } catch (error) {
      outcome = { node, result: "failed", message: plainReason(error) };
    }
    if (isCordoned)
      await uncordon(client, node).catch((error: unknown) => {
        outcome = { ...outcome, message: `${outcome.message}; it is still cordoned: ${plainReason(error)}` };
      });
    this.#running.delete(node);
    this.#lastTest = clock.monotonic();
    if (!this.#isTriedAgain(outcome)) this.#finish(outcome);
    this.#ended.abort();
  }

  /** A pod may have come between the look at the node and its test, which was refused then. It is moved the next time. */
  #isTriedAgain({ node, isRefused }: TestOutcome): boolean {
    const tries = (this.#tries.get(node) ?? 1) + 1;
    if (isRefused !== true || !this.#options.drain || tries > MAX_TRIES) return false;
    this.#tries.set(node, tries);
    this.#waiting.add(node);
    return true;
  }

  async #drain(node: string): Promise<string | undefined> {
    const { client, clock, random, drainTimeout: timeout, signal } = this.#options;
    try {
      return (
        (await drain(node, { client, clock, random, timeout, signal })) ?? (signal.aborted ? "interrupted" : undefined)
      );
    } catch (error) {
      return `its pods cannot be moved: ${plainReason(error)}`;
    }
  }

  #skip(why: (node: string) => string): void {
    for (const node of this.#waiting) this.#finish({ node, result: "skipped", message: why(node) });
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

type NodeObject = KubeObject & Node;

const candidateOf = (node: NodeObject): Omit<TestCandidate, "pods"> => ({
  node: node.metadata.name,
  zone: zoneOf(node.metadata.labels),
  isUp: isRunning(node) && node.spec?.taints?.some(({ key }) => key === asleepTaint.key) !== true,
  barrier: hasControlPlaneRole(node.metadata.labels) ? "a control-plane node is never switched off" : undefined,
});

/** In a large cluster all pods would be hundreds of megabytes, so only this is kept of them. */
function podOnNode(object: KubeObject): { readonly node: string; readonly stuck: string | undefined } | undefined {
  const pod = object as MovablePod;
  return hasToMove(pod) ? { node: pod.spec.nodeName ?? "", stuck: whyStuck(pod) } : undefined;
}

const LIVE_PODS = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed";
