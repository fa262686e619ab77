import { printable } from "../../platform/log/index.ts";
import { type DemoConfig, titleOf, wantedSpeed } from "./config.ts";
import type { DemoCluster } from "./demo-cluster.ts";
import type { RunningPrograms } from "./programs.ts";

export type DemoPage = readonly [name: string, address: string];

export function welcomeText(config: DemoConfig, pages: readonly DemoPage[]): string {
  const { NODES: nodes } = config;
  const speed = wantedSpeed(config);
  const lines = [
    `${nodes} simulated nodes on a Kubernetes API inside this process, power-managed by Joulie's real programs: simulator, agent,`,
    `operator (${titleOf(config)}), scheduler and extender, all talking over HTTP, ${speed === 1 ? "in" : `up to ${speed} times as fast as`} real time.`,
    "",
    ...pages.map(([name, address]) => `  ${name.padEnd(16)} ${address}`),
  ];
  return `${lines.map(printable).join("\n")}\n\n`;
}

export function pagesOf(
  cluster: Pick<DemoCluster, "server" | "kubeconfig">,
  { ports, simulator, dashboard }: Pick<RunningPrograms, "ports" | "dashboard"> & { readonly simulator: FleetUrls },
  logFile: string | undefined,
): readonly DemoPage[] {
  const at = (port: number) => `http://127.0.0.1:${port}`;
  const { operator, agent, extender, extenderMetrics } = ports;
  const metrics = [at(operator), at(agent), at(extenderMetrics), simulator.metricsUrl].map((url) => `${url}/metrics`);
  return [
    ["dashboard", dashboard],
    ["Kubernetes API", cluster.server],
    ["look inside", `KUBECONFIG=${cluster.kubeconfig} kubectl get nodetwins`],
    ["operator's plan", `${at(operator)}/debug/plan`],
    ["placements", `${at(extender)}/debug/decisions`],
    ["scores", `${at(extender)}/debug/scoring`],
    ["agent's nodes", `${at(agent)}/debug/node`],
    ["simulator", `${simulator.url}/telemetry/NODE, /api/v1/query`],
    ["metrics", metrics.join(" ")],
    ...(logFile === undefined ? [] : [["log of programs", logFile] as const]),
  ];
}

type FleetUrls = Pick<RunningPrograms["simulator"], "url" | "metricsUrl">;

/** What the help of the live view says about the demo: the meaning of its line, and the addresses that are out of sight. */
export const explanationOf = (pages: readonly DemoPage[]): readonly string[] => [
  "8x of 60x: time waits for a busy machine; saved: estimated as by joulie savings",
  ...pages.map(([name, address]) => `${name.padEnd(16)} ${address}`),
];
