// Each program runs for days of virtual time in a cluster that changes every hour. Its memory and handles must not grow.
// JOULIE_LEAK_HOURS=168 takes a week.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, it } from "vitest";
import { crdOf, kinds, labels } from "../../src/core/api/index.ts";
import { instant, milliseconds } from "../../src/core/units/index.ts";
import { eventually, VirtualClock } from "../../src/platform/clock/testing/index.ts";
import { type ConfigSchema, parseConfig } from "../../src/platform/config/index.ts";
import { EmbeddedApi } from "../../src/platform/embedded/index.ts";
import type { JournalFiles } from "../../src/platform/journal/index.ts";
import { isApiError, KubeClient, resources } from "../../src/platform/kube/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { seededRandom } from "../../src/platform/random/index.ts";
import { agentConfig } from "../../src/programs/agent/config.ts";
import { runAgent } from "../../src/programs/agent/start.ts";
import { FakeMachine } from "../../src/programs/agent/testing/fake-machine.ts";
import { dashboardConfig } from "../../src/programs/dashboard/config.ts";
import { runDashboard } from "../../src/programs/dashboard/start.ts";
import { extenderConfig } from "../../src/programs/extender/config.ts";
import { runExtender } from "../../src/programs/extender/start.ts";
import { operatorConfig } from "../../src/programs/operator/config.ts";
import { runOperator } from "../../src/programs/operator/start.ts";
import { powerConfig } from "../../src/programs/power/config.ts";
import { runPower } from "../../src/programs/power/start.ts";

const NODES = 8;
const PODS_AN_HOUR = 60;
/** Longer than the day that the dashboard remembers. */
const WARM_UP_HOURS = 26;
const HOURS = Number(process.env.JOULIE_LEAK_HOURS ?? 26);
const STEP = milliseconds(20_000);
/** What the rest may add. A lost pod takes about 2 KiB, so that a leak of one in two is seen after 26 hours. */
const GROWTH = 2 * 2 ** 20;
const PATIENCE_MS = 1_800_000;
const NAMESPACE = "joulie-system";
const atOnce = { perSecond: 1e6, burst: 1e6, queue: 1e6 };
const local = { METRICS_ADDR: "127.0.0.1:0", POD_NAMESPACE: NAMESPACE };

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

type World = Parameters<typeof runOperator>[1];
interface Started {
  readonly done: Promise<void>;
  /** What its users ask of the program in an hour. */
  readonly use: (hour: number) => Promise<void>;
}

class ChangingCluster {
  readonly clock = new VirtualClock(instant(Date.UTC(2030, 0, 1)));
  /** Its history is full, and so as large as it gets, long before the warm-up is over. */
  readonly api = new EmbeddedApi({
    clock: this.clock,
    random: seededRandom(1),
    crds: kinds.map(crdOf),
    historyLimit: 500,
  });
  readonly client = this.#client();
  readonly off = new Set<string>();
  readonly stop = new AbortController();
  #pods = 0;

  #client(): KubeClient {
    const { clock, api } = this;
    return new KubeClient({
      transport: api.transport(),
      clock,
      random: seededRandom(2),
      fieldManager: "a-user",
      limit: atOnce,
    });
  }

  get world(): World {
    const { clock, api } = this;
    const log = createLogger({ level: "info", program: "week", destination: { write: () => undefined } });
    return { transport: api.transport(), clock, ioClock: clock, random: seededRandom(3), log };
  }

  async begin(): Promise<void> {
    await this.client.create(resources.namespaces, { metadata: { name: NAMESPACE } });
    for (let index = 0; index < NODES; index++) await this.createNode(`n${index}`);
  }

  async createNode(name: string): Promise<void> {
    const capacity = { cpu: "64", memory: "256Gi", pods: "110" };
    const ready = { type: "Ready", status: "True", lastHeartbeatTime: new Date(this.clock.now()).toISOString() };
    await this.client.create(resources.nodes, {
      metadata: { name, labels: { [labels.managed]: "true", [labels.maySleep]: "true" } },
      status: { capacity, allocatable: capacity, conditions: [ready] },
    });
    await this.target(name, { profile: "eco", cpu: { packagePowerCapPctOfMax: 60 } });
    const spec = { nodeName: name, webhook: { url: "https://switch.example/{node}" } };
    await this.ignoring("alreadyExists", this.client.create(resources.powerEndpoints, { metadata: { name }, spec }));
    const status = { wakeProven: true };
    await this.client.mergePatch(resources.powerEndpoints, { name }, { status }, { subresource: "status" });
  }

  async target(name: string, spec: object): Promise<void> {
    const whole = { nodeName: name, policy: { name: "static_partition" }, ...spec };
    await this.client.apply(resources.nodeTwins, { name }, { spec: whole }, { force: true });
  }

  /** An hour: pods come and go, one node is replaced, and the API server forgets Events. */
  async passHour(hour: number, use: Started["use"]): Promise<void> {
    const names = Array.from({ length: PODS_AN_HOUR }, () => `p${this.#pods++}`);
    for (const [index, name] of names.entries()) {
      const containers = [{ name: "main", image: "none", resources: { requests: { cpu: "4" } } }];
      const annotations = index % 3 === 0 ? { "joulie.io/workload-class": "performance" } : {};
      const node = index % 4 === 0 ? {} : { nodeName: `n${(hour + index) % NODES}` };
      const pod = { metadata: { name, annotations }, spec: { containers, ...node } };
      await this.client.create(resources.pods, pod, { namespace: "default" });
    }
    await this.advance(1800);
    await use(hour);
    for (const name of names) await this.client.delete(resources.pods, { namespace: "default", name });
    const replaced = `n${hour % NODES}`;
    for (const resource of [resources.nodes, resources.nodeTwins, resources.nodeHardwares])
      await this.ignoring("notFound", this.client.delete(resource, { name: replaced }));
    await this.createNode(replaced);
    await this.advance(1800);
    await this.#forgetEvents();
  }

  async advance(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds * 1000; passed += STEP) await this.clock.advanceAsync(STEP);
  }

  /** Advances the clock until real sockets have answered. */
  async answered<Result>(result: Promise<Result>): Promise<Result> {
    let isAnswered = false;
    void result.finally(() => (isAnswered = true)).catch(() => undefined);
    await eventually(() => isAnswered, { between: async () => this.clock.advanceAsync(milliseconds(1)) });
    return result;
  }

  async ignoring(kind: "alreadyExists" | "notFound", call: Promise<unknown>): Promise<void> {
    await call.catch((error: unknown) => {
      if (!isApiError(error, kind)) throw error;
    });
  }

  async #forgetEvents(): Promise<void> {
    const { items } = await this.client.listAll(resources.events);
    for (const { metadata } of items)
      await this.ignoring(
        "notFound",
        this.client.delete(resources.events, { namespace: metadata.namespace ?? "default", name: metadata.name }),
      );
  }
}

function configured<Config extends ConfigSchema>(config: Config, env: Readonly<Record<string, string>>) {
  const parsed = parseConfig(config, { env, flags: {}, machine: { isTerminal: false, exists: () => false } });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
  return parsed.value.values;
}

const memoryFiles = (): JournalFiles => {
  const files = new Map<string, string>();
  return {
    directory: "/var/lib/joulie",
    read: async (name) => files.get(name),
    write: async (name, text) => void files.set(name, text),
    rename: async (from, to) => {
      files.set(to, files.get(from) ?? "");
      files.delete(from);
    },
    settle: async () => undefined,
  };
};

const programs: Readonly<Record<string, (cluster: ChangingCluster) => Promise<Started>>> = {
  operator: async ({ world, stop }) => {
    const env = { RECONCILE_INTERVAL: "2m", SLEEP_MODE: "on", POLICY_TYPE: "fit_aware_v1", ECO_MAX_SLOWDOWN_PCT: "10" };
    return {
      done: runOperator(configured(operatorConfig, { ...local, ...env }), world, stop.signal),
      use: async () => {},
    };
  },
  power: async (cluster) => {
    const { world, stop, off } = cluster;
    const openSwitch: NonNullable<Parameters<typeof runPower>[1]["openSwitch"]> = async ({ metadata: { name } }) => ({
      state: async () => (off.has(name) ? "off" : "on"),
      on: async (_, confirm) => {
        await confirm();
        off.delete(name);
      },
      shutdown: async (_, confirm) => {
        await confirm();
        off.add(name);
      },
      forceOff: async (_, confirm) => {
        await confirm();
        off.add(name);
      },
      close: async () => undefined,
    });
    const want = async (hour: number) => {
      for (let index = 0; index < NODES; index++) {
        const state = (hour + index) % 2 === 0 ? "off" : "on";
        const power = { spec: { power: { state, reason: "a test" } } };
        await cluster.client.mergePatch(resources.nodeTwins, { name: `n${index}` }, power);
      }
    };
    return { done: runPower(configured(powerConfig, local), { ...world, openSwitch }, stop.signal), use: want };
  },
  agent: async (cluster) => {
    const { world, stop, clock } = cluster;
    const config = configured(agentConfig, { ...local, NODE_NAME: "n0" });
    const openHost = async () => new FakeMachine(clock);
    const done = runAgent(config, { ...world, openHost, journalFiles: memoryFiles() }, stop.signal);
    const use = async (hour: number) =>
      cluster.target("n0", {
        profile: hour % 2 === 0 ? "performance" : "eco",
        ...(hour % 2 === 1 && { cpu: { packagePowerCapPctOfMax: 60 } }),
      });
    return { done, use };
  },
  extender: async (cluster) => {
    const { world, stop } = cluster;
    const addresses: string[] = [];
    const destination = { write: (line: string) => void addresses.push(...urlsIn(line)) };
    const log = createLogger({ level: "info", program: "week", destination });
    const config = configured(extenderConfig, { ...local, EXTENDER_ADDR: "127.0.0.1:0" });
    const done = runExtender(config, { ...world, log }, stop.signal);
    const ask = async (hour: number) => {
      const pod = {
        metadata: { name: `asks-${hour}`, namespace: "default", uid: `${hour}` },
        spec: { containers: [] },
      };
      const body = JSON.stringify({ Pod: pod, NodeNames: Array.from({ length: NODES }, (_, index) => `n${index}`) });
      for (const path of ["/filter", "/prioritize"])
        for (const address of addresses)
          await cluster.answered(
            fetch(`${address}${path}`, { method: "POST", body, headers: { "content-type": "application/json" } }).then(
              async (response) => response.text(),
            ),
          );
    };
    return { done, use: ask };
  },
  dashboard: async (cluster) => {
    const { world, stop } = cluster;
    const page = Promise.withResolvers<string>();
    const config = configured(dashboardConfig, { METRICS_ADDR: "127.0.0.1:0", DASHBOARD_ADDR: "127.0.0.1:0" });
    const done = runDashboard(config, { ...world, onServing: page.resolve }, stop.signal);
    const address = await cluster.answered(page.promise);
    const look = async () =>
      void (await cluster.answered(fetch(`${address}/api/snapshot`).then(async (answer) => answer.text())));
    return { done, use: look };
  },
};

const urlsIn = (line: string): readonly string[] => line.match(/http:\/\/127\.0\.0\.1:\d+/g) ?? [];

/** Live memory in bytes, and the handles of the process. */
const measured = () => {
  for (let turn = 0; turn < 4; turn++) collectGarbage();
  return { heap: process.memoryUsage().heapUsed, handles: process.getActiveResourcesInfo().length };
};

describe("days of virtual time", () => {
  let cluster: ChangingCluster | undefined;
  afterEach(async () => {
    await cluster?.api.close();
  });

  it.each(Object.keys(programs))(
    "add no memory and no handles to joulie %s",
    async (program) => {
      const changing = (cluster = new ChangingCluster());
      await changing.begin();
      const { done, use } = await (programs[program] as (typeof programs)[string])(changing);
      for (let hour = 0; hour < WARM_UP_HOURS; hour++) await changing.passHour(hour, use);
      let before = measured();
      let after = before;
      // A leak grows every time. What the engine compiles or keeps once does not, so that growth is measured again.
      for (let look = 0; look < 3; look++) {
        before = measured();
        for (let hour = 0; hour < HOURS; hour++) await changing.passHour(WARM_UP_HOURS + look * HOURS + hour, use);
        after = measured();
        if (after.heap - before.heap < GROWTH) break;
      }
      changing.stop.abort(new Error("the days are over"));
      await changing.answered(done);
      expect(after.heap - before.heap).toBeLessThan(GROWTH);
      expect(after.handles - before.handles).toBeLessThan(10);
    },
    PATIENCE_MS,
  );
});
