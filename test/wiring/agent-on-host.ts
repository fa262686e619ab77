// Runs `joulie agent` as a process on a machine of files, for variables that it reads before a test can inject anything.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { labels, type NodeHardware, type NodeTwin } from "../../src/core/api/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import type { RawValues } from "../../src/platform/config/index.ts";
import type { EmbeddedApi } from "../../src/platform/embedded/index.ts";
import type { HostTree } from "../../src/platform/hardware/testing/fake-host.ts";
import {
  epycCpuinfo,
  intelPstate,
  joinTrees,
  sapphireRapids,
  virtualCpuinfo,
  xeonCpuinfo,
} from "../../src/platform/hardware/testing/index.ts";
import { buildNvmlStub } from "../../src/platform/hardware/testing/nvml-stub.ts";
import { scratchTree } from "../../src/platform/hardware/testing/scratch-tree.ts";
import { KubeClient, resources } from "../../src/platform/kube/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { probeConfig } from "../../src/programs/agent/config.ts";
import { probe } from "../../src/programs/agent/probe/probe.ts";
import type { Probe } from "../../src/programs/agent/probe/probe-machine.ts";
import { runJoulie, withApi } from "./started-program.ts";
import { configured } from "./variable-table.ts";

/** Placeholder in the table's values; the observations replace it with a folder that has `sys`, `proc` and `state`. */
export const [HERE, THERE] = ["/here.test", "/there.test"];

const AMD_CARD = "devices/pci0000:00/0000:01:00.0";
const amdCard: HostTree = {
  files: {
    [`${AMD_CARD}/hwmon/hwmon5/name`]: "amdgpu",
    [`${AMD_CARD}/hwmon/hwmon5/power1_cap`]: "750000000",
    [`${AMD_CARD}/hwmon/hwmon5/power1_cap_max`]: "750000000",
    [`${AMD_CARD}/hwmon/hwmon5/power1_cap_min`]: "0",
    [`${AMD_CARD}/hwmon/hwmon5/power1_input`]: "191000000",
    [`${AMD_CARD}/unique_id`]: "5c88007d49b8e9e0",
    [`${AMD_CARD}/device`]: "0x74a1",
    [`${AMD_CARD}/drm/card0/dev`]: "226:0",
  },
  links: {
    "class/drm/card0": `../../${AMD_CARD}/drm/card0`,
    [`${AMD_CARD}/drm/card0/device`]: "../../../0000:01:00.0",
  },
};

/** The contents of a machine's folder. `vm` has nothing to cap and a model that is not in the catalogue. */
const folders: Readonly<Record<string, HostTree>> = {
  sys: joinTrees(sapphireRapids, intelPstate),
  "amd/sys": amdCard,
  "vm/sys": intelPstate,
  "vm/proc": { files: { cpuinfo: virtualCpuinfo.replaceAll(/model name.*/g, "model name : Our Chip 7") } },
};
export const LIMIT = "sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw";
const FREQUENCY = "vm/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq";

const CATALOGUE = `cpus:
  - { key: our-vm, vendor: intel, aliases: [Our Chip 7], coresPerSocket: 2, tdpWatts: 99, baseGHz: 2.8 }
`;

/** Two machines with different CPUs, limited to the folders that the variables name; `use` receives their paths. */
export async function withMachines<Result>(
  variables: RawValues,
  use: (here: string, there: string) => Promise<Result>,
): Promise<Result> {
  const machine = (place: string, cpuinfo: string, boot: string) => {
    const proc = { files: { cpuinfo, "sys/kernel/random/boot_id": boot } };
    const named = Object.entries<HostTree>({ ...folders, proc }).filter(([folder]) =>
      Object.values(variables).includes(`${place}/${folder}`),
    );
    const trees = named.map(([folder, { files, links = {} }]) => {
      const inside = <Value>(all: Readonly<Record<string, Value>>): Record<string, Value> =>
        Object.fromEntries(Object.entries(all).map(([path, value]) => [`${folder}/${path}`, value]));
      return { files: inside(files), links: inside(links) };
    });
    return scratchTree(joinTrees(...trees, { files: { "catalogue.yaml": CATALOGUE }, folders: ["state"] }));
  };
  const [here, there] = [machine(HERE, xeonCpuinfo, "boot-here"), machine(THERE, epycCpuinfo, "boot-there")];
  // On the second machine, NVML has crashed the agent twice at startup.
  writeFileSync(join(there.root, "state/nvml-trial.json"), JSON.stringify({ unfinished: 2, key: " boot-here" }));
  try {
    return await use(here.root, there.root);
  } finally {
    here.remove();
    there.remove();
  }
}

/** Undefined where the machine has no such file. */
export const fileAt = (folder: string, path: string): number | undefined =>
  existsSync(join(folder, path)) ? Number(readFileSync(join(folder, path), "utf8")) : undefined;

export const inPlace = (variables: RawValues, here: string, there: string): RawValues =>
  Object.fromEntries(
    Object.entries(variables).map(([name, text = ""]) => [name, text.replace(HERE, here).replace(THERE, there)]),
  );

/** Keeps the agent away from the machine that runs the test. */
export const hereOnly = { HOST_SYS_ROOT: `${HERE}/sys`, HOST_PROC_ROOT: `${HERE}/proc`, STATE_DIR: `${HERE}/state` };

/** What an agent with a target of 60 % discovers on its host, and which files it changes. */
export const onHost = async (variables: RawValues): Promise<unknown> =>
  withMachines(variables, async (here, there) =>
    withApi(async ({ api, kubeconfig }) => {
      const client = await clusterOf(api);
      let seen: unknown;
      const env = {
        NODE_NAME: "a",
        METRICS_ADDR: "127.0.0.1:0",
        KUBECONFIG: kubeconfig,
        ...inPlace(variables, here, there),
      };
      const watching = (async () => {
        await eventually(async () => {
          const twin = (await client.get(resources.nodeTwins, { name: "a" })) as unknown as NodeTwin;
          if (twin.status?.controlStatus?.cpu?.result === undefined) return undefined;
          const [hardware] = (await client.listAll(resources.nodeHardwares)).items as unknown as NodeHardware[];
          if (hardware?.status === undefined) return undefined;
          if (hardware.status.gpu === undefined) return undefined;
          const traces = (folder: string): string => {
            const [limit, frequency] = [fileAt(folder, LIMIT), fileAt(folder, FREQUENCY)];
            const state = readdirSync(join(folder, "state"));
            return [
              ...(limit === undefined ? [] : [`${limit / 1e6} W`]),
              ...(frequency === undefined ? [] : [`${frequency / 1000} MHz`]),
              ...["originals", "lock", "nvml-trial"].filter((name) => state.some((file) => file.startsWith(name))),
            ].join(", ");
          };
          seen = {
            model: hardware.status.cpu?.rawModel,
            nvml: nvmlOf(JSON.stringify(hardware.status), here, there),
            here: traces(here),
            there: traces(there),
          };
          return seen;
        });
      })();
      await runJoulie(["agent"], env, () => seen !== undefined);
      await watching;
      return seen;
    }),
  );

/** The agent's log messages about NVML. */
function nvmlOf(text: string, here: string, there: string): string {
  const [output = "nothing"] = /NVML is not used|NVML library \S+/.exec(text) ?? [];
  return output.replace(here, HERE).replace(there, THERE);
}

async function clusterOf(api: EmbeddedApi): Promise<KubeClient> {
  const [clock, random] = [systemClock, systemRandom];
  const client = new KubeClient({ transport: api.transport(), clock, random, fieldManager: "joulie-operator" });
  await client.create(resources.nodes, { metadata: { name: "a", labels: { [labels.managed]: "true" } } });
  const spec = { nodeName: "a", profile: "eco", cpu: { packagePowerCapPctOfMax: 60 } };
  await client.apply(resources.nodeTwins, { name: "a" }, { spec });
  return client;
}

/** The output of `joulie agent probe`, as JSON unless the row sets another format. */
export const probed = async (variables: RawValues): Promise<unknown> =>
  withMachines(variables, async (here, there) => {
    let stdout = "";
    await probe(configured(probeConfig, inPlace({ JSON: "true", ...variables }, here, there)), (text) => {
      stdout += text;
    });
    const nvml = nvmlOf(stdout, here, there);
    if (!stdout.startsWith("{")) return { heading: /Power caps, .*would set/.exec(stdout)?.[0] };
    const { cpu, backends, throttle } = JSON.parse(stdout) as Probe;
    const wouldSet = backends.flatMap(({ name, boards }) => boards.map((board) => `${name} ${board.wouldSet}`));
    return { cpu: `${cpu.model}, ${cpu.catalogue}`, wouldSet, lowest: throttle.lowestKHz, nvml };
  });

/** What `joulie agent probe` reports for an NVML library that crashes its process. */
export const probedWithBrokenBoard = async (variables: RawValues): Promise<string> =>
  withMachines(variables, async (here, there) => {
    const stub = buildNvmlStub();
    try {
      const env = { STUB_NVML_CRASH: "1", NVML_LIBRARY: stub.library, ...inPlace(variables, here, there) };
      const { code, stdout } = await runJoulie(["agent", "probe", "--json"], env);
      return code === null ? "ended by it" : nvmlOf(stdout, here, there);
    } finally {
      stub.remove();
    }
  });
