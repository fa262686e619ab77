import { printable } from "../../platform/log/index.ts";
import type { DemoConfig } from "./config.ts";
import type { DemoAddresses } from "./decisions-page.ts";
import type { DemoCluster } from "./demo-cluster.ts";

/** Text printed before the live view starts. */
export function welcomeText(
  config: DemoConfig,
  plane: DemoCluster,
  pages: DemoAddresses,
  logFile: string | undefined,
): string {
  const { NODES: nodes, POLICY: policy, SPEED: speed } = config;
  const where = plane.embedded ? "a Kubernetes API inside this process" : "the cluster of your kubeconfig";
  const lines = [
    `${nodes} simulated nodes on ${where}, power-managed by Joulie's real programs: simulator, agent,`,
    `operator (${policy}), scheduler and extender, all talking over HTTP, ${speed === 1 ? "in" : `at ${speed} times`} real time.`,
    "",
    row("Kubernetes API", plane.server),
    row("look inside", `KUBECONFIG=${plane.kubeconfig} kubectl get nodetwins`),
    ...(pages.dashboard === undefined ? [] : [row("dashboard", pages.dashboard)]),
    row("operator's plan", pages.plan),
    row("placements", pages.decisions),
    row("scores", pages.scoring),
    row("agent's nodes", pages.agent),
    row("simulator", `${pages.simulator}/state/NODE, /telemetry/NODE, /api/v1/query`),
    row("metrics", pages.metrics.join(" ")),
    ...(logFile === undefined ? [] : [row("log of programs", logFile)]),
  ];
  return `${lines.map(printable).join("\n")}\n\n`;
}

const row = (name: string, value: string): string => `  ${name.padEnd(16)} ${value}`;
