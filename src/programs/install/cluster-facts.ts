import type { Labels } from "../../core/api/index.ts";
import { isPresetName, type PresetName } from "../../core/presets/index.ts";
import { isApiError, type KubeClient, type KubeObject, type Resource, resources } from "../../platform/kube/index.ts";
import { listWorkloads, variablesOf } from "../console/index.ts";

/** What a cluster says about itself. Undefined = this user may not read it. */
export interface ClusterFacts {
  /** Version of the API server, such as `v1.36.3+k3s1`. */
  readonly version: string;
  /** Names of the API groups that it serves. */
  readonly groups: ReadonlySet<string>;
  readonly nodes: readonly NodeFacts[] | undefined;
  readonly runtimeClasses: readonly string[] | undefined;
  /** kubeadm keeps its configuration in a ConfigMap. */
  readonly hasKubeadmConfig: boolean | undefined;
  /** Labels of the namespace of the installation; null = there is none. */
  readonly namespaceLabels: Labels | null | undefined;
  /** The release that is installed; null = none. */
  readonly installed: InstalledRelease | null | undefined;
  /** Prometheus servers, those of the Prometheus Operator first. */
  readonly prometheus: readonly PrometheusServer[] | undefined;
  /** Namespaces of the BareMetalHosts, one for each. */
  readonly bareMetalHosts: readonly string[] | undefined;
  /** What this user may not read. */
  readonly unread: readonly string[];
}

export interface NodeFacts {
  readonly name: string;
  readonly labels: Labels;
  readonly kubelet: string;
  readonly os: string;
  /** Such as `aws:///eu-west-1a/i-0abc`; empty if the node has none. */
  readonly providerId: string;
  readonly hasNoScheduleTaint: boolean;
  readonly resources: readonly string[];
}

interface InstalledRelease {
  /** Undefined = the objects are there, but not from Helm. */
  readonly release: string | undefined;
  readonly preset: PresetName | undefined;
}

interface PrometheusServer {
  readonly address: string;
  /** By which labels it finds PodMonitors and ServiceMonitors; undefined without the Prometheus Operator. */
  readonly monitorLabels?: Labels | undefined;
}

const kind = (group: string, version: string, plural: string, name: string, namespaced = true): Resource => ({
  group,
  version,
  plural,
  kind: name,
  namespaced,
});
const foreign = {
  runtimeClasses: kind("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", false),
  services: kind("", "v1", "services", "Service"),
  prometheuses: kind("monitoring.coreos.com", "v1", "prometheuses", "Prometheus"),
  bareMetalHosts: kind("metal3.io", "v1alpha1", "baremetalhosts", "BareMetalHost"),
};

/** Reads what there is. Kinds that the cluster does not have are empty, and those that the user may not read are named. */
export async function readClusterFacts(client: KubeClient, namespace: string): Promise<ClusterFacts> {
  const unread: string[] = [];
  const attempt = async <Fact, Absent>(
    what: string,
    read: () => Promise<Fact>,
    absent: Absent,
  ): Promise<Fact | Absent | undefined> => {
    try {
      return await read();
    } catch (error) {
      if (isApiError(error, "notFound")) return absent;
      if (!isApiError(error, "forbidden")) throw error;
      unread.push(what);
      return undefined;
    }
  };
  const list = async <Fact>(
    what: string,
    resource: Resource,
    project: (item: never) => Fact | undefined,
    labelSelector?: string,
  ) =>
    attempt(what, async () => {
      const projected = (item: KubeObject): Fact | undefined => project(item as never);
      return (await client.listOf(resource, projected, labelSelector === undefined ? {} : { labelSelector })).items;
    }, []);
  const { gitVersion: version = "" } = (await client.raw("/version")) as { gitVersion?: string };
  const { groups = [] } = (await client.raw("/apis")) as { groups?: readonly { readonly name: string }[] };
  const [nodes, runtimeClasses, kubeadmConfig, found, installed, operated, services, bareMetalHosts] =
    await Promise.all([
      list("nodes", resources.nodes, nodeFactsOf),
      list("RuntimeClasses", foreign.runtimeClasses, ({ metadata }: KubeObject) => metadata.name),
      attempt(
        "the ConfigMap kubeadm-config",
        async () => client.get(resources.configMaps, { namespace: "kube-system", name: "kubeadm-config" }),
        null,
      ),
      attempt(`the namespace ${namespace}`, async () => client.get(resources.namespaces, { name: namespace }), null),
      attempt(`Deployments in ${namespace}`, async () => releaseIn(client, namespace), null),
      list("Prometheus objects", foreign.prometheuses, operatedServer),
      list("Services", foreign.services, plainServer, "app.kubernetes.io/name=prometheus"),
      list("BareMetalHosts", foreign.bareMetalHosts, ({ metadata }: KubeObject) => metadata.namespace ?? ""),
    ]);
  return {
    version,
    groups: new Set(groups.map(({ name }) => name)),
    nodes,
    runtimeClasses,
    hasKubeadmConfig: kubeadmConfig === undefined ? undefined : kubeadmConfig !== null,
    namespaceLabels: found && (found.metadata.labels ?? {}),
    installed,
    prometheus: operated && services && [...operated, ...services],
    bareMetalHosts,
    unread: unread.toSorted(),
  };
}

interface NodeObject extends KubeObject {
  readonly spec?: { readonly providerID?: string; readonly taints?: readonly { readonly effect: string }[] };
  readonly status?: {
    readonly capacity?: Readonly<Record<string, string>>;
    readonly nodeInfo?: { readonly kubeletVersion?: string; readonly osImage?: string };
  };
}

const nodeFactsOf = ({ metadata, spec, status }: NodeObject): NodeFacts => ({
  name: metadata.name,
  labels: metadata.labels ?? {},
  kubelet: status?.nodeInfo?.kubeletVersion ?? "",
  os: status?.nodeInfo?.osImage ?? "",
  providerId: spec?.providerID ?? "",
  hasNoScheduleTaint: spec?.taints?.some(({ effect }) => effect === "NoSchedule" || effect === "NoExecute") ?? false,
  resources: Object.keys(status?.capacity ?? {}),
});

/** Helm writes it on every object of a release. */
const RELEASE_NAME = "meta.helm.sh/release-name";
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

async function releaseIn(client: KubeClient, namespace: string): Promise<InstalledRelease | null> {
  const deployments = await listWorkloads(client, namespace, "Deployment");
  if (deployments.length === 0) return null;
  const releases = deployments.map(({ metadata }) => metadata.annotations?.[RELEASE_NAME] ?? "");
  const presets = deployments.map((deployment) => variablesOf(deployment)["PRESET"] ?? "");
  return {
    release: releases.find((name) => NAME.test(name)),
    preset: presets.find(isPresetName),
  };
}

interface PrometheusObject extends KubeObject {
  readonly spec?: { readonly podMonitorSelector?: { readonly matchLabels?: Labels } };
}

/** The Prometheus Operator makes this Service in each namespace with a Prometheus. */
const operatedServer = ({ metadata, spec }: PrometheusObject): PrometheusServer => ({
  address: `http://prometheus-operated.${metadata.namespace ?? ""}:9090`,
  monitorLabels: spec?.podMonitorSelector?.matchLabels ?? {},
});

interface ServiceObject extends KubeObject {
  readonly spec?: { readonly ports?: readonly { readonly name?: string; readonly port: number }[] };
}

/** The ports of Prometheus's own chart, and of Prometheus itself. */
const PROMETHEUS_PORTS: readonly number[] = [80, 9090];

function plainServer({ metadata, spec }: ServiceObject): PrometheusServer | undefined {
  const port = spec?.ports?.find((one) => PROMETHEUS_PORTS.includes(one.port) && one.name !== "https")?.port;
  if (port === undefined) return undefined;
  return { address: `http://${metadata.name}.${metadata.namespace ?? ""}${port === 80 ? "" : `:${port}`}` };
}
