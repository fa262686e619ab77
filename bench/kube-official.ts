// One measurement of bench/kube.ts with @kubernetes/client-node, in a separate process.
import {
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  type V1Node,
  type V1Pod,
} from "@kubernetes/client-node";
import { eventMeter, measurement, settledMemory } from "./kube-measurement.ts";

await measurement(async ({ port, what, events, patches, concurrency }) => {
  const config = new KubeConfig();
  // It rejects plain HTTP otherwise.
  config.loadFromClusterAndUser(
    { name: "c", server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
    { name: "u", token: "token" },
  );
  const core = config.makeApiClient(CoreV1Api);

  if (what === "patches") {
    const custom = config.makeApiClient(CustomObjectsApi);
    const header = setHeaderOptions("Content-Type", PatchStrategy.ServerSideApply);
    const one = async (index: number) =>
      custom.patchClusterCustomObject(
        {
          group: "joulie.io",
          version: "v1alpha1",
          plural: "nodetwins",
          name: `node-${index}`,
          body: {
            apiVersion: "joulie.io/v1alpha1",
            kind: "NodeTwin",
            metadata: { name: `node-${index}` },
            spec: { nodeName: `node-${index}`, profile: "eco", cpu: { packagePowerCapPctOfMax: 60 } },
          },
          fieldManager: "bench",
          force: true,
        },
        header,
      );
    await Promise.all(Array.from({ length: concurrency }, async (_, index) => one(index)));
    const start = performance.now();
    let next = 0;
    await Promise.all(
      Array.from({ length: concurrency }, async () => {
        while (next < patches) await one(next++);
      }),
    );
    return { value: (patches * 1000) / (performance.now() - start) };
  }

  if (what === "nodes") {
    const start = performance.now();
    const informer = makeInformer<V1Node>(config, "/api/v1/nodes", async () => core.listNode());
    await informer.start();
    const took = performance.now() - start;
    if (informer.list().length !== 5000) throw new Error(`${informer.list().length} nodes`);
    return { value: took, close: async () => informer.stop() };
  }

  const meter = eventMeter(events);
  const quiet = what === "events" ? undefined : "quiet";
  const informer = makeInformer<V1Pod>(config, "/api/v1/pods", async () => core.listPodForAllNamespaces(), quiet);
  informer.on("update", () => meter.saw(1));
  await informer.start();
  const close = async () => informer.stop();
  if (what === "events") return { ...(await meter.all), close };
  const value = await settledMemory();
  if (informer.list().length !== 50_000) throw new Error(`${informer.list().length} pods`);
  return { value, close };
});
