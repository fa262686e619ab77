// The real Prometheus inside a node's network, with the chart's alerts.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { request } from "undici";
import { stringify } from "yaml";
import { ServerProcess } from "../controlplane/server-process.ts";
import type { RealNode } from "./node.ts";

const alerts = join(import.meta.dirname, "../../charts/joulie/files/alerts.yaml");
const port = 9090;

export interface Prometheus {
  /** Result of a query: labels and value of each series. */
  query(
    expression: string,
  ): Promise<readonly { readonly metric: Readonly<Record<string, string>>; readonly value: string }[]>;
  /** Names of the alerts that fire. */
  firing(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** Scrapes the targets (address and port) every second; alerts fire without waiting. */
export async function startPrometheus(node: RealNode, targets: readonly string[]): Promise<Prometheus> {
  const folder = join(node.folder, "prometheus");
  mkdirSync(folder);
  writeFileSync(join(folder, "alerts.yaml"), readFileSync(alerts, "utf8").replaceAll(/^ *for: .*\n/gm, ""));
  const config = {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: [join(folder, "alerts.yaml")],
    scrape_configs: [{ job_name: "joulie", static_configs: [{ targets }] }],
  };
  writeFileSync(join(folder, "prometheus.yaml"), stringify(config));
  const url = `http://${node.network.outerAddress}:${port}`;
  const get = async (path: string): Promise<unknown> => {
    const { statusCode, body } = await request(`${url}${path}`);
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${path}: ${statusCode} ${text}`);
    return text.startsWith("{") ? JSON.parse(text) : text;
  };
  const [first = "", ...enter] = node.network.enter;
  const program = new ServerProcess("", folder, {
    name: "prometheus",
    command: ["setpriv", "--pdeathsig", "KILL", first, ...enter, "prometheus"],
    args: [
      `--config.file=${join(folder, "prometheus.yaml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=${node.network.outerAddress}:${port}`,
    ],
    ready: async () => (await get("/-/ready")) !== undefined,
  });
  await program.start();
  return {
    query: async (expression) => {
      const answer = (await get(`/api/v1/query?query=${encodeURIComponent(expression)}`)) as {
        readonly data: { readonly result: readonly { metric: Record<string, string>; value: [number, string] }[] };
      };
      return answer.data.result.map(({ metric, value }) => ({ metric, value: value[1] }));
    },
    firing: async () => {
      type Alert = { readonly state: string; readonly labels: { readonly alertname: string } };
      const { data } = (await get("/api/v1/alerts")) as { readonly data: { readonly alerts: readonly Alert[] } };
      return data.alerts.filter(({ state }) => state === "firing").map(({ labels }) => labels.alertname);
    },
    stop: async () => program.stop(),
  };
}
