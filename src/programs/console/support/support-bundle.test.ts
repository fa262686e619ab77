import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { clusterOf, REPORT_TIME } from "../../../core/report/testing/index.ts";
import { VirtualClock } from "../../../platform/clock/testing/index.ts";
import { EmbeddedApi } from "../../../platform/embedded/index.ts";
import { KubeClient, resources, type Transport } from "../../../platform/kube/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import type { ConsoleContext } from "../context.ts";
import { supportBundle, writePrivately } from "./support-bundle.ts";

const namespace = "joulie-system";
let context: ConsoleContext;
let user: KubeClient;
let refused: string | undefined;

beforeEach(async () => {
  refused = undefined;
  const clock = new VirtualClock(REPORT_TIME);
  const inner = new EmbeddedApi({ clock, random: seededRandom(1), crds: [] }).transport();
  const limit = { perSecond: 1e6, burst: 1e6, queue: 1e6 };
  const clientOf = (transport: Transport) =>
    new KubeClient({ transport, clock, random: seededRandom(2), fieldManager: "test", limit });
  const transport: Transport = {
    close: async () => inner.close(),
    request: async (request) => {
      const of = (status: number, text: string) => ({
        status,
        headers: { "content-type": "application/json" },
        body: ReadableStream.from([Buffer.from(text)]),
      });
      if (refused !== undefined && request.path.startsWith(refused)) return of(403, '{"kind":"Status","code":403}');
      return request.path.includes("/log?") ? of(200, `log of ${request.path}\n`) : inner.request(request);
    },
  };
  user = clientOf(inner);
  await user.create(resources.namespaces, { metadata: { name: namespace } });
  context = {
    client: clientOf(transport),
    transport,
    clock,
    out: () => undefined,
    screen: { columns: 80, colour: false },
  };
});

const createPod = async (
  name: string,
  component: string,
  { ready = true, restarts = 0, containers = [component] } = {},
) => {
  const labels = { "app.kubernetes.io/name": "joulie", "app.kubernetes.io/component": component };
  const spec = { containers: containers.map((container) => ({ name: container, image: "x" })) };
  await user.create(resources.pods, { metadata: { name, labels }, spec }, { namespace });
  const status = {
    conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
    containerStatuses: containers.map((container) => ({ name: container, restartCount: restarts })),
  };
  await user.mergePatch(resources.pods, { name, namespace }, { status }, { subresource: "status" });
};

const bundle = async () => {
  const options = { namespace, version: {}, findings: [], isPlainVariable: () => false };
  const { files } = await supportBundle(context, clusterOf([], []), options);
  return new Map(files.map(({ name, content }) => [name, content]));
};

describe("the logs of a support bundle", () => {
  it("CLI-08 are those of the operator and the extender, however many agents there are", async () => {
    for (let index = 0; index < 40; index++) await createPod(`joulie-agent-${String(index).padStart(2, "0")}`, "agent");
    await createPod("joulie-agent-sick", "agent", { ready: false });
    await createPod("joulie-operator-1", "operator");
    await createPod("joulie-scheduler-extender-1", "extender");
    const logs = Array.from((await bundle()).keys()).filter((name) => name.startsWith("logs"));
    expect(logs.slice(0, 3)).toEqual([
      "logs/joulie-operator-1.log",
      "logs/joulie-scheduler-extender-1.log",
      "logs/joulie-agent-sick.log",
    ]);
    expect(logs).toHaveLength(3 + 5);
  });

  it("CLI-08 have what a container wrote before its last restart", async () => {
    await createPod("joulie-agent-a", "agent", { restarts: 2 });
    const files = await bundle();
    expect(files.get("logs/joulie-agent-a.previous.log")).toBe(
      `log of /api/v1/namespaces/${namespace}/pods/joulie-agent-a/log?container=agent&tailLines=500&previous=true\n`,
    );
    expect(files.has("logs/joulie-agent-a.log")).toBe(true);
  });

  it("CLI-08 are those of Joulie's containers, not of others that a cluster adds to its pods", async () => {
    await createPod("joulie-agent-a", "agent", { containers: ["agent", "istio-proxy"] });
    const logs = Array.from((await bundle()).keys()).filter((name) => name.startsWith("logs"));
    expect(logs).toEqual(["logs/joulie-agent-a.log"]);
  });

  it("CLI-08 are not missing without a word if the pods cannot be listed", async () => {
    refused = `/api/v1/namespaces/${namespace}/pods`;
    expect((await bundle()).get("logs.error.txt")).toContain("403");
  });
});

it("CLI-08 support-bundle has Joulie's Events about nodes, which are in another namespace", async () => {
  const event = (name: string, reportingController: string) => ({
    metadata: { name },
    regarding: { kind: "Node", name: "a" },
    reason: name,
    reportingController,
    eventTime: new Date(REPORT_TIME).toISOString(),
  });
  for (const [name, controller] of [
    ["profile-eco", "joulie.io/operator"],
    ["evicted", "kubelet"],
  ] as const)
    await user.create(resources.events, event(name, controller), { namespace: "default" });
  const text = String((await bundle()).get("node-events.json"));
  expect(text).toContain("profile-eco");
  expect(text).not.toContain("evicted");
});

it("CLI-08 support-bundle tightens the mode of a file that exists", async () => {
  const folder = await mkdtemp(join(tmpdir(), "joulie-bundle-"));
  try {
    const file = join(folder, "bundle.tar.gz");
    await writeFile(file, "an older and longer bundle");
    await chmod(file, 0o644);
    await writePrivately(file, Buffer.from("new"));
    expect([(await stat(file)).mode & 0o777, await readFile(file, "utf8")]).toEqual([0o600, "new"]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
