import { open } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import type { Pod } from "../../core/api/index.ts";
import { type ClusterObjects, defaultReportSettings, findProblems, summarizeNodes } from "../../core/report/index.ts";
import { milliseconds } from "../../core/units/index.ts";
import { withTimeLimit } from "../../platform/clock/index.ts";
import { type KubeObject, type Resource, resources } from "../../platform/kube/index.ts";
import { reasonOf } from "./cluster-reader.ts";
import type { ConsoleContext } from "./context.ts";
import type { DoctorFinding } from "./doctor-checks.ts";
import { COMPONENT, INSTALLED, workloadResources } from "./installation.ts";
import { EVENT_NAMESPACE } from "./node-details.ts";
import { redactObject, redactText } from "./redact.ts";
import { type ArchivedFile, tarOf } from "./tar.ts";

export interface BundleOptions {
  readonly namespace: string;
  readonly version: unknown;
  readonly findings: readonly DoctorFinding[];
  /** Whether a variable belongs to a program of Joulie and holds no secret. */
  readonly isPlainVariable: (name: string) => boolean;
}

const LOG_LINES = 500;
/** Of pods. */
const LOGS_LIMIT = 30;
const HEALTHY_AGENTS = 5;
const CALL_TIMEOUT = milliseconds(10_000);

/** What of the installation's namespace is collected. Secrets are not read at all. */
const collected: Readonly<Record<string, Resource>> = {
  ...Object.fromEntries(Object.values(workloadResources).map((resource) => [resource.plural, resource])),
  leases: resources.leases,
  events: resources.events,
};

/** A .tar.gz with everything that a maintainer asks for, without Secrets, tokens, and values that may be credentials. */
export async function supportBundle(
  context: ConsoleContext,
  objects: ClusterObjects,
  options: BundleOptions,
): Promise<{ readonly archive: Buffer; readonly files: readonly ArchivedFile[] }> {
  const { client, clock } = context;
  const { namespace, version, findings, isPlainVariable } = options;
  const json = (name: string, value: unknown): ArchivedFile => ({
    name,
    content: `${JSON.stringify(redactObject(value, isPlainVariable), undefined, 2)}\n`,
  });
  const summaries = summarizeNodes(objects, defaultReportSettings);
  const files: ArchivedFile[] = [
    { name: "README.txt", content: README },
    json("version.json", version),
    json("findings.json", findings),
    json("problems.json", findProblems(objects, defaultReportSettings, summaries)),
    json("nodes.json", summaries),
    json("nodetwins.json", Array.from(objects.twins.values())),
    json("nodehardwares.json", Array.from(objects.hardware.values())),
    json("nodepowerprofiles.json", Array.from(objects.profiles.values())),
    json("powerendpoints.json", Array.from(objects.endpoints.values())),
    json("installation.json", objects.installation),
    objects.pods === undefined
      ? { name: "pods.error.txt", content: "The pods could not be listed; installation.json says why.\n" }
      : json("pods.json", objects.pods.map(podOutline)),
  ];
  const add = async (name: string, read: () => Promise<readonly KubeObject[]>): Promise<void> => {
    try {
      files.push(json(`${name}.json`, await read()));
    } catch (error) {
      files.push({ name: `${name}.error.txt`, content: `${redactText(reasonOf(error))}\n` });
    }
  };
  for (const [name, resource] of Object.entries(collected))
    await add(name, async () => (await client.listAll<KubeObject>(resource, { namespace })).items);
  await add("node-events", async () => nodeEventsOf(context));
  files.push(...(await logsOf(context, namespace)));
  return { archive: gzipSync(tarOf(files, clock.now())), files };
}

const README = `A support bundle of Joulie. It contains what Joulie's commands show, the objects of its kinds, its workloads, and the
ends of its log files. Secrets were not read. Values that may be credentials are replaced by ***. It names nodes
and pods: look through it before you share it.
`;

/** Names, class and requests of a pod; its environment and its commands belong to its owner. */
function podOutline(pod: Pod): unknown {
  const { metadata, spec, status } = pod;
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    workloadClass: metadata.annotations?.["joulie.io/workload-class"],
    nodeName: spec?.nodeName,
    phase: status?.phase,
    resources: spec?.containers?.map((container) => container.resources),
  };
}

type LoggedPod = KubeObject & {
  readonly spec?: { readonly containers?: readonly { readonly name: string }[] };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly name: string; readonly restartCount?: number }[];
  };
};

const hasRestarted = ({ status }: LoggedPod): boolean =>
  status?.containerStatuses?.some(({ restartCount = 0 }) => restartCount > 0) ?? false;

/** There are as many agents as nodes, so the other programs come first, then agents in trouble, then some that are well. */
function podsToLog(pods: readonly LoggedPod[]): readonly LoggedPod[] {
  const isAgent = ({ metadata }: LoggedPod) => metadata.labels?.[COMPONENT] === "agent";
  const isReady = ({ status }: LoggedPod) =>
    status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") ?? false;
  const isWell = (pod: LoggedPod) => isReady(pod) && !hasRestarted(pod);
  const agents = pods.filter(isAgent);
  const chosen = [
    ...pods.filter((pod) => !isAgent(pod)),
    ...agents.filter((pod) => !isWell(pod)),
    ...agents.filter(isWell).slice(0, HEALTHY_AGENTS),
  ];
  return chosen.slice(0, LOGS_LIMIT);
}

/** A log that a bundle contains. */
interface LogRequest {
  readonly name: string;
  readonly path: string;
}

/** Each container of a pod, and what it wrote before its last restart, which usually says why it ended. */
function requestsOf(pod: LoggedPod, namespace: string): readonly LogRequest[] {
  const { metadata, spec, status } = pod;
  const containers = spec?.containers ?? [];
  return containers.flatMap(({ name: container }) => {
    const path = `/api/v1/namespaces/${namespace}/pods/${metadata.name}/log?container=${container}&tailLines=${LOG_LINES}`;
    // A name in the archive has at most 100 characters. The end of a pod's name tells pods apart.
    const short = metadata.name.slice(-60) + (containers.length === 1 ? "" : `.${container.slice(-20)}`);
    const { restartCount = 0 } = status?.containerStatuses?.find(({ name }) => name === container) ?? {};
    return [
      { name: `logs/${short}.log`, path },
      ...(restartCount === 0 ? [] : [{ name: `logs/${short}.previous.log`, path: `${path}&previous=true` }]),
    ];
  });
}

async function logsOf({ client, transport, clock }: ConsoleContext, namespace: string): Promise<ArchivedFile[]> {
  let pods: readonly LoggedPod[];
  try {
    pods = (await client.listAll<LoggedPod>(resources.pods, { namespace, labelSelector: INSTALLED })).items;
  } catch (error) {
    return [{ name: "logs.error.txt", content: `${redactText(reasonOf(error))}\n` }];
  }
  const files: ArchivedFile[] = [];
  for (const { name, path } of podsToLog(pods).flatMap((pod) => requestsOf(pod, namespace))) {
    try {
      const text = await withTimeLimit(clock, CALL_TIMEOUT, async (signal) => {
        const { status, body } = await transport.request({ method: "GET", path, signal });
        const chunks: Buffer[] = [];
        for await (const chunk of body) chunks.push(Buffer.from(chunk));
        return status === 200 ? Buffer.concat(chunks).toString() : `the API server answered with status ${status}`;
      });
      files.push({ name, content: redactText(text) });
    } catch (error) {
      files.push({ name, content: `${redactText(reasonOf(error))}\n` });
    }
  }
  return files;
}

/** Joulie's Events about nodes; those of others are none of this bundle's business. */
async function nodeEventsOf({ client }: ConsoleContext): Promise<readonly KubeObject[]> {
  type EventObject = KubeObject & { readonly reportingController?: string };
  const { items } = await client.listAll<EventObject>(resources.events, { namespace: EVENT_NAMESPACE });
  return items.filter(({ reportingController = "" }) => reportingController.includes("joulie"));
}

/** Only its owner may read the file. The mode of a new file alone would leave an existing one as readable as it was. */
export async function writePrivately(file: string, content: Buffer): Promise<void> {
  await using handle = await open(file, "w", PRIVATE);
  if ((await handle.stat()).isFile()) await handle.chmod(PRIVATE);
  await handle.writeFile(content);
}

const PRIVATE = 0o600;
