import { open } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import {
  type AnyKind,
  errorMessageOf,
  nodeHardwareKind,
  nodePowerProfileKind,
  nodeTwinKind,
  powerEndpointKind,
} from "../../../core/api/index.ts";
import {
  type ClusterObjects,
  defaultReportSettings,
  findProblems,
  summarizeNodes,
} from "../../../core/report/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import { withTimeLimit } from "../../../platform/clock/index.ts";
import { type KubeObject, resources } from "../../../platform/kube/index.ts";

import { COMPONENT, hasReadyCondition, INSTALLED, workloadResources } from "../cluster/installation.ts";
import type { ConsoleContext } from "../context.ts";
import type { DoctorFinding } from "../doctor/doctor-checks.ts";
import { EVENT_NAMESPACE } from "../nodes/node-details.ts";
import {
  type BundledObject,
  bundledObjectFields,
  eventFields,
  isOwnController,
  knownLabels,
  leaseFields,
  podFields,
  workloadFields,
} from "./bundle-fields.ts";
import { redactBundleText, redactLog, redactValue } from "./redact.ts";
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
    content: `${JSON.stringify(value, undefined, 2)}\n`,
  });
  const own = (name: string, kind: AnyKind, all: ReadonlyMap<string, BundledObject>): ArchivedFile =>
    json(
      name,
      Array.from(all.values(), (object) => bundledObjectFields(kind, object)),
    );
  const summaries = summarizeNodes(objects, defaultReportSettings);
  const files: ArchivedFile[] = [
    { name: "README.txt", content: README },
    json("version.json", redactValue(version)),
    json("findings.json", redactValue(findings)),
    json("problems.json", redactValue(findProblems(objects, defaultReportSettings, summaries))),
    json(
      "nodes.json",
      summaries.map((summary) => redactValue({ ...summary, labels: knownLabels(summary.labels) })),
    ),
    own("nodetwins.json", nodeTwinKind, objects.twins),
    own("nodehardwares.json", nodeHardwareKind, objects.hardware),
    own("nodepowerprofiles.json", nodePowerProfileKind, objects.profiles),
    own("powerendpoints.json", powerEndpointKind, objects.endpoints),
    json("installation.json", redactValue(objects.installation)),
    objects.pods === undefined
      ? { name: "pods.error.txt", content: "The pods could not be listed; installation.json says why.\n" }
      : json("pods.json", objects.pods.map(podFields)),
  ];
  const add = async (name: string, read: () => Promise<readonly unknown[]>): Promise<void> => {
    try {
      files.push(json(`${name}.json`, await read()));
    } catch (error) {
      files.push({ name: `${name}.error.txt`, content: `${redactBundleText(errorMessageOf(error))}\n` });
    }
  };
  for (const resource of Object.values(workloadResources))
    await add(resource.plural, async () => {
      const { items } = await client.listAll<KubeObject>(resource, { namespace, labelSelector: INSTALLED });
      return items.map((object) => workloadFields(object, isPlainVariable));
    });
  await add("leases", async () => {
    const { items } = await client.listAll<KubeObject>(resources.leases, { namespace });
    return items.filter(({ metadata }) => metadata.name.includes("joulie")).map(leaseFields);
  });
  await add("events", async () => {
    const { items } = await client.listAll<EventObject>(resources.events, { namespace });
    return items.filter(isAboutJoulie).map(eventFields);
  });
  await add("node-events", async () => {
    const { items } = await client.listAll<EventObject>(resources.events, { namespace: EVENT_NAMESPACE });
    return items.filter(({ reportingController }) => isOwnController(reportingController)).map(eventFields);
  });
  files.push(...(await logsOf(context, namespace)));
  return { archive: gzipSync(tarOf(files, clock.now())), files };
}

const README = `A support bundle of Joulie. It contains what Joulie's commands show, fields of Joulie's own objects and workloads that hold
no secrets by their meaning, and the ends of its log files. Secrets were not read. What looks like a credential in a
text is replaced by ***. It names nodes and pods: look through it before you share it.
`;

type EventObject = KubeObject & {
  readonly reportingController?: string;
  readonly regarding?: { readonly name?: string };
};

const isAboutJoulie = ({ reportingController, regarding }: EventObject): boolean =>
  isOwnController(reportingController) || regarding?.name?.includes("joulie") === true;

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
  const isWell = (pod: LoggedPod) => hasReadyCondition(pod) && !hasRestarted(pod);
  const agents = pods.filter(isAgent);
  const chosen = [
    ...pods.filter((pod) => !isAgent(pod)),
    ...agents.filter((pod) => !isWell(pod)),
    ...agents.filter(isWell).slice(0, HEALTHY_AGENTS),
  ];
  return chosen.slice(0, LOGS_LIMIT);
}

interface LogRequest {
  readonly name: string;
  readonly path: string;
}

/** Containers of the chart. Others in the pod belong to other projects. */
const isOwnContainer = (container: string, { metadata }: LoggedPod): boolean =>
  container === metadata.labels?.[COMPONENT] || container === "kube-scheduler";

/** Each container of a pod, and what it wrote before its last restart, which usually says why it ended. */
function requestsOf(pod: LoggedPod, namespace: string): readonly LogRequest[] {
  const { metadata, spec, status } = pod;
  const containers = (spec?.containers ?? []).filter(({ name }) => isOwnContainer(name, pod));
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
    return [{ name: "logs.error.txt", content: `${redactBundleText(errorMessageOf(error))}\n` }];
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
      files.push({ name, content: redactLog(text) });
    } catch (error) {
      files.push({ name, content: `${redactBundleText(errorMessageOf(error))}\n` });
    }
  }
  return files;
}

/** Only its owner may read the file. The mode of a new file alone would leave an existing one as readable as it was. */
export async function writePrivately(file: string, content: Buffer): Promise<void> {
  await using handle = await open(file, "w", PRIVATE);
  if ((await handle.stat()).isFile()) await handle.chmod(PRIVATE);
  await handle.writeFile(content);
}

const PRIVATE = 0o600;
