// One process of `joulie power` in virtual time that can be killed, for tests.
import { asleepTaint, type PowerEndpoint } from "../../../core/api/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import type { VirtualClock } from "../../../platform/clock/testing/index.ts";
import { parseConfig } from "../../../platform/config/index.ts";
import type { EmbeddedApi } from "../../../platform/embedded/index.ts";
import type { ApiRequest, Transport } from "../../../platform/kube/index.ts";
import { createLogger } from "../../../platform/log/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import type { ConfirmSwitching } from "../../../platform/switch/index.ts";
import { type PowerTimes, powerConfig } from "../config.ts";
import { runPower } from "../start.ts";
import type { FakeMachine } from "./fake-machine.ts";

/** What the program runs against. */
export interface PowerTestWorld {
  readonly clock: VirtualClock;
  readonly api: EmbeddedApi;
  readonly counts: Map<string, string>;
  readonly taintedAt: Map<string, string>;
  readonly hidesNodeChanges: boolean;
  readonly delaysNodeChanges: boolean;
  machine(name: string): FakeMachine;
}

export interface PowerProgramOptions {
  /** Opens the switches of the PowerEndpoints instead of fake ones. */
  readonly realSwitches?: boolean;
  readonly times?: PowerTimes;
}

/** One process of `joulie power`. */
export class PowerProgram {
  readonly logs: { readonly level: string; readonly msg: string; readonly [field: string]: unknown }[] = [];
  readonly #stop = new AbortController();
  readonly #world: PowerTestWorld;
  readonly #done: Promise<void>;
  /** A killed process sends nothing more, and its Lease is not released. */
  #isDead = false;
  /** Called before each request and each call of a switch; a kill inside it stops them. */
  onAction: (action: string) => void = () => undefined;
  onRequest: (request: ApiRequest) => void = () => undefined;

  constructor(
    world: PowerTestWorld,
    variables: Readonly<Record<string, string>>,
    index: number,
    { realSwitches = false, times = {} }: PowerProgramOptions,
  ) {
    this.#world = world;
    const env = { METRICS_ADDR: "127.0.0.1:0", POD_NAME: `power-${index}`, ...variables };
    const machine = { isTerminal: false, exists: () => false };
    const parsed = parseConfig(powerConfig, { env, flags: {}, machine, known: [] });
    if (!parsed.ok) throw new Error(parsed.error.problems.map(({ message }) => message).join("; "));
    const log = createLogger({
      level: "info",
      program: "power",
      destination: { write: (line) => this.logs.push(JSON.parse(line) as (typeof this.logs)[number]) },
    });
    const { clock } = world;
    this.#done = runPower(
      parsed.value.values,
      {
        transport: this.#transport(),
        clock,
        ioClock: clock,
        random: seededRandom(10 + index),
        log,
        times,
        ...(!realSwitches && { openSwitch: async ({ metadata }: PowerEndpoint) => this.#switchOf(metadata.name) }),
      },
      this.#stop.signal,
    );
  }

  /** As SIGKILL: nothing more leaves the process. */
  kill(): void {
    this.#isDead = true;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    const end = { reached: false };
    void this.#done.finally(() => (end.reached = true));
    for (let turn = 0; turn < 5000 && !end.reached; turn++) await this.#world.clock.advanceAsync(milliseconds(100));
    await this.#done;
  }

  async page(path: string): Promise<string> {
    const url = this.logs.find(({ url: at }) => at !== undefined)?.["url"];
    return (await fetch(`${String(url)}${path}`)).text();
  }

  #act(action: string): void {
    this.#refuseIfDead();
    this.onAction(action);
    this.#refuseIfDead();
  }

  #refuseIfDead(): void {
    if (this.#isDead) throw new Error("the process is dead");
  }

  #switchOf(name: string) {
    const machine = this.#world.machine(name);
    const call = async <Result>(action: "state" | "on" | "shutdown" | "forceOff", run: () => Promise<Result>) => {
      this.#act(`switch ${action}`);
      return run();
    };
    return {
      state: async () => call("state", async () => machine.state()),
      on: async (_: AbortSignal, confirm: ConfirmSwitching) => call("on", async () => machine.on(confirm)),
      shutdown: async (_: AbortSignal, confirm: ConfirmSwitching) =>
        call("shutdown", async () => machine.shutdown(confirm)),
      forceOff: async (_: AbortSignal, confirm: ConfirmSwitching) =>
        call("forceOff", async () => machine.forceOff(confirm)),
      get facts() {
        return machine.facts;
      },
      close: async () => undefined,
    };
  }

  #transport(): Transport {
    const transport = this.#world.api.transport();
    return {
      request: async (request: ApiRequest) => {
        this.onRequest(request);
        if (request.method !== "GET" && !/leases|events/.test(request.path))
          this.#act(`${request.method} ${request.path.replace(/\?.*/, "")}`);
        else this.#refuseIfDead();
        if (this.#world.hidesNodeChanges && /\/nodes\?.*watch=1/.test(request.path))
          return { status: 200, headers: {}, body: silence(request.signal) };
        const answer = await transport.request(request);
        if (/\/nodes\?.*watch=1/.test(request.path)) return { ...answer, body: this.#delayed(answer.body) };
        const observed = await this.#noted(request, answer);
        this.#refuseIfDead();
        return observed;
      },
      close: async () => transport.close(),
    };
  }

  async *#delayed(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    const { clock } = this.#world;
    for await (const chunk of body) {
      while (this.#world.delaysNodeChanges) await clock.sleep(milliseconds(100));
      yield chunk;
    }
  }

  /** Notes counts of pods and writes of taints. */
  async #noted(request: ApiRequest, answer: Awaited<ReturnType<Transport["request"]>>) {
    const { path, method, body = "" } = request;
    const counted = /\/pods\?.*fieldSelector=spec\.nodeName%3D([^&]+)/.exec(path)?.[1];
    const tainted = method === "PATCH" ? /\/nodes\/([^/?]+)\?/.exec(path)?.[1] : undefined;
    if (counted === undefined && tainted === undefined) return answer;
    const chunks: Uint8Array[] = [];
    for await (const chunk of answer.body) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const { metadata } = JSON.parse(text) as { metadata?: { resourceVersion?: string } };
    const version = metadata?.resourceVersion ?? "";
    if (answer.status < 300 && counted !== undefined) this.#world.counts.set(decodeURIComponent(counted), version);
    if (answer.status < 300 && tainted !== undefined && body.includes(asleepTaint.key))
      this.#world.taintedAt.set(tainted, version);
    return { ...answer, body: bytes(text) };
  }
}

async function* bytes(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(text);
}

/** A watch without events, until it is aborted. */
async function* silence(signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
  await new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
  yield Buffer.from("");
}
