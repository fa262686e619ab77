// Observations for the table of the extender's variables. Each starts a complete extender on an in-memory API.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { labels } from "../../src/core/api/index.ts";
import type { RawValues } from "../../src/platform/config/index.ts";
import { resources } from "../../src/platform/kube/index.ts";
import {
  calmTwinStatus,
  ExtenderHarness,
  type RunningExtender,
  type RunningExtenderOptions,
} from "../../src/programs/extender/testing/extender-harness.ts";

export const certificates = join(import.meta.dirname, "../../src/platform/kube/testdata");
/** Unused loopback addresses. */
export const [FREE, FREE_METRICS] = ["127.0.0.77:29876", "127.0.0.77:29877"];

/** Placeholder in the table's values; the observations replace it with a folder that has `catalogue.yaml`. */
export const FOLDER = "/folder.test";
const CATALOGUE =
  "gpus: [{ key: nvidia-h100-sxm, vendor: nvidia, aliases: [NVIDIA-H100-80GB-HBM3], maxWatts: 300, perf: 400 }]";

const big = {
  cpu: { sockets: 2, coresPerSocket: 64, totalCores: 128, capRange: { type: "watts", maxWattsPerSocket: 350 } },
  gpu: { present: true, count: 8, vendor: "nvidia", capRangePerGpu: { minWatts: 100, maxWatts: 400 } },
};
const roomy = { measuredNodePowerW: 1000, nodeCappedPowerW: 4000, nodeTdpW: 4000, powerTrendWPerMin: 0 };
const standing = { ...calmTwinStatus, powerMeasurement: roomy, estimatedPUE: 1.8 };

interface Scene {
  readonly trial: ExtenderHarness;
  readonly extender: RunningExtender;
  /** Number of requests that the API received. */
  readonly asked: () => number;
}

/** Three identical nodes: one idle, one draining, and one whose twin is two minutes old. */
async function asking<Seen>(
  variables: RawValues,
  look: (scene: Scene) => Promise<Seen>,
  options: RunningExtenderOptions = {},
): Promise<Seen> {
  const harness = new ExtenderHarness();
  const folder = mkdtempSync(join(tmpdir(), "joulie-wiring-"));
  try {
    for (const name of ["calm", "draining", "old"]) {
      await harness.createNode(name);
      await harness.hardware(name, big);
    }
    await harness.twin("old", standing);
    await harness.advance(120);
    await harness.twin("calm", standing);
    await harness.twin("draining", { ...standing, schedulableClass: "draining" });
    let asked = 0;
    const inner = harness.api.transport();
    const transport = {
      ...inner,
      request: async (request: Parameters<typeof inner.request>[0]) => {
        asked++;
        return inner.request(request);
      },
    };
    writeFileSync(join(folder, "catalogue.yaml"), CATALOGUE);
    const own = Object.entries(variables).map(([name, text = ""]) => [name, text.replace(FOLDER, folder)]);
    const extender = await harness.start(Object.fromEntries(own) as Record<string, string>, { ...options, transport });
    return await look({ trial: harness, extender, asked: () => asked });
  } finally {
    await harness.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

const podOf = (workloadClass: string, requests: Readonly<Record<string, string>>) => ({
  metadata: { name: "p", annotations: { "joulie.io/workload-class": workloadClass } },
  spec: { containers: [{ resources: { requests, limits: requests } }] },
});
const NODES = ["calm", "draining", "old"];

/** The scores of each node for a pod of 64 cores, and of the idle node for pods of four GPUs. */
export const scores = async (variables: RawValues): Promise<unknown> =>
  asking(variables, async ({ extender }) => {
    const gpus = { cpu: "1", "nvidia.com/gpu": "4" };
    return {
      cores: await extender.scores(podOf("standard", { cpu: "64" }), NODES),
      gpus: (await extender.scores(podOf("standard", gpus), NODES))["calm"],
      gpusOfPerformance: (await extender.scores(podOf("performance", gpus), NODES))["calm"],
    };
  });

/** The same for a pod of 64 cores, once the extender has had time to read the pods. */
export const ranking = async (variables: RawValues): Promise<unknown> =>
  asking(variables, async ({ trial, extender }) => {
    await trial.advance(2);
    return extender.scores(podOf("standard", { cpu: "64" }), NODES);
  });

/** The scores of an idle node and of one that runs a pod, for a pod that the idle node would run with less power. */
export const awake = async (variables: RawValues): Promise<unknown> =>
  asking(variables, async ({ trial, extender }) => {
    const spec = {
      nodeName: "old",
      containers: [{ name: "main", image: "none", resources: { requests: { cpu: "60" } } }],
    };
    await trial.client.create(resources.pods, { metadata: { name: "busy" }, spec }, { namespace: "default" });
    await trial.advance(2);
    return extender.scores(podOf("standard", { cpu: "60" }), ["calm", "old"]);
  });

/** Whether the extender queries the API again during a minute without events. */
export const askedAgain = async (variables: RawValues): Promise<boolean> =>
  asking(variables, async ({ trial: harness, asked }) => {
    const before = asked();
    await harness.advance(60);
    return asked() > before;
  });

/** The response to a request of 4 KiB. */
export const longRequest = async (variables: RawValues): Promise<number> =>
  asking(variables, async ({ extender }) => {
    const asked = { Pod: podOf("standard", { cpu: "1" }), Nodes: null, NodeNames: [...NODES, "x".repeat(4096)] };
    return (await extender.post("/prioritize", asked)).status;
  });

/** The response of /debug/scoring to a remote client. */
export const debugPage = async (variables: RawValues): Promise<number> =>
  asking(variables, async ({ extender }) => {
    const headers = { "x-forwarded-for": "192.0.2.1" };
    return (await fetch(`${String(extender.url)}/debug/scoring`, { headers })).status;
  });

/** The nodes without a twin that the filter accepts for a performance pod, by their labels. */
export const byLabel = async (variables: RawValues): Promise<readonly string[] | null> =>
  asking(variables, async ({ trial: harness, extender }) => {
    const own: Readonly<Record<string, string>> = {
      "usual-eco": labels.powerProfile,
      "our-eco": "site.example/profile",
      "usual-draining": labels.draining,
      "our-draining": "site.example/draining",
    };
    for (const [name, label] of Object.entries(own))
      await harness.createNode(name, { [label]: name.endsWith("eco") ? "eco" : "true" });
    await harness.advance(2);
    return (await extender.filter(podOf("performance", { cpu: "1" }), Object.keys(own))).NodeNames;
  });

/** The score of a node whose GPUs are known only from labels. */
export const labelled = async (variables: RawValues): Promise<number | undefined> =>
  asking(variables, async ({ trial: harness, extender }) => {
    const own = { "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "joulie.io/hw.gpu-count": "8" };
    await harness.createNode("labelled", own, { cpu: "64", "nvidia.com/gpu": "8" });
    await harness.twin("labelled", standing);
    await harness.advance(2);
    return (await extender.scores(podOf("standard", { cpu: "1", "nvidia.com/gpu": "4" }), ["labelled"]))["labelled"];
  });

/** The addresses of the table on which the extender listens. */
export const served = async (variables: RawValues): Promise<unknown> =>
  asking(variables, async ({ extender }) => ({
    asked: extender.url === `http://${FREE}`,
    metrics: extender.metricsUrl === `http://${FREE_METRICS}`,
  }));

/** The result of a request by a client without a certificate. */
export const overTls = async (variables: RawValues): Promise<string> =>
  asking(
    variables,
    async ({ extender }) => {
      const url = new URL("/healthz", String(extender.url));
      const ask = url.protocol === "https:" ? httpsRequest : httpRequest;
      const ca = readFileSync(join(certificates, "ca.crt"));
      return new Promise<string>((resolve) => {
        const asked = ask(url, { agent: false, rejectUnauthorized: false, ca });
        asked.on("response", (response) => {
          response.resume();
          resolve(`${url.protocol} ${response.statusCode}`);
        });
        asked.on("error", () => resolve(`${url.protocol} refused`));
        asked.end();
      });
    },
    { synced: false },
  ).catch(() => "does not start");
