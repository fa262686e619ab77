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
import type { ExtenderConfig } from "../extender/index.ts";
import { withPodsAndTwins } from "./cluster/cluster-reader.ts";
import { type PageAnswers, readProgramPages } from "./cluster/program-pages.ts";
import { programSettings, settingsIn } from "./cluster/program-settings.ts";
import { type ConsoleContext, ConsoleError, type Screen } from "./context.ts";
import type { Printable } from "./output/output.ts";
import { paintFor, wrap } from "./output/screen.ts";

export interface WhyOptions {
  readonly pod: string;
  readonly node?: string | undefined;
  readonly namespace: string;
  readonly installation: string;
  readonly extenderWeight?: number | undefined;
}

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
  readonly fallback: string | undefined;
  readonly record: readonly RecordedDecision[] | undefined;
  readonly noRecord: string | undefined;
}

export async function explainPod(context: ConsoleContext, found: ClusterObjects, options: WhyOptions): Promise<Why> {
  const objects = withPodsAndTwins(found);
  const pod = podNamed(objects, options.pod, options.namespace);
  const { energySettingsOf, scoringSettingsOf } = await import("../extender/index.ts");
  const podPage = `debug/decisions?pod=${encodeURIComponent(`${pod.metadata.namespace ?? "default"}/${pod.metadata.name}`)}`;
  const pages = await readProgramPages(context, options.installation, "extender", podPage);
  const { values, source, isFormulaKnown } = await extenderSettings(context, options.installation, pages);
  const { record, noRecord } = recordIn(pages);
  const configured = energySettingsOf(values);
  const fallback = record?.find(({ verb }) => verb === "prioritize")?.fallback;
  const settings: ExplainSettings = {
    scoring: scoringSettingsOf(values),
    energy: fallback === undefined ? configured : undefined,
    isFormulaKnown,
    // As `joulie scheduler-config` sets it.
    extenderWeight: options.extenderWeight ?? (configured === undefined ? 1 : 10),
    kubeProfile: configured === undefined ? "default" : "energy",
  };
  return { explanation: explainPlacement(pod, objects, settings), source, fallback, record, noRecord };
}

interface ExtenderSettings {
  readonly values: ExtenderConfig;
  readonly source: string;
  readonly isFormulaKnown: boolean;
}

/** The settings that the extender says it runs with, else those of its Deployment. Without either, its formula is unknown. */
async function extenderSettings(
  { client }: ConsoleContext,
  installation: string,
  { answers, why }: PageAnswers,
): Promise<ExtenderSettings> {
  const { extenderConfig } = await import("../extender/index.ts");
  for (const { value, from } of answers) {
    const { variables } = value as { readonly variables?: Readonly<Record<string, string>> };
    const settings = variables && (await settingsIn(extenderConfig, variables));
    if (settings?.ok === true)
      return { values: settings.value, source: `the extender's settings (${from})`, isFormulaKnown: true };
  }
  const { values, source, isInstalled } = await programSettings(client, installation, "extender", extenderConfig);
  if (isInstalled) {
    const silence = answers.length > 0 ? "does not say how it scores" : "could not be asked";
    return { values, source: `${source}, because the extender ${silence}`, isFormulaKnown: true };
  }
  const silence = answers.length > 0 ? "it does not say how it scores" : (why ?? "it did not answer");
  return { values, source: `${silence}; ${source}`, isFormulaKnown: false };
}

interface RecordedDecision {
  readonly at: string;
  readonly verb: "filter" | "prioritize";
  readonly fallback?: string;
  readonly nodes?: readonly {
    readonly node: string | null;
    readonly score?: number;
    readonly rejection?: string | null;
  }[];
}

/** From every replica of the extender, the newest first; any of them may have answered kube-scheduler. */
function recordIn({ answers, why }: PageAnswers): Pick<Why, "record" | "noRecord"> {
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

const NODES_LIMIT = 5;

export function whyText(
  { explanation, source, fallback, record, noRecord }: Why,
  node: string | undefined,
  screen: Screen,
): Printable {
  const { pod, nodes, boundTo, formula } = explanation;
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
      if (formula === "unknown")
        say(`Scores and ranks are unknown, because nothing says which formula the extender runs: ${source}.`);
      if (fallback !== undefined) say(`The extender scored this pod by headroom instead of energy: ${fallback}.`);
      lines.push("");
      const listed = selected === undefined ? listedNodes(explanation, wide) : [selected];
      for (const verdict of listed) {
        lines.push(paint.bold(verdict.node + (verdict.node === boundTo ? " (the pod is here)" : "")));
        for (const sentence of verdictInWords(verdict, formula)) say(sentence, 2);
        const recorded = recordedText(record, verdict);
        if (recorded !== undefined) say(recorded, 2);
      }
      const hidden = nodes.length - listed.length;
      if (selected === undefined && hidden > 0) lines.push(...groupedRest(explanation, listed));
      lines.push("");
      const settings = formula === "unknown" ? "" : ` with ${source}`;
      say(
        record === undefined
          ? `Computed now from the API${settings}. Pods and twins may have changed since the pod was placed. There is no record of the extender: ${noRecord}.`
          : `Computed now from the API${settings}; "recorded" is the extender's own answer.`,
      );
      return `${lines.join("\n")}\n`;
    },
    value: () => ({
      ...explanation,
      summary: summaryInWords(explanation),
      source,
      record,
      noRecord,
      nodes: (selected === undefined ? nodes : [selected]).map((verdict) => {
        const { node, blockers, rejection, feasible } = verdict;
        const known = formula === "unknown" ? { node, blockers, rejection, feasible } : verdict;
        return { ...known, words: verdictInWords(verdict, formula) };
      }),
    }),
    names: () =>
      (selected === undefined ? nodes.filter(({ feasible }) => feasible) : [selected]).map((one) => `node/${one.node}`),
  };
}

function listedNodes({ nodes, boundTo }: PlacementExplanation, wide: boolean): readonly NodeVerdict[] {
  if (wide) return nodes;
  const best = nodes.filter(({ feasible }) => feasible).slice(0, NODES_LIMIT);
  const bound = nodes.find(({ node }) => node === boundTo);
  const listed = best.length > 0 ? best : nodes.slice(0, NODES_LIMIT);
  return bound === undefined || listed.includes(bound) ? listed : [...listed, bound];
}

function groupedRest({ nodes, formula }: PlacementExplanation, listed: readonly NodeVerdict[]): string[] {
  const counts = new Map<string, number>();
  for (const verdict of nodes) {
    if (listed.includes(verdict)) continue;
    const reason = verdict.feasible ? "" : (verdictInWords(verdict)[0] ?? "");
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const lower = formula === "unknown" ? ["", ""] : [" and ranks lower", " and rank lower"];
  const lines = Array.from(counts).toSorted(([, a], [, b]) => b - a);
  return lines.slice(0, NODES_LIMIT).map(([reason, count]) => {
    if (reason !== "") return `${count} more: ${reason}`;
    return count === 1 ? `1 more takes the pod${lower[0]}.` : `${count} more take the pod${lower[1]}.`;
  });
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
