import { printable } from "../../platform/log/index.ts";
import { type DemoConfig, wantedSpeed } from "./config.ts";
import type { DemoAddresses } from "./decisions-page.ts";
import type { DemoCluster } from "./demo-cluster.ts";

/** Something the user can open while the demo runs. */
export type DemoPage = readonly [name: string, address: string];

/** Text printed before the live view starts. */
export function welcomeText(config: DemoConfig, plane: DemoCluster, pages: readonly DemoPage[]): string {
  const { NODES: nodes, POLICY: policy } = config;
  const speed = wantedSpeed(config);
  const where = plane.embedded ? "a Kubernetes API inside this process" : "the cluster of your kubeconfig";
  const lines = [
    `${nodes} simulated nodes on ${where}, power-managed by Joulie's real programs: simulator, agent,`,
    `operator (${policy}), scheduler and extender, all talking over HTTP, ${speed === 1 ? "in" : `up to ${speed} times as fast as`} real time.`,
    "",
    ...pages.map(([name, address]) => `  ${name.padEnd(16)} ${address}`),
  ];
  return `${lines.map(printable).join("\n")}\n\n`;
}

/** What the user can open, most useful first. */
export const pagesOf = (plane: DemoCluster, pages: DemoAddresses, logFile: string | undefined): readonly DemoPage[] => [
  ["dashboard", pages.dashboard],
  ["Kubernetes API", plane.server],
  ["look inside", `KUBECONFIG=${plane.kubeconfig} kubectl get nodetwins`],
  ["operator's plan", pages.plan],
  ["placements", pages.decisions],
  ["scores", pages.scoring],
  ["agent's nodes", pages.agent],
  ["simulator", `${pages.simulator}/state/NODE, /telemetry/NODE, /api/v1/query`],
  ["metrics", pages.metrics.join(" ")],
  ...(logFile === undefined ? [] : [["log of programs", logFile] as const]),
];
