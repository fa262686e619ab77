// `joulie why` and a real extender that serves TLS: the record of a decision arrives over the way that port-forward opens.
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../src/platform/clock/index.ts";
import { parseConfig } from "../../src/platform/config/index.ts";
import { KubeClient } from "../../src/platform/kube/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { explainPod, readCluster } from "../../src/programs/console/index.ts";
import { freePorts } from "../../src/programs/demo/free-ports.ts";
import { extenderConfig } from "../../src/programs/extender/config.ts";
import { extenderPermissions } from "../../src/programs/extender/permissions.ts";
import { runExtender } from "../../src/programs/extender/start.ts";
import { reach } from "../contract/reach.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";

const NAMESPACE = "joulie-system";
const certificates = join(import.meta.dirname, "../../src/platform/kube/testdata");
const file = (name: string) => join(certificates, name);
const person = { cert: readFileSync(file("person.crt")), key: readFileSync(file("person.key")) };
const serving = { EXTENDER_TLS_CERT_FILE: file("server.crt"), EXTENDER_TLS_KEY_FILE: file("server.key") };
const extenders = { tls: serving, mutual: { ...serving, EXTENDER_TLS_CLIENT_CA_FILE: file("ca.crt") } } as const;
const soon = { timeout: 60_000, interval: 100 };

/** As kube-scheduler or curl -k with a client certificate. */
async function call(port: number, method: string, path: string, body?: unknown): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: "127.0.0.1", port, method, path, agent: false, rejectUnauthorized: false, ...person },
      (answer) => {
        text(answer).then(resolve, reject);
      },
    );
    sent.once("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

describe("why with an extender that serves TLS", () => {
  let plane: ControlPlane;
  const ports = new Map<string, number>();
  const endings: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    plane = await startControlPlane({});
    await plane.api.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
    await plane.createNodes(["worker"], () => ({ labels: { "joulie.io/managed": "true" } }));
    await plane.createPods(["job"], { spec: { nodeName: "worker" } });
    const { server, token, ca } = await plane.identity(extenderPermissions, { name: "joulie-extender" });
    const log = createLogger({ level: "fatal", program: "extender" });
    const free = await freePorts(2);
    for (const [at, [name, tls]] of Object.entries(extenders).entries()) {
      const port = free[at] ?? 0;
      const env = { METRICS_ADDR: "127.0.0.1:0", EXTENDER_ADDR: `127.0.0.1:${port}`, ...tls };
      const machine = { isTerminal: false, exists: () => false };
      const parsed = parseConfig(extenderConfig, { env, flags: {}, machine });
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
      const transport = reach(server, token, ca);
      const world = { transport, clock: systemClock, ioClock: systemClock, random: systemRandom, log };
      const ending = new AbortController();
      const done = runExtender(parsed.value.values, world, ending.signal);
      endings.push(async () => {
        ending.abort();
        await done;
        await transport.close();
      });
      ports.set(name, port);
      const answer = async () => call(port, "GET", "/readyz").catch(() => undefined);
      await vi.waitUntil(async () => (await answer()) !== undefined, soon);
    }
  }, 300_000);
  afterAll(async () => {
    for (const end of endings) await end();
    await plane?.stop();
  });

  /** Creates the pod of the extender as the chart does, and asks why the job is on its node. */
  const whyWith = async (name: keyof typeof extenders) => {
    const port = ports.get(name) ?? 0;
    const pods = `/api/v1/namespaces/${NAMESPACE}/pods`;
    const env = Object.entries(extenders[name]).map(([variable, value]) => ({ name: variable, value }));
    await plane.api.create(pods, {
      metadata: {
        name: `ext-${name}`,
        labels: { "app.kubernetes.io/name": "joulie", "app.kubernetes.io/component": "extender" },
      },
      spec: { containers: [{ name: "extender", image: "x", env, ports: [{ name: "extender", containerPort: 9876 }] }] },
    });
    const status = { conditions: [{ type: "Ready", status: "True" }] };
    await plane.api.mergePatch(`${pods}/ext-${name}/status`, { status });
    const Pod = { metadata: { name: "job", namespace: "default", uid: "u" }, spec: { containers: [] } };
    const prioritize = async () => call(port, "POST", "/prioritize", { Pod, NodeNames: ["worker"] });
    await vi.waitUntil(async () => (await prioritize()).includes('"Score"'), soon);
    const transport = reach(plane.admin.server, plane.admin.token, plane.admin.ca);
    const client = new KubeClient({ transport, clock: systemClock, random: systemRandom, fieldManager: "test" });
    // What kubectl port-forward opens: a port of loopback that ends at the extender's.
    const forward = async () => ({ url: `http://127.0.0.1:${port}`, isOpen: true, close: async () => undefined });
    const screen = { columns: 80, colour: false };
    const context = { client, transport, clock: systemClock, forward, out: () => undefined, screen };
    try {
      const objects = await readCluster({ client, clock: systemClock, namespace: NAMESPACE });
      return await explainPod(context, objects, { pod: "job", namespace: "default", installation: NAMESPACE });
    } finally {
      await transport.close();
      await plane.api.remove(`${pods}/ext-${name}?gracePeriodSeconds=0`);
    }
  };

  it("CLI-03 shows the extender's record although its certificate is not known here", async () => {
    const { record, noRecord } = await whyWith("tls");
    expect(noRecord).toBeUndefined();
    expect(record?.[0]).toMatchObject({ verb: "prioritize", nodes: [{ node: "worker" }] });
  });

  it("CLI-18 says that an extender that verifies its clients has to be asked with a certificate, which works", async () => {
    const { record, noRecord } = await whyWith("mutual");
    expect(record).toBeUndefined();
    expect(noRecord).toMatch(
      /^pod ext-mutual answers only clients with a certificate \(extender\.tls\.verifyClients\)/,
    );
    const page = await call(ports.get("mutual") ?? 0, "GET", "/debug/decisions?pod=default/job");
    expect(JSON.parse(page)).toMatchObject({ decisions: [{ verb: "prioritize" }] });
  });
});
