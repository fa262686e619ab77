import type { Pod } from "../../core/api/index.ts";
import {
  type ClusterObjects,
  type ClusterObjectsWithPods,
  type ExplainSettings,
  explainPlacement,
  type NodeVerdict,
  type PlacementExplanation,
  summaryInWords,
  verdictInWords,
} from "../../core/report/index.ts";
import { withPodsAndTwins } from "./cluster-reader.ts";
import { type ConsoleContext, ConsoleError, type Screen } from "./context.ts";
import type { Printable } from "./output.ts";
import { readPages } from "./program-pages.ts";
import { programSettings } from "./program-settings.ts";
import { paintFor, wrap } from "./screen.ts";

export interface WhyOptions {
  /** `NAME`, `NAMESPACE/NAME` or `pod/NAME`. */
  readonly pod: string;
  readonly node?: string | undefined;
  /** Of the pod. */
  readonly namespace: string;
  /** Of the installation. */
  readonly installation: string;
  readonly extenderWeight?: number | undefined;
}

/** The pod that the user means. */
function podNamed(objects: ClusterObjectsWithPods, text: string, defaultNamespace: string): Pod {
  const [namespace, name] = namespacedName(text, defaultNamespace);
  const found = objects.pods.find(
    ({ metadata }) => metadata.name === name && (metadata.namespace ?? "default") === namespace,
  );
  if (found !== undefined) return found;
  const elsewhere = objects.pods.find(({ metadata }) => metadata.name === name)?.metadata.namespace;
  const hint = elsewhere === undefined ? "" : `; there is one in ${elsewhere}: joulie why ${elsewhere}/${name}`;
  throw new ConsoleError(`there is no pod ${name} in namespace ${namespace}${hint}`);
}

function namespacedName(text: string, defaultNamespace: string): [string, string] {
  const parts = text.replace(/^pods?\//, "").split("/");
  return parts.length > 1 ? [parts[0] ?? "", parts[1] ?? ""] : [defaultNamespace, parts[0] ?? ""];
}

export interface Why {
  readonly explanation: PlacementExplanation;
  readonly source: string;
  /** The extender's own record of the decision, if it could be read. */
  readonly record: readonly RecordedDecision[] | undefined;
  /** Why there is none. */
  readonly noRecord: string | undefined;
}

export async function explainPod(context: ConsoleContext, found: ClusterObjects, options: WhyOptions): Promise<Why> {
  const objects = withPodsAndTwins(found);
  const pod = podNamed(objects, options.pod, options.namespace);
  const { energySettingsOf, extenderConfig, scoringSettingsOf } = await import("../extender/index.ts");
  const { values, source } = await programSettings(context.client, options.installation, "extender", extenderConfig);
  const energy = energySettingsOf(values);
  const settings: ExplainSettings = {
    scoring: scoringSettingsOf(values),
    energy,
    // As `joulie scheduler-config` sets it.
    extenderWeight: options.extenderWeight ?? (energy === undefined ? 1 : 10),
    kubeProfile: energy === undefined ? "default" : "energy",
  };
  const explanation = explainPlacement(pod, objects, settings);
  return { explanation, source, ...(await recordOf(context, options, pod)) };
}

/** An entry of the extender's page /debug/decisions?pod=. */
interface RecordedDecision {
  readonly at: string;
  readonly verb: "filter" | "prioritize";
  readonly nodes?: readonly {
    readonly node: string | null;
    readonly score?: number;
    readonly rejection?: string | null;
  }[];
}

/** From every replica of the extender, the newest first; any of them may have answered kube-scheduler. */
async function recordOf(
  context: ConsoleContext,
  { installation }: WhyOptions,
  { metadata }: Pod,
): Promise<Pick<Why, "record" | "noRecord">> {
  const pod = encodeURIComponent(`${metadata.namespace ?? "default"}/${metadata.name}`);
  const { answers, why } = await readPages(context, installation, "extender", `debug/decisions?pod=${pod}`);
  const found = answers.flatMap(({ value }) => (value as { decisions?: RecordedDecision[] } | null)?.decisions ?? []);
  if (found.length > 0)
    return { record: found.toSorted((one, other) => (one.at > other.at ? -1 : 1)), noRecord: undefined };
  if (answers.length === 0) return { record: undefined, noRecord: why ?? "it did not answer" };
  // Any replica may have the record, also the one that did not answer.
  const noRecord =
    why === undefined
      ? "it does not remember this pod"
      : `the replicas that answered do not remember this pod, and not all answered: ${why}`;
  return { record: undefined, noRecord };
}

/** More nodes are only in -o wide and -o json. */
const NODES_LIMIT = 5;

/** `joulie why POD [NODE]`. */
export function whyText(
  { explanation, source, record, noRecord }: Why,
  node: string | undefined,
  screen: Screen,
): Printable {
  const { pod, nodes, boundTo } = explanation;
  const selected = node === undefined ? undefined : nodes.find((verdict) => verdict.node === node);
  if (node !== undefined && selected === undefined)
    throw new ConsoleError(`there is no node ${node}; joulie node lists all`);
  return {
    text: (wide) => {
      const paint = paintFor(screen);
      const lines: string[] = [];
      const say = (text: string, indent = 0) => {
        const width = screen.columns === undefined ? undefined : screen.columns - indent;
        for (const line of wrap(text, width)) lines.push(" ".repeat(indent) + line);
      };
      const where = boundTo === undefined ? "has no node" : `is on ${boundTo}`;
      say(`Pod ${pod.namespace}/${pod.name} (${explanation.workloadClass}) ${where}.`);
      if (selected === undefined) for (const sentence of summaryInWords(explanation)) say(sentence);
      lines.push("");
      const listed = selected === undefined ? listedNodes(explanation, wide) : [selected];
      for (const verdict of listed) {
        lines.push(paint.bold(verdict.node + (verdict.node === boundTo ? " (the pod is here)" : "")));
        for (const sentence of verdictInWords(verdict)) say(sentence, 2);
        const recorded = recordedText(record, verdict);
        if (recorded !== undefined) say(recorded, 2);
      }
      const hidden = nodes.length - listed.length;
      if (selected === undefined && hidden > 0) lines.push(...groupedRest(explanation, listed));
      lines.push("");
      say(
        record === undefined
          ? `Computed now from the API with ${source}. Pods and twins may have changed since the pod was placed. There is no record of the extender: ${noRecord}.`
          : `Computed now from the API with ${source}; "recorded" is the extender's own answer.`,
      );
      return `${lines.join("\n")}\n`;
    },
    value: () => ({
      ...explanation,
      summary: summaryInWords(explanation),
      source,
      record,
      noRecord,
      nodes: (selected === undefined ? nodes : [selected]).map((verdict) => ({
        ...verdict,
        words: verdictInWords(verdict),
      })),
    }),
    names: () =>
      (selected === undefined ? nodes.filter(({ feasible }) => feasible) : [selected]).map((one) => `node/${one.node}`),
  };
}

/** The node of the pod, and the best others. */
function listedNodes({ nodes, boundTo }: PlacementExplanation, wide: boolean): readonly NodeVerdict[] {
  if (wide) return nodes;
  const best = nodes.filter(({ feasible }) => feasible).slice(0, NODES_LIMIT);
  const bound = nodes.find(({ node }) => node === boundTo);
  const listed = best.length > 0 ? best : nodes.slice(0, NODES_LIMIT);
  return bound === undefined || listed.includes(bound) ? listed : [...listed, bound];
}

/** Nodes that are not listed, counted by their first reason. */
function groupedRest({ nodes }: PlacementExplanation, listed: readonly NodeVerdict[]): string[] {
  const counts = new Map<string, number>();
  for (const verdict of nodes) {
    if (listed.includes(verdict)) continue;
    const reason = verdict.feasible ? "they take the pod and rank lower" : (verdictInWords(verdict)[0] ?? "");
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const lines = Array.from(counts).toSorted(([, a], [, b]) => b - a);
  return lines.slice(0, NODES_LIMIT).map(([reason, count]) => `${count} more: ${reason}`);
}

function recordedText(record: readonly RecordedDecision[] | undefined, { node }: NodeVerdict): string | undefined {
  let accepted: string | undefined;
  for (const { verb, at, nodes = [] } of record ?? []) {
    const found = nodes.find((one) => one.node === node);
    if (found === undefined) continue;
    if (verb === "prioritize") return `recorded: score ${found.score} at ${at}`;
    if (typeof found.rejection === "string") return `recorded: rejected at ${at}`;
    // kube-scheduler asks for no scores if only one node is left.
    accepted ??= `recorded: accepted at ${at}`;
  }
  return accepted;
}
