// One machine with a scripted kubelet and operator on a real control plane, and the power program that switches it.

import { type PowerEndpoint, type PowerEndpointStatus, powerEndpointKind } from "../../src/core/api/index.ts";
import { milliseconds } from "../../src/core/units/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { simulatedDelay } from "../../src/platform/clock/testing/index.ts";
import type { ApiRequest, ApiResponse, Transport } from "../../src/platform/kube/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { powerConfig } from "../../src/programs/power/config.ts";
import { powerPermissions } from "../../src/programs/power/permissions.ts";
import { runPower } from "../../src/programs/power/start.ts";
import { reach } from "../contract/reach.ts";
import { ApiFailure, type ObjectOf } from "../controlplane/api.ts";
import type { ControlPlane } from "../controlplane/harness.ts";
import { configured, powerTimes, powerVariables } from "./sleep-settings.ts";

const NAMESPACE = "joulie-system";
const nodePath = "/api/v1/nodes/worker";
const twinPath = "/apis/joulie.io/v1alpha1/nodetwins/worker";
const endpointPath = "/apis/joulie.io/v1alpha1/powerendpoints/worker";

export type AttackedNode = ObjectOf<{
  readonly spec: { readonly taints?: readonly { readonly key: string }[] };
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}>;

/** A machine that takes a while to shut down and to boot. */
class SlowMachine {
  power: "on" | "off" = "on";
  /** Whether the operating system obeys a shutdown. */
  isDeaf = false;
  /** Whether the machine is between two states. */
  isBusy = false;

  async switchOff(isForced: boolean): Promise<void> {
    if (this.isDeaf && !isForced) return;
    await this.#become("off", isForced ? 300 : 2500);
  }

  async switchOn(): Promise<void> {
    await this.#become("on", 1000);
  }

  async #become(power: "on" | "off", after: number): Promise<void> {
    if (this.isBusy || this.power === power) return;
    this.isBusy = true;
    await simulatedDelay(after);
    this.power = power;
    this.isBusy = false;
  }
}

/** Calls a function after the power program has written a chosen step, before the program knows that it has. */
class StepTransport implements Transport {
  readonly #inner: Transport;
  readonly #onStatus: (status: PowerEndpointStatus) => Promise<void>;

  constructor(inner: Transport, onStatus: (status: PowerEndpointStatus) => Promise<void>) {
    this.#inner = inner;
    this.#onStatus = onStatus;
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    const response = await this.#inner.request(request);
    const isWrite = request.method === "PATCH" && request.path.includes("/powerendpoints/worker/status");
    if (!isWrite || response.status !== 200) return response;
    const { status = {} } = JSON.parse(request.body ?? "{}") as { readonly status?: PowerEndpointStatus };
    await this.#onStatus(status);
    return response;
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }
}

export class AttackScene {
  readonly plane: ControlPlane;
  readonly machine = new SlowMachine();
  /** What the scripted operator wants of the node. */
  wanted: "on" | "off" = "on";
  /** Called with each status that the power program has written. */
  onStatus: (status: PowerEndpointStatus) => Promise<void> = async () => undefined;
  readonly #ending = new AbortController();
  readonly #done: Promise<unknown>[] = [];

  readonly #nodeSpec: object;

  private constructor(plane: ControlPlane, nodeSpec: object) {
    this.plane = plane;
    this.#nodeSpec = nodeSpec;
  }

  /** Starts the power program with this switch, and proves a wake. */
  static async open(plane: ControlPlane, switchSpec: object, nodeSpec: object = {}): Promise<AttackScene> {
    const scene = new AttackScene(plane, nodeSpec);
    await plane.kubectl(["create", "namespace", NAMESPACE]);
    await scene.createNode();
    scene.#done.push(scene.#tick());
    await plane.api.create("/apis/joulie.io/v1alpha1/powerendpoints", {
      apiVersion: "joulie.io/v1alpha1",
      kind: powerEndpointKind.kind,
      metadata: { name: "worker", annotations: { "joulie.io/test-power": "now" } },
      spec: { nodeName: "worker", ...switchSpec },
    });
    const identity = await plane.identity(powerPermissions(NAMESPACE), { name: "joulie-power" });
    const inner = reach(identity.server, identity.token, identity.ca);
    const transport = new StepTransport(inner, async (status) => scene.onStatus(status));
    const log = createLogger({ level: "fatal", program: "power" });
    const times = { ...powerTimes, refreshInterval: milliseconds(1000) };
    const world = { transport, clock: systemClock, ioClock: systemClock, random: systemRandom, log, times };
    const variables = { ...powerVariables, WAKE_TIMEOUT: "20s" };
    const config = configured(powerConfig, variables, "env");
    scene.#done.push(runPower(config, world, scene.#ending.signal).then(async () => transport.close()));
    return scene;
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await Promise.allSettled(this.#done);
  }

  /** As a kubelet registers it, or as another controller creates it again: with labels, without taints. */
  async createNode(): Promise<void> {
    const labels = { "joulie.io/may-sleep": "true", "kubernetes.io/hostname": "worker" };
    const node = { metadata: { name: "worker", labels }, spec: this.#nodeSpec };
    await unless(409, this.plane.api.create("/api/v1/nodes", node));
  }

  async deleteNode(): Promise<void> {
    await this.plane.api.remove(nodePath);
  }

  async node(): Promise<AttackedNode | undefined> {
    return unless(404, this.plane.api.get<AttackedNode>(nodePath));
  }

  async endpoint(): Promise<PowerEndpoint> {
    return this.plane.api.get<PowerEndpoint>(endpointPath);
  }

  /** A pod that is already bound, as by a scheduler that has not seen the taint. */
  async createPod(name: string): Promise<void> {
    await this.plane.api.create("/api/v1/namespaces/default/pods", {
      metadata: { name },
      spec: { nodeName: "worker", containers: [{ name: "main", image: "none" }], terminationGracePeriodSeconds: 0 },
    });
  }

  /** Whether the machine runs, no sleep or wake is in progress, and pods may run on the node. */
  async isUsable(): Promise<boolean> {
    const [node, { status }] = await Promise.all([this.node(), this.endpoint()]);
    const isReady = node?.status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;
    const isTainted = node?.spec.taints?.some(({ key }) => key === "joulie.io/asleep") === true;
    const { power, isBusy } = this.machine;
    return isReady && !isTainted && power === "on" && !isBusy && status?.operation === undefined;
  }

  /** Whether the machine is off, and Joulie says so. */
  async isAsleep(): Promise<boolean> {
    const { status } = await this.endpoint();
    return this.machine.power === "off" && status?.powerState === "off" && status.operation === undefined;
  }

  /** For messages of tests. */
  async describe(): Promise<string> {
    const { status } = await this.endpoint();
    const { power, isBusy } = this.machine;
    return JSON.stringify({ power, isBusy, status, taints: (await this.node())?.spec.taints });
  }

  async #tick(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await this.#actAsKubelet().catch(() => undefined);
      await this.#actAsOperator().catch(() => undefined);
      await simulatedDelay(300, signal).catch(() => undefined);
    }
  }

  /** Registers the Node and sends heartbeats while the machine runs. Otherwise the Node becomes NotReady. */
  async #actAsKubelet(): Promise<void> {
    const isOn = this.machine.power === "on";
    if (isOn && (await this.node()) === undefined) await this.createNode();
    const now = new Date().toISOString();
    const ready = { type: "Ready", reason: "Test", message: "", lastTransitionTime: now };
    const condition = isOn
      ? { ...ready, status: "True", lastHeartbeatTime: now }
      : { ...ready, status: "Unknown", lastHeartbeatTime: "2020-01-01T00:00:00Z" };
    await this.plane.api.mergePatch(`${nodePath}/status`, { status: { conditions: [condition] } });
  }

  /** Publishes what it wants in a NodeTwin of the Node that exists now. */
  async #actAsOperator(): Promise<void> {
    const node = await this.node();
    if (node === undefined) return;
    const twin = await unless(404, this.plane.api.get<Twin>(twinPath));
    const owner = { apiVersion: "v1", kind: "Node", name: "worker", uid: node.metadata.uid };
    if (twin !== undefined && twin.metadata.ownerReferences?.[0]?.uid !== owner.uid)
      return this.plane.api.remove(twinPath);
    const power = { state: this.wanted, reason: "the test wants it" };
    if (twin === undefined)
      await this.plane.api.create("/apis/joulie.io/v1alpha1/nodetwins", {
        apiVersion: "joulie.io/v1alpha1",
        kind: "NodeTwin",
        metadata: { name: "worker", ownerReferences: [owner] },
        spec: { nodeName: "worker", profile: "eco", power },
      });
    else if (twin.spec.power?.state !== this.wanted) await this.plane.api.mergePatch(twinPath, { spec: { power } });
  }
}

interface Twin {
  readonly metadata: { readonly ownerReferences?: readonly { readonly uid: string }[] };
  readonly spec: { readonly power?: { readonly state: string } };
}

async function unless<Value>(status: number, call: Promise<Value>): Promise<Value | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ApiFailure && error.status === status) return undefined;
    throw error;
  }
}
