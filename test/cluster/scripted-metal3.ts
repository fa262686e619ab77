// Plays Metal3's Baremetal Operator for one machine on a real API server: it brings the power to spec.online and reports it.
import { eventually, simulatedDelay } from "../../src/platform/clock/testing/index.ts";
import { bareMetalHostCrd } from "../../src/platform/switch/testing/bare-metal-hosts.ts";
import { ApiFailure, type ObjectOf } from "../controlplane/api.ts";
import { type AttackScene } from "./attack-scene.ts";

export const METAL = "metal";
const hosts = `/apis/metal3.io/v1alpha1/namespaces/${METAL}/baremetalhosts`;
export const PAUSED = "baremetalhost.metal3.io/paused";
export const DETACHED = "baremetalhost.metal3.io/detached";
export const REBOOT = "reboot.metal3.io";

export type Host = ObjectOf<{
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly online?: boolean };
  readonly status?: { readonly poweredOn?: boolean; readonly operationalStatus?: string };
}>;

const consumer = (name: string) => ({
  apiVersion: "infrastructure.cluster.x-k8s.io/v1beta1",
  kind: "Metal3Machine",
  namespace: METAL,
  name,
});

export class ScriptedMetal3 {
  readonly #scene: AttackScene;
  readonly #ending = new AbortController();
  readonly #done: Promise<void>;
  /** Whether the BMC fails each change of power. */
  isBroken = false;
  /** Whether the BMC answers nothing. */
  isUnreachable = false;
  #looks = 0;
  /** How often power was taken away because of spec.online while pods were on the node. */
  lossesUnderPods = 0;

  constructor(scene: AttackScene) {
    this.#scene = scene;
    this.#done = this.#loop();
  }

  static async install(plane: AttackScene["plane"]): Promise<void> {
    await plane.api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", bareMetalHostCrd);
    await plane.kubectl(["wait", "--for=condition=Established", "crd/baremetalhosts.metal3.io", "--timeout=60s"]);
    await plane.kubectl(["create", "namespace", METAL]);
  }

  /** A host without a status, as a user creates it. */
  static async createHost(plane: AttackScene["plane"], name: string, machine = name): Promise<void> {
    await plane.api.create(hosts, {
      apiVersion: "metal3.io/v1alpha1",
      kind: "BareMetalHost",
      metadata: { name },
      spec: { online: true, externallyProvisioned: true, consumerRef: consumer(machine) },
    });
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#done;
  }

  async host(name = "host-1"): Promise<Host> {
    return this.#scene.plane.api.get<Host>(`${hosts}/${name}`);
  }

  /** Waits until it has looked at what is there now. */
  async looked(): Promise<void> {
    // The first look may have begun before.
    const enough = this.#looks + 2;
    await eventually(() => this.#looks >= enough);
  }

  async patch(patch: object): Promise<void> {
    await this.#scene.plane.api.mergePatch(`${hosts}/host-1`, patch);
  }

  async annotate(key: string, value: string | null): Promise<void> {
    await this.patch({ metadata: { annotations: { [key]: value } } });
  }

  async useFor(machine: string): Promise<void> {
    await this.patch({ spec: { consumerRef: consumer(machine) } });
  }

  /** As when a user moves the host: the new object has no status, and Metal3 registers it again. */
  async recreate(): Promise<void> {
    const { api } = this.#scene.plane;
    await api.remove(`${hosts}/host-1`);
    await ScriptedMetal3.createHost(this.#scene.plane, "host-1");
    // Go writes the zero value of a machine that was never looked at.
    await this.#report({ poweredOn: false, operationalStatus: "", provisioning: { state: "", ID: "" } });
  }

  async #loop(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await this.#reconcile().catch((error: unknown) => {
        if (!(error instanceof ApiFailure)) throw error;
      });
      this.#looks++;
      await simulatedDelay(300, signal).catch(() => undefined);
    }
  }

  async #reconcile(): Promise<void> {
    const { machine } = this.#scene;
    const { metadata, spec, status } = await this.host();
    const { annotations = {} } = metadata;
    if (annotations[PAUSED] !== undefined) return;
    if (annotations[DETACHED] !== undefined) return this.#report({ operationalStatus: "detached" });
    if (this.isUnreachable)
      return this.#report({ operationalStatus: "error", errorType: "provisioned registration error" });
    const isOn = machine.power === "on";
    if (status?.poweredOn !== isOn || status.operationalStatus !== "OK")
      await this.#report({
        poweredOn: isOn,
        ...(!this.isBroken && { operationalStatus: "OK", errorType: "" }),
        provisioning: { state: "externally provisioned", ID: "1" },
      });
    if (!isOn && annotations[REBOOT] !== undefined) return this.annotate(REBOOT, null);
    const isRebooting = Object.keys(annotations).some((key) => key === REBOOT || key.startsWith(`${REBOOT}/`));
    const isWanted = spec.online === true && !isRebooting;
    if (isWanted === isOn || machine.isBusy) return;
    if (this.isBroken) return this.#report({ operationalStatus: "error", errorType: "power management error" });
    if (isWanted) return machine.switchOn();
    if (!isRebooting && (await this.#podsOnNode()) > 0) this.lossesUnderPods++;
    await machine.switchOff(true);
  }

  async #report(status: object): Promise<void> {
    await this.#scene.plane.api.mergePatch(`${hosts}/host-1/status`, { status });
  }

  async #podsOnNode(): Promise<number> {
    const { items } = await this.#scene.plane.api.get<{ readonly items: readonly unknown[] }>(
      "/api/v1/pods?fieldSelector=spec.nodeName%3Dworker",
    );
    return items.length;
  }
}
