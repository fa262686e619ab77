// The command lines of the control plane: flags for fast starts, little output and operation without kubelets.
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { request } from "undici";
import { auditPolicy } from "./requests.ts";
import type { ProgramSpec } from "./server-process.ts";

/** The users with static tokens. All are in system:masters; programs under test use ServiceAccounts. */
const masters = ["admin", "kube-scheduler", "kube-controller-manager"] as const;
type Master = (typeof masters)[number];

export interface Layout {
  readonly folder: string;
  readonly ports: Readonly<Record<"etcd" | "etcdPeer" | "apiserver" | "scheduler" | "controllers", number>>;
  readonly server: string;
  readonly tokens: Readonly<Record<Master, string>>;
  readonly files: Readonly<Record<"certificate" | "key" | "tokens" | "auditPolicy" | "audit", string>>;
}

/** Creates the folder's layout: keys, tokens, the path of every file. */
export function prepare(folder: string, ports: Layout["ports"]): Layout {
  const secret = () => randomBytes(24).toString("base64url");
  const tokens = { admin: secret(), "kube-scheduler": secret(), "kube-controller-manager": secret() };
  const files = {
    // The API server writes this certificate for 127.0.0.1; the file also contains the CA certificate.
    certificate: `${folder}/certificates/apiserver.crt`,
    key: `${folder}/service-accounts.pem`,
    tokens: `${folder}/tokens.csv`,
    auditPolicy: `${folder}/audit-policy.json`,
    audit: `${folder}/audit.jsonl`,
  };
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  writeFileSync(files.key, privateKey.export({ type: "sec1", format: "pem" }), { mode: 0o600 });
  const lines = masters.map((name) => `${tokens[name]},${name},${name},system:masters\n`);
  writeFileSync(files.tokens, lines.join(""), { mode: 0o600 });
  writeFileSync(files.auditPolicy, JSON.stringify(auditPolicy));
  return { folder, ports, server: `https://127.0.0.1:${ports.apiserver}`, tokens, files };
}

export function etcd({ folder, ports }: Layout): ProgramSpec {
  const client = `http://127.0.0.1:${ports.etcd}`;
  const peer = `http://127.0.0.1:${ports.etcdPeer}`;
  return {
    name: "etcd",
    args: flags({
      "data-dir": `${folder}/etcd`,
      "unsafe-no-fsync": true,
      "listen-client-urls": client,
      "advertise-client-urls": client,
      "listen-peer-urls": peer,
      "initial-advertise-peer-urls": peer,
      "initial-cluster": `default=${peer}`,
      "quota-backend-bytes": 4 * 2 ** 30,
    }),
    ready: async () => {
      const { statusCode, body } = await request(`${client}/health`, { headersTimeout: 5000 });
      await body.dump();
      return statusCode === 200;
    },
  };
}

export function apiserver({ folder, ports, files }: Layout, audit: boolean, ready: ProgramSpec["ready"]): ProgramSpec {
  return {
    name: "kube-apiserver",
    args: flags({
      "etcd-servers": `http://127.0.0.1:${ports.etcd}`,
      "bind-address": "127.0.0.1",
      "secure-port": ports.apiserver,
      "cert-dir": `${folder}/certificates`,
      "service-account-issuer": "https://kubernetes.default",
      "service-account-key-file": files.key,
      "service-account-signing-key-file": files.key,
      "token-auth-file": files.tokens,
      "authorization-mode": "RBAC",
      "service-cluster-ip-range": "10.0.0.0/24",
      "allow-privileged": true,
      // No controller here removes the not-ready taint of a new node or creates the ServiceAccounts that pods require.
      "disable-admission-plugins": "ServiceAccount,TaintNodesByCondition",
      // There is only one API server. Without this flag, its shutdown would wait for an unused Service.
      "endpoint-reconciler-type": "none",
      // Without this flag, the server exits only after the last watch has ended.
      "shutdown-watch-termination-grace-period": "1s",
      // By default the API server rotates the log at 100 MB, and requests before the rotation would be missing.
      ...(audit
        ? { "audit-policy-file": files.auditPolicy, "audit-log-path": files.audit, "audit-log-maxsize": "10000" }
        : {}),
    }),
    // The server writes the key after the certificate, so the certificate is complete.
    ready: async () => existsSync(files.certificate.replace(/crt$/, "key")) && (await ready()),
  };
}

export type SchedulerConfig = Readonly<Record<string, unknown>>;

export function scheduler({ folder, ports }: Layout, kubeconfig: string, config: SchedulerConfig): ProgramSpec {
  const file = `${folder}/kube-scheduler.json`;
  const base = {
    apiVersion: "kubescheduler.config.k8s.io/v1",
    kind: "KubeSchedulerConfiguration",
    leaderElection: { leaderElect: false },
    // With the default limit of 50 requests per second, tests would measure that limit.
    clientConnection: { kubeconfig, qps: 5000, burst: 10_000 },
  };
  writeFileSync(file, JSON.stringify({ ...base, ...config }));
  return {
    name: "kube-scheduler",
    args: flags({ config: file, ...servingFlags(folder, ports.scheduler) }),
    ready: async () => answersOk(`https://127.0.0.1:${ports.scheduler}/readyz`),
  };
}

export function controllerManager(
  { folder, ports }: Layout,
  kubeconfig: string,
  more: true | readonly string[],
): ProgramSpec {
  const controllers = ["garbage-collector-controller", "namespace-controller", ...(more === true ? [] : more)];
  return {
    name: "kube-controller-manager",
    args: flags({
      kubeconfig,
      // Without node-lifecycle, which would mark these nodes NotReady because they have no kubelet.
      controllers: controllers.join(","),
      "leader-elect": false,
      "kube-api-qps": 5000,
      "kube-api-burst": 10_000,
      ...servingFlags(folder, ports.controllers),
    }),
    ready: async () => answersOk(`https://127.0.0.1:${ports.controllers}/healthz`),
  };
}

function servingFlags(folder: string, port: number) {
  return {
    "bind-address": "127.0.0.1",
    "secure-port": port,
    "cert-dir": `${folder}/certificates-${port}`,
    "authentication-skip-lookup": true,
    "authorization-always-allow-paths": "/metrics,/healthz,/livez,/readyz,/configz",
  };
}

/** Whether a program on loopback responds with 200. Accepts its self-signed certificate, which no CA can verify. */
export async function answersOk(url: string, timeout = 5000): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = get(url, { rejectUnauthorized: false, agent: false, timeout }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    // The timeout event does not close the socket; destroying it raises an error.
    asked.on("timeout", () => asked.destroy()).on("error", () => resolve(false));
  });
}

/** The response body of such a program. */
export async function textOf(url: string, timeout = 5000): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = get(url, { rejectUnauthorized: false, agent: false, timeout }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      answer.on("end", () => resolve(text));
    });
    asked.on("timeout", () => asked.destroy(new Error(`${url} did not answer`))).on("error", reject);
  });
}

function flags(values: Readonly<Record<string, string | number | boolean>>): string[] {
  return Object.entries(values).map(([name, value]) => `--${name}=${value}`);
}
