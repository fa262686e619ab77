import { gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import {
  clusterOf,
  installation,
  nodeObject,
  podObject,
  REPORT_TIME,
  twinObject,
} from "../../../core/report/testing/index.ts";
import { VirtualClock } from "../../../platform/clock/testing/index.ts";
import { KubeClient, type Transport } from "../../../platform/kube/index.ts";
import { seededRandom } from "../../../platform/random/index.ts";
import { supportBundle } from "./support-bundle.ts";

const namespace = "joulie-system";

/** Every planted secret, by the place where it stands. */
const planted = new Map<string, string>();
const number = () => 100 + planted.size;
const remember = (place: string, value: string): string => {
  if (planted.has(place)) throw new Error(`${place} is planted twice`);
  planted.set(place, value);
  return value;
};
/** A short password, which no format gives away. */
const word = (place: string) => remember(place, `tulip${number()}`);
const digits = (place: string) => remember(place, `7700${number()}`);
const long = (place: string) => remember(place, `q8Zt${number()}LmXw02RbNcVd91KsYp`);

const header = (place: string) => ({ httpHeaders: [{ name: "X-Probe", value: word(place) }] });
const probe = (place: string) => ({
  httpGet: { path: `/live/${word(`${place} path`)}`, ...header(`${place} header`) },
});
const container = (name: string, place: string) => ({
  name,
  image: "joulie:0.1.0",
  command: ["curl", "-u", `admin:${word(`${place} curl -u`)}`, "https://10.0.0.9"],
  args: [
    "sshpass",
    "-p",
    word(`${place} sshpass -p`),
    `--password=${word(`${place} --password=`)}`,
    "--token",
    word(`${place} after --token`),
    "ipmitool",
    "-P",
    word(`${place} ipmitool -P`),
    digits(`${place} last argument`),
  ],
  env: [
    { name: "POLICY_TYPE", value: "static_partition" },
    { name: "PROMETHEUS_ADDRESS", value: `http://prometheus:9090/${word(`${place} path in a known variable`)}` },
    { name: "TELEMETRY_TOKEN", value: word(`${place} known variable with a telling name`) },
    { name: "DB_DSN", value: `postgres://u:${word(`${place} unknown variable`)}@db/x` },
    { name: "MAIL", value: digits(`${place} numeric unknown variable`) },
  ],
  envFrom: [{ prefix: word(`${place} envFrom prefix`) }],
  livenessProbe: probe(`${place} livenessProbe`),
  readinessProbe: { exec: { command: ["sh", "-c", `test ${word(`${place} readinessProbe`)}`] } },
  startupProbe: { grpc: { port: 1, service: word(`${place} startupProbe`) } },
  lifecycle: {
    postStart: { exec: { command: ["login", word(`${place} postStart`)] } },
    preStop: { httpGet: header(`${place} preStop header`) },
  },
  workingDir: `/srv/${word(`${place} workingDir`)}`,
  volumeMounts: [{ name: "x", mountPath: "/x", subPath: word(`${place} subPath`) }],
  resources: { requests: { cpu: "100m" }, limits: { memory: "128Mi", note: word(`${place} limit`) } },
});
const foreignMetadata = (place: string) => ({
  labels: { "app.kubernetes.io/name": "joulie", "vault.example/role": word(`${place} label`) },
  annotations: {
    "kubectl.kubernetes.io/last-applied-configuration": `{"x":"${word(`${place} last-applied`)}"}`,
    "vault.example/inject": word(`${place} annotation`),
    "joulie.io/unknown": word(`${place} unknown annotation of joulie.io`),
  },
  managedFields: [{ manager: word(`${place} managedFields`) }],
});
const workload = (name: string, component: string) => ({
  metadata: { name, namespace, ...foreignMetadata(name), generation: 3 },
  spec: {
    replicas: 2,
    selector: { matchLabels: { x: word(`${name} selector`) } },
    template: {
      metadata: foreignMetadata(`${name} template`),
      spec: {
        containers: [container(component, name)],
        initContainers: [container("init", `${name} initContainer`)],
        ephemeralContainers: [{ name: "debug", command: [word(`${name} ephemeralContainer`)] }],
        imagePullSecrets: [{ name: word(`${name} imagePullSecrets`) }],
        hostAliases: [{ ip: "10.0.0.1", hostnames: [word(`${name} hostAliases`)] }],
        nodeSelector: { x: word(`${name} nodeSelector`) },
        tolerations: [{ key: "x", value: word(`${name} toleration`) }],
        securityContext: { sysctls: [{ name: "x", value: digits(`${name} sysctl`) }] },
        dnsConfig: { options: [{ name: "token", value: word(`${name} dnsConfig`) }] },
        volumes: [
          { csi: { driver: "x", volumeAttributes: { login: word(`${name} csi`) } } },
          { flexVolume: { driver: "x", options: { settings: { pin: Number(digits(`${name} flexVolume`)) } } } },
          { nfs: { server: "x", path: `/export/${word(`${name} nfs path`)}` } },
        ],
      },
    },
  },
  status: {
    readyReplicas: 1,
    conditions: [
      {
        type: "Progressing",
        status: "False",
        reason: "Stuck",
        message: `pull of https://r.example/${word(`${name} condition`)} failed`,
      },
    ],
  },
});

const jsonLine = (fields: object) => JSON.stringify({ level: "info", component: "operator", ...fields });
/** Lines of logs, each with one secret. */
const logLines = (): string[] => [
  `curl -u admin:${word("log curl -u")} https://10.0.0.9/redfish/v1`,
  `curl -uadmin:${word("log curl -u without space")} https://10.0.0.9/`,
  `curl --user admin:${word("log curl --user")} https://10.0.0.9/`,
  `curl -H 'X-Auth-Token: ${word("log curl -H")}' https://10.0.0.9/`,
  `curl -H "X-Vault: ${word("log curl -H with a neutral name")}" https://10.0.0.9/`,
  `sshpass -p ${word("log sshpass -p")} ssh root@10.0.0.9`,
  `sshpass -p${word("log sshpass -p without space")} ssh root@10.0.0.9`,
  `sshpass -p '${word("log sshpass -p quoted")}' ssh root@10.0.0.9`,
  `ipmitool -I lanplus -H 10.0.0.9 -U root -P ${word("log ipmitool -P")} power off`,
  `ipmitool -I lanplus -H 10.0.0.9 -U root -P ${digits("log ipmitool -P numeric")} power off`,
  `redfishtool -r 10.0.0.9 -u root -p ${word("log redfishtool")} Systems`,
  `mysql -uroot -p${word("log mysql -p")} db`,
  `redis-cli -a ${word("log redis-cli -a")} ping`,
  `argv: ["ipmitool","-P","${word("log argument list")}","power"]`,
  `command [sshpass -p ${word("log klog argument list")} ssh]`,
  `--bmc-password ${word("log --bmc-password x")} --x 1`,
  `--bmc-password=${word("log --bmc-password=x")} --x 1`,
  `--api-key "${word("log --api-key")}"`,
  `password: ${word("log password: x")}`,
  `password : ${word("log password : x")}`,
  `Password=${digits("log numeric password")}`,
  `password is ${word("log password is x")}`,
  `the password '${word("log password quoted")}' was rejected`,
  `login failed for admin with password ${word("log with password x")}`,
  `login failed with password ${digits("log with numeric password x")}, trying again`,
  `DB_PASS=${word("log DB_PASS")}`,
  `PGPASSWORD=${word("log PGPASSWORD")} psql`,
  `pin: ${digits("log pin")}`,
  `pw=${word("log pw")}`,
  `creds=admin:${word("log creds")}`,
  `auth=("admin", "${word("log python tuple")}")`,
  `passphrase => ${word("log ruby hash")}`,
  `Authorization: Basic ${word("log basic header")}`,
  `Authorization: Digest username="root", response="${word("log digest header")}"`,
  `authorization: ${word("log header without scheme")}`,
  `proxy-authorization: Bearer ${word("log proxy header")}`,
  `X-Auth-Token: ${word("log X-Auth-Token")}`,
  `Set-Cookie: session=${word("log cookie")}; Path=/`,
  `Cookie: a=b; session=${word("log second cookie")}`,
  `GET https://root:${word("log userinfo")}@10.0.0.9/redfish/v1 failed`,
  `GET https://${word("log user name alone")}@10.0.0.9/redfish/v1 failed`,
  `POST https://hooks.example/services/T0/${word("log webhook path")} answered 500`,
  `POST https://hooks.example/switch/${digits("log numeric path")} answered 500`,
  `GET https://x.example/api?sig=${word("log query sig")} failed`,
  `GET https://x.example/api?foo=${word("log query of any name")} failed`,
  `GET https://x.example/#${word("log fragment")} failed`,
  `dial failed: redis://:${word("log redis url")}@cache:6379/0`,
  `amqp://guest:${word("log amqp url")}@rabbit:5672/vhost`,
  `-----BEGIN RSA PRIVATE KEY-----\n${long("log PEM body")}\n${word("log PEM last line")}\n-----END RSA PRIVATE KEY-----`,
  `-----BEGIN OPENSSH PRIVATE KEY-----\\n${long("log PEM in one line")}\\n-----END OPENSSH PRIVATE KEY-----`,
  `jwt eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.${word("log JWT")}`,
  `pushed with ghp_${long("log GitHub token")}`,
  `pushed with glpat-${long("log GitLab token")}`,
  `slack xoxb-${digits("log Slack token")}-abcdef`,
  `aws ${remember("log AWS key id", `AKIA7700${number()}ABCDEFGH`)} used`,
  `wrote ${long("log long key without a name")}`,
  `header list [name: X-Token, value: ${word("log name and value")}]`,
  `{"name":"BMC_PASSWORD","value":"${word("log name and value, one line of a list")}"}`,
  jsonLine({ msg: "x", password: word("JSON log password") }),
  jsonLine({ msg: "x", bmc: { login: { pass: word("JSON log nested pass") } } }),
  jsonLine({ msg: "x", pin: Number(digits("JSON log numeric pin")) }),
  jsonLine({ msg: "x", password: Number(digits("JSON log numeric password")) }),
  jsonLine({ msg: "x", credentials: { user: "a", value: word("JSON log nested credentials") } }),
  jsonLine({ msg: "x", headers: { "X-Auth-Token": word("JSON log header") } }),
  jsonLine({ msg: "x", headers: ["X-Api-Key", word("JSON log raw headers")] }),
  jsonLine({ msg: "x", items: [{ name: "BMC_PASSWORD", value: word("JSON log name and value") }] }),
  jsonLine({ msg: "x", items: [{ key: "token", value: Number(digits("JSON log key and numeric value")) }] }),
  jsonLine({ msg: `run sshpass -p ${word("JSON log command in text")} ssh` }),
  jsonLine({ msg: "x", command: ["ipmitool", "-P", word("JSON log command list")] }),
  jsonLine({ msg: "x", command: ["curl", "-u", `a:${word("JSON log curl list")}`] }),
  jsonLine({ msg: "x", url: `https://hooks.example/${word("JSON log URL path")}` }),
  jsonLine({ msg: "x", body: JSON.stringify({ user: "a", password: word("JSON log JSON in text") }) }),
  jsonLine({ msg: "x", body: JSON.stringify({ deep: JSON.stringify({ token: word("JSON log JSON in JSON") }) }) }),
  jsonLine({ msg: "x", err: { message: `401 for root:${word("JSON log user:password")}@10.0.0.9` } }),
  jsonLine({ msg: "x", data: `password="${word("JSON log quoted")} and ${word("JSON log second word")}"` }),
];

/** Lines as the programs write them. */
const PLAIN_LINES = [
  '{"level":"info","time":"2030-01-01T12:00:00.000Z","program":"operator","node":"worker-17.rack-2.example.com","msg":"node worker-17.rack-2.example.com changes from performance to eco: 3 of 12 nodes are performance"}',
  '{"level":"warn","time":"2030-01-01T12:00:01.000Z","program":"agent","device":"intel-rapl:0","watts":210.5,"code":"JOULIE_E_CAP_REFUSED","msg":"the kernel refused 210.5 W"}',
  '{"level":"error","time":"2030-01-01T12:00:02.000Z","program":"power","err":{"type":"SwitchError","message":"GET https://10.9.0.7/redfish/v1/Systems/1: timeout after 20 s","stack":"SwitchError: timeout\\n    at RedfishSwitch.state (file:///app/dist/joulie.mjs:1203:11)"},"msg":"Reachable is False"}',
  'I1118 10:00:00.000000       1 schedule_one.go:304] "Successfully bound pod to node" pod="default/train-0" node="worker-17"',
];

let tar = "";
let files: ReadonlyMap<string, string>;

beforeAll(async () => {
  const list = (items: readonly object[]) => JSON.stringify({ metadata: { resourceVersion: "1" }, items });
  const event = (name: string, controller: string, reason: string, note: string) => ({
    metadata: { name, namespace, annotations: { x: word(`Event ${name} annotation`) } },
    regarding: { kind: "Pod", name: "joulie-operator-1", fieldPath: word(`Event ${name} fieldPath`) },
    reason,
    reportingController: controller,
    note,
  });
  const agentPod = {
    metadata: { name: "joulie-agent-1", namespace, labels: { "app.kubernetes.io/component": "agent" } },
    spec: { containers: [{ name: "agent" }, { name: "exporter" }] },
  };
  const answers: Readonly<Record<string, string>> = {
    [`/apis/apps/v1/namespaces/${namespace}/deployments`]: list([workload("joulie-operator", "operator")]),
    [`/apis/apps/v1/namespaces/${namespace}/daemonsets`]: list([workload("joulie-agent", "agent")]),
    [`/apis/apps/v1/namespaces/${namespace}/statefulsets`]: list([]),
    [`/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`]: list([
      {
        metadata: { name: "joulie-operator", ...foreignMetadata("Lease") },
        spec: { holderIdentity: "joulie-operator-1_0f8fad5b-d9cb-469f-a165-70867728950e", leaseTransitions: 4 },
      },
      { metadata: { name: "joulie-odd" }, spec: { holderIdentity: word("Lease holder of another format") } },
      { metadata: { name: "vault" }, spec: { holderIdentity: `${word("Lease of another project")}_0f8fad5b` } },
    ]),
    [`/apis/events.k8s.io/v1/namespaces/${namespace}/events`]: list([
      event("unhealthy", "kubelet", "Unhealthy", `probe said ${word("Event note with the output of a probe")}`),
      event("hook", "kubelet", "FailedPostStartHook", `login ${word("Event note with a command")}`),
      event("mount", "kubelet", "FailedMount", `mount -o password=${word("Event note of a mount")} failed`),
      event(
        "own",
        "joulie.io/power",
        "SwitchFailed",
        `POST https://h.example/${word("Event note of Joulie")} answered 500`,
      ),
    ]),
    "/apis/events.k8s.io/v1/namespaces/default/events": list([
      {
        metadata: { name: "n" },
        reason: "ProfileEco",
        reportingController: "joulie.io/operator",
        note: "node a is eco",
      },
      {
        metadata: { name: "o" },
        reason: "Odd",
        reportingController: "other",
        note: word("Event of another controller"),
      },
    ]),
    [`/api/v1/namespaces/${namespace}/pods`]: list([agentPod]),
    [`/api/v1/namespaces/${namespace}/pods/joulie-agent-1/log`]: [...logLines(), ...PLAIN_LINES].join("\n"),
  };
  const transport: Transport = {
    close: async () => undefined,
    request: async ({ path }) => {
      const text = path.includes("container=exporter")
        ? word("log of a container of another project")
        : answers[path.replace(/\?.*/, "")];
      return {
        status: text === undefined ? 404 : 200,
        headers: { "content-type": "application/json" },
        body: ReadableStream.from([Buffer.from(text ?? '{"kind":"Status","code":404}')]),
      };
    },
  };
  const clock = new VirtualClock(REPORT_TIME);
  const client = new KubeClient({ transport, clock, random: seededRandom(1), fieldManager: "test" });
  const node = nodeObject("a", { labels: { "joulie.io/rack": "r1", "vault.example/key": word("Node label") } });
  const twin = twinObject("a", {
    controlStatus: {
      cpu: {
        result: "error",
        backend: "http",
        message: `POST https://h.example/${word("NodeTwin message")} answered 500`,
      },
      odd: { nested: { pin: digits("NodeTwin unknown field of the status") } },
    } as never,
  });
  const endpoint = {
    metadata: { name: "a", ...foreignMetadata("PowerEndpoint"), generation: 2 },
    spec: {
      nodeName: "a",
      webhook: {
        url: `https://switch.example/hook/${word("PowerEndpoint URL path")}?key=${word("PowerEndpoint URL query")}`,
        credentialsSecretRef: { name: "bmc-login", value: word("PowerEndpoint value beside the reference") },
        headers: [{ name: "X-Switch", value: word("PowerEndpoint unknown header") }],
      },
      notes: { deep: { login: word("PowerEndpoint unknown field") } },
    },
    status: { powerState: "on", wakeProven: true },
  };
  const pod = podObject("train", { node: "a", workloadClass: "performance", cpu: "4" });
  const objects = clusterOf([{ ...node, spec: { providerID: word("Node providerID") } as never }], [twin], {
    endpoints: new Map([["a", endpoint as never]]),
    pods: [
      {
        ...pod,
        metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, x: word("Pod annotation") } },
        spec: { ...pod.spec, containers: [{ ...pod.spec?.containers?.[0], ...container("train", "Pod") }] },
      },
    ],
    installation: installation({
      unreadable: [`events: GET https://root:${word("Installation error")}@10.0.0.9/ failed`],
    }),
  });
  const known = new Set(["POLICY_TYPE", "PROMETHEUS_ADDRESS", "TELEMETRY_TOKEN"]);
  const bundle = await supportBundle(
    { client, transport, clock, out: () => undefined, screen: { columns: 80, colour: false } },
    objects,
    {
      namespace,
      version: { version: "0.1.0", commit: "abc" },
      findings: [
        { check: "extender", message: `the webhook https://h.example/${word("Finding")} does not answer` } as never,
      ],
      isPlainVariable: (name) => known.has(name),
    },
  );
  tar = gunzipSync(bundle.archive).toString("utf8");
  files = new Map(bundle.files.map(({ name, content }) => [name, content]));
});

describe("the secrets of a support bundle", () => {
  it("CLI-08 are none of more than a hundred that are planted in objects, Events and logs", () => {
    expect(planted.size).toBeGreaterThan(200);
    const survivors = Array.from(planted).filter(([, value]) => tar.includes(value));
    expect(survivors.map(([place]) => place)).toEqual([]);
  });
});

describe("a support bundle without secrets still says", () => {
  const file = (name: string): unknown => JSON.parse(files.get(name) ?? "null");

  it("CLI-08 which version of which program runs with which settings, and how well", () => {
    expect(file("deployments.json")).toMatchObject([
      {
        metadata: { name: "joulie-operator", generation: 3, labels: { "app.kubernetes.io/name": "joulie" } },
        replicas: 2,
        containers: [
          {
            name: "operator",
            image: "joulie:0.1.0",
            requests: { cpu: "100m" },
            limits: { memory: "128Mi" },
            env: [
              { name: "POLICY_TYPE", value: "static_partition" },
              { name: "PROMETHEUS_ADDRESS", value: "http://prometheus:9090/***" },
              { name: "TELEMETRY_TOKEN", value: "***" },
            ],
          },
        ],
        status: {
          readyReplicas: 1,
          conditions: [{ type: "Progressing", reason: "Stuck", message: "pull of https://r.example/*** failed" }],
        },
      },
    ]);
    expect(file("daemonsets.json")).toMatchObject([{ metadata: { name: "joulie-agent" } }]);
    expect(file("version.json")).toEqual({ version: "0.1.0", commit: "abc" });
  });

  it("CLI-08 what each node should do, does and measures, and how it is switched", () => {
    expect(file("nodetwins.json")).toMatchObject([
      {
        metadata: { name: "a" },
        spec: { profile: "performance" },
        status: {
          powerMeasurement: { measuredNodePowerW: 200 },
          controlStatus: { cpu: { result: "error", message: "POST https://h.example/*** answered 500" } },
        },
      },
    ]);
    expect(file("powerendpoints.json")).toMatchObject([
      {
        spec: { webhook: { url: "https://switch.example/***?***", credentialsSecretRef: { name: "bmc-login" } } },
        status: { powerState: "on", wakeProven: true },
      },
    ]);
    expect(file("nodes.json")).toMatchObject([{ name: "a", labels: { "joulie.io/rack": "r1" } }]);
    expect(file("pods.json")).toMatchObject([
      { name: "train", workloadClass: "performance", nodeName: "a", resources: [{ requests: { cpu: "100m" } }] },
    ]);
  });

  it("CLI-08 who leads, and what happened", () => {
    expect(file("leases.json")).toMatchObject([
      { spec: { holderIdentity: "joulie-operator-1_0f8fad5b-d9cb-469f-a165-70867728950e", leaseTransitions: 4 } },
      { metadata: { name: "joulie-odd" } },
    ]);
    expect(file("events.json")).toMatchObject([
      { reason: "Unhealthy", regarding: { kind: "Pod", name: "joulie-operator-1" } },
      { reason: "FailedPostStartHook" },
      { reason: "FailedMount", note: "mount -o password=*** failed" },
      { reason: "SwitchFailed", note: "POST https://h.example/*** answered 500" },
    ]);
    expect(file("node-events.json")).toMatchObject([{ reason: "ProfileEco", note: "node a is eco" }]);
  });

  it("CLI-08 what the programs logged, word for word", () => {
    expect(files.get("logs/joulie-agent-1.log")?.split("\n").slice(-PLAIN_LINES.length)).toEqual(PLAIN_LINES);
  });
});
