// Observations for the table of the agent's variables. Each starts a complete agent on an in-memory API and machine.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { watts } from "../../src/core/units/index.ts";
import type { RawValues } from "../../src/platform/config/index.ts";
import { resources } from "../../src/platform/kube/index.ts";
import { AgentTestHarness, type AgentUnderTest } from "../../src/programs/agent/testing/agent-test-harness.ts";
import { FakeControlService } from "../../src/programs/agent/testing/fake-control-service.ts";
import { serveSecurely } from "./secure-service.ts";

/** Placeholder in the table's values; the observations replace it with the address of their own service. */
export const SERVICE = "http://service.test";
/** The same for a service with a self-signed certificate, stored in the file `ca.crt`. */
export const SECURE = "https://secure.test";
/** Placeholder for a folder with the files `token` and `catalogue.yaml`. */
export const FOLDER = "/folder.test";
/** An unused loopback address. */
export const FREE = "127.0.0.78:28080";

interface Scene {
  readonly harness: AgentTestHarness;
  readonly service: FakeControlService;
  readonly agent: AgentUnderTest;
}

const H100 = { "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "joulie.io/hw.gpu-count": "8" };
const CATALOGUE =
  "gpus: [{ key: nvidia-h100-sxm, vendor: nvidia, aliases: [NVIDIA-H100-80GB-HBM3], maxWatts: 500, perf: 400 }]";

/** Node a with two packages of 350 W, two GPUs of 700 W and a target of 60 %; a service that responds for any node. */
async function onNode<Seen>(
  variables: RawValues,
  look: (scene: Scene) => Promise<Seen>,
  before: (harness: AgentTestHarness, service: FakeControlService) => Promise<void> | void = () => undefined,
): Promise<Seen> {
  const [harness, service, secure] = [new AgentTestHarness(), new FakeControlService(), await serveSecurely()];
  const folder = await mkdtemp(join(tmpdir(), "joulie-wiring-"));
  try {
    await service.listen();
    await writeFile(join(folder, "token"), "s3cret");
    await writeFile(join(folder, "catalogue.yaml"), CATALOGUE);
    await writeFile(join(folder, "ca.crt"), secure.certificate);
    const { gpu } = harness.machine;
    gpu.absent = undefined;
    for (const id of ["GPU-0", "GPU-1"]) {
      gpu.add(id, { min: watts(100), max: watts(700) });
      gpu.draws.set(id, 150);
    }
    await harness.createNode("a", H100);
    await harness.target("a", { cpu: { packagePowerCapPctOfMax: 60 }, gpu: { powerCap: { capPctOfMax: 60 } } });
    await before(harness, service);
    const own = Object.entries(variables).map(([name, text = ""]) => [
      name,
      text.replace(SERVICE, new URL(service.control).origin).replace(SECURE, secure.url).replace(FOLDER, folder),
    ]);
    const agent = harness.start(Object.fromEntries(own) as Record<string, string>);
    await harness.advance(2);
    return await look({ harness, service, agent });
  } finally {
    harness.api.faults.clear();
    harness.api.faults.thaw();
    await harness.close();
    await Promise.all([service.close(), secure.close()]);
    await rm(folder, { recursive: true, force: true });
  }
}

const limits = ({ machine }: AgentTestHarness): string =>
  `CPU ${[...machine.rapl.limits.values()].join(" ")}, GPU ${[...machine.gpu.limits.values()].join(" ")}`;

/** The enforced limits. */
export const enforced = async (variables: RawValues): Promise<string> =>
  onNode(variables, async ({ harness }) => limits(harness));

/** The limits after the agent has exited. */
export const leftBehind = async (variables: RawValues): Promise<string> =>
  onNode(variables, async ({ harness, agent }) => {
    await agent.stop();
    return limits(harness);
  });

/** The limits when the API server has not responded for five minutes. */
export const withoutApi = async (variables: RawValues): Promise<string> =>
  onNode(
    variables,
    async ({ harness }) => {
      await harness.advance(20);
      harness.api.faults.freeze();
      await harness.advance(300);
      return limits(harness);
    },
    async (harness) => harness.target("a", { profile: "performance", cpu: { packagePowerCapWatts: 300 } }),
  );

/** The node whose status the agent writes. */
export const nodeReported = async (variables: RawValues): Promise<string> =>
  onNode(
    variables,
    async ({ agent }) =>
      [...new Set(agent.takeWrites().map(({ path }) => /nodetwins\/(\w+)/.exec(path)?.[1]))].join(" ").trim(),
    async (harness) => {
      await harness.createNode("b");
      await harness.target("b", {});
    },
  );

/** Number of power measurements per minute. */
export const ticks = async (variables: RawValues): Promise<number> =>
  onNode(variables, async ({ harness }) => {
    let samples = 0;
    const sample = harness.machine.energy.sample.bind(harness.machine.energy);
    harness.machine.energy.sample = () => {
      samples++;
      return sample();
    };
    await harness.advance(60);
    return samples;
  });

/** The interval in the agent's warning that the operator would treat its readings as stale. */
export const warnedInterval = async (variables: RawValues): Promise<unknown> =>
  onNode(variables, async ({ agent }) => agent.logs.find(({ freshFor }) => freshFor !== undefined)?.["interval"]);

/** The zones whose energy counter overflows within one interval. */
export const warnedOf = async (variables: RawValues): Promise<unknown> =>
  onNode(variables, async ({ agent }) => agent.logs.flatMap(({ zone }) => zone ?? []));

export const served = async (variables: RawValues): Promise<boolean> =>
  onNode(variables, async ({ agent }) => agent.logs.some(({ url }) => url === `http://${FREE}`));

/** The reporting component of the agent's Events. */
export const eventInstance = async (variables: RawValues): Promise<unknown> =>
  onNode(
    variables,
    async ({ harness }) => {
      await harness.advance(30);
      const events = (await harness.user.listAll(resources.events)).items as unknown as { reportingInstance: string }[];
      return events[0]?.reportingInstance;
    },
    (harness) => {
      harness.machine.rapl.refusal = { result: "error", message: "EIO" };
      harness.machine.throttle.absent = "none";
    },
  );

/** Effects of each mode: what the agent reports, and what it changes on its own host. */
export const mode = async (variables: RawValues): Promise<unknown> =>
  onNode(variables, async ({ harness, agent }) => {
    await harness.advance(45);
    const { nodes } = JSON.parse((await agent.page("/debug/node")).text) as { nodes?: string[] };
    return {
      said: agent.logs.find(({ url }) => url !== undefined)?.["mode"],
      nodes,
      writes: harness.machine.writes.length,
      cpu: (await harness.controlStatus())?.cpu?.result,
      kept: (await harness.controlStatus())?.cpu?.message?.includes("never touches its own host"),
    };
  });

/** The nodes a pool agent controls, out of six managed ones and an unmanaged one; or why it does not start. */
export const poolNodes = async (variables: RawValues): Promise<string> =>
  onNode(
    variables,
    async ({ harness, agent }) => {
      await harness.advance(5);
      const { nodes } = JSON.parse((await agent.page("/debug/node")).text) as { nodes?: string[] };
      return nodes?.toSorted().join(" ") ?? "none";
    },
    async (harness) => {
      for (const name of "bcdef") await harness.createNode(name, name > "d" ? { pool: "west" } : {});
    },
  ).catch((error: unknown) => String(error).replace(/.*?(NODE_NAME is not set|POOL_SHARD_ID is not set).*/s, "$1"));

/** The throttle over four minutes: power is far above the cap of 200 W, then just above it, then below it. */
export const throttling = async (variables: RawValues): Promise<string> =>
  onNode(
    variables,
    async ({ harness }) => {
      const { machine } = harness;
      const seen: number[] = [];
      const watch = async (power: number, seconds: number) => {
        machine.draw(power);
        for (let passed = 0; passed < seconds; passed += 10) {
          await harness.advance(10);
          seen.push(machine.throttle.throttlePct);
        }
      };
      await watch(380, 60);
      await watch(500, 90);
      await watch(412, 60);
      await watch(360, 120);
      return seen.join(" ");
    },
    async (harness) => {
      harness.machine.rapl.absent = "no RAPL";
      harness.machine.draw(380);
      await harness.target("a", { cpu: { packagePowerCapWatts: 200 } });
    },
  );

/** The published power, and the commands that the service received. */
export const routed = async (variables: RawValues): Promise<unknown> =>
  onNode(
    variables,
    async ({ harness, service }) => {
      await harness.advanceInSteps(22);
      const { cpu, gpu } = (await harness.controlStatus()) ?? {};
      return {
        cpu: `${cpu?.result} by ${cpu?.backend}, ${cpu?.observedPowerWatts?.toFixed(0) ?? "?"} W`,
        gpu: `${gpu?.result} by ${gpu?.backend}, ${gpu?.observedPowerWatts?.toFixed(0) ?? "?"} W`,
        commands: service.commandTexts,
      };
    },
    (_, service) =>
      void Object.assign(service.node("a"), { power: 333, gpuPower: 777, capWatts: 400, capWattsPerGpu: 700 }),
  );

/** The control backends of CPUs and GPUs, from /debug/node. */
export const modes = async (variables: RawValues): Promise<unknown> =>
  onNode(variables, async ({ agent }) => {
    const { route } = JSON.parse((await agent.page("/debug/node")).text) as {
      route: Record<"cpuControl" | "gpuControl", { mode: string }>;
    };
    return { cpu: route.cpuControl.mode, gpu: route.gpuControl.mode };
  });

/** Whether the agent's request to a service that never responds timed out within ten seconds. */
export const givenUp = async (variables: RawValues): Promise<boolean> =>
  onNode(
    variables,
    async ({ harness, service }) => {
      await harness.until(() => service.requests.length > 0);
      await harness.advanceInSteps(10);
      return (await harness.controlStatus())?.cpu?.result === "error";
    },
    (_, service) => void service.silent.add("a"),
  );

/** The Authorization headers that the service receives. */
export const authorization = async (variables: RawValues): Promise<unknown> =>
  onNode(variables, async ({ harness, service }) => {
    await harness.until(() => service.requests.length > 0);
    return [...service.authorizations];
  });

/** The response of /debug/node to a remote client. */
export const debugPage = async (variables: RawValues): Promise<number> =>
  onNode(variables, async ({ agent }) => {
    const url = agent.logs.find(({ url: at }) => at !== undefined)?.["url"];
    return (await fetch(`${String(url)}/debug/node`, { headers: { "x-forwarded-for": "192.0.2.1" } })).status;
  });

/** The control result under a TelemetryProfile that names the service. */
export const named = async (variables: RawValues): Promise<unknown> =>
  onNode(
    variables,
    async ({ harness }) => {
      await harness.advanceInSteps(10);
      return (await harness.controlStatus())?.gpu?.result;
    },
    async (harness, service) =>
      harness.route("own", {
        target: { scope: "node", nodeName: "a" },
        controls: { gpu: { type: "http", http: { endpoint: service.control } } },
      }),
  );

/** The result of sending a token to a remote service over http. */
export const unencrypted = async (variables: RawValues): Promise<string> =>
  onNode(
    {
      TELEMETRY_HTTP_TOKEN_FILE: `${FOLDER}/token`,
      TELEMETRY_GPU_CONTROL: "http",
      TELEMETRY_GPU_CONTROL_HTTP_ENDPOINT: "http://service.invalid/{node}",
      ...variables,
    },
    async ({ harness }) => {
      await harness.until(async () => (await harness.controlStatus())?.gpu?.message !== undefined);
      const { message = "" } = (await harness.controlStatus())?.gpu ?? {};
      return message.includes("unencrypted") ? "not allowed" : message.includes("no response") ? "tried" : message;
    },
  );
