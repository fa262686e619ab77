// Runs a whole power program against an in-memory API and fake machines in virtual time, for tests.
import {
  annotations,
  asleepTaint,
  crdOf,
  kinds,
  labels,
  type NodeTwin,
  type Pod,
  type PowerEndpoint,
} from "../../../core/api/index.ts";
import { occupiedNodes, podPromiseOf, selectedNodeOf } from "../../../core/demand/index.ts";
import { instant, milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/index.ts";
import { FaultyApi } from "../../../platform/embedded/testing/index.ts";
import { comesAfter, KubeClient, type KubeObject, keyOf, resources } from "../../../platform/kube/index.ts";
import { PowerSwitchError } from "../../../platform/power/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { FakeMachine } from "./fake-machine.ts";
import { PowerProgram, type PowerTestWorld } from "./power-program.ts";

type NodeObject = KubeObject & { readonly spec?: { readonly taints?: readonly { key: string; effect: string }[] } };

const NAMESPACE = "joulie-system";

interface PublishedEvent {
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  readonly regarding: { readonly kind: string; readonly name: string };
}

/** An API with machines, and helpers that act as a user or as the operator. */
export class PowerTestHarness implements PowerTestWorld {
  readonly clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
  readonly api: FaultyApi;
  readonly user: KubeClient;
  readonly machines = new Map<string, FakeMachine>();
  readonly programs: PowerProgram[] = [];
  /** The resourceVersion of the last count of pods, by node. */
  readonly counts = new Map<string, string>();
  /** Whether watches of Nodes stay silent, as behind a broken proxy. */
  hidesNodeChanges = false;
  /** Whether watches of Nodes hold back what happens meanwhile, as on a busy API server. */
  delaysNodeChanges = false;
  /** Violations of the invariant; the tests expect none. */
  readonly violations: string[] = [];

  private constructor(otherCrds: readonly object[]) {
    const { clock } = this;
    this.api = new FaultyApi({ clock, random: seededRandom(1), crds: [...kinds.map(crdOf), ...otherCrds] });
    this.user = new KubeClient({
      transport: this.api.transport(),
      clock,
      random: seededRandom(2),
      fieldManager: "a-person",
      limit: { perSecond: 1e6, burst: 1e6, queue: 1e6 },
    });
  }

  /** `otherCrds`: CustomResourceDefinitions besides Joulie's. */
  static async begin(otherCrds: readonly object[] = []): Promise<PowerTestHarness> {
    const harness = new PowerTestHarness(otherCrds);
    await harness.user.create(resources.namespaces, { metadata: { name: NAMESPACE } });
    return harness;
  }

  /** `realSwitches`: those of the PowerEndpoints instead of the fake machines. */
  start(variables: Readonly<Record<string, string>> = {}, options: { realSwitches?: boolean } = {}): PowerProgram {
    const program = new PowerProgram(this, variables, this.programs.length, options.realSwitches === true);
    this.programs.push(program);
    return program;
  }

  async advance(seconds: number): Promise<void> {
    const step = Math.min(seconds, 0.5);
    for (let passed = 0; passed < seconds; passed += step) await this.clock.advanceAsync(milliseconds(step * 1000));
    await this.settle();
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await this.clock.advanceAsync(milliseconds(0));
  }

  /** Advances the clock until the condition holds, for at most an hour. */
  async until(holds: () => boolean | Promise<boolean>, what = "the condition"): Promise<void> {
    for (let turn = 0; turn < 7200; turn++) {
      if (await holds()) return;
      await this.clock.advanceAsync(milliseconds(500));
    }
    throw new Error(`${what} did not hold within an hour`);
  }

  /** A node that runs, may sleep, and has a proven PowerEndpoint. */
  async createNode(
    name: string,
    { own = {}, proven = true }: { own?: Readonly<Record<string, string>>; proven?: boolean } = {},
  ): Promise<FakeMachine> {
    const marked = { [labels.managed]: "true", [labels.maySleep]: "true", ...own };
    const node = await this.user.create(resources.nodes, { metadata: { name, labels: marked } });
    await this.createTwin(name, node.metadata.uid ?? "");
    const webhook = { url: "https://switch.example/{node}" };
    await this.user.create(resources.powerEndpoints, { metadata: { name }, spec: { nodeName: name, webhook } });
    if (proven) await this.endpointStatus(name, { wakeProven: true });
    const machine = new FakeMachine(name, this.clock, this.user);
    machine.onPowerLoss = async () => this.#checkPowerLoss(name);
    this.machines.set(name, machine);
    await machine.heartbeat();
    return machine;
  }

  async createTwin(name: string, uid: string): Promise<void> {
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid }];
    const twin = { metadata: { ownerReferences }, spec: { nodeName: name, profile: "eco" } };
    await this.user.apply(resources.nodeTwins, { name }, twin, { fieldManager: "joulie-operator" });
  }

  async endpointStatus(name: string, status: object): Promise<void> {
    await this.user.mergePatch(resources.powerEndpoints, { name }, { status }, { subresource: "status" });
  }

  /** What the operator does. */
  async want(name: string, state: "on" | "off" | null): Promise<void> {
    const power = state === null ? null : { state, reason: "a test" };
    await this.user.mergePatch(resources.nodeTwins, { name }, { spec: { power } });
  }

  async annotate(name: string, values: Readonly<Record<string, string | null>>): Promise<void> {
    await this.user.mergePatch(resources.powerEndpoints, { name }, { metadata: { annotations: values } });
  }

  /** What the kubelet reports about its machine. */
  async nodeInfo(name: string, nodeInfo: Readonly<Record<string, string>>): Promise<void> {
    await this.user.mergePatch(resources.nodes, { name }, { status: { nodeInfo } }, { subresource: "status" });
  }

  async requestTest(name: string): Promise<void> {
    await this.annotate(name, { [annotations.testPower]: "now" });
  }

  async stopAll(value: "true" | null): Promise<void> {
    const patch = { metadata: { annotations: { [annotations.stop]: value } } };
    await this.user.mergePatch(resources.namespaces, { name: NAMESPACE }, patch);
  }

  /** A pod without a node, for which a scheduler has chosen one: by nomination, or by the volume of a claim. */
  async createPromisedPod(name: string, node: string, by: "nomination" | "claim"): Promise<void> {
    const containers = [{ name: "main", image: "none" }];
    const at = { namespace: "default", name };
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: name } }];
    const spec = by === "claim" ? { containers, volumes } : { containers };
    if (by === "claim") {
      const metadata = { name, annotations: { "volume.kubernetes.io/selected-node": node } };
      await this.user.create(resources.persistentVolumeClaims, { metadata, spec: {} }, at);
    }
    await this.user.create(resources.pods, { metadata: { name }, spec }, at);
    if (by === "nomination") {
      const status = { phase: "Pending", nominatedNodeName: node };
      await this.user.mergePatch(resources.pods, at, { status }, { subresource: "status" });
    }
  }

  /** As kube-scheduler does. */
  async bindPod(name: string, node: string): Promise<void> {
    const path = `/api/v1/namespaces/default/pods/${name}/binding`;
    const binding = { apiVersion: "v1", kind: "Binding", metadata: { name }, target: { kind: "Node", name: node } };
    const { status } = await this.api.transport().request({
      method: "POST",
      path,
      body: JSON.stringify(binding),
      headers: { "content-type": "application/json" },
      signal: new AbortController().signal,
    });
    if (status >= 300) throw new Error(`the binding of ${name} failed: ${status}`);
  }

  async createPod(name: string, nodeName: string, metadata: object = {}): Promise<void> {
    const containers = [{ name: "main", image: "none" }];
    const pod = { metadata: { name, ...metadata }, spec: { nodeName, containers } };
    await this.user.create(resources.pods, pod, { namespace: "default" });
  }

  machine(name: string): FakeMachine {
    const machine = this.machines.get(name);
    if (machine === undefined) throw new PowerSwitchError("not_found", `no machine ${name}`);
    return machine;
  }

  async node(name: string): Promise<NodeObject> {
    return this.user.get<NodeObject>(resources.nodes, { name });
  }

  async isTainted(name: string): Promise<boolean> {
    return (await this.node(name)).spec?.taints?.some(({ key }) => key === asleepTaint.key) === true;
  }

  async removeTaint(name: string): Promise<void> {
    await this.user.mergePatch(resources.nodes, { name }, { spec: { taints: null } });
  }

  async endpoint(name: string): Promise<PowerEndpoint> {
    return (await this.user.get(resources.powerEndpoints, { name })) as unknown as PowerEndpoint;
  }

  async power(name: string): Promise<string | undefined> {
    const twin = (await this.user.get(resources.nodeTwins, { name })) as unknown as NodeTwin;
    return twin.status?.power?.state;
  }

  async step(name: string): Promise<string | undefined> {
    return (await this.endpoint(name)).status?.operation?.step;
  }

  async untilPower(name: string, state: string): Promise<void> {
    await this.until(async () => (await this.power(name)) === state, `${name} ${state}`);
  }

  async events(): Promise<readonly PublishedEvent[]> {
    const { items } = await this.user.listAll(resources.events);
    return items as unknown as PublishedEvent[];
  }

  async end(): Promise<void> {
    await Promise.all(this.programs.map(async (program) => program.stop()));
    await this.api.close();
    if (this.violations.length > 0) throw new Error(this.violations.join("; "));
  }

  /**
   * The invariant: when power is taken away, the node has the taint, and its pods were last counted at a version that is not
   * older than the version of the Node with the taint.
   */
  async #checkPowerLoss(name: string): Promise<void> {
    const { spec, metadata } = await this.node(name);
    if (spec?.taints?.some(({ key }) => key === asleepTaint.key) !== true)
      this.violations.push(`${name} lost power without the taint`);
    const counted = this.counts.get(name);
    const { resourceVersion = "" } = metadata;
    // Heartbeats after the count change the version of the Node, but not its taint.
    const taintedAt = this.taintedAt.get(name) ?? resourceVersion;
    if (counted === undefined || comesAfter(taintedAt, counted) === true)
      this.violations.push(
        `${name} lost power, but its pods were counted at ${counted}, before the taint at ${taintedAt}`,
      );
    const { items } = await this.user.listAll(resources.pods);
    const { items: claims } = await this.user.listAll(resources.persistentVolumeClaims);
    const selected = new Map(claims.map((claim) => [keyOf(claim.metadata), selectedNodeOf(claim)?.node]));
    const lost = items.filter((object) => {
      const pod = object as unknown as Pod;
      const nodes = occupiedNodes({ node: pod.spec.nodeName, promise: podPromiseOf(pod) }, (claim) =>
        selected.get(claim),
      );
      return pod.metadata.ownerReferences === undefined && nodes.has(name);
    });
    if (lost.length > 0) this.violations.push(`${name} lost power with ${lost.length} pods`);
  }

  /** The version of the Node that the last write of the taint created. */
  readonly taintedAt = new Map<string, string>();
}
