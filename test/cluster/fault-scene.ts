// The setup of every fault test: six nodes, operators, and a witness that records every object version.
import { apiVersion, labels, type NodeTwin } from "../../src/core/api/index.ts";
import { type Clock, systemClock } from "../../src/platform/clock/index.ts";
import { eventually, eventuallyPasses, simulatedDelay } from "../../src/platform/clock/testing/index.ts";
import { parseConfig } from "../../src/platform/config/index.ts";
import type { Transport } from "../../src/platform/kube/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { operatorConfig } from "../../src/programs/operator/config.ts";
import { runOperator } from "../../src/programs/operator/start.ts";
import { reach } from "../contract/reach.ts";
import type { ControlPlane } from "../controlplane/harness.ts";
import type { ClusterIdentity } from "../controlplane/identities.ts";
import { type Circumstances, judge, type Verdict } from "./safety.ts";
import { TappedTransport } from "./tapped-transport.ts";
import { Witness } from "./witness.ts";

const pods = "/api/v1/namespaces/default/pods";
export const twins = `/apis/${apiVersion}/nodetwins`;
export const profiles = `/apis/${apiVersion}/nodepowerprofiles`;
export const settings = { METRICS_ADDR: "127.0.0.1:0", RECONCILE_INTERVAL: "1s", PROFILE_MIN_DWELL: "0s" };

export interface Listed<Item = object> {
  readonly items: readonly (Item & { readonly metadata: { readonly name: string } })[];
}

/** The published state of a node: profile and cap of the target, class, and the two labels. */
export const performance = "performance 100 performance performance false";
export const eco = "eco 60 eco eco false";
export const draining = "eco 100 draining eco true";

export class Scene {
  readonly nodes: readonly string[];
  readonly witness: Witness;
  readonly #plane: ControlPlane;
  readonly #running: { readonly stop: () => Promise<void>; readonly tap: TappedTransport }[] = [];
  readonly #name: string;

  private constructor(plane: ControlPlane, name: string) {
    this.#plane = plane;
    this.#name = name;
    this.nodes = ["a", "b", "c", "d", "e", "f"].map((node) => `${node}-${name}`);
    this.witness = new Witness(plane.admin);
  }

  static async open(plane: ControlPlane, name: string): Promise<Scene> {
    const scene = new Scene(plane, name);
    await scene.witness.start();
    await plane.createNodes(scene.nodes, { labels: { [labels.managed]: "true" } });
    return scene;
  }

  async close(): Promise<void> {
    await Promise.all(this.#running.map(async ({ stop }) => stop()));
    await this.witness.stop();
    const { api } = this.#plane;
    for (const path of [pods, "/api/v1/nodes", profiles, twins]) {
      const { items } = await api.get<Listed>(path);
      for (const { metadata } of items) {
        await api.text("DELETE", `${path}/${metadata.name}?gracePeriodSeconds=0`).catch(() => "");
      }
    }
  }

  /** Starts an operator in this process and records its requests. */
  start(
    who: ClusterIdentity,
    variables: Readonly<Record<string, string>> = {},
    own: { readonly ioClock?: Clock; readonly network?: (transport: Transport) => Transport } = {},
  ) {
    const env = { ...settings, POD_NAME: "operator-0", ...variables };
    const parsed = parseConfig(operatorConfig, { env, flags: {}, machine: { isTerminal: false, exists: () => false } });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
    const lines: string[] = [];
    const destination = { write: (line: string) => lines.push(line) };
    const log = createLogger({ level: "info", program: "operator", destination });
    const { ioClock = systemClock, network = (transport) => transport } = own;
    const tap = new TappedTransport(network(reach(who.server, who.token, who.ca)));
    const stop = new AbortController();
    const world = { transport: tap, clock: systemClock, ioClock, leaderClock: systemClock, random: systemRandom, log };
    const done = runOperator(parsed.value.values, world, stop.signal);
    const logged = (message: string) =>
      lines.map((line) => JSON.parse(line) as { msg: string; url: string }).filter(({ msg }) => msg === message);
    const operator = {
      tap,
      logged,
      page: async (path: string) => {
        const serving = await eventually(() => logged("serving metrics, health and /debug/plan")[0]);
        return (await fetch(new URL(path, serving.url))).text();
      },
      stop: async () => {
        stop.abort();
        await done;
        await tap.close();
      },
    };
    this.#running.push(operator);
    return operator;
  }

  /** The three densest nodes are planned for performance. */
  async plan(dense: readonly string[]): Promise<void> {
    for (const name of this.nodes) {
      const own = { "joulie.io/hw.cpu-cores": dense.includes(name) ? "512" : null };
      await this.#plane.api.mergePatch(`/api/v1/nodes/${name}`, { metadata: { labels: own } });
    }
  }

  /** Binds a performance pod to a node, as the scheduler does. */
  async bind(name: string, node = ""): Promise<void> {
    await this.#plane.createPods([name], { annotations: { "joulie.io/workload-class": "performance" } });
    const target = { apiVersion: "v1", kind: "Node", name: node };
    const binding = { apiVersion: "v1", kind: "Binding", metadata: { name }, target };
    await this.#plane.api.create(`${pods}/${name}/binding`, binding);
  }

  async finish(name: string): Promise<void> {
    await this.#plane.api.mergePatch(`${pods}/${name}/status`, { status: { phase: "Succeeded" } });
  }

  /** Binds and finishes pods and changes plans while `work` runs; finishes all pods at the end. */
  async unrest(work: () => Promise<void>): Promise<void> {
    const over = new AbortController();
    const rounds = this.#rounds(over.signal);
    try {
      await work();
    } finally {
      over.abort();
      await rounds;
    }
    const { items } = await this.#plane.api.get<Listed>(pods);
    for (const { metadata } of items) await this.finish(metadata.name);
  }

  /** Waits until the operator has lowered more than this many nodes, and one that had to be drained. */
  async lowers(count: number): Promise<void> {
    await eventually(async () => {
      const { lowered, drained } = await this.verdict();
      return lowered > count && drained > 0;
    });
  }

  async #rounds(over: AbortSignal): Promise<void> {
    const names: string[] = [];
    // Errors are expected while the server is down.
    const tried = async (what: Promise<unknown>) => what.catch(() => undefined);
    for (let round = 0; !over.aborted; round++) {
      const name = `pod-${this.#name}-${round}`;
      names.push(name);
      await tried(this.bind(name, this.nodes[(round * 5) % 6]));
      const old = names[round - 3];
      if (old !== undefined) await tried(this.finish(old));
      if (round % 5 === 0) await tried(this.plan([0, 1, 2].map((index) => this.nodes[(index + round / 5) % 6] ?? "")));
      await simulatedDelay(400, over).catch(() => undefined);
    }
  }

  /** The expected published state of all nodes when these are the densest. */
  wanted(dense: readonly string[]): Record<string, string> {
    return Object.fromEntries(this.nodes.map((name) => [name, dense.includes(name) ? performance : eco]));
  }

  async comesToShow(wanted: Readonly<Record<string, string>>): Promise<void> {
    await eventuallyPasses(async () => {
      const names = Object.keys(wanted);
      const found = await Promise.all(names.map(async (name) => this.#shown(name)));
      const wrong = names.flatMap((name, index) => {
        return found[index] === wanted[name] ? [] : [`${name} is "${found[index]}" instead of "${wanted[name]}"`];
      });
      if (wrong.length > 0) throw new Error(wrong.join("; "));
    });
  }

  async #shown(name: string): Promise<string> {
    const { spec, status } = await this.#plane.api.get<NodeTwin>(`${twins}/${name}`);
    const { metadata } = await this.#plane.api.get<{ metadata: { name: string; labels: Record<string, string> } }>(
      `/api/v1/nodes/${name}`,
    );
    const own = [metadata.labels[labels.powerProfile], metadata.labels[labels.draining]];
    return [spec.profile, spec.cpu?.packagePowerCapPctOfMax, status?.schedulableClass, ...own].join(" ");
  }

  /** Checks that the cluster converges to a plan that differs from the previous one. */
  async converges(): Promise<void> {
    for (const dense of [this.nodes.slice(0, 3), this.nodes.slice(3)]) {
      await this.plan(dense);
      await this.comesToShow(this.wanted(dense));
    }
  }

  async verdict(more: Partial<Circumstances> = {}): Promise<Verdict> {
    return judge(await this.witness.history(), { writes: this.#running.flatMap(({ tap }) => tap.writes), ...more });
  }
}
