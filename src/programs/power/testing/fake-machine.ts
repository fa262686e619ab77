// A machine with a power switch, a kubelet and an agent, for tests.
import type { SwitchState } from "../../../core/api/index.ts";
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { isApiError, type KubeClient, resources } from "../../../platform/kube/index.ts";
import type { ConfirmSwitching, MachineFacts, PowerSwitchError } from "../../../platform/switch/index.ts";

export type SwitchCall = "state" | "on" | "shutdown" | "forceOff";

/** The methods of a PowerSwitch, without signals. */
export class FakeMachine {
  readonly name: string;
  readonly calls: SwitchCall[] = [];
  power: "on" | "off" = "on";
  bootTakes = milliseconds(120_000);
  shutdownTakes = milliseconds(30_000);
  /** The operating system does not react to the power button. */
  ignoresShutdown = false;
  /** The power supply does not react either. */
  ignoresForce = false;
  /** A broken boot: the kubelet never starts. */
  neverBoots = false;
  agentReports = true;
  /** How long its switch takes to answer a read. An action reads before it sends its request. */
  readTakes = milliseconds(0);
  /** What is being read for. */
  reading: SwitchCall | undefined;
  /** What its switch reports besides its state. */
  facts: MachineFacts | undefined;
  /** Set to let calls fail. */
  failure: PowerSwitchError | undefined;
  /** Called before power is taken away, for checks. */
  onPowerLoss: () => Promise<void> = async () => undefined;
  readonly #clock: Clock;
  readonly #client: KubeClient;
  #boots = 0;
  heartbeats = 0;

  constructor(name: string, clock: Clock, client: KubeClient) {
    this.name = name;
    this.#clock = clock;
    this.#client = client;
  }

  get offCalls(): number {
    return this.calls.filter((call) => call === "shutdown" || call === "forceOff").length;
  }

  async state(): Promise<SwitchState> {
    await this.#read("state");
    this.#called("state");
    return this.power;
  }

  async on(confirm: ConfirmSwitching): Promise<void> {
    await this.#read("on");
    await confirm();
    this.#called("on");
    this.switchOn();
  }

  async shutdown(confirm: ConfirmSwitching): Promise<void> {
    await this.#read("shutdown");
    await confirm();
    this.#called("shutdown");
    await this.onPowerLoss();
    if (!this.ignoresShutdown) this.#after(this.shutdownTakes, () => this.cut());
  }

  async forceOff(confirm: ConfirmSwitching): Promise<void> {
    await this.#read("forceOff");
    await confirm();
    this.#called("forceOff");
    await this.onPowerLoss();
    if (!this.ignoresForce) this.cut();
  }

  /** As a person would at the machine. */
  switchOn(): void {
    if (this.power === "on") return;
    this.power = "on";
    const boot = ++this.#boots;
    if (this.neverBoots) return;
    this.#after(this.bootTakes, () => {
      if (this.power === "on" && boot === this.#boots) void this.heartbeat();
    });
  }

  cut(): void {
    this.power = "off";
    this.#boots++;
    const { heartbeats } = this;
    // As the node-lifecycle controller does.
    this.#after(milliseconds(50_000), () => {
      if (heartbeats === this.heartbeats) void this.#report("Unknown");
    });
  }

  /** The kubelet and the agent report. */
  async heartbeat(): Promise<void> {
    this.heartbeats++;
    await this.#report("True", new Date(this.#clock.now()).toISOString());
    if (this.agentReports) await this.agentReport();
  }

  async agentReport(): Promise<void> {
    const cpu = { backend: "rapl", result: "none", updatedAt: new Date(this.#clock.now()).toISOString() };
    const report = { status: { controlStatus: { cpu } } };
    await quiet(
      this.#client.apply(resources.nodeTwins, { name: this.name }, report, {
        subresource: "status",
        fieldManager: "joulie-agent",
        force: true,
      }),
    );
  }

  async #report(ready: "True" | "Unknown", heartbeat?: string): Promise<void> {
    const condition = { type: "Ready", status: ready, ...(heartbeat && { lastHeartbeatTime: heartbeat }) };
    await quiet(
      this.#client.mergePatch(
        resources.nodes,
        { name: this.name },
        { status: { conditions: [condition] } },
        { subresource: "status" },
      ),
    );
  }

  async #read(call: SwitchCall): Promise<void> {
    if (this.readTakes === 0) return;
    this.reading = call;
    await this.#clock.sleep(this.readTakes);
    this.reading = undefined;
  }

  #called(call: SwitchCall): void {
    this.calls.push(call);
    if (this.failure !== undefined) throw this.failure;
  }

  #after(length: Milliseconds, then: () => void): void {
    this.#clock.after(length, then);
  }
}

async function quiet(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isApiError(error, "notFound")) throw error;
  }
}
