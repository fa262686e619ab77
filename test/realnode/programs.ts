// The command lines of a control plane with one real node, all in one network namespace.
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { request } from "undici";
import { answersOk } from "../controlplane/programs.ts";
import type { ProgramSpec } from "../controlplane/server-process.ts";
import { createAuthority } from "./certificates.ts";
import { apiServiceAddress, type Network, podRange, serviceRange } from "./network.ts";

export const nodeName = "n1";

const users = {
  admin: "system:masters",
  "kube-scheduler": "system:masters",
  "kube-controller-manager": "system:masters",
  "kube-proxy": "system:masters",
  [`system:node:${nodeName}`]: "system:nodes",
} as const;
export type User = keyof typeof users;
const userNames = Object.keys(users) as User[];

export interface Layout {
  readonly folder: string;
  readonly binary: string;
  readonly network: Network;
  readonly server: string;
  readonly tokens: ReadonlyMap<User, string>;
  readonly files: Readonly<
    Record<"ca" | "certificate" | "key" | "clientCertificate" | "clientKey" | "accounts" | "tokens", string>
  >;
}

/** Ports in a namespace of one's own are always free. */
const ports = { etcd: 2379, etcdPeer: 2380, apiserver: 6443, scheduler: 10259, controllers: 10257 };

export async function prepare(folder: string, binary: string, network: Network): Promise<Layout> {
  const authority = await createAuthority(folder);
  const addresses = ["127.0.0.1", network.nodeAddress, network.outerAddress, apiServiceAddress].map((ip) => `IP:${ip}`);
  const names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"].map((dns) => `DNS:${dns}`);
  const serving = await authority.sign("apiserver", "/CN=kube-apiserver", [...addresses, ...names]);
  // With it the API server asks the kubelet for logs and runs commands in containers.
  const client = await authority.sign("kubelet-client", "/O=system:masters/CN=kube-apiserver-kubelet-client");
  const files = {
    ca: authority.certificate,
    certificate: serving.certificate,
    key: serving.key,
    clientCertificate: client.certificate,
    clientKey: client.key,
    accounts: `${folder}/service-accounts.pem`,
    tokens: `${folder}/tokens.csv`,
  };
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  writeFileSync(files.accounts, privateKey.export({ type: "sec1", format: "pem" }), { mode: 0o600 });
  const tokens = new Map(userNames.map((name): [User, string] => [name, randomBytes(24).toString("base64url")]));
  const lines = userNames.map((name) => `${tokens.get(name)},${name},${name},${users[name]}\n`);
  writeFileSync(files.tokens, lines.join(""), { mode: 0o600 });
  return { folder, binary, network, server: `https://${network.outerAddress}:${ports.apiserver}`, tokens, files };
}

export function etcd(layout: Layout): ProgramSpec {
  const client = `http://${layout.network.outerAddress}:${ports.etcd}`;
  const peer = `http://127.0.0.1:${ports.etcdPeer}`;
  return {
    name: "etcd",
    command: command(layout, "etcd"),
    args: flags({
      "data-dir": `${layout.folder}/etcd`,
      "unsafe-no-fsync": true,
      "listen-client-urls": client,
      "advertise-client-urls": client,
      "listen-peer-urls": peer,
      "initial-advertise-peer-urls": peer,
      "initial-cluster": `default=${peer}`,
    }),
    ready: async () => {
      const { statusCode, body } = await request(`${client}/health`, { headersTimeout: 5000 });
      await body.dump();
      return statusCode === 200;
    },
  };
}

export function apiserver(layout: Layout, ready: ProgramSpec["ready"]): ProgramSpec {
  const { files, network } = layout;
  return {
    name: "kube-apiserver",
    command: command(layout, "kube-apiserver"),
    args: flags({
      "etcd-servers": `http://${network.outerAddress}:${ports.etcd}`,
      "bind-address": "0.0.0.0",
      "advertise-address": network.nodeAddress,
      "secure-port": ports.apiserver,
      "client-ca-file": files.ca,
      "tls-cert-file": files.certificate,
      "tls-private-key-file": files.key,
      "kubelet-client-certificate": files.clientCertificate,
      "kubelet-client-key": files.clientKey,
      // Otherwise the API server looks the node's name up in DNS.
      "kubelet-preferred-address-types": "InternalIP",
      "service-account-issuer": "https://kubernetes.default",
      "service-account-key-file": files.accounts,
      "service-account-signing-key-file": files.accounts,
      "token-auth-file": files.tokens,
      "authorization-mode": "Node,RBAC",
      "enable-admission-plugins": "NodeRestriction",
      "service-cluster-ip-range": serviceRange,
      "allow-privileged": true,
      "shutdown-watch-termination-grace-period": "1s",
    }),
    ready,
  };
}

export function controllerManager(layout: Layout, kubeconfig: string): ProgramSpec {
  return {
    name: "kube-controller-manager",
    command: command(layout, "kube-controller-manager"),
    args: flags({
      kubeconfig,
      "root-ca-file": layout.files.ca,
      "service-account-private-key-file": layout.files.accounts,
      "leader-elect": false,
      ...servingFlags(layout, ports.controllers),
    }),
    ready: async () => answersOk(`https://${layout.network.outerAddress}:${ports.controllers}/healthz`),
  };
}

export function scheduler(layout: Layout, kubeconfig: string, config: Readonly<Record<string, unknown>>): ProgramSpec {
  const file = `${layout.folder}/kube-scheduler.json`;
  const base = {
    apiVersion: "kubescheduler.config.k8s.io/v1",
    kind: "KubeSchedulerConfiguration",
    leaderElection: { leaderElect: false },
    clientConnection: { kubeconfig },
  };
  writeFileSync(file, JSON.stringify({ ...base, ...config }));
  return {
    name: "kube-scheduler",
    command: command(layout, "kube-scheduler"),
    args: flags({ config: file, ...servingFlags(layout, ports.scheduler) }),
    ready: async () => answersOk(`https://${layout.network.outerAddress}:${ports.scheduler}/readyz`),
  };
}

export function kubelet(layout: Layout, kubeconfig: string, runtime: string, ready: ProgramSpec["ready"]): ProgramSpec {
  const { folder, files, network } = layout;
  const config = `${folder}/kubelet.json`;
  writeFileSync(
    config,
    JSON.stringify({
      apiVersion: "kubelet.config.k8s.io/v1beta1",
      kind: "KubeletConfiguration",
      // Test machines may still have cgroup v1.
      failCgroupV1: false,
      cgroupDriver: "cgroupfs",
      containerRuntimeEndpoint: `unix://${runtime}`,
      authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: files.ca } },
      authorization: { mode: "Webhook" },
      failSwapOn: false,
      podLogsDir: `${folder}/pod-logs`,
      volumePluginDir: `${folder}/volume-plugins`,
      evictionHard: { "memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%" },
    }),
  );
  return {
    name: "kubelet",
    command: command(layout, "kubelet"),
    args: flags({
      config,
      kubeconfig,
      "hostname-override": nodeName,
      "node-ip": network.nodeAddress,
      "root-dir": `${folder}/kubelet`,
      "cert-dir": `${folder}/kubelet-certificates`,
    }),
    ready,
  };
}

export function kubeProxy(layout: Layout, kubeconfig: string): ProgramSpec {
  return {
    name: "kube-proxy",
    command: command(layout, "kube-proxy"),
    args: flags({
      kubeconfig,
      "hostname-override": nodeName,
      "proxy-mode": "iptables",
      "cluster-cidr": podRange,
      "conntrack-max-per-core": 0,
      "healthz-bind-address": `${layout.network.outerAddress}:10256`,
    }),
    ready: async () => {
      const { statusCode, body } = await request(`http://${layout.network.outerAddress}:10256/healthz`);
      await body.dump();
      return statusCode === 200;
    },
  };
}

function servingFlags({ folder }: Layout, port: number) {
  return {
    "secure-port": port,
    "cert-dir": `${folder}/certificates-${port}`,
    "authentication-skip-lookup": true,
    "authorization-always-allow-paths": "/metrics,/healthz,/livez,/readyz",
  };
}

const command = ({ network, binary }: Layout, name: string): [string, ...string[]] => {
  const [first = "nsenter", ...rest] = network.enter;
  return [first, ...rest, binary, name];
};

function flags(values: Readonly<Record<string, string | number | boolean>>): string[] {
  return Object.entries(values).map(([name, value]) => `--${name}=${value}`);
}
