// A real Prometheus that scrapes Kepler's series, in the exposition format of its releases, and what the operator reads from it.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { milliseconds } from "../../src/core/units/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventuallyPasses } from "../../src/platform/clock/testing/index.ts";
import { freePorts } from "../../src/platform/serve/listen.ts";
import { PrometheusClient, PrometheusPower } from "../../src/platform/telemetry/index.ts";
import { ServerProcess } from "../controlplane/server-process.ts";

/** Series with labels, and the watts by which its counter grows; the value itself of a gauge. */
type Series = readonly [name: string, labels: string, watts: number];
/** Milliseconds. */
const PAST = 200_000;
const STEP = 10_000;
const isCounter = (name: string): boolean => name.endsWith("_total");

const zone = (node: string, name: string, path: string, watts: number): readonly Series[] => [
  ["kepler_node_cpu_joules_total", `node_name="${node}",path="${path}",zone="${name}"`, watts],
  ["kepler_node_cpu_active_joules_total", `node_name="${node}",path="${path}",zone="${name}"`, 0.7 * watts],
  ["kepler_node_cpu_idle_joules_total", `node_name="${node}",path="${path}",zone="${name}"`, 0.3 * watts],
  ["kepler_node_cpu_watts", `node_name="${node}",path="${path}",zone="${name}"`, watts],
];
const RAPL = "/sys/class/powercap/intel-rapl:";
const board = (node: string, index: number, watts: number): Series => [
  "kepler_node_gpu_joules_total",
  `gpu="${index}",gpu_uuid="GPU-${index}",node_name="${node}",vendor="nvidia"`,
  watts,
];

/** What the Kepler of each node exposes. The node is in the label node_name. */
const KEPLER: Readonly<Record<string, readonly Series[]>> = {
  // 0.10: two packages; core and uncore lie within them, psys contains them, dram is beside them.
  "two-sockets": [
    ...zone("two-sockets", "package", `${RAPL}0`, 120),
    ...zone("two-sockets", "package", `${RAPL}1`, 130),
    ...zone("two-sockets", "core", `${RAPL}0:0`, 90),
    ...zone("two-sockets", "uncore", `${RAPL}0:1`, 10),
    ...zone("two-sockets", "dram", `${RAPL}0:2`, 40),
    ...zone("two-sockets", "psys", `${RAPL}2`, 340),
    ["kepler_pod_cpu_joules_total", 'node_name="two-sockets",pod_id="p",state="running",zone="package"', 80],
    ["kepler_process_cpu_joules_total", 'node_name="two-sockets",pid="1",state="running",zone="package"', 80],
  ],
  "only-psys": [...zone("only-psys", "psys", `${RAPL}1`, 75), ...zone("only-psys", "core", `${RAPL}0:0`, 20)],
  // Parts of packages are not the packages: such a node has no reading.
  "only-parts": [...zone("only-parts", "core", `${RAPL}0:0`, 20), ...zone("only-parts", "dram", `${RAPL}0:2`, 5)],
  // 0.10 on a node with eight boards: Kepler does not see them.
  "gpus-unread": [...zone("gpus-unread", "package", `${RAPL}0`, 210), ...zone("gpus-unread", "dram", `${RAPL}0:0`, 30)],
  // Later releases read boards, and the BMC: the first control is the chassis, the others are parts of it.
  "gpus-read": [
    ...zone("gpus-read", "package", `${RAPL}0`, 210),
    board("gpus-read", 0, 600),
    board("gpus-read", 1, 500),
    ["kepler_node_gpu_watts", 'gpu="0",gpu_uuid="GPU-0",node_name="gpus-read",vendor="nvidia"', 600],
    ["kepler_node_gpu_idle_watts", 'gpu="0",gpu_uuid="GPU-0",node_name="gpus-read",vendor="nvidia"', 70],
    ["kepler_pod_gpu_joules_total", 'gpu="0",node_name="gpus-read",pod_id="p",state="running"', 400],
    ...(["System", "CPU"] as const).map(
      (name, index): Series => [
        "kepler_platform_watts",
        `source="redfish",node_name="gpus-read",bmc_id="b",chassis_id="1",power_control_id="${index}",power_control_name="${name}"`,
        index === 0 ? 1700 : 230,
      ],
    ),
  ],
  // The latest releases read each power supply of the BMC. Two share the load here; one of them may stand by with 0 W.
  "two-supplies": [
    ...zone("two-supplies", "package", `${RAPL}0`, 210),
    ...([245, 255, 0] as const).map(
      (watts, index): Series => [
        "kepler_platform_watts",
        `source="redfish",node_name="two-supplies",bmc_id="c",chassis_id="1",source_id="PS${index}",source_name="Supply ${index}",source_type="PowerSupply"`,
        watts,
      ],
    ),
  ],
  // Blades of one enclosure share its BMC: what it reads is of no single node.
  ...Object.fromEntries(
    ["blade-1", "blade-2"].map((node): [string, readonly Series[]] => [
      node,
      [
        ...zone(node, "package", `${RAPL}0`, 150),
        ["kepler_platform_watts", `source="redfish",node_name="${node}",bmc_id="enclosure",chassis_id="1"`, 900],
      ],
    ]),
  ),
  // Up to 0.9: the node is in the label instance; idle and dynamic energy are series of their own.
  "before-010": (["idle", "dynamic"] as const).flatMap((mode): readonly Series[] => {
    const labels = (device: string) => `instance="before-010",mode="${mode}",package="${device}"`;
    const watts = mode === "idle" ? 40 : 60;
    return [
      ["kepler_node_package_joules_total", `${labels("0")},source="intel_rapl"`, watts],
      ["kepler_node_package_joules_total", `${labels("1")},source="intel_rapl"`, watts + 1],
      ["kepler_node_core_joules_total", `${labels("0")},source="intel_rapl"`, watts / 2],
      ["kepler_node_dram_joules_total", `${labels("0")},source="intel_rapl"`, 9],
      ["kepler_node_other_joules_total", `${labels("")},source="intel_rapl"`, 33],
      ["kepler_node_gpu_joules_total", `${labels("0")},source="nvidia"`, 5 * watts],
      ["kepler_node_gpu_joules_total", `${labels("1")},source="nvidia"`, 4 * watts],
      // May be an estimate, whatever its source says.
      ["kepler_node_platform_joules_total", `${labels("energy1")},source="acpi"`, 900],
    ];
  }),
  "before-010-cpus": (["idle", "dynamic"] as const).map(
    (mode): Series => [
      "kepler_node_package_joules_total",
      `instance="before-010-cpus",mode="${mode}",package="0",source="intel_rapl"`,
      mode === "idle" ? 40 : 60,
    ],
  ),
};

describe("Kepler in a real Prometheus", () => {
  const folder = mkdtempSync(join(tmpdir(), "joulie-kepler-"));
  const started = systemClock.now();
  const scrapes = new Map<string, number>();
  let exporters: Server;
  let server: ServerProcess;
  let power: PrometheusPower;

  /** Samples have the times of a Prometheus that has scraped for some minutes, up to now: rates need two of them. */
  const textOf = (node: string, series: readonly Series[]): string => {
    const scrape = scrapes.get(node) ?? 0;
    scrapes.set(node, scrape + 1);
    const at = Math.min(systemClock.now(), started - PAST + scrape * STEP);
    const seconds = (at - started + PAST) / 1000;
    const names = new Set(series.map(([name]) => name));
    return Array.from(names, (name) => {
      const own = series.filter(([other]) => other === name);
      const lines = own.map(
        ([, labels, watts]) => `${name}{${labels}} ${isCounter(name) ? watts * seconds : watts} ${at}`,
      );
      const type = isCounter(name) ? "counter" : "gauge";
      return `# HELP ${name} Energy consumption\n# TYPE ${name} ${type}\n${lines.join("\n")}\n`;
    }).join("");
  };

  beforeAll(async () => {
    exporters = createServer((request, response) => {
      const node = (request.url ?? "").split("/")[1] ?? "";
      const series = KEPLER[node];
      response.setHeader("content-type", "text/plain; version=0.0.4; charset=utf-8");
      response.writeHead(series === undefined ? 404 : 200).end(textOf(node, series ?? []));
    });
    await new Promise<void>((resolve) => exporters.listen(0, "127.0.0.1", resolve));
    const target = `127.0.0.1:${(exporters.address() as AddressInfo).port}`;
    const config = {
      global: { scrape_interval: "100ms", scrape_timeout: "100ms" },
      scrape_configs: Object.keys(KEPLER).map((node) => ({
        job_name: node,
        metrics_path: `/${node}/metrics`,
        static_configs: [{ targets: [target] }],
      })),
    };
    writeFileSync(join(folder, "prometheus.yaml"), stringify(config));
    const [port = 0] = await freePorts(1);
    const address = `http://127.0.0.1:${port}`;
    server = new ServerProcess("", folder, {
      name: "prometheus",
      command: ["setpriv", "--pdeathsig", "KILL", "prometheus"],
      args: [
        `--config.file=${join(folder, "prometheus.yaml")}`,
        `--storage.tsdb.path=${join(folder, "data")}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      ready: async () => (await fetch(`${address}/-/ready`)).ok,
    });
    await server.start();
    const prometheus = new PrometheusClient({ address, clock: systemClock, timeout: milliseconds(10_000) });
    power = new PrometheusPower({ prometheus, clock: systemClock });
  });
  afterAll(async () => {
    await power?.close();
    await server?.stop();
    exporters?.closeAllConnections();
    await new Promise((resolve) => exporters.close(resolve));
    rmSync(folder, { recursive: true, force: true });
  });

  it("X-156 X-157 gives packages and boards of every release, counts no zone twice, and tells what it does not read", async () => {
    const nodes = Object.keys(KEPLER);
    const about = (watts: number) => ({ asymmetricMatch: (read: number) => Math.abs(read / watts - 1) < 0.03 });
    const kepler = { source: "kepler", at: expect.any(Number) as number };
    const expected = {
      "two-sockets": { ...kepler, onlyCpus: true, power: about(250) },
      "only-psys": { ...kepler, onlyCpus: true, power: about(75) },
      "gpus-unread": { ...kepler, onlyCpus: true, power: about(210) },
      "gpus-read": { ...kepler, server: 1700, power: about(1310) },
      "two-supplies": { ...kepler, onlyCpus: true, server: 500, power: about(210) },
      "blade-1": { ...kepler, onlyCpus: true, power: about(150) },
      "blade-2": { ...kepler, onlyCpus: true, power: about(150) },
      "before-010": { ...kepler, power: about(202 + 900) },
      "before-010-cpus": { ...kepler, onlyCpus: true, power: about(100) },
    };
    await eventuallyPasses(async () => {
      const { readings, problem } = await power.read(nodes);
      expect(problem).toBeUndefined();
      expect(Object.fromEntries(readings)).toEqual(expected);
    });
  });
});
