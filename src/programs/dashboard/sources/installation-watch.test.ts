import { afterEach, beforeEach, expect, it } from "vitest";
import { annotations } from "../../../core/api/index.ts";
import { systemClock } from "../../../platform/clock/index.ts";
import { parseConfig } from "../../../platform/config/index.ts";
import { EmbeddedApi } from "../../../platform/embedded/index.ts";
import { type ApiResponse, KubeClient, resources, type Transport } from "../../../platform/kube/index.ts";
import { createLogger } from "../../../platform/log/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { extenderConfig } from "../../extender/index.ts";
import { InstallationWatch } from "./installation-watch.ts";

const NAMESPACE = "joulie-system";
const log = createLogger({ level: "silent", program: "test" });
const statusOf = (status: number, reason: string): ApiResponse => ({
  status,
  headers: { "content-type": "application/json" },
  body: ReadableStream.from([Buffer.from(JSON.stringify({ kind: "Status", reason, message: reason }))]),
});

let api: EmbeddedApi;
let answer: (path: string) => ApiResponse | Promise<ApiResponse> | undefined;
let watch: InstallationWatch;

beforeEach(async () => {
  answer = () => undefined;
  api = new EmbeddedApi({ clock: systemClock, random: seededRandom(1), crds: [] });
  const inner = api.transport();
  const transport: Transport = {
    close: async () => inner.close(),
    request: async (request) => (await answer(request.path)) ?? inner.request(request),
  };
  const client = new KubeClient({ transport, clock: systemClock, random: seededRandom(2), fieldManager: "test" });
  const metadata = { name: NAMESPACE, annotations: { [annotations.stop]: "true" } };
  await client.create(resources.namespaces, { metadata });
  const machine = { isTerminal: false, exists: () => false };
  const parsed = parseConfig(extenderConfig, { env: {}, flags: {}, machine });
  if (!parsed.ok) throw new Error("the defaults are invalid");
  const assumed = { values: parsed.value.values, source: "assumed" };
  const options = { client, clock: systemClock, random: seededRandom(3), log, namespace: NAMESPACE };
  watch = new InstallationWatch({ ...options, assumed, isDemo: false });
});
afterEach(async () => api.close());

it("DSH-18 keeps what is known while the API server fails", async () => {
  await watch.read();
  expect(watch.installation).toMatchObject({ stopped: true, unreadable: [] });
  answer = () => statusOf(400, "BadRequest");
  await watch.read();
  expect(watch.installation).toMatchObject({ stopped: true, unreadable: [] });
});

it("DSH-18 ends at the signal while the API server hangs, so that the history is saved", async () => {
  answer = async () => new Promise(() => undefined);
  const stop = new AbortController();
  const running = watch.run(stop.signal);
  stop.abort();
  await expect(running).resolves.toBeUndefined();
});

it("DSH-18 names what the dashboard may not read, and shows the rest", async () => {
  answer = (path) => (path.includes("/leases") ? statusOf(403, "Forbidden") : undefined);
  await watch.read();
  expect(watch.installation?.stopped).toBe(true);
  expect(watch.installation?.unreadable).toEqual([expect.stringContaining("leases: ")]);
});

it("DSH-07 keeps the extender's settings while its Deployment cannot be read, and assumes them only without the right", async () => {
  const labels = { "app.kubernetes.io/name": "joulie", "app.kubernetes.io/component": "extender" };
  const env = [{ name: "SCORE_MAX", value: "10" }];
  const deployment = {
    metadata: { name: "joulie-extender", labels },
    spec: { template: { spec: { containers: [{ env }] } } },
  };
  const list = { kind: "List", apiVersion: "v1", metadata: { resourceVersion: "1" }, items: [deployment] };
  let isFailing = false;
  answer = (path) => {
    if (!path.includes("/deployments")) return undefined;
    // Only the second question, for the settings, names the component.
    if (isFailing && path.includes("component")) return statusOf(400, "BadRequest");
    return { ...statusOf(200, ""), body: ReadableStream.from([Buffer.from(JSON.stringify(list))]) };
  };
  await watch.read();
  expect(watch.extender).toMatchObject({ source: "the settings of Deployment joulie-extender" });
  isFailing = true;
  await watch.read();
  expect(watch.extender).toMatchObject({ source: "the settings of Deployment joulie-extender" });
  answer = (path) => (path.includes("/deployments") ? statusOf(403, "Forbidden") : undefined);
  await watch.read();
  expect(watch.extender.source).toBe("assumed");
});
