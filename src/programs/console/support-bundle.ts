import { gzipSync } from "node:zlib";
import type { Pod } from "../../core/api/index.ts";
import { type ClusterObjects, defaultReportSettings, findProblems, summarizeNodes } from "../../core/report/index.ts";
import { milliseconds } from "../../core/units/index.ts";
import { withTimeLimit } from "../../platform/clock/index.ts";
import { type KubeObject, type Resource, resources } from "../../platform/kube/index.ts";
import { reasonOf } from "./cluster-reader.ts";
import type { ConsoleContext } from "./context.ts";
import type { DoctorFinding } from "./doctor-checks.ts";
import { workloadResources } from "./installation.ts";
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
const LOGS_LIMIT = 30;
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
  for (const [name, resource] of Object.entries(collected)) {
    try {
      const { items } = await client.listAll<KubeObject>(resource, { namespace });
      files.push(json(`${name}.json`, items));
    } catch (error) {
      files.push({ name: `${name}.error.txt`, content: `${redactText(reasonOf(error))}\n` });
    }
  }
  files.push(...(await logsOf(context, namespace)));
  return { archive: gzipSync(tarOf(files, clock.now())), files };
}

const README = `A support bundle of Joulie. It contains what Joulie's commands show, the objects of its kinds, its workloads, and the
ends of its log files. Secrets were not read. Values that may be credentials are replaced by (redacted). It names nodes
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

async function logsOf({ client, transport, clock }: ConsoleContext, namespace: string): Promise<ArchivedFile[]> {
  let pods: readonly KubeObject[];
  try {
    const selection = { namespace, labelSelector: "app.kubernetes.io/name=joulie" };
    pods = (await client.listAll<KubeObject>(resources.pods, selection)).items;
  } catch {
    return [];
  }
  const files: ArchivedFile[] = [];
  for (const { metadata } of pods.slice(0, LOGS_LIMIT)) {
    const path = `/api/v1/namespaces/${namespace}/pods/${metadata.name}/log?tailLines=${LOG_LINES}`;
    const name = `logs/${metadata.name.slice(0, 80)}.log`;
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
